/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.h - the structs of a space, and the way of a request through its files.
 *
 * Pieces of a space, from large to small:
 *
 *   segment   a range of keys that no allocation crosses; the first one is that of the config
 *   part      the keys of a segment below config.below, or the others; it has a set of arenas
 *   block     4,096 units at a multiple of 4,096 units: what one arena serves
 *   unit      the smallest allocation, config.unit keys; one bit of an arena
 *
 * Space is taken from three sources, the files of source/. The way of an allocation goes down; no
 * function calls one that stands above it.
 *
 *   lath_space_alloc()                                                   alloc.c
 *    |
 *    |- alloc_cached()            a power of two up to 256 units
 *    |   `- lath_magazine_alloc()      takes a block that was freed before    source/magazine.c
 *    |       `- magazine_fill()   the magazine is empty: goes on at (A)
 *    |
 *    `- alloc_uncached()
 *        |- alloc_in_part()       up to 1,024 units: charges the segment
 *        |   |- (A) lath_set_alloc_small()         chooses an arena           source/set.c
 *        |   |       `- alloc_in_arena()      looks for a drain, locked
 *        |   |           `- lath_arena_alloc_units()  finds and sets bits     source/arena.c
 *        |   `- alloc_growing()   no arena has room: opens one more,
 *        |                        flushes magazines, takes a hole
 *        |- alloc_in_parts()      other parts and segments, likewise
 *        |
 *        `- lath_alloc_large()         all else, and what had no room above   large.c
 *            `- alloc_in_segments()           chooses a segment
 *                `- alloc_in_segment()        charges it
 *                    |- lath_index_alloc()         takes a hole               source/index.c
 *                    `- lath_set_alloc_anywhere()  under pressure: any place  source/set.c
 *
 * Pressure: the index has no hole. alloc_large() then flushes all magazines, returns empty arenas
 * to the index (lath_space_reclaim(), reclaim.c) and tries once more. A free, lath_space_free()
 * (free.c), ends in lath_magazine_free(), lath_arenas_free() or lath_index_free().
 *
 * Below the sources are segment.c, which counts the used keys, and memory.c. Above them, beside
 * the calls: reserve.c takes given keys, pool.c has the calls on segments, walk.c enumerates,
 * image.c saves and loads, stats.c counts and checks, create.c creates and destroys.
 *
 * All but struct lath_space is made on first use: indexes, slots, arenas and their groups. What was
 * made stays until the space is destroyed, so a pointer to it stays valid, and a thread that found
 * an arena by a key locks it and then compares its block number again.
 *
 * Lock order: the lock of the space, locks of slots (several only in ascending order, by
 * lath_slots_lock), an arena's; a set's or a segment's with none of these but the first. With any
 * of them held the index is only read, and no memory is allocated.
 *
 * Charges. A thread adds what it is going to take to a count of the segment (segment_charge) before
 * it searches the segment, and subtracts what it did not take. What is freed is subtracted after it
 * is free. A charge holds from the moment at which the thread has seen, with an arena locked or
 * behind a full barrier (lath_segment_confirm), that the segment does not drain. From then on the
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
/* One per processor in the kernel; struct group counts them in bytes. */
#ifndef __KERNEL__
#define SLOTS 32
#else
#define SLOTS min(lath_processors(), 255u)
#endif
#define ORDERS 9 /* magazines hold blocks of 1 .. 256 units */
#define RECENT 256
/* Arenas serve up to a quarter of their size. */
#define ARENA_MOST (ARENA_UNITS / 4)

/* Where the magazines of a slot lie in slot->key, and how many blocks each may hold. */
struct shape {
	u16 size[ORDERS], begin[ORDERS];
	u16 all; /* the sum of the sizes */
};
#define MAGAZINES 640 /* `all` of the shape in user space, and of the least one in the kernel */

/* What searches read of 64 arenas of a set: each array is a cache line or a few. */
struct group {
	u8 shown[64]; /* grades of the arenas; 0: no room */
	u8 user[64];  /* numbers of the slots whose threads took from them last; 0: none */
	struct arena *arena[64];
	u16 most[64][ARENA_ORDERS];
};

/* The arena that a block was last found in. */
struct recent {
	struct arena *arena; /* or NULL; its own number tells whether it serves the block */
	u64 cached; /* number + 1 of a block that an arena serves whose blocks magazines hold; 0 */
};

struct segment;

#define FEW 8 /* groups */

/* The arenas of a part of a segment, [low, high). */
struct arena_set {
	u64 low, high; /* high 0 is 2^64 */
	bool empty;    /* of keys; low and high mean nothing */
	unsigned int number;
	struct segment *segment;
	u64 count; /* number of arenas in the groups */
	/* space->freed + 1 when lath_set_grow() last found no room: not tried again until something is
	 * freed to the index; 0: it always found room */
	u64 stuck;
	struct lath_spinlock lock;
	struct arena *unused;	/* arenas that serve no block, linked by next */
	struct group *few[FEW]; /* the first groups */
	struct group **more;	/* the table of the others, or NULL */
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
	struct arena_set set[PARTS]; /* below config.below, and the rest */
	struct segment *next;	     /* the number of this one + 1 */
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

/* The magazines of the threads with one number. */
struct slot {
	struct lath_spinlock lock;
	u32 held;  /* units in its magazines */
	u8 tight;  /* how often the magazines' capacity is halved */
	u8 number; /* 1 .. SLOTS */
	u16 count[ORDERS];
#ifdef __KERNEL__
	struct shape shape; /* beside the counts */
#endif
	u32 home[SETS]; /* the arena of each set that was used last */
#ifdef __KERNEL__
	u64 key[];
#else
	u64 key[MAGAZINES];
#endif
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
	struct recent *recent;	   /* RECENT by block number: saves a lookup in `arenas` */
#ifdef __KERNEL__
	struct slot **slot; /* SLOTS of them */
	struct shape shape;
#else
	struct slot *slot[SLOTS];
#endif
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

/* Returns whether calls may come from any context of the kernel. */
static inline bool any_caller(const struct lath_space *space)
{
	return space->config.flags & LATH_ANY_CONTEXT;
}

/* Returns how many units `size` keys are, rounded down. */
static inline u64 units_of(const struct lath_space *space, u64 size)
{
	return size >> space->unit_shift;
}

/* Returns whether requests may be served from arenas. */
static inline bool has_arenas(const struct lath_space *space)
{
	return !(space->config.flags & LATH_SPACE_NO_ARENAS);
}

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

/* Returns how much of [key, key + size), size > 0, lies in key's block. */
static inline u64 piece_of(const struct lath_space *space, u64 key, u64 size)
{
	LATH_ASSERT(size);
	return min(size, space->arena_size - (key & (space->arena_size - 1)));
}

/* Returns whether the range begins and ends at a unit and is not empty. */
static inline bool whole_units(const struct lath_space *space, u64 key, u64 size)
{
	return size && !((key | size) & (space->config.unit - 1));
}

/* Returns whether [key, key + size) lies in [low, high), where high 0 is 2^64; size > 0. */
static inline bool lies_within(u64 key, u64 size, u64 low, u64 high)
{
	return key >= low && size - 1 <= KEY_MAX - key && key + (size - 1) <= high - 1;
}

/* ---- memory.c: the memory of a space, counted in space->bytes, and its indexes ---- */

/* Allocates `size` bytes, zeroed and aligned to 64. Returns NULL without memory. No lock held. */
void *lath_space_memory_alloc(struct lath_space *space, size_t size);
/* Frees what lath_space_memory_alloc() returned for this size; NULL is nothing. */
void lath_space_memory_free(struct lath_space *space, void *p, size_t size);

/* Returns the index at *at, space->index or space->arenas; makes it if there is none. NULL: no
 * memory. No lock held. */
struct lath_index *lath_space_index(struct lath_space *space, struct lath_index **at);

/* ---- source/index.c: the index, which has an item per range that no arena serves and per arena
 * (arena_mark()) ---- */

/* Takes the hole of the index that the request, whose keys are charged, asks for. 0 | -ENOSPC |
 * -EINVAL | -ENOMEM. No lock held. */
int lath_index_alloc(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
		     u64 *key);
/* Frees [key, key + size) up to the first arena; *freed: how much that is. 0 | -EINVAL (not all of
 * it is allocated; nothing changed) | -ENOMEM (only a part, from key on, is free). No lock held. */
int lath_index_free(struct lath_space *space, u64 key, u64 size, u64 *freed);

/* ---- large.c: requests that go to the index: large, coarsely aligned, limited, or refused
 * elsewhere; and to any place of arenas ---- */

/* Serves a request for `size` keys at a multiple of align from the segments whose bits are set.
 * refused: no arena's grade suffices. asked: the index has just refused it. 0 | -ENOSPC | -ENOMEM.
 * No lock held. */
int lath_alloc_large(struct lath_space *space, u64 segments, u64 size, u64 align, u64 cookie,
		     bool refused, bool asked, u64 *key);
/* Serves a request with limits and a policy from all segments, `small`: from arenas first, of which
 * it opens more. Results as those of lath_alloc_large(). */
int lath_alloc_request(struct lath_space *space, const struct lath_hole_request *want, bool small,
		       u64 cookie, u64 *key);

/* ---- free.c, reserve.c, reclaim.c ---- */

/* Frees whole units that are not in a magazine: block by block where there are arenas, else as a
 * whole. 0 | -EINVAL (a part is not allocated; what lies before it is free) | -ENOMEM. No lock
 * held. */
int lath_free_range(struct lath_space *space, u64 key, u64 size);
/* Takes exactly [key, key + size), which is charged to the count and lies in one segment, from
 * arenas and the index. 0 | -EBUSY | -ENOMEM: none of it is taken or charged any longer. No lock
 * held. */
int lath_reserve_range(struct lath_space *space, struct segment *segment, u64 *count, u64 key,
		       u64 size, u64 cookie);
/* Returns the blocks of all magazines to the arenas, and empty arenas to the index. Returns whether
 * there was one. No lock held. */
bool lath_space_reclaim(struct lath_space *space);

/* ---- walk.c: enumeration of what is allocated and of what is free ---- */

/* A position between what is allocated and what is free. It keeps a copy of the bitmap it read
 * last, so that one walk reads each arena once. Set block to NO_BLOCK first. */
struct walk {
	struct lath_space *space;
	u64 block; /* of map */
	u64 map[ARENA_WORDS];
};

/* Returns how many units from `unit` on, to the end of the map at most, have the same bit. */
u64 lath_map_run(const u64 *map, u64 unit);
/* Finds the first run of keys at or behind `from` that are allocated (`taken`), or free. 0 |
 * -ENOENT. No lock held. */
int lath_walk_next(struct walk *walk, u64 from, bool taken, struct lath_item *run);

#endif /* LATH_SPACE_SPACE_H */
