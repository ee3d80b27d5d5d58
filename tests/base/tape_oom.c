/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape_oom.c - for each tape and each n: the n-th allocation fails, once, and then all from the
 * n-th on. Every call either does what it should or says -ENOMEM and changes nothing; nothing
 * leaks.
 */
#include <stdio.h>

#include "base/failing.h"
#include "base/tape.h"

/* Allocations the tape makes, or -1. */
static long run(const uint8_t *bytes, size_t size, unsigned long fail_at, bool from_then_on)
{
	struct failing failing = { .fail_at = fail_at, .from_then_on = from_then_on };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct tape tape = { bytes, bytes + size, &allocator, fail_at != 0, 97, "" };

	if (tape_run(&tape) || failing.outstanding) {
		fprintf(stderr, "tape_oom: allocation %lu%s: %ld blocks left\n", fail_at,
			from_then_on ? " and all after it" : "", failing.outstanding);
		return -1;
	}
	return (long)failing.calls;
}

int main(void)
{
	unsigned long tapes = getenv("LATH_LONG") ? 200 : tape_plan.failing_tapes, i;
	/* each kind in any case; the time grows with the square of the size */
	size_t size = tape_plan.failing_size / (LATH_PART > 1 ? 2 : 1);
	unsigned long sites = 0;
	static uint8_t bytes[TAPE_MOST];

	for (i = 0; i < tapes; i++) {
		long calls, n;

		tape_make(bytes, size, i);
		tape_plan.begin(bytes, i, true);
		calls = run(bytes, size, 0, false);
		if (calls < 0)
			return 1;
		for (n = 1; n <= calls; n++)
			if (run(bytes, size, (unsigned long)n, false) < 0 ||
			    run(bytes, size, (unsigned long)n, true) < 0)
				return 1;
		sites += (unsigned long)calls;
	}
	printf("tape_oom: %lu tapes, %lu allocations failed in turn\n", tapes, sites);
	return sites ? 0 : 1;
}
