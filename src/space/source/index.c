/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.c - ranges that lie in the index of a space: taken from its holes, and freed, as a whole,
 * in part, or several at once. Calls on the index are atomic each; no lock of the space is held.
 */

#include "space/segment.h"

/* With arenas, the keys in items that are none are counted: what arenas hold is the rest. */
static void count_keys(struct lath_space *space, u64 size)
{
	if (has_arenas(space))
		lath_fetch_add(&space->index_keys, size);
}

int lath_index_alloc(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
		     u64 *key)
{
	struct lath_index *index = lath_space_index(space, &space->index);
	int ret = index ? lath_index_insert_hole(index, want, cookie, key) : -ENOMEM;

	LATH_ASSERT(cookie != arena_mark(space) && whole_units(space, 0, want->size));
	if (!ret) {
		LATH_ASSERT(*key >= want->low && *key - 1 + want->size <= want->high - 1);
		count_keys(space, want->size);
		lath_fetch_add(&space->ranges, 1);
	}
	return ret;
}

/* Returns how much of [key, key + size) items cover from key on without a gap, up to the first
 * arena; 0 if a gap comes before that. */
static u64 index_span(struct lath_space *space, u64 key, u64 size)
{
	struct lath_index *index =
		smp_load_acquire(&space->index); /* pairs with lath_space_index */
	u64 last = key + (size - 1), at = key;
	struct lath_item item;

	while (!lath_index_lookup_item(index, at, &item)) {
		if (item.value == arena_mark(space)) /* what follows is the arena's to free */
			return at - key;
		if (item.key + (item.size - 1) >= last)
			return size;
		at = item.key + item.size;
	}
	return 0; /* a gap, before which nothing is to be freed either */
}

/* Counts that `size` keys of this segment have left the index. */
static void count_freed(struct lath_space *space, struct segment *segment, u64 size)
{
	LATH_ASSERT(segment);
	count_keys(space, -size);
	segment_count(segment, -size);	  /* after the keys are free: see segment.c */
	lath_fetch_add(&space->freed, 1); /* sets may grow again */
}

/* Frees [key, key + size) of one item with this value, also while other calls free other parts of
 * it. 0 | -EINVAL (no such item has them) | -ENOMEM. No lock held. */
static int index_free_part(struct lath_space *space, u64 key, u64 size, u64 value)
{
	struct segment *segment =
		lath_segment_of(space, key); /* while the keys are charged: it stays */
	struct lath_item part = { .key = key, .size = size, .value = value }, there;
	int ret = lath_index_erase_part(space->index, &part, &there);

	if (ret)
		return ret == -ENOMEM ? ret : -EINVAL;
	/* what stays of it: nothing, one range, or two */
	lath_fetch_add(&space->ranges,
		       (u64)(there.key < key) + (key - there.key + size < there.size) - 1);
	count_freed(space, segment, size);
	return 0;
}

/* Frees the item that is [key, key + size), and is not an arena: all arenas have one size. Returns
 * whether it did: there may be another item, or several. */
static bool index_free_whole(struct lath_space *space, u64 key, u64 size)
{
	struct segment *segment = lath_segment_of(space, key); /* as in index_free_part() */

	/* the item may be an arena of the same size, which only its value tells: look it up */
	if (size == space->arena_size || lath_index_erase_sized(space->index, key, size, NULL))
		return false;
	lath_fetch_add(&space->ranges, -1ull);
	count_freed(space, segment, size);
	return true;
}

int lath_index_free(struct lath_space *space, u64 key, u64 size, u64 *freed)
{
	struct lath_index *index =
		smp_load_acquire(&space->index); /* pairs with lath_space_index */
	struct lath_item item;
	u64 part;
	int ret = 0;

	LATH_ASSERT(whole_units(space, key, size));
	*freed = size;
	if (!index) /* nothing was ever allocated */
		return -EINVAL;
	/* most frees are of a range as it was allocated: one call on the index */
	if (index_free_whole(space, key, size))
		return 0;
	if (lath_index_lookup_item(index, key, &item) || item.value == arena_mark(space))
		return -EINVAL;
	if (size <= item.size - (key - item.key)) /* a part of one range */
		return index_free_part(space, key, size, item.value);
	/* several ranges: all of them are there before the first is freed */
	*freed = index_span(space, key, size);
	for (size = *freed; size && !ret; key += part, size -= part) {
		/* another call has freed it since: a wrong free, of one or of both */
		if (lath_index_lookup_item(index, key, &item) || item.value == arena_mark(space))
			return -EINVAL;
		part = min(size, item.size - (key - item.key));
		ret = index_free_part(space, key, part, item.value);
	}
	/* 0: there is a gap before the next arena, so not all of it was allocated */
	return *freed ? ret : -EINVAL;
}
