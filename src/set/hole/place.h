/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * place.h - the search for a hole: places in one free run, and the policies.
 *
 * A search supplies a function that visits the free runs of a span: the search of an index
 * (search.c), and that of a block of entries (set/small/hole.c).
 */
#ifndef LATH_INDEX_PLACE_H
#define LATH_INDEX_PLACE_H

#include "lathwork/hole.h"
#include "sys/sys.h"

struct tree;

struct search {
	struct tree *tree; /* of an index */
	u64 size;
	u64 align; /* mask */
	u64 low;   /* the hole lies in [low, last] */
	u64 last;
	unsigned int
		slot; /* the column of its alignment, and what a code there has to be at least */
	unsigned int need;
	u64 at;	  /* upwards: the first key of the present run; downwards: its last */
	u64 from; /* upwards: no place begins below this key */
	bool best;
	u64 found;
	u64 found_room; /* LATH_HOLE_BEST: last - first of the run that `found` is in */
	bool some;	/* LATH_HOLE_BEST: found is set */
	u64 nodes;	/* looked at */
	u64 corrected;	/* changes in flight that were this search's own */
};

/* Check a request and prepare the search of it: 0 | -EINVAL */
static inline int hole_begin(struct search *s, const struct lath_hole_request *want)
{
	u64 align = want->align ? want->align : 1;

	if (!want->size || align & (align - 1) || (want->high && want->low >= want->high))
		return -EINVAL;
	*s = (struct search){ .size = want->size, .align = align - 1 };
	if (want->policy == LATH_HOLE_EXACT &&
	    (want->hint & s->align || want->hint < want->low || want->hint > want->high - 1 ||
	     want->high - 1 - want->hint < want->size - 1))
		return -EINVAL;
	return (unsigned int)want->policy <= LATH_HOLE_EXACT ? 0 : -EINVAL;
}

/* Find the first place in the free run [first, last], or the last one. Returns false if there is
 * none. */
static __always_inline bool fit(const struct search *s, u64 first, u64 last, bool up, u64 *key)
{
	u64 at;

	/* The run is cut at one limit only: at the other one the search begins. */
	first = up ? first : max(first, s->low);
	last = up ? min(last, s->last) : last;
	if (last < first || last - first < s->size - 1)
		return false;
	if (up) {
		at = (first + s->align) & ~s->align;
		if (at < first || at > last || last - at < s->size - 1)
			return false;
	} else {
		at = (last - (s->size - 1)) & ~s->align;
		if (at < first)
			return false;
	}
	*key = at;
	return true;
}

/* Test the free run [first, last]. Returns true if it ends the search. */
static __always_inline bool take_run(struct search *s, u64 first, u64 last, bool up)
{
	u64 key, room = min(last, s->last) - first;

	if (!fit(s, first, last, up, &key))
		return false;
	LATH_ASSERT(key >= s->low && key + (s->size - 1) <= s->last);
	if (!s->best) {
		s->found = key;
		return true;
	}
	if (!s->some || room < s->found_room) {
		s->found = key;
		s->found_room = room;
		s->some = true;
	}
	return room == s->size - 1;
}

/* ---- policies ---- */

/* Searches the free runs of [low, last] upwards or downwards, from whichever side it begins.
 * Returns true if s->found is a place. */
typedef bool (*hole_span_fn)(struct search *s, u64 low, u64 last, bool up);
/* Finds the shortest free run of [low, last] with a place. */
typedef bool (*hole_best_fn)(struct search *s, const struct lath_hole_request *want, u64 low,
			     u64 last);

/* Find the nearest of the first place above the hint and the last one below it. */
static __always_inline bool hole_near(struct search *s, u64 low, u64 last, u64 hint,
				      hole_span_fn span)
{
	bool above = span(s, max(low, hint), last, true), below;
	u64 up = s->found, reach = hint > ~0ull - (s->size - 1) ? ~0ull : hint + (s->size - 1);

	below = span(s, low, min(last, reach), false);
	if (above && (!below || up - hint < hint - s->found))
		s->found = up;
	return above || below;
}

/* Search [low, last] once, by the policy. */
static __always_inline bool hole_within(struct search *s, const struct lath_hole_request *want,
					u64 low, u64 last, hole_span_fn span, hole_best_fn best)
{
	switch (want->policy) {
	case LATH_HOLE_LAST:
		return span(s, low, last, false);
	case LATH_HOLE_NEXT:
		return (want->hint > low && span(s, want->hint, last, true)) ||
		       span(s, low, last, true);
	case LATH_HOLE_NEAR:
		return hole_near(s, low, last, want->hint, span);
	case LATH_HOLE_EXACT:
		return span(s, want->hint, want->hint + (s->size - 1), true);
	case LATH_HOLE_BEST:
		return best(s, want, low, last);
	default:
		return span(s, low, last, true);
	}
}

/* Search what the request allows; first what is below `want->below`. The callers name functions, so
 * the calls are direct ones. Returns true if s->found is a place. */
static __always_inline bool hole_search(struct search *s, const struct lath_hole_request *want,
					hole_span_fn span, hole_best_fn best)
{
	u64 last = want->high - 1; /* high 0 is 2^64 */

	if (want->below && want->below - 1 < last && want->below > want->low &&
	    want->policy != LATH_HOLE_EXACT &&
	    hole_within(s, want, want->low, want->below - 1, span, best))
		return true;
	return hole_within(s, want, want->low, last, span, best);
}

/* ---- figures ---- */

/* Add the free run [first, last] to the sums. 2^64 keys are 0, and in the last column. */
static inline void hole_add_run(struct lath_hole_stats *stats, u64 first, u64 last)
{
	u64 size = last - first + 1;

	LATH_ASSERT(last >= first);
	stats->free += size;
	stats->holes++;
	stats->histogram[size ? fls64(size) - 1 : 63]++;
}

/* Returns 1000 * (1 - largest / free). */
static inline u64 hole_fragmentation(const struct lath_hole_stats *stats)
{
	/* 1000 has ten bits: the product must not wrap */
	unsigned int shift = stats->free >> 54 ? 10 : 0;

	if (stats->free <= stats->largest)
		return 0;
	return 1000 - (stats->largest >> shift) * 1000 / (stats->free >> shift);
}

#endif /* LATH_INDEX_PLACE_H */
