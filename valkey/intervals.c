/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * intervals.c - the two forms of a set of intervals.
 *
 * The library's set has a list of the intervals that begin at one number and are of one class of
 * lengths, and looks at its elements in turn. So what is more than INTERVALS_ALIKE becomes a group:
 * a map whose keys are last numbers, highest byte first, with the value behind. The set has it as
 * two intervals, from its first number to the lowest and to the highest last number of the members.
 * A search up to some last number looks at the lower one, any other at the higher: it finds at
 * least one member then.
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
	struct map *members;
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

static void member_key_make(struct member_key *key, uint64_t last, struct bytes value)
{
	size_t size = sizeof(last) + value.size;
	char *text = key->near;

	if (size > sizeof(key->near))
		text = key->far = vk.Alloc(size);
	last = __builtin_bswap64(last);
	memcpy(text, &last, sizeof(last));
	memcpy(text + sizeof(last), value.data, value.size);
	key->key = (struct map_key){ 0, { text, size } };
}

static void member_key_end(struct member_key *key)
{
	vk.Free(key->far);
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

static void members_begin(struct members_iter *iter, const struct group *group, uint64_t first,
			  const struct window *window)
{
	struct map_bound low, high;

	iter->first = first;
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
static int end_member(const struct group *group, bool high, uint64_t first, struct found *found)
{
	struct members_iter iter = { .first = first };

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

/* The members have changed: has the set the two intervals that it is to have. false: no memory for
 * one, so the one before is there. */
static bool move_ends(struct intervals *set, struct group *group, uint64_t first)
{
	bool done = true;
	int i;

	for (i = 0; i < 2; i++) {
		word value = (uintptr_t)group | GROUP | (i ? GROUP_HIGH : 0);
		struct lath_interval was = { first, group->end[i], value }, is = was;
		struct found found;
		bool some = end_member(group, i, first, &found);

		is.end = some ? found.last : is.end;
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

static void show_item(const struct lath_interval *item, struct found *found, char *text)
{
	*found = (struct found){ item->first, item->end, value_view(&item->value, text) };
}

static int compare(const struct found *a, const struct found *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	return compare_bytes(a->value, b->value);
}

/* For qsort(): groups, of which no two are equal, behind the others. */
static int order(const void *left, const void *right)
{
	const struct lath_interval *a = left, *b = right;
	bool groups = group_of(a->value);
	struct found found[2];
	char text[2][VALUE_TEXT];

	if (groups != (group_of(b->value) != NULL))
		return groups ? 1 : -1;
	if (groups)
		return compare(&(struct found){ a->first, a->end, { "", 0 } },
			       &(struct found){ b->first, b->end, { "", 0 } });
	show_item(a, &found[0], text[0]);
	show_item(b, &found[1], text[1]);
	return compare(&found[0], &found[1]);
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

void intervals_begin(struct intervals_iter *iter, const struct intervals *set, struct window window)
{
	items_begin(&iter->items, set, window);
	iter->inside = false;
}

int intervals_next(struct intervals_iter *iter, struct found *found)
{
	const struct window *window = &iter->items.window;
	struct lath_interval item;

	for (;;) {
		if (iter->inside && next_member(&iter->members, found))
			return 1;
		iter->inside = false;
		do {
			if (!next_item(&iter->items, &item))
				return 0;
		} while (other_end(window, item.value));
		if (!group_of(item.value))
			break;
		members_begin(&iter->members, group_of(item.value), item.first, window);
		iter->inside = true;
	}
	show_item(&item, found, iter->text);
	return 1;
}

/* ---- searching in order ----
 *
 * The set gives what it has class by class. So it is asked for ranges of first numbers, in order,
 * and narrower ones where more is found than is to be read at once. What was read is sorted, groups
 * apart from the others. At one number the members of a group end all before or all behind those of
 * another one, so groups in a row are in order too.
 */

/* At one number there are at most INTERVALS_ALIKE and one group in each of 14 classes. */
#define CHUNK 2048
#define CHUNK_LEAST 64
static struct lath_interval chunk[CHUNK + 1];
_Static_assert(CHUNK >= 14 * (INTERVALS_ALIKE + 2), "all that begins at one number");

uint64_t intervals_count(const struct intervals *set, uint64_t first, uint64_t last)
{
	struct window window = overlapping(first, last);
	struct items_iter iter;
	uint64_t count = 0;
	size_t n, i;

	if (set->form != PACKED && !set->groups)
		return lath_intervals_count_overlap(set->body, first, last);
	items_begin(&iter, set, window);
	do {
		n = next_items(&iter, chunk, CHUNK);
		for (i = 0; i < n; i++)
			if (!group_of(chunk[i].value))
				count++;
			else if (!other_end(&window, chunk[i].value))
				count += count_members(group_of(chunk[i].value), &window);
	} while (n == CHUNK);
	return count;
}

/* Reads a range of first numbers. Returns its last one. */
static uint64_t read_range(const struct intervals_walk *walk, size_t *n)
{
	struct window window = walk->rest;
	uint64_t last = walk->last;
	struct items_iter iter;

	for (;;) {
		bool one = last == window.first_low;
		size_t most = one ? CHUNK : walk->most;

		window.first_high = last;
		items_begin(&iter, walk->set, window);
		*n = next_items(&iter, chunk, most + 1);
		if (*n <= most)
			return last;
		LATH_ASSERT(!one);
		/* the tree that was read last has no more than these up to there */
		if (chunk[most].first < last)
			last = chunk[most].first;
		else
			last = window.first_low + (last - window.first_low) / 2;
	}
}

/* Sorts what was read, groups last. Returns how many intervals these are, with members. */
static uint64_t sort_range(struct intervals_walk *walk, size_t n)
{
	uint64_t count = 0;
	size_t k = 0, i;

	walk->item = walk->items = 0;
	for (i = 0; i < n; i++) {
		const struct group *group = group_of(chunk[i].value);

		if (other_end(&walk->rest, chunk[i].value))
			continue;
		walk->items += !group;
		count += group ? count_members(group, &walk->rest) : 1;
		chunk[k++] = chunk[i];
	}
	walk->group = walk->items;
	walk->groups = k;
	walk->inside = walk->some = false;
	if (count > walk->skip && k)
		qsort(chunk, k, sizeof(*chunk), order);
	return count;
}

/* How many members of groups are before an interval of the set itself. */
static uint64_t members_before(const struct intervals_walk *walk, const struct lath_interval *item)
{
	__attribute__((cleanup(member_key_end))) struct member_key key = { .far = NULL };
	struct members_iter iter;
	struct map_bound low, high, here = { .open = true };
	char view[VALUE_TEXT];
	uint64_t n = 0;
	size_t i;

	member_key_make(&key, item->end, value_view(&item->value, view));
	here.key = key.key;
	for (i = walk->items; i < walk->groups && chunk[i].first <= item->first; i++) {
		const struct group *group = group_of(chunk[i].value);

		member_bounds(&iter, &walk->rest, &low, &high);
		n += chunk[i].first < item->first ? count_members(group, &walk->rest)
						  : map_count(group->members, &low, &here);
	}
	return n;
}

/* Goes on behind the first walk->skip of what was read. */
static void skip_some(struct intervals_walk *walk)
{
	size_t low = 0, high = walk->items;
	struct map_entry entry;
	uint64_t n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (middle + members_before(walk, &chunk[middle]) < walk->skip)
			low = middle + 1;
		else
			high = middle;
	}
	walk->item = low;
	walk->skip -= low;
	for (; walk->skip; walk->group++, walk->skip -= n) {
		const struct lath_interval *item = &chunk[walk->group];
		const struct map *members = group_of(item->value)->members;
		struct map_bound *from = &walk->members.map.low;

		n = count_members(group_of(item->value), &walk->rest);
		if (n <= walk->skip)
			continue;
		members_begin(&walk->members, group_of(item->value), item->first, &walk->rest);
		n = map_size(members) - map_count(members, from, &map_highest) + walk->skip;
		if (map_select(members, n, &entry))
			*from = (struct map_bound){ .key = entry.key };
		walk->inside = true;
		walk->group++;
		break;
	}
	walk->skip = 0;
}

/* Reads the next range in which there is something to show. false: there is none. */
static bool read_more(struct intervals_walk *walk)
{
	uint64_t last, width, count;
	size_t n;

	for (; !walk->ended; walk->skip -= count) {
		struct window *rest = &walk->rest;

		last = read_range(walk, &n);
		count = sort_range(walk, n);
		width = last - rest->first_low;
		if (n < walk->most / 2)
			width = width < UINT64_MAX / 2 ? 2 * width + 1 : UINT64_MAX;
		walk->ended = last == rest->first_high;
		if (!walk->ended) {
			rest->first_low = last + 1;
			walk->last = width < rest->first_high - rest->first_low
					     ? rest->first_low + width
					     : rest->first_high;
		}
		if (count > walk->skip) {
			if (walk->skip)
				skip_some(walk);
			return true;
		}
	}
	return false;
}

void intervals_walk_begin(struct intervals_walk *walk, const struct intervals *set,
			  struct window window, uint64_t skip, uint64_t limit)
{
	*walk = (struct intervals_walk){ .set = set, .rest = window, .skip = skip };
	walk->last = window.first_high;
	walk->most = CHUNK;
	if (skip < CHUNK && limit < CHUNK - skip)
		walk->most = skip + limit < CHUNK_LEAST ? CHUNK_LEAST : (size_t)(skip + limit);
}

/* Finds the next member of the groups that were read, if it is not known. */
static void find_member(struct intervals_walk *walk)
{
	while (!walk->some) {
		walk->some = walk->inside && next_member(&walk->members, &walk->member);
		if (walk->some || walk->group == walk->groups)
			return;
		members_begin(&walk->members, group_of(chunk[walk->group].value),
			      chunk[walk->group].first, &walk->rest);
		walk->inside = true;
		walk->group++;
	}
}

int intervals_walk_next(struct intervals_walk *walk, struct found *found)
{
	for (find_member(walk); !walk->some && walk->item == walk->items; find_member(walk))
		if (!read_more(walk))
			return 0;
	if (walk->item < walk->items) {
		show_item(&chunk[walk->item], found, walk->text);
		if (!walk->some || compare(found, &walk->member) < 0) {
			walk->item++;
			return 1;
		}
	}
	*found = walk->member;
	walk->some = false;
	return 1;
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
			return end_member(group_of(item.value), item.value & GROUP_HIGH, item.first,
					  found);
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

/* Where an interval is, or would be. */
struct place {
	struct lath_interval found;
	struct group *group;   /* NULL: none, or it is not in it */
	struct member_key key; /* in the group */
	unsigned int alike;    /* intervals in no group */
};

static void place_end(struct place *place)
{
	member_key_end(&place->key);
}
#define PLACE(name) __attribute__((cleanup(place_end))) struct place name = { .group = NULL }

/* Finds the interval with this value. 1 | 0 */
static int find(const struct intervals *set, uint64_t first, uint64_t last, struct bytes value,
		struct place *place)
{
	struct lath_interval some[INTERVALS_ALIKE + 2];
	struct items_iter iter;
	word there;
	size_t n, i;

	items_begin(&iter, set, alike(first, last));
	n = next_items(&iter, some, INTERVALS_ALIKE + 2);
	for (i = 0; i < n; i++) {
		place->found = some[i];
		if (group_of(some[i].value)) {
			place->group = group_of(some[i].value);
		} else if (some[i].end == last &&
			   value_equal(some[i].value, value.data, value.size)) {
			place->group = NULL;
			return 1;
		} else {
			place->alike++;
		}
	}
	if (!place->group)
		return 0;
	member_key_make(&place->key, last, value);
	return map_get(place->group->members, &place->key.key, &there);
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

/* A group of these members, which may be NULL: no memory, as the result then. */
static struct group *group_create(struct map *members)
{
	struct group *group = members ? vk.TryAlloc(sizeof(*group)) : NULL;

	if (group)
		*group = (struct group){ .members = members };
	else if (members)
		map_free(members);
	return group;
}

/* Adds the interval at this place to its group, which may be new, or removes it; without members
 * the group ends. 0 | -ENOMEM */
static int change_group(struct intervals *set, struct place *place, uint64_t first, bool add)
{
	struct map *members = place->group->members;
	int ret = 0;

	if (map_size(members)) {
		set->owned -= group_memory(place->group);
		set->groups--;
	}
	if (!add)
		map_erase(members, &place->key.key, NULL);
	else if (map_set(members, &place->key.key, value_make("", 0)) < 0)
		ret = -ENOMEM;
	/* an end that stays too far away, behind an erase, is where searches look for nothing */
	if (!move_ends(set, place->group, first) && add && !ret) {
		map_erase(members, &place->key.key, NULL);
		move_ends(set, place->group, first);
		ret = -ENOMEM;
	}
	if (map_size(members)) {
		set->owned += group_memory(place->group);
		set->groups++;
	} else {
		group_free(place->group);
	}
	return ret;
}

/* Makes what an interval needs besides itself: another form of the set, a group. false: no
 * memory */
static bool prepare(struct intervals *set, struct place *place, uint64_t last, struct bytes value)
{
	if ((set->form == PACKED && set->count >= packed_entries && !convert(set, NODES)) ||
	    (set->form == NODES && set->count >= INTERVALS_MIDDLE && !convert(set, CHUNKS)))
		return false;
	if (set->form == PACKED || place->group || place->alike < INTERVALS_ALIKE)
		return true;
	member_key_make(&place->key, last, value);
	place->group = group_create(map_create(MAP_STRINGS, false));
	return place->group;
}

int intervals_add(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	struct lath_interval interval = { first, last, 0 };
	PLACE(place);
	int ret;

	LATH_ASSERT(first <= last);
	if (find(set, first, last, value, &place))
		return 0;
	if (!prepare(set, &place, last, value))
		return -ENOMEM;
	if (place.group) {
		ret = change_group(set, &place, first, true);
		set->count += !ret;
		return ret ? ret : 1;
	}
	interval.value = value_make(value.data, value.size);
	if (!interval.value)
		return -ENOMEM;
	ret = set->form == PACKED ? add_packed(set, &interval)
				  : lath_intervals_insert(set->body, &interval);
	if (ret) {
		value_free(interval.value);
		return ret;
	}
	set->count++;
	set->owned += value_memory(interval.value);
	return 1;
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
		change_group(set, &place, first, false);
		return 1;
	}
	there = place.found;
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

static bool copy_group(struct intervals *copy, const struct group *group, uint64_t first)
{
	struct group *made = group_create(map_copy(group->members));
	bool done;

	if (!made)
		return false;
	done = move_ends(copy, made, first);
	copy->owned += group_memory(made);
	copy->groups++;
	copy->count += map_size(made->members);
	if (!made->there[1])
		group_free(made);
	return done;
}

/* Adds a copy of an item of another set. false: no memory */
static bool copy_item(struct intervals *copy, const struct lath_interval *item)
{
	struct lath_interval mine = { item->first, item->end, 0 };
	char text[VALUE_TEXT];
	struct bytes value;

	if (group_of(item->value))
		return !(item->value & GROUP_HIGH) ||
		       copy_group(copy, group_of(item->value), item->first);
	value = value_view(&item->value, text);
	if (copy->form == PACKED)
		return intervals_add(copy, item->first, item->end, value) == 1;
	mine.value = value_make(value.data, value.size);
	if (!mine.value)
		return false;
	if (lath_intervals_insert(copy->body, &mine)) {
		value_free(mine.value);
		return false;
	}
	copy->owned += value_memory(mine.value);
	copy->count++;
	return true;
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
