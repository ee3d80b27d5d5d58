/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reserve.c - allocation of given keys, piece by piece: from arenas and from the index. */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Takes units of one block from a locked arena at exactly this place. Unlocks the arena in any
 * case. Returns whether they were free. */
static bool reserve_in_arena(struct lath_space *space, struct arena *arena, u64 key, u64 size,
			     u64 cookie)
{
	u64 unit = units_of(space, key) % ARENA_UNITS, free = arena->free;
	bool taken;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	taken = lath_arena_reserve(arena, unit, units_of(space, size));
	arena_count_empty(space, arena, free);
	if (taken)
		lath_arena_set_owner(arena, unit, units_of(space, size), cookie);
	lath_spin_unlock(&arena->lock);
	return taken;
}

/* Takes [key, key + *piece), the first part of [key, key + size): what lies in one arena, or in the
 * index up to the next item. 0 | -EBUSY | -ENOMEM. No lock held. */
static int reserve_piece(struct lath_space *space, u64 key, u64 size, u64 cookie, u64 *piece)
{
	struct lath_hole_request want = { .low = key, .hint = key, .policy = LATH_HOLE_EXACT };
	unsigned int rounds = 0;

	for (;;) {
		struct arena *arena = has_arenas(space) ? lath_arena_lock(space, key) : NULL;
		struct lath_index *index;
		struct lath_item item;
		int ret;

		*piece = size;
		/* the arena serves the whole block: what it has not free is taken */
		if (arena) {
			*piece = piece_of(space, key, size);
			return reserve_in_arena(space, arena, key, *piece, cookie) ? 0 : -EBUSY;
		}
		index = smp_load_acquire(&space->index); /* pairs with lath_space_index */
		if (index && !lath_index_overlap_item(index, key, size, &item)) {
			if (item.key <= key && item.value != arena_mark(space))
				return -EBUSY;
			/* another thread opens or returns an arena: soon it serves, or the item
			 * goes */
			if (item.key <= key) {
				lath_spin_wait(&rounds);
				continue;
			}
			*piece = item.key - key; /* the rest is for the next piece */
		}
		LATH_ASSERT(*piece && *piece <= size);
		want.size = *piece;
		want.high = key + *piece;
		ret = lath_index_alloc(space, &want, cookie, &key);
		if (ret != -ENOSPC)
			return ret;
		/* an item has come since the look: look again at what it is */
	}
}

int lath_reserve_range(struct lath_space *space, struct segment *segment, u64 *count, u64 key,
		       u64 size, u64 cookie)
{
	u64 at = key, left = size, piece;
	int ret = 0;

	LATH_ASSERT(whole_units(space, key, size));
	LATH_ASSERT(lies_within(key, size, segment->low, segment->high));
	/* pieces are taken one after the other; another thread may take the next one in the
	 * meantime */
	for (; left; at += piece, left -= piece) {
		ret = reserve_piece(space, at, left, cookie, &piece);
		if (ret)
			break;
	}
	if (!ret)
		return 0;
	/* what was not taken is uncharged here, what was taken by its free */
	lath_segment_uncharge(segment, count, left);
	if (at > key)
		lath_free_range(space, key, at - key);
	return ret;
}

/* Charges [key, key + size) to the segment and takes it. Results as those of lath_space_reserve().
 * No lock held. */
static int reserve(struct lath_space *space, struct segment *segment, u64 key, u64 size, u64 cookie)
{
	u64 *count = segment_charge(segment, size);
	int ret = -ENOSPC;

	if (!count) /* draining, or at its limit */
		return ret;
	if (lath_segment_confirm(segment)) /* it may have been removed, and added elsewhere */
		ret = lies_within(key, size, segment->low, segment->high) ? 0 : -EINVAL;
	if (ret) {
		lath_segment_uncharge(segment, count, size);
		return ret;
	}
	/* blocks in magazines are taken in their arenas, and may be the ones that are asked for */
	lath_magazines_flush(space);
	return lath_reserve_range(space, segment, count, key, size, cookie);
}

int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size, uint64_t cookie)
{
	struct segment *segment = lath_segment_of(space, key);
	int ret;

	if (!segment || !whole_units(space, key, size) || size - 1 > KEY_MAX - key ||
	    lath_segment_of(space, key + (size - 1)) != segment || cookie == arena_mark(space))
		return -EINVAL;
	lath_call_enter();
	ret = reserve(space, segment, key, size, cookie);
	lath_call_exit();
	return ret;
}
