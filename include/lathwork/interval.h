/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/interval.h - intervals that may overlap: which of them cover a point, or meet a range.
 *
 * An interval is a pair of 64-bit keys with a 64-bit value: a number, or a pointer. Any number of
 * them may overlap, begin at the same key, or be equal, with equal or different values. The set is
 * a few trees like those of lathwork/index.h, one per class of lengths: intervals of a class differ
 * in length by a factor of 32 at most. A stab looks in each class at the first keys that are so
 * near to the point that an interval of this class can reach it.
 *
 *     struct lath_intervals set;
 *     struct lath_interval item = { 4096, 12288, 7 }, found[16];   // [4096, 12288) -> 7
 *
 *     lath_intervals_init(&set, LATH_HALF_OPEN, NULL);
 *     lath_intervals_insert(&set, &item);
 *     for (size_t i = 0, n = lath_intervals_stab(&set, 5000, found, 16); i < n; i++)
 *             printf("[%llu, %llu) -> %llu\n", ...);
 *     lath_intervals_fini(&set, NULL, NULL);
 *
 * Bounds. Said once, at init: with LATH_HALF_OPEN an interval is [first, end), and an end of 0 is
 * 2^64; with LATH_CLOSED it is [first, end]. Ranges in requests are of the same kind. Empty ones
 * are invalid: insert and erase refuse them, a search finds nothing.
 *
 * Threads. All calls but init, fini and verify may run concurrently. Calls enter an RCU read-side
 * critical section of the set's flavour by themselves. No call may be made in a signal handler
 * (lathwork/config.h, T1 to T6). Guarantees:
 *   V1  Insert and a successful erase are linearizable. An erase finds an interval that is there
 *       during the whole call.
 *   V2  A search, an iteration and count find every interval that is there during the whole call
 *       and matches, and none that is absent during the whole call, each one time per insert.
 *       Between the trees and leaves that they look at, other threads may write.
 *   V3  A failed call changes nothing. Searches and erase allocate nothing.
 *   V4  Progress and order as P4 and P5 of lathwork/index.h; calls that change intervals that
 *       begin at the same key and have similar lengths may wait for each other's lock.
 *
 * Ownership. A value that is a pointer may be found by a search that began before its erase: free
 * the object after a grace period (lath_rcu_auto.call), and look at it in a section.
 *
 * Order. A search returns intervals class by class, in each by their first keys.
 *
 * Cost. 31 bytes per interval after random inserts. A search takes a lookup in each class in use, 2
 * or 3 of them large with most distributions of lengths, and looks at all intervals that begin at
 * most the longest length of their class before the request, whether they reach it or not. Lengths
 * in a class differ by a factor of up to 32, so these are as many as match, or some times that;
 * where many end just before the request, all of those too (5 ns each). nearest looks at them, or
 * at those before the last one that begins before the point, if none covers it. Of intervals with
 * one first key and one class of lengths, the first two are in trees, the others in a list: an
 * erase in it takes time in proportion to its length, and a search that comes to it looks at all of
 * it.
 */
#ifndef LATHWORK_INTERVAL_H
#define LATHWORK_INTERVAL_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words of struct lath_intervals; locks are larger in a kernel with lockdep. */
#define LATH_INTERVALS_WORDS (128 + LATH_INDEX_WORDS / 2)

enum lath_bounds {
	LATH_HALF_OPEN = 0, /* [first, end) */
	LATH_CLOSED,	    /* [first, end] */
};

struct lath_interval {
	uint64_t first;
	uint64_t end; /* behind the last key, or the last key */
	uint64_t value;
};

/* Opaque; to be embedded. Aligned to 64 bytes. It must not be moved between init and fini. */
struct lath_intervals {
	uint64_t opaque[LATH_INTERVALS_WORDS];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

typedef void (*lath_interval_fn)(void *arg, const struct lath_interval *interval);

/* Make an empty set. config may be NULL; its layout is LATH_RANGES, and of its flags
 * LATH_HUGE_PAGES, LATH_SMALL_PAGES, LATH_NODE_EACH and LATH_RANKS have their meaning for each
 * tree. 0 | -EINVAL | -ENOMEM */
LATH_API int lath_intervals_init(struct lath_intervals *set, enum lath_bounds bounds,
				 const struct lath_config *config);
/* End the set and free its memory. each, if not NULL, is called for every interval that is still
 * there. Waits for grace periods: not in a section. Excludes all other calls. */
LATH_API void lath_intervals_fini(struct lath_intervals *set, lath_interval_fn each, void *arg);

/* Insert an interval: 0 | -EINVAL (empty) | -ENOMEM. One that is equal to another is one more. */
LATH_API int lath_intervals_insert(struct lath_intervals *set,
				   const struct lath_interval *interval);
/* Erase one interval with these bounds and this value: 0 | -ENOENT. Never allocates. */
LATH_API int lath_intervals_erase(struct lath_intervals *set, const struct lath_interval *interval);

/* Returns how many intervals have a key in common with the range. Looks at each of them, or with
 * LATH_RANKS at those alone that begin before it by at least the shortest and at most the longest
 * length of their class; changes outdate counts as in lathwork/index.h. */
LATH_API uint64_t lath_intervals_count_overlap(struct lath_intervals *set, uint64_t first,
					       uint64_t end);
/* Find an interval that covers point, or else one of those nearest to it; of one before and one
 * behind at the same distance, the one before. 0 | -ENOENT: the set is empty. With concurrent
 * changes: none that is there during the whole call is nearer. */
LATH_API int lath_intervals_nearest(struct lath_intervals *set, uint64_t point,
				    struct lath_interval *found);
/* Returns the number of intervals; reads every leaf, or with LATH_RANKS what has changed. */
LATH_API uint64_t lath_intervals_count(struct lath_intervals *set);

/* A search whose result may be of any length. It holds no resources and needs no end; it must not
 * be used after the set's fini. One thread at a time uses it. Between steps other threads may
 * write; it copies up to 16 intervals ahead and shows these as they were then. */
struct lath_interval_iter {
	struct lath_intervals *set;
	uint64_t first_low, first_high; /* the first key is in this range, and the last key in */
	uint64_t last_low, last_high;	/* this one */
	uint64_t from, order;		/* where it goes on */
	uint32_t place;
	uint32_t at, copied;
	struct lath_interval ahead[16];
};

LATH_API void lath_interval_iter_stab(struct lath_interval_iter *iter, struct lath_intervals *set,
				      uint64_t point);
LATH_API void lath_interval_iter_overlap(struct lath_interval_iter *iter,
					 struct lath_intervals *set, uint64_t first, uint64_t end);
LATH_API void lath_interval_iter_within(struct lath_interval_iter *iter, struct lath_intervals *set,
					uint64_t first, uint64_t end);
LATH_API void lath_interval_iter_all(struct lath_interval_iter *iter, struct lath_intervals *set);
/* The next interval: 1 (*interval is set) | 0: no more */
LATH_API int lath_interval_next(struct lath_interval_iter *iter, struct lath_interval *interval);
/* The next intervals, at most max. Returns their number; less than max: there are no more. */
LATH_API size_t lath_interval_next_batch(struct lath_interval_iter *iter,
					 struct lath_interval *found, size_t max);

/* Copy at most max intervals that cover point / that have a key in common with the range from first
 * to end / that lie within it. Return the number copied. If it is max there may be more: use an
 * iterator. */
static inline size_t lath_intervals_stab(struct lath_intervals *set, uint64_t point,
					 struct lath_interval *found, size_t max)
{
	struct lath_interval_iter iter;

	lath_interval_iter_stab(&iter, set, point);
	return lath_interval_next_batch(&iter, found, max);
}

static inline size_t lath_intervals_overlap(struct lath_intervals *set, uint64_t first,
					    uint64_t end, struct lath_interval *found, size_t max)
{
	struct lath_interval_iter iter;

	lath_interval_iter_overlap(&iter, set, first, end);
	return lath_interval_next_batch(&iter, found, max);
}

static inline size_t lath_intervals_within(struct lath_intervals *set, uint64_t first, uint64_t end,
					   struct lath_interval *found, size_t max)
{
	struct lath_interval_iter iter;

	lath_interval_iter_within(&iter, set, first, end);
	return lath_interval_next_batch(&iter, found, max);
}

/* Erases every interval, one by one: beside other calls those that come or go meanwhile may
 * stay. each, if not NULL, is called for every one after it left the set. Returns their number.
 * Takes as many erases. */
static inline uint64_t lath_intervals_clear(struct lath_intervals *set, lath_interval_fn each,
					    void *arg)
{
	struct lath_interval_iter iter;
	struct lath_interval interval;
	uint64_t n = 0;

	lath_interval_iter_all(&iter, set);
	while (lath_interval_next(&iter, &interval)) {
		if (lath_intervals_erase(set, &interval))
			continue; /* another thread has */
		n++;
		if (each)
			each(arg, &interval);
	}
	return n;
}

struct lath_intervals_stats {
	uint64_t items;
	uint64_t bytes;	  /* all memory obtained, and the struct */
	uint64_t classes; /* of lengths, that have been used */
	uint64_t trees;
	uint64_t lists;	 /* of intervals that begin at one key */
	uint64_t listed; /* intervals in these */
};

LATH_API void lath_intervals_get_stats(struct lath_intervals *set,
				       struct lath_intervals_stats *stats);
/* Returns 0, or the number of the first invariant found broken, with a sentence in report
 * (report_size bytes, may be NULL): 1 to 10 are those of a tree (lathwork/index.h), 21: an interval
 * is in the wrong class or longer than its class knows, 22: a list is damaged. Concurrently with
 * searches only. */
LATH_API int lath_intervals_verify(struct lath_intervals *set, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_INTERVAL_H */
