/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu_urcu.h - what a flavour of liburcu does for struct lath_rcu. Included once by each, after its
 * header, with URCU(call) naming its calls.
 */
#ifndef LATH_SYS_RCU_URCU_H
#define LATH_SYS_RCU_URCU_H

_Static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head),
	       "lath_rcu_head has the layout of liburcu's rcu_head");

static void enter(void)
{
	URCU(read_lock)();
}

static void leave(void)
{
	lath_tsan_before();
	URCU(read_unlock)();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	lath_tsan_before();
	URCU(call_rcu)((struct rcu_head *)head, (void (*)(struct rcu_head *))func);
}

static void wait_for_readers(void)
{
	URCU(synchronize_rcu)();
	lath_tsan_after();
}

static void drain(void)
{
	URCU(barrier)();
	lath_tsan_after();
}

#endif /* LATH_SYS_RCU_URCU_H */
