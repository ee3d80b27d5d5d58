/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.c - ranges, their records, and the two forms of a pool.
 */
#include "pool.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "block.h"
#include "command.h"
#include "index.h"

enum { PACKED, NODES, CHUNKS };

/* What a range has for a value: nothing, a mark, or the address of its record. */
#define PLAIN 0ull
#define OUTSIDE 1ull

struct record {
	struct record *next; /* with the same hash of the owner */
	uint64_t first, size;
	uint64_t expires; /* 0: never */
	uint64_t lease;	  /* the key in `leases`, if expires */
	uint32_t owner_size;
	bool owned; /* there is an owner; it may be empty */
	char owner[];
};

static struct record *record_of(uint64_t value)
{
	return value == PLAIN || value == OUTSIDE ? NULL : (struct record *)(uintptr_t)value;
}

/* ---- ranges ---- */

static bool ends_before(const struct lath_item *a, const struct lath_item *b)
{
	return a->key < b->key && b->key - a->key >= a->size;
}

/* For assertions: returns whether the range i begins behind the one before it and ends before the
 * next one. */
static FOR_ASSERTIONS bool in_order(const struct lath_item *items, size_t n, size_t i)
{
	return (!i || ends_before(&items[i - 1], &items[i])) &&
	       (i + 1 >= n || ends_before(&items[i], &items[i + 1]));
}

static size_t packed_find(const struct pool *pool, uint64_t from)
{
	const struct lath_item *items = pool->body;
	size_t i = 0;

	while (i < pool->count && items[i].key < from)
		i++;
	return i;
}

static int ceiling(const struct pool *pool, uint64_t from, struct lath_item *item)
{
	size_t i;

	if (pool->form != PACKED)
		return !lath_index_ceiling_item(pool->body, from, item);
	i = packed_find(pool, from);
	if (i == pool->count)
		return 0;
	*item = ((struct lath_item *)pool->body)[i];
	LATH_ASSERT(item->size && in_order(pool->body, pool->count, i));
	return 1;
}

static int covering(const struct pool *pool, uint64_t number, struct lath_item *item)
{
	const struct lath_item *items = pool->body;
	size_t i;

	if (pool->form != PACKED)
		return !lath_index_lookup_item(pool->body, number, item);
	for (i = 0; i < pool->count; i++)
		if (number >= items[i].key && number - items[i].key < items[i].size) {
			*item = items[i];
			return 1;
		}
	return 0;
}

static void free_record(void *unused, const struct lath_item *item)
{
	(void)unused;
	vk.Free(record_of(item->value));
}

static bool convert(struct pool *pool, int form)
{
	struct lath_index *index = holes_create(form == NODES);
	struct lath_item item;
	uint64_t from = 0;

	while (index && ceiling(pool, from, &item)) {
		if (lath_index_insert_item(index, &item, NULL)) {
			points_destroy(index, NULL);
			index = NULL;
		}
		from = item.key + item.size;
		if (!from)
			break;
	}
	LATH_ASSERT(form > pool->form);
	if (!index)
		return false;
	LATH_ASSERT(lath_index_count(index) == pool->count);
	if (pool->form == PACKED)
		vk.Free(pool->body);
	else
		points_destroy(pool->body, NULL);
	pool->body = index;
	pool->form = (uint8_t)form;
	return true;
}

/* Before a range comes: the form that is right for one more. false: no memory. */
static bool make_room(struct pool *pool)
{
	if (pool->form == PACKED && pool->count >= packed_entries)
		return convert(pool, NODES);
	if (pool->form == NODES && pool->count >= POOL_MIDDLE)
		return convert(pool, CHUNKS);
	return true;
}

/* 0 | -EEXIST | -EINVAL | -ENOMEM */
static int insert(struct pool *pool, const struct lath_item *item)
{
	struct lath_item *items, there;
	size_t i;
	int ret = 0;

	if (!item->size || item->key + (item->size - 1) < item->key)
		return -EINVAL;
	if (!make_room(pool))
		return -ENOMEM;
	if (pool->form != PACKED) {
		ret = lath_index_insert_item(pool->body, item, NULL);
	} else {
		if (covering(pool, item->key, &there) ||
		    (ceiling(pool, item->key, &there) && there.key - item->key < item->size))
			return -EEXIST;
		i = packed_find(pool, item->key);
		items = block_insert(pool->body, pool->count, i, item, sizeof(*items));
		if (!items)
			return -ENOMEM;
		pool->body = items;
		LATH_ASSERT(in_order(items, pool->count + 1, i));
	}
	pool->count += !ret;
	return ret;
}

/* Erases the range that begins at `first`, which is there. */
static void erase(struct pool *pool, uint64_t first)
{
	struct lath_item *items = pool->body;
	size_t i;
	int ret;

	LATH_ASSERT(pool->count);
	if (pool->form != PACKED) {
		ret = lath_index_erase_item(pool->body, first, NULL);
		LATH_ASSERT(!ret);
		(void)ret;
		pool->count--;
		return;
	}
	i = packed_find(pool, first);
	LATH_ASSERT(i < pool->count && items[i].key == first);
	pool->body = block_remove(items, pool->count--, i, sizeof(*items));
}

/* Sets the value of the range that begins at `first`, which is there. */
static void set_value(struct pool *pool, uint64_t first, uint64_t value)
{
	struct lath_item *items = pool->body;
	size_t i;
	int ret;

	if (pool->form != PACKED) {
		ret = lath_index_replace_item(pool->body, first, value, NULL);
		LATH_ASSERT(!ret);
		(void)ret;
		return;
	}
	i = packed_find(pool, first);
	LATH_ASSERT(i < pool->count && items[i].key == first);
	items[i].value = value;
}

/* ---- records ---- */

static uint64_t hash_of(struct bytes owner)
{
	return XXH3_64bits(owner.data, owner.size);
}

static size_t record_size(const struct record *record)
{
	return (sizeof(*record) + record->owner_size + 7) & ~7ul;
}

static struct bytes owner_of(const struct record *record)
{
	return (struct bytes){ record->owned ? record->owner : NULL, record->owner_size };
}

static bool link_owner(struct pool *pool, struct record *record)
{
	uint64_t hash = hash_of(owner_of(record)), chain;
	struct lath_item item = { hash, 1, (uint64_t)(uintptr_t)record };

	if (!pool->owners)
		pool->owners = points_create(true);
	if (!pool->owners)
		return false;
	if (!lath_index_get(pool->owners, hash, &chain))
		return !lath_index_insert_item(pool->owners, &item, NULL);
	record->next = (struct record *)(uintptr_t)chain;
	return !lath_index_replace_item(pool->owners, hash, item.value, NULL);
}

static void unlink_owner(struct pool *pool, struct record *record)
{
	uint64_t hash = hash_of(owner_of(record)), chain = 0;
	struct record *at;

	LATH_ASSERT(pool->owners && record->owned);
	lath_index_get(pool->owners, hash, &chain);
	LATH_ASSERT(chain); /* link_owner() put it there */
	at = (struct record *)(uintptr_t)chain;
	if (at == record) {
		if (record->next)
			lath_index_replace_item(pool->owners, hash,
						(uint64_t)(uintptr_t)record->next, NULL);
		else
			lath_index_erase_item(pool->owners, hash, NULL);
		return;
	}
	while (at->next != record) {
		at = at->next;
		LATH_ASSERT(at); /* the record is in the chain of its hash */
	}
	at->next = record->next;
}

/* Keys of `leases`: milliseconds since 1970, and in the lowest bits a number by which leases that
 * end at one time differ. Times beyond the year 2500 are one time. */
#define LEASE_BITS 20

static bool link_lease(struct pool *pool, struct record *record, uint64_t expires)
{
	uint64_t most = (1ull << (64 - LEASE_BITS)) - 2;
	struct lath_item item = { (expires < most ? expires : most) << LEASE_BITS, 1,
				  (uint64_t)(uintptr_t)record };
	int ret;

	LATH_ASSERT(expires && !record->expires); /* it has no lease yet */
	item.key += pool->lease_turn++ & ((1u << LEASE_BITS) - 1);
	if (!pool->leases)
		pool->leases = points_create(true);
	if (!pool->leases)
		return false;
	/* the number is taken when as many leases came since the one that has it: the next one */
	while ((ret = lath_index_insert_item(pool->leases, &item, NULL)) == -EEXIST)
		item.key++;
	if (ret)
		return false;
	record->expires = expires;
	record->lease = item.key;
	pool->leased++;
	return true;
}

/* Erases a lease by the key that link_lease() gave it. */
static void erase_lease(struct pool *pool, uint64_t key)
{
	int ret;

	LATH_ASSERT(pool->leased);
	ret = lath_index_erase_item(pool->leases, key, NULL);
	LATH_ASSERT(!ret);
	(void)ret;
	pool->leased--;
}

static void unlink_lease(struct pool *pool, struct record *record)
{
	if (record->expires)
		erase_lease(pool, record->lease);
	record->expires = 0;
}

static void record_end(struct pool *pool, struct record *record)
{
	unlink_lease(pool, record);
	if (record->owned)
		unlink_owner(pool, record);
	LATH_ASSERT(record_size(record) <= pool->owned);
	pool->owned -= record_size(record);
	vk.Free(record);
}

/* The value of a range: its record, if it needs one. false: no memory. */
static bool make_value(struct pool *pool, const struct pool_range *range, uint64_t *value)
{
	struct record *record;

	*value = PLAIN;
	if (!range->owner.data && !range->expires)
		return true;
	if (range->owner.size > VALUE_MAX)
		return false;
	record = vk.TryAlloc(sizeof(*record) + range->owner.size);
	if (!record)
		return false;
	*record = (struct record){ .first = range->first,
				   .size = range->size,
				   .owner_size = (uint32_t)range->owner.size,
				   .owned = range->owner.data };
	if (range->owner.size)
		memcpy(record->owner, range->owner.data, range->owner.size);
	if (record->owned && !link_owner(pool, record)) {
		vk.Free(record);
		return false;
	}
	pool->owned += record_size(record);
	if (range->expires && !link_lease(pool, record, range->expires)) {
		record_end(pool, record);
		return false;
	}
	*value = (uint64_t)(uintptr_t)record;
	return true;
}

static void show(const struct lath_item *item, struct pool_range *range)
{
	const struct record *record = record_of(item->value);

	LATH_ASSERT(!record || (record->first == item->key && record->size == item->size));
	*range = (struct pool_range){ item->key, item->size, { NULL, 0 }, 0 };
	if (record) {
		range->owner = owner_of(record);
		range->expires = record->expires;
	}
}

/* ---- making and ending ---- */

struct pool *pool_empty(void)
{
	struct pool *pool = vk.TryAlloc(sizeof(*pool));

	if (pool)
		*pool = (struct pool){ 0 };
	return pool;
}

int pool_exclude(struct pool *pool, uint64_t first, uint64_t size)
{
	struct lath_item item = { first, size, OUTSIDE };
	int ret = insert(pool, &item);

	if (ret)
		return ret;
	pool->outside++;
	pool->capacity -= size;
	LATH_ASSERT(pool->taken <= pool->capacity);
	return 0;
}

struct pool *pool_create(uint64_t first, uint64_t size)
{
	uint64_t behind = first + size;
	struct pool *pool = pool_empty();

	if (pool && ((first && pool_exclude(pool, 0, first)) ||
		     (behind && pool_exclude(pool, behind, 0 - behind)))) {
		pool_free(pool);
		pool = NULL;
	}
	return pool;
}

void pool_free(struct pool *pool)
{
	struct lath_item *items = pool->body;
	size_t i;

	if (pool->owners)
		points_destroy(pool->owners, NULL);
	if (pool->leases)
		points_destroy(pool->leases, NULL);
	if (pool->form == PACKED) {
		for (i = 0; i < pool->count; i++)
			vk.Free(record_of(items[i].value));
		vk.Free(items);
	} else {
		/* without records the ranges need no look */
		points_destroy(pool->body, pool->owned ? free_record : NULL);
	}
	vk.Free(pool);
}

int pool_add(struct pool *pool, uint64_t first, uint64_t size)
{
	struct lath_item there, part;
	uint64_t behind = first + size, end;

	if (!size || behind - 1 < first)
		return -EINVAL;
	if (!covering(pool, first, &there) || there.value != OUTSIDE ||
	    there.size - (first - there.key) < size)
		return -EEXIST;
	end = there.key + there.size;
	if (pool->capacity + size < size) /* 2^64 numbers are one too many */
		return -EINVAL;
	/* the form for both parts, before anything changes */
	if ((pool->form == PACKED && pool->count + 2 > packed_entries && !convert(pool, NODES)) ||
	    (pool->form == NODES && pool->count + 2 > POOL_MIDDLE && !convert(pool, CHUNKS)))
		return -ENOMEM;
	erase(pool, there.key);
	part = (struct lath_item){ behind, end - behind, OUTSIDE };
	if (behind != end && insert(pool, &part)) {
		insert(pool, &there);
		return -ENOMEM;
	}
	part = (struct lath_item){ there.key, first - there.key, OUTSIDE };
	if (part.size && insert(pool, &part)) {
		if (behind != end)
			erase(pool, behind);
		insert(pool, &there);
		return -ENOMEM;
	}
	pool->outside += (behind != end) + (part.size != 0);
	pool->outside--;
	pool->capacity += size;
	return 0;
}

/* For assertions: returns whether two pools have as many ranges, numbers and leases. */
static FOR_ASSERTIONS bool same_figures(const struct pool *a, const struct pool *b)
{
	return a->count == b->count && a->outside == b->outside && a->capacity == b->capacity &&
	       a->taken == b->taken && a->leased == b->leased && a->owned == b->owned;
}

struct pool *pool_copy(const struct pool *pool)
{
	struct pool *copy = pool_empty();
	struct pool_range range;
	uint64_t from = 0;
	bool outside;
	int ret = 0;

	while (copy && !ret && pool_next(pool, from, &range, &outside)) {
		ret = outside ? pool_exclude(copy, range.first, range.size)
			      : pool_reserve(copy, &range);
		from = range.first + range.size;
		if (!from) /* the range ends with the highest number */
			break;
	}
	LATH_ASSERT(!copy || ret || same_figures(pool, copy));
	if (!ret)
		return copy;
	pool_free(copy);
	return NULL;
}

/* Moves a record, and what points to it with it. */
static void move_record(struct pool *pool, uint64_t value, struct vk_defrag *ctx)
{
	struct record *record = defrag_block(ctx, record_of(value)), *at;
	uint64_t moved = (uint64_t)(uintptr_t)record, hash, chain = 0;

	if (!record || moved == value)
		return;
	set_value(pool, record->first, moved);
	if (record->expires) {
		int ret = lath_index_replace_item(pool->leases, record->lease, moved, NULL);

		LATH_ASSERT(!ret);
		(void)ret;
	}
	if (!record->owned)
		return;
	hash = hash_of(owner_of(record));
	lath_index_get(pool->owners, hash, &chain);
	if (chain == value) {
		lath_index_replace_item(pool->owners, hash, moved, NULL);
		return;
	}
	LATH_ASSERT(chain);
	for (at = (struct record *)(uintptr_t)chain; (uintptr_t)at->next != value;) {
		at = at->next;
		LATH_ASSERT(at);
	}
	at->next = record;
}

int pool_defragment(struct pool *pool, struct vk_defrag *ctx, uint64_t from)
{
	struct lath_item item;

	if (!from && pool->form == PACKED)
		pool->body = defrag_block(ctx, pool->body);
	while (pool->owned && ceiling(pool, from, &item)) {
		move_record(pool, item.value, ctx);
		from = item.key + item.size;
		if (!from)
			return 0;
		if (defrag_pause(ctx, from))
			return 1;
	}
	return 0;
}

/* ---- taking and giving ---- */

int pool_reserve(struct pool *pool, const struct pool_range *range)
{
	struct lath_item item = { range->first, range->size, PLAIN };
	int ret = insert(pool, &item); /* first: a record for a range that is taken costs more */

	if (ret)
		return ret;
	if (!make_value(pool, range, &item.value)) {
		erase(pool, range->first);
		return -ENOMEM;
	}
	if (item.value != PLAIN)
		set_value(pool, range->first, item.value);
	pool->taken += range->size;
	return 0;
}

/* For assertions: returns whether a range that begins at `first` is what the request asks for. */
static FOR_ASSERTIONS bool fits(const struct lath_hole_request *want, uint64_t first)
{
	uint64_t last = first + (want->size - 1);

	return first >= want->low && last >= first && last <= want->high - 1 &&
	       (!want->align || !(first & (want->align - 1)));
}

int pool_take(struct pool *pool, const struct lath_hole_request *want, struct pool_range *range)
{
	uint64_t value;
	int ret;

	range->size = want->size;
	if (!make_room(pool))
		return -ENOMEM;
	if (pool->form == PACKED) {
		ret = packed_place(pool->body, pool->count, want, &range->first);
		LATH_ASSERT(ret || fits(want, range->first));
		return ret ? ret : pool_reserve(pool, range);
	}
	ret = lath_index_insert_hole(pool->body, want, PLAIN, &range->first);
	if (ret)
		return ret;
	LATH_ASSERT(fits(want, range->first));
	pool->count++;
	if (!make_value(pool, range, &value)) {
		erase(pool, range->first);
		return -ENOMEM;
	}
	if (value != PLAIN)
		set_value(pool, range->first, value);
	pool->taken += range->size;
	return 0;
}

/* The range that begins at `first`. */
static int starting(const struct pool *pool, uint64_t first, struct lath_item *item)
{
	return covering(pool, first, item) && item->key == first && item->value != OUTSIDE;
}

int pool_give(struct pool *pool, uint64_t first)
{
	struct lath_item item;

	if (!starting(pool, first, &item))
		return -ENOENT;
	erase(pool, first);
	LATH_ASSERT(item.size <= pool->taken);
	pool->taken -= item.size;
	if (item.value != PLAIN)
		record_end(pool, record_of(item.value));
	return 0;
}

int pool_lease(struct pool *pool, uint64_t first, uint64_t expires)
{
	struct pool_range range;
	struct lath_item item;
	struct record *record;
	uint64_t before, key;

	if (!starting(pool, first, &item))
		return -ENOENT;
	record = record_of(item.value);
	if (!record) {
		show(&item, &range);
		range.expires = expires;
		if (!make_value(pool, &range, &item.value))
			return -ENOMEM;
		set_value(pool, first, item.value);
		return 0;
	}
	/* The new one first: without memory for it the one before stays. */
	before = record->expires;
	key = record->lease;
	record->expires = 0;
	if (expires && !link_lease(pool, record, expires)) {
		record->expires = before;
		return -ENOMEM;
	}
	if (before)
		erase_lease(pool, key);
	return 0;
}

/* ---- looking ---- */

int pool_find(const struct pool *pool, uint64_t number, struct pool_range *range)
{
	struct lath_item item;

	if (!covering(pool, number, &item) || item.value == OUTSIDE)
		return 0;
	show(&item, range);
	return 1;
}

/* For assertions: returns whether the range of a record that an owner or a lease led to is in the
 * pool and has this record. */
static FOR_ASSERTIONS bool agrees(const struct pool *pool, const struct record *record)
{
	struct lath_item item;

	return starting(pool, record->first, &item) && item.size == record->size &&
	       record_of(item.value) == record;
}

static void show_record(const struct record *record, struct pool_range *range)
{
	*range = (struct pool_range){ record->first, record->size, owner_of(record),
				      record->expires };
}

int pool_owner(const struct pool *pool, struct bytes owner, struct pool_range *range)
{
	const struct record *record;
	uint64_t chain;

	if (!pool->owners || !lath_index_get(pool->owners, hash_of(owner), &chain))
		return 0;
	for (record = (const struct record *)(uintptr_t)chain; record; record = record->next)
		if (!compare_bytes(owner_of(record), owner)) {
			LATH_ASSERT(agrees(pool, record));
			show_record(record, range);
			return 1;
		}
	return 0;
}

int pool_first_lease(const struct pool *pool, struct pool_range *range)
{
	const struct record *record;
	struct lath_item item;

	if (!pool->leased || lath_index_first_item(pool->leases, &item))
		return 0;
	record = record_of(item.value);
	LATH_ASSERT(record->expires && record->lease == item.key && agrees(pool, record));
	show_record(record, range);
	return 1;
}

int pool_next(const struct pool *pool, uint64_t from, struct pool_range *range, bool *outside)
{
	struct lath_item item;

	if (!ceiling(pool, from, &item))
		return 0;
	LATH_ASSERT(item.key >= from);
	*outside = item.value == OUTSIDE;
	show(&item, range);
	return 1;
}

int pool_next_free(const struct pool *pool, uint64_t from, uint64_t *first, uint64_t *size)
{
	struct lath_item item;

	while (covering(pool, from, &item)) {
		from = item.key + item.size;
		if (!from)
			return 0;
	}
	*first = from;
	*size = ceiling(pool, from, &item) ? item.key - from : 0 - from;
	LATH_ASSERT(*size || !pool->count); /* all 2^64 numbers of pool_empty() */
	return 1;
}

void pool_holes(const struct pool *pool, uint64_t max_leaves, struct lath_hole_stats *stats)
{
	uint64_t from = 0, first, size;

	if (pool->form != PACKED) {
		lath_index_hole_stats(pool->body, 0, 0, max_leaves, stats);
		return;
	}
	memset(stats, 0, sizeof(*stats));
	while (pool_next_free(pool, from, &first, &size)) {
		stats->holes++;
		stats->free += size;
		if (stats->largest < size)
			stats->largest = size;
		from = first + size;
		if (!from)
			break;
	}
	if (stats->free)
		stats->fragmentation_permille =
			1000 - (uint64_t)(1000.0 * (double)stats->largest / (double)stats->free);
}

size_t pool_memory(const struct pool *pool)
{
	size_t bytes = sizeof(*pool) + pool->owned;

	if (pool->owners)
		bytes += points_memory(pool->owners);
	if (pool->leases)
		bytes += points_memory(pool->leases);
	return bytes + (pool->form == PACKED ? block_size(pool->count, sizeof(struct lath_item))
					     : points_memory(pool->body));
}

size_t pool_effort(const struct pool *pool)
{
	return 1 + pool->count / (pool->owned ? 1 : 32);
}
