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

#define URCU(call) urcu_bp_##call
#include "sys/rcu_urcu.h"

const struct lath_rcu lath_rcu_auto = {
	.name = "auto",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = wait_for_readers,
	.drain = drain,
};
