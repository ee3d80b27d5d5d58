/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.c - ranges, and their records.
 */
#include "pool.h"

#include <errno.h>
#include <string.h>

#include "command.h"
#include "index.h"

/* What a range has for a value: nothing, a mark, or the address of its record. An address has the
 * highest bit, which no address has by itself: so it takes eight bytes in a block, and another one
 * in its place needs no memory. */
#define PLAIN 0ull
#define OUTSIDE 1ull
#define ADDRESS (1ull << 63)

struct record {
	struct record *next; /* with the same hash of the owner */
	uint64_t first, size;
	uint64_t expires;	       /* 0: never */
	struct record *later, *sooner; /* of those whose leases end at one time; sooner NULL: the
					  first of them */
	uint32_t owner_size;
	bool owned; /* there is an owner; it may be empty */
	char owner[];
};

static struct record *record_of(uint64_t value)
{
	return value & ADDRESS ? (struct record *)(uintptr_t)(value & ~ADDRESS) : NULL;
}

static uint64_t value_of(const struct record *record)
{
	LATH_ASSERT(!((uintptr_t)record & ADDRESS));
	return (uintptr_t)record | ADDRESS;
}

/* ---- ranges ---- */

uint64_t pool_count(const struct pool *pool)
{
	return lath_small_count(&pool->ranges);
}

uint64_t pool_leased(const struct pool *pool)
{
	return pool->records ? pool->records->leased : 0;
}

/* Returns the bytes of records. */
static uint64_t owned(const struct pool *pool)
{
	return pool->records ? pool->records->bytes : 0;
}

/* Sets the value of an item that is there, where it needs no memory. */
static void set_value(struct lath_small *in, uint64_t key, uint64_t value)
{
	int ret = lath_small_replace_item(in, key, value, NULL);

	LATH_ASSERT(!ret);
	(void)ret;
}

/* Erases an item that is there. */
static void erase(struct lath_small *in, uint64_t key)
{
	int ret = lath_small_erase_item(in, key, NULL);

	LATH_ASSERT(!ret);
	(void)ret;
}

/* ---- records ---- */

static size_t record_size(const struct record *record)
{
	return (sizeof(*record) + record->owner_size + 7) & ~7ul;
}

static struct bytes owner_of(const struct record *record)
{
	return (struct bytes){ record->owned ? record->owner : NULL, record->owner_size };
}

/* Returns the pool's records, made now if there are none yet; NULL: no memory. */
static struct records *records_of(struct pool *pool)
{
	if (pool->records)
		return pool->records;
	pool->records = vk.TryAlloc(sizeof(*pool->records));
	if (!pool->records)
		return NULL;
	*pool->records = (struct records){ .bytes = 0 };
	lath_small_init(&pool->records->owners, &record_kind);
	lath_small_init(&pool->records->leases, &record_kind);
	return pool->records;
}

static bool link_owner(struct records *in, struct record *record)
{
	struct lath_item item = { hash_bytes(owner_of(record)).low, 1, value_of(record) }, there;
	int ret = lath_small_insert_item(&in->owners, &item, &there);

	if (ret != -EEXIST)
		return !ret;
	record->next = record_of(there.value);
	set_value(&in->owners, item.key, item.value);
	return true;
}

/* In the chain of an owner's hash, what led to a record leads to another one; NULL: to none. The
 * block of the record may have gone. */
static void relink_owner(struct records *in, struct bytes owner, const struct record *record,
			 struct record *other)
{
	uint64_t hash = hash_bytes(owner).low, chain = 0;
	struct record *at;

	lath_small_get(&in->owners, hash, &chain);
	LATH_ASSERT(chain); /* link_owner() put it there */
	at = record_of(chain);
	if (at == record && other) {
		set_value(&in->owners, hash, value_of(other));
	} else if (at == record) {
		erase(&in->owners, hash);
	} else {
		while (at->next != record) {
			at = at->next;
			LATH_ASSERT(at); /* the record is in the chain of its hash */
		}
		at->next = other;
	}
}

/* Takes a record out of those whose leases end when its own does. */
static void unlink_lease(struct records *in, struct record *record)
{
	struct record *sooner = record->sooner, *later = record->later;

	LATH_ASSERT(in->leased && record->expires);
	in->leased--;
	if (later)
		later->sooner = sooner;
	if (sooner)
		sooner->later = later;
	else if (later)
		set_value(&in->leases, record->expires, value_of(later));
	else
		erase(&in->leases, record->expires);
	record->expires = 0;
}

/* Sets when the lease of a record ends; 0: never. false: no memory, nothing changed. */
static bool set_lease(struct records *in, struct record *record, uint64_t expires)
{
	struct lath_item item = { expires, 1, value_of(record) };
	struct record *first = NULL;
	uint64_t there = 0;
	int ret;

	if (record->expires == expires)
		return true;
	if (expires && lath_small_get(&in->leases, expires, &there)) {
		first = record_of(there);
	} else if (expires) {
		ret = lath_small_insert_item(&in->leases, &item, NULL);
		LATH_ASSERT(!ret || ret == -ENOMEM); /* no lease ends at that time yet */
		if (ret)
			return false;
	}
	if (record->expires)
		unlink_lease(in, record);
	if (first) {
		first->sooner = record;
		set_value(&in->leases, expires, item.value);
	}
	in->leased += expires != 0;
	record->expires = expires;
	record->later = first;
	record->sooner = NULL;
	return true;
}

static void record_end(struct records *in, struct record *record)
{
	set_lease(in, record, 0);
	if (record->owned)
		relink_owner(in, owner_of(record), record, record->next);
	LATH_ASSERT(record_size(record) <= in->bytes);
	in->bytes -= record_size(record);
	vk.Free(record);
}

static bool has_record(const struct pool_range *range)
{
	return range->owner.data || range->expires;
}

/* The value of a range: its record, if it has one. false: no memory. */
static bool make_value(struct pool *pool, const struct pool_range *range, uint64_t *value)
{
	struct record *record;
	struct records *in;

	*value = PLAIN;
	if (!has_record(range))
		return true;
	in = records_of(pool);
	if (!in || range->owner.size > VALUE_MAX)
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
	if (record->owned && !link_owner(in, record)) {
		vk.Free(record);
		return false;
	}
	in->bytes += record_size(record);
	if (!set_lease(in, record, range->expires)) {
		record_end(in, record);
		return false;
	}
	*value = value_of(record);
	return true;
}

/* Ends the record of a value, if it is one. */
static void value_end(struct pool *pool, uint64_t value)
{
	if (record_of(value))
		record_end(pool->records, record_of(value));
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

	if (!pool)
		return NULL;
	*pool = (struct pool){ .taken = 0 };
	lath_small_init(&pool->ranges, &range_kind);
	return pool;
}

/* Returns the item that covers a number, if there is one. */
static bool covering(const struct pool *pool, uint64_t number, struct lath_item *item)
{
	return !lath_small_lookup_item(&pool->ranges, number, item);
}

int pool_exclude(struct pool *pool, uint64_t first, uint64_t size)
{
	struct lath_item item = { first, size, OUTSIDE }, before;
	int ret;

	/* the two would be one range: pool_add() takes numbers from one */
	if (first && covering(pool, first - 1, &before) && before.value == OUTSIDE)
		return -EINVAL;
	ret = lath_small_insert_item(&pool->ranges, &item, NULL);
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

static void free_record(void *unused, const struct lath_item *item)
{
	(void)unused;
	vk.Free(record_of(item->value));
}

void pool_free(struct pool *pool)
{
	/* without records the ranges need no look */
	lath_small_fini(&pool->ranges, owned(pool) ? free_record : NULL, NULL);
	if (pool->records) {
		lath_small_fini(&pool->records->owners, NULL, NULL);
		lath_small_fini(&pool->records->leases, NULL, NULL);
		vk.Free(pool->records);
	}
	vk.Free(pool);
}

int pool_add(struct pool *pool, uint64_t first, uint64_t size)
{
	uint64_t behind = first + size;
	struct lath_item there;
	int ret;

	if (!pool_span(first, size))
		return -EINVAL;
	if (!covering(pool, first, &there) || there.value != OUTSIDE ||
	    there.size - (first - there.key) < size)
		return -EEXIST;
	if (pool->capacity + size < size) /* 2^64 numbers are one too many */
		return -EINVAL;
	/* first what may fail: what is behind becomes its own item */
	if (behind != there.key + there.size) {
		ret = lath_small_split(&pool->ranges, behind, OUTSIDE);
		if (ret)
			return ret;
		pool->outside++;
	}
	if (first == there.key) {
		erase(&pool->ranges, first);
		pool->outside--;
	} else {
		ret = lath_small_resize(&pool->ranges, there.key, first - there.key);
		LATH_ASSERT(!ret); /* a smaller size needs no memory */
	}
	pool->capacity += size;
	return 0;
}

/* Moves a record, and what points to it with it. */
static void move_record(struct pool *pool, struct record *record, struct vk_defrag *ctx)
{
	struct record *moved = defrag_block(ctx, record);
	struct records *in = pool->records;

	if (moved == record)
		return;
	set_value(&pool->ranges, moved->first, value_of(moved));
	if (moved->later)
		moved->later->sooner = moved;
	if (moved->sooner)
		moved->sooner->later = moved;
	else if (moved->expires)
		set_value(&in->leases, moved->expires, value_of(moved));
	if (moved->owned)
		relink_owner(in, owner_of(moved), record, moved);
}

int pool_defragment(struct pool *pool, struct vk_defrag *ctx, uint64_t from)
{
	struct lath_item item;

	if (!from) {
		defrag_small(ctx, &pool->ranges);
		pool->records = defrag_block(ctx, pool->records);
	}
	if (!from && pool->records) {
		defrag_small(ctx, &pool->records->owners);
		defrag_small(ctx, &pool->records->leases);
	}
	while (owned(pool) && !lath_small_ceiling_item(&pool->ranges, from, &item)) {
		if (record_of(item.value))
			move_record(pool, record_of(item.value), ctx);
		from = item.key + item.size;
		if (!from)
			return 0;
		if (defrag_pause(ctx, from))
			return 1;
	}
	return 0;
}

/* ---- taking and giving ---- */

/* 0 | -EEXIST | -ENOMEM | -EINVAL */
static int put_range(struct pool *pool, const struct pool_range *range)
{
	struct lath_item item = { range->first, range->size, PLAIN };
	int ret;

	if (!make_value(pool, range, &item.value))
		return -ENOMEM;
	ret = lath_small_insert_item(&pool->ranges, &item, NULL);
	if (ret)
		value_end(pool, item.value);
	else
		pool->taken += range->size;
	return ret;
}

/* For assertions: returns whether two pools have as many ranges, numbers and leases. */
static FOR_ASSERTIONS bool same_figures(const struct pool *a, const struct pool *b)
{
	return pool_count(a) == pool_count(b) && a->outside == b->outside &&
	       a->capacity == b->capacity && a->taken == b->taken &&
	       pool_leased(a) == pool_leased(b) && owned(a) == owned(b);
}

struct pool *pool_copy(const struct pool *pool)
{
	struct pool *copy = pool_empty();
	struct pool_range range;
	struct pool_iter iter;
	bool outside;
	int ret = 0;

	pool_iter_begin(&iter, pool, 0);
	while (copy && !ret && pool_next(&iter, &range, &outside))
		ret = outside ? pool_exclude(copy, range.first, range.size)
			      : put_range(copy, &range);
	LATH_ASSERT(!copy || ret || same_figures(pool, copy));
	if (!ret)
		return copy;
	pool_free(copy);
	return NULL;
}

int pool_reserve(struct pool *pool, const struct pool_range *range)
{
	struct lath_item item;

	/* before a record is made: a refusal makes none */
	if (has_record(range) && (covering(pool, range->first, &item) ||
				  (!lath_small_ceiling_item(&pool->ranges, range->first, &item) &&
				   item.key - range->first < range->size)))
		return -EEXIST;
	return put_range(pool, range);
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
	int ret;

	range->size = want->size;
	if (has_record(range)) {
		/* the place first: a refusal makes no record */
		ret = lath_small_find_hole(&pool->ranges, want, &range->first);
		if (!ret)
			ret = put_range(pool, range);
	} else {
		/* one search finds the place and takes it */
		ret = lath_small_insert_hole(&pool->ranges, want, PLAIN, &range->first);
		pool->taken += ret ? 0 : range->size;
	}
	LATH_ASSERT(ret || fits(want, range->first));
	return ret;
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
	erase(&pool->ranges, first);
	LATH_ASSERT(item.size <= pool->taken);
	pool->taken -= item.size;
	value_end(pool, item.value);
	return 0;
}

/* Gives a range without a record one, for a lease. */
static int lease_plain(struct pool *pool, const struct lath_item *item, uint64_t expires)
{
	struct pool_range range = { item->key, item->size, { NULL, 0 }, expires };
	uint64_t value;
	int ret;

	if (!make_value(pool, &range, &value))
		return -ENOMEM;
	ret = lath_small_replace_item(&pool->ranges, item->key, value, NULL);
	if (ret)
		value_end(pool, value);
	return ret;
}

int pool_lease(struct pool *pool, uint64_t first, uint64_t expires)
{
	struct lath_item item;
	struct record *record;

	if (!starting(pool, first, &item))
		return -ENOENT;
	record = record_of(item.value);
	if (!record)
		return lease_plain(pool, &item, expires);
	return set_lease(pool->records, record, expires) ? 0 : -ENOMEM;
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

	if (!pool->records ||
	    !lath_small_get(&pool->records->owners, hash_bytes(owner).low, &chain))
		return 0;
	for (record = record_of(chain); record; record = record->next)
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

	if (!pool->records || lath_small_ceiling_item(&pool->records->leases, 0, &item))
		return 0;
	record = record_of(item.value);
	LATH_ASSERT(record->expires == item.key && agrees(pool, record));
	show_record(record, range);
	return 1;
}

size_t pool_words(const struct pool_range *range, struct vk_string **words)
{
	size_t n = 0;

	words[n++] = number_string(range->first);
	words[n++] = number_string(range->size);
	if (range->owner.data) {
		words[n++] = vk.CreateString(NULL, "OWNER", 5);
		words[n++] = vk.CreateString(NULL, range->owner.data, range->owner.size);
	}
	if (range->expires) {
		words[n++] = vk.CreateString(NULL, "LEASEAT", 7);
		words[n++] = number_string(range->expires);
	}
	return n;
}

void pool_iter_begin(struct pool_iter *iter, const struct pool *pool, uint64_t from)
{
	struct lath_item item;

	iter->pool = pool;
	iter->from = from;
	iter->next = covering(pool, from, &item) ? item.key : from;
	iter->at = iter->n = 0;
	iter->ended = iter->stop = false;
}

/* Returns the next item, or NULL. */
static const struct lath_item *next_item(struct pool_iter *iter)
{
	const struct lath_small *ranges = &iter->pool->ranges;
	struct lath_index *index = lath_small_index(ranges);
	struct lath_item *items = iter->items;

	if (iter->at < iter->n)
		return &items[iter->at++];
	if (iter->ended)
		return NULL;
	iter->at = iter->n = 0;
	if (index)
		iter->n = lath_index_scan(index, iter->next, UINT64_MAX, items, POOL_BATCH,
					  &iter->next);
	while (!index && iter->n < POOL_BATCH && (iter->next || !iter->n) &&
	       !lath_small_ceiling_item(ranges, iter->next, &items[iter->n])) {
		iter->next = items[iter->n].key + items[iter->n].size;
		iter->n++;
	}
	iter->ended = iter->n < POOL_BATCH || !iter->next;
	return iter->n ? &items[iter->at++] : NULL;
}

int pool_next(struct pool_iter *iter, struct pool_range *range, bool *outside)
{
	const struct lath_item *item = next_item(iter);

	if (!item)
		return 0;
	*outside = item->value == OUTSIDE;
	show(item, range);
	return 1;
}

void pool_skip(struct pool_iter *iter, uint64_t n)
{
	const struct lath_item *item;

	while (n && (item = next_item(iter)))
		n -= item->value != OUTSIDE;
}

int pool_next_free(struct pool_iter *iter, uint64_t skip, uint64_t *first, uint64_t *size)
{
	const struct lath_item *item;

	while (!iter->stop && (item = next_item(iter))) {
		*first = iter->from;
		*size = item->key > iter->from ? item->key - iter->from : 0;
		iter->from = item->key + item->size;
		iter->stop = !iter->from;
		if (*size && !skip--)
			return 1;
	}
	*first = iter->from;
	*size = 0 - iter->from;
	if (iter->stop || skip)
		return 0;
	iter->stop = true;
	return 1;
}

void pool_holes(const struct pool *pool, uint64_t max_leaves, struct lath_hole_stats *stats)
{
	lath_small_hole_stats(&pool->ranges, 0, 0, max_leaves, stats);
}

size_t pool_memory(const struct pool *pool)
{
	const struct records *in = pool->records;
	size_t bytes = sizeof(*pool) + lath_small_bytes(&pool->ranges);

	if (in)
		bytes += sizeof(*in) + in->bytes + lath_small_bytes(&in->owners) +
			 lath_small_bytes(&in->leases);
	return bytes;
}

size_t pool_effort(const struct pool *pool)
{
	return 1 + pool_count(pool) / (owned(pool) ? 1 : 32);
}
