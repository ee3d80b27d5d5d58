/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_strings.c - records, in an array or in a set of byte keys.
 */
#include "map_strings.h"

#include <errno.h>
#include <string.h>

#include "block.h"
#include "command.h"
#include "lathwork/bytes.h"

struct record {
	word value;
	uint32_t size;
	char key[];
};

/* A set, and what its trees and arrays take of the server's memory. Another thread that ends a map
 * may free an array of this one, as the callbacks of all are in one queue. */
struct many {
	struct lath_bytes set;
	size_t held;
};

struct strings {
	struct many *many;   /* NULL: the records are in `few` */
	struct record **few; /* sorted; NULL while there are none */
	uint64_t n;	     /* records, in either */
	size_t bytes;	     /* of records */
	char *mark;	     /* the key where a defragmentation goes on; NULL: none is under way */
	size_t mark_size;
};

static struct record *record_of(uint64_t value)
{
	return (struct record *)(uintptr_t)value;
}

static uint64_t value_of(const struct record *record)
{
	return (uint64_t)(uintptr_t)record;
}

static struct bytes key_of(const struct record *record)
{
	return (struct bytes){ record->key, record->size };
}

static struct lath_bytes_key as_key(struct bytes key)
{
	return (struct lath_bytes_key){ key.data, key.size, 0 };
}

/* ---- records ---- */

static size_t record_size(size_t key)
{
	return (sizeof(struct record) + key + 7) & ~7ul;
}

/* NULL: no memory */
static struct record *record_make(struct strings *strings, struct bytes key, word value)
{
	struct record *record;

	if (key.size > VALUE_MAX)
		return NULL;
	record = vk.TryAlloc(record_size(key.size));
	if (!record)
		return NULL;
	LATH_ASSERT(!(value_of(record) & 3)); /* what a set of byte keys takes */
	record->value = value;
	record->size = (uint32_t)key.size;
	if (key.size)
		memcpy(record->key, key.data, key.size);
	strings->bytes += record_size(key.size);
	return record;
}

/* Frees a record. Returns its value, which the caller owns then. */
static word record_end(struct strings *strings, struct record *record)
{
	word value = record->value;

	LATH_ASSERT(record_size(record->size) <= strings->bytes);
	strings->bytes -= record_size(record->size);
	vk.Free(record);
	return value;
}

static void record_end_whole(void *strings, uint64_t value)
{
	value_free(record_end(strings, record_of(value)));
}

/* ---- a few ---- */

/* The first record that is not below the key, or with `behind` that is above it. */
static uint32_t few_find(const struct strings *strings, struct bytes key, bool behind)
{
	uint32_t low = 0, high = (uint32_t)strings->n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = compare_bytes(key_of(strings->few[middle]), key);

		if (order < 0 || (behind && !order))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* For assertions: returns whether the record i is above the one before and below the one behind. */
static FOR_ASSERTIONS bool few_in_order(const struct strings *strings, uint32_t i)
{
	struct record **few = strings->few;

	return (!i || compare_bytes(key_of(few[i - 1]), key_of(few[i])) < 0) &&
	       (i + 1 >= strings->n || compare_bytes(key_of(few[i]), key_of(few[i + 1])) < 0);
}

/* The place of the record with this key, or n. */
static uint32_t few_at(const struct strings *strings, struct bytes key)
{
	uint32_t i = few_find(strings, key, false);
	bool there = i < strings->n && !compare_bytes(key_of(strings->few[i]), key);

	return there ? i : (uint32_t)strings->n;
}

/* ---- many ---- */

static void *many_alloc(void *arg, size_t size, size_t align)
{
	struct many *many = arg;
	void *block = server_memory.alloc(NULL, size, align);

	if (block)
		__atomic_fetch_add(&many->held, size, __ATOMIC_RELAXED);
	return block;
}

static void many_dealloc(void *arg, void *block, size_t size)
{
	struct many *many = arg;

	__atomic_fetch_sub(&many->held, size, __ATOMIC_RELAXED);
	server_memory.free(NULL, block, size);
}

static void record_key(void *unused, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = record_of(value);

	(void)unused;
	*key = as_key(key_of(record));
}

static void many_end(struct many *many, lath_bytes_fn each, void *arg)
{
	lath_bytes_fini(&many->set, each, arg);
	LATH_ASSERT(!many->held);
	server_memory.free(NULL, many, sizeof(*many));
}

/* An empty set. NULL: no memory */
static struct many *many_create(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_bytes_records records = { record_key, NULL, 0 };
	struct many *many = server_memory.alloc(NULL, sizeof(*many), _Alignof(struct lath_bytes));
	struct lath_allocator memory = { many_alloc, many_dealloc, many };

	if (!many)
		return NULL;
	many->held = 0;
	config.flags = LATH_RANKS | LATH_NODE_EACH | LATH_SMALL_PAGES;
	config.rcu = &lath_rcu_single;
	config.allocator = &memory;
	if (lath_bytes_init(&many->set, &records, &config)) {
		server_memory.free(NULL, many, sizeof(*many));
		return NULL;
	}
	return many;
}

/* From the array to a set. false: no memory, nothing changed */
static bool become_many(struct strings *strings)
{
	struct many *many = many_create();
	uint32_t i;

	if (!many)
		return false;
	for (i = 0; i < strings->n; i++)
		if (lath_bytes_insert(&many->set, value_of(strings->few[i]), NULL)) {
			many_end(many, NULL, NULL);
			return false;
		}
	LATH_ASSERT(lath_bytes_count(&many->set) == strings->n);
	vk.Free(strings->few);
	strings->few = NULL;
	strings->many = many;
	return true;
}

/* From the set, which has hardly any records left, to the array. Without memory for that it stays
 * as it is. */
static void become_few(struct strings *strings)
{
	struct record **few = strings->n ? vk.TryAlloc(block_size(strings->n, sizeof(*few))) : NULL;
	uint64_t values[STRINGS_HARDLY_ANY];
	size_t n, i;

	if (!few && strings->n)
		return;
	LATH_ASSERT(strings->n <= STRINGS_HARDLY_ANY);
	n = lath_bytes_scan(&strings->many->set, NULL, 0, values, STRINGS_HARDLY_ANY);
	for (i = 0; i < n; i++)
		few[i] = record_of(values[i]);
	many_end(strings->many, NULL, NULL);
	strings->many = NULL;
	strings->few = few;
	LATH_ASSERT(n == strings->n);
}

/* ---- making and ending ---- */

struct strings *strings_create(void)
{
	struct strings *strings = vk.TryAlloc(sizeof(*strings));

	if (strings)
		*strings = (struct strings){ 0 };
	return strings;
}

void strings_free(struct strings *strings)
{
	uint32_t i;

	if (strings->many)
		many_end(strings->many, record_end_whole, strings);
	for (i = 0; !strings->many && i < strings->n; i++)
		record_end_whole(strings, value_of(strings->few[i]));
	LATH_ASSERT(!strings->bytes);
	vk.Free(strings->few);
	vk.Free(strings->mark);
	vk.Free(strings);
}

size_t strings_memory(const struct strings *strings)
{
	size_t bytes = sizeof(*strings) + strings->bytes;

	if (!strings->many)
		return bytes + block_size(strings->n, sizeof(struct record *));
	return bytes + sizeof(*strings->many) +
	       __atomic_load_n(&strings->many->held, __ATOMIC_RELAXED);
}

/* ---- single entries ---- */

int strings_get(const struct strings *strings, struct bytes key, word *value)
{
	struct lath_bytes_key wanted = as_key(key);
	uint64_t there;
	uint32_t i;

	if (strings->many) {
		if (!lath_bytes_get(&strings->many->set, &wanted, &there))
			return 0;
		*value = record_of(there)->value;
		return 1;
	}
	i = few_at(strings, key);
	if (i == strings->n)
		return 0;
	*value = strings->few[i]->value;
	return 1;
}

uint64_t strings_count(const struct strings *strings)
{
	return strings->n;
}

/* strings_set() in the set: a look, and the change where the look has ended. */
static int set_in_many(struct strings *strings, struct bytes key, word value, word *old)
{
	struct lath_bytes_key wanted = as_key(key);
	struct lath_bytes_place place;
	struct record *record;
	int ret = 0;

	lath_rcu_single.read_lock();
	if (lath_bytes_find(&strings->many->set, &wanted, &place)) {
		record = record_of(place.value);
		*old = record->value;
		record->value = value;
	} else {
		record = record_make(strings, key, value);
		ret = record ? lath_bytes_put(&strings->many->set, &place, value_of(record))
			     : -ENOMEM;
		LATH_ASSERT(!ret || ret == -ENOMEM); /* nobody else changes the set */
		if (ret && record)
			record_end(strings, record);
		strings->n += !ret;
		ret = ret ? -ENOMEM : 1;
	}
	lath_rcu_single.read_unlock();
	return ret;
}

static int set_in_few(struct strings *strings, struct bytes key, word value, word *old)
{
	uint32_t i = few_find(strings, key, false);
	struct record *record, **few;

	if (i < strings->n && !compare_bytes(key_of(strings->few[i]), key)) {
		*old = strings->few[i]->value;
		strings->few[i]->value = value;
		return 0;
	}
	if (strings->n == STRINGS_FEW)
		return become_many(strings) ? set_in_many(strings, key, value, old) : -ENOMEM;
	record = record_make(strings, key, value);
	if (!record)
		return -ENOMEM;
	few = block_insert(strings->few, strings->n, i, &record, sizeof(*few));
	if (!few) {
		record_end(strings, record);
		return -ENOMEM;
	}
	strings->few = few;
	strings->n++;
	LATH_ASSERT(few_in_order(strings, i));
	return 1;
}

int strings_set(struct strings *strings, struct bytes key, word value, word *old)
{
	return strings->many ? set_in_many(strings, key, value, old)
			     : set_in_few(strings, key, value, old);
}

int strings_erase(struct strings *strings, struct bytes key, word *old)
{
	struct lath_bytes_key wanted = as_key(key);
	uint64_t value;
	uint32_t i;

	if (strings->many) {
		if (lath_bytes_erase(&strings->many->set, &wanted, &value))
			return 0;
		LATH_ASSERT(strings->n && !strings->few); /* records are in one form only */
		*old = record_end(strings, record_of(value));
		if (--strings->n <= STRINGS_HARDLY_ANY)
			become_few(strings);
		return 1;
	}
	i = few_at(strings, key);
	if (i == strings->n)
		return 0;
	*old = record_end(strings, strings->few[i]);
	strings->few = block_remove(strings->few, strings->n--, i, sizeof(struct record *));
	return 1;
}

/* ---- ranges ---- */

/* Copies records from the bound on, in order or backwards, at most max. Returns how many. */
static size_t copy_some(const struct strings *strings, const struct map_bound *from, bool back,
			uint64_t *values, size_t max)
{
	struct lath_bytes_key key = as_key(from->key.string);
	unsigned int flags = (back ? LATH_BYTES_BACK : 0) | (from->open ? LATH_BYTES_BEHIND : 0);
	size_t n = 0;
	uint32_t i;

	if (strings->many)
		return lath_bytes_scan(&strings->many->set, from->infinite ? NULL : &key, flags,
				       values, max);
	if (from->infinite)
		i = back ? (uint32_t)strings->n : 0;
	else
		i = few_find(strings, from->key.string, from->open != back);
	while (n < max && (back ? i > 0 : i < strings->n))
		values[n++] = value_of(strings->few[back ? --i : i++]);
	return n;
}

/* Reads ahead: a few records first, as many callers want no more. */
static void read_ahead(struct map_iter *iter, const struct map_bound *here)
{
	size_t max = iter->filled ? MAP_BATCH : 8, i;

	if (max > iter->most)
		max = (size_t)iter->most;
	iter->at = 0;
	iter->filled = copy_some(iter->map->strings, here, iter->back, iter->values, max);
	iter->ended = iter->filled < max;
	for (i = 0; i < iter->filled; i++)
		__builtin_prefetch(record_of(iter->values[i]));
}

/* For assertions: returns whether the record is on the right side of a bound where a range begins.
 */
static FOR_ASSERTIONS bool follows(const struct map_bound *bound, const struct record *record,
				   bool back)
{
	int order = bound->infinite ? 1 : compare_bytes(key_of(record), bound->key.string);

	if (back && !bound->infinite)
		order = -order;
	return order > 0 || (!order && !bound->open);
}

int strings_next(struct map_iter *iter, struct map_entry *entry)
{
	struct map_bound *here = iter->back ? &iter->high : &iter->low;
	const struct map_bound *end = iter->back ? &iter->low : &iter->high;
	struct record *record;
	int order;

	if (!iter->most || here->infinite == (iter->back ? -1 : 1) ||
	    end->infinite == (iter->back ? 1 : -1))
		return 0;
	if (iter->at == iter->filled && !iter->ended)
		read_ahead(iter, here);
	if (iter->at == iter->filled)
		return 0;
	record = record_of(iter->values[iter->at++]);
	LATH_ASSERT(follows(here, record, iter->back));
	order = end->infinite ? -1 : compare_bytes(key_of(record), end->key.string);
	if (iter->back && !end->infinite)
		order = -order;
	if (order > 0 || (!order && end->open)) {
		iter->most = 0;
		return 0;
	}
	*here = (struct map_bound){ .key = { 0, key_of(record) }, .open = true };
	entry->key = here->key;
	entry->value = record->value;
	iter->most--;
	return 1;
}

uint64_t strings_rank(const struct strings *strings, struct bytes key, bool equal)
{
	struct lath_bytes_key wanted = as_key(key);

	if (strings->many)
		return (uint64_t)lath_bytes_rank(&strings->many->set, &wanted,
						 equal ? LATH_BYTES_BEHIND : 0);
	return few_find(strings, key, equal);
}

int strings_select(const struct strings *strings, uint64_t rank, struct map_entry *entry)
{
	struct record *record;
	uint64_t value;

	if (strings->many) {
		if (lath_bytes_select(&strings->many->set, rank, &value))
			return 0;
		record = record_of(value);
	} else {
		if (rank >= strings->n)
			return 0;
		record = strings->few[rank];
	}
	*entry = (struct map_entry){ .key = { 0, key_of(record) }, .value = record->value };
	return 1;
}

/* ---- defragmentation ---- */

static struct record *move_record(struct vk_defrag *ctx, struct record *record)
{
	record = defrag_block(ctx, record);
	record->value = defrag_value(ctx, record->value);
	return record;
}

/* Moves a record of the set. Its place is found before, as the set must not look at the key of a
 * record that is not there any more; put() does not. Returns where the record is now. */
static struct record *move_in_set(struct lath_bytes *set, struct vk_defrag *ctx,
				  struct record *record)
{
	struct lath_bytes_key key = as_key(key_of(record));
	struct lath_bytes_place place;
	struct record *moved;
	int ret;

	lath_rcu_single.read_lock();
	ret = lath_bytes_find(set, &key, &place);
	LATH_ASSERT(ret && place.value == value_of(record));
	moved = move_record(ctx, record);
	if (moved != record) {
		ret = lath_bytes_put(set, &place, value_of(moved));
		LATH_ASSERT(!ret); /* it replaces a record, and nobody else changes the set */
	}
	lath_rcu_single.read_unlock();
	(void)ret;
	return moved;
}

/* Notes the key of a record, to go on behind it. false: no memory. */
static bool set_mark(struct strings *strings, const struct record *record)
{
	LATH_ASSERT(!strings->mark); /* the one before was freed */
	strings->mark = vk.TryAlloc(record->size + 1);
	if (!strings->mark)
		return false;
	memcpy(strings->mark, record->key, record->size);
	strings->mark_size = record->size;
	return true;
}

/* The cursor of the server says that there is a mark; the mark says where. */
int strings_defragment(struct strings *strings, struct vk_defrag *ctx, uint64_t from)
{
	struct map_bound next = { .infinite = -1 };
	struct record *record;
	uint64_t value;
	char *mark = strings->mark;
	uint32_t i;

	if (!strings->many) {
		strings->few = defrag_block(ctx, strings->few);
		for (i = 0; i < strings->n; i++)
			strings->few[i] = move_record(ctx, strings->few[i]);
		return 0;
	}
	if (from && mark)
		next = (struct map_bound){ .key = { 0, { mark, strings->mark_size } },
					   .open = true };
	strings->mark = NULL;
	while (copy_some(strings, &next, false, &value, 1)) {
		record = move_in_set(&strings->many->set, ctx, record_of(value));
		next = (struct map_bound){ .key = { 0, key_of(record) }, .open = true };
		if (defrag_pause(ctx, 1)) {
			vk.Free(mark);
			return set_mark(strings, record);
		}
	}
	vk.Free(mark);
	return 0;
}
