/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * segment.c - segments: their bounds, limits and counters of used keys.
 *
 * Used keys are counted in stripes once a segment is used: one per thread, without atomic
 * operations, for as many threads as there are stripes. A thread that charges adds first and looks
 * at `draining` then, with an arena locked or behind a full barrier; a thread that removes the
 * segment, whose `draining` was set before, visits the locks of all arenas first and adds up the
 * counts then. So one of the two sees the other. A charge that fails is subtracted where it was
 * added, so the sum is never below what is used.
 */
#include "space/segment.h"

/* ---- bounds ---- */

/* Sets the bounds of a part's set; low == high: it has no keys. */
static void set_open_bounds(struct arena_set *set, u64 low, u64 high)
{
	set->empty = low > high - 1;
	set->low = low;
	set->high = high;
	WRITE_ONCE(set->stuck, 0); /* of the segment's use before, if there was one */
}

void lath_segment_init(struct segment *segment, unsigned int number, bool any)
{
	unsigned int i;

	LATH_ASSERT(number < LATH_SPACE_SEGMENTS);
	segment->number = number;
	segment->draining = REMOVING;
	lath_spin_init_any(&segment->lock, any);
	for (i = 0; i < PARTS; i++) {
		lath_spin_init_any(&segment->set[i].lock, any);
		segment->set[i].number = PARTS * number + i;
		segment->set[i].segment = segment;
	}
}

void lath_segment_open(struct lath_space *space, struct segment *segment, u64 low, u64 high,
		       u64 limit)
{
	u64 below = space->config.below;

	LATH_ASSERT(!(segment->version & 1) && low <= high - 1);
	LATH_ASSERT(!((low | high) & (space->config.unit - 1)));
	LATH_ASSERT(segment->draining == REMOVING);
	smp_wmb(); /* pairs with lath_segment_bounds: the version has changed before the bounds do */
	WRITE_ONCE(segment->low, low);
	WRITE_ONCE(segment->high, high);
	WRITE_ONCE(segment->limit, limit);
	if (!below || below - 1 >= high - 1) { /* all of it is preferred */
		set_open_bounds(&segment->set[0], low, high);
		set_open_bounds(&segment->set[1], 1, 1);
	} else { /* one of the two has no keys if `below` is not above low */
		set_open_bounds(&segment->set[0], min(low, below), below);
		set_open_bounds(&segment->set[1], max(low, below), high);
	}
	/* pairs with lath_segment_bounds */
	smp_store_release(&segment->version, segment->version + 1);
	/* charges last: a thread whose charge holds may read all of the above */
	smp_store_release(&segment->draining, NOT_DRAINING); /* pairs with segment_charge */
}

bool lath_segment_bounds(const struct segment *segment, u64 *low, u64 *last)
{
	u64 version = smp_load_acquire(&segment->version); /* pairs with lath_segment_open */

	*low = READ_ONCE(segment->low);
	*last = READ_ONCE(segment->high) - 1;
	smp_rmb(); /* pairs with lath_segment_open */
	/* even: not in use; changed: the two bounds may be of different uses */
	if (!(version & 1) || READ_ONCE(segment->version) != version)
		return false;
	LATH_ASSERT(*low <= *last);
	return true;
}

struct segment *lath_segment_number(struct lath_space *space, unsigned int number)
{
	struct segment *segment = &space->first;

	/* 64 at most, and most spaces have one: a list is enough */
	while (segment && segment->number != number)
		segment = segment_next(segment);
	/* pairs with lath_segment_open */
	return segment && smp_load_acquire(&segment->version) & 1 ? segment : NULL;
}

struct segment *lath_segment_of(struct lath_space *space, u64 key)
{
	struct segment *segment;
	u64 low, last;

	for (segment = &space->first; segment; segment = segment_next(segment))
		if (lath_segment_bounds(segment, &low, &last) && key >= low && key <= last)
			return segment;
	return NULL;
}

bool lath_segment_after(struct lath_space *space, u64 key, u64 *low, u64 *last)
{
	struct segment *segment;
	u64 first, end;
	bool any = false;

	/* numbers do not ascend by keys: the lowest of all that end at or behind key */
	for (segment = &space->first; segment; segment = segment_next(segment))
		if (lath_segment_bounds(segment, &first, &end) && end >= key &&
		    (!any || first < *low)) {
			*low = first;
			*last = end;
			any = true;
		}
	LATH_ASSERT(!any || *last >= key);
	return any;
}

/* ---- choice ---- */

/* Returns whether the index has a free run of this size, in keys, in the segment, and that does not
 * drain. No lock held. */
static bool segment_has_run(struct lath_space *space, const struct segment *segment, u64 size)
{
	struct lath_index *index = lath_space_index(space, &space->index);
	struct lath_hole_request want = { .size = size, .align = space->config.unit };
	u64 low, last, key;

	/* a hint for a choice: the search that follows a charge decides */
	if (!index || READ_ONCE(segment->draining) || !lath_segment_bounds(segment, &low, &last))
		return false;
	want.low = low;
	want.high = last + 1;
	return !lath_index_find_hole(index, &want, &key);
}

struct segment *lath_segment_roomiest(struct lath_space *space, u64 segments, u64 run)
{
	struct segment *segment, *best = NULL;
	u64 most = 0;

	for (segment = &space->first; segment; segment = segment_next(segment)) {
		u64 room = lath_segment_room(segment);

		/* the search for a run is the dear condition: only if the segment would be best.
		 * One without room may be chosen too: the charge, not this estimate, refuses */
		if (segments >> segment->number & 1 && (!best || room > most) &&
		    (!run || segment_has_run(space, segment, run))) {
			best = segment;
			most = room;
		}
	}
	LATH_ASSERT(!best || segments >> best->number & 1);
	return best;
}

/* ---- used keys ---- */

void lath_segment_stripes_make(struct lath_space *space, struct segment *segment)
{
	struct lath_count *stripes;

	if (likely(READ_ONCE(segment->stripes)))
		return;
	stripes = lath_space_memory_alloc(space, STRIPES * sizeof(*stripes));
	/* another thread may have made them since: the first ones stay */
	lath_spin_lock(&space->lock);
	if (!segment->stripes) {
		smp_store_release(&segment->stripes, stripes); /* pairs with segment_count */
		stripes = NULL;
	}
	lath_spin_unlock(&space->lock);
	lath_space_memory_free(space, stripes, STRIPES * sizeof(*stripes));
}

u64 lath_segment_used(const struct segment *segment)
{
	const struct lath_count *stripes =
		smp_load_acquire(&segment->stripes); /* pairs with lath_segment_stripes_make */
	u64 used = smp_load_acquire(&segment->used); /* pairs with segment_count */
	unsigned int i;

	/* not read at one moment: a call in progress may be counted in one of two stripes */
	for (i = 0; stripes && i < STRIPES; i++)
		used += smp_load_acquire(&stripes[i].sum); /* pairs with segment_count */
	return used;
}

u64 lath_segment_room(const struct segment *segment)
{
	u64 low, last, limit = READ_ONCE(segment->limit), used = lath_segment_used(segment), most;

	if (!lath_segment_bounds(segment, &low, &last))
		return 0;
	/* one less than there is, since 2^64 keys are no u64 */
	most = limit ? min(limit - 1, last - low) : last - low;
	return most > used ? most - used : 0;
}

void lath_segment_uncharge(struct segment *segment, u64 *at, u64 size)
{
	LATH_ASSERT(at == &segment->used || (segment->stripes && at >= &segment->stripes[0].sum &&
					     at <= &segment->stripes[STRIPES - 1].sum));
	/* the place tells how it was counted: shared, or in the thread's own stripe */
	if (at == &segment->used)
		lath_fetch_add_release(at, -size); /* pairs with lath_segment_used */
	else
		lath_count_add(container_of(at, struct lath_count, sum), -size);
}

u64 *lath_segment_charge_limited(struct segment *segment, u64 limit, u64 size)
{
	u64 *at = NULL, used;

	LATH_ASSERT(limit && size);
	/* one thread at a time adds, so the sum it compares misses no charge; others subtract */
	lath_spin_lock(&segment->lock);
	used = lath_segment_used(segment);
	if (used <= limit && size <= limit - used)
		at = segment_count(segment, size);
	lath_spin_unlock(&segment->lock);
	return at;
}

bool lath_segment_confirm(const struct segment *segment)
{
	smp_mb(); /* pairs with segment_spent: the charge, then `draining` */
	return smp_load_acquire(&segment->draining) ==
	       NOT_DRAINING; /* pairs with lath_segment_open */
}
