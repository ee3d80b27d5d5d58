/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* failing.h - an allocator that counts, and fails when told. */
#ifndef LATH_TESTS_FAILING_H
#define LATH_TESTS_FAILING_H

#include <stdbool.h>
#include <stdlib.h>

#include "lathwork/config.h"

struct failing {
	unsigned long calls, fail_at; /* the first is 1; 0: none fails */
	bool from_then_on;
	size_t fail_size; /* allocations of this size fail; 0: none */
	long outstanding;
	unsigned long failures;
};

static void *failing_alloc(void *ctx, size_t size, size_t align)
{
	struct failing *failing = ctx;
	unsigned long call = ++failing->calls;
	void *block;

	if ((failing->fail_size && size == failing->fail_size) ||
	    (failing->fail_at &&
	     (call == failing->fail_at || (failing->from_then_on && call > failing->fail_at)))) {
		failing->failures++;
		return NULL;
	}
	if (posix_memalign(&block, align < 64 ? 64 : align, size))
		return NULL;
	__atomic_fetch_add(&failing->outstanding, 1, __ATOMIC_RELAXED);
	return block;
}

/* Reclamation frees in its own thread. */
static void failing_free(void *ctx, void *block, size_t size)
{
	struct failing *failing = ctx;

	(void)size;
	__atomic_fetch_sub(&failing->outstanding, 1, __ATOMIC_RELAXED);
	free(block);
}

#endif /* LATH_TESTS_FAILING_H */
