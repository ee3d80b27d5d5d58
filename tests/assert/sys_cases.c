/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sys_cases.c - locks, calls (C1, C2 of sys/thread.h) and read-side sections. */
#include "cases.h"

#include "sys/sys.h"

static struct lath_spinlock lock;

static void lock_outside_a_call(void)
{
	lath_spin_lock(&lock);
}

static void trylock_outside_a_call(void)
{
	lath_spin_trylock(&lock);
}

static void lock_twice(void)
{
	lath_call_enter();
	lath_spin_lock(&lock);
	lath_spin_lock(&lock);
}

static void unlock_twice(void)
{
	lath_call_enter();
	lath_spin_lock(&lock);
	lath_spin_unlock(&lock);
	lath_spin_unlock(&lock);
}

static void unlock_of_another_thread(void)
{
	lock.held = lath_stripe() + 1;
	lath_spin_unlock(&lock);
}

static void call_ends_twice(void)
{
	lath_call_enter();
	lath_call_exit();
	lath_call_exit();
}

static void wait_in_a_call(void)
{
	lath_call_enter();
	lath_rcu_auto.synchronize();
}

static void wait_in_a_section(void)
{
	lath_rcu_auto.read_lock();
	lath_rcu_auto.drain();
}

static void section_ends_twice(void)
{
	lath_rcu_auto.read_lock();
	lath_rcu_auto.read_unlock();
	lath_rcu_auto.read_unlock();
}

static void turn_unlocked_twice(void)
{
	struct lath_turn turn;

	lath_turn_init(&turn);
	lath_turn_lock(&turn);
	lath_turn_unlock(&turn);
	lath_turn_unlock(&turn);
}

const struct assert_case sys_cases[] = {
	{ "sys: lock outside a call", lock_outside_a_call, "sys/thread.h", "lath_self.calls" },
	{ "sys: trylock outside a call", trylock_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "sys: lock twice", lock_twice, "sys/user.h", "!lath_spin_mine(lock)" },
	{ "sys: unlock twice", unlock_twice, "sys/user.h", "lath_spin_mine(lock)" },
	{ "sys: unlock of another thread", unlock_of_another_thread, "sys/user.h",
	  "lath_spin_mine(lock)" },
	{ "sys: call ends twice", call_ends_twice, "sys/thread.h", "lath_self.calls" },
	{ "sys: wait in a call", wait_in_a_call, "sys/thread.h", "!lath_self.calls" },
	{ "sys: wait in a section", wait_in_a_section, "sys/thread.h", "!lath_self.nesting" },
	{ "sys: section ends twice", section_ends_twice, "sys/rcu.c", "lath_self.nesting" },
	{ "sys: turn unlocked twice", turn_unlocked_twice, "sys/thread.h", "lath_turn_held(turn)" },
	{ 0 },
};
