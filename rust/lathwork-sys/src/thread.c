/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thread.c - what the crate lathwork keeps for each thread: Rust has thread-local variables with
 * its standard library only.
 */
#include "lathwork.h"

struct lathwork_sys_thread {
	size_t sections; /* in how many sections the thread is */
	void *postponed; /* the crate's list */
	size_t drops;	 /* how many calls that drop removed values are within each other */
};

static __thread struct lathwork_sys_thread here;

struct lathwork_sys_thread *lathwork_sys_thread(void)
{
	return &here;
}

/* Begin a read-side critical section. */
void lathwork_sys_enter(void)
{
	here.sections++;
	lath_rcu_auto.read_lock();
}

/* End one. Returns the list if it was the outermost one, else NULL. */
void *lathwork_sys_exit(void)
{
	lath_rcu_auto.read_unlock();
	return --here.sections ? NULL : here.postponed;
}
