/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hole.c - the free runs between the entries of a block: the search of lathwork/hole.h, and
 * figures.
 */
#include "set/hole/place.h"
#include "set/small/block.h"

/* A search, and the block that it goes over. */
struct walk {
	struct search search;
	const struct small *small;
};

/* Look at the runs between the entries from number i on, upwards, and at the one behind them.
 * Returns true if one ends the search. */
static bool walk_up(struct search *s, const struct small *small, unsigned int i)
{
	struct reader keys = reader_of(key_column(small), small->key_width, i);
	struct reader sizes = reader_of(size_column(small), small->size_width, i);
	unsigned int n = (unsigned int)small->count;
	u64 base = block_base(small), at = s->at;

	for (; i < n && at <= s->last; i++) {
		u64 key = base + read_next(&keys, true), last = key + read_next(&sizes, true);

		if (key > at && key - at >= s->size && take_run(s, at, key - 1, true))
			return true;
		if (last == LAST_KEY)
			return false;
		at = max(at, last + 1);
	}
	return at <= s->last && take_run(s, at, LAST_KEY, true);
}

/* Look at the runs in front of the first n entries, downwards. Returns as walk_up(). */
static bool walk_down(struct search *s, const struct small *small, unsigned int n)
{
	unsigned int i = n ? n - 1 : 0; /* readers begin with an entry that there is */
	struct reader keys = reader_of(key_column(small), small->key_width, i);
	struct reader sizes = reader_of(size_column(small), small->size_width, i);
	u64 base = block_base(small), at = s->at;

	for (; n && at >= s->low; n--) {
		u64 key = base + read_next(&keys, false), last = key + read_next(&sizes, false);

		if (last < at && at - last >= s->size && take_run(s, last + 1, at, false))
			return true;
		if (!key)
			return false;
		at = min(at, key - 1);
	}
	return at >= s->low && take_run(s, 0, at, false);
}

/* Search a span of the block: the entry that the span begins in, or that is before it, may reach
 * into it. */
static bool search_block(struct search *s, u64 low, u64 last, bool up)
{
	const struct small *small = container_of(s, struct walk, search)->small;
	unsigned int i;

	if (low > last || last - low < s->size - 1)
		return false;
	s->low = low;
	s->last = last;
	s->at = up ? low : last;
	if (!small->count)
		return take_run(s, up ? low : 0, up ? LAST_KEY : last, up) || s->some;
	i = block_find(small, up ? low : last);
	if (up)
		return walk_up(s, small, i ? i - 1 : 0) || s->some;
	return walk_down(s, small, i + (i < small->count && block_key(small, i) == last));
}

static bool best_of_block(struct search *s, const struct lath_hole_request *want, u64 low, u64 last)
{
	bool found;

	(void)want;
	s->best = true;
	found = search_block(s, low, last, true);
	s->best = false;
	return found;
}

static int block_find_hole(const struct small *small, const struct lath_hole_request *want,
			   u64 *key)
{
	struct walk walk = { .small = small };

	if (hole_begin(&walk.search, want))
		return -EINVAL;
	if (!hole_search(&walk.search, want, search_block, best_of_block))
		return -ENOSPC;
	*key = walk.search.found;
	return 0;
}

int lath_small_find_hole(const struct lath_small *public, const struct lath_hole_request *want,
			 uint64_t *key)
{
	const struct small *small = small_of(public);

	if (!is_block(small))
		return lath_index_find_hole(small->body, want, key);
	return small->kind->index.flags & LATH_HOLES ? block_find_hole(small, want, key) : -EINVAL;
}

/* ---- figures ---- */

/* Add the free run [first, last], and note what is the largest of both kinds. */
static void add_run(struct lath_hole_stats *stats, u64 first, u64 last)
{
	u64 size = last - first + 1, length = size ? size : LAST_KEY;
	unsigned int order = fls64(length) - 1;
	u64 at;

	hole_add_run(stats, first, last);
	stats->largest = max(stats->largest, length);
	/* an aligned block of this order, or one of half the size */
	for (;; order--) {
		u64 mask = (1ull << order) - 1;

		at = (first + mask) & ~mask;
		if (at >= first && at <= last && last - at >= mask)
			break;
	}
	if (stats->largest_order == 64 || stats->largest_order < order)
		stats->largest_order = order;
}

static void block_stats(const struct small *small, u64 low, u64 last, struct lath_hole_stats *stats)
{
	unsigned int i;
	u64 from = low;

	for (i = 0; i < small->count; i++) {
		u64 key = block_key(small, i), end = block_last(small, i);

		if (key > from)
			add_run(stats, from, min(key - 1, last));
		if (end >= last)
			return;
		from = max(from, end + 1);
	}
	add_run(stats, from, last);
}

int lath_small_hole_stats(const struct lath_small *public, uint64_t low, uint64_t high,
			  uint64_t max_leaves, struct lath_hole_stats *stats)
{
	const struct small *small = small_of(public);
	u64 last = high - 1; /* high 0 is 2^64 */

	if (!is_block(small))
		return lath_index_hole_stats(small->body, low, high, max_leaves, stats);
	if (!(small->kind->index.flags & LATH_HOLES) || low > last)
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	stats->largest_order = 64;
	block_stats(small, low, last, stats);
	stats->fragmentation_permille = hole_fragmentation(stats);
	return 0;
}
