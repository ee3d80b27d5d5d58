/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu_auto.c - the RCU flavour lath_rcu_auto: liburcu's "bulletproof" flavour, which
 * registers a thread on its first reader and forgets it when the thread ends.
 */
#include "sys/sys.h"

#if LATH_INLINE_URCU
#define _LGPL_SOURCE
#endif
#include <urcu/urcu-bp.h>

_Static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head),
	       "lath_rcu_head has the layout of liburcu's rcu_head");

static void enter(void)
{
	urcu_bp_read_lock();
}

static void leave(void)
{
	lath_tsan_before();
	urcu_bp_read_unlock();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	lath_tsan_before();
	urcu_bp_call_rcu((struct rcu_head *)head, (void (*)(struct rcu_head *))func);
}

static void wait_for_readers(void)
{
	urcu_bp_synchronize_rcu();
	lath_tsan_after();
}

static void drain(void)
{
	urcu_bp_barrier();
	lath_tsan_after();
}

const struct lath_rcu lath_rcu_auto = {
	.name = "auto",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = wait_for_readers,
	.drain = drain,
};
