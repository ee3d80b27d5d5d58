/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Included before bench/subjects/spin.h, in its place: peers have a queue lock (MCS), as in the
 * kernel. Behind a lock that all waiters try to take at once, they would fall further the more
 * cores there are.
 */
#ifndef LATH_BENCH_SPIN_H
#define LATH_BENCH_SPIN_H

struct bench_spin_place {
	struct bench_spin_place *next;
	int waits, used;
} __attribute__((aligned(64)));

struct bench_spin {
	struct bench_spin_place *held;	/* the last in the queue; NULL: free */
	struct bench_spin_place *owner; /* of the thread that has the lock */
} __attribute__((aligned(64)));

#ifdef __cplusplus
extern "C" {
#endif
/* A place that the thread does not wait with, nor hold a lock with (load.cpp). */
struct bench_spin_place *bench_spin_own(void);
#ifdef __cplusplus
}
#endif

static inline void bench_spin_pause(void)
{
	__builtin_ia32_pause();
}

static inline void bench_spin_lock(struct bench_spin *lock)
{
	struct bench_spin_place *mine = bench_spin_own(), *before;

	mine->used = 1;
	mine->next = (struct bench_spin_place *)0;
	__atomic_store_n(&mine->waits, 1, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&lock->held, mine, __ATOMIC_ACQ_REL);
	if (before) {
		/* pairs with the acquire in bench_spin_unlock */
		__atomic_store_n(&before->next, mine, __ATOMIC_RELEASE);
		while (__atomic_load_n(&mine->waits, __ATOMIC_ACQUIRE))
			__builtin_ia32_pause();
	}
	lock->owner = mine;
}

static inline void bench_spin_unlock(struct bench_spin *lock)
{
	struct bench_spin_place *mine = lock->owner, *me = mine, *next;

	next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE);
	if (!next && __atomic_compare_exchange_n(&lock->held, &me, (struct bench_spin_place *)0, 0,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		mine->used = 0;
		return;
	}
	while (!(next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE)))
		__builtin_ia32_pause();
	mine->used = 0;
	/* pairs with the acquire in bench_spin_lock */
	__atomic_store_n(&next->waits, 0, __ATOMIC_RELEASE);
}

#endif
