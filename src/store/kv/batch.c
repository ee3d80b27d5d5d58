/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many keys at once: their cache misses overlap, in the index (its batched calls) and
 * then in the records.
 */
#include "store/place/shm.h"
#include "store/kv/value.h"

/* Looks up keys: their words, and whether there is one. A key that is too long, or of the other
 * kind, is not there. */
static void find(struct lath_store *store, unsigned int n, const struct lath_store_key *keys,
		 u64 *words, u8 *hits)
{
	struct lath_bytes_key bytes[GROUP];
	u64 numbers[GROUP];
	unsigned int i;

	LATH_ASSERT(n && n <= GROUP);
	if (store->keys == LATH_STORE_NUMBERS) {
		for (i = 0; i < n; i++)
			numbers[i] = keys[i].n;
		lath_index_get_batch(&store->numbers, n, numbers, words, hits);
		for (i = 0; i < n; i++)
			hits[i] &= !keys[i].data;
		return;
	}
	for (i = 0; i < n; i++) {
		/* a wrong key becomes the empty one, so that the batch has no holes */
		hits[i] = !key_check(store, keys[i]);
		bytes[i] = (struct lath_bytes_key){ keys[i].data, hits[i] ? keys[i].n : 0, 0 };
	}
	/* their cache misses overlap */
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

size_t lath_store_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
			       struct lath_store_ref *refs)
{
	struct lath_store_key numbers[GROUP];
	size_t found = 0, i, j;
	u64 words[GROUP];
	u8 hits[GROUP];

	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP);

		/* another kind of store or place: the general call, or its errors */
		if (unlikely(store->keys != LATH_STORE_NUMBERS || store->backend)) {
			for (j = 0; j < m; j++)
				numbers[j] = lath_key_number(keys[i + j]);
			found += lath_store_mget(store, m, numbers, refs + i);
			continue;
		}
		lath_index_get_batch(&store->numbers, m, keys + i, words, hits);
		found += refs_of(store, m, words, hits, refs + i);
	}
	return found;
}

static size_t mget(struct lath_store *store, unsigned int n, const struct lath_store_key *keys,
		   struct lath_store_ref *refs)
{
	u64 words[GROUP];
	u8 hits[GROUP];

	find(store, n, keys, words, hits);
	return refs_of(store, n, words, hits, refs);
}

size_t lath_store_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	size_t found = 0, i;

	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP);

		found += unlikely(store->backend)
				 ? store->backend->mget(store, m, keys + i, refs + i)
				 : mget(store, m, keys + i, refs + i);
	}
	return found;
}

/* ---- mset, mdel ---- */

/* Returns the next entry that has the key of entry i; n: there is none. */
static unsigned int next_same(const struct lath_store_entry *entries, unsigned int i,
			      unsigned int n)
{
	unsigned int next = i + 1;

	LATH_ASSERT(i < n);
	while (next < n && entries[next].key.n != entries[i].key.n)
		next++;
	return next;
}

/* Replaces the word of a key that is present, or inserts it if it has been removed since. 0 |
 * -ENOMEM */
static int exchange(struct lath_store *store, const struct lath_item *item)
{
	struct lath_item old;
	int ret;

	lath_call_assert();
	LATH_ASSERT(item->value);
	do {
		ret = lath_index_replace_item(&store->numbers, item->key, item->value, &old);
		/* it was there, or it has been removed since: then it is a new key */
		if (!ret)
			lath_value_retire(store, old.value);
		else
			ret = lath_index_insert_item(&store->numbers, item, NULL);
	} while (ret == -EEXIST);
	return ret;
}

/* The words of some entries of a group, on their way into the index. */
struct built {
	struct lath_item items[GROUP];
	unsigned char who[GROUP]; /* the number of the entry that an item is of */
	unsigned int n;
};

/* Builds words of the entries until there is no memory. An entry that is wrong gets its error and
 * no word. Returns how many entries were looked at. In a call. */
static unsigned int build_group(struct lath_store *store, unsigned int n,
				const struct lath_store_entry *entries, struct built *built,
				int *results)
{
	unsigned int i;

	LATH_ASSERT(n && n <= GROUP);
	lath_call_assert();
	built->n = 0;
	for (i = 0; i < n; i++) {
		struct lath_item *item = &built->items[built->n];
		struct lath_store_change change = {
			LATH_STORE_PUT,	   entries[i].value, entries[i].size, NULL, 0,
			entries[i].expires
		};

		/* an entry with a wrong key fails alone: the others are set */
		results[i] = key_check(store, entries[i].key);
		if (results[i])
			continue;
		results[i] = lath_value_build(store, entries[i].key, &change, &item->value);
		if (results[i] == -ENOMEM || results[i] == -ENOSPC || results[i] == -EFBIG)
			break; /* this entry and those behind it are set one by one */
		if (results[i])
			continue;
		LATH_ASSERT(item->value);
		item->key = entries[i].key.n;
		item->size = 1;
		built->who[built->n++] = (unsigned char)i;
	}
	return i;
}

/* Inserts the words that were built for the first `looked` entries. In a call, which it may leave
 * for a time. */
static void insert_group(struct lath_store *store, const struct lath_store_entry *entries,
			 struct built *built, unsigned int looked, int *results)
{
	int inserted[GROUP];
	unsigned int j;

	lath_call_assert();
	LATH_ASSERT(built->n <= looked && looked <= GROUP);
	lath_index_insert_batch(&store->numbers, built->n, built->items, inserted);
	for (j = 0; j < built->n; j++) {
		unsigned int i = built->who[j];
		int ret = inserted[j];

		/* the key was there before, or an earlier entry of this group has it */
		if (ret == -EEXIST)
			ret = exchange(store, &built->items[j]);
		if (ret)
			lath_value_drop(store, built->items[j].value);
		results[i] = ret;
		/* alone, unless a later entry has the key: that would be overwritten */
		if (ret && next_same(entries, i, looked) == looked) {
			lath_call_exit(); /* it may wait for readers */
			results[i] = lath_entry_set(store, &entries[i]);
			lath_call_enter();
		}
	}
}

/* Inserts new keys all at once, then replaces the words of present keys in order. Entries that find
 * no memory are set one by one, which may evict. */
static size_t mset_numbers(struct lath_store *store, unsigned int n,
			   const struct lath_store_entry *entries, int *results)
{
	unsigned int i, j, looked;
	struct built built;
	size_t done = 0;

	LATH_ASSERT(store->plain && !store->backend);
	lath_call_enter();
	looked = build_group(store, n, entries, &built, results);
	store_changed(store);
	insert_group(store, entries, &built, looked, results);
	lath_call_exit();
	for (j = built.n; j--;) { /* an entry without memory, whose key a later one has set */
		unsigned int next;

		i = built.who[j];
		if (likely(!results[i]))
			continue;
		next = next_same(entries, i, looked);
		if (next < looked && !results[next])
			results[i] = 0;
	}
	/* not in a call: each of these may wait for readers */
	for (i = looked; i < n; i++)
		results[i] = lath_entry_set(store, &entries[i]);
	for (i = 0; i < n; i++)
		done += !results[i];
	return done;
}

/* Brings the nodes that lead to the keys into the cache; the words are not used. */
static void warm(struct lath_store *store, unsigned int n, const struct lath_store_key *keys)
{
	u64 words[GROUP];
	u8 hits[GROUP];

	/* only the lookup is in a section: words may be stale when the changes look again */
	lath_reader_enter(store->rcu);
	find(store, n, keys, words, hits);
	lath_reader_exit(store->rcu);
}

/* Sets up to GROUP entries, or without any deletes keys. Returns how many succeeded. */
static int64_t change_group(struct lath_store *store, unsigned int n,
			    const struct lath_store_entry *entries,
			    const struct lath_store_key *keys, int *results)
{
	struct lath_store_key own[GROUP];
	int64_t done = 0;
	unsigned int i;

	if (unlikely(store->backend))
		return (int64_t)(entries ? store->backend->mset(store, n, entries, results)
					 : store->backend->mdel(store, n, keys, results));
	if (entries && store->plain)
		return (int64_t)mset_numbers(store, n, entries, results);
	for (i = 0; entries && i < n; i++)
		own[i] = entries[i].key;
	keys = entries ? own : keys;
	/* the cache misses of a group overlap; then one key after another is changed */
	warm(store, n, keys);
	for (i = 0; i < n; i++) {
		results[i] = entries ? lath_entry_set(store, &entries[i])
				     : lath_store_delete(store, keys[i]);
		done += !results[i];
	}
	return done;
}

static size_t change_all(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
			 const struct lath_store_key *keys, int *results)
{
	size_t done = 0, i;
	int own[GROUP];

	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP), j;
		const struct lath_store_entry *e = entries ? entries + i : NULL;
		const struct lath_store_key *k = entries ? NULL : keys + i;
		int *out = results ? results + i : own;
		int64_t ret;

		if (unlikely(store->read_only))
			ret = -EROFS;
		else if (unlikely(store->inside))
			ret = LOCKED(store, true, change_group(store->inside, m, e, k, out));
		else
			ret = change_group(store, m, e, k, out);
		done += (size_t)max(ret, (int64_t)0);
		for (j = 0; ret < 0 && j < m; j++) /* none was changed */
			out[j] = (int)ret;
	}
	return done;
}

size_t lath_store_mset(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       int *results)
{
	return change_all(store, n, entries, NULL, results);
}

size_t lath_store_mdel(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       int *results)
{
	return change_all(store, n, NULL, keys, results);
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

int64_t lath_store_sweep(struct lath_store *store)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int64_t gone = 0;
	u64 word = 0;
	int ret;

	if (store->read_only)
		return -EROFS;
	if (store->backend)
		return store->inside ? LOCKED(store, true, lath_store_sweep(store->inside))
				     : -EOPNOTSUPP;
	ret = lath_store_iter_begin(store, NULL, &iter);
	if (ret)
		return ret;
	/* an update looks again: what was written since stays */
	while ((ret = lath_iter_next_word(iter, &key, &word)) > 0) {
		bool expired;

		value_ref(store, word, &ref);
		if (!ref_expired(&ref))
			continue;
		ret = lath_store_update(store, key, decide_sweep, &expired);
		if (ret)
			break;
		gone += expired;
	}
	lath_store_iter_end(iter);
	lath_fetch_add(&store->expired, (u64)gone);
	return ret < 0 ? ret : gone;
}
