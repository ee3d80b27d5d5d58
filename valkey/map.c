/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map.c - the ordered map of numbers, and what it shares with that of strings.
 */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "index.h"
#include "map.h"
#include "map_strings.h"

const struct map_bound map_lowest = { .infinite = -1 }, map_highest = { .infinite = 1 };

/* ---- packed ---- */

struct small {
	size_t n;
	uint64_t keys[MAP_SMALL + 1];
	word values[MAP_SMALL + 1];
};

static unsigned int width_of(uint64_t most)
{
	unsigned int width = 1;

	while (width < 8 && most >> 8 * width)
		width++;
	return width;
}

/* For assertions: returns whether the keys ascend, none twice, and every entry has a value. */
static FOR_ASSERTIONS bool in_order(const struct small *small)
{
	size_t i;

	for (i = 0; i < small->n; i++)
		if (!small->values[i] || (i && small->keys[i - 1] >= small->keys[i]))
			return false;
	return true;
}

static void unpack(const struct map *map, struct small *small)
{
	const char *at = map->body;
	uint64_t base = 0;
	size_t i;

	LATH_ASSERT(map->kind == MAP_NUMBERS && map->form == MAP_PACKED);
	LATH_ASSERT(map->count <= MAP_SMALL && (map->body || !map->count));
	memset(small, 0, sizeof(*small));
	small->n = map->count;
	if (!map->body)
		return;
	LATH_ASSERT(map->key_width - 1u < 8 && map->value_width - 1u < 8);
	memcpy(&base, at, sizeof(base));
	at += sizeof(base);
	for (i = 0; i < small->n; i++, at += map->key_width) {
		memcpy(&small->keys[i], at, map->key_width);
		small->keys[i] += base;
	}
	for (i = 0; i < small->n; i++, at += map->value_width)
		memcpy(&small->values[i], at, map->value_width);
	LATH_ASSERT(in_order(small));
}

static size_t packed_size(const struct map *map)
{
	return map->body ? sizeof(uint64_t) + map->count * (map->key_width + map->value_width) : 0;
}

/* false: no memory, the map is as it was; never for fewer entries than before */
static bool pack(struct map *map, const struct small *small)
{
	unsigned int key_width =
		width_of(small->n ? small->keys[small->n - 1] - small->keys[0] : 0);
	unsigned int value_width = 1, width;
	char *block = map->body, *at;
	size_t i, size;

	LATH_ASSERT(small->n <= MAP_SMALL && in_order(small));
	for (i = 0; i < small->n; i++) {
		width = width_of(small->values[i]);
		value_width = width > value_width ? width : value_width;
	}
	size = sizeof(uint64_t) + small->n * (key_width + value_width);
	/* A larger block is a new one: Realloc() ends the server where there is no memory. */
	if (size > packed_size(map))
		block = vk.TryAlloc(size);
	else if (size < packed_size(map))
		block = vk.Realloc(block, size); /* all of it is in *small */
	if (!block)
		return false;
	memcpy(block, &small->keys[0], sizeof(uint64_t));
	at = block + sizeof(uint64_t);
	for (i = 0; i < small->n; i++, at += key_width) {
		uint64_t difference = small->keys[i] - small->keys[0];

		memcpy(at, &difference, key_width);
	}
	for (i = 0; i < small->n; i++, at += value_width)
		memcpy(at, &small->values[i], value_width);
	if (size > packed_size(map))
		vk.Free(map->body);
	map->body = block;
	map->count = small->n;
	map->key_width = (uint8_t)key_width;
	map->value_width = (uint8_t)value_width;
	return true;
}

/* The first entry with a key >= `key`. */
static size_t small_find(const struct small *small, uint64_t key)
{
	size_t i, below = 0;

	/* counted without a branch: the compiler compares several keys at once */
	for (i = 0; i < small->n; i++)
		below += small->keys[i] < key;
	return below;
}

/* ---- conversions ---- */

static void free_item(void *unused, const struct lath_item *item)
{
	(void)unused;
	value_free(item->value);
}

/* Puts the entries, n at a time, into a new index. NULL: no memory. */
static struct lath_index *index_of(const struct map *map, enum map_form form)
{
	struct lath_index *index = counted_create(form == MAP_NODES);
	struct map_iter iter;
	struct map_entry entry;

	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	while (index && map_next(&iter, &entry)) {
		struct lath_item item = { entry.key.number, 1, entry.value };

		if (lath_index_insert_item(index, &item, NULL)) {
			points_destroy(index, NULL);
			index = NULL;
		}
	}
	return index;
}

static bool convert(struct map *map, enum map_form form)
{
	struct lath_index *index = index_of(map, form);

	LATH_ASSERT(map->kind == MAP_NUMBERS && form > map->form);
	if (!index)
		return false;
	LATH_ASSERT(lath_index_count(index) == map->count);
	if (map->form == MAP_PACKED)
		vk.Free(map->body);
	else
		points_destroy(map->body, NULL);
	map->body = index;
	map->form = (uint8_t)form;
	return true;
}

/* ---- making and ending ---- */

struct map *map_create(enum map_kind kind, bool keep)
{
	struct map *map = vk.TryAlloc(sizeof(*map));

	if (!map)
		return NULL;
	*map = (struct map){ .kind = (uint8_t)kind, .keep = keep };
	if (kind == MAP_STRINGS) {
		map->body = strings_create();
		if (!map->body) {
			vk.Free(map);
			return NULL;
		}
	}
	return map;
}

/* Takes note of a value that came, and of one that went (0: none). */
static void account(struct map *map, word came, word went)
{
	LATH_ASSERT(!went || value_memory(went) <= map->owned);
	map->owned += came ? value_memory(came) : 0;
	map->owned -= went ? value_memory(went) : 0;
}

void map_free(struct map *map)
{
	struct small small;
	size_t i;

	if (map->kind == MAP_STRINGS) {
		strings_free(map->body);
	} else if (map->form == MAP_PACKED) {
		unpack(map, &small);
		for (i = 0; i < small.n; i++) {
			account(map, 0, small.values[i]);
			value_free(small.values[i]);
		}
		LATH_ASSERT(!map->owned);
		vk.Free(map->body);
	} else {
		/* where no value has a block, the entries need no look */
		points_destroy(map->body, map->owned ? free_item : NULL);
	}
	vk.Free(map);
}

struct map *map_copy(const struct map *map)
{
	struct map *copy = map_create(map->kind, map->keep);
	struct map_iter iter;
	struct map_entry entry;
	char text[VALUE_TEXT];

	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	while (copy && map_next(&iter, &entry)) {
		struct bytes value = value_view(&entry.value, text);

		if (map_set(copy, &entry.key, value_make(value.data, value.size)) < 0) {
			map_free(copy);
			copy = NULL;
		}
	}
	LATH_ASSERT(!copy || (copy->count == map->count && copy->owned == map->owned));
	return copy;
}

/* ---- single entries ---- */

int map_get(const struct map *map, const struct map_key *key, word *value)
{
	struct small small;
	size_t i;

	if (map->kind == MAP_STRINGS)
		return strings_get(map->body, key->string, value);
	if (map->form != MAP_PACKED)
		return lath_index_get(map->body, key->number, value);
	unpack(map, &small);
	i = small_find(&small, key->number);
	*value = small.values[i];
	return i < small.n && small.keys[i] == key->number;
}

void map_get_batch(const struct map *map, size_t n, const struct map_key *keys, word *values)
{
	uint64_t numbers[MAP_BATCH];
	uint8_t hits[MAP_BATCH];
	size_t done = 0, i;

	if (map->kind == MAP_NUMBERS && map->form != MAP_PACKED) {
		for (; done < n; done += i) {
			size_t some = n - done < MAP_BATCH ? n - done : MAP_BATCH;

			for (i = 0; i < some; i++)
				numbers[i] = keys[done + i].number;
			lath_index_get_batch(map->body, some, numbers, values + done, hits);
			for (i = 0; i < some; i++) {
				word *value = &values[done + i];

				*value = hits[i] ? *value : 0;
				if (*value && value_owns(*value))
					__builtin_prefetch((const void *)(uintptr_t)*value);
			}
		}
		return;
	}
	for (i = 0; i < n; i++)
		if (!map_get(map, &keys[i], &values[i]))
			values[i] = 0;
}

/* 1 | 0 (*old) | -ENOMEM */
static int set_small(struct map *map, uint64_t key, word value, word *old)
{
	struct small small;
	size_t i;
	bool there;

	unpack(map, &small);
	i = small_find(&small, key);
	there = i < small.n && small.keys[i] == key;
	if (there) {
		*old = small.values[i];
	} else {
		memmove(&small.keys[i + 1], &small.keys[i], (small.n - i) * sizeof(uint64_t));
		memmove(&small.values[i + 1], &small.values[i], (small.n - i) * sizeof(word));
		small.n++;
	}
	small.keys[i] = key;
	small.values[i] = value;
	return pack(map, &small) ? !there : -ENOMEM;
}

static int set_index(struct map *map, uint64_t key, word value, word *old)
{
	struct lath_item item = { key, 1, value }, before;
	int ret = lath_index_insert_item(map->body, &item, NULL);

	if (ret == -EEXIST) {
		ret = lath_index_replace_item(map->body, key, value, &before);
		LATH_ASSERT(!ret && before.value); /* nobody else changes the index */
		*old = before.value;
		return ret;
	}
	map->count += !ret;
	return ret ? ret : 1;
}

int map_set(struct map *map, const struct map_key *key, word value)
{
	word old = 0;
	int ret;

	if (!value)
		return -ENOMEM;
	if (map->kind == MAP_STRINGS) {
		ret = strings_set(map->body, key->string, value, &old);
		map->count += ret > 0;
		LATH_ASSERT(strings_count(map->body) == map->count);
	} else {
		LATH_ASSERT(map->form != MAP_NODES || map->count <= MAP_MIDDLE);
		/* A full packed map takes no new entry, but a new value for one that is there. */
		if (map->form == MAP_PACKED && map->count >= packed_entries &&
		    !map_get(map, key, &old) && !convert(map, MAP_NODES))
			ret = -ENOMEM;
		else if (map->form == MAP_NODES && map->count == MAP_MIDDLE &&
			 !convert(map, MAP_CHUNKS))
			ret = -ENOMEM;
		else if (map->form == MAP_PACKED)
			ret = set_small(map, key->number, value, &old);
		else
			ret = set_index(map, key->number, value, &old);
	}
	if (ret < 0) {
		value_free(value);
		return ret;
	}
	account(map, value, ret ? 0 : old);
	if (!ret)
		value_free(old);
	return ret;
}

int map_erase(struct map *map, const struct map_key *key, word *old)
{
	struct lath_item item;
	struct small small;
	word value = 0;
	bool packed;
	size_t i;

	if (map->kind == MAP_STRINGS) {
		if (!strings_erase(map->body, key->string, &value))
			return 0;
		map->count--;
		LATH_ASSERT(strings_count(map->body) == map->count);
	} else if (map->form == MAP_PACKED) {
		unpack(map, &small);
		i = small_find(&small, key->number);
		if (i == small.n || small.keys[i] != key->number)
			return 0;
		value = small.values[i];
		small.n--;
		memmove(&small.keys[i], &small.keys[i + 1], (small.n - i) * sizeof(uint64_t));
		memmove(&small.values[i], &small.values[i + 1], (small.n - i) * sizeof(word));
		packed = pack(map, &small);
		LATH_ASSERT(packed); /* fewer entries need no memory */
		(void)packed;
	} else {
		if (lath_index_erase_item(map->body, key->number, &item))
			return 0;
		LATH_ASSERT(map->count && item.key == key->number);
		value = item.value;
		map->count--;
	}
	account(map, 0, value);
	if (old)
		*old = value;
	else
		value_free(value);
	return 1;
}

/* ---- ranges ---- */

/* The numbers from *from to *last. false: there are none. */
static bool numbers_of(const struct map_bound *low, const struct map_bound *high, uint64_t *from,
		       uint64_t *last)
{
	*from = low->infinite ? 0 : low->key.number;
	*last = high->infinite ? UINT64_MAX : high->key.number;
	/* Nothing is above the highest number or below the lowest: the step over an open bound that
	 * is one of these would come out at the other end. */
	if (low->infinite > 0 || high->infinite < 0 ||
	    (!low->infinite && low->open && (*from)++ == UINT64_MAX) ||
	    (!high->infinite && high->open && (*last)-- == 0))
		return false;
	return *from <= *last;
}

void map_iter_begin(struct map_iter *iter, const struct map *map, const struct map_bound *low,
		    const struct map_bound *high, bool back)
{
	iter->map = map;
	iter->low = *low;
	iter->high = *high;
	iter->back = back;
	iter->most = UINT64_MAX;
	iter->at = iter->filled = 0;
	iter->ended = map->kind == MAP_NUMBERS && !numbers_of(low, high, &iter->from, &iter->last);
}

static void fill_small(struct map_iter *iter, size_t max)
{
	struct small small;
	size_t i;

	unpack(iter->map, &small);
	for (i = 0; i < small.n && iter->filled < max; i++) {
		size_t k = iter->back ? small.n - 1 - i : i;

		if (small.keys[k] < iter->from || small.keys[k] > iter->last)
			continue;
		iter->keys[iter->filled] = small.keys[k];
		iter->values[iter->filled++] = small.values[k];
	}
	iter->ended = true;
}

static void fill_back(struct map_iter *iter, size_t max)
{
	struct lath_item items[MAP_BATCH];
	size_t i;

	iter->filled =
		lath_index_scan_back(iter->map->body, iter->last, iter->from, items, max, NULL);
	for (i = 0; i < iter->filled; i++) {
		iter->keys[i] = items[i].key;
		iter->values[i] = items[i].value;
	}
	/* The range ends at from, which may be 0: below it there is no number to go on at. */
	iter->ended = iter->filled < max || iter->keys[iter->filled - 1] == iter->from;
	if (!iter->ended)
		iter->last = iter->keys[iter->filled - 1] - 1;
}

static void fill_forward(struct map_iter *iter, size_t max)
{
	iter->filled = lath_index_scan_values(iter->map->body, iter->from, iter->last, iter->keys,
					      iter->values, max, &iter->from);
	/* from is the number to go on at now; 0: the highest one was read */
	iter->ended = iter->filled < max || !iter->from || iter->from > iter->last;
}

/* For assertions: returns whether the entries that were read follow each other in the direction of
 * the iterator. */
static FOR_ASSERTIONS bool filled_in_order(const struct map_iter *iter)
{
	size_t i;

	for (i = 1; i < iter->filled; i++)
		if (iter->back ? iter->keys[i - 1] <= iter->keys[i]
			       : iter->keys[i - 1] >= iter->keys[i])
			return false;
	return true;
}

static void fill(struct map_iter *iter)
{
	size_t max = iter->most < MAP_BATCH ? (size_t)iter->most : MAP_BATCH, i;

	iter->at = iter->filled = 0;
	if (!max)
		iter->ended = true;
	else if (iter->map->form == MAP_PACKED)
		fill_small(iter, max);
	else if (iter->back)
		fill_back(iter, max);
	else
		fill_forward(iter, max);
	LATH_ASSERT(iter->filled <= max && filled_in_order(iter));
	iter->most -= iter->filled;
	for (i = 0; iter->map->owned && i < iter->filled; i++)
		if (value_owns(iter->values[i]))
			__builtin_prefetch((const void *)(uintptr_t)iter->values[i]);
}

size_t map_next_batch(struct map_iter *iter, const uint64_t **keys, const word **values)
{
	size_t at;

	LATH_ASSERT(iter->map->kind == MAP_NUMBERS && iter->at <= iter->filled);
	if (iter->at == iter->filled && !iter->ended)
		fill(iter);
	at = iter->at;
	iter->at = iter->filled;
	*keys = iter->keys + at;
	*values = iter->values + at;
	return iter->filled - at;
}

int map_next(struct map_iter *iter, struct map_entry *entry)
{
	if (iter->map->kind == MAP_STRINGS)
		return strings_next(iter, entry);
	if (iter->at == iter->filled) {
		if (iter->ended)
			return 0;
		fill(iter);
		if (!iter->filled)
			return 0;
	}
	entry->key.number = iter->keys[iter->at];
	entry->value = iter->values[iter->at++];
	return 1;
}

/* ---- order statistics ---- */

/* How many strings are before a bound: with `end` those of a range that ends there. */
static uint64_t strings_before(const struct map *map, const struct map_bound *bound, bool end)
{
	uint64_t before;

	if (bound->infinite)
		return bound->infinite < 0 ? 0 : map->count;
	before = strings_rank(map->body, bound->key.string, bound->open != end);
	LATH_ASSERT(before <= map->count);
	return before;
}

uint64_t map_count(const struct map *map, const struct map_bound *low, const struct map_bound *high)
{
	struct map_entry entry;
	struct map_iter iter;
	uint64_t from, last, n = 0;

	if (map->kind == MAP_STRINGS) {
		from = strings_before(map, low, false);
		last = strings_before(map, high, true);
		return last > from ? last - from : 0;
	}
	if (map->form != MAP_PACKED)
		return numbers_of(low, high, &from, &last)
			       ? (uint64_t)lath_index_count_range(map->body, from, last)
			       : 0;
	map_iter_begin(&iter, map, low, high, false);
	while (map_next(&iter, &entry))
		n++;
	return n;
}

int map_select(const struct map *map, uint64_t rank, struct map_entry *entry)
{
	struct lath_item item;
	struct map_iter iter;

	if (map->kind == MAP_STRINGS)
		return strings_select(map->body, rank, entry);
	if (map->form != MAP_PACKED) {
		if (lath_index_select(map->body, rank, &item))
			return 0;
		LATH_ASSERT(rank < map->count);
		*entry = (struct map_entry){ .key = { .number = item.key }, .value = item.value };
		return 1;
	}
	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	while (map_next(&iter, entry))
		if (!rank--)
			return 1;
	return 0;
}

/* ---- defragmentation ---- */

/* Values of a packed map that are addresses: six bytes have room for any. */
#define ADDRESS_WIDTH 6

static void defragment_packed(struct map *map, struct vk_defrag *ctx)
{
	char *at;
	uint64_t i;

	map->body = defrag_block(ctx, map->body);
	if (!map->owned || map->value_width < ADDRESS_WIDTH)
		return;
	at = (char *)map->body + sizeof(uint64_t) + map->count * map->key_width;
	for (i = 0; i < map->count; i++, at += map->value_width) {
		word value = 0;

		memcpy(&value, at, map->value_width);
		value = defrag_value(ctx, value);
		/* the new address has as many bytes as the old one had */
		LATH_ASSERT(width_of(value) <= map->value_width);
		memcpy(at, &value, map->value_width);
	}
}

int map_defragment(struct map *map, struct vk_defrag *ctx, uint64_t from)
{
	struct map_bound low = { .key = { .number = from } };
	struct map_entry entry;
	struct map_iter iter;

	if (map->kind == MAP_STRINGS) {
		if (!from)
			map->body = defrag_block(ctx, map->body);
		return strings_defragment(map->body, ctx, from);
	}
	if (map->form == MAP_PACKED) {
		defragment_packed(map, ctx);
		return 0;
	}
	if (!map->owned)
		return 0;
	map_iter_begin(&iter, map, &low, &map_highest, false);
	while (map_next(&iter, &entry)) {
		word moved = defrag_value(ctx, entry.value);

		if (moved != entry.value) {
			int ret = lath_index_replace_item(map->body, entry.key.number, moved, NULL);

			LATH_ASSERT(!ret); /* the iterator has just read it */
			(void)ret;
		}
		/* The cursor is the key to go on at; behind the highest one there is none. */
		if (entry.key.number != UINT64_MAX && defrag_pause(ctx, entry.key.number + 1))
			return 1;
	}
	return 0;
}

/* ---- figures ---- */

size_t map_memory(const struct map *map)
{
	size_t bytes = sizeof(*map) + map->owned;

	if (map->kind == MAP_STRINGS)
		return bytes + strings_memory(map->body);
	return bytes + (map->form == MAP_PACKED ? packed_size(map) : points_memory(map->body));
}

size_t map_effort(const struct map *map)
{
	if (map->form == MAP_PACKED && map->kind == MAP_NUMBERS)
		return 1;
	return 1 + map->count / (map->owned || map->kind == MAP_STRINGS ? 1 : 32);
}
