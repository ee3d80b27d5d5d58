/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cost_test.c - a search of a few keys does not go through all of a large set.
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

int main(void)
{
	struct lath_interval one = { 0, 0, 0 };
	double all, few;

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
	return 0;
}
