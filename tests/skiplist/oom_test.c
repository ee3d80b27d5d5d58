/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * oom_test.c - for each tape and each n: the n-th allocation fails, once, and then all from the n-th on.
 * Every call either does what it should or says -ENOMEM and changes nothing; nothing leaks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lathwork/skiplist.h"
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
	struct tape_options options = { &allocator, true, 97 };

	if (tape_run(bytes, size, &options) || failing.outstanding) {
		fprintf(stderr, "oom_test: allocation %lu%s: %ld blocks left\n", fail_at,
			from_then_on ? " and all after it" : "", failing.outstanding);
		return -1;
	}
	return (long)failing.calls;
}

#define KEYS 30000u

static int insert_key(struct lath_skiplist *list, uint64_t i)
{
	struct lath_item item = { i * 0x9e3779b97f4a7c15ull, 1, i };

	return lath_skiplist_insert_item(list, &item, NULL);
}

/* Leaves whose separators found no memory get them once there is some again. */
static int memory_comes_back(void)
{
	struct failing failing = { 0, ~0ul, false, 0, 0 };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = { .size = sizeof(config),
				      .flags = LATH_NODE_EACH,
				      .allocator = &allocator };
	struct lath_skiplist_stats before, after;
	struct lath_skiplist list;
	char text[200] = "";
	uint64_t i;

	if (lath_skiplist_init(&list, &config))
		return -1;
	for (i = 1; i <= KEYS; i++) {
		int ret;

		do { /* the one that gets memory for its leaf gets no more than that */
			failing.fail_at = failing.calls + 2;
			failing.from_then_on = true;
			ret = insert_key(&list, i);
		} while (ret == -ENOMEM);
		if (ret)
			return -1;
	}
	lath_skiplist_get_stats(&list, &before);
	failing.from_then_on = false;
	for (; i <= 3 * KEYS; i++)
		if (insert_key(&list, i))
			return -1;
	lath_skiplist_get_stats(&list, &after);
	if (before.unposted < 3 || after.unposted || lath_skiplist_verify(&list, 5, text, sizeof(text))) {
		fprintf(stderr, "oom_test: unposted without memory %llu, with it %llu; %s\n",
			(unsigned long long)before.unposted, (unsigned long long)after.unposted, text);
		return -1;
	}
	lath_skiplist_fini(&list, NULL, NULL);
	printf("oom_test: %llu nodes posted when memory came back\n", (unsigned long long)before.unposted);
	return failing.outstanding ? -1 : 0;
}

int main(void)
{
	unsigned long tapes = getenv("LATH_LONG") ? 200 : 6, i;
	unsigned long sites = 0;
	static uint8_t bytes[3000];

	for (i = 0; i < tapes; i++) {
		uint64_t x = i * 0x9e3779b97f4a7c15ull + 7;
		long calls, n;
		size_t j;

		for (j = 0; j < sizeof(bytes); j++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			bytes[j] = (uint8_t)(x >> 56);
		}
		bytes[0] = (uint8_t)i;
		bytes[1] = (uint8_t)(i / 2);
		bytes[2] = 1; /* one allocation a node: many places to fail */
		calls = run(bytes, sizeof(bytes), 0, false);
		if (calls < 0)
			return 1;
		for (n = 1; n <= calls; n++)
			if (run(bytes, sizeof(bytes), (unsigned long)n, false) < 0 ||
			    run(bytes, sizeof(bytes), (unsigned long)n, true) < 0)
				return 1;
		sites += (unsigned long)calls;
	}
	printf("oom_test: %lu tapes, %lu allocations failed in turn\n", tapes, sites);
	return sites && !memory_comes_back() ? 0 : 1;
}
