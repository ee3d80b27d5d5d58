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
 * A thread that holds a range writes plain variables that stand for keys of it, or with a shared
 * range reads them. GenMC reports a race if two of them are not ordered: that is all there is to
 * exclusion. At the end nothing is held and the sums are right.
 */
#include <pthread.h>
#include <assert.h>

#include "lathwork/range_lock.h"
#include "sys/sys.h"

enum call { LOCK, TRY, DOWNGRADE, GROW };

extern __thread unsigned int genmc_thread;

static struct lath_range_locks locks;
static struct lath_range_hold holds[4];

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

static void make(unsigned int thread, enum call call, u64 key, u64 n, enum lath_range_mode mode)
{
	struct lath_range_hold *hold = &holds[thread];

	if (call == TRY) {
		if (lath_range_trylock(&locks, hold, key, n, mode))
			return;
	} else {
		assert(!lath_range_lock(&locks, hold, key, call == GROW ? 1 : n, mode));
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
	unsigned int i, t;

	config.buckets = BUCKETS;
	assert(!lath_range_locks_init(&locks, &config));
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		u64 sum = 0;

		for (t = 1; t <= THREADS; t++)
			sum += written[t][i];
		assert(data[i] == sum);
	}
	assert(!lath_range_locks_verify(&locks));
	return 0;
}
