/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * large.c - requests that go to the index: first to its holes; then, under pressure, once more to
 * them and to any place in arenas.
 */
#include "space/segment.h"
#include "space/source/set.h"

/* A request for an allocation. The caller allows keys from want.low to want.high - 1. */
struct large_request {
	struct lath_space *space;
	struct lath_hole_request want;
	u64 segments; /* bit i: it may be in segment i */
	u64 cookie;
	bool refused; /* alloc_in_part() has refused it: no arena's grade suffices */
	bool small;   /* arenas come first */
};

enum source {
	IN_INDEX = 1,
	IN_ARENAS = 2,
	IN_MORE_ARENAS = 4, /* opened for it */
};

/* ---- choice of the segment ---- */

/* A segment that served this many requests may have a successor that is worth a search. */
#define ENOUGH 4

/* Returns the segment to try next of those whose bits are set, and clears its bit; NULL: none is
 * left. With LATH_SPACE_FILL the segment that served the last large request is tried first. If it
 * had served more than a few, one with a free run for four such requests follows, or for two. Then
 * those with more free keys do. `tried` is the number of segments tried so far. No lock held. */
static struct segment *choose_large(const struct large_request *r, u64 *segments,
				    unsigned int tried)
{
	struct lath_space *space = r->space;
	unsigned int filling = READ_ONCE(space->filling);
	u64 size = r->want.size;
	struct segment *segment = NULL;

	if (!(space->config.flags & LATH_SPACE_FILL))
		return segment_choose(space, segments);
	LATH_ASSERT(filling < LATH_SPACE_SEGMENTS && READ_ONCE(space->filled) <= ENOUGH);
	/* 1: the one that is being filled, if it may be used and has not been tried */
	if (*segments >> filling & 1)
		segment = lath_segment_roomiest(space, 1ull << filling, 0);
	/* 2: that one is full; the search for runs pays if it served several requests */
	if (!segment && tried <= 1 && READ_ONCE(space->filled) == ENOUGH && size <= KEY_MAX / 4) {
		segment = lath_segment_roomiest(space, *segments, 4 * size);
		if (!segment)
			segment = lath_segment_roomiest(space, *segments, 2 * size);
	}
	/* 3: any other, roomiest first */
	if (!segment)
		segment = lath_segment_roomiest(space, *segments, 0);
	*segments &= segment ? ~(1ull << segment->number) : 0;
	return segment;
}

/* Notes that the segment has served a large request. Concurrent calls may lose a count: a hint. */
static void note_filling(struct lath_space *space, const struct segment *segment)
{
	u8 filled = READ_ONCE(space->filled);

	/* the fields are shared: stores only where they change something */
	if (!(space->config.flags & LATH_SPACE_FILL))
		return;
	if (READ_ONCE(space->filling) != segment->number) {
		WRITE_ONCE(space->filling, (u8)segment->number);
		WRITE_ONCE(space->filled, 0);
	} else if (filled < ENOUGH) {
		WRITE_ONCE(space->filled, (u8)(filled + 1));
	}
}

/* ---- from the sources ---- */

/* Cuts the limits of a request to the segment and to keys below `high`. Returns whether the request
 * can be served within them. The charge holds, so that the bounds stay. */
static bool limit_to(struct lath_hole_request *want, const struct segment *segment, u64 high)
{
	want->low = max(want->low, segment->low);
	want->high = min(high - 1, segment->high - 1) + 1;
	want->below = 0; /* what is preferred is the caller's choice of `high` */
	return want->low <= want->high - 1 &&
	       (want->policy != LATH_HOLE_EXACT ||
		lies_within(want->hint, want->size, want->low, want->high));
}

/* Opens one more arena of the segment within the limits of the request. Returns whether it did. The
 * charge is confirmed; no lock held. */
static bool open_arena(struct lath_space *space, struct segment *segment,
		       const struct lath_hole_request *want)
{
	unsigned int k;

	for (k = 0; k < PARTS; k++)
		if (!segment->set[k].empty && lath_set_grow(space, &segment->set[k], want->high))
			return true;
	return false;
}

/* Takes the request, which is charged, from arenas, more: of which it may open some. Returns
 * whether it did. The charge is confirmed; no lock held. */
static bool alloc_in_arenas(const struct large_request *r, struct segment *segment,
			    const struct lath_hole_request *want, bool more, u64 *key)
{
	do {
		if (lath_set_alloc_anywhere(r->space, segment, want, r->cookie, r->refused, key))
			return true;
		/* other threads may be quicker in the new one */
	} while (more && open_arena(r->space, segment, want));
	return false;
}

/* Serves the request from one segment below `high`: from the index, the arenas, or both. 0 |
 * -ENOSPC | -ENOMEM. No lock held. */
static int alloc_in_segment(const struct large_request *r, struct segment *segment, u64 high,
			    unsigned int sources, u64 *key)
{
	struct lath_hole_request want = r->want;
	int ret = -ENOSPC;
	u64 *count;

	/* on first use, so that a segment that is never used has none */
	lath_segment_stripes_make(r->space, segment);
	count = segment_charge(segment, want.size);
	if (!count)
		return ret;
	/* it has begun to drain, and its bounds may change; or it has no keys that are asked for */
	if (!lath_segment_confirm(segment) || !limit_to(&want, segment, high))
		sources = 0;
	/* holes first: arenas stay for small requests as long as there are any */
	if (sources & IN_INDEX)
		ret = lath_index_alloc(r->space, &want, r->cookie, key);
	if (ret == -ENOSPC && sources & (IN_ARENAS | IN_MORE_ARENAS) &&
	    alloc_in_arenas(r, segment, &want, sources & IN_MORE_ARENAS, key))
		ret = 0;
	/* also after -ENOMEM: nothing was taken */
	if (ret)
		lath_segment_uncharge(segment, count, want.size);
	LATH_ASSERT(ret || lies_within(*key, want.size, segment->low, segment->high));
	return ret;
}

/* Tries all segments that the request may use, below want.below first. 0 | -ENOSPC | -ENOMEM. No
 * lock held. */
static int alloc_in_segments(const struct large_request *r, unsigned int sources, u64 *key)
{
	u64 high = r->want.high, below = r->want.below, left;
	bool prefer = below > r->want.low && below - 1 < high - 1;
	struct segment *segment;
	unsigned int tried;
	int ret = -ENOSPC, pass;

	/* pass 0: below want.below; pass 1: up to want.high, whatever lies below included, which
	 * may have become free */
	for (pass = prefer ? 0 : 1; pass < 2; pass++) {
		left = r->segments;
		tried = 0;
		while (ret == -ENOSPC && (segment = choose_large(r, &left, tried++))) {
			ret = alloc_in_segment(r, segment, pass ? high : below, sources, key);
			if (!ret)
				note_filling(r->space, segment);
		}
	}
	return ret;
}

/* Allocates for a request. In turn: a new arena, if it is small; the index, unless `asked`, which
 * says that the index has just refused it; and, once arenas and magazines have given back what they
 * do not need, the index and the arenas again. 0 | -ENOSPC | -EINVAL | -ENOMEM. No lock held. */
static int serve(const struct large_request *r, bool asked, u64 *key)
{
	int ret = r->small ? alloc_in_segments(r, IN_MORE_ARENAS, key) : -ENOSPC;

	if (ret == -ENOSPC && !asked)
		ret = alloc_in_segments(r, IN_INDEX, key);
	/* the index is asked again only if something has gone back to it */
	if (ret == -ENOSPC && has_arenas(r->space))
		ret = alloc_in_segments(
			r, lath_space_reclaim(r->space) ? IN_INDEX | IN_ARENAS : IN_ARENAS, key);
	if (ret == -ENOSPC)
		lath_probe(refusal, r->space, r->want.size);
	return ret;
}

int lath_alloc_large(struct lath_space *space, u64 segments, u64 size, u64 align, u64 cookie,
		     bool refused, bool asked, u64 *key)
{
	const struct large_request r = {
		space,	  { .size = size, .align = align, .below = space->config.below },
		segments, cookie,
		refused,  false
	};

	LATH_ASSERT(whole_units(space, 0, size) && whole_units(space, 0, align));
	return serve(&r, asked, key);
}

int lath_alloc_request(struct lath_space *space, const struct lath_hole_request *want, bool small,
		       u64 cookie, u64 *key)
{
	const struct large_request r = { space, *want, ~0ull, cookie, false, small };

	return serve(&r, false, key);
}
