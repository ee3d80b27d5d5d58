/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A small container in both hosts: kinds that are refused, what a block takes, and the forms that
 * it goes through.
 */
#include "base/unit.h"
#include "lathwork/small.h"

int small_unit(void);

static int kinds_are_checked(void)
{
	struct lath_small_kind good = LATH_SMALL_KIND_INIT, kind = good;
	struct lath_small small;

	CHECK(lath_small_init(NULL, &good) == -EINVAL);
	kind.limit = LATH_SMALL_MOST + 1;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind = good;
	kind.index.size = 1;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind.index.size = sizeof(kind.index) + 1;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind = good;
	kind.index.flags = LATH_SHARED;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind.index.flags = LATH_HUGE_PAGES | LATH_SMALL_PAGES;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind.index.flags = LATH_HOLES | LATH_RANKS;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind.index.flags = LATH_HOLES;
	kind.index.layout = LATH_POINTS;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	kind.index.flags = 0;
	kind.index.layout = (enum lath_layout)2;
	CHECK(lath_small_init(&small, &kind) == -EINVAL);
	CHECK(lath_small_set_limit(&kind, LATH_SMALL_MOST + 1) == -EINVAL);
	CHECK(!lath_small_set_limit(&kind, 5) && kind.limit == 5);
	return 0;
}

/* What lathwork/small.h says that a block takes. */
static int blocks_are_small(void)
{
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
	struct lath_item item = { 1000000, 1, 200 };
	struct lath_small small;
	u64 i;

	kind.index.layout = LATH_POINTS;
	CHECK(!lath_small_init(&small, &kind));
	CHECK(!lath_small_bytes(&small));
	for (i = 0; i < 30; i++, item.key += 30000)
		CHECK(!lath_small_insert_item(&small, &item, NULL));
	CHECK(lath_small_bytes(&small) == 128);
	CHECK(lath_small_value_bytes(&small) == 1);
	CHECK(!lath_small_replace_item(&small, 1000000, 1ull << 40, NULL));
	CHECK(lath_small_value_bytes(&small) == 6 && lath_small_bytes(&small) == 8 + 30 * 9 + 2);
	CHECK(!lath_small_erase_item(&small, 1000000, NULL));
	CHECK(lath_small_value_bytes(&small) == 1);
	lath_small_fini(&small, NULL, NULL);
	CHECK(!lath_small_bytes(&small) && !lath_small_count(&small));
	return 0;
}

static int forms_follow_limits(void)
{
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
	struct lath_item item = { 7, 3, 1 };
	struct lath_index *index = NULL;
	struct lath_small small;
	u64 i;

	kind.limit = 4;
	kind.each = 10;
	CHECK(!lath_small_init(&small, &kind));
	for (i = 0; i < 12; i++, item.key += 5) {
		CHECK(!lath_small_insert_item(&small, &item, NULL));
		/* entry 5 makes the index, entry 11 another one */
		CHECK(!lath_small_index(&small) == (i < 4));
		if (i == 4)
			index = lath_small_index(&small);
		if (i > 4)
			CHECK((lath_small_index(&small) == index) == (i < 10));
	}
	/* an item that is there already needs no other form */
	item.key = 7;
	kind.each = 100;
	CHECK(lath_small_insert_item(&small, &item, NULL) == -EEXIST);
	for (i = 0; i < 12; i++)
		CHECK(!lath_small_erase_item(&small, 7 + 5 * i, NULL));
	CHECK(lath_small_index(&small) && !lath_small_count(&small));
	CHECK(!lath_small_verify(&small, NULL, 0));
	lath_small_fini(&small, NULL, NULL);
	/* no block at all; then: what is too large for the limit stays a block until the next
	 * insert */
	kind.limit = 0;
	CHECK(!lath_small_insert_item(&small, &item, NULL) && lath_small_index(&small));
	lath_small_fini(&small, NULL, NULL);
	kind.limit = 4;
	for (i = 0; i < 4; i++, item.key += 5)
		CHECK(!lath_small_insert_item(&small, &item, NULL));
	CHECK(!lath_small_set_limit(&kind, 2));
	item.key = 7;
	CHECK(lath_small_insert_item(&small, &item, NULL) == -EEXIST);
	CHECK(!lath_small_replace_item(&small, 7, 9, NULL) && !lath_small_index(&small));
	item.key = 1;
	CHECK(!lath_small_insert_item(&small, &item, NULL) && lath_small_index(&small));
	lath_small_fini(&small, NULL, NULL);
	return 0;
}

/* Memory that ends: `left` allocations succeed. */
struct memory {
	unsigned long left;
	size_t held;
};

static void *some_alloc(void *ctx, size_t size, size_t align)
{
	struct memory *memory = ctx;
	void *block = memory->left ? lath_block_alloc(size) : NULL;

	(void)align;
	memory->left -= !!block;
	memory->held += block ? size : 0;
	return block;
}

static void some_free(void *ctx, void *block, size_t size)
{
	((struct memory *)ctx)->held -= size;
	lath_block_free(block);
}

/* A split asks for one block, with which it cannot fail any more. */
static int split_with_one_block(void)
{
	struct memory memory = { ~0ul, 0 };
	const struct lath_allocator allocator = { some_alloc, some_free, &memory };
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
	struct lath_item item = { 1000, 100, 5 };
	struct lath_small small;

	kind.blocks = &allocator;
	CHECK(!lath_small_init(&small, &kind));
	CHECK(!lath_small_insert_item(&small, &item, NULL));
	memory.left = 0;
	CHECK(lath_small_split(&small, 1050, 6) == -ENOMEM && lath_small_count(&small) == 1);
	memory.left = 1;
	CHECK(!lath_small_split(&small, 1050, 6) && lath_small_count(&small) == 2);
	CHECK(!lath_small_verify(&small, NULL, 0));
	lath_small_fini(&small, NULL, NULL);
	CHECK(!memory.held);
	return 0;
}

/* A block that cannot become an index stays, and nothing else does. */
static int index_without_memory(void)
{
	struct memory memory = { ~0ul, 0 };
	const struct lath_allocator allocator = { some_alloc, some_free, &memory };
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
	struct lath_item item = { 0, 1, 5 };
	unsigned long tries = 0;
	struct lath_small small;
	size_t held;
	int ret;

	kind.limit = LATH_SMALL_MOST;
	kind.index.allocator = &allocator;
	kind.index.layout = LATH_POINTS;
	kind.each = 0; /* in chunks, and the first leaf is too small for all */
	CHECK(!lath_small_init(&small, &kind));
	for (; item.key < 3 * LATH_SMALL_MOST; item.key += 3)
		CHECK(!lath_small_insert_item(&small, &item, NULL));
	held = memory.held;
	do {
		memory.left = tries++;
		ret = lath_small_insert_item(&small, &item, NULL);
		CHECK(!ret || ret == -ENOMEM);
		/* the index may be there before it has room for the item */
		CHECK(memory.held == held || lath_small_index(&small));
		CHECK(lath_small_count(&small) == LATH_SMALL_MOST + !ret);
	} while (ret);
	CHECK(tries > 3 && lath_small_index(&small));
	lath_small_fini(&small, NULL, NULL);
	CHECK(!memory.held);
	return 0;
}

/* The defaults: ranges, without holes and ranks. */
static int no_kind(void)
{
	struct lath_hole_request want = { .size = 1 };
	struct lath_item item = { 4096, 8192, 7 };
	struct lath_hole_stats stats;
	struct lath_small small;
	u64 key;

	CHECK(!lath_small_init(&small, NULL));
	CHECK(!lath_small_insert_item(&small, &item, NULL));
	CHECK(!lath_small_lookup_item(&small, 5000, &item) && item.value == 7);
	CHECK(lath_small_find_hole(&small, &want, &key) == -EINVAL);
	CHECK(lath_small_insert_hole(&small, &want, 1, &key) == -EINVAL);
	CHECK(lath_small_hole_stats(&small, 0, 0, 0, &stats) == -EINVAL);
	CHECK(lath_small_count_range(&small, 0, 5000) == -EINVAL);
	lath_small_fini(&small, NULL, NULL);
	return 0;
}

/* All 2^64 keys are free: as in an index, their number is 0. */
static int all_is_free(void)
{
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
	struct lath_hole_request want = { .size = 1, .policy = LATH_HOLE_LAST };
	struct lath_hole_stats stats;
	struct lath_small small;
	u64 key;

	kind.index.flags = LATH_HOLES;
	CHECK(!lath_small_init(&small, &kind));
	CHECK(!lath_small_hole_stats(&small, 0, 0, 0, &stats));
	CHECK(stats.holes == 1 && stats.largest == ~0ull && stats.largest_order == 63);
	CHECK(!stats.free && stats.histogram[63] == 1 && !stats.fragmentation_permille);
	CHECK(!lath_small_insert_hole(&small, &want, 1, &key) && key == ~0ull);
	CHECK(!lath_small_find_hole(&small, &want, &key) && key == ~0ull - 1);
	lath_small_fini(&small, NULL, NULL);
	return 0;
}

int small_unit(void)
{
	int line = kinds_are_checked();

	line = line ? line : blocks_are_small();
	line = line ? line : forms_follow_limits();
	line = line ? line : all_is_free();
	line = line ? line : split_with_one_block();
	line = line ? line : index_without_memory();
	return line ? line : no_kind();
}
