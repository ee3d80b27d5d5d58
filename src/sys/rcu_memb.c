/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu_memb.c - the RCU flavour lath_rcu_memb: liburcu over sys_membarrier, threads register.
 */
#include "sys/sys.h"

#if LATH_INLINE_URCU
#define _LGPL_SOURCE
#endif
#include <urcu/urcu-memb.h>

#define URCU(call) urcu_memb_##call
#include "sys/rcu_urcu.h"

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
