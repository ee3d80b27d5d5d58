/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.h - the layers of a space, and the functions that its files share.
 *
 *   space.c     the public calls; the index layer
 *   magazine.c  slots and their magazines
 *   set.c       sets of arenas: found by grade or by key, added, released
 *   arena.c     the bitmap of one arena
 *
 * Lock order: a slot's lock, then an arena's. The index is called with neither held. The struct of
 * an arena is freed only with the space, so a thread that found an arena by a key locks it and then
 * compares its block number again.
 */
#ifndef LATH_SPACE_SPACE_H
#define LATH_SPACE_SPACE_H

#include "lathwork/space.h"
#include "space/arena.h"

#define GROUPS 1024 /* groups of 64 arenas per set */
#define SLOTS 32
#define ORDERS 9 /* magazines hold blocks of 1 .. 256 units */
#define RECENT 256
/* Arenas serve up to a quarter of their size. */
#define ARENA_MOST (ARENA_UNITS / 4)

#define MAGAZINES 640 /* the sum of magazine_size */

struct group {
	u8 shown[64]; /* grades of the arenas; 0: no room */
	struct arena *arena[64];
	u16 most[64][ARENA_ORDERS];
};

struct set {
	u64 low, high; /* 0 is 2^64 */
	u64 count;     /* number of arenas in the groups */
	u64 stuck;     /* `freed` + 1 when there was no room for another arena */
	struct lath_spinlock lock;
	struct arena *unused; /* arenas that serve no block, linked by next */
	struct group *group[GROUPS];
};

struct slot {
	struct lath_spinlock lock;
	u32 held; /* units in its magazines */
	u32 home[2];
	u16 count[ORDERS];
	u8 tight; /* how often the magazines' capacity is halved */
	u64 key[MAGAZINES];
} __attribute__((aligned(64)));

struct lath_space {
	struct lath_index index;
	struct lath_index arenas; /* block number -> struct arena */
	struct lath_allocator allocator;
	struct lath_space_config config;
	u64 arena_size; /* keys */
	unsigned int unit_shift;
	unsigned int sets;
	struct set set[2];
	struct slot *slots; /* SLOTS of them */
	bool magazines;
	struct arena *recent[RECENT]; /* by block number: saves a lookup in `arenas` */
	u64 empty;		      /* number of arenas that are all free */
	u64 index_keys;		      /* keys in items of the index that are not arenas */
	u64 ranges;
	u64 freed; /* counts ranges that were freed to the index */
	u64 bytes;
	u64 bad_frees;
};

/* Returns zeroed memory, added to the statistics, or NULL. */
void *space_alloc(struct lath_space *space, size_t size);
void space_free(struct lath_space *space, void *p, size_t size);

static inline u64 units_of(const struct lath_space *space, u64 size)
{
	return size >> space->unit_shift;
}

/* Frees keys that are not in a magazine: block by block where there are arenas, else as a whole. 0
 * | -EINVAL | -ENOMEM */
int free_range(struct lath_space *space, u64 key, u64 size);

/* ---- set.c ---- */

static inline struct arena *set_arena(struct set *set, u64 i)
{
	return set->group[i / 64]->arena[i % 64];
}

/* Returns the key of a unit of a locked arena. */
static inline u64 arena_key(const struct lath_space *space, const struct arena *arena, u64 unit)
{
	return (arena->block * ARENA_UNITS + unit) << space->unit_shift;
}

/* Takes one more arena for the set from the index. Returns whether it did. No lock held. */
bool set_grow(struct lath_space *space, struct set *set);
/* Returns empty arenas to the index. Returns whether there was one. No lock held. */
bool set_release(struct lath_space *space, struct set *set);
/* Takes up to `most` blocks of n units from one arena: the one that this slot used last if it can
 * serve them, else one with exactly the grade needed, else a larger one. *key: their keys. Returns
 * how many. */
unsigned int set_take(struct lath_space *space, struct set *set, struct slot *slot, u64 n,
		      unsigned int most, u64 cookie, u64 *key);
/* Updates the count of empty arenas after a change of a locked arena that had `free` free units
 * before. */
static inline void arena_count_empty(struct lath_space *space, struct arena *arena, u64 free)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && max(free, arena->free) <= ARENA_UNITS);
	if ((free == ARENA_UNITS) != (arena->free == ARENA_UNITS))
		lath_fetch_add(&space->empty, free == ARENA_UNITS ? -1ull : 1);
}

/* Returns whether key is known to lie in an arena: a hint; false is possible for a key that
 * does. */
static inline bool arena_known(struct lath_space *space, u64 key)
{
	u64 block = key >> space->unit_shift >> 12;
	struct arena *arena = READ_ONCE(space->recent[block % RECENT]);

	return arena && READ_ONCE(arena->block) == block;
}

/* Locks and returns the arena that contains key, or NULL. */
struct arena *arena_lock(struct lath_space *space, u64 key);
/* Returns units of one block to their arena. 0 | -EINVAL (not all taken) | 1: no arena serves the
 * block */
int arena_return(struct lath_space *space, u64 key, u64 n);
/* Sets the cookies of n units of a locked arena, if it has any. */
void arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie);

/* ---- magazine.c ---- */

/* Returns the slot of the calling thread. */
struct slot *slot_of(struct lath_space *space);
/* Takes a block of 2^order units from a magazine; refills it from an arena. Returns whether it did.
 */
bool magazine_take(struct lath_space *space, unsigned int order, u64 *key);
/* Puts a block of 2^order units into a magazine; flushes a part of a full one first. */
void magazine_give(struct lath_space *space, unsigned int order, u64 key);
/* Empties the magazines of all slots. Returns whether there was a block. No lock held. */
bool magazines_drain(struct lath_space *space);

#endif /* LATH_SPACE_SPACE_H */
