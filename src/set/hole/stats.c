/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stats.c - statistics of the free space, without reading every leaf.
 *
 * The largest run and block are found by searching for larger and larger ones: some 120 searches.
 * The histogram samples leaves at evenly spaced keys; a leaf is sampled as often as it is wide, so
 * what it holds is weighted by the inverse of its width (Horvitz and Thompson 1952). If there are
 * few leaves, all are read.
 */
#include "lathwork/hole.h"
#include "set/hole/place.h"
#include "tree/way/locate.h"
#include "tree/memory/pool.h"
#include "tree/watch/gap.h"

/* The largest size for which there is a hole, bit by bit. */
static u64 largest_run(struct lath_index *index, u64 low, u64 high)
{
	struct lath_hole_request want = { .low = low, .high = high };
	u64 size = 0, at;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		want.size = size | 1ull << bit;
		if (!lath_index_find_hole(index, &want, &at))
			size = want.size;
	}
	return size;
}

static u64 largest_order(struct lath_index *index, u64 low, u64 high, u64 largest)
{
	struct lath_hole_request want = { .low = low, .high = high };
	int k = (int)fls64(largest) - 1;
	u64 at;

	for (; k >= 0; k--) {
		want.size = want.align = 1ull << k;
		if (!lath_index_find_hole(index, &want, &at))
			return (u64)k;
	}
	return 64;
}

/* Add the free run that begins at `at`, where no item is that began before, if there is one. */
static void add_run(struct lath_index *index, u64 at, u64 last, struct lath_hole_stats *sum)
{
	u64 end = KEY_MAX;
	struct lath_item item;

	if (!lath_index_ceiling_item(index, at, &item)) {
		if (item.key == at)
			return;
		end = item.key - 1;
	}
	end = min(end, last);
	if (at <= end)
		hole_add_run(sum, at, end);
}

/* Add the runs above low that begin behind items of the leaf that covers key; give the leaf's
 * fences. */
static void add_leaf(struct lath_index *public, u64 key, u64 low, u64 last,
		     struct lath_hole_stats *sum, u64 *first, u64 *end)
{
	struct tree *tree = tree_of(public);
	struct lath_item item;
	struct node *leaf;
	u64 lockword, at;

	lath_reader_enter(tree->rcu);
	do {
		leaf = lath_locate_far(tree, key, FOR_READ, &lockword);
		*first = READ_ONCE(leaf->low);
		*end = READ_ONCE(leaf->last);
	} while (!node_valid(leaf, lockword));
	lath_reader_exit(tree->rcu);
	LATH_ASSERT(key >= *first && key <= *end);
	for (at = *first; !lath_index_ceiling_item(public, at, &item) && item.key <= *end;) {
		at = item.key + item.size;
		if (!at) /* it ended with the last key */
			return;
		if (at > low)
			add_run(public, at, last, sum);
		if (at > *end)
			return;
	}
}

int lath_index_hole_stats(struct lath_index *public, uint64_t low, uint64_t high,
			  uint64_t max_leaves, struct lath_hole_stats *stats)
{
	struct tree *tree = tree_of(public);
	struct lath_item item;
	u64 last = high - 1, bytes = 0, leaves, first, end, i, key; /* high 0 is 2^64 */

	if (!gap_kept(tree) || low > last)
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	stats->largest = largest_run(public, low, high);
	stats->largest_order = largest_order(public, low, high, stats->largest);
	lath_pool_stats(&tree->pool[POOL_LEAF], &bytes, &bytes, &leaves);
	if (lath_index_lookup_item(public, low, &item))
		add_run(public, low, last, stats);
	if (!max_leaves || leaves <= max_leaves) {
		/* leaf by leaf, each by itself: the sums are of no single moment */
		for (key = low;; key = end + 1) {
			add_leaf(public, key, low, last, stats, &first, &end);
			if (end >= last)
				break;
		}
	} else {
		u64 step = (last - low) / max_leaves;

		stats->sampled = max_leaves;
		for (i = 0; i < max_leaves; i++) {
			struct lath_hole_stats one = { 0 };
			u64 width, weight, b;

			add_leaf(public, low + i * step + step / 2, low, last, &one, &first, &end);
			/* one leaf stands for the keys of its step: the fewer it covers, the more
			 * leaves there are */
			width = min(end, last) - max(first, low) + 1;
			weight = max(step / (width ? width : 1), 1ull);
			stats->free += one.free * weight;
			stats->holes += one.holes * weight;
			for (b = 0; b < 64; b++)
				stats->histogram[b] += one.histogram[b] * weight;
		}
	}
	stats->fragmentation_permille = hole_fragmentation(stats);
	return 0;
}
