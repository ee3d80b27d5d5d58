/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* segment.h - a segment: its bounds, its limit, the count of its used keys (space.h: charges). */
#ifndef LATH_SPACE_SEGMENT_H
#define LATH_SPACE_SEGMENT_H

#include "space/space.h"

/* Sets the segment's number and that of its sets; it is not in use yet. any: LATH_ANY_CONTEXT. The
 * caller excludes all other calls that could find it. */
void lath_segment_init(struct segment *segment, unsigned int number, bool any);
/* Gives a segment that is not in use its bounds and takes it into use. The caller holds the lock of
 * the space, or excludes all other calls. */
void lath_segment_open(struct lath_space *space, struct segment *segment, u64 low, u64 high,
		       u64 limit);
/* Sets *low and *last to its bounds. Returns false if it is not in use, or changes. */
bool lath_segment_bounds(const struct segment *segment, u64 *low, u64 *last);

/* Returns the segment with the next number, or NULL. */
static inline struct segment *segment_next(const struct segment *segment)
{
	struct segment *next = smp_load_acquire(&segment->next); /* pairs with add_locked */

	LATH_ASSERT(!next || next->number == segment->number + 1);
	return next;
}

/* Returns the segment of this number if it is in use, or NULL. */
struct segment *lath_segment_number(struct lath_space *space, unsigned int number);
/* Returns the segment in use that contains key, or NULL. A thread that holds a charge of that
 * segment always gets it. */
struct segment *lath_segment_of(struct lath_space *space, u64 key);
/* Sets [*low, *last] to the bounds of the first segment, by key, that does not end before key.
 * Returns whether there is one. */
bool lath_segment_after(struct lath_space *space, u64 key, u64 *low, u64 *last);

/* ---- choice ---- */

/* Returns the segment with the most free keys of those whose bits are set and that have a free run
 * of `run` keys; 0: of any size. NULL: there is none. No lock held. */
struct segment *lath_segment_roomiest(struct lath_space *space, u64 segments, u64 run);

/* Returns the segment to try next of those whose bits are set, and clears its bit; NULL: none is
 * left. In the order of numbers, or (LATH_SPACE_SPREAD) of free keys, most first. No lock held. */
static inline struct segment *segment_choose(struct lath_space *space, u64 *segments)
{
	struct segment *segment = &space->first;

	if (unlikely(space->config.flags & LATH_SPACE_SPREAD))
		segment = lath_segment_roomiest(space, *segments, 0);
	else
		while (segment && !(*segments >> segment->number & 1))
			segment = segment_next(segment);
	if (segment)
		*segments &= ~(1ull << segment->number);
	return segment;
}

/* ---- used keys ---- */

/* Adds n to the used keys, where the thread counts. Returns that place. */
static __always_inline u64 *segment_count(struct segment *segment, u64 n)
{
	struct lath_count *stripe =
		smp_load_acquire(&segment->stripes); /* pairs with lath_segment_stripes_make */

	if (likely(stripe)) {
		stripe += lath_stripe() % STRIPES;
		/* its owner needs no atomic operation; other threads use the shared count */
		if (likely(lath_count_mine(stripe))) {
			lath_count_add(stripe, n);
			return &stripe->sum;
		}
	}
	lath_fetch_add_release(&segment->used, n); /* pairs with lath_segment_used */
	return &segment->used;
}

/* Makes the segment's stripes if it has none and there is memory: without them it goes on counting
 * in one place. No lock held. */
void lath_segment_stripes_make(struct lath_space *space, struct segment *segment);
/* Subtracts size where segment_count() added it. */
void lath_segment_uncharge(struct segment *segment, u64 *count, u64 size);
/* Adds size unless the sum would exceed the limit. Only one thread does at a time, and the sum is
 * at most too high, so the limit is kept. Returns as segment_charge(). No segment's lock held. */
u64 *lath_segment_charge_limited(struct segment *segment, u64 limit, u64 size);

/* Adds size to the used keys. Returns the count for lath_segment_uncharge(), or NULL if the segment
 * may not take them: not in use, draining, or above its limit. No segment's lock held. */
static __always_inline u64 *segment_charge(struct segment *segment, u64 size)
{
	u64 limit = READ_ONCE(segment->limit);
	u64 *at = likely(!limit) ? segment_count(segment, size)
				 : lath_segment_charge_limited(segment, limit, size);

	LATH_ASSERT(size);
	/* charged first, looked second: a thread that removes the segment does the opposite */
	if (likely(smp_load_acquire(&segment->draining) == /* pairs with lath_segment_open */
		   NOT_DRAINING))
		return at;
	if (at)
		lath_segment_uncharge(segment, at, size);
	return NULL;
}

/* Behind a charge: returns whether it holds. */
bool lath_segment_confirm(const struct segment *segment);
/* Returns the number of used keys: exact if no call is in progress, else off by what these charge
 * and free. */
u64 lath_segment_used(const struct segment *segment);
/* Returns about how many more keys the segment may take. */
u64 lath_segment_room(const struct segment *segment);

#endif /* LATH_SPACE_SEGMENT_H */
