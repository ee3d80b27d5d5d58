/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.c - the calls on segments: add, limit, drain, remove. The bounds, the limit, the state of
 * draining and the version of a segment change under the lock of the space.
 */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Adds [key, key + size): as a removed segment, whose number is used again, or as *fresh, which is
 * NULL without memory; sets *fresh to NULL if it is in use now. Returns the number | -EEXIST |
 * -ENOSPC | -ENOMEM. The space is locked. */
static int add_locked(struct lath_space *space, struct segment **fresh, u64 key, u64 size,
		      u64 limit)
{
	struct segment *segment, *to = NULL, *end = NULL;
	u64 last = key + (size - 1);

	LATH_ASSERT(lath_spin_mine(&space->lock));
	/* check all for overlap; remember the lowest number that is free */
	for (segment = &space->first; segment; segment = segment->next) {
		end = segment;
		if (!(segment->version & 1))
			to = to ? to : segment;
		else if (key <= segment->high - 1 && last >= segment->low)
			return -EEXIST;
	}
	/* the list only grows: pointers to its segments stay valid */
	if (!to && end->number + 1 == LATH_SPACE_SEGMENTS)
		return -ENOSPC;
	if (!to && !*fresh)
		return -ENOMEM;
	if (to) {
		lath_segment_open(space, to, key, last + 1, limit);
	} else {
		to = *fresh;
		*fresh = NULL;
		lath_segment_init(to, end->number + 1, any_caller(space));
		lath_segment_open(space, to, key, last + 1, limit);
		/* complete before other threads can find it */
		smp_store_release(&end->next, to); /* pairs with segment_next */
	}
	lath_magazines_choose(space); /* number 0 may use its magazines again */
	return (int)to->number;
}

int lath_space_add_segment(struct lath_space *space, uint64_t key, uint64_t size, uint64_t limit)
{
	struct segment *fresh;
	int ret;

	if (!whole_units(space, key, size) || size - 1 > KEY_MAX - key)
		return -EINVAL;
	lath_call_enter();
	fresh = lath_space_memory_alloc(space,
					sizeof(*fresh)); /* nothing is allocated under the lock */
	lath_spin_lock(&space->lock);
	ret = add_locked(space, &fresh, key, size, limit);
	lath_spin_unlock(&space->lock);
	lath_delay("segment added, lock released");
	lath_space_memory_free(space, fresh, sizeof(*fresh)); /* NULL if it is in use */
	lath_call_exit();
	return ret;
}

int lath_space_drain_segment(struct lath_space *space, unsigned int number, int drain)
{
	struct segment *segment;
	int ret = -ENOENT;

	lath_call_enter();
	lath_spin_lock(&space->lock);
	segment = lath_segment_number(space, number);
	/* a removal that has begun is not taken back */
	if (segment && segment->draining != REMOVING) {
		/* pairs with segment_charge */
		smp_store_release(&segment->draining, drain ? DRAINING : NOT_DRAINING);
		lath_magazines_choose(space);
		ret = 0;
	}
	lath_spin_unlock(&space->lock);
	/* what magazines hold is charged, and would keep the segment from being removed */
	if (!ret && drain && !number)
		lath_magazines_flush(space);
	lath_call_exit();
	return ret;
}

/* Returns whether a segment drains and none of its keys is or can be used any more. The space is
 * locked. */
static bool segment_spent(struct lath_space *space, struct segment *segment)
{
	unsigned int i;

	LATH_ASSERT(lath_spin_mine(&space->lock));
	/* most segments are not empty: then no arena needs to be visited */
	if (segment->draining != DRAINING || lath_segment_used(segment))
		return false;
	/* an allocator that saw no drain while it held an arena's lock has charged before it
	 * unlocked */
	for (i = 0; i < PARTS; i++)
		lath_set_visit(&segment->set[i]);
	smp_mb(); /* pairs with lath_segment_confirm: `draining`, then the sum */
	return !lath_segment_used(segment);
}

/* Marks a draining segment as one that is being removed if none of its keys is used, and sets *out
 * to it. From then on no charge of it holds, and no second removal begins. 0 | -ENOENT | -EBUSY. No
 * lock held. */
static int begin_removal(struct lath_space *space, unsigned int number, struct segment **out)
{
	struct segment *segment;
	int ret = -ENOENT;

	lath_spin_lock(&space->lock);
	segment = lath_segment_number(space, number);
	if (segment && segment->draining != REMOVING) {
		ret = segment_spent(space, segment) ? 0 : -EBUSY;
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
	/* all its keys are free, so its arenas are empty: they go back to the index */
	for (i = 0; !ret && i < PARTS; i++)
		lath_set_release(space, &segment->set[i]);
	if (!ret) {
		lath_spin_lock(&space->lock);
		LATH_ASSERT(segment->version & 1 && segment->draining == REMOVING);
		/* pairs with lath_segment_bounds */
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
	segment = lath_segment_number(space, number);
	if (segment) {
		WRITE_ONCE(segment->limit, limit);
		lath_magazines_choose(space);
	}
	lath_spin_unlock(&space->lock);
	if (segment && limit && !number) /* magazines hand out without a look at the limit */
		lath_magazines_flush(space);
	lath_call_exit();
	return segment ? 0 : -ENOENT;
}

int lath_space_segment_of(struct lath_space *space, uint64_t key)
{
	struct segment *segment = lath_segment_of(space, key);

	return segment ? (int)segment->number : -ENOENT;
}
