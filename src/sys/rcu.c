/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu.c - the library's own RCU flavour: read-side critical sections, grace periods, reclamation.
 *
 * A thread stores in its record (thread.h) the number of the grace period in which its outermost
 * section began. A grace period takes the next number, makes each thread execute a full barrier,
 * and waits until no record has a lower number. Numbers have 64 bits and never wrap, so one pass is
 * enough:
 *
 *   - a section whose number was not visible at the barrier began after it, and does not see what
 *     was unlinked before;
 *   - a section that stored the new number read it with acquire, and does not see it either.
 *
 * Retired objects wait in a list until a thread runs their callbacks after a grace period: the
 * worker thread, which is started on demand, or a thread that drains. A thread that forks waits
 * neither for the worker nor for readers. In the child the lists are as they were, the records of
 * other threads are gone, and a worker is started again on demand. liburcu's flavours allow neither
 * a fork inside a section nor two handlers of one fork, and all but one of them allow no fork with
 * registered threads.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/sys.h"

/* ---- sections ---- */

static u64 period = 1;

static void note_section(void)
{
	WRITE_ONCE(lath_self.section, smp_load_acquire(&period)); /* pairs with wait_for_readers */
}

/* The slow part of enter(): the thread is not registered, or its sections need a fence. */
static __attribute__((noinline)) void enter_slowly(void)
{
	lath_thread_register();
	note_section();
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with lath_fence_threads */
}

static void enter(void)
{
	if (lath_self.nesting++)
		return;
	note_section();
	barrier(); /* pairs with lath_fence_threads in wait_for_readers */
	if (unlikely(lath_self.slow))
		enter_slowly();
}

static void leave(void)
{
	LATH_ASSERT(lath_self.nesting);
	if (!--lath_self.nesting)
		smp_store_release(&lath_self.section, 0); /* pairs with lath_section_before */
}

static void wait_for_readers(void)
{
	u64 mine = __atomic_add_fetch(&period, 1, __ATOMIC_ACQ_REL);
	unsigned int rounds = 0;

	lath_fence_threads();
	while (lath_section_before(mine))
		lath_nap(&rounds);
}

/* ---- reclamation ---- */

static struct lath_rcu_head *retired; /* a stack; any thread pushes */
/* Taken from `retired`, not yet run. Changed in a call by the thread that holds `turn`. */
static struct lath_rcu_head *waiting;
static struct lath_turn turn;

/* A futex. The worker sleeps only while `retired` is empty. */
enum { NO_WORKER, AWAKE, ASLEEP };
static u32 worker;

/* Moves all of `retired` to the end of `waiting`, in order of retirement. In a call, `turn`
 * held. */
static void take_retired(void)
{
	struct lath_rcu_head *head = __atomic_exchange_n(&retired, NULL, __ATOMIC_ACQUIRE),
			     *first = NULL, *next, **end = &waiting;

	for (; head; head = next) {
		next = head->next;
		WRITE_ONCE(head->next, first);
		first = head;
	}
	while (*end) /* not empty if a fork left out the thread that ran it */
		end = &(*end)->next;
	WRITE_ONCE(*end, first);
}

static void run_waiting(void)
{
	bool more = true;

	while (more) {
		struct lath_rcu_head *head;

		lath_call_enter();
		head = waiting;
		more = head;
		if (more) {
			waiting = head->next;
			head->func(head);
		}
		lath_call_exit();
	}
}

/* Runs the callbacks of all that has been retired so far, after a grace period. Not in a call, not
 * in a section. */
static void reclaim(void)
{
	bool any;

	lath_wait_assert();
	lath_turn_lock(&turn);
	lath_self.reclaiming = true;
	lath_call_enter();
	take_retired();
	any = waiting;
	lath_call_exit();
	if (any) {
		wait_for_readers();
		run_waiting();
	}
	lath_self.reclaiming = false;
	lath_turn_unlock(&turn);
}

static void futex(int command, u32 value)
{
	syscall(SYS_futex, &worker, command | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void *work(void *unused)
{
	const struct timespec gather = { 0, 10000000 };
	u32 asleep;

	(void)unused;
	lath_self.worker = true;
	for (;;) {
		reclaim();
		nanosleep(&gather,
			  NULL); /* one grace period for many objects costs as much as for one */
		if (READ_ONCE(retired))
			continue;
		__atomic_store_n(&worker, ASLEEP, __ATOMIC_SEQ_CST);
		asleep = ASLEEP;
		if (__atomic_load_n(&retired, __ATOMIC_SEQ_CST)) /* pairs with retire */
			__atomic_compare_exchange_n(&worker, &asleep, AWAKE, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		while (READ_ONCE(worker) == ASLEEP)
			futex(FUTEX_WAIT, ASLEEP);
	}
	return NULL;
}

static int start_worker(void)
{
	sigset_t all, mask;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask); /* the program's signals go to its own threads */
	err = pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

/* Wakes or starts the worker. If it cannot be started for lack of memory, retired objects wait for
 * the next call of retire() or for a drain. */
static __attribute__((noinline)) void wake_worker(void)
{
	u32 was = ASLEEP;

	if (__atomic_compare_exchange_n(&worker, &was, AWAKE, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		futex(FUTEX_WAKE, 1);
		return;
	}
	was = NO_WORKER;
	if (__atomic_compare_exchange_n(&worker, &was, AWAKE, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED) &&
	    start_worker())
		WRITE_ONCE(worker, NO_WORKER);
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	struct lath_rcu_head *last = READ_ONCE(retired);

	head->func = func;
	do
		WRITE_ONCE(head->next,
			   last); /* optimistic readers may load the word that `next` overlays */
	while (!__atomic_compare_exchange_n(&retired, &last, head, true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	if (unlikely(__atomic_load_n(&worker, __ATOMIC_SEQ_CST) != AWAKE)) /* pairs with work */
		wake_worker();
}

static void synchronize(void)
{
	lath_wait_assert();
	wait_for_readers();
}

void lath_rcu_after_fork(void)
{
	if (!lath_self.worker)
		worker = NO_WORKER;
	if (lath_self.reclaiming) /* the fork was called by a callback */
		turn.held = lath_generation;
}

/* ---- the flavour ---- */

const struct lath_rcu lath_rcu_auto = {
	.name = "auto",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = synchronize,
	.drain = reclaim,
	.register_thread = lath_thread_register,
	.unregister_thread = lath_thread_unregister,
};
