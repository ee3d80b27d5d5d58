/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * oom_test.c - for each tape and each n: the n-th allocation fails, once, and then all from the n-th on.
 * Every call either does what it should or says -ENOMEM and changes nothing; nothing leaks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tape.h"

struct failing {
	unsigned long calls, fail_at;
	bool from_then_on;
	unsigned long failures;
	long outstanding;
};

static void *failing_alloc(void *ctx, size_t size, size_t align)
{
	struct failing *failing = ctx;
	unsigned long call = ++failing->calls;
	void *block;

	if (call == failing->fail_at || (failing->from_then_on && call > failing->fail_at)) {
		failing->failures++;
		return NULL;
	}
	if (posix_memalign(&block, align < 64 ? 64 : align, size))
		return NULL;
	__atomic_fetch_add(&failing->outstanding, 1, __ATOMIC_RELAXED);
	return block;
}

static void failing_free(void *ctx, void *block, size_t size)
{
	struct failing *failing = ctx;

	(void)size;
	__atomic_fetch_sub(&failing->outstanding, 1, __ATOMIC_RELAXED);
	free(block);
}

/* Allocations the tape makes, or -1. */
static long run(const uint8_t *bytes, size_t size, unsigned long fail_at, bool from_then_on)
{
	struct failing failing = { 0, fail_at, from_then_on, 0, 0 };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct hole_tape_options options = { &allocator, true, 97 };

	if (hole_tape_run(bytes, size, &options) || failing.outstanding) {
		fprintf(stderr, "hole oom_test: allocation %lu%s: %ld blocks left\n", fail_at,
			from_then_on ? " and all after it" : "", failing.outstanding);
		return -1;
	}
	return (long)failing.calls;
}

int main(void)
{
	unsigned long tapes = getenv("LATH_LONG") ? 200 : 7, i;
	unsigned long sites = 0;
	static uint8_t bytes[900];

	for (i = 0; i < tapes; i++) {
		uint64_t x = i * 0x9e3779b97f4a7c15ull + 7;
		long calls, n;
		size_t j;

		for (j = 0; j < sizeof(bytes); j++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			bytes[j] = (uint8_t)(x >> 56);
		}
		bytes[0] = 1; /* one allocation a node: many places to fail */
		bytes[1] = (uint8_t)(getenv("LATH_LONG") ? i : i % 6); /* the largest space takes minutes */
		calls = run(bytes, sizeof(bytes), 0, false);
		if (calls < 0)
			return 1;
		for (n = 1; n <= calls; n++)
			if (run(bytes, sizeof(bytes), (unsigned long)n, false) < 0 ||
			    run(bytes, sizeof(bytes), (unsigned long)n, true) < 0)
				return 1;
		sites += (unsigned long)calls;
	}
	printf("hole oom_test: %lu tapes, %lu allocations failed in turn\n", tapes, sites);
	return sites ? 0 : 1;
}
