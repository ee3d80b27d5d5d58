/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/space.h - an allocator of ranges of keys: device addresses, disk blocks, identifiers.
 *
 * Three layers over one space [low, high); the upper two can be switched off:
 *
 *   magazines   caches of free blocks of 1, 2, 4 .. 256 units, per slot; a thread uses one slot, so
 *      |        that most calls touch no shared memory (after Bonwick and Adams, "Magazines and
 *      |        Vmem", 2001)
 *   arenas      aligned blocks of 4096 units with one bit per unit and one lock each; one byte per
 *      |        arena tells the largest aligned request it can serve, and 64 of these bytes are
 *      |        compared at once
 *   index       a lath_index made with LATH_HOLES: whole arenas, and ranges that are large,
 *               limited, placed by the caller or not naturally aligned (lathwork/hole.h)
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
 * Threads: all calls may run concurrently, except destroy. Progress: the locks of slots and arenas
 * are held for some tens of instructions; no thread waits for memory while it holds one. Pressure:
 * a request that finds no room returns the magazines of all slots and all empty arenas to the index
 * and tries again before it fails with -ENOSPC. A hole that crosses the boundary of a used arena is
 * not found; without arenas (LATH_SPACE_NO_ARENAS) every hole is. Memory: 675 bytes per arena (0.16
 * bytes per unit), 29 to 38 bytes per range in the index, 5 KiB per slot.
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
	LATH_SPACE_NO_MAGAZINES = 1u
				  << 1, /* frees take effect at once, and wrong ones are refused */
	/* lath_space_owner finds the cookie of every range: 8 bytes per unit of an arena more, and
	 * no magazines */
	LATH_SPACE_OWNERS = 1u << 2,
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
};

#define LATH_SPACE_CONFIG_INIT { sizeof(struct lath_space_config), 0, 0, 1, 0, 0, NULL, NULL }

/* Makes a space. 0 | -EINVAL (limits, unit, flags, size) | -ENOMEM */
LATH_API int lath_space_create(struct lath_space **space, const struct lath_space_config *config);
/* Frees the space with all that is allocated in it. The caller excludes all other calls. */
LATH_API void lath_space_destroy(struct lath_space *space);

/* Takes `size` keys, a multiple of the unit, at a multiple of `align`, a power of two (0: the
 * unit). The cookie is the caller's. 0 (*key: the first key) | -ENOSPC | -EINVAL | -ENOMEM */
LATH_API int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align,
			      uint64_t cookie, uint64_t *key);
/* As lath_space_alloc() with limits, policy and hint; served by the index. */
LATH_API int lath_space_alloc_request(struct lath_space *space,
				      const struct lath_hole_request *want, uint64_t cookie,
				      uint64_t *key);
/* Takes exactly [key, key + size). 0 | -EBUSY (a part of it is taken) | -EINVAL | -ENOMEM */
LATH_API int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size,
				uint64_t cookie);
/* Frees [key, key + size): one or several adjacent allocations or reservations, or a part of one. 0
 * | -EINVAL: a part of it is not allocated; the arenas and items that this part lies in are
 * unchanged (with magazines a wrong free of a power of two may be detected only later:
 * stats.bad_frees) | -ENOMEM: a part of a range in the index could not be split off; that range is
 * unchanged */
LATH_API int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size);
/* Finds the allocation that contains key. 0 (*item: the range and its cookie) | -ENOENT. In an
 * arena, which must have LATH_SPACE_OWNERS, *item is one unit. A range that is being freed
 * concurrently may be found. */
LATH_API int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item);
/* Returns the magazines' blocks to the arenas, and empty arenas to the index. */
LATH_API void lath_space_trim(struct lath_space *space);

struct lath_space_stats {
	uint64_t allocated;  /* allocated keys */
	uint64_t cached;     /* keys in magazines */
	uint64_t arena_free; /* keys free in arenas */
	uint64_t arenas;
	uint64_t ranges; /* items of the index that are not arenas */
	uint64_t bytes;	 /* memory used */
	uint64_t bad_frees;
	struct lath_hole_stats holes; /* outside arenas, estimated from at most 1024 leaves */
};

LATH_API void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats);
/* Returns 0, or the number of a broken rule, with a sentence in report. The caller excludes all
 * other calls. */
LATH_API int lath_space_verify(struct lath_space *space, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SPACE_H */
