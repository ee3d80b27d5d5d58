/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * keys.c - from a key to its word: the index of a store of numbers, and the set of byte keys.
 *
 * Each change of what a key maps to is one compare-and-swap, so a reader sees the state before it
 * or after it. The set of byte keys (lathwork/bytes.h) holds addresses of records, and looks up
 * their keys there.
 */
#include "store/value.h"

/* ---- words and addresses of records ---- */

static u64 record_address(const struct lath_store *store, u64 word)
{
	LATH_ASSERT(word_form(word) == WORD_RECORD);
	return (u64)(uintptr_t)word_record(store, word);
}

u64 address_word(const struct lath_store *store, u64 address)
{
	LATH_ASSERT(address > (uintptr_t)store->arena.base);
	LATH_ASSERT(address - (uintptr_t)store->arena.base < store->arena.reserved);
	return place_word(address - (u64)(uintptr_t)store->arena.base, WORD_RECORD);
}

void store_key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	LATH_ASSERT(record->version);
	(void)ctx;
	key->data = record_key(record);
	key->size = record_key_size(record);
}

/* ---- one key ---- */

const struct record *record_find(struct lath_store *store, struct lath_store_key key)
{
	struct lath_bytes_key bytes = { key.data, key.n, 0 };
	u64 value;

	LATH_ASSERT(store->keys == LATH_STORE_BYTES && key.data);
	return lath_bytes_get(&store->set, &bytes, &value) ? (const struct record *)(uintptr_t)value
							   : NULL;
}

u64 word_find(struct lath_store *store, struct lath_store_key key)
{
	u64 value;

	LATH_ASSERT(store->keys == LATH_STORE_NUMBERS);
	return lath_index_get(&store->numbers, key.n, &value) ? value : 0;
}

void place_find(struct lath_store *store, struct lath_store_key key, struct place *place)
{
	struct lath_bytes_key bytes = { key.data, key.n, 0 };

	LATH_ASSERT(key_fits(store, key));
	LATH_ASSERT(lath_reader_inside(store->rcu));
	place->number = key.n;
	if (store->keys == LATH_STORE_NUMBERS)
		place->word = word_find(store, key);
	else
		place->word = lath_bytes_find(&store->set, &bytes, &place->bytes)
				      ? address_word(store, place->bytes.value)
				      : 0;
}

int place_put(struct lath_store *store, const struct place *place, u64 word)
{
	struct lath_item item = { place->number, 1, word };
	int ret;

	lath_call_assert();
	LATH_ASSERT(lath_reader_inside(store->rcu));
	LATH_ASSERT(word || place->word);
	/* each of these is one compare-and-swap with what was found */
	if (store->keys == LATH_STORE_BYTES)
		ret = lath_bytes_put(&store->set, &place->bytes,
				     word ? record_address(store, word) : 0);
	else if (!word)
		ret = lath_index_erase_if(&store->numbers, place->number, place->word, NULL);
	else if (place->word)
		ret = lath_index_replace_if(&store->numbers, place->number, place->word, word,
					    NULL);
	else
		ret = lath_index_insert_item(&store->numbers, &item, NULL);
	/* whatever else it is, another thread was first */
	return ret && ret != -ENOMEM ? RETRY : ret;
}

/* ---- all keys ---- */

void store_count_items(struct lath_store *store, s64 by)
{
	LATH_ASSERT(by == 1 || by == -1);
	/* a counter per shard, since threads that share a word wait for each other */
	__atomic_fetch_add(&arena_shard(&store->arena)->items, by, __ATOMIC_RELAXED);
}

int keys_init(struct lath_store *store)
{
	struct lath_allocator allocator = { arena_node_alloc, arena_node_free, &store->index };
	struct lath_bytes_records records = { store_key_of, NULL, 0 };
	struct lath_config config = LATH_CONFIG_INIT;

	LATH_ASSERT(!store->shared || store->index_id);
	config.rcu = store->rcu;
	config.allocator = &allocator;
	if (store->shared) { /* functions have other addresses in each process: take its own */
		config.flags = LATH_SHARED;
		config.allocator = &store->shared->allocator;
		config.id = store->index_id;
		store->index_id += 1ull << 32; /* a set of byte keys may use as many */
	}
	if (store->keys == LATH_STORE_BYTES)
		return lath_bytes_init(&store->set,
				       store->shared ? &store->shared->records : &records, &config);
	/* every number is a point: no key has a size */
	config.layout = LATH_POINTS;
	config.flags |= LATH_GAPPED; /* numbers come at random more often than not */
	return lath_index_init(&store->numbers, &config);
}

bool keys_none(struct lath_store *store)
{
	struct lath_bytes_key first = { NULL, 0, 0 };
	struct lath_item item;
	u64 value;

	if (store->keys == LATH_STORE_BYTES)
		return lath_bytes_ceiling(&store->set, &first, &value) != 0;
	return lath_index_first_item(&store->numbers, &item) != 0;
}

static void drop_item(void *arg, const struct lath_item *item)
{
	LATH_ASSERT(((struct lath_store *)arg)->keys == LATH_STORE_NUMBERS);
	value_drop(arg, item->value);
}

static void drop_record(void *arg, uint64_t value)
{
	LATH_ASSERT(((struct lath_store *)arg)->keys == LATH_STORE_BYTES);
	value_drop(arg, address_word(arg, value));
}

void keys_clear(struct lath_store *store)
{
	unsigned int i;

	if (store->keys == LATH_STORE_BYTES)
		lath_bytes_clear(&store->set, drop_record, store);
	else
		lath_index_clear(&store->numbers, drop_item, store);
	/* the counters of all threads: items of one shard may have been removed in another */
	for (i = 0; i < SHARDS; i++)
		store->arena.shard[i].items = 0;
}
