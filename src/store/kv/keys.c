/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * keys.c - from a key to its word: the index of a store of numbers, and the set of byte keys; one
 * change of one key: find the key's word, let the caller decide, build the new word, put it in the
 * place of the old one by a compare-and-swap. If another thread was first, again.
 *
 * Each change of what a key maps to is one compare-and-swap, so a reader sees the state before it
 * or after it. The set of byte keys (lathwork/bytes.h) holds addresses of records, and looks up
 * their keys there.
 */
#include "store/kv/kv.h"

/* ---- words and addresses of records ---- */

u64 lath_address_word(const struct lath_store *store, u64 address)
{
	LATH_ASSERT(address > (uintptr_t)store->arena.base);
	LATH_ASSERT(address - (uintptr_t)store->arena.base < store->arena.reserved);
	return place_word(address - (u64)(uintptr_t)store->arena.base, WORD_RECORD);
}

void lath_store_key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	LATH_ASSERT(record->version);
	(void)ctx;
	key->data = record_key(record);
	key->size = record_key_size(record);
}

/* ---- one key ---- */

void lath_place_find(struct lath_store *store, struct lath_store_key key, struct place *place)
{
	struct lath_bytes_key bytes = { key.data, key.n, 0 };

	LATH_ASSERT(key_fits(store, key));
	LATH_ASSERT(lath_reader_inside(store->rcu));
	place->number = key.n;
	place->word = 0;
	if (store->keys == LATH_STORE_NUMBERS)
		lath_index_get(&store->numbers, key.n, &place->word);
	else if (lath_bytes_find(&store->set, &bytes, &place->bytes))
		place->word = lath_address_word(store, place->bytes.value);
}

int lath_place_put(struct lath_store *store, const struct place *place, u64 word)
{
	struct lath_item item = { place->number, 1, word };
	int ret;

	lath_call_assert();
	LATH_ASSERT(lath_reader_inside(store->rcu));
	LATH_ASSERT(word || place->word);
	/* each of these is one compare-and-swap with what was found */
	if (store->keys == LATH_STORE_BYTES)
		ret = lath_bytes_put(&store->set, &place->bytes,
				     word ? (uintptr_t)word_record(store, word) : 0);
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

int lath_word_set(struct lath_store *store, const struct lath_item *item, int ret)
{
	struct lath_item old;

	lath_call_assert();
	LATH_ASSERT(item->value && ret);
	while (ret == -EEXIST) {
		ret = lath_index_replace_item(&store->numbers, item->key, item->value, &old);
		LATH_ASSERT(ret || old.value != item->value || !word_has_place(old.value));
		/* it was there, or it has been removed since: then it is a new key */
		if (!ret)
			lath_value_retire(store, old.value);
		else
			ret = lath_index_insert_item(&store->numbers, item, NULL);
	}
	if (ret)
		lath_value_drop(store, item->value);
	return ret;
}

/* ---- all keys ---- */

void lath_keys_count(struct lath_store *store, s64 by)
{
	LATH_ASSERT(by == 1 || by == -1);
	/* a counter per shard, since threads that share a word wait for each other */
	__atomic_fetch_add(&lath_arena_shard(&store->arena)->items, by, __ATOMIC_RELAXED);
}

int64_t lath_keys_items(struct lath_store *store)
{
	int64_t sum = 0;
	unsigned int i;

	if (store->keys == LATH_STORE_NUMBERS)
		return (int64_t)lath_index_count(&store->numbers);
	/* the set of byte keys does not count: each shard has what its threads added */
	for (i = 0; i < SHARDS; i++)
		sum += __atomic_load_n(&store->arena.shard[i].items, __ATOMIC_RELAXED);
	return max(sum, (int64_t)0); /* while others write, the sum may be off */
}

int lath_keys_init(struct lath_store *store, struct lath_config *config,
		   const struct lath_bytes_records *records)
{
	if (store->keys == LATH_STORE_BYTES)
		return lath_bytes_init(&store->set, records, config);
	/* every number is a point: no key has a size */
	config->layout = LATH_POINTS;
	return lath_index_init(&store->numbers, config);
}

bool lath_keys_none(struct lath_store *store)
{
	struct lath_bytes_key first = { NULL, 0, 0 };
	struct lath_item item;
	u64 value;

	if (store->keys == LATH_STORE_BYTES)
		return lath_bytes_ceiling(&store->set, &first, &value) != 0;
	return lath_index_ceiling_item(&store->numbers, 0, &item) != 0;
}

static void drop_item(void *arg, const struct lath_item *item)
{
	LATH_ASSERT(((struct lath_store *)arg)->keys == LATH_STORE_NUMBERS);
	lath_value_drop(arg, item->value);
}

static void drop_record(void *arg, uint64_t value)
{
	LATH_ASSERT(((struct lath_store *)arg)->keys == LATH_STORE_BYTES);
	lath_value_drop(arg, lath_address_word(arg, value));
}

void lath_keys_clear(struct lath_store *store)
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

/* ---- a change ---- */

/* Returns whether the change writes the old value again, as compaction does: it keeps the
 * version. */
static bool same_content(const struct lath_store_change *change, const struct lath_store_ref *old)
{
	return change->value == old->data && change->size == old->size && !change->tail_size &&
	       change->expires == old->expires;
}

/* Gives the key the new value; old: the value that it has, NULL if it has none or that is expired.
 * In a call and in the section that the place was found in. 0 | RETRY | an error */
static int put_value(struct lath_store *store, struct lath_store_key key, const struct place *place,
		     const struct lath_store_change *change, const struct lath_store_ref *old)
{
	u64 word;
	int ret;

	LATH_ASSERT(change->action == LATH_STORE_PUT && (!old || place->word));
	ret = lath_value_build(store, key, change, &word);
	if (ret)
		return ret;
	/* a value that is in its word has the same word each time */
	LATH_ASSERT(word && (word != place->word || !word_has_place(word)));
	/* no reader has seen the record yet, so its version may still be written */
	if (old && old->version && same_content(change, old))
		word_record(store, word)->version = old->version;
	ret = lath_place_put(store, place, word);
	if (ret) {
		/* another thread was first, or there is no memory: no reader has seen it */
		lath_value_drop(store, word);
		return ret;
	}
	record_mark(store, word, true);
	return 0;
}

/* One attempt, in a call and in a section. 0 | RETRY | an error */
static int try_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	struct lath_store_change change = { LATH_STORE_KEEP, NULL, 0, NULL, 0, 0 };
	struct lath_store_ref ref;
	struct place place;
	bool there = false;
	int ret;

	lath_call_assert();
	lath_place_find(store, key, &place);
	if (place.word) {
		value_ref(store, place.word, &ref);
		/* to the caller an expired value is none; its word is replaced like any other */
		there = !ref_expired(&ref);
		change.expires = there ? ref.expires : 0;
	}
	ret = fn(arg, there ? &ref : NULL, &change);
	if (ret < 0 || change.action == LATH_STORE_KEEP)
		return min(ret, 0);
	if (change.action == LATH_STORE_REMOVE && !place.word)
		return 0; /* nothing to remove, and nothing changes */
	if (change.action == LATH_STORE_REMOVE)
		ret = lath_place_put(store, &place, 0);
	else
		ret = put_value(store, key, &place, &change, there ? &ref : NULL);
	if (ret)
		return ret;
	if (change.action == LATH_STORE_REMOVE || !place.word)
		lath_keys_count(store, place.word ? -1 : 1);
	store_changed(store);
	/* after the new record was marked (M3 of shm.h); readers may still look at the old value */
	if (place.word)
		lath_value_retire(store, place.word);
	return 0;
}

int lath_key_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		    void *arg)
{
	unsigned int rounds = 0;
	int ret;

	LATH_ASSERT(!key_check(store, key));
	for (;;) {
		lath_call_enter();
		lath_reader_enter(store->rcu);
		ret = try_update(store, key, fn, arg);
		lath_reader_exit(store->rcu);
		lath_call_exit();
		if (likely(ret != RETRY))
			break;
		/* another thread's change of the key came first; of many, few try at once */
		lath_crowd_wait(&rounds);
	}
	LATH_ASSERT(ret <= 0);
	/* the index says -ENOMEM in any case: it does not know of the limit */
	return ret == -ENOMEM && lath_arena_is_full(&store->arena) ? -ENOSPC : ret;
}
