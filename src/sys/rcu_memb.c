/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu_memb.c - the RCU flavour lath_rcu_memb: liburcu over sys_membarrier, threads register.
 */
#include "sys/sys.h"

#if LATH_INLINE_URCU
#define _LGPL_SOURCE
#endif
#include <urcu/urcu-memb.h>

_Static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head),
	       "lath_rcu_head has the layout of liburcu's rcu_head");

static void enter(void)
{
	urcu_memb_read_lock();
}

static void leave(void)
{
	lath_tsan_before();
	urcu_memb_read_unlock();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	lath_tsan_before();
	urcu_memb_call_rcu((struct rcu_head *)head, (void (*)(struct rcu_head *))func);
}

static void wait_for_readers(void)
{
	urcu_memb_synchronize_rcu();
	lath_tsan_after();
}

static void drain(void)
{
	urcu_memb_barrier();
	lath_tsan_after();
}

static void announce(void)
{
	urcu_memb_register_thread();
}

static void withdraw(void)
{
	urcu_memb_unregister_thread();
}

const struct lath_rcu lath_rcu_memb = {
	.name = "memb",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = wait_for_readers,
	.drain = drain,
	.register_thread = announce,
	.unregister_thread = withdraw,
};
