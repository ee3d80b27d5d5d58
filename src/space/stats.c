/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stats.c - what a space says of itself: owners of keys, statistics, checks. */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* ---- owners ---- */

/* Finds the allocation that contains key. 0 | -ENOENT. No lock held. */
static int find_owner(struct lath_space *space, u64 key, struct lath_item *item)
{
	struct arena *arena = has_arenas(space) ? lath_arena_lock(space, key) : NULL;
	u64 unit = units_of(space, key) % ARENA_UNITS;
	bool taken;

	/* an item is a whole allocation, unless it is an arena that serves no block yet */
	if (!arena)
		return smp_load_acquire(&space->index) && /* pairs with lath_space_index */
				       !lath_index_lookup_item(space->index, key, item) &&
				       item->value != arena_mark(space)
			       ? 0
			       : -ENOENT;
	/* of units of an arena only the cookie is known, not where the allocation begins */
	taken = arena->owner && !(arena->map[unit / 64] >> unit % 64 & 1);
	if (taken) {
		item->key = arena_key(space, arena, unit);
		item->size = space->config.unit;
		item->value = arena->owner[unit];
	}
	lath_spin_unlock(&arena->lock);
	return taken ? 0 : -ENOENT;
}

int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item)
{
	int ret;

	lath_call_enter();
	ret = find_owner(space, key, item);
	lath_call_exit();
	return ret;
}

/* ---- statistics ---- */

/* Returns a sum of counters that change in the meantime, cut to [0, most]. */
static u64 plausible(u64 sum, u64 most)
{
	/* a sum above 2^63 is a negative one, unless there are that many keys */
	return (s64)sum < 0 && sum > most ? 0 : min(sum, most);
}

/* Sets *out to the figures of a segment; keys == 0: it is not in use. held: units in magazines,
 * which are charged to the first segment but count as free. */
static void segment_stats(struct lath_space *space, struct segment *segment, u64 held,
			  struct lath_space_segment *out)
{
	u64 last;

	/* all other fields stay 0 if it is removed since */
	memset(out, 0, sizeof(*out));
	out->number = segment->number;
	if (!lath_segment_bounds(segment, &out->low, &last))
		return;
	out->high = last + 1;
	out->limit = READ_ONCE(segment->limit);
	out->draining = READ_ONCE(segment->draining) != NOT_DRAINING;
	/* 2^64 keys are one more than a u64 can say */
	out->keys = last - out->low == KEY_MAX ? KEY_MAX : last - out->low + 1;
	out->allocated = plausible(lath_segment_used(segment) -
					   (segment->number ? 0 : held << space->unit_shift),
				   out->keys);
}

int lath_space_segment_stats(struct lath_space *space, unsigned int number,
			     struct lath_space_segment *out)
{
	struct segment *segment = lath_segment_number(space, number);

	if (!segment)
		return -ENOENT;
	segment_stats(space, segment, lath_slots_held(space), out);
	/* 0: removed between the two looks */
	return out->keys ? 0 : -ENOENT;
}

void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats)
{
	struct segment *segment;
	u64 held = lath_slots_held(space), keys, used = 0;

	memset(stats, 0, sizeof(*stats));
	for (segment = &space->first; segment; segment = segment_next(segment)) {
		struct lath_space_segment one;

		segment_stats(space, segment, held, &one);
		if (!one.keys) /* not in use */
			continue;
		stats->segments++;
		stats->allocated += one.allocated;
		stats->free += one.keys - one.allocated;
		/* with what magazines hold: their blocks are used in the arenas */
		used += lath_segment_used(segment);
	}
	stats->arenas = lath_count_shown(&space->in_use);
	/* used keys that are not in the index are in arenas: no arena needs to be looked at */
	keys = stats->arenas * space->arena_size;
	stats->cached = held << space->unit_shift;
	stats->arena_free =
		stats->arenas ? plausible(keys - (used - READ_ONCE(space->index_keys)), keys) : 0;
	stats->ranges = lath_count_shown(&space->ranges);
	stats->bad_frees = READ_ONCE(space->bad_frees);
	stats->bytes = READ_ONCE(space->bytes);
}

/* ---- checks ---- */

/* Checks the arenas of a set. Returns 0 or the number of the broken rule. The caller excludes all
 * other calls. */
static int verify_set(struct lath_space *space, struct arena_set *set)
{
	u64 i, value;

	for (i = 0; i < set->count; i++) {
		struct arena *arena = set_arena(set, i);

		/* 20: unused, but it shows a grade; 21: counters; 22: not found by its block */
		if (arena->block == NO_BLOCK) {
			if (*arena->shown)
				return 20;
		} else if (!lath_arena_sound(arena)) {
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

	/* what arenas say is compared with the indexes, so these come first */
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
