/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * intervals.c - the two forms of a set of intervals.
 *
 * The library's set has a list of the intervals that begin at one number and are of one class of
 * lengths, and looks at its elements in turn. So INTERVALS_ALIKE of them become a group with the
 * next one: a map whose keys are last numbers, highest byte first, with the value behind. The set
 * has it as two intervals, from its first number to the lowest and to the highest last number of
 * the members. A search up to some last number looks at the lower one, any other at the higher: it
 * finds at least one member then.
 */
#include "intervals.h"

#include <errno.h>
#include <stdlib.h>
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

	config.flags = LATH_RANKS | LATH_SMALL_PAGES | (nodes ? LATH_NODE_EACH : 0);
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
	struct group *next, **link; /* of the set */
	struct map *members;
	uint64_t first;
	uint64_t end[2]; /* the lowest and the highest last number, as the set has them */
	bool there[2];	 /* the set has them */
};

/* The value of a group: its address, and which of its two intervals this is. */
enum { GROUP = 3, GROUP_HIGH = 4 };

static struct group *group_of(word value)
{
	return (value & GROUP) == GROUP ? (struct group *)(uintptr_t)(value & ~7ull) : NULL;
}

/* Is this the interval of a group at which the search does not look? */
static bool other_end(const struct window *window, word value)
{
	return group_of(value) && !(value & GROUP_HIGH) == (window->last_high == UINT64_MAX);
}

/* The key of a member. A long one needs memory, which the server has or ends: a command has brought
 * as much. */
struct member_key {
	struct map_key key;
	char near[200], *far;
};

static void member_key_end(struct member_key *key)
{
	vk.Free(key->far);
	key->far = NULL;
}

static void member_key_make(struct member_key *key, uint64_t last, struct bytes value)
{
	size_t size = sizeof(last) + value.size;
	char *text = key->near;

	member_key_end(key);
	if (size > sizeof(key->near))
		text = key->far = vk.Alloc(size);
	last = __builtin_bswap64(last);
	memcpy(text, &last, sizeof(last));
	memcpy(text + sizeof(last), value.data, value.size);
	key->key = (struct map_key){ 0, { text, size } };
}

/* The bounds of the members that a window shows. */
static void member_bounds(struct members_iter *iter, const struct window *window,
			  struct map_bound *low, struct map_bound *high)
{
	iter->low = __builtin_bswap64(window->last_low);
	iter->high = __builtin_bswap64(window->last_high + 1);
	*low = (struct map_bound){ .key = { 0, { (const char *)&iter->low, sizeof(iter->low) } } };
	*high = map_highest;
	if (window->last_high < UINT64_MAX)
		*high = (struct map_bound){
			.key = { 0, { (const char *)&iter->high, sizeof(iter->high) } },
			.open = true
		};
}

static void members_begin(struct members_iter *iter, const struct group *group,
			  const struct window *window)
{
	struct map_bound low, high;

	iter->first = group->first;
	member_bounds(iter, window, &low, &high);
	map_iter_begin(&iter->map, group->members, &low, &high, false);
}

/* 1 | 0 */
static int next_member(struct members_iter *iter, struct found *found)
{
	struct map_entry entry;

	if (!map_next(&iter->map, &entry))
		return 0;
	found->first = iter->first;
	memcpy(&found->last, entry.key.string.data, sizeof(found->last));
	found->last = __builtin_bswap64(found->last);
	found->value = (struct bytes){ entry.key.string.data + sizeof(found->last),
				       entry.key.string.size - sizeof(found->last) };
	return 1;
}

static uint64_t count_members(const struct group *group, const struct window *window)
{
	struct members_iter iter;
	struct map_bound low, high;

	if (window->last_low <= group->end[0] && group->end[1] <= window->last_high)
		return map_size(group->members);
	member_bounds(&iter, window, &low, &high);
	return map_count(group->members, &low, &high);
}

/* The member that ends first, or last. */
static int end_member(const struct group *group, bool high, struct found *found)
{
	struct members_iter iter = { .first = group->first };

	map_iter_begin(&iter.map, group->members, &map_lowest, &map_highest, high);
	iter.map.most = 1;
	return next_member(&iter, found);
}

static size_t group_memory(const struct group *group)
{
	return sizeof(*group) + map_memory(group->members);
}

static void group_free(struct group *group)
{
	map_free(group->members);
	vk.Free(group);
}

/* One of the two intervals that the set has of a group. */
static struct lath_interval group_end(const struct group *group, bool high)
{
	return (struct lath_interval){ group->first, group->end[high],
				       (uintptr_t)group | GROUP | (high ? GROUP_HIGH : 0) };
}

/* Takes a group out of the set, and frees it. */
static void group_remove(struct intervals *set, struct group *group)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct lath_interval end = group_end(group, i);

		if (group->there[i])
			lath_intervals_erase(set->body, &end);
	}
	*group->link = group->next;
	if (group->next)
		group->next->link = group->link;
	group_free(group);
}

/* The members have changed: the set has the two intervals that it is to have. false: no memory for
 * one, so the one before is there. */
static bool move_ends(struct intervals *set, struct group *group)
{
	bool done = true;
	int i;

	for (i = 0; i < 2; i++) {
		struct lath_interval was = group_end(group, i), is = was;
		struct found found;

		end_member(group, i, &found);
		is.end = found.last;
		if (group->there[i] && is.end == was.end)
			continue;
		if (lath_intervals_insert(set->body, &is)) {
			done = false;
			continue;
		}
		if (group->there[i])
			lath_intervals_erase(set->body, &was);
		group->there[i] = true;
		group->end[i] = is.end;
	}
	return done;
}

static void show_item(const struct lath_interval *item, struct found *found, char *text)
{
	*found = (struct found){ item->first, item->end, value_view(&item->value, text) };
}

/* For qsort(). Intervals and groups that begin at one number are of different classes, as their ends
 * show; of two equal ones the values differ, or they are a group's. */
static int order(const void *left, const void *right)
{
	const struct lath_interval *a = left, *b = right;
	char text[2][VALUE_TEXT];

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (group_of(a->value))
		return a->value < b->value ? -1 : 1;
	return compare_bytes(value_view(&a->value, text[0]), value_view(&b->value, text[1]));
}

/* For assertions: returns whether the interval i of a packed block is above the one before and not
 * above the next. */
static FOR_ASSERTIONS bool in_order(const struct lath_interval *block, size_t n, size_t i)
{
	return block[i].first <= block[i].end && (!i || order(&block[i - 1], &block[i]) < 0) &&
	       (i + 1 >= n || order(&block[i], &block[i + 1]) < 0);
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
		group_free(group_of(interval->value));
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

/* ---- searching ---- */

static void items_begin(struct items_iter *iter, const struct intervals *set, struct window window)
{
	iter->set = set;
	iter->window = window;
	iter->at = 0;
	if (set->form == PACKED)
		return;
	lath_interval_iter_all(&iter->full, set->body);
	iter->full.first_low = window.first_low;
	iter->full.first_high = window.first_high;
	iter->full.last_low = window.last_low;
	iter->full.last_high = window.last_high;
}

static int next_item(struct items_iter *iter, struct lath_interval *interval)
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

/* Reads at most max at once: each step in a list begins at its beginning. Returns how many. */
static size_t next_items(struct items_iter *iter, struct lath_interval *items, size_t max)
{
	size_t n = 0;

	if (iter->set->form != PACKED)
		return lath_interval_next_batch(&iter->full, items, max);
	while (n < max && next_item(iter, &items[n]))
		n++;
	return n;
}

/* The set gives what it has class by class. So it is asked for ranges of first numbers, in order, and
 * for narrower ones where more is found than is to be read at once. What was read is sorted. */

#define CHUNK_LEAST 64
/* of each class all, or the two intervals of a group */
_Static_assert(INTERVALS_CHUNK >= 14 * INTERVALS_ALIKE, "all that begins at one number");

/* How many intervals a search finds in an item of the set. */
static uint64_t weight(const struct lath_interval *item, const struct window *window)
{
	const struct group *group = group_of(item->value);

	if (other_end(window, item->value))
		return 0;
	return group ? count_members(group, window) : 1;
}

uint64_t intervals_count(const struct intervals *set, uint64_t first, uint64_t last)
{
	struct window window = overlapping(first, last);
	const struct group *group;
	struct lath_interval item;
	struct items_iter iter;
	uint64_t count = 0;

	items_begin(&iter, set, window);
	while (set->form == PACKED && next_item(&iter, &item))
		count++;
	if (set->form != PACKED)
		count = lath_intervals_count_overlap(set->body, first, last);
	/* members take the places of the two intervals that the set has of their group */
	for (group = set->groups; group; group = group->next)
		if (group->first <= last)
			count += count_members(group, &window) - (group->end[0] >= first) -
				 (group->end[1] >= first);
	return count;
}

/* Reads a range of first numbers. Returns its last one. */
static uint64_t read_range(struct intervals_iter *iter)
{
	struct window window = iter->rest;
	uint64_t last = iter->last;
	struct items_iter items;

	for (;;) {
		bool one = last == window.first_low;
		size_t most = one ? INTERVALS_CHUNK : iter->most;

		window.first_high = last;
		items_begin(&items, iter->set, window);
		iter->n = next_items(&items, iter->items, most + 1);
		if (iter->n <= most)
			return last;
		LATH_ASSERT(!one);
		/* the tree that was read last has no more than these up to there */
		if (iter->items[most].first < last)
			last = iter->items[most].first;
		else
			last = window.first_low + (last - window.first_low) / 2;
	}
}

/* Goes on behind the first iter->skip of what was read. */
static void skip_some(struct intervals_iter *iter)
{
	const struct lath_interval *item = iter->items;
	struct map_entry entry;
	const struct map *members;
	struct map_bound *from;
	uint64_t n;

	for (; (n = weight(item, &iter->rest)) <= iter->skip; item++)
		iter->skip -= n;
	iter->at = (size_t)(item - iter->items);
	if (!iter->skip)
		return;
	members = group_of(item->value)->members;
	members_begin(&iter->members, group_of(item->value), &iter->rest);
	from = &iter->members.map.low;
	n = map_size(members) - map_count(members, from, &map_highest) + iter->skip;
	if (map_select(members, n, &entry))
		*from = (struct map_bound){ .key = entry.key };
	iter->skip = 0;
	iter->inside = true;
	iter->at++;
}

/* Reads the next range in which there is something to show. false: there is none. */
static bool read_more(struct intervals_iter *iter)
{
	uint64_t last, width, count;
	size_t i;

	for (; !iter->ended; iter->skip -= count) {
		struct window *rest = &iter->rest;

		last = read_range(iter);
		count = iter->set->groups ? 0 : iter->n;
		for (i = 0; iter->set->groups && i < iter->n; i++)
			count += weight(&iter->items[i], rest);
		width = last - rest->first_low;
		if (iter->n < iter->most / 2)
			width = width < UINT64_MAX / 2 ? 2 * width + 1 : UINT64_MAX;
		iter->ended = last == rest->first_high;
		if (!iter->ended) {
			rest->first_low = last + 1;
			iter->last = width < rest->first_high - rest->first_low
					     ? rest->first_low + width
					     : rest->first_high;
		}
		if (count <= iter->skip)
			continue;
		for (i = 1; i < iter->n && order(&iter->items[i - 1], &iter->items[i]) < 0; i++)
			;
		if (i < iter->n) /* of one class alone it is in order */
			qsort(iter->items, iter->n, sizeof(*iter->items), order);
		iter->at = 0;
		skip_some(iter);
		return true;
	}
	return false;
}

void intervals_begin(struct intervals_iter *iter, const struct intervals *set, struct window window,
		     uint64_t skip, uint64_t limit)
{
	iter->set = set;
	iter->rest = window;
	iter->last = window.first_high;
	iter->skip = skip;
	iter->ended = iter->inside = false;
	iter->at = iter->n = 0;
	iter->most = INTERVALS_CHUNK;
	if (skip < INTERVALS_CHUNK && limit < INTERVALS_CHUNK - skip)
		iter->most = skip + limit < CHUNK_LEAST ? CHUNK_LEAST : (size_t)(skip + limit);
}

int intervals_next(struct intervals_iter *iter, struct found *found)
{
	const struct lath_interval *item;

	for (;;) {
		if (iter->inside && next_member(&iter->members, found))
			return 1;
		iter->inside = false;
		if (iter->at == iter->n) {
			if (!read_more(iter))
				return 0;
			continue;
		}
		item = &iter->items[iter->at++];
		if (!group_of(item->value)) {
			show_item(item, found, iter->text);
			return 1;
		}
		iter->inside = !other_end(&iter->rest, item->value);
		if (iter->inside)
			members_begin(&iter->members, group_of(item->value), &iter->rest);
	}
}

static uint64_t distance(const struct lath_interval *interval, uint64_t point)
{
	if (point < interval->first)
		return interval->first - point;
	return point > interval->end ? point - interval->end : 0;
}

int intervals_nearest(const struct intervals *set, uint64_t point, struct found *found, char *text)
{
	const struct lath_interval *block = set->body;
	struct lath_interval item;
	size_t i, best = 0;

	if (!set->count)
		return 0;
	if (set->form != PACKED) {
		lath_intervals_nearest(set->body, point, &item);
		if (group_of(item.value))
			return end_member(group_of(item.value), item.value & GROUP_HIGH, found);
		show_item(&item, found, text);
		return 1;
	}
	for (i = 1; i < set->count; i++)
		if (distance(&block[i], point) < distance(&block[best], point))
			best = i;
	show_item(&block[best], found, text);
	return 1;
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

/* Where an interval is, or would be: all that begin there and are of its class. */
struct place {
	struct lath_interval alike[INTERVALS_ALIKE];
	size_t n, at;
	struct group *group;   /* NULL: none */
	struct member_key key; /* in the group */
};

static void place_end(struct place *place)
{
	member_key_end(&place->key);
}
#define PLACE(name)                                            \
	__attribute__((cleanup(place_end))) struct place name; \
	name.key.far = NULL

/* Finds the interval with this value. 1 | 0 */
static int find(const struct intervals *set, uint64_t first, uint64_t last, struct bytes value,
		struct place *place)
{
	struct items_iter iter;
	word there;
	size_t i;

	items_begin(&iter, set, alike(first, last));
	place->n = next_items(&iter, place->alike, INTERVALS_ALIKE);
	place->group = place->n ? group_of(place->alike[0].value) : NULL;
	if (place->group) {
		member_key_make(&place->key, last, value);
		return map_get(place->group->members, &place->key.key, &there);
	}
	for (i = 0; i < place->n; i++)
		if (place->alike[i].end == last &&
		    value_equal(place->alike[i].value, value.data, value.size)) {
			place->at = i;
			return 1;
		}
	return 0;
}

/* ---- changes ---- */

static bool convert(struct intervals *set, int form)
{
	struct lath_intervals *full = set_create(form == NODES);
	struct lath_interval item;
	struct items_iter iter;

	items_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (full && next_item(&iter, &item))
		if (lath_intervals_insert(full, &item)) {
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

	while (i < set->count && order(&block[i], interval) < 0)
		i++;
	block = block_insert(block, set->count, i, interval, sizeof(*block));
	if (!block)
		return -ENOMEM;
	set->body = block;
	LATH_ASSERT(in_order(block, set->count + 1, i));
	return 0;
}

/* Adds an interval that is not there to the set itself. 1 | -ENOMEM */
static int add_item(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	struct lath_interval item = { first, last, value_make(value.data, value.size) };

	if (!item.value)
		return -ENOMEM;
	if (set->form == PACKED ? add_packed(set, &item)
				: lath_intervals_insert(set->body, &item)) {
		value_free(item.value);
		return -ENOMEM;
	}
	set->count++;
	set->owned += value_memory(item.value);
	return 1;
}

/* Gives the set a group of these members, which may be NULL: no memory, as the result then. The
 * members end if it has no place. */
static struct group *group_create(struct intervals *set, struct map *members, uint64_t first)
{
	struct group *group = members ? vk.TryAlloc(sizeof(*group)) : NULL;

	if (!group) {
		if (members)
			map_free(members);
		return NULL;
	}
	*group = (struct group){
		.next = set->groups, .link = &set->groups, .members = members, .first = first
	};
	if (group->next)
		group->next->link = &group->next;
	set->groups = group;
	if (!move_ends(set, group)) {
		group_remove(set, group);
		return NULL;
	}
	set->owned += group_memory(group);
	return group;
}

/* Makes a group of all that are at this place. false: no memory */
static bool become_group(struct intervals *set, struct place *place, uint64_t first)
{
	struct map *members = map_create(MAP_STRINGS, false);
	char text[VALUE_TEXT];
	bool done = members;
	size_t i;

	for (i = 0; done && i < place->n; i++) {
		const struct lath_interval *item = &place->alike[i];

		member_key_make(&place->key, item->end, value_view(&item->value, text));
		done = map_set(members, &place->key.key, value_make("", 0)) >= 0;
	}
	if (!done && members)
		map_free(members);
	place->group = done ? group_create(set, members, first) : NULL;
	for (i = 0; place->group && i < place->n; i++) {
		lath_intervals_erase(set->body, &place->alike[i]);
		set->owned -= value_memory(place->alike[i].value);
		value_free(place->alike[i].value);
	}
	return place->group;
}

/* Adds the interval at this place to its group, or removes it; without members the group ends.
 * 0 | -ENOMEM */
static int change_group(struct intervals *set, struct place *place, bool add)
{
	struct group *group = place->group;
	struct map *members = group->members;
	int ret = 0;

	set->owned -= group_memory(group);
	if (!add)
		map_erase(members, &place->key.key, NULL);
	else if (map_set(members, &place->key.key, value_make("", 0)) < 0)
		ret = -ENOMEM;
	if (!map_size(members)) {
		group_remove(set, group);
		return 0;
	}
	/* an end that stays too far away, behind an erase, is where searches look for nothing */
	if (!move_ends(set, group) && add && !ret) {
		map_erase(members, &place->key.key, NULL);
		move_ends(set, group);
		ret = -ENOMEM;
	}
	set->owned += group_memory(group);
	return ret;
}

/* Makes what an interval needs besides itself: another form of the set, a group. false: no
 * memory */
static bool prepare(struct intervals *set, struct place *place, uint64_t first, uint64_t last,
		    struct bytes value)
{
	if ((set->form == PACKED && set->count >= packed_entries && !convert(set, NODES)) ||
	    (set->form == NODES && set->count >= INTERVALS_MIDDLE && !convert(set, CHUNKS)))
		return false;
	if (set->form == PACKED || place->group || place->n < INTERVALS_ALIKE)
		return true;
	if (!become_group(set, place, first))
		return false;
	member_key_make(&place->key, last, value);
	return true;
}

int intervals_add(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	PLACE(place);
	int ret;

	LATH_ASSERT(first <= last);
	if (find(set, first, last, value, &place))
		return 0;
	if (!prepare(set, &place, first, last, value))
		return -ENOMEM;
	if (place.group) {
		ret = change_group(set, &place, true);
		set->count += !ret;
		return ret ? ret : 1;
	}
	return add_item(set, first, last, value);
}

int intervals_remove(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	struct lath_interval *block = set->body, there;
	PLACE(place);
	size_t i = 0;
	int ret;

	if (!find(set, first, last, value, &place))
		return 0;
	set->count--;
	if (place.group) {
		change_group(set, &place, false);
		return 1;
	}
	there = place.alike[place.at];
	LATH_ASSERT(value_memory(there.value) <= set->owned);
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

/* Adds a copy of an item of another set. false: no memory */
static bool copy_item(struct intervals *copy, const struct lath_interval *item)
{
	const struct group *group = group_of(item->value);
	char text[VALUE_TEXT];

	if (!group)
		return add_item(copy, item->first, item->end, value_view(&item->value, text)) == 1;
	if (item->value & GROUP_HIGH) /* with the other one */
		return true;
	copy->count += map_size(group->members);
	return group_create(copy, map_copy(group->members), item->first);
}

struct intervals *intervals_copy(const struct intervals *set)
{
	struct intervals *copy = intervals_create();
	struct lath_interval item;
	struct items_iter iter;
	bool done = copy;

	if (copy && set->form != PACKED) {
		copy->body = set_create(set->form == NODES);
		copy->form = copy->body ? set->form : PACKED;
		done = copy->body;
	}
	items_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (done && next_item(&iter, &item))
		done = copy_item(copy, &item);
	if (done || !copy)
		return copy;
	intervals_free(copy);
	return NULL;
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
