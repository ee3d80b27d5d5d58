/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thread.c - what Rust has not: what the crate lathwork keeps for each thread, as Rust has
 * thread-local variables with its standard library only, and calls that are inline in the headers.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "lathwork.h"

struct lathwork_sys_thread {
	size_t sections; /* in how many sections the thread is */
	size_t drops;	 /* how many calls that drop removed values are within each other */
	size_t number;	 /* of the thread, from 1; 0: not asked for yet */
	size_t ending;	 /* it runs the end of a container */
	void *reserve;	 /* where the crate's lock is held: what there is of memory */
};

static __thread struct lathwork_sys_thread here;
static size_t numbers;

struct lathwork_sys_thread *lathwork_sys_thread(void)
{
	return &here;
}

/* Returns a number that hardly any other thread has: threads get 1, 2, 3 ... */
size_t lathwork_sys_number(void)
{
	if (!here.number)
		here.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	return here.number;
}

/* The bytes of a value as a number, those between its parts too: Rust must not read them as one. */
uint64_t lathwork_sys_word(const uint64_t *at)
{
	return *at;
}

/* Let other threads run, or after the first rounds sleep a little. */
void lathwork_sys_yield(size_t rounds)
{
	const struct timespec little = { 0, 50000 };

	if (rounds < 16)
		sched_yield();
	else
		nanosleep(&little, NULL);
}

/* lath_rcu_auto for the containers of the crate lathwork, whose ends do not wait: each is a callback
 * that runs after all others of its container. */
struct lath_rcu lathwork_sys_rcu;
size_t lathwork_sys_retired; /* how often a container has retired something */

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	__atomic_add_fetch(&lathwork_sys_retired, 1, __ATOMIC_RELAXED);
	lath_rcu_auto.call(head, func);
}

/* Not in the end of a container: all callbacks of it have run. */
static void drain(void)
{
	if (!here.ending)
		lath_rcu_auto.drain();
}

static __attribute__((constructor)) void begin(void)
{
	lathwork_sys_rcu = lath_rcu_auto;
	lathwork_sys_rcu.call = retire;
	lathwork_sys_rcu.drain = drain;
}

/* Begin a read-side critical section. */
void lathwork_sys_enter(void)
{
	if (!here.sections++)
		lath_rcu_keep_open(); /* a leaked reference outlives the thread */
	lath_rcu_auto.read_lock();
}

/* End one. */
void lathwork_sys_exit(void)
{
	lath_rcu_auto.read_unlock();
	here.sections--;
}

/* What the header has as inline functions. */
int lathwork_sys_sortq_insert(struct lath_sortq *queue, struct lath_request *request)
{
	return lath_sortq_insert(queue, request);
}

struct lath_request *lathwork_sys_sortq_dispatch(struct lath_sortq *queue)
{
	return lath_sortq_dispatch(queue);
}
