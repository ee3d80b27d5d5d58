/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/hole.h - find free space between the ranges of an index, and take it.
 *
 * A hole is a run of keys that no item covers. An index made with LATH_HOLES keeps a summary for
 * every node: upper bounds of the free runs below it, for each of 32 alignments. An erase raises
 * the bounds that its free run exceeds. An insert changes none, so it writes nothing above its
 * leaf. A search skips nodes whose bounds exclude the request, and lowers a bound that it finds too
 * high. After skiplist_insert_hole of Chris Mason's skip list (2013), which visited the leaves one
 * by one.
 *
 *     struct lath_config config = LATH_CONFIG_INIT;
 *     struct lath_hole_request want = { .size = 8192, .align = 8192, .high = 1ull << 32 };
 *     uint64_t key;
 *
 *     config.flags = LATH_HOLES;
 *     lath_index_init(&index, &config);
 *     if (!lath_index_insert_hole(&index, &want, 7, &key))
 *             printf("[%llu, +8192) is ours\n", (unsigned long long)key);
 *
 * Threads: both calls may run concurrently with all that an insert may. What find_hole returns was
 * free at some moment of the call; another thread may take it before the caller does. insert_hole
 * takes its hole or searches on, and never returns -EAGAIN. Ordering: insert_hole is linearizable,
 * and so is its -ENOSPC: at some moment of the call there was no such hole. Of several holes the
 * policy's choice is taken exactly if no other thread writes during the call; otherwise it is the
 * policy's choice among the holes that the search met. Progress: as of an insert. Before it returns
 * -ENOSPC, a call waits for erases in progress. Not in a signal handler (lathwork/config.h, T1).
 *
 * Cost: FIRST, LAST, NEXT and NEAR look at a few nodes per level (lath_index_get_stats counts
 * them). Where summaries are not exact (alignments above 2^31, sizes with more than ten significant
 * bits) candidates are tested in turn. BEST goes by an index of the free runs in the order of their
 * lengths. The first call that looks at more than 64 nodes makes it (not in the kernel, and not
 * with LATH_SHARED); from then on every change of the free space updates it. BEST then looks at the
 * runs from the requested length on, in turn, until one has an aligned place inside the limits;
 * after 32 of them, at those that are longer by the alignment, and then for the lowest place. If
 * all of them were outside the limits, or without memory for that index, it looks at every leaf
 * that may hold the request. Memory: 128 bytes more per leaf, 5,248 bytes more per inner node; the
 * index by length takes 18 to 25 bytes per free run. Each thread of the process has 320 bytes of
 * thread-local storage for where its last search ended and what its last erase changed, whether it
 * uses an index of holes or not; in the kernel each processor.
 */
#ifndef LATHWORK_HOLE_H
#define LATHWORK_HOLE_H

#include "lathwork/index.h"

#ifdef __cplusplus
extern "C" {
#endif

enum lath_hole_policy {
	LATH_HOLE_FIRST = 0, /* the lowest place */
	LATH_HOLE_LAST,	     /* the highest place */
	LATH_HOLE_BEST,	     /* in the shortest hole that fits; the lowest of these. With an
				alignment, and 32 holes that are long enough but have no aligned place
				inside the limits, it may be another hole that fits, but none longer
				than the shortest one that fits with any alignment */
	LATH_HOLE_NEXT,	     /* the lowest place from hint on, else the lowest of all */
	LATH_HOLE_NEAR,	     /* the place nearest to hint, above or below */
	LATH_HOLE_EXACT,     /* at hint, or none */
};

struct lath_hole_request {
	uint64_t size;	/* keys, > 0 */
	uint64_t align; /* the first key is a multiple: a power of two; 0 is 1 */
	uint64_t low;	/* all keys lie in [low, high); */
	uint64_t high;	/* 0 is 2^64 */
	uint64_t below; /* search [low, below) first (32-bit devices); 0: no */
	uint64_t hint;
	enum lath_hole_policy policy;
};

/* Finds a hole. 0 (*key is set) | -ENOSPC | -EINVAL: size 0, align not a power of two, low >=
 * high, an EXACT hint that is not aligned or is outside the limits, or an index made without
 * LATH_HOLES */
LATH_API int lath_index_find_hole(struct lath_index *index, const struct lath_hole_request *want,
				  uint64_t *key);
/* Finds a hole and inserts an item of that size with this value there, as one step. Results as
 * find_hole, or -ENOMEM (nothing changed). */
LATH_API int lath_index_insert_hole(struct lath_index *index, const struct lath_hole_request *want,
				    uint64_t value, uint64_t *key);

/* The free space in [low, high). */
struct lath_hole_stats {
	uint64_t largest;	/* longest free run */
	uint64_t largest_order; /* log2 of the largest naturally aligned free block; 64: none */
	uint64_t free;		/* keys in free runs: exact if `sampled` is 0, else an estimate */
	uint64_t holes;		/* number of free runs; likewise */
	uint64_t histogram[64]; /* [i]: runs of 2^i .. 2^(i+1) - 1 keys; likewise */
	uint64_t fragmentation_permille; /* 1000 * (1 - largest / free) */
	uint64_t sampled;		 /* 0, or the number of leaves it was estimated from */
};

/* Fills *stats without reading every leaf: reads at most max_leaves leaves (0: all), evenly spread,
 * for the histogram. `largest` and `largest_order` are exact if no other thread writes. 0 | -EINVAL
 * (limits, or an index made without LATH_HOLES) */
LATH_API int lath_index_hole_stats(struct lath_index *index, uint64_t low, uint64_t high,
				   uint64_t max_leaves, struct lath_hole_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_HOLE_H */
