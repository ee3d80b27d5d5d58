/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/space.h - an allocator of ranges of keys: device addresses, disk blocks, identifiers.
 *
 * Three layers over one space [low, high); the upper two may be left out:
 *
 *   magazines   free blocks of 1, 2, 4 .. 256 units, a few of each for every slot; a thread uses one
 *      |        slot, so most calls touch nothing shared (after Bonwick and Adams, "Magazines and Vmem", 2001)
 *   arenas      aligned blocks of 4096 units, a bit a unit, a lock each; every arena shows in one byte the
 *      |        largest aligned request it can serve, and 64 such bytes are compared at once
 *   index       a lath_index made with LATH_HOLES: whole arenas, and what is large, limited, placed or
 *               oddly aligned (lathwork/hole.h)
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
 * Threads: all calls beside each other, but for destroy. Progress: by locks held for some tens of
 * instructions, a slot's and an arena's; nobody waits for memory inside one.
 * Pressure: when no room is found, the magazines of all slots and all empty arenas go back before
 * -ENOSPC is said. A hole that reaches across the border of a used arena is not used; without arenas
 * (LATH_SPACE_NO_ARENAS) every hole that exists is found.
 * Memory: 675 bytes an arena (0.16 bytes a unit), 29 to 38 bytes a range held in the index, 5 KiB a slot.
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
	LATH_SPACE_NO_ARENAS = 1u << 0,	   /* neither: every range is an item of the index */
	LATH_SPACE_NO_MAGAZINES = 1u << 1, /* a free is seen, and a wrong one refused, at once */
	LATH_SPACE_OWNERS = 1u << 2, /* lath_space_owner tells every range's cookie: 8 bytes a unit of an
					    * arena more, and no magazines */
};

struct lath_space_config {
	size_t size;	/* sizeof(struct lath_space_config) */
	uint64_t low;	/* keys of [low, high); */
	uint64_t high;	/* 0 is 2^64 */
	uint64_t unit;	/* a power of two; ranges are multiples of it, and arenas 4096 of it */
	uint64_t below; /* use up [low, below) first; 0: no */
	unsigned int flags;
	const struct lath_rcu *rcu;		/* NULL: lath_rcu_auto */
	const struct lath_allocator *allocator; /* NULL: the host's */
};

#define LATH_SPACE_CONFIG_INIT { sizeof(struct lath_space_config), 0, 0, 1, 0, 0, NULL, NULL }

/* 0 | -EINVAL (limits, unit) | -ENOMEM */
LATH_API int lath_space_create(struct lath_space **space, const struct lath_space_config *config);
/* Alone. What is still allocated is forgotten. */
LATH_API void lath_space_destroy(struct lath_space *space);

/* size: a multiple of the unit; align: a power of two (0: the unit); cookie: the caller's.
 * 0 (*key set) | -ENOSPC | -EINVAL | -ENOMEM */
LATH_API int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align, uint64_t cookie,
			      uint64_t *key);
/* The same with limits, policy and hint, taken from the index. */
LATH_API int lath_space_alloc_request(struct lath_space *space, const struct lath_hole_request *want,
				      uint64_t cookie, uint64_t *key);
/* Take exactly [key, key + size): 0 | -EBUSY (some of it is taken; nothing changed) | -EINVAL | -ENOMEM */
LATH_API int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size, uint64_t cookie);
/* Give back [key, key + size): what was allocated or reserved, whole, in parts, or several neighbours at once.
 * 0 | -EINVAL: some of it is not allocated (nothing changed in an arena or item that is not wholly; with magazines
 * a wrong free of a power of two may be noticed later only: stats.bad_frees) | -ENOMEM: a part of a range
 * in the index could not be cut off; that range is as it was */
LATH_API int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size);
/* Who has key: 0 (*item: the range, and its cookie) | -ENOENT. In arenas the unit alone, and with
 * LATH_SPACE_OWNERS only; ranges being freed by others at the same time may still show. */
LATH_API int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item);
/* Give the magazines back to the arenas, and empty arenas to the index. */
LATH_API void lath_space_trim(struct lath_space *space);

struct lath_space_stats {
	uint64_t allocated;  /* keys in ranges that were given out */
	uint64_t cached;     /* keys in magazines */
	uint64_t arena_free; /* keys free in arenas */
	uint64_t arenas;
	uint64_t ranges; /* items of the index that are no arenas */
	uint64_t bytes;	 /* memory used */
	uint64_t bad_frees;
	struct lath_hole_stats holes; /* outside arenas, from at most 1024 leaves */
};

LATH_API void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats);
/* 0, or a broken rule (report: text). No other call runs. */
LATH_API int lath_space_verify(struct lath_space *space, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SPACE_H */
