/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space_model_test.c - random tapes on a space, then short ones with the n-th allocation failing, once, and then
 * all from the n-th on; nothing leaks. space_model_test [tapes]; LATH_LONG=1: fifty times more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "space_tape.h"

struct failing {
	unsigned long calls, fail_at;
	bool from_then_on;
	long outstanding;
};

static void *failing_alloc(void *ctx, size_t size, size_t align)
{
	struct failing *failing = ctx;
	unsigned long call = ++failing->calls;
	void *block;

	if (call == failing->fail_at ||
	    (failing->from_then_on && failing->fail_at && call > failing->fail_at))
		return NULL;
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
	struct failing failing = { 0, fail_at, from_then_on, 0 };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct space_tape_options options = { &allocator, fail_at != 0 };

	if (space_tape_run(bytes, size, &options) || failing.outstanding) {
		fprintf(stderr, "space_model_test: allocation %lu%s: %ld blocks left\n", fail_at,
			from_then_on ? " and all after it" : "", failing.outstanding);
		return -1;
	}
	return (long)failing.calls;
}

static void make_tape(uint8_t *bytes, size_t size, unsigned long i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15ull + 7;
	size_t j;

	for (j = 0; j < size; j++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		bytes[j] = (uint8_t)(x >> 56);
	}
	bytes[0] = (uint8_t)i; /* every form of the space in turn */
	bytes[1] = (uint8_t)(i / 8);
}

int main(int argc, char **argv)
{
	unsigned long tapes = argc > 1 ? strtoul(argv[1], NULL, 0) : 64, i, sites = 0;
	static uint8_t bytes[12000];

	if (getenv("LATH_LONG"))
		tapes *= 50;
	for (i = 0; i < tapes; i++) {
		long calls, n;

		make_tape(bytes, sizeof(bytes), i);
		if (run(bytes, sizeof(bytes), 0, false) < 0) {
			fprintf(stderr, "space_model_test: tape %lu\n", i);
			return 1;
		}
		calls = run(bytes, 500, 0, false);
		for (n = 1; n <= calls && i < 32; n++)
			if (run(bytes, 500, (unsigned long)n, false) < 0 ||
			    run(bytes, 500, (unsigned long)n, true) < 0)
				return 1;
		sites += i < 32 ? (unsigned long)calls : 0;
	}
	printf("space_model_test: %lu tapes, %lu allocations failed in turn\n", tapes, sites);
	return 0;
}
