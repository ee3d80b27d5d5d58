/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many keys at once: their cache misses overlap, in the index (its batched calls) and
 * then in the records.
 */
#include "store/kv/kv.h"

/* Looks up keys: their words, and whether there is one. A key that is too long, or of the other
 * kind, is not there. */
static void find(struct lath_store *store, unsigned int n, const struct lath_store_key *keys,
		 u64 *words, u8 *hits)
{
	struct lath_bytes_key bytes[GROUP];
	u64 numbers[GROUP];
	unsigned int i = 0;

	LATH_ASSERT(n && n <= GROUP);
	if (store->keys == LATH_STORE_NUMBERS) {
		do
			numbers[i] = keys[i].n;
		while (++i < n);
		lath_index_get_batch(&store->numbers, n, numbers, words, hits);
		for (i = 0; i < n; i++)
			hits[i] &= !keys[i].data;
		return;
	}
	do {
		/* a wrong key becomes the empty one, so that the batch has no holes */
		hits[i] = !key_check(store, keys[i]);
		bytes[i] = (struct lath_bytes_key){ keys[i].data, hits[i] ? keys[i].n : 0, 0 };
	} while (++i < n);
	lath_bytes_get_batch(&store->set, n, bytes, words);
	for (i = 0; i < n; i++) {
		hits[i] &= words[i] != 0;
		words[i] = hits[i] ? lath_address_word(store, words[i]) : 0;
	}
}

/* ---- mget ---- */

static size_t refs_of(struct lath_store *store, unsigned int n, const u64 *words, const u8 *hits,
		      struct lath_store_ref *refs)
{
	size_t found = 0;
	unsigned int i;

	LATH_ASSERT(n && n <= GROUP);
	for (i = 0; i < n; i++) /* all misses first, then all reads */
		if (hits[i])
			value_prefetch(store, words[i]);
	for (i = 0; i < n; i++) {
		refs[i].data = NULL;
		if (!hits[i])
			continue;
		value_ref(store, words[i], &refs[i]);
		/* it is there until it is swept or written, but nobody sees it */
		if (ref_expired(&refs[i]))
			refs[i].data = NULL;
		else
			found++;
	}
	return found;
}

size_t lath_kv_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
			    struct lath_store_ref *refs)
{
	size_t found = 0, i;
	u64 words[GROUP];
	u8 hits[GROUP];

	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP);

		lath_index_get_batch(&store->numbers, m, keys + i, words, hits);
		found += refs_of(store, m, words, hits, refs + i);
	}
	return found;
}

size_t lath_kv_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		    struct lath_store_ref *refs)
{
	u64 words[GROUP];
	u8 hits[GROUP];

	find(store, (unsigned int)n, keys, words, hits);
	return refs_of(store, (unsigned int)n, words, hits, refs);
}

/* ---- mset, mdel ---- */

/* Returns whether an entry behind entry i, which has its key, has been set. */
static bool overwritten(const struct lath_store_entry *entries, const int *results, unsigned int i,
			unsigned int n)
{
	unsigned int later;

	LATH_ASSERT(i < n);
	for (later = i + 1; later < n; later++)
		if (entries[later].key.n == entries[i].key.n && !results[later])
			return true;
	return false;
}

/* The words of some entries of a group, on their way into the index. */
struct built {
	struct lath_item items[GROUP];
	unsigned char who[GROUP]; /* the number of the entry that an item is of */
	unsigned int n;
};

/* Builds words of the entries until there is no memory. An entry without a word gets its error, from
 * there on -ENOMEM. In a call. */
static void build_group(struct lath_store *store, unsigned int n,
			const struct lath_store_entry *entries, struct built *built, int *results)
{
	int ret = 0;
	unsigned int i;

	LATH_ASSERT(n && n <= GROUP);
	lath_call_assert();
	built->n = 0;
	for (i = 0; i < n; i++) {
		const struct lath_store_entry *entry = &entries[i];
		struct lath_item *item = &built->items[built->n];
		struct lath_store_change change = {
			LATH_STORE_PUT, entry->value, entry->size, NULL, 0, entry->expires
		};

		/* an entry with a wrong key fails alone: the others are set */
		results[i] = ret ? ret : key_check(store, entry->key);
		if (!results[i])
			results[i] = lath_value_build(store, entry->key, &change, &item->value);
		if (results[i] == -ENOMEM || results[i] == -ENOSPC || results[i] == -EFBIG)
			results[i] = ret = -ENOMEM;
		if (results[i])
			continue;
		LATH_ASSERT(item->value);
		item->key = entry->key.n;
		item->size = 1;
		built->who[built->n++] = (unsigned char)i;
	}
}

/* Inserts the words that were built. In a call. */
static void insert_group(struct lath_store *store, struct built *built, int *results)
{
	int inserted[GROUP];
	unsigned int j;

	lath_call_assert();
	lath_index_insert_batch(&store->numbers, built->n, built->items, inserted);
	for (j = 0; j < built->n; j++) {
		int ret = inserted[j];

		/* the key was there before, or an earlier entry of this group has it */
		if (ret)
			ret = lath_word_set(store, &built->items[j], ret);
		results[built->who[j]] = ret;
	}
}

/* Inserts new keys all at once, then replaces the words of present keys in order. Entries that find
 * no memory are set one by one, which may evict. */
static int64_t mset_numbers(struct lath_store *store, unsigned int n,
			    const struct lath_store_entry *entries, int *results)
{
	struct built built;
	int64_t done = 0;
	unsigned int i;

	LATH_ASSERT(store->plain);
	lath_call_enter();
	build_group(store, n, entries, &built, results);
	store_changed(store);
	insert_group(store, &built, results);
	lath_call_exit();
	for (i = 0; i < n; i++) {
		/* not in a call: it may wait for readers */
		if (unlikely(results[i] == -ENOMEM))
			results[i] = overwritten(entries, results, i, n)
					     ? 0
					     : lath_kv_put(store, &entries[i]);
		done += !results[i];
	}
	return done;
}

int64_t lath_kv_change(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       const struct lath_store_key *keys, int *results)
{
	struct lath_store_key own[GROUP];
	u64 words[GROUP];
	u8 hits[GROUP];
	int64_t done = 0;
	size_t i;

	LATH_ASSERT(n && n <= GROUP);
	if (entries && store->plain)
		return mset_numbers(store, (unsigned int)n, entries, results);
	for (i = 0; entries && i < n; i++)
		own[i] = entries[i].key;
	keys = entries ? own : keys;
	/* the cache misses of a group overlap; then one key after another is changed. Only the lookup
	 * is in a section: its words are not used */
	lath_reader_enter(store->rcu);
	find(store, (unsigned int)n, keys, words, hits);
	lath_reader_exit(store->rcu);
	for (i = 0; i < n; i++) {
		results[i] = entries ? lath_kv_put(store, &entries[i]) : key_check(store, keys[i]);
		if (!entries && !results[i])
			results[i] = lath_kv_delete(store, keys[i]);
		done += !results[i];
	}
	return done;
}

/* ---- removal of expired entries ---- */

static int decide_sweep(void *arg, const struct lath_store_ref *old,
			struct lath_store_change *change)
{
	*(bool *)arg = !old;
	if (!old)
		change->action = LATH_STORE_REMOVE;
	return 0;
}

int64_t lath_kv_sweep(struct lath_store *store)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int64_t gone = 0;
	u64 word = 0;
	int ret = lath_kv_iter_begin(store, NULL, sizeof(*iter), &iter);

	if (ret)
		return ret;
	/* an update looks again: what was written since stays */
	while ((ret = lath_iter_next_word(iter, &key, &word)) > 0) {
		bool expired;

		value_ref(store, word, &ref);
		if (!ref_expired(&ref))
			continue;
		ret = lath_kv_update(store, key, decide_sweep, &expired);
		if (ret)
			break;
		gone += expired;
	}
	lath_store_iter_end(iter);
	lath_fetch_add(&store->expired, (u64)gone);
	return ret < 0 ? ret : gone;
}
