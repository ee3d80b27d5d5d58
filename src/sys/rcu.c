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
 * Retired objects wait in a queue until a thread runs their callbacks after a grace period: the
 * worker thread, which is started on demand, or a thread that drains. The flavour lath_rcu_single
 * has its own queue, which no worker looks at: its callbacks run in steps, for which the
 * program calls, or when a thread drains.
 *
 * A thread that forks waits neither for the worker nor for readers. In the child the queues are as
 * they were, the records of other threads are gone, and a worker is started again on demand.
 * liburcu's flavours allow neither a fork inside a section nor two handlers of one fork, and all
 * but one of them allow no fork with registered threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/sys.h"

/* ---- sections ---- */

static u64 period = 1;

static void note_section(void)
{
	WRITE_ONCE(lath_self.section, smp_load_acquire(&period)); /* pairs with begin_period */
}

/* The slow part of enter(): the thread is not registered, or its sections need a fence. */
static __attribute__((noinline)) void enter_slowly(void)
{
	LATH_ASSERT(lath_self.nesting == 1);
	lath_thread_register();
	note_section();
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with lath_fence_threads */
}

static void enter(void)
{
	if (lath_self.nesting++)
		return;
	note_section();
	barrier(); /* pairs with lath_fence_threads in begin_period */
	if (unlikely(READ_ONCE(lath_self.slow)))
		enter_slowly();
}

static void leave(void)
{
	LATH_ASSERT(lath_self.nesting);
	if (!--lath_self.nesting)
		smp_store_release(&lath_self.section, 0); /* pairs with lath_section_before */
}

/* Begins a grace period. Returns its number: it ends when no section is older. */
static u64 begin_period(void)
{
	u64 mine = __atomic_add_fetch(&period, 1, __ATOMIC_ACQ_REL);

	lath_fence_threads();
	return mine;
}

/* A thread in exit() has given up waiting: no callback runs any more. It goes on to end the
 * structures that they belong to, while readers may see the objects. */
static bool abandoned;

bool lath_retire_ended(void)
{
	return unlikely(READ_ONCE(abandoned));
}

/* One pause of a thread that waits for others. False: it is in exit(), where they may never come,
 * has waited for a quarter of a second or would wait for itself, and gives up. Elsewhere a thread
 * that would wait for itself ends the process. */
static bool go_on_waiting(unsigned int *rounds)
{
	if (unlikely(lath_self.nesting && !lath_self.exiting)) {
		fputs("lathwork: a thread waits for readers within its own read-side critical "
		      "section\n",
		      stderr);
		abort();
	}
	if (unlikely(lath_self.worker && lath_retire_ended()))
		return false; /* a thread in exit() may wait for what the worker runs */
	if (likely(!lath_self.exiting) ||
	    (!lath_self.nesting && *rounds < 500 && !lath_retire_ended())) {
		lath_nap((*rounds)++);
		return true;
	}
	WRITE_ONCE(abandoned, true);
	lath_fence_threads(); /* pairs with lath_call_enter in turn_begin and run_waiting */
	while (lath_others_in_calls(true))
		lath_nap((*rounds)++);
	return false;
}

/* Returns whether it waited: not for ever in exit(). */
static bool wait_for_readers(u64 mine)
{
	unsigned int rounds = 0;

	while (lath_section_before(mine))
		if (!go_on_waiting(&rounds))
			return false;
	return true;
}

/* ---- reclamation ---- */

struct queue {
	struct lath_rcu_head *retired; /* a stack; any thread pushes */
	/* Taken from `retired`, not yet run. Changed in a call by the thread that holds `turn`. */
	struct lath_rcu_head *waiting;
	u64 period; /* of the grace period that `waiting` waits for; 0: it has ended */
	struct lath_turn turn;
};

static struct queue worked, stepped; /* of lath_rcu_auto and of lath_rcu_single */

/* Nanoseconds between two rounds of the worker, and after one that ran this many callbacks. */
#define GATHER 10000000
#define MANY 64
#define GATHER_MANY 1000000

/* A futex. The worker sleeps only while `worked.retired` and `later` are empty. */
enum { NO_WORKER, AWAKE, ASLEEP };
static u32 worker;

/* Moves all of `retired` to the end of `waiting`, in order of retirement. In a call, `turn`
 * held. */
static void take_retired(struct queue *queue)
{
	struct lath_rcu_head *head = __atomic_exchange_n(&queue->retired, NULL, __ATOMIC_ACQUIRE),
			     *first = NULL, *next, **end = &queue->waiting;

	lath_call_assert();
	LATH_ASSERT(lath_turn_held(&queue->turn));
	for (; head; head = next) {
		next = head->next;
		WRITE_ONCE(head->next, first);
		first = head;
	}
	while (*end) /* not empty if a fork left out the thread that ran it */
		end = &(*end)->next;
	WRITE_ONCE(*end, first);
}

/* Runs the callbacks of at most `most` objects in `waiting`. `turn` held, not in a call. Returns
 * how many. */
static size_t run_waiting(struct queue *queue, size_t most)
{
	struct lath_rcu_head *head = queue->waiting;
	size_t ran = 0;

	LATH_ASSERT(lath_self.reclaiming == &queue->turn);
	LATH_ASSERT(!lath_self.calls || lath_self.exiting);
	for (; head && ran < most; ran++) {
		/* each in its own call, so that a fork waits for one callback at most */
		lath_call_enter();
		/* pairs with go_on_waiting */
		head = lath_retire_ended() ? NULL : queue->waiting;
		if (head) {
			WRITE_ONCE(queue->waiting, head->next);
			head->func(head);
			head = queue->waiting;
		}
		lath_call_exit();
	}
	return ran;
}

static void turn_begin(struct queue *queue)
{
	LATH_ASSERT(lath_turn_held(&queue->turn) && !lath_self.reclaiming);
	WRITE_ONCE(lath_self.reclaiming, &queue->turn);
	lath_call_enter();
	if (!lath_retire_ended()) /* pairs with go_on_waiting */
		take_retired(queue);
	lath_call_exit();
	if (queue->waiting)
		queue->period = begin_period();
}

static void turn_end(struct queue *queue)
{
	LATH_ASSERT(lath_self.reclaiming == &queue->turn);
	WRITE_ONCE(lath_self.reclaiming, NULL);
	lath_turn_unlock(&queue->turn);
}

/* Runs the callbacks of all that has been retired so far, after a grace period. Not in a call, not
 * in a section, but in exit(). Returns how many. */
static size_t reclaim(struct queue *queue)
{
	unsigned int rounds = 0;
	size_t ran = 0;

	lath_wait_assert();
	while (!lath_turn_trylock(&queue->turn))
		if (!go_on_waiting(&rounds))
			return 0;
	turn_begin(queue);
	if (queue->waiting && wait_for_readers(queue->period))
		ran = run_waiting(queue, SIZE_MAX);
	turn_end(queue);
	return ran;
}

static size_t step(struct queue *queue, size_t most)
{
	size_t ran = 0;

	lath_wait_assert();
	if ((!READ_ONCE(queue->retired) && !READ_ONCE(queue->waiting)) ||
	    !lath_turn_trylock(&queue->turn)) /* else another thread drains */
		return 0;
	if (!queue->waiting)
		turn_begin(queue);
	else
		WRITE_ONCE(lath_self.reclaiming, &queue->turn);
	if (queue->period && !lath_section_before(queue->period))
		queue->period = 0;
	if (!queue->period)
		ran = run_waiting(queue, most);
	turn_end(queue);
	return ran;
}

size_t lath_rcu_single_step(size_t most)
{
	return step(&stepped, most);
}

size_t lath_rcu_step(size_t most)
{
	return step(&worked, most);
}

/* The worker alone takes from `later`, one at a time: what it has not taken is there after a
 * fork. */
static struct lath_rcu_head *later; /* a stack; any thread pushes */

static void run_later(void)
{
	struct lath_rcu_head *head;

	while ((head = smp_load_acquire(&later)) && !lath_retire_ended())
		if (__atomic_compare_exchange_n(&later, &head, head->next, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			head->func(head);
}

static bool has_work(void)
{
	return __atomic_load_n(&worked.retired, __ATOMIC_SEQ_CST) ||
	       (__atomic_load_n(&later, __ATOMIC_SEQ_CST) && !lath_retire_ended());
}

static void *work(void *unused)
{
	size_t ran;
	u32 asleep;

	(void)unused;
	lath_self.worker = true;
	for (;;) {
		/* one grace period for many objects costs as much as for one; but what waits is
		 * memory that the program has to do without */
		ran = reclaim(&worked);
		lath_rest(ran < MANY ? GATHER : GATHER_MANY);
		run_later();
		if (has_work())
			continue;
		__atomic_store_n(&worker, ASLEEP, __ATOMIC_SEQ_CST);
		asleep = ASLEEP;
		if (has_work()) /* pairs with push */
			__atomic_compare_exchange_n(&worker, &asleep, AWAKE, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		while (READ_ONCE(worker) == ASLEEP)
			lath_sleep(&worker, ASLEEP, UINT64_MAX);
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
		lath_wake(&worker);
		return;
	}
	was = NO_WORKER;
	if (__atomic_compare_exchange_n(&worker, &was, AWAKE, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED) &&
	    start_worker())
		WRITE_ONCE(worker, NO_WORKER);
}

static void push(struct lath_rcu_head **stack, struct lath_rcu_head *head,
		 void (*func)(struct lath_rcu_head *head))
{
	struct lath_rcu_head *last = READ_ONCE(*stack);

	LATH_ASSERT(func);
	head->func = func;
	do
		WRITE_ONCE(head->next,
			   last); /* optimistic readers may load the word that `next` overlays */
	while (!__atomic_compare_exchange_n(stack, &last, head, true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	if (stack != &stepped.retired &&
	    unlikely(__atomic_load_n(&worker, __ATOMIC_SEQ_CST) != AWAKE)) /* pairs with work */
		wake_worker();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	push(&worked.retired, head, func);
}

void lath_rcu_later(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	push(&later, head, func);
}

static void drain(void)
{
	LATH_NO_CANCEL;

	reclaim(&worked);
}

static void retire_for_step(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	push(&stepped.retired, head, func);
}

static void drain_stepped(void)
{
	LATH_NO_CANCEL;

	reclaim(&stepped);
}

static void synchronize(void)
{
	lath_wait_assert();
	(void)wait_for_readers(begin_period());
}

void lath_rcu_after_fork(void)
{
	LATH_ASSERT(lath_self.forking);
	if (!lath_self.worker)
		worker = NO_WORKER;
	if (lath_self.reclaiming) /* the fork was called by a callback */
		lath_self.reclaiming->held = lath_generation;
}

/* ---- the flavours ---- */

bool lath_reader_inside(const struct lath_rcu *rcu)
{
	return (rcu != &lath_rcu_auto && rcu != &lath_rcu_single) || lath_self.nesting;
}

const struct lath_rcu lath_rcu_auto = {
	.name = "auto",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = synchronize,
	.drain = drain,
	.register_thread = lath_thread_register,
	.unregister_thread = lath_thread_unregister,
};

const struct lath_rcu lath_rcu_single = {
	.name = "single",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire_for_step,
	.synchronize = synchronize,
	.drain = drain_stepped,
	.register_thread = lath_thread_register,
	.unregister_thread = lath_thread_unregister,
};
