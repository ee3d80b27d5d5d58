/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * intervals.c - the two forms of a set of intervals.
 *
 * The library's set has a list of the intervals that begin at one number and are of one class of
 * lengths, and looks at its elements in turn. So what is more than INTERVALS_ALIKE becomes a group:
 * a map of member_key to value. The set has it as two intervals, from its first number to the
 * lowest and to the highest last number of the members. A search up to some last number looks at
 * the lower one, any other at the higher: it finds at least one member then.
 */
#include "intervals.h"

#include <errno.h>
#include <string.h>

#include "block.h"
#include "command.h"
#include "index.h"

enum { PACKED, NODES, CHUNKS };

static struct lath_intervals *set_create(bool nodes)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_intervals *set =
		server_memory.alloc(NULL, sizeof(*set), _Alignof(struct lath_intervals));

	config.flags = LATH_SMALL_PAGES | (nodes ? LATH_NODE_EACH : 0);
	config.rcu = &lath_rcu_single;
	config.allocator = &server_memory;
	if (set && lath_intervals_init(set, LATH_CLOSED, &config)) {
		server_memory.free(NULL, set, sizeof(*set));
		return NULL;
	}
	return set;
}

static void set_destroy(struct lath_intervals *set, lath_interval_fn each)
{
	lath_intervals_fini(set, each, NULL);
	server_memory.free(NULL, set, sizeof(*set));
}

/* ---- groups ---- */

struct group {
	struct map members; /* map_free() frees all of it */
	uint64_t end[2];    /* the lowest and the highest last number, as the set has them */
	bool there[2];	    /* the set has them */
};

/* The value of a group: its address, and which of its two intervals this is. */
enum { GROUP = 3, GROUP_HIGH = 4 };

static struct group *group_of(word value)
{
	return (value & GROUP) == GROUP ? (struct group *)(uintptr_t)(value & ~7ull) : NULL;
}

static struct map_key as_key(struct member_key *key, uint64_t last, struct hash hash)
{
	*key = (struct member_key){ __builtin_bswap64(last), hash };
	return (struct map_key){ 0, { (const char *)key, sizeof(*key) } };
}

/* As map_next(); interval->first is set. */
static int next_member(struct map_iter *iter, struct lath_interval *interval)
{
	struct map_entry entry;

	if (!map_next(iter, &entry))
		return 0;
	memcpy(&interval->end, entry.key.string.data, sizeof(interval->end));
	interval->end = __builtin_bswap64(interval->end);
	interval->value = entry.value;
	return 1;
}

/* The member that ends first, or last. */
static int end_member(const struct group *group, bool high, struct lath_interval *found)
{
	struct map_iter iter;

	map_iter_begin(&iter, &group->members, &map_lowest, &map_highest, high);
	iter.most = 1;
	return next_member(&iter, found);
}

/* The members have changed: has the set the two intervals that it is to have. false: no memory for
 * one, so the one before is there. */
static bool move_ends(struct intervals *set, struct group *group, uint64_t first)
{
	bool done = true;
	int i;

	for (i = 0; i < 2; i++) {
		struct lath_interval is = { .first = first }, was = { first, group->end[i], 0 };
		bool some = end_member(group, i, &is);

		is.value = was.value = (uintptr_t)group | GROUP | (i ? GROUP_HIGH : 0);
		if (some && group->there[i] && is.end == was.end)
			continue;
		if (some && lath_intervals_insert(set->body, &is)) {
			done = false;
			continue;
		}
		if (group->there[i])
			lath_intervals_erase(set->body, &was);
		group->there[i] = some;
		group->end[i] = is.end;
	}
	return done;
}

/* For assertions: returns whether the interval i of a packed block is above the one before and not
 * above the next. */
static FOR_ASSERTIONS bool in_order(const struct lath_interval *block, size_t n, size_t i)
{
	return block[i].first <= block[i].end &&
	       (!i || intervals_order(&block[i - 1], &block[i]) < 0) &&
	       (i + 1 >= n || intervals_order(&block[i], &block[i + 1]) < 0);
}

struct intervals *intervals_create(void)
{
	struct intervals *set = vk.TryAlloc(sizeof(*set));

	if (set)
		*set = (struct intervals){ 0 };
	return set;
}

static void free_value(void *unused, const struct lath_interval *interval)
{
	(void)unused;
	if (!group_of(interval->value))
		value_free(interval->value);
	else if (interval->value & GROUP_HIGH)
		map_free(&group_of(interval->value)->members);
}

void intervals_free(struct intervals *set)
{
	struct lath_interval *block = set->body;
	size_t i;

	if (set->form == PACKED) {
		for (i = 0; i < set->count; i++) {
			LATH_ASSERT(value_memory(block[i].value) <= set->owned);
			set->owned -= value_memory(block[i].value);
			value_free(block[i].value);
		}
		LATH_ASSERT(!set->owned);
		vk.Free(block);
	} else {
		set_destroy(set->body, set->owned ? free_value : NULL);
	}
	vk.Free(set);
}

struct intervals *intervals_copy(const struct intervals *set)
{
	struct intervals *copy = intervals_create();
	struct intervals_iter iter;
	struct lath_interval interval;
	char text[VALUE_TEXT];

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (copy && intervals_next(&iter, &interval)) {
		struct bytes value = value_view(&interval.value, text);

		if (intervals_add(copy, interval.first, interval.end,
				  value_make(value.data, value.size)) < 0) {
			intervals_free(copy);
			copy = NULL;
		}
	}
	LATH_ASSERT(!copy || copy->count == set->count); /* and other groups */
	return copy;
}

/* ---- searching ---- */

void intervals_begin(struct intervals_iter *iter, const struct intervals *set, struct window window)
{
	iter->set = set;
	iter->window = window;
	iter->at = 0;
	iter->first = 0;
	iter->inside = false;
	if (set->form == PACKED)
		return;
	lath_interval_iter_all(&iter->full, set->body);
	iter->full.first_low = window.first_low;
	iter->full.first_high = window.first_high;
	iter->full.last_low = window.last_low;
	iter->full.last_high = window.last_high;
}

/* As intervals_next(), with groups for their members. */
static int next_item(struct intervals_iter *iter, struct lath_interval *interval)
{
	const struct lath_interval *block = iter->set->body;
	const struct window *window = &iter->window;

	if (iter->set->form != PACKED)
		return lath_interval_next(&iter->full, interval);
	for (; iter->at < iter->set->count; iter->at++) {
		const struct lath_interval *here = &block[iter->at];

		if (here->first < window->first_low || here->first > window->first_high ||
		    here->end < window->last_low || here->end > window->last_high)
			continue;
		*interval = *here;
		LATH_ASSERT(in_order(block, iter->set->count, iter->at));
		iter->at++;
		return 1;
	}
	return 0;
}

int intervals_next(struct intervals_iter *iter, struct lath_interval *interval)
{
	const struct window *window = &iter->window;
	const struct group *group;

	for (;;) {
		struct map_bound low = { 0 }, high = { 0 };

		interval->first = iter->first;
		if (iter->inside && next_member(&iter->members, interval))
			return 1;
		iter->inside = false;
		if (!next_item(iter, interval))
			return 0;
		group = group_of(interval->value);
		if (!group)
			return 1;
		if (!(interval->value & GROUP_HIGH) == (window->last_high == UINT64_MAX))
			continue;
		low.key = as_key(&iter->low, window->last_low, (struct hash){ 0, 0 });
		high.key = as_key(&iter->high, window->last_high,
				  (struct hash){ UINT64_MAX, UINT64_MAX });
		map_iter_begin(&iter->members, &group->members, &low, &high, false);
		iter->inside = true;
		iter->first = interval->first;
	}
}

int intervals_order(const void *left, const void *right)
{
	const struct lath_interval *a = left, *b = right;
	char text[2][VALUE_TEXT];

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return compare_bytes(value_view(&a->value, text[0]), value_view(&b->value, text[1]));
}

static uint64_t distance(const struct lath_interval *interval, uint64_t point)
{
	if (point < interval->first)
		return interval->first - point;
	return point > interval->end ? point - interval->end : 0;
}

int intervals_nearest(const struct intervals *set, uint64_t point, struct lath_interval *found)
{
	const struct lath_interval *block = set->body;
	size_t i, best = 0;

	if (set->form != PACKED)
		return !lath_intervals_nearest(set->body, point, found) &&
		       (!group_of(found->value) ||
			end_member(group_of(found->value), found->value & GROUP_HIGH, found));
	for (i = 1; i < set->count; i++)
		if (distance(&block[i], point) < distance(&block[best], point))
			best = i;
	if (set->count)
		*found = block[best];
	return set->count != 0;
}

/* The intervals that begin at `first` and are of the class of this one. */
static struct window alike(uint64_t first, uint64_t last)
{
	uint64_t least = 0, most = 0;

	for (; last - first > most; most = most << 5 | 31)
		least = most + 1;
	return (struct window){ first, first, first + least,
				most < UINT64_MAX - first ? first + most : UINT64_MAX };
}

/* Where an interval is, or would be. */
struct place {
	struct lath_interval found;
	struct group *group; /* NULL: none, or it is not in it */
	struct member_key text;
	struct map_key key; /* in the group */
	unsigned int alike; /* intervals in no group */
};

/* Finds the interval with this value. 1 | 0 | -ENOMEM: another value of the group has its hash */
static int find(const struct intervals *set, uint64_t first, uint64_t last, struct bytes value,
		struct place *place)
{
	struct lath_interval some[INTERVALS_ALIKE + 2], *found = &place->found;
	struct intervals_iter iter;
	size_t n = 0, i;

	*place = (struct place){ .group = NULL };
	intervals_begin(&iter, set, alike(first, last));
	if (set->form == PACKED)
		for (; next_item(&iter, &some[n]); n++)
			LATH_ASSERT(n < PACKED_MOST);
	else /* at once: each step in a list begins at its beginning */
		n = lath_interval_next_batch(&iter.full, some, INTERVALS_ALIKE + 2);
	for (i = 0; i < n; i++) {
		*found = some[i];
		if (group_of(found->value)) {
			place->group = group_of(found->value);
		} else if (found->end == last &&
			   value_equal(found->value, value.data, value.size)) {
			place->group = NULL;
			return 1;
		} else {
			place->alike++;
		}
	}
	if (!place->group)
		return 0;
	place->key = as_key(&place->text, last, hash_bytes(value));
	if (!map_get(&place->group->members, &place->key, &found->value))
		return 0;
	found->first = first;
	found->end = last;
	return value_equal(found->value, value.data, value.size) ? 1 : -ENOMEM;
}

/* ---- changes ---- */

static bool convert(struct intervals *set, int form)
{
	struct lath_intervals *full = set_create(form == NODES);
	struct intervals_iter iter;
	struct lath_interval interval;

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (full && next_item(&iter, &interval))
		if (lath_intervals_insert(full, &interval)) {
			set_destroy(full, NULL);
			full = NULL;
		}
	LATH_ASSERT(form > set->form);
	if (!full)
		return false;
	LATH_ASSERT(lath_intervals_count(full) ==
		    (set->form == PACKED ? set->count : lath_intervals_count(set->body)));
	if (set->form == PACKED)
		vk.Free(set->body);
	else
		set_destroy(set->body, NULL);
	set->body = full;
	set->form = (uint8_t)form;
	return true;
}

/* 0 | -ENOMEM */
static int add_packed(struct intervals *set, const struct lath_interval *interval)
{
	struct lath_interval *block = set->body;
	size_t i = 0;

	while (i < set->count && intervals_order(&block[i], interval) < 0)
		i++;
	block = block_insert(block, set->count, i, interval, sizeof(*block));
	if (!block)
		return -ENOMEM;
	set->body = block;
	LATH_ASSERT(in_order(block, set->count + 1, i));
	return 0;
}

/* Makes a group for an interval. false: no memory */
static bool make_group(struct place *place, uint64_t last, struct bytes value)
{
	struct group *group = vk.TryAlloc(sizeof(*group));

	if (group && !map_begin(&group->members, MAP_STRINGS, false)) {
		vk.Free(group);
		group = NULL;
	}
	place->group = group;
	if (group)
		group->there[0] = group->there[1] = false;
	place->key = as_key(&place->text, last, hash_bytes(value));
	return group;
}

/* Adds a member to the group, which may be new, or with a value of 0 removes one; without members
 * the group ends. Takes the value over, also on failure. 0 | -ENOMEM */
static int change_group(struct intervals *set, struct place *place, uint64_t first, word value)
{
	struct map *members = &place->group->members;
	int ret = 0;

	set->owned -= map_size(members) ? map_memory(members) : 0;
	if (!value)
		map_erase(members, &place->key, NULL);
	else if (map_set(members, &place->key, value) < 0)
		ret = -ENOMEM;
	/* an end that stays too far away, behind an erase, is where searches look for nothing */
	if (!move_ends(set, place->group, first) && value && !ret) {
		map_erase(members, &place->key, NULL);
		move_ends(set, place->group, first);
		ret = -ENOMEM;
	}
	if (map_size(members))
		set->owned += map_memory(members);
	else
		map_free(members);
	return ret;
}

int intervals_add(struct intervals *set, uint64_t first, uint64_t last, word value)
{
	struct lath_interval interval = { first, last, value };
	struct place place;
	struct bytes view;
	char text[VALUE_TEXT];
	int ret;

	LATH_ASSERT(first <= last);
	if (!value)
		return -ENOMEM;
	view = value_view(&value, text);
	ret = find(set, first, last, view, &place);
	if (!ret &&
	    ((set->form == PACKED && set->count >= packed_entries && !convert(set, NODES)) ||
	     (set->form == NODES && set->count >= INTERVALS_MIDDLE && !convert(set, CHUNKS)) ||
	     (set->form != PACKED && !place.group && place.alike >= INTERVALS_ALIKE &&
	      !make_group(&place, last, view))))
		ret = -ENOMEM;
	if (!ret && place.group) {
		ret = change_group(set, &place, first, value);
		set->count += !ret;
		return ret ? ret : 1;
	}
	if (!ret)
		ret = set->form == PACKED ? add_packed(set, &interval)
					  : lath_intervals_insert(set->body, &interval);
	if (ret) {
		value_free(value);
		return ret < 0 ? ret : 0;
	}
	set->count++;
	set->owned += value_memory(value);
	return 1;
}

int intervals_remove(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	struct lath_interval *block = set->body, there;
	struct place place;
	size_t i = 0;
	int ret;

	if (find(set, first, last, value, &place) <= 0)
		return 0;
	there = place.found;
	LATH_ASSERT(set->count && value_memory(there.value) <= set->owned);
	set->count--;
	if (place.group) {
		change_group(set, &place, first, 0);
		return 1;
	}
	set->owned -= value_memory(there.value);
	if (set->form != PACKED) {
		ret = lath_intervals_erase(set->body, &there);
		LATH_ASSERT(!ret); /* find() has just seen it */
		(void)ret;
	} else {
		/* equal intervals differ by their values: find() gave this very word */
		while (block[i].value != there.value || block[i].first != first ||
		       block[i].end != last)
			i++;
		set->body = block_remove(block, set->count + 1, i, sizeof(*block));
	}
	value_free(there.value);
	return 1;
}

void intervals_defragment(struct intervals *set, struct vk_defrag *ctx)
{
	struct lath_interval *block;
	size_t i;

	if (set->form != PACKED)
		return;
	set->body = block = defrag_block(ctx, set->body);
	for (i = 0; i < set->count; i++)
		block[i].value = defrag_value(ctx, block[i].value);
}

/* ---- figures ---- */

size_t intervals_memory(const struct intervals *set)
{
	struct lath_intervals_stats stats;

	if (set->form == PACKED)
		return sizeof(*set) + set->owned +
		       block_size(set->count, sizeof(struct lath_interval));
	lath_intervals_get_stats(set->body, &stats);
	return sizeof(*set) + set->owned + stats.bytes;
}

size_t intervals_effort(const struct intervals *set)
{
	return 1 + set->count / (set->owned ? 1 : 32);
}
