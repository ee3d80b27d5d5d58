/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/hole.h - find free room between the ranges of a list, and take it.
 *
 * A hole is a stretch of keys that no item covers. A list made with LATH_HOLES keeps, for every node,
 * the longest free run and the largest naturally aligned free block below it, as upper bounds: an erase
 * raises them as far as they grow, an insert leaves them, and a search that finds one too high lowers it. So
 * a search passes by what cannot hold the request, and no insert writes above its leaf. After
 * skiplist_insert_hole of Chris Mason's skiplist (2013), which walked the leaves one by one.
 *
 *     struct lath_config config = LATH_CONFIG_INIT;
 *     struct lath_hole_request want = { .size = 8192, .align = 8192, .high = 1ull << 32 };
 *     uint64_t key;
 *
 *     config.flags = LATH_HOLES;
 *     lath_index_init(&list, &config);
 *     if (!lath_index_insert_hole(&list, &want, 7, &key))
 *             printf("[%llu, +8192) is ours\n", (unsigned long long)key);
 *
 * Threads: both calls beside anything, like an insert. What find_hole found may be taken a moment later;
 * insert_hole takes it or looks on, and -EAGAIN never reaches the caller.
 * Ordering: insert_hole is linearizable, and so is its -ENOSPC: at some moment of the call no hole was
 * there. Which of several holes is taken is exactly the policy's when nobody writes meanwhile; beside writers it is as the
 * search met them.
 * Progress: as an insert's. To say -ENOSPC, a call waits for erases that are under way.
 * Cost: FIRST, LAST, NEXT, NEAR about two walks; what the bounds cannot tell (an alignment above the size,
 * or a size that is no power of two with an alignment) is found by trying the candidates in turn. BEST looks
 * at every leaf that may hold the request. 64 bytes more a leaf, 2 KiB an inner node (32 bytes a leaf).
 */
#ifndef LATHWORK_HOLE_H
#define LATHWORK_HOLE_H

#include "lathwork/index.h"

#ifdef __cplusplus
extern "C" {
#endif

enum lath_hole_policy {
	LATH_HOLE_FIRST = 0, /* the lowest key that serves */
	LATH_HOLE_LAST,	     /* the highest */
	LATH_HOLE_BEST,	     /* in the shortest hole that serves; the lowest of these */
	LATH_HOLE_NEXT,	     /* the lowest from hint on; then from the beginning */
	LATH_HOLE_NEAR,	     /* the nearest to hint, above or below */
	LATH_HOLE_EXACT,     /* at hint or not at all */
};

struct lath_hole_request {
	uint64_t size;	/* keys, > 0 */
	uint64_t align; /* the first key is a multiple: a power of two; 0 is 1 */
	uint64_t low;	/* all keys lie in [low, high); */
	uint64_t high;	/* 0 is 2^64 */
	uint64_t below; /* try [low, below) first (32-bit devices); 0: no */
	uint64_t hint;
	enum lath_hole_policy policy;
};

/* Where there is room: 0 (*key set) | -ENOSPC | -EINVAL: size 0, align no power of two, low >= high, an EXACT
 * hint not aligned or outside the limits, or a list made without LATH_HOLES. */
LATH_API int lath_index_find_hole(struct lath_index *list, const struct lath_hole_request *want,
				     uint64_t *key);
/* Find room and insert an item of that size with this value there, as one step. As find_hole, or -ENOMEM
 * (nothing changed). */
LATH_API int lath_index_insert_hole(struct lath_index *list, const struct lath_hole_request *want,
				       uint64_t value, uint64_t *key);

/* What is free in [low, high), as far as told without reading every leaf. */
struct lath_hole_stats {
	uint64_t largest;		 /* longest free run */
	uint64_t largest_order;		 /* log2 of the largest naturally aligned free block; 64: none */
	uint64_t free;			 /* keys in free runs: exact if `sampled` is 0, else an estimate */
	uint64_t holes;			 /* number of free runs; likewise */
	uint64_t histogram[64];		 /* [i]: runs of 2^i .. 2^(i+1) - 1 keys; likewise */
	uint64_t fragmentation_permille; /* 1000 * (1 - largest / free) */
	uint64_t sampled;		 /* 0, or the number of leaves it was estimated from */
};

/* 0 | -EINVAL (limits, or a list made without LATH_HOLES). Looks at no more than max_leaves leaves (0: all of
 * them) for the histogram, spread evenly; `largest` and `largest_order` are always exact in a quiet list. */
LATH_API int lath_index_hole_stats(struct lath_index *list, uint64_t low, uint64_t high,
				      uint64_t max_leaves, struct lath_hole_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_HOLE_H */
