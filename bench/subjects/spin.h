/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The lock in front of every structure that has none, so that all of them pay the same. It is a
 * test-and-test-and-set lock that pauses between two looks and yields when the holder seems not to
 * run.
 */
#ifndef LATH_BENCH_SPIN_H
#define LATH_BENCH_SPIN_H

#include <sched.h>

struct bench_spin {
	int held;
} __attribute__((aligned(64)));

static inline void bench_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

static inline void bench_spin_lock(struct bench_spin *lock)
{
	/* acquire pairs with the release in bench_spin_unlock */
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE)) {
		int spins = 0;

		while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED)) {
			bench_spin_pause();
			if (++spins == 128) {
				sched_yield();
				spins = 0;
			}
		}
	}
}

static inline void bench_spin_unlock(struct bench_spin *lock)
{
	/* release pairs with the acquire in bench_spin_lock */
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
