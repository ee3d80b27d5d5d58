/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cost_test.c - a search of a few keys does not go through all of a large set; an iteration,
 * the nearest interval and a clear take each of those that begin at one key once, not once for each
 * step.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "lathwork/interval.h"

#define N 100000ull

static struct lath_intervals set;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The least time of some searches of [first, end). */
static double cost(uint64_t first, uint64_t end, uint64_t count)
{
	double begin, took, least = 1e9;
	int i;

	for (i = 0; i < 20; i++) {
		begin = now();
		assert(lath_intervals_count_overlap(&set, first, end) == count);
		took = now() - begin;
		least = took < least ? took : least;
	}
	return least;
}

static void one_first_key(void)
{
	struct lath_interval one = { 1ull << 40, 0, 0 }, found;
	struct lath_interval_iter iter;
	uint64_t n = 0;
	double begin;

	assert(!lath_intervals_init(&set, LATH_HALF_OPEN, NULL));
	for (one.value = 0; one.value < N; one.value++) {
		one.end = one.first + (1 << 30) + one.value;
		assert(!lath_intervals_insert(&set, &one));
	}
	/* some were erased, so that the list has holes */
	for (one.value = 100; one.value < 1100; one.value += 2) {
		one.end = one.first + (1 << 30) + one.value;
		assert(!lath_intervals_erase(&set, &one));
	}
	begin = now();
	lath_interval_iter_all(&iter, &set);
	while (lath_interval_next(&iter, &found))
		n++;
	assert(n == N - 500);
	assert(!lath_intervals_nearest(&set, one.first + (1ull << 31), &found));
	assert(found.value == N - 1);
	printf("cost_test: %.1f ms for one first key\n", (now() - begin) * 1e3);
	assert(now() - begin < .3);
	begin = now();
	assert(lath_intervals_clear(&set, NULL, NULL) == N - 500);
	printf("cost_test: %.1f ms to clear it\n", (now() - begin) * 1e3);
	assert(now() - begin < .3);
	lath_intervals_fini(&set, NULL, NULL);
}

int main(void)
{
	struct lath_config ranks = LATH_CONFIG_INIT;
	struct lath_interval one = { 0, 0, 0 };
	double all, few;

	ranks.flags = LATH_RANKS;
	assert(!lath_intervals_init(&set, LATH_HALF_OPEN, &ranks));
	for (; one.value < N; one.value++) { /* four at each first key: lists too */
		one.first = one.value / 4 * 40 + 1;
		one.end = one.first + 8 + one.value % 4;
		assert(!lath_intervals_insert(&set, &one));
	}
	all = cost(0, N * 10 + 20, N);
	few = cost(41, 42, 4);
	printf("cost_test: with ranks all %.2f us, four %.2f us\n", all * 1e6, few * 1e6);
	assert(all < 20 * few);
	lath_intervals_fini(&set, NULL, NULL);
	assert(!lath_intervals_init(&set, LATH_HALF_OPEN, NULL));
	for (one.value = 0; one.value < N; one.value++) {
		one.first = one.value * 10 + 1;
		one.end = one.first + 1 + one.value % 7;
		assert(!lath_intervals_insert(&set, &one));
	}
	all = cost(0, N * 10 + 20, N);
	few = cost(0, 12, 2);
	printf("cost_test: all %.1f us, two %.2f us\n", all * 1e6, few * 1e6);
	assert(few < all / 20);
	lath_intervals_fini(&set, NULL, NULL);
	one_first_key();
	return 0;
}
