/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lock_client.c - a client of range locks for GenMC: up to three threads that each lock ranges one
 * after the other.
 *
 * explore.py compiles it with these macros:
 *   SCRIPT    CALL(thread, place, call, key, n, mode)...
 *   THREADS   1 to 3
 *   BUCKETS   few, so that a range which looks at ranges of other classes takes few locks
 *
 * Thread 0 locks ranges before the others begin, which these resize and unlock by their places. What
 * is held when they have ended it unlocks.
 *
 * A thread that holds a range writes plain variables that stand for keys of it, or with a shared
 * range reads them. GenMC reports a race if two of them are not ordered: that is all there is to
 * exclusion. At the end nothing is held and the sums are right.
 *
 * A thread that goes to sleep ends. If all others have returned, so hold nothing, and have not woken
 * it, it would sleep for ever. If they have, the execution says no more: there is another one in
 * which it saw that before it slept.
 */
#include <pthread.h>
#include <assert.h>

#include "lock/lock.h"

enum call { LOCK, TRY, DOWNGRADE, GROW, KEEP, AWAIT, RESIZE, UNLOCK };

extern __thread unsigned int genmc_thread;

static struct lath_range_locks locks;
static struct lath_range_hold holds[4], held[2]; /* held: by thread 0 */
static bool holds_now[4], held_now[2];
static u32 steps[4];
static const u32 *asleep[4];

/* what the ranges protect: the variables of keys 0, 5 and 20, and what their writers counted */
static const u64 keys[] = { 0, 5, 20 };
static u64 data[3], written[4][3];

static void use(unsigned int thread, u64 key, u64 n, bool write)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i] - key >= n)
			continue;
		if (write) {
			data[i]++;
			written[thread][i]++;
		} else {
			volatile u64 seen = *(volatile u64 *)&data[i];

			(void)seen;
		}
	}
}

void genmc_step(void)
{
	smp_store_release(&steps[genmc_thread], READ_ONCE(steps[genmc_thread]) + 1);
}

void genmc_sleep(const u32 *word, u32 value)
{
	if (READ_ONCE(*word) != value)
		return;
	asleep[genmc_thread] = word;
	pthread_exit(NULL);
}

/* Inline: GenMC takes a variable on the stack for one of an earlier call that had its address. */
static __always_inline void make(unsigned int thread, enum call call, u64 key, u64 n,
				 enum lath_range_mode mode)
{
	struct lath_range_hold *hold = &holds[thread];

	if (call == AWAIT) { /* until that thread has come so far */
		__VERIFIER_assume(smp_load_acquire(&steps[key]) >= n);
		return;
	}
	if (call == RESIZE || call == UNLOCK) {
		if (call == RESIZE)
			lath_range_resize(&locks, &held[key], hold_of(&held[key])->first, n);
		else
			lath_range_unlock(&locks, &held[key]);
		held_now[key] = call == RESIZE;
		return;
	}
	if (call == TRY) {
		if (lath_range_trylock(&locks, hold, key, n, mode))
			return;
	} else {
		assert(!lath_range_lock(&locks, hold, key, call == GROW ? 1 : n, mode));
	}
	if (call == KEEP) {
		holds_now[thread] = true;
		return;
	}
	if (call == GROW && lath_range_resize(&locks, hold, key, n))
		n = 1; /* others were there */
	use(thread, key, n, mode == LATH_EXCLUSIVE_RANGE);
	if (call == DOWNGRADE) {
		lath_range_downgrade(&locks, hold);
		use(thread, key, n, false);
	}
	lath_range_unlock(&locks, hold);
}

static void *body(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg;

	genmc_thread = thread;
#define CALL(t, place, call, key, n, mode) \
	if (thread == (t))                 \
		make(t, call, key, n, mode);
	SCRIPT
#undef CALL
	return NULL;
}

int main(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	pthread_t thread[THREADS];
	unsigned int i, t, sleepers = 0;

	config.buckets = BUCKETS;
	assert(!lath_range_locks_init(&locks, &config));
#define CALL(t, place, call, key, n, mode) \
	if (!(t))                          \
		held_now[place] = !lath_range_lock(&locks, &held[place], key, n, mode);
	SCRIPT
#undef CALL
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < ARRAY_SIZE(held); i++)
		if (held_now[i])
			lath_range_unlock(&locks, &held[i]);
	for (t = 1; t <= THREADS; t++)
		if (holds_now[t])
			lath_range_unlock(&locks, &holds[t]);
	for (t = 1; t <= THREADS; t++) {
		sleepers += !!asleep[t];
		if (asleep[t] && READ_ONCE(*asleep[t]) != ASLEEP)
			return 0;
	}
	assert(!sleepers);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		u64 sum = 0;

		for (t = 1; t <= THREADS; t++)
			sum += written[t][i];
		assert(data[i] == sum);
	}
	assert(!lath_range_locks_verify(&locks));
	return 0;
}
