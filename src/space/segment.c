/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * segment.c - segments: their bounds, limits and counters of used keys, and the calls on them;
 * statistics, checks.
 *
 * Used keys are counted in stripes once a segment is used: one per thread, without atomic
 * operations, for as many threads as there are stripes. A thread that charges adds first and looks
 * at `draining` then, with an arena locked or behind a full barrier; a thread that removes the
 * segment, whose `draining` was set before, visits the locks of all arenas first and adds up the
 * counts then. So one of the two sees the other. A charge that fails is subtracted where it was
 * added, so the sum is never below what is used.
 */
#include "space/space.h"

static void set_open_bounds(struct set *set, u64 low, u64 high)
{
	set->empty = low > high - 1;
	set->low = low;
	set->high = high;
	WRITE_ONCE(set->stuck, 0);
}

void segment_init(struct segment *segment, unsigned int number)
{
	unsigned int i;

	segment->number = number;
	segment->draining = REMOVING;
	lath_spin_init(&segment->lock);
	for (i = 0; i < PARTS; i++) {
		lath_spin_init(&segment->set[i].lock);
		segment->set[i].number = PARTS * number + i;
		segment->set[i].segment = segment;
	}
}

void segment_open(struct lath_space *space, struct segment *segment, u64 low, u64 high, u64 limit)
{
	u64 below = space->config.below;

	LATH_ASSERT(!(segment->version & 1) && low <= high - 1);
	smp_wmb(); /* pairs with segment_bounds: the version has changed before the bounds do */
	WRITE_ONCE(segment->low, low);
	WRITE_ONCE(segment->high, high);
	WRITE_ONCE(segment->limit, limit);
	if (!below || below - 1 >= high - 1) { /* all of it is preferred */
		set_open_bounds(&segment->set[0], low, high);
		set_open_bounds(&segment->set[1], 1, 1);
	} else {
		set_open_bounds(&segment->set[0], min(low, below), below);
		set_open_bounds(&segment->set[1], max(low, below), high);
	}
	smp_store_release(&segment->version, segment->version + 1); /* pairs with segment_bounds */
	smp_store_release(&segment->draining, NOT_DRAINING);	    /* pairs with segment_charge */
}

/* Sets *low and *last. Returns false if the segment is not in use, or changes. */
static bool segment_bounds(const struct segment *segment, u64 *low, u64 *last)
{
	u64 version = smp_load_acquire(&segment->version); /* pairs with segment_open */

	*low = READ_ONCE(segment->low);
	*last = READ_ONCE(segment->high) - 1;
	smp_rmb(); /* pairs with segment_open */
	return version & 1 && READ_ONCE(segment->version) == version;
}

struct segment *segment_of(struct lath_space *space, u64 key)
{
	struct segment *segment;
	u64 low, last;

	for (segment = &space->first; segment; segment = segment_next(segment))
		if (segment_bounds(segment, &low, &last) && key >= low && key <= last)
			return segment;
	return NULL;
}

bool segment_after(struct lath_space *space, u64 key, u64 *low, u64 *last)
{
	struct segment *segment;
	u64 first, end;
	bool any = false;

	for (segment = &space->first; segment; segment = segment_next(segment))
		if (segment_bounds(segment, &first, &end) && end >= key && (!any || first < *low)) {
			*low = first;
			*last = end;
			any = true;
		}
	return any;
}

bool segment_has_run(struct lath_space *space, const struct segment *segment, u64 size)
{
	struct lath_index *index = space_index(space, &space->index);
	struct lath_hole_request want = { .size = size, .align = space->config.unit };
	u64 low, last, key;

	if (!index || READ_ONCE(segment->draining) || !segment_bounds(segment, &low, &last))
		return false;
	want.low = low;
	want.high = last + 1;
	return !lath_index_find_hole(index, &want, &key);
}

/* ---- charges ---- */

void segment_stripes_make(struct lath_space *space, struct segment *segment)
{
	struct lath_count *stripes;

	if (likely(READ_ONCE(segment->stripes)))
		return;
	stripes = space_alloc(space, STRIPES * sizeof(*stripes));
	lath_spin_lock(&space->lock);
	if (!segment->stripes) {
		smp_store_release(&segment->stripes, stripes); /* pairs with segment_count */
		stripes = NULL;
	}
	lath_spin_unlock(&space->lock);
	space_free(space, stripes, STRIPES * sizeof(*stripes));
}

u64 segment_used(const struct segment *segment)
{
	const struct lath_count *stripes =
		smp_load_acquire(&segment->stripes); /* pairs with segment_stripes_make */
	u64 used = smp_load_acquire(&segment->used); /* pairs with segment_count */
	unsigned int i;

	for (i = 0; stripes && i < STRIPES; i++)
		used += smp_load_acquire(&stripes[i].sum); /* pairs with segment_count */
	return used;
}

u64 segment_room(const struct segment *segment)
{
	u64 low, last, limit = READ_ONCE(segment->limit), used = segment_used(segment), most;

	if (!segment_bounds(segment, &low, &last))
		return 0;
	most = limit ? min(limit - 1, last - low) : last - low;
	return most > used ? most - used : 0;
}

void segment_uncharge(struct segment *segment, u64 *at, u64 size)
{
	if (at == &segment->used)
		lath_fetch_add_release(at, -size); /* pairs with segment_used */
	else
		lath_count_add(container_of(at, struct lath_count, sum), -size);
}

u64 *segment_charge_limited(struct segment *segment, u64 limit, u64 size)
{
	u64 *at = NULL, used;

	lath_spin_lock(&segment->lock);
	used = segment_used(segment);
	if (used <= limit && size <= limit - used)
		at = segment_count(segment, size);
	lath_spin_unlock(&segment->lock);
	return at;
}

bool segment_confirm(const struct segment *segment)
{
	smp_mb(); /* pairs with segment_spent: the charge, then `draining` */
	return smp_load_acquire(&segment->draining) == NOT_DRAINING; /* pairs with segment_open */
}

/* ---- calls ---- */

/* Returns the segment of this number if it is in use, or NULL. */
static struct segment *segment_number(struct lath_space *space, unsigned int number)
{
	struct segment *segment = &space->first;

	while (segment && segment->number != number)
		segment = segment_next(segment);
	/* pairs with segment_open */
	return segment && smp_load_acquire(&segment->version) & 1 ? segment : NULL;
}

void choose_magazines(struct lath_space *space)
{
	const unsigned int none = LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES |
				  LATH_SPACE_OWNERS | LATH_SPACE_SPREAD;

	WRITE_ONCE(space->magazines, !(space->config.flags & none) && !space->first.limit &&
					     space->first.draining == NOT_DRAINING);
}

static int add_locked(struct lath_space *space, struct segment *fresh, u64 key, u64 size, u64 limit)
{
	struct segment *segment, *to = NULL, *end = NULL;
	u64 last = key + (size - 1);

	for (segment = &space->first; segment; segment = segment->next) {
		end = segment;
		if (!(segment->version & 1))
			to = to ? to : segment;
		else if (key <= segment->high - 1 && last >= segment->low)
			return -EEXIST;
	}
	if (!to && end->number + 1 == LATH_SPACE_SEGMENTS)
		return -ENOSPC;
	if (!to && !fresh)
		return -ENOMEM;
	if (!to) {
		to = fresh;
		segment_init(to, end->number + 1);
	}
	segment_open(space, to, key, last + 1, limit);
	if (to == fresh)
		smp_store_release(&end->next, to); /* pairs with segment_next */
	choose_magazines(space);
	return (int)to->number;
}

int lath_space_add_segment(struct lath_space *space, uint64_t key, uint64_t size, uint64_t limit)
{
	struct segment *fresh;
	int ret;

	if (!whole_units(space, key, size) || size - 1 > KEY_MAX - key)
		return -EINVAL;
	lath_call_enter();
	fresh = space_alloc(space, sizeof(*fresh)); /* not needed if a number is used again */
	lath_spin_lock(&space->lock);
	ret = add_locked(space, fresh, key, size, limit);
	lath_spin_unlock(&space->lock);
	if (ret < 0 || segment_number(space, (unsigned int)ret) != fresh)
		space_free(space, fresh, sizeof(*fresh));
	lath_call_exit();
	return ret;
}

int lath_space_drain_segment(struct lath_space *space, unsigned int number, int drain)
{
	struct segment *segment;
	int ret = -ENOENT;

	lath_call_enter();
	lath_spin_lock(&space->lock);
	segment = segment_number(space, number);
	if (segment && segment->draining != REMOVING) {
		/* pairs with segment_charge */
		smp_store_release(&segment->draining, drain ? DRAINING : NOT_DRAINING);
		choose_magazines(space);
		ret = 0;
	}
	lath_spin_unlock(&space->lock);
	if (!ret && drain && !number)
		magazines_drain(space);
	lath_call_exit();
	return ret;
}

/* Returns whether a segment drains and none of its keys is or can be used any more. The caller
 * holds the lock of the space. */
static bool segment_spent(struct segment *segment)
{
	unsigned int i;

	if (segment->draining != DRAINING || segment_used(segment))
		return false;
	for (i = 0; i < PARTS; i++)
		set_visit(&segment->set[i]);
	smp_mb(); /* pairs with segment_confirm: `draining`, then the sum */
	return !segment_used(segment);
}

/* Marks a draining segment as one that is being removed if none of its keys is used. 0 | -ENOENT |
 * -EBUSY */
static int begin_removal(struct lath_space *space, unsigned int number, struct segment **out)
{
	struct segment *segment;
	int ret = -ENOENT;

	lath_spin_lock(&space->lock);
	segment = segment_number(space, number);
	if (segment && segment->draining != REMOVING) {
		ret = segment_spent(segment) ? 0 : -EBUSY;
		if (!ret)
			WRITE_ONCE(segment->draining, REMOVING);
	}
	lath_spin_unlock(&space->lock);
	*out = segment;
	return ret;
}

int lath_space_remove_segment(struct lath_space *space, unsigned int number)
{
	struct segment *segment;
	int ret, i;

	lath_call_enter();
	ret = begin_removal(space, number, &segment);
	for (i = 0; !ret && i < PARTS; i++)
		set_release(space, &segment->set[i]);
	if (!ret) {
		lath_spin_lock(&space->lock);
		/* pairs with segment_bounds */
		smp_store_release(&segment->version, segment->version + 1);
		lath_spin_unlock(&space->lock);
	}
	lath_call_exit();
	return ret;
}

int lath_space_limit_segment(struct lath_space *space, unsigned int number, uint64_t limit)
{
	struct segment *segment;

	lath_call_enter();
	lath_spin_lock(&space->lock);
	segment = segment_number(space, number);
	if (segment) {
		WRITE_ONCE(segment->limit, limit);
		choose_magazines(space);
	}
	lath_spin_unlock(&space->lock);
	if (segment && limit && !number)
		magazines_drain(space);
	lath_call_exit();
	return segment ? 0 : -ENOENT;
}

int lath_space_segment_of(struct lath_space *space, uint64_t key)
{
	struct segment *segment = segment_of(space, key);

	return segment ? (int)segment->number : -ENOENT;
}

/* ---- statistics ---- */

/* What counters that change meanwhile add up to: not below 0, not above `most`. */
static u64 plausible(u64 sum, u64 most)
{
	return (s64)sum < 0 && sum > most ? 0 : min(sum, most);
}

static void segment_stats(struct lath_space *space, struct segment *segment, u64 held,
			  struct lath_space_segment *out)
{
	u64 last;

	memset(out, 0, sizeof(*out));
	out->number = segment->number;
	if (!segment_bounds(segment, &out->low, &last))
		return;
	out->high = last + 1;
	out->limit = READ_ONCE(segment->limit);
	out->draining = READ_ONCE(segment->draining) != NOT_DRAINING;
	out->keys = last - out->low == KEY_MAX ? KEY_MAX : last - out->low + 1;
	out->allocated =
		plausible(segment_used(segment) - (segment->number ? 0 : held << space->unit_shift),
			  out->keys);
}

int lath_space_segment_stats(struct lath_space *space, unsigned int number,
			     struct lath_space_segment *out)
{
	struct segment *segment = segment_number(space, number);

	if (!segment)
		return -ENOENT;
	segment_stats(space, segment, slots_held(space), out);
	return out->keys ? 0 : -ENOENT;
}

int lath_space_hole_stats(struct lath_space *space, unsigned int number, uint64_t max_leaves,
			  struct lath_hole_stats *stats)
{
	struct segment *segment = segment_number(space, number);
	struct lath_index *index;
	u64 low, last;

	if (!segment || !segment_bounds(segment, &low, &last))
		return -ENOENT;
	lath_call_enter();
	index = space_index(space, &space->index);
	lath_call_exit();
	return index ? lath_index_hole_stats(index, low, last + 1, max_leaves, stats) : -ENOMEM;
}

void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats)
{
	struct segment *segment;
	u64 held = slots_held(space), keys, used = 0;

	memset(stats, 0, sizeof(*stats));
	for (segment = &space->first; segment; segment = segment_next(segment)) {
		struct lath_space_segment one;

		segment_stats(space, segment, held, &one);
		if (!one.keys)
			continue;
		stats->segments++;
		stats->allocated += one.allocated;
		stats->free += one.keys - one.allocated;
		used += segment_used(segment);
	}
	stats->arenas = READ_ONCE(space->in_use);
	keys = stats->arenas * space->arena_size;
	stats->cached = held << space->unit_shift;
	stats->arena_free =
		stats->arenas ? plausible(keys - (used - READ_ONCE(space->index_keys)), keys) : 0;
	stats->ranges = READ_ONCE(space->ranges);
	stats->bad_frees = READ_ONCE(space->bad_frees);
	stats->bytes = READ_ONCE(space->bytes);
}

/* ---- checks ---- */

static int verify_set(struct lath_space *space, struct set *set)
{
	u64 i, value;

	for (i = 0; i < set->count; i++) {
		struct arena *arena = set_arena(set, i);

		if (arena->block == NO_BLOCK) {
			if (*arena->shown)
				return 20;
		} else if (!arena_sound(arena)) {
			return 21;
		} else if (!lath_index_get(space->arenas, arena->block, &value) ||
			   value != (u64)(uintptr_t)arena) {
			return 22;
		}
	}
	return 0;
}

int lath_space_verify(struct lath_space *space, char *report, size_t report_size)
{
	struct segment *segment;
	unsigned int k;
	int ret = 0;

	if (space->index)
		ret = lath_index_verify(space->index, 5, report, report_size);
	if (!ret && space->arenas)
		ret = lath_index_verify(space->arenas, 5, report, report_size);
	for (segment = &space->first; segment && !ret; segment = segment->next)
		for (k = 0; k < PARTS && !ret; k++) {
			ret = verify_set(space, &segment->set[k]);
			if (ret && report_size)
				snprintf(report, report_size, "an arena of segment %u: rule %d",
					 segment->number, ret);
		}
	return ret;
}
