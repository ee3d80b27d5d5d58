/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * last_key_test.c - spaces that end with the last key there is, 2^64 - 1, with all flags; the space
 * of all keys. At the end all memory has been given back.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lathwork/space.h"
#include "base/failing.h"
#include "image.h"

#define LAST (~0ull)
#define FLAGS 32u

static struct failing memory;
static const struct lath_allocator allocator = { failing_alloc, failing_free, &memory };

static struct lath_space *create(uint64_t low, uint64_t high, uint64_t unit, unsigned int flags)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;

	config.low = low;
	config.high = high;
	config.unit = unit;
	config.flags = flags;
	config.allocator = &allocator;
	assert(!lath_space_create(&space, &config));
	return space;
}

static void destroy(struct lath_space *space)
{
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
	lath_rcu_auto.drain();
	assert(!__atomic_load_n(&memory.outstanding, __ATOMIC_RELAXED));
}

/* The first allocated (or free) run from `from` on is [key, key + size). */
static void expect_run(struct lath_space *space, int taken, uint64_t from, uint64_t key,
		       uint64_t size)
{
	struct lath_item run;

	assert(!(taken ? lath_space_next : lath_space_next_free)(space, from, &run));
	assert(run.key == key && run.size == size && !run.value);
}

static void expect_none(struct lath_space *space, int taken, uint64_t from)
{
	struct lath_item run;

	assert((taken ? lath_space_next : lath_space_next_free)(space, from, &run) == -ENOENT);
}

static void expect_allocated(struct lath_space *space, uint64_t allocated, uint64_t all)
{
	struct lath_space_stats stats;
	struct lath_space_segment segment;

	lath_space_get_stats(space, &stats);
	assert(stats.allocated == allocated && stats.free == all - allocated);
	assert(!lath_space_segment_stats(space, 0, &segment));
	assert(segment.allocated == allocated && segment.keys == all && !segment.high);
}

/* The only room is a hole of n units, naturally aligned, in an arena that is used: every call that
 * may be served there finds it, whatever limits it has. */
static void in_a_used_arena(uint64_t n, unsigned int flags)
{
	const uint64_t units = 8192, low = 0 - units, hole = low + 2048;
	struct lath_space *space = create(low, 0, 1, flags);
	struct lath_hole_request want = { .size = n, .align = n };
	enum lath_hole_policy policy;
	uint64_t key, i;

	for (i = 0; i < units; i++)
		assert(!lath_space_alloc(space, 1, 0, 5, &key));
	assert(lath_space_alloc(space, 1, 0, 5, &key) == -ENOSPC);
	for (policy = LATH_HOLE_FIRST; policy < LATH_HOLE_EXACT; policy++) {
		want.policy = policy;
		for (i = 0; i < 4; i++) { /* limits: none, from the hole on, up to its end, both */
			assert(!lath_space_free(space, hole, n));
			want.low = i & 1 ? hole : 0;
			want.high = i & 2 ? hole + n : 0;
			assert(!lath_space_alloc_request(space, &want, 5, &key) && key == hole);
			assert(lath_space_alloc_request(space, &want, 5, &key) == -ENOSPC);
		}
	}
	assert(!lath_space_free(space, hole, n));
	assert(!lath_space_alloc(space, n, n, 5, &key) && key == hole);
	assert(!lath_space_free(space, hole, n));
	assert(!lath_space_alloc_in(space, 1, n, 0, 5, &key) && key == hole);
	destroy(space);
}

/* A saved space, and what has been read of it. */
/* Saves the space, loads it into another one: the same runs. */
static void expect_same_loaded(struct lath_space *space, unsigned int flags, uint64_t runs)
{
	struct lath_space *other = create(0, 0, 1, flags);
	struct lath_item a, b;
	struct stream tape = { .size = 0 };
	uint64_t from = 0, n = 0;
	char report[100];

	assert(!lath_space_save(space, write_stream, &tape));
	assert(!lath_space_load(other, read_stream, &tape, 9, report, sizeof(report)));
	assert(tape.at == tape.size);
	do {
		int ret = lath_space_next(space, from, &a);

		assert(lath_space_next(other, from, &b) == ret);
		if (ret)
			break;
		assert(a.key == b.key && a.size == b.size);
		from = a.key + a.size;
		n++;
	} while (from);
	assert(n == runs && !lath_space_verify(other, NULL, 0));
	lath_space_destroy(other);
	lath_rcu_auto.drain();
}

/* All 2^64 keys, half and half: their number is more than a size can say. */
static void all_keys(unsigned int flags)
{
	const uint64_t half = 1ull << 63;
	struct lath_space *space = create(0, 0, 1, flags);

	expect_run(space, 0, 0, 0, 0);
	expect_run(space, 0, 5, 5, LAST - 4);
	expect_none(space, 1, 0);
	expect_same_loaded(space, flags, 0);
	assert(!lath_space_reserve(space, half, half, 1));
	expect_allocated(space, half, LAST);
	expect_run(space, 1, 0, half, half);
	expect_same_loaded(space, flags, 1);
	assert(!lath_space_reserve(space, 0, half, 1));
	expect_allocated(space, 0, LAST); /* 2^64, modulo 2^64 */
	expect_run(space, 1, 0, 0, 0);
	expect_run(space, 1, 1, 1, LAST);
	expect_run(space, 1, LAST, LAST, 1);
	expect_none(space, 0, 0);
	expect_none(space, 0, LAST);
	expect_same_loaded(space, flags, 1);

	assert(!lath_space_free(space, LAST, 1));
	expect_run(space, 0, 0, LAST, 1);
	expect_run(space, 0, LAST, LAST, 1);
	expect_run(space, 1, 0, 0, LAST);
	expect_none(space, 1, LAST);
	expect_same_loaded(space, flags, 1);
	assert(!lath_space_free(space, 0, 1));
	expect_run(space, 0, 0, 0, 1);
	expect_run(space, 1, 0, 1, LAST - 1);
	expect_same_loaded(space, flags, 1);
	assert(!lath_space_free(space, half - 1, 2)); /* of both */
	expect_run(space, 0, 1, half - 1, 2);
	expect_same_loaded(space, flags, 2);
	assert(lath_space_free(space, LAST - 1, 2) == -EINVAL);
	assert(!lath_space_free(space, half + 1, half - 2));
	expect_run(space, 0, half, half, half);
	destroy(space);
}

/* A segment that ends with the last key, and one that begins with key 0. */
static void segments(unsigned int flags)
{
	struct lath_space *space = create(1ull << 20, 1ull << 21, 1, flags);
	struct lath_space_segment stats;
	uint64_t key;

	assert(lath_space_add_segment(space, LAST - 99, 100, 100) == 1);
	assert(lath_space_add_segment(space, 0, 100, 0) == 2);
	assert(lath_space_add_segment(space, LAST, 1, 0) == -EEXIST);
	assert(lath_space_add_segment(space, 0, 1, 0) == -EEXIST);
	assert(lath_space_segment_of(space, LAST) == 1 && lath_space_segment_of(space, 0) == 2);
	assert(lath_space_segment_of(space, LAST - 100) == -ENOENT);
	assert(!lath_space_alloc_in(space, 1u << 1, 100, 0, 1, &key) && key == LAST - 99);
	assert(lath_space_alloc_in(space, 1u << 1, 1, 0, 1, &key) == -ENOSPC);
	assert(!lath_space_segment_stats(space, 1, &stats) && stats.allocated == 100 &&
	       stats.keys == 100 && stats.low == LAST - 99 && !stats.high);
	expect_run(space, 1, LAST - 99, LAST - 99, 100);
	expect_none(space, 0, LAST - 99);
	assert(!lath_space_free(space, LAST - 99, 100));
	assert(!lath_space_limit_segment(space, 1, LAST)); /* none that counts */
	assert(!lath_space_reserve(space, LAST - 99, 100, 1));
	assert(!lath_space_free(space, LAST - 99, 100));
	lath_space_trim(space);
	assert(!lath_space_drain_segment(space, 1, 1) && !lath_space_remove_segment(space, 1));
	assert(lath_space_segment_of(space, LAST) == -ENOENT);
	expect_none(space, 0, 1ull << 21);
	destroy(space);
}

int main(void)
{
	unsigned int flags;
	uint64_t n;

	for (flags = 0; flags < FLAGS; flags++) {
		for (n = 1; n <= 2048; n *= 2)
			in_a_used_arena(n, flags);
		all_keys(flags);
		segments(flags);
	}
	printf("last_key_test: 2^64 - 1 with %u flags\n", FLAGS);
	return 0;
}
