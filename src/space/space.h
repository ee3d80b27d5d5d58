/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.h - the layers of a space, and the functions that its files share.
 *
 *   space.c     calls that allocate and free; the index layer
 *   segment.c   segments: bounds, limits, counters; calls on them; statistics, checks
 *   magazine.c  slots and their magazines
 *   set.c       sets of arenas: found by grade or by key, added, released
 *   arena.c     the bitmap of one arena
 *   walk.c      enumeration of what is allocated and of what is free
 *   image.c     save and load
 *
 * All but struct lath_space is made on first use: indexes, slots, arenas and their groups. What was
 * made stays until the space is destroyed, so a pointer to it stays valid, and a thread that found
 * an arena by a key locks it and then compares its block number again.
 *
 * Lock order: the lock of the space, locks of slots (several only in ascending order, by
 * slots_lock), an arena's; a set's or a segment's with none of these but the first. With any of
 * them held the index is only read, and no memory is allocated.
 *
 * Charges. A thread adds what it is going to take to a count of the segment (segment_charge) before
 * it searches the segment, and subtracts what it did not take. What is freed is subtracted after it
 * is free. A charge holds from the moment at which the thread has seen, with an arena locked or
 * behind a full barrier (segment_confirm), that the segment does not drain. From then on the
 * segment cannot be removed and its bounds stay.
 */
#ifndef LATH_SPACE_SPACE_H
#define LATH_SPACE_SPACE_H

#include "lathwork/space.h"
#include "space/source/arena.h"

/* the kernel has this word too */
#ifndef noinline
#define noinline __attribute__((noinline))
#endif

#define GROUPS 1024 /* groups of 64 arenas per set */
#define SLOTS 32
#define ORDERS 9 /* magazines hold blocks of 1 .. 256 units */
#define RECENT 256
/* Arenas serve up to a quarter of their size. */
#define ARENA_MOST (ARENA_UNITS / 4)

#define MAGAZINES 640 /* the sum of magazine_size */

struct group {
	u8 shown[64]; /* grades of the arenas; 0: no room */
	u8 user[64];  /* numbers of the slots whose threads took from them last; 0: none */
	struct arena *arena[64];
	u16 most[64][ARENA_ORDERS];
};

struct segment;

#define FEW 8 /* groups */

/* The arenas of [low, high), which is a segment, or its part below config.below or above it. */
struct set {
	u64 low, high; /* high 0 is 2^64 */
	bool empty;    /* of keys; low and high mean nothing */
	unsigned int number;
	struct segment *segment;
	u64 count; /* number of arenas in the groups */
	u64 stuck; /* `freed` + 1 when there was no room for another arena */
	struct lath_spinlock lock;
	struct arena *unused;	/* arenas that serve no block, linked by next */
	struct group *few[FEW]; /* the first groups; */
	struct group **more;	/* the others */
};

#define PARTS 2
#define SETS (PARTS * LATH_SPACE_SEGMENTS)
#define STRIPES 16

enum drain {
	NOT_DRAINING,
	DRAINING,
	REMOVING, /* or not in use */
};

struct segment {
	struct set set[PARTS]; /* below config.below, and the rest */
	struct segment *next;  /* the number of this one + 1 */
	unsigned int number;
	unsigned int draining;	    /* enum drain: anything but NOT_DRAINING refuses charges */
	u64 version;		    /* odd: in use; the bounds change only while it is even */
	u64 low, high;		    /* high 0 is 2^64 */
	u64 limit;		    /* of used keys; 0: none */
	struct lath_count *stripes; /* STRIPES of them, made on first use, or NULL */
	struct lath_spinlock lock;  /* charges of a segment with a limit */
	/* keys, of threads that have no stripe; with theirs it makes the sum, single ones may be
	 * negative */
	u64 used;
};

struct slot {
	struct lath_spinlock lock;
	u32 held;  /* units in its magazines */
	u8 tight;  /* how often the magazines' capacity is halved */
	u8 number; /* 1 .. SLOTS */
	u16 count[ORDERS];
	u32 home[SETS]; /* the arena of each set that was used last */
	u64 key[MAGAZINES];
} __attribute__((aligned(64)));

struct lath_space {
	struct lath_space_config config;
	struct lath_allocator allocator;
	u64 arena_size; /* keys */
	unsigned int unit_shift;
	bool magazines; /* in use; read again under the lock of a slot */
	u8 filling;	/* LATH_SPACE_FILL: the segment that served the last large request, */
	u8 filled;	/* and how many before that, ENOUGH at most */
	struct lath_index *index;
	struct lath_index *arenas; /* block number -> struct arena */
	struct arena **recent;	   /* RECENT by block number: saves a lookup in `arenas` */
	struct slot *slot[SLOTS];
	struct lath_spinlock lock; /* what is made on first use; changes of segments */
	struct segment first;
	u64 empty;	/* number of arenas that are all free */
	u64 in_use;	/* number of arenas that serve a block */
	u64 index_keys; /* keys in items of the index that are not arenas; not counted without
			   arenas */
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

/* Returns the index at *at, space->index or space->arenas; makes it if there is none. NULL: no
 * memory. No lock held. */
struct lath_index *space_index(struct lath_space *space, struct lath_index **at);

/* The value of the items of the index that are arenas; no cookie is equal to it. */
static inline u64 arena_mark(const struct lath_space *space)
{
	return (u64)(uintptr_t)space + 1;
}

/* Where arenas and small ranges are placed: with LATH_SPACE_FILL at the other end than large ones,
 * between which they would remain. */
static inline enum lath_hole_policy small_policy(const struct lath_space *space)
{
	return space->config.flags & LATH_SPACE_FILL ? LATH_HOLE_LAST : LATH_HOLE_FIRST;
}

/* Takes the hole of the index that the request, whose keys are charged, asks for. 0 | -ENOSPC |
 * -EINVAL | -ENOMEM */
int index_take(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
	       u64 *key);
/* Takes exactly [key, key + size), which is charged to the count and lies in one segment, from
 * arenas and the index. 0 | -EBUSY | -ENOMEM: none of it is taken or charged any longer */
int reserve_range(struct lath_space *space, struct segment *segment, u64 *count, u64 key, u64 size,
		  u64 cookie);
/* Returns how much of [key, key + size) lies in key's block. */
static inline u64 piece_of(const struct lath_space *space, u64 key, u64 size)
{
	return min(size, space->arena_size - (key & (space->arena_size - 1)));
}
/* Frees keys that are not in a magazine: block by block where there are arenas, else as a whole. 0
 * | -EINVAL | -ENOMEM */
int free_range(struct lath_space *space, u64 key, u64 size);
/* Returns the blocks of all magazines to the arenas, and empty arenas to the index. Returns whether
 * there was one. No lock held. */
bool press(struct lath_space *space);

static inline bool whole_units(const struct lath_space *space, u64 key, u64 size)
{
	return size && !((key | size) & (space->config.unit - 1));
}

/* Returns whether [key, key + size) lies in [low, high), where high 0 is 2^64; size > 0. */
static inline bool lies_within(u64 key, u64 size, u64 low, u64 high)
{
	return key >= low && size - 1 <= KEY_MAX - key && key + (size - 1) <= high - 1;
}

/* ---- segment.c ---- */

void segment_init(struct segment *segment, unsigned int number);
/* Gives a segment that is not in use its bounds. The caller holds the lock of the space, or
 * excludes all other calls. */
void segment_open(struct lath_space *space, struct segment *segment, u64 low, u64 high, u64 limit);
/* Switches the magazines on or off: they hold blocks of the first segment, and do not know of
 * limits. The caller holds the lock of the space, or excludes all other calls; it empties them
 * after that. */
void choose_magazines(struct lath_space *space);
/* Adds n to the used keys, where the thread counts. Returns that place. */
static __always_inline u64 *segment_count(struct segment *segment, u64 n)
{
	struct lath_count *stripe =
		smp_load_acquire(&segment->stripes); /* pairs with segment_stripes_make */

	if (likely(stripe)) {
		stripe += lath_stripe() % STRIPES;
		if (likely(lath_count_mine(stripe))) {
			lath_count_add(stripe, n);
			return &stripe->sum;
		}
	}
	lath_fetch_add_release(&segment->used, n); /* pairs with segment_used */
	return &segment->used;
}

/* Makes the segment's stripes if it has none and there is memory: without them it goes on counting
 * in one place. No lock held. */
void segment_stripes_make(struct lath_space *space, struct segment *segment);
/* Subtracts size where segment_count() added it. */
void segment_uncharge(struct segment *segment, u64 *count, u64 size);
/* Adds size unless the sum would exceed the limit. Only one thread does at a time, and the sum is
 * at most too high, so the limit is kept. Returns as segment_charge(). */
u64 *segment_charge_limited(struct segment *segment, u64 limit, u64 size);

/* Adds size to the used keys. Returns the count for segment_uncharge(), or NULL if the segment may
 * not take them: not in use, draining, or above its limit. */
static __always_inline u64 *segment_charge(struct segment *segment, u64 size)
{
	u64 limit = READ_ONCE(segment->limit);
	u64 *at = likely(!limit) ? segment_count(segment, size)
				 : segment_charge_limited(segment, limit, size);

	/* pairs with segment_open */
	if (likely(smp_load_acquire(&segment->draining) == NOT_DRAINING))
		return at;
	if (at)
		segment_uncharge(segment, at, size);
	return NULL;
}

/* Behind a charge: returns whether it holds. */
bool segment_confirm(const struct segment *segment);
u64 segment_used(const struct segment *segment);
/* Returns about how many more keys the segment may take. */
u64 segment_room(const struct segment *segment);
/* Returns whether the index has a free run of this size, in keys, in the segment, and that does not
 * drain. */
bool segment_has_run(struct lath_space *space, const struct segment *segment, u64 size);
/* Returns the segment in use that contains key, or NULL. A thread that holds a charge of that
 * segment always gets it. */
struct segment *segment_of(struct lath_space *space, u64 key);
/* Sets [*low, *last] to the bounds of the first segment, by key, that does not end before key.
 * Returns whether there is one. */
bool segment_after(struct lath_space *space, u64 key, u64 *low, u64 *last);

static inline struct segment *segment_next(const struct segment *segment)
{
	return smp_load_acquire(&segment->next); /* pairs with add_locked */
}

/* ---- set.c ---- */

/* A request to a set: up to `most` blocks of n units, each at a multiple of align. */
struct wanted {
	u64 n, align;
	u64 block; /* n, or align if that is more than n rounded up to a power of two */
	u64 cookie;
	unsigned int most;
	u8 grade; /* of arenas that may serve */
};

/* Sets all but `most` for a request of n units at a multiple of align, which is not below n rounded
 * up to a power of two unless arenas are dense. */
static inline void want_units(const struct lath_space *space, u64 n, u64 align, u64 cookie,
			      struct wanted *want)
{
	want->n = n;
	want->align = align;
	want->block = align >> log2_up(n) > 1 ? align : n;
	want->cookie = cookie;
	want->most = 1;
	want->grade = grade_needed(space->config.flags & LATH_SPACE_FILL && align > 1
					   ? block_within(n, align)
					   : want->block);
}

static inline struct group *set_group(const struct set *set, u64 g)
{
	return g < FEW ? set->few[g] : set->more[g - FEW];
}

static inline struct arena *set_arena(const struct set *set, u64 i)
{
	return set_group(set, i / 64)->arena[i % 64];
}

/* Returns the key of a unit of a locked arena. */
static inline u64 arena_key(const struct lath_space *space, const struct arena *arena, u64 unit)
{
	return (arena->block * ARENA_UNITS + unit) << space->unit_shift;
}

/* Frees the arenas of a set. The caller excludes all other calls. */
void set_fini(struct lath_space *space, struct set *set);
/* Takes one more arena for the set from the index, at any place, or (set_grow_at) for the block at
 * this key. Returns whether it did. The caller has confirmed a charge of the segment and holds no
 * lock. */
bool set_grow(struct lath_space *space, struct set *set);
bool set_grow_at(struct lath_space *space, struct set *set, u64 key);
/* Locks and unlocks each arena: then no thread that found the segment not draining holds one. */
void set_visit(struct set *set);
/* Returns empty arenas to the index. Returns whether there was one. No lock held. */
bool set_release(struct lath_space *space, struct set *set);
/* Takes up to want->most blocks, which are charged, from one arena: the one that this slot (or
 * NULL) used last if it can serve them, else one with exactly the grade needed, else a larger one.
 * *key: their keys. Returns how many. */
unsigned int set_take(struct lath_space *space, struct set *set, struct slot *slot,
		      const struct wanted *want, u64 *key);
/* Updates the count of empty arenas after a change of a locked arena that had `free` free units
 * before. */
static inline void arena_count_empty(struct lath_space *space, struct arena *arena, u64 free)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && max(free, arena->free) <= ARENA_UNITS);
	if (unlikely(free == ARENA_UNITS || arena->free == ARENA_UNITS) && free != arena->free)
		lath_fetch_add(&space->empty, free == ARENA_UNITS ? -1ull : 1);
}

/* Returns whether key is known to lie in an arena whose blocks magazines hold: a hint; false is
 * possible for a key that does. */
static inline bool arena_cached(struct lath_space *space, u64 key)
{
	u64 block = key >> space->unit_shift >> 12;
	struct arena **recent = smp_load_acquire(&space->recent); /* pairs with recent_make */
	struct arena *arena = recent ? READ_ONCE(recent[block % RECENT]) : NULL;

	return arena && READ_ONCE(arena->block) == block && arena->set == &space->first.set[0];
}

/* Locks and returns the arena that contains key, or NULL. */
struct arena *arena_lock(struct lath_space *space, u64 key);
/* Returns units of one block to their arena; subtracts them from what is charged if `uncharge`. 0 |
 * -EINVAL (not all taken; nothing changed) | 1: no arena serves the block */
int arena_return(struct lath_space *space, u64 key, u64 n, bool uncharge);
/* Sets the cookies of n units of a locked arena, if it has any. */
void arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie);

/* ---- magazine.c ---- */

/* Makes a slot. Returns it, or the one that another thread has made, or NULL (no memory). */
struct slot *slot_make(struct lath_space *space, struct slot **at);
/* Returns the slot of the calling thread, or NULL (no memory). No lock held. */
static inline struct slot *slot_of(struct lath_space *space)
{
	struct slot **at = &space->slot[lath_stripe() % SLOTS];
	struct slot *slot = smp_load_acquire(at); /* pairs with slot_make */

	return likely(slot) ? slot : slot_make(space, at);
}
/* Takes a block of 2^order units from a magazine; refills it from an arena. Returns whether it did.
 */
bool magazine_take(struct lath_space *space, unsigned int order, u64 *key);
/* Puts a block of 2^order units into a magazine; flushes a part of a full one first. Returns
 * whether it did. */
bool magazine_give(struct lath_space *space, unsigned int order, u64 key);
/* Empties the magazines of all slots. Returns whether there was a block. No lock held. */
bool magazines_drain(struct lath_space *space);
/* Locks all slots, in which blocks then neither come nor go, and unlocks them. */
void slots_lock(struct lath_space *space);
void slots_unlock(struct lath_space *space);
/* Sets the bits of the units of this block that a magazine holds. The slots are locked. */
void slots_mark(struct lath_space *space, u64 block, u64 *map);
/* Returns the number of units in magazines. */
u64 slots_held(const struct lath_space *space);

/* ---- walk.c ---- */

/* A position between what is allocated and what is free. It keeps a copy of the bitmap it read
 * last, so that one walk reads each arena once. Set block to NO_BLOCK first. */
struct walk {
	struct lath_space *space;
	u64 block; /* of map */
	u64 map[ARENA_WORDS];
};

/* Returns the number of units from `unit` to the end of the map at most whose bits are as its bit.
 */
u64 map_run(const u64 *map, u64 unit);
/* Finds the first run of keys at or behind `from` that are allocated (`taken`), or free. 0 |
 * -ENOENT. No lock held. */
int walk_next(struct walk *walk, u64 from, bool taken, struct lath_item *run);

#endif /* LATH_SPACE_SPACE_H */
