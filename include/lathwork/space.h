/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/space.h - an allocator of ranges of keys: device addresses, disk blocks, identifiers.
 *
 *     struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
 *     struct lath_space *space;
 *     uint64_t key;
 *
 *     config.low = 4096;
 *     config.unit = 4096;
 *     config.below = 1ull << 32;  // 32-bit addresses first
 *     if (!lath_space_create(&space, &config) && !lath_space_alloc(space, 8192, 8192, 0, &key))
 *             lath_space_free(space, key, 8192);
 *
 * Three layers over one space [low, high); the upper two can be switched off:
 *
 *   magazines   caches of free blocks of 1, 2, 4 .. 256 units, per slot; a thread uses one slot, so
 *      |        that most calls touch no shared memory (after Bonwick and Adams, "Magazines and
 *      |        Vmem", 2001)
 *   arenas      aligned blocks of 4096 units with one bit per unit and one lock each; one byte per
 *      |        arena tells the largest aligned request it can serve, and 64 of these bytes are
 *      |        compared at once
 *   index       a lath_index made with LATH_HOLES: whole arenas, and ranges that are large, limited
 *               or placed by the caller, or that have an alignment above 1024 units
 *               (lathwork/hole.h)
 *
 * Threads: all calls may run concurrently, except destroy, verify and load; none may be made in a
 * signal handler (lathwork/config.h, T1 to T6). Progress: the locks of slots and arenas are held
 * for some tens of instructions, while a magazine is filled or emptied for those of some tens of
 * blocks; no thread waits for memory while it holds one. Pressure: a request that finds no room
 * returns the magazines of all slots and all empty arenas to the index and tries again before it
 * fails with -ENOSPC. A hole that crosses the boundary of a used arena is not found, nor one inside
 * it by a request whose size or alignment is above an arena's; without arenas
 * (LATH_SPACE_NO_ARENAS) every hole is. Memory: less than 1 KiB for an empty space; all else is
 * made on first use and freed by destroy: 675 bytes per arena (0.16 bytes per unit), 29 to 38 bytes
 * per range in the index, 6 KiB per slot, 16 KiB for an index that is in use.
 */
#ifndef LATHWORK_SPACE_H
#define LATHWORK_SPACE_H

#include "lathwork/hole.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_space;

/* lath_space_config.flags */
enum {
	LATH_SPACE_NO_ARENAS = 1u << 0, /* nor magazines: every range is an item of the index */
	/* frees take effect at once, and wrong ones are refused, second ones too */
	LATH_SPACE_NO_MAGAZINES = 1u << 1,
	/* lath_space_owner finds the cookie of every range: 8 bytes per unit of an arena more, and
	 * no magazines */
	LATH_SPACE_OWNERS = 1u << 2,
	/* segments with more free keys are tried first, to fill them evenly; no magazines */
	LATH_SPACE_SPREAD = 1u << 3,
	/* Large requests stay in one segment until it is full. The next segment is one with a free
	 * run for four such requests, else for two, else one with more free keys than others.
	 * Arenas and small ranges come from the other end of a segment. So large ranges that are
	 * allocated together lie together, and leave long holes if they are freed together. Small
	 * ranges are aligned as the call says, not more, so that fewer arenas hold them. */
	LATH_SPACE_FILL = 1u << 4,
};

struct lath_space_config {
	size_t size;	/* sizeof(struct lath_space_config) */
	uint64_t low;	/* keys of [low, high); */
	uint64_t high;	/* 0 is 2^64 */
	uint64_t unit;	/* a power of two; ranges are multiples of it; an arena has 4096 units */
	uint64_t below; /* prefer [low, below) to the rest; 0: no preference */
	unsigned int flags;
	const struct lath_rcu *rcu;		/* NULL: lath_rcu_auto */
	const struct lath_allocator *allocator; /* NULL: the host's */
#ifdef __KERNEL__
	gfp_t gfp; /* as in struct lath_config */
	/* a magazine holds at least this many blocks, as long as these are not more than 8,192
	 * units: what is freed in bursts and allocated again. 0: 256 units of the small ones, 32
	 * blocks; at most 1,024 */
	unsigned int burst;
#endif
};

#define LATH_SPACE_CONFIG_INIT { sizeof(struct lath_space_config), 0, 0, 1, 0, 0, NULL, NULL }

/* Makes a space. 0 | -EINVAL (limits, unit, flags, size) | -ENOMEM */
LATH_API int lath_space_create(struct lath_space **space, const struct lath_space_config *config);
/* Frees the space with all that is allocated in it. The caller excludes all other calls. */
LATH_API void lath_space_destroy(struct lath_space *space);

/* Takes `size` keys, a multiple of the unit, at a multiple of `align`, a power of two (0: the
 * unit). The cookie is the caller's; one number, the address of the space + 1, marks arenas and is
 * refused. 0 (*key: the first key) | -ENOSPC | -EINVAL | -ENOMEM */
LATH_API int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align,
			      uint64_t cookie, uint64_t *key);
/* As lath_space_alloc(), but only from segments whose bits are set: ~(1ull << n) excludes n. */
LATH_API int lath_space_alloc_in(struct lath_space *space, uint64_t segments, uint64_t size,
				 uint64_t align, uint64_t cookie, uint64_t *key);
/* As lath_space_alloc(), but all keys lie below `high`, a multiple of the unit (0: 2^64): for
 * devices that do not reach all addresses. Arenas serve it too; magazines do if no key of segment 0
 * lies above. */
LATH_API int lath_space_alloc_below(struct lath_space *space, uint64_t high, uint64_t size,
				    uint64_t align, uint64_t cookie, uint64_t *key);
/* As lath_space_alloc() with limits, policy and hint; served by the index, where the policy holds
 * within each segment. If the index has no room, a used arena may serve it, at any place within the
 * limits (EXACT: at the hint). */
LATH_API int lath_space_alloc_request(struct lath_space *space,
				      const struct lath_hole_request *want, uint64_t cookie,
				      uint64_t *key);
/* Takes exactly [key, key + size). 0 | -EBUSY (a part of it is taken) | -EINVAL (also: not in one
 * segment) | -ENOSPC (the segment is drained, or at its limit) | -ENOMEM. One that fails has taken
 * what was free before that part, until it returns: calls beside it may not find room there. */
LATH_API int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size,
				uint64_t cookie);
/* Frees [key, key + size), once: a second free of a block that a magazine holds is not seen, and
 * its keys may then be given to two owners. (LATH_SPACE_NO_MAGAZINES refuses it, builds with
 * assertions stop, stats.bad_frees counts those that a flush finds.) What is freed is one or
 * several adjacent allocations or reservations, or a part of one; concurrent calls may free
 * different parts. 0 | -EINVAL: a part of it is not allocated; the arenas and items that this part
 * lies in are unchanged | -ENOMEM: a part in the middle of a range in the index could not be split
 * off; that range is unchanged */
LATH_API int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size);
/* Finds the allocation that contains key. 0 (*item: the range and its cookie; of a reservation, or
 * of what was loaded, a part) | -ENOENT. In an arena, which must have LATH_SPACE_OWNERS, *item is
 * one unit. A range that is being freed concurrently may be found. */
LATH_API int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item);
/* Returns the magazines' blocks to the arenas, and empty arenas to the index. */
LATH_API void lath_space_trim(struct lath_space *space);
#ifdef __KERNEL__
/* Makes in advance what calls make on first use: the slots of all processors, the indexes with
 * nodes for some items, and this many arenas for each segment. The caller may sleep; again when
 * arenas have been used. 0 | -ENOMEM (what was made stays) */
int lath_space_preload(struct lath_space *space, unsigned int arenas);
#endif

/*
 * Enumeration. Finds the first allocated run at or behind `from`: the longest run of keys of one
 * segment of which each is allocated, whether by one call or by several, in arenas or in the index.
 * If `from` is allocated the run begins there. 0 (run->key; run->size, 0 is 2^64; run->value is 0)
 * | -ENOENT. To see all, begin with 0 and go on from run->key + run->size; stop when that sum is 0.
 *
 * Concurrently with other calls: each key from `from` to the end of the run, and the key behind it,
 * is reported as it was at one moment of the call. So a key that is allocated during the whole call
 * is in a run, and one that is free during the whole call is in none. Keys that a call is about to
 * take, or for a reserve that failed, may count as allocated; keys in magazines count as free.
 * Cost: some lookups, and a copy of the bitmap per arena that the run touches; with magazines it
 * locks all slots in the meantime.
 */
LATH_API int lath_space_next(struct lath_space *space, uint64_t from, struct lath_item *run);
/* As lath_space_next(), for runs of free keys. */
LATH_API int lath_space_next_free(struct lath_space *space, uint64_t from, struct lath_item *run);

/*
 * Segments. A space is a pool of up to 64 of them, numbered from 0; that of the config is number 0.
 * Each is a range of keys, and no allocation crosses from one to another. An allocation tries them
 * in the order of their numbers, or with LATH_SPACE_SPREAD of their free keys, parts below
 * config.below first; see LATH_SPACE_FILL too. lath_space_free() finds the segment by the key.
 * Magazines serve segment 0, while it has no limit and is not drained.
 */
#define LATH_SPACE_SEGMENTS 64

struct lath_space_segment {
	uint64_t low, high; /* keys of [low, high); high 0 is 2^64 */
	uint64_t keys;	    /* high - low; 2^64 - 1 for 2^64 */
	uint64_t allocated; /* keys; modulo 2^64: 0 if all of 2^64 keys are */
	uint64_t limit;	    /* of allocated keys; 0: none */
	unsigned int number;
	unsigned int draining; /* 1: nothing is allocated in it */
};

/* Adds [key, key + size), whole units, to the pool; at most `limit` of its keys are allocated at a
 * time (0: all). Returns its number, the lowest that is not in use | -EEXIST (overlaps a segment) |
 * -ENOSPC (all numbers are in use) | -EINVAL | -ENOMEM */
LATH_API int lath_space_add_segment(struct lath_space *space, uint64_t key, uint64_t size,
				    uint64_t limit);
/* Sets the limit. What is allocated above it stays. Calls in progress may not heed it. 0 |
 * -ENOENT */
LATH_API int lath_space_limit_segment(struct lath_space *space, unsigned int segment,
				      uint64_t limit);
/* drain != 0: calls that begin later allocate nothing in the segment; frees continue. 0: takes that
 * back. 0 | -ENOENT */
LATH_API int lath_space_drain_segment(struct lath_space *space, unsigned int segment, int drain);
/* Removes a drained segment. 0 | -ENOENT | -EBUSY (not drained, a part of it is allocated, or a
 * call that works in it has not returned). The caller does not remove a segment of 2^64 keys while
 * all of them are allocated: their count, modulo 2^64, is 0. */
LATH_API int lath_space_remove_segment(struct lath_space *space, unsigned int segment);
/* Returns the number of the segment that contains key, or -ENOENT. */
LATH_API int lath_space_segment_of(struct lath_space *space, uint64_t key);
/* Takes constant time. 0 | -ENOENT */
LATH_API int lath_space_segment_stats(struct lath_space *space, unsigned int segment,
				      struct lath_space_segment *stats);

/*
 * Save and load. A saved space is a stream of bytes with checksums that says which keys are
 * allocated: two to four bytes per run as a rule. It says nothing of cookies, segments and flags.
 * A function that a call is given runs without locks.
 */

/* Writes all `size` bytes. 0 | -errno, which ends the save */
typedef int (*lath_space_write_fn)(void *arg, const void *data, size_t size);
/* Reads up to `size` bytes. Returns how many | 0 at the end | -errno, which ends the load */
typedef int64_t (*lath_space_read_fn)(void *arg, void *data, size_t size);

/* Saves all allocated runs. Concurrently with other calls each key is saved as it was at one moment
 * (see Enumeration). 0 | -ENOMEM | what write returned */
LATH_API int lath_space_save(struct lath_space *space, lath_space_write_fn write, void *arg);
/*
 * Allocates what was saved, with this cookie, in a space in which nothing is allocated; flags and
 * segments may be others than those of the saved space. Limits and drains are not looked at. Reads
 * up to the end of the saved space and no further. Takes time linear in the number of runs. The
 * caller excludes all other calls. A failed load leaves the space empty. 0 | -EBUSY (it was not
 * empty) | -EBADMSG (damaged, too short, of another kind or version) | -EINVAL (of another unit, or
 * a run is not within one segment of this space) | -ENOMEM | what read returned. report, if
 * report_size is not 0, gets a sentence on -EBADMSG, -EINVAL and errors of read, else "".
 */
LATH_API int lath_space_load(struct lath_space *space, lath_space_read_fn read, void *arg,
			     uint64_t cookie, char *report, size_t report_size);

struct lath_space_stats {
	uint64_t allocated;  /* allocated keys, modulo 2^64 */
	uint64_t free;	     /* keys that are not; cached ones too */
	uint64_t cached;     /* keys in magazines */
	uint64_t arena_free; /* keys free in arenas */
	uint64_t arenas;
	uint64_t ranges;   /* items of the index that are not arenas */
	uint64_t segments; /* in use */
	uint64_t bytes;	   /* memory used, with that of the space itself */
	uint64_t bad_frees;
};

/* Takes constant time: adds up 16 counters per segment and 32 slots. Exact if no other call is in
 * progress; otherwise each number may be off by what these calls take and free. */
LATH_API void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats);
/* Returns 0, or the number of a broken rule, with a sentence in report. The caller excludes all
 * other calls. */
LATH_API int lath_space_verify(struct lath_space *space, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SPACE_H */
