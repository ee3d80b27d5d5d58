/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.h - sets of arenas: one for the keys of a segment below config.below, one for the others.
 *
 * A set keeps the grades of its arenas in arrays of 64 bytes, so that a search touches only the
 * arena it selects. A grade read there is a hint; it is checked again under the arena's lock.
 */
#ifndef LATH_SPACE_SOURCE_SET_H
#define LATH_SPACE_SOURCE_SET_H

#include "space/space.h"

/* A request to arenas: up to `most` ranges of n units, each at a multiple of align. */
struct small_request {
	u64 n, align;
	u64 block; /* n, or align if that is more than n rounded up to a power of two */
	u64 cookie;
	unsigned int most;
	u8 grade; /* of arenas that may serve */
};

/* Sets all but `most` for a request of n units at a multiple of align, which is not below n rounded
 * up to a power of two unless arenas are dense. */
static inline void small_request_init(const struct lath_space *space, u64 n, u64 align, u64 cookie,
				      struct small_request *want)
{
	LATH_ASSERT(n && n <= ARENA_UNITS && align <= ARENA_UNITS && !(align & (align - 1)));
	want->n = n;
	want->align = align;
	want->block = align >> log2_up(n) > 1 ? align : n;
	want->cookie = cookie;
	want->most = 1;
	/* a dense arena's grade is that of a run at any place, so it tells of aligned places only
	 * what such a run contains in any case */
	want->grade = grade_needed(space->config.flags & LATH_SPACE_FILL && align > 1
					   ? lath_block_within(n, align)
					   : want->block);
}

/* ---- arenas of a set ---- */

/* Returns a group that the set has. */
static inline struct group *set_group(const struct arena_set *set, u64 g)
{
	LATH_ASSERT(g < FEW || (g < GROUPS && READ_ONCE(set->more)));
	return g < FEW ? set->few[g] : set->more[g - FEW];
}

/* Returns arena number i of the set. */
static inline struct arena *set_arena(const struct arena_set *set, u64 i)
{
	LATH_ASSERT(i < READ_ONCE(set->count));
	return set_group(set, i / 64)->arena[i % 64];
}

/* Returns the key of a unit of a locked arena that serves a block. */
static inline u64 arena_key(const struct lath_space *space, struct arena *arena, u64 unit)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->block != NO_BLOCK);
	LATH_ASSERT(unit < ARENA_UNITS);
	return (arena->block * ARENA_UNITS + unit) << space->unit_shift;
}

/* Returns whether key is known to lie in an arena whose blocks magazines hold: a hint; false is
 * possible for a key that does. */
static inline bool arena_cached(struct lath_space *space, u64 key)
{
	u64 block = units_of(space, key) / ARENA_UNITS;
	struct recent *recent = lath_load_pointer(&space->recent); /* pairs with recent_make */

	/* the arena is not looked at: other threads write to its line */
	return recent && READ_ONCE(recent[block % RECENT].cached) == block + 1;
}

/* Updates the count of empty arenas after a change of a locked arena that had `free` free units
 * before. */
static inline void arena_count_empty(struct lath_space *space, struct arena *arena, u64 free)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && max(free, arena->free) <= ARENA_UNITS);
	/* most changes neither begin nor end with an empty arena: no shared store */
	if (unlikely(free == ARENA_UNITS || arena->free == ARENA_UNITS) && free != arena->free)
		lath_fetch_add(&space->empty, free == ARENA_UNITS ? -1ull : 1);
}

/* Sets the cookies of n units of a locked arena, if it has any. */
void lath_arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie);
/* Returns the arena that serves key's block, locked, or NULL, with nothing locked. No arena's lock
 * held. */
struct arena *lath_arena_lock(struct lath_space *space, u64 key);

/* ---- allocations and frees ---- */

/* Takes up to want->most blocks, which are charged, from one arena: the one that this slot (or
 * NULL) used last if it can serve them, else one with exactly the grade needed, else a larger one.
 * *key: their keys. Returns how many; 0 also if the segment drains. No arena's lock held. */
unsigned int lath_set_alloc_small(struct lath_space *space, struct arena_set *set,
				  struct slot *slot, const struct small_request *want, u64 *key);
/* Takes the request, which is charged, from any arena of the segment, looking at every place in it:
 * for requests that found no room otherwise. graded: the arenas have refused it by their grades.
 * Returns whether it did. No arena's lock held. */
bool lath_set_alloc_anywhere(struct lath_space *space, struct segment *segment,
			     const struct lath_hole_request *want, u64 cookie, bool graded,
			     u64 *key);
/* Are these units of one block all taken in their arena? No arena's lock held. */
bool lath_arenas_take(struct lath_space *space, u64 key, u64 n);
/* Frees n units of one block to their arena; subtracts them from what is charged if `uncharge`. 0 |
 * -EINVAL (not all taken; nothing changed) | 1: no arena serves the block. No arena's lock held. */
int lath_arenas_free(struct lath_space *space, u64 key, u64 n, bool uncharge);

/* ---- growth ---- */

/* Takes one more arena for the set, which has keys, from the index, at any place below `high` (0:
 * 2^64), or (lath_set_grow_at) for the block that begins at this key. Returns whether it did. The
 * caller has confirmed a charge of the segment and holds no lock. */
bool lath_set_grow(struct lath_space *space, struct arena_set *set, u64 high);
bool lath_set_grow_at(struct lath_space *space, struct arena_set *set, u64 key);
/* Makes n arenas in advance, for lath_set_grow() without memory; in the kernel. 0 | -ENOMEM. No
 * lock held. */
int set_preload(struct lath_space *space, struct arena_set *set, unsigned int n);
/* Returns empty arenas to the index. Returns whether there was one. No lock held. */
bool lath_set_release(struct lath_space *space, struct arena_set *set);
/* Locks and unlocks each arena: then no thread that found the segment not draining holds one. No
 * arena's lock held. */
void lath_set_visit(struct arena_set *set);
/* Frees the arenas of a set. The caller excludes all other calls. */
void lath_set_fini(struct lath_space *space, struct arena_set *set);

#endif /* LATH_SPACE_SOURCE_SET_H */
