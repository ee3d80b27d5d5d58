/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.c - enumeration of what is allocated, and of what is free.
 *
 * Each key is judged by one moment within the call: a key outside the items of the index was free
 * when the index was searched; a key in an item that is not an arena was allocated; of an arena the
 * bitmap counts, with the slots locked, so that a block is either in a magazine or not. An item
 * with the mark of an arena, for whose block no arena is open, belongs to an arena that is being
 * opened or returned, or was between the two looks: all its keys were free then.
 */

#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Copies the bitmap of the block that contains key, 1: free, with what magazines hold; all is free
 * if no arena serves it. No lock held. */
static void read_block(struct walk *walk, u64 key)
{
	struct lath_space *space = walk->space;
	u64 block = key / space->arena_size;
	struct arena *arena = lath_arena_lock(space, key);

	memset(walk->map, 0xff, sizeof(walk->map));
	walk->block = block;
	if (!arena)
		return;
	/* slots come before arenas in the lock order: let it go, and look again */
	lath_spin_unlock(&arena->lock);
	/* with both locked, each block is in a magazine or in the bitmap, not on its way */
	lath_slots_lock(space);
	lath_spin_lock(&arena->lock);
	if (arena->block == block) {
		memcpy(walk->map, arena->map, sizeof(walk->map));
		lath_slots_mark(space, block, walk->map);
	}
	lath_spin_unlock(&arena->lock);
	lath_slots_unlock(space);
}

u64 lath_map_run(const u64 *map, u64 unit)
{
	u64 i = unit / 64, flip, other;

	LATH_ASSERT(unit < ARENA_UNITS);
	flip = map[i] >> unit % 64 & 1 ? ~0ull : 0; /* so that ones are where the bits differ */
	other = (map[i] ^ flip) & ~lath_ones((unsigned int)(unit % 64));
	while (!other && ++i < ARENA_WORDS)
		other = map[i] ^ flip;
	return (other ? 64 * i + __ffs64(other) : ARENA_UNITS) - unit;
}

/* Returns whether `at`, which is in a segment, is allocated; *last: the last key up to which the
 * same was found, at most `most`. */
static bool walk_state(struct walk *walk, u64 at, u64 most, u64 *last)
{
	struct lath_space *space = walk->space;
	struct lath_index *index =
		smp_load_acquire(&space->index); /* pairs with lath_space_index */
	struct lath_item item;
	u64 end, unit;
	bool taken;

	LATH_ASSERT(at <= most);
	*last = most;
	/* in the copied block the bitmap tells, else the index, as far as its next item */
	if (at / space->arena_size != walk->block) {
		/* all keys are one more than a size can say: then the last one follows alone */
		u64 size = most - at == KEY_MAX ? KEY_MAX : most - at + 1;

		*last = at + (size - 1);
		if (!index || lath_index_overlap_item(index, at, size, &item))
			return false;
		if (item.key > at) { /* free up to the item */
			*last = item.key - 1;
			return false;
		}
		if (item.value != arena_mark(space)) { /* allocated to its end */
			*last = min(item.key + (item.size - 1), most);
			return true;
		}
		read_block(walk, at);
	}
	/* the run of equal bits from here on, which may go on in the next block */
	unit = units_of(space, at) % ARENA_UNITS;
	taken = !(walk->map[unit / 64] >> unit % 64 & 1);
	end = at + ((lath_map_run(walk->map, unit) << space->unit_shift) - 1);
	*last = min(end, most);
	return taken;
}

int lath_walk_next(struct walk *walk, u64 from, bool taken, struct lath_item *run)
{
	u64 low, most, at, last;
	bool is;

	for (; lath_segment_after(walk->space, from, &low, &most); from = most + 1) {
		/* whole units: `from` may lie within one */
		at = max(from, low);
		at &= ~(walk->space->config.unit - 1);
		/* pass by what is in the other state, up to the end of the segment */
		for (;;) {
			is = walk_state(walk, at, most, &last);
			if (is == taken || last == most)
				break;
			at = last + 1;
		}
		/* no segment follows, and most + 1 would begin anew */
		if (is != taken && most == KEY_MAX)
			break;
		if (is != taken)
			continue;
		run->key = max(at, from);
		/* the run goes on while what follows is in the same state */
		while (last < most && walk_state(walk, last + 1, most, &at) == taken)
			last = at;
		run->size = last - run->key + 1; /* 0: 2^64 */
		run->value = 0;
		LATH_ASSERT(run->key >= from && run->key <= last);
		return 0;
	}
	return -ENOENT;
}

/* Finds the first run at or behind `from`. 0 | -ENOENT */
static int next_run(struct lath_space *space, u64 from, bool taken, struct lath_item *run)
{
	struct walk walk = { .space = space, .block = NO_BLOCK };
	int ret;

	lath_call_enter();
	ret = lath_walk_next(&walk, from, taken, run);
	lath_call_exit();
	return ret;
}

int lath_space_next(struct lath_space *space, uint64_t from, struct lath_item *run)
{
	return next_run(space, from, true, run);
}

int lath_space_next_free(struct lath_space *space, uint64_t from, struct lath_item *run)
{
	return next_run(space, from, false, run);
}
