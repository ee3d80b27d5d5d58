/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index_unit.c - edges of the range index, and the faults of the designs before it, each by name.
 * Runs in user space and in the kernel.
 */
#include "base/unit.h"

#include "lathwork/cursor.h"
#include "tree/node/node.h"

int index_unit(void);

#define FIRST (1ull << 32)

static struct lath_index *list;
static struct lath_item got;

static int put(u64 key, u64 size, u64 value)
{
	struct lath_item item = { key, size, value };

	return lath_index_insert_item(list, &item, &got);
}

static int sound(void)
{
	return !lath_index_verify(list, 5, NULL, 0);
}

static struct lath_index *fresh(enum lath_layout layout)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = layout;
	return lath_index_create(&config);
}

static void drop(void)
{
	lath_index_destroy(list, NULL, NULL);
	list = NULL;
}

/* Empty ranges and ranges past the last key are refused; the last key itself is usable. */
static int edges_of_the_key_space(void)
{
	CHECK(put(5, 0, 1) == -EINVAL);
	CHECK(put(~0ull, 2, 1) == -EINVAL);
	CHECK(put(~0ull - 9, 11, 1) == -EINVAL);
	CHECK(lath_index_overlap_item(list, 5, 0, &got) == -EINVAL);
	CHECK(put(~0ull, 1, 7) == 0);
	CHECK(put(~0ull - 9, 9, 8) == 0);
	CHECK(put(0, 1, 9) == 0);
	CHECK(lath_index_lookup_item(list, ~0ull, &got) == 0 && got.value == 7);
	CHECK(lath_index_lookup_item(list, ~0ull - 1, &got) == 0 && got.value == 8);
	CHECK(lath_index_overlap_item(list, 1, ~0ull - 1, &got) == 0 && got.value == 8);
	CHECK(lath_index_floor_item(list, ~0ull, &got) == 0 && got.value == 7);
	CHECK(lath_index_ceiling_item(list, 0, &got) == 0 && got.value == 9);
	CHECK(put(0, ~0ull, 1) == -EEXIST);
	CHECK(lath_index_erase_range(list, 0, ~0ull, NULL, NULL) == 2); /* all but the last key */
	CHECK(lath_index_erase_item(list, ~0ull, &got) == 0);
	CHECK(put(0, ~0ull, 3) == 0 && lath_index_lookup_item(list, ~0ull - 1, &got) == 0);
	CHECK(lath_index_count(list) == 1 && sound());
	CHECK(lath_index_clear(list, NULL, NULL) == 1 && lath_index_count(list) == 0);
	CHECK(put(~0ull, 1, 7) == 0 && put(0, 1, 9) == 0);
	CHECK(lath_index_clear(list, NULL, NULL) == 2 && lath_index_clear(list, NULL, NULL) == 0);
	return sound() ? 0 : -1;
}

/* 2013: the leaf search compared only the start key with [leaf.min, leaf.max), so a query that
 * began in the gap before a leaf and reached its first extent was answered "nothing". */
static int no_false_miss_between_leaves(void)
{
	u64 i;

	for (i = 0; i < 1000; i++)
		CHECK(put(FIRST + i * 100, 50, i) == 0);
	for (i = 1; i < 1000; i++) {
		CHECK(lath_index_overlap_item(list, FIRST + i * 100 - 50, 51, &got) == 0 &&
		      got.value == i);
		CHECK(lath_index_overlap_item(list, FIRST + i * 100 - 50, 50, &got) == -ENOENT);
		CHECK(lath_index_lookup_item(list, FIRST + i * 100 - 1, &got) == -ENOENT);
	}
	return sound() ? 0 : __LINE__;
}

/* 2013: an insert checked for overlap within one leaf only. Across a fence it must be found from
 * both sides. */
static int overlap_across_a_fence(void)
{
	u64 i;

	for (i = 0; i < 300; i++)
		CHECK(put(i * 10, 4, i) == 0);
	for (i = 0; i + 1 < 300; i++) {
		CHECK(put(i * 10 + 4, 7, 0) == -EEXIST && got.value == i + 1);
		CHECK(put(i * 10 + 3, 2, 0) == -EEXIST && got.value == i);
	}
	return sound() ? 0 : __LINE__;
}

/* A range longer than many leaves finds room where they are empty; lookups at both ends see it. */
static int range_over_emptied_leaves(void)
{
	u64 i;

	for (i = 0; i < 2000; i++)
		CHECK(put(i * 10, 10, i) == 0);
	CHECK(lath_index_erase_range(list, 1000, 17000, NULL, NULL) == 1700);
	CHECK(put(995, 17000, 1) == -EEXIST && got.value == 99);
	CHECK(put(1000, 17001, 1) == -EEXIST && got.value == 1800);
	CHECK(put(1000, 17000, 5000) == 0);
	CHECK(lath_index_lookup_item(list, 1000, &got) == 0 && got.value == 5000);
	CHECK(lath_index_lookup_item(list, 9999, &got) == 0 && got.value == 5000);
	CHECK(lath_index_lookup_item(list, 17999, &got) == 0 && got.value == 5000);
	CHECK(lath_index_lookup_item(list, 18000, &got) == 0 && got.value == 1800);
	CHECK(lath_index_floor_item(list, 17999, &got) == 0 && got.key == 1000);
	CHECK(sound());
	CHECK(lath_index_erase_item_at(list, 5000, &got) == 0 && got.key == 1000);
	for (i = 100; i < 1800; i++)
		CHECK(put(i * 10, 10, i) == 0);
	return sound() ? 0 : __LINE__;
}

/* What a long range put out of use is merged away at once, as long as it had one parent. */
static int void_leaves_are_merged(void)
{
	struct lath_index_stats stats;
	u64 turn, i;

	if (NODE_CAP < 64)
		return 0; /* 2000 items have several parents then */
	for (turn = 0; turn < 6; turn++) {
		struct lath_item wide = { 1001, 19998, 7 };

		for (i = 0; i < 2000; i++)
			CHECK(put(1000 + 10 * i, 5, i) == 0);
		lath_index_get_stats(list, &stats);
		CHECK(stats.leaves > 30);
		CHECK(lath_index_store_range(list, &wide, NULL, NULL) == 0 && sound());
		CHECK(lath_index_erase_range(list, 0, ~0ull, NULL, NULL) >= 2);
		lath_retire_drain(&lath_rcu_auto);
		unit_breathe();
	}
	lath_index_get_stats(list, &stats);
	CHECK(stats.leaves < 8 && sound());
	return 0;
}

/* The first leaf of all can be bypassed too: nothing is left of key 0. */
static int range_from_key_zero_over_leaves(void)
{
	u64 i;

	for (i = 0; i < 500; i++)
		CHECK(put(i, 1, i) == 0);
	CHECK(lath_index_erase_range(list, 0, 400, NULL, NULL) == 400);
	CHECK(put(0, 400, 9000) == 0 && sound());
	CHECK(lath_index_ceiling_item(list, 0, &got) == 0 && got.value == 9000);
	CHECK(lath_index_lookup_item(list, 0, &got) == 0 &&
	      lath_index_lookup_item(list, 399, &got) == 0);
	CHECK(lath_index_erase_item(list, 0, &got) == 0 && sound());
	for (i = 0; i < 400; i++)
		CHECK(put(i, 1, i) == 0);
	return sound() ? 0 : __LINE__;
}

/* 2013: a deletion at the end of a full leaf read one element past the array; leaf.max went
 * stale. */
static int erase_at_the_end_of_full_leaves(void)
{
	u64 i, n = 64 * 8;

	for (i = 0; i < n; i++)
		CHECK(put(i, 1, i) == 0);
	for (i = 0; i < n; i++) {
		CHECK(lath_index_erase_item(list, n - 1 - i, &got) == 0 && got.value == n - 1 - i);
		CHECK(lath_index_lookup_item(list, n - 1 - i, &got) == -ENOENT);
		CHECK(i + 1 == n ||
		      (lath_index_floor_item(list, ~0ull, &got) == 0 && got.key == n - 2 - i));
	}
	return lath_index_count(list) == 0 && sound() ? 0 : __LINE__;
}

/* 2013: empty leaves were never merged. Fill and drain: memory must come back into use. */
static int drained_leaves_are_used_again(void)
{
	struct lath_index_stats full, drained;
	u64 turn, i;

	for (turn = 0; turn < 12; turn++) {
		for (i = 0; i < 4000; i++)
			CHECK(put(turn * 100000 + i, 1, i) == 0);
		if (!turn)
			lath_index_get_stats(list, &full);
		for (i = 0; i < 4000; i++)
			CHECK(lath_index_erase_item(list, turn * 100000 + i, NULL) == 0);
		lath_retire_drain(&lath_rcu_auto);
		unit_breathe();
	}
	lath_index_get_stats(list, &drained);
	/* twelve times the same items one after the other: a fraction of the leaves of one time is
	 * left */
	CHECK(drained.merges > full.leaves && drained.leaves < full.leaves / 4);
	CHECK(sound());
	return 0;
}

/* Blocked skiplists that draw a node's height from a hash of the key that is the key itself:
 * aligned keys all become tall. Memory and depth must not depend on the pattern of the keys by more
 * than half. */
static int key_patterns_cost_the_same(void)
{
	static const unsigned char shift[] = { 0, 3, 12, 21, 40 };
	struct lath_index_stats stats;
	u64 base = 0;
	unsigned int p;

	for (p = 0; p < ARRAY_SIZE(shift); p++) {
		u64 i, n = 20000, x = 12345;

		drop();
		list = fresh(LATH_POINTS);
		CHECK(list);
		for (i = 0; i < n; i++) {
			x = (x + 7919) % 20011; /* every residue once, out of order; clusters of 64
						   far apart at the end */
			CHECK(put(shift[p] < 40 ? x << shift[p] : (x / 64 << 40) + x % 64, 1, x) ==
			      0);
		}
		lath_index_get_stats(list, &stats);
		if (!p)
			base = stats.leaves;
		CHECK(stats.leaves * 2 <= base * 3 && base * 2 <= stats.leaves * 3);
		CHECK(sound());
	}
	return 0;
}

/* Preloaded inserts never allocate: with an allocator that refuses, they go on. */
static void *refuse(void *ctx, size_t size, size_t align)
{
	(void)size;
	(void)align;
	return *(int *)ctx ? NULL : unit_alloc_aligned(size);
}

static void refuse_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	unit_free_aligned(block);
}

static int preload_needs_no_memory(void)
{
	int refusing = 0;
	struct lath_allocator allocator = { refuse, refuse_free, &refusing };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_preload preload = { { NULL } };
	u64 i;

	drop();
	config.allocator = &allocator;
	config.flags = LATH_NODE_EACH;
	list = lath_index_create(&config);
	CHECK(list);
	for (i = 0; i < 2000; i++) {
		struct lath_item item = { i * 7 % 2003, 1, i };
		int ret;

		refusing = 0;
		CHECK(lath_index_preload(list, &preload) == 0);
		refusing = 1;
		ret = lath_index_insert_preloaded(list, &item, &preload, NULL);
		CHECK(ret == 0 || ret == -EAGAIN);
		if (ret) { /* the preloaded leaf went into a split; one more brings room */
			refusing = 0;
			CHECK(lath_index_preload(list, &preload) == 0);
			CHECK(lath_index_insert_preloaded(list, &item, &preload, NULL) == 0);
		}
	}
	/* lookup and erase need none either; a plain insert says so */
	refusing = 1;
	for (i = 0; i < 1000; i++)
		CHECK(lath_index_erase_item(list, i * 7 % 2003, NULL) == 0);
	refusing = 0;
	lath_index_preload_release(list, &preload);
	CHECK(lath_index_count(list) == 1000 && sound());
	return 0;
}

/* At any other address init fails before it writes there. */
static int misaligned_lists_are_refused(void)
{
	static char place[2 * sizeof(struct lath_index)] __attribute__((aligned(64)));
	uintptr_t off;
	size_t i;

	for (off = 1; off < 64; off++)
		CHECK(lath_index_init((struct lath_index *)((uintptr_t)place + off), NULL) ==
		      -EINVAL);
	for (i = 0; i < sizeof(place); i++)
		CHECK(!place[i]);
	CHECK(lath_index_init(NULL, NULL) == -EINVAL);
	CHECK(lath_index_init((struct lath_index *)(uintptr_t)place, NULL) == 0);
	lath_index_fini((struct lath_index *)(uintptr_t)place, NULL, NULL);
	return 0;
}

/* A scan of nothing: no room, or bounds the wrong way round. */
static int scans_of_nothing(void)
{
	struct lath_item item = { 0, 1, 1 }, found[2];
	u64 keys[2], values[2], next = 77;

	memset(found, 0, sizeof(found));
	memset(keys, 0, sizeof(keys));
	for (; item.key < 1000; item.key++)
		CHECK(!lath_index_insert_item(list, &item, NULL));
	CHECK(!lath_index_scan(list, 5, 900, found, 0, &next));
	CHECK(!lath_index_scan_values(list, 5, 900, keys, values, 0, &next));
	CHECK(!lath_index_scan_back(list, 900, 5, found, 0, &next));
	CHECK(!lath_index_scan(list, 901, 900, found, 2, NULL));
	CHECK(!lath_index_scan(list, ~0ull, 0, found, 2, NULL));
	CHECK(next == 77 && !found[0].size && !keys[0]);
	/* without keys */
	CHECK(lath_index_scan_values(list, 5, 900, NULL, values, 2, NULL) == 2);
	CHECK(values[0] == 1 && values[1] == 1);
	return 0;
}

/* Adds keys * values to *arg, and ends the visit when that is over 5000. */
static int sum_some(void *arg, const u64 *keys, const u64 *values, size_t n)
{
	u64 *sum = arg;
	size_t i;

	for (i = 0; i < n; i++)
		*sum += keys[i] * values[i];
	return *sum > 5000 ? -3 : 0;
}

/* Counts the entries. */
static int lath_count_all(void *arg, const u64 *keys, const u64 *values, size_t n)
{
	u64 *sum = arg;

	(void)keys;
	(void)values;
	*sum += n;
	return 0;
}

/* A visit gets every item once, in order, and ends when it is told to; values are changed where
 * they are. */
static int visits(void)
{
	struct lath_item item = { 0, 1, 2 };
	u64 sum = 0, last, value;

	for (; item.key < 1000; item.key++)
		CHECK(!lath_index_insert_item(list, &item, NULL));
	CHECK(!lath_index_visit_values(list, 901, 900, 1, sum_some, &sum) && !sum);
	CHECK(!lath_index_visit_values(list, 5, 9, 5, sum_some, &sum));
	CHECK(sum == 2 * (5 + 6 + 7 + 8 + 9));
	sum = 0;
	CHECK(lath_index_visit_values(list, 0, ~0ull, 1000, sum_some, &sum) == -3);
	CHECK(sum > 5000 && sum < 999 * 1000);
	for (last = 0; last < 1000; last++) {
		sum = 0;
		CHECK(!lath_index_visit_values(list, 0, last, 1000, lath_count_all, &sum));
		CHECK(sum == last + 1);
	}
	CHECK(lath_index_scan_places(list, 7, 7, &item, 1, NULL) == 1 && item.key == 7);
	*(u64 *)(uintptr_t)item.value = 5;
	CHECK(lath_index_get(list, 7, &value) == 1 && value == 5);
	return 0;
}

int index_unit(void)
{
	static int (*const cases[])(void) = {
		edges_of_the_key_space,
		no_false_miss_between_leaves,
		overlap_across_a_fence,
		range_over_emptied_leaves,
		void_leaves_are_merged,
		range_from_key_zero_over_leaves,
		erase_at_the_end_of_full_leaves,
		drained_leaves_are_used_again,
		key_patterns_cost_the_same,
		preload_needs_no_memory,
		misaligned_lists_are_refused,
		scans_of_nothing,
		visits,
	};
	unsigned int i;
	int line;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		list = fresh(LATH_RANGES);
		CHECK(list);
		line = cases[i]();
		if (line)
			return line;
		drop();
		unit_breathe();
	}
	return 0;
}
