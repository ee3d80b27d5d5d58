/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * alloc.c - the calls of lathwork/space.h that allocate, and how small requests are served.
 *
 * A small request, at a small alignment, tries in this order: a block from a slot's magazine; bits
 * of an arena whose grade suffices; a new arena; a hole of the index. All other requests go to
 * large.c. The segments are tried in the order of their numbers or of their free keys, first their
 * parts below config.below, then the rest.
 */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Continues alloc_in_part() where the arenas have no room. *count has the charge, which is returned
 * with an error. 0 | -ENOSPC | -ENOMEM. No lock held. */
static noinline int alloc_growing(struct lath_space *space, struct arena_set *set,
				  const struct small_request *want, u64 *count, u64 *key)
{
	struct lath_hole_request hole = { .size = want->n << space->unit_shift,
					  .align = want->align << space->unit_shift,
					  .policy = small_policy(space) };
	int ret = -ENOSPC;

	/* the bounds may be read, and arenas opened, only while the charge holds */
	while (!set->empty && lath_segment_confirm(set->segment)) {
		if (lath_set_alloc_small(space, set, slot_of(space), want, key))
			return 0;
		hole.low = set->low;
		hole.high = set->high;
		/* before another arena is opened: the places that cross words of a dense one */
		if (space->config.flags & LATH_SPACE_FILL &&
		    lath_set_alloc_anywhere(space, set->segment, &hole, want->cookie, true, key))
			return 0;
		/* something has become free in an arena: search again */
		if (lath_set_grow(space, set, 0) || lath_magazines_flush(space))
			continue;
		/* no aligned block is left for an arena, but perhaps a hole between them */
		ret = lath_index_alloc(space, &hole, want->cookie, key);
		break;
	}
	if (ret)
		lath_segment_uncharge(set->segment, count, hole.size);
	return ret;
}

/* Serves a small request from a part of a segment: charges it, then takes from the arenas. 0 |
 * -ENOSPC | -ENOMEM. No lock held. */
static __always_inline int alloc_in_part(struct lath_space *space, struct arena_set *set,
					 const struct small_request *want, u64 *key)
{
	u64 *count = segment_charge(set->segment, want->n << space->unit_shift);

	if (unlikely(!count)) /* not in use, draining, or at its limit */
		return -ENOSPC;
	if (likely(lath_set_alloc_small(space, set, slot_of(space), want, key)))
		return 0;
	return alloc_growing(space, set, want, count, key);
}

/* Tries every segment in `segments`. Part 0 is tried only of those that are also in `first`: the
 * caller has tried the others. 0 | -ENOSPC | -ENOMEM. No lock held. */
static noinline int alloc_in_parts(struct lath_space *space, u64 first, u64 segments,
				   const struct small_request *want, u64 *key)
{
	/* without config.below all keys are in part 0 */
	unsigned int part, parts = space->config.below ? PARTS : 1;
	struct segment *segment;
	int ret = -ENOSPC;
	u64 left;

	LATH_ASSERT(!(first & ~segments));
	/* all parts below config.below come first, of whatever segment */
	for (part = 0; part < parts; part++)
		for (left = part ? segments : first;
		     ret == -ENOSPC && (segment = segment_choose(space, &left));)
			ret = alloc_in_part(space, &segment->set[part], want, key);
	return ret;
}

/* Serves a request that no magazine has served: a small one from arenas, what they have no room for
 * and all others by lath_alloc_large(). 0 | -ENOSPC | -ENOMEM. No lock held. */
static int alloc_uncached(struct lath_space *space, u64 segments, u64 size, u64 align, u64 cookie,
			  u64 *key)
{
	u64 n = units_of(space, size), units = max(units_of(space, align), 1ull), at = units;
	bool small = has_arenas(space) && n <= ARENA_MOST && units <= ARENA_MOST;
	u64 left = segments;
	struct small_request want;
	int ret = -ENOSPC;

	align = max(align, space->config.unit);
	if (unlikely(!small))
		return lath_alloc_large(space, segments, size, align, cookie, false, false, key);
	/* at its natural alignment, which grades tell of; dense arenas as the call says */
	if (!(space->config.flags & LATH_SPACE_FILL))
		at = max(units, 1ull << log2_up(n));
	small_request_init(space, n, at, cookie, &want);
	/* most spaces have one segment: its first part, without a choice */
	if (likely(left & 1 && !(space->config.flags & LATH_SPACE_SPREAD))) {
		ret = alloc_in_part(space, &space->first.set[0], &want, key);
		left &= ~1ull;
	}
	if (unlikely(ret == -ENOSPC))
		ret = alloc_in_parts(space, left, segments, &want, key);
	if (likely(ret != -ENOSPC))
		return ret;
	/* refused by grades; alloc_growing() ended with the same request to the index, which need
	 * not be repeated, unless it was cut at config.below or aligned more than the call says */
	return lath_alloc_large(space, segments, size, align, cookie, true,
				units == at && !space->config.below, key);
}

/* Serves a request from a magazine. Returns whether it did. No lock held. */
static inline bool alloc_cached(struct lath_space *space, u64 size, u64 align, u64 *key)
{
	unsigned int order = magazine_order(space, units_of(space, size));

	/* blocks in magazines are naturally aligned, and no more than that */
	return order < ORDERS && align <= size && lath_magazine_alloc(space, order, key);
}

/* lath_space_alloc_in() wherever its shortcut does not do. */
static noinline int alloc_in(struct lath_space *space, u64 segments, u64 size, u64 align,
			     u64 cookie, u64 *key)
{
	int ret = 0;

	if (!whole_units(space, 0, size) || align & (align - 1) || cookie == arena_mark(space))
		return -EINVAL;
	lath_call_enter();
	/* magazines hold blocks of the first segment; what they cannot serve goes on */
	if (!(segments & 1) || !alloc_cached(space, size, align, key))
		ret = alloc_uncached(space, segments, size, align, cookie, key);
	lath_call_exit();
	LATH_ASSERT(ret || (whole_units(space, *key, size) && !(align && *key & (align - 1))));
	return ret;
}

/* Takes the newest block of the thread's magazine, if there is one, and nobody has it locked. */
int lath_space_alloc_in(struct lath_space *space, uint64_t segments, uint64_t size, uint64_t align,
			uint64_t cookie, uint64_t *key)
{
	unsigned int order = ORDERS;
	struct slot *slot;

	if (likely(whole_units(space, 0, size)))
		order = magazine_order(space, units_of(space, size));
	if (unlikely(order >= ORDERS || align & (align - 1) || align > size ||
		     cookie == arena_mark(space) || !(segments & 1) || !lath_call_try_enter()))
		return alloc_in(space, segments, size, align, cookie, key);
	slot = slot_trylock(space);
	if (likely(slot)) {
		bool some = slot->count[order];

		if (likely(some))
			*key = magazine_pop(space, slot, order);
		lath_spin_unlock(&slot->lock);
		if (likely(some)) {
			lath_call_exit();
			return 0;
		}
	}
	lath_call_exit();
	return alloc_in(space, segments, size, align, cookie, key);
}

int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align, uint64_t cookie,
		     uint64_t *key)
{
	return lath_space_alloc_in(space, ~0ull, size, align, cookie, key);
}

/* Returns the segments all of whose keys lie below `high`, a bit each; *more: others have some keys
 * there. A hint: other calls may change the segments. */
static u64 segments_below(const struct lath_space *space, u64 high, bool *more)
{
	const struct segment *segment;
	u64 low, last, below = 0;

	*more = false;
	for (segment = &space->first; segment; segment = segment_next(segment)) {
		if (!lath_segment_bounds(segment, &low, &last))
			continue;
		if (last <= high - 1)
			below |= 1ull << segment->number;
		else if (low <= high - 1)
			*more = true;
	}
	return below;
}

/* Serves a request below `high` as one without that limit, if the segments allow for it. Returns
 * whether *ret is the result. No lock held. */
static bool alloc_unlimited(struct lath_space *space, u64 high, u64 size, u64 align, u64 cookie,
			    u64 *key, int *ret)
{
	u64 low, last, segments;
	bool more = true;

	*ret = -ENOSPC;
	if (lath_segment_bounds(&space->first, &low, &last) && last <= high - 1 &&
	    alloc_cached(space, size, align, key)) {
		*ret = 0;
	} else {
		segments = segments_below(space, high, &more);
		if (!more)
			*ret = alloc_uncached(space, segments, size, align, cookie, key);
	}
	if (*ret)
		return !more;
	/* a segment may have been removed, and added elsewhere, since the look */
	if (lies_within(*key, size, 0, high))
		return true;
	lath_free_range(space, *key, size);
	return false;
}

int lath_space_alloc_below(struct lath_space *space, uint64_t high, uint64_t size, uint64_t align,
			   uint64_t cookie, uint64_t *key)
{
	int ret;

	if (!whole_units(space, high, size) || align & (align - 1) || cookie == arena_mark(space))
		return -EINVAL;
	lath_call_enter();
	if (!alloc_unlimited(space, high, size, align, cookie, key, &ret)) {
		struct lath_hole_request want = { .size = size,
						  .align = max((u64)align, space->config.unit),
						  .high = high,
						  .below = space->config.below };
		bool small = has_arenas(space) &&
			     units_of(space, max(want.size, want.align)) <= ARENA_MOST;

		want.policy = small ? small_policy(space) : LATH_HOLE_FIRST;
		ret = lath_alloc_request(space, &want, small, cookie, key);
	}
	lath_call_exit();
	LATH_ASSERT(ret || lies_within(*key, size, 0, high));
	return ret;
}

int lath_space_alloc_request(struct lath_space *space, const struct lath_hole_request *want,
			     uint64_t cookie, uint64_t *key)
{
	struct lath_hole_request request = *want;
	int ret;

	request.align = max((u64)want->align, space->config.unit);
	if (!whole_units(space, want->low | want->high, want->size) ||
	    want->align & (want->align - 1) || want->low > want->high - 1 ||
	    (unsigned int)want->policy > LATH_HOLE_EXACT || cookie == arena_mark(space))
		return -EINVAL;
	/* an exact place that is not aligned, or not within the limits, is a mistake, not taken */
	if (want->policy == LATH_HOLE_EXACT &&
	    (want->hint & (request.align - 1) ||
	     !lies_within(want->hint, want->size, want->low, want->high)))
		return -EINVAL;
	lath_call_enter();
	ret = lath_alloc_request(space, &request, false, cookie, key);
	lath_call_exit();
	LATH_ASSERT(ret || lies_within(*key, want->size, want->low, want->high));
	return ret;
}
