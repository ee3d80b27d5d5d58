/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * packed.c - the search for a hole among a few ranges: what lathwork/hole.h does in an index.
 */
#include <errno.h>

#include "pool.h"

/* Places for a request in one hole: the lowest and the highest. */
struct places {
	uint64_t low, high;
};

/* The aligned places for the request in [first, last], within its limits. */
static bool places_in(uint64_t first, uint64_t last, const struct lath_hole_request *want,
		      struct places *places)
{
	uint64_t mask = (want->align ? want->align : 1) - 1;

	if (first < want->low)
		first = want->low;
	if (last > want->high - 1) /* high 0 is 2^64 */
		last = want->high - 1;
	if (first > last || last - first < want->size - 1)
		return false;
	places->low = (first + mask) & ~mask;
	places->high = (last - (want->size - 1)) & ~mask;
	return places->low >= first && places->low <= places->high;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The place nearest to the hint. */
static uint64_t nearest(const struct places *places, const struct lath_hole_request *want)
{
	uint64_t align = want->align ? want->align : 1, below = want->hint & ~(align - 1);

	if (want->hint <= places->low)
		return places->low;
	if (want->hint >= places->high)
		return places->high;
	return want->hint - below <= align - (want->hint - below) ? below : below + align;
}

struct best {
	bool found;
	uint64_t place, cost; /* the lowest cost wins, and of equal ones the first */
};

static void offer(struct best *best, uint64_t place, uint64_t cost)
{
	if (best->found && best->cost <= cost)
		return;
	*best = (struct best){ true, place, cost };
}

/* Looks at the hole [first, last]. */
static void consider(struct best *best, uint64_t first, uint64_t last,
		     const struct lath_hole_request *want)
{
	uint64_t mask = (want->align ? want->align : 1) - 1, place;
	struct places places;

	if (!places_in(first, last, want, &places))
		return;
	switch (want->policy) {
	case LATH_HOLE_FIRST:
		offer(best, places.low, 0);
		return;
	case LATH_HOLE_LAST:
		offer(best, places.high, ~places.high);
		return;
	case LATH_HOLE_BEST:
		offer(best, places.low, last - first);
		return;
	case LATH_HOLE_NEXT:
		place = (want->hint + mask) & ~mask;
		if (place >= want->hint && place <= places.high)
			offer(best, place > places.low ? place : places.low, 0);
		else
			offer(best, places.low, 1);
		return;
	case LATH_HOLE_NEAR:
		place = nearest(&places, want);
		offer(best, place, distance(place, want->hint));
		return;
	case LATH_HOLE_EXACT:
		if (want->hint >= places.low && want->hint <= places.high)
			offer(best, want->hint, 0);
		return;
	}
}

static bool valid(const struct lath_hole_request *want)
{
	uint64_t mask = (want->align ? want->align : 1) - 1;

	if (!want->size || (want->align && want->align & mask) || want->low > want->high - 1)
		return false;
	return want->policy != LATH_HOLE_EXACT ||
	       (!(want->hint & mask) && want->hint >= want->low && want->hint <= want->high - 1 &&
		want->high - 1 - want->hint >= want->size - 1);
}

int packed_place(const struct lath_item *items, size_t n, const struct lath_hole_request *want,
		 uint64_t *first)
{
	struct best best = { 0 };
	uint64_t from = 0;
	size_t i;

	if (!valid(want))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		LATH_ASSERT(i ? from && items[i].key >= from : !from); /* in order, disjoint */
		if (items[i].key > from)
			consider(&best, from, items[i].key - 1, want);
		from = items[i].key + items[i].size;
	}
	if (!n || from)
		consider(&best, from, UINT64_MAX, want);
	*first = best.place;
	return best.found ? 0 : -ENOSPC;
}
