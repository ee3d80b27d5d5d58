/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many keys at once: their cache misses overlap, in the index (its batched calls) and
 * then in the records.
 */
#include "store/backend.h"
#include "store/keys.h"
#include "store/value.h"

#define GROUP 64 /* the index processes as many at once */

/* Looks up byte keys: the record's address, and whether there is one. A number, or a key that is
 * too long, is looked up as no bytes, and is not there. */
static void find_bytes(struct lath_store *store, unsigned int n, const struct lath_store_key *keys,
		       u64 *values, u8 *hits)
{
	struct lath_bytes_key bytes[GROUP];
	unsigned int i;

	LATH_ASSERT(n && n <= GROUP);
	for (i = 0; i < n; i++) {
		/* a wrong key becomes the empty one, so that the batch has no holes */
		hits[i] = !key_check(store, keys[i]);
		bytes[i] = (struct lath_bytes_key){ keys[i].data, hits[i] ? keys[i].n : 0, 0 };
	}
	/* their cache misses overlap */
	lath_bytes_get_batch(&store->set, n, bytes, values);
	for (i = 0; i < n; i++)
		hits[i] &= values[i] != 0;
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
		lath_index_get_batch(&store->list, m, keys + i, words, hits);
		found += refs_of(store, m, words, hits, refs + i);
	}
	return found;
}

static size_t mget_bytes(struct lath_store *store, unsigned int n,
			 const struct lath_store_key *keys, struct lath_store_ref *refs)
{
	u64 values[GROUP];
	u8 hits[GROUP];
	unsigned int i;

	find_bytes(store, n, keys, values, hits);
	for (i = 0; i < n; i++)
		if (hits[i])
			values[i] = address_word(store, values[i]);
	return refs_of(store, n, values, hits, refs);
}

size_t lath_store_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	size_t found = 0, i;
	u64 numbers[GROUP], words[GROUP];
	u8 hits[GROUP];

	if (unlikely(store->backend))
		return store->backend->mget(store, n, keys, refs);
	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP), j;

		if (store->keys == LATH_STORE_BYTES) {
			found += mget_bytes(store, m, keys + i, refs + i);
			continue;
		}
		for (j = 0; j < m; j++)
			numbers[j] = keys[i + j].n;
		lath_index_get_batch(&store->list, m, numbers, words, hits);
		/* a byte key is not in a store of numbers, whatever its length */
		for (j = 0; j < m; j++)
			hits[j] &= !keys[i + j].data;
		found += refs_of(store, m, words, hits, refs + i);
	}
	return found;
}

/* ---- mset, mdel ---- */

static size_t refuse_all(size_t n, int *results)
{
	size_t i;

	for (i = 0; results && i < n; i++)
		results[i] = -EROFS;
	return 0;
}

static int decide_entry(void *arg, const struct lath_store_ref *old,
			struct lath_store_change *change)
{
	const struct lath_store_entry *entry = arg;

	(void)old;
	change->action = LATH_STORE_PUT;
	change->value = entry->value;
	change->size = entry->size;
	change->expires = entry->expires;
	return 0;
}

static int set_entry(struct lath_store *store, const struct lath_store_entry *entry)
{
	return lath_store_update(store, entry->key, decide_entry, (void *)(uintptr_t)entry);
}

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
		ret = lath_index_replace_item(&store->list, item->key, item->value, &old);
		/* it was there, or it has been removed since: then it is a new key */
		if (!ret)
			value_retire(store, old.value);
		else
			ret = lath_index_insert_item(&store->list, item, NULL);
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
		results[i] = value_build(store, entries[i].key, &change, &item->value);
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
	lath_index_insert_batch(&store->list, built->n, built->items, inserted);
	for (j = 0; j < built->n; j++) {
		unsigned int i = built->who[j];
		int ret = inserted[j];

		/* the key was there before, or an earlier entry of this group has it */
		if (ret == -EEXIST)
			ret = exchange(store, &built->items[j]);
		if (ret)
			value_drop(store, built->items[j].value);
		results[i] = ret;
		/* alone, unless a later entry has the key: that would be overwritten */
		if (ret && next_same(entries, i, looked) == looked) {
			lath_call_exit(); /* it may wait for readers */
			results[i] = set_entry(store, &entries[i]);
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
		results[i] = set_entry(store, &entries[i]);
	for (i = 0; i < n; i++)
		done += !results[i];
	return done;
}

/* Brings the nodes that lead to the keys into the cache; the words are not used. */
static void warm(struct lath_store *store, unsigned int n, const struct lath_store_key *keys)
{
	u64 words[GROUP], numbers[GROUP];
	unsigned int i;
	u8 hits[GROUP];

	LATH_ASSERT(n && n <= GROUP);
	/* only the lookup is in a section: words may be stale when the changes look again */
	lath_reader_enter(store->rcu);
	if (store->keys == LATH_STORE_BYTES) {
		find_bytes(store, n, keys, words, hits);
	} else {
		for (i = 0; i < n; i++)
			numbers[i] = key_check(store, keys[i]) ? 0 : keys[i].n;
		lath_index_get_batch(&store->list, n, numbers, words,
				     hits); /* the changes that follow descend again */
	}
	lath_reader_exit(store->rcu);
}

size_t lath_store_mset(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       int *results)
{
	struct lath_store_key keys[GROUP];
	int own[GROUP];
	size_t done = 0, i;

	if (unlikely(store->read_only))
		return refuse_all(n, results);
	if (unlikely(store->backend))
		return store->backend->mset(store, n, entries, results);
	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP), j;
		int *out = results ? results + i : own;

		if (store->plain) {
			done += mset_numbers(store, m, entries + i, out);
			continue;
		}
		/* records: read the way to all of them, then change one after another */
		for (j = 0; j < m; j++)
			keys[j] = entries[i + j].key;
		warm(store, m, keys);
		for (j = 0; j < m; j++) {
			out[j] = set_entry(store, &entries[i + j]);
			done += !out[j];
		}
	}
	return done;
}

size_t lath_store_mdel(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       int *results)
{
	size_t done = 0, i;

	if (unlikely(store->read_only))
		return refuse_all(n, results);
	if (unlikely(store->backend))
		return store->backend->mdel(store, n, keys, results);
	for (i = 0; i < n; i += GROUP) {
		unsigned int m = (unsigned int)min(n - i, (size_t)GROUP), j;

		/* the cache misses of a group overlap; then one key after another is removed */
		warm(store, m, keys + i);
		for (j = 0; j < m; j++) {
			int ret = lath_store_delete(store, keys[i + j]);

			done += !ret;
			if (results)
				results[i + j] = ret;
		}
	}
	return done;
}
