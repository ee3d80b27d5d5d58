/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map.c - the ordered map of numbers, and what it shares with that of strings.
 */
#include <errno.h>

#include "command.h"
#include "index.h"
#include "map.h"
#include "map_strings.h"

const struct map_bound map_lowest = { .infinite = -1 }, map_highest = { .infinite = 1 };

/* ---- making and ending ---- */

bool map_begin(struct map *map, enum map_kind kind, bool keep)
{
	*map = (struct map){ .kind = (unsigned int)kind & 3, .keep = keep };
	if (kind == MAP_STRINGS)
		return (map->strings = strings_create());
	lath_small_init(&map->numbers, &number_kind);
	return true;
}

struct map *map_create(enum map_kind kind, bool keep)
{
	struct map *map = vk.TryAlloc(sizeof(*map));

	if (map && !map_begin(map, kind, keep)) {
		vk.Free(map);
		map = NULL;
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

static void free_item(void *map, const struct lath_item *item)
{
	account(map, 0, item->value);
	value_free(item->value);
}

void map_free(struct map *map)
{
	if (map->kind == MAP_STRINGS) {
		strings_free(map->strings);
	} else {
		/* where no value has a block, the entries need no look */
		lath_small_fini(&map->numbers, map->owned ? free_item : NULL, map);
		LATH_ASSERT(!map->owned);
	}
	vk.Free(map);
}

uint64_t map_size(const struct map *map)
{
	return map->kind == MAP_STRINGS ? strings_count(map->strings)
					: lath_small_count(&map->numbers);
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
	LATH_ASSERT(!copy || (map_size(copy) == map_size(map) && copy->owned == map->owned));
	return copy;
}

/* ---- single entries ---- */

int map_get(const struct map *map, const struct map_key *key, word *value)
{
	if (map->kind == MAP_STRINGS)
		return strings_get(map->strings, key->string, value);
	return lath_small_get(&map->numbers, key->number, value);
}

void map_get_batch(const struct map *map, size_t n, const struct map_key *keys, word *values)
{
	uint64_t numbers[MAP_BATCH];
	uint8_t hits[MAP_BATCH];
	size_t done = 0, i;

	for (; map->kind != MAP_STRINGS && done < n; done += i) {
		size_t some = n - done < MAP_BATCH ? n - done : MAP_BATCH;

		for (i = 0; i < some; i++)
			numbers[i] = keys[done + i].number;
		lath_small_get_batch(&map->numbers, some, numbers, values + done, hits);
		for (i = 0; i < some; i++) {
			word *value = &values[done + i];

			*value = hits[i] ? *value : 0;
			if (*value && value_owns(*value))
				__builtin_prefetch((const void *)(uintptr_t)*value);
		}
	}
	for (; done < n; done++)
		if (!map_get(map, &keys[done], &values[done]))
			values[done] = 0;
}

/* 1 | 0 (*old) | -ENOMEM */
static int set_number(struct map *map, uint64_t key, word value, word *old)
{
	struct lath_item item = { key, 1, value }, before = { .value = 0 };
	int ret = lath_small_insert_item(&map->numbers, &item, NULL);

	if (ret != -EEXIST)
		return ret ? ret : 1;
	ret = lath_small_replace_item(&map->numbers, key, value, &before);
	LATH_ASSERT(ret == -ENOMEM || before.value); /* nobody else changes the map */
	*old = before.value;
	return ret;
}

int map_set(struct map *map, const struct map_key *key, word value)
{
	word old = 0;
	int ret;

	if (!value)
		return -ENOMEM;
	if (map->kind == MAP_STRINGS)
		ret = strings_set(map->strings, key->string, value, &old);
	else
		ret = set_number(map, key->number, value, &old);
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
	struct lath_item item = { .value = 0 };

	if (map->kind == MAP_STRINGS) {
		if (!strings_erase(map->strings, key->string, &item.value))
			return 0;
	} else if (lath_small_erase_item(&map->numbers, key->number, &item)) {
		return 0;
	}
	account(map, 0, item.value);
	if (old)
		*old = item.value;
	else
		value_free(item.value);
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
	iter->ended = map->kind != MAP_STRINGS && !numbers_of(low, high, &iter->from, &iter->last);
}

static void fill_back(struct map_iter *iter, size_t max)
{
	struct lath_item items[MAP_BATCH];
	size_t i;

	iter->filled =
		lath_small_scan_back(&iter->map->numbers, iter->last, iter->from, items, max, NULL);
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
	iter->filled = lath_small_scan_values(&iter->map->numbers, iter->from, iter->last,
					      iter->keys, iter->values, max, &iter->from);
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

	LATH_ASSERT(iter->map->kind != MAP_STRINGS && iter->at <= iter->filled);
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
		return bound->infinite < 0 ? 0 : map_size(map);
	before = strings_rank(map->strings, bound->key.string, bound->open != end);
	LATH_ASSERT(before <= map_size(map));
	return before;
}

uint64_t map_count(const struct map *map, const struct map_bound *low, const struct map_bound *high)
{
	uint64_t from, last;

	if (map->kind == MAP_STRINGS) {
		from = strings_before(map, low, false);
		last = strings_before(map, high, true);
		return last > from ? last - from : 0;
	}
	return numbers_of(low, high, &from, &last)
		       ? (uint64_t)lath_small_count_range(&map->numbers, from, last)
		       : 0;
}

int map_select(const struct map *map, uint64_t rank, struct map_entry *entry)
{
	struct lath_item item;

	if (map->kind == MAP_STRINGS)
		return strings_select(map->strings, rank, entry);
	if (lath_small_select(&map->numbers, rank, &item))
		return 0;
	LATH_ASSERT(rank < map_size(map));
	*entry = (struct map_entry){ .key = { .number = item.key }, .value = item.value };
	return 1;
}

/* ---- defragmentation ---- */

/* Values that are addresses: six bytes have room for any. Where the block has less, a value that
 * moved could need memory, so the values stay. */
#define ADDRESS_WIDTH 6

static int defragment_numbers(struct map *map, struct vk_defrag *ctx, uint64_t from)
{
	struct map_bound low = { .key = { .number = from } };
	struct map_entry entry;
	struct map_iter iter;

	if (!from)
		defrag_small(ctx, &map->numbers);
	if (!map->owned || lath_small_value_bytes(&map->numbers) < ADDRESS_WIDTH)
		return 0;
	map_iter_begin(&iter, map, &low, &map_highest, false);
	while (map_next(&iter, &entry)) {
		word moved = defrag_value(ctx, entry.value);

		if (moved != entry.value) {
			int ret = lath_small_replace_item(&map->numbers, entry.key.number, moved,
							  NULL);

			LATH_ASSERT(!ret); /* it is there, and the value has six bytes */
			(void)ret;
		}
		/* The cursor is the key to go on at; behind the highest one there is none. */
		if (entry.key.number != UINT64_MAX && defrag_pause(ctx, entry.key.number + 1))
			return 1;
	}
	return 0;
}

int map_defragment(struct map *map, struct vk_defrag *ctx, uint64_t from)
{
	if (map->kind != MAP_STRINGS)
		return defragment_numbers(map, ctx, from);
	if (!from)
		map->strings = defrag_block(ctx, map->strings);
	return strings_defragment(map->strings, ctx, from);
}

/* ---- figures ---- */

size_t map_memory(const struct map *map)
{
	return sizeof(*map) + map->owned +
	       (map->kind == MAP_STRINGS ? strings_memory(map->strings)
					 : lath_small_bytes(&map->numbers));
}

size_t map_effort(const struct map *map)
{
	if (map->kind != MAP_STRINGS && !lath_small_index(&map->numbers))
		return 1;
	return 1 + map_size(map) / (map->owned || map->kind == MAP_STRINGS ? 1 : 32);
}
