/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.h - the layers of a space, and what its files offer each other.
 *
 *   space.c     the calls; the index layer;  magazine.c  slots and their magazines
 *   set.c       arenas in sets: found by grade or by key, obtained, released;  arena.c  the bits of one
 *
 * Locks: a slot's, inside it an arena's; the index is called with neither held. An arena's struct is never
 * freed while the space lives: who found it by a key that is an arena's no more sees another block number
 * once he has the lock.
 */
#ifndef LATH_SPACE_SPACE_H
#define LATH_SPACE_SPACE_H

#include "lathwork/space.h"
#include "space/arena.h"

#define GROUPS 1024 /* of 64 arenas, in each set */
#define SLOTS 32
#define ORDERS 9 /* magazines hold blocks of 1 .. 256 units */
#define RECENT 256
/* Arenas serve up to a quarter of their size. */
#define ARENA_MOST (ARENA_UNITS / 4)

#define MAGAZINES 640 /* the sum of magazine_size */

struct group {
	u8 shown[64]; /* grades, 0: cannot serve anything */
	struct arena *arena[64];
	u16 most[64][ARENA_ORDERS];
};

struct set {
	u64 low, high; /* 0 is 2^64 */
	u64 count;     /* arenas that ever were */
	u64 stuck;     /* `freed` when there was no room for another arena */
	struct lath_spinlock lock;
	struct arena *unused; /* linked by next */
	struct group *group[GROUPS];
};

struct slot {
	struct lath_spinlock lock;
	u32 held; /* units in its magazines */
	u32 home[2];
	u16 count[ORDERS];
	u8 tight; /* magazines are so many halvings smaller */
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
	struct arena *recent[RECENT]; /* by block number: saves the lookup */
	u64 empty;		      /* arenas that are all free */
	u64 index_keys;		      /* in ranges of the index that are no arenas */
	u64 ranges;
	u64 freed; /* grows with every range the index gets back */
	u64 bytes;
	u64 bad_frees;
};

/* Zeroed memory, counted, or NULL. */
void *space_alloc(struct lath_space *space, size_t size);
void space_free(struct lath_space *space, void *p, size_t size);

static inline u64 units_of(const struct lath_space *space, u64 size)
{
	return size >> space->unit_shift;
}

/* Free what is not in a magazine: block by block where arenas are, else as it comes. 0 | -EINVAL | -ENOMEM */
int free_range(struct lath_space *space, u64 key, u64 size);

/* ---- set.c ---- */

static inline struct arena *set_arena(struct set *set, u64 i)
{
	return set->group[i / 64]->arena[i % 64];
}

/* The key of a unit of a locked arena. */
static inline u64 arena_key(const struct lath_space *space, const struct arena *arena, u64 unit)
{
	return (arena->block * ARENA_UNITS + unit) << space->unit_shift;
}

/* Get one more arena for the set from the index. No lock held. */
bool set_grow(struct lath_space *space, struct set *set);
/* Empty arenas go back to the index. True: there was one. No lock held. */
bool set_release(struct lath_space *space, struct set *set);
/* Take up to `most` blocks of n units from one arena: the one this slot used last if it can, else one with just
 * the grade needed. */
unsigned int set_take(struct lath_space *space, struct set *set, struct slot *slot, u64 n, unsigned int most,
		      u64 cookie, u64 *key);
/* A locked arena had so many free units before: is it all free now, or no longer? */
static inline void arena_count_empty(struct lath_space *space, const struct arena *arena, u64 free)
{
	if ((free == ARENA_UNITS) != (arena->free == ARENA_UNITS))
		lath_fetch_add(&space->empty, free == ARENA_UNITS ? -1ull : 1);
}

/* Is key known to lie in an arena? If not, it may still. */
static inline bool arena_known(struct lath_space *space, u64 key)
{
	u64 block = key >> space->unit_shift >> 12;
	struct arena *arena = READ_ONCE(space->recent[block % RECENT]);

	return arena && READ_ONCE(arena->block) == block;
}

/* The arena that has key, locked, or NULL. */
struct arena *arena_lock(struct lath_space *space, u64 key);
/* Return units of one block to their arena. 0 | -EINVAL | 1: no arena has them */
int arena_return(struct lath_space *space, u64 key, u64 n);
void arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie);

/* ---- magazine.c ---- */

/* The slot of this thread. */
struct slot *slot_of(struct lath_space *space);
bool magazine_take(struct lath_space *space, unsigned int order, u64 *key);
void magazine_give(struct lath_space *space, unsigned int order, u64 key);
/* Empty the magazines of all slots. True: there was something. */
bool magazines_drain(struct lath_space *space);

#endif /* LATH_SPACE_SPACE_H */
