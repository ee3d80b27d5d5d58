/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iterate.c - iteration in key order, in both directions; scans and counts.
 *
 * Byte keys: an iterator has a cursor, which is valid in one section. Every REFRESH steps the
 * iterator leaves its section, so that replaced memory can be freed, enters another one, and seeks
 * its last key again.
 */
#include "store/kv/kv.h"
#include "store/memory/reason.h"

#include <stdlib.h>

#define REFRESH 512

/* ---- bounds ---- */

static int key_compare(const u8 *a, u64 a_size, const u8 *b, u64 b_size)
{
	int c = memcmp(a, b, min(a_size, b_size));

	return c ? c : (a_size > b_size) - (a_size < b_size);
}

static int bound_set(struct bound *bound, const void *data, u64 size)
{
	u8 *copy;

	if (size > KEY_BYTES_MAX)
		return -E2BIG;
	LATH_ASSERT(data || !size);
	/* one byte more: the copy of an empty key is an address too */
	copy = memory_refused() ? NULL : malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, data, size);
	free(bound->data);
	bound->data = copy;
	bound->size = size;
	return 0;
}

/* Sets the bound, or makes it narrower: a low one higher, a high one lower. 0 | -ENOMEM | -E2BIG */
static int narrow(struct bound *bound, const struct lath_store_key *key, bool low)
{
	int c;

	if (!key || !bound->data || key->n > KEY_BYTES_MAX)
		return key ? bound_set(bound, key->data, key->n) : 0;
	c = key_compare(bound->data, bound->size, key->data, key->n);
	return (low ? c < 0 : c > 0) ? bound_set(bound, key->data, key->n) : 0;
}

/* Bounds keys by a prefix. 0 | -ENOMEM | -E2BIG */
static int bound_prefix(struct lath_store_iter *iter, const struct lath_store_key *prefix)
{
	u64 size = prefix->n;
	int ret = bound_set(&iter->low, prefix->data, size);

	if (ret)
		return ret;
	/* the first key behind all with the prefix: its last byte that is not 0xff, plus 1 */
	while (size && ((const u8 *)prefix->data)[size - 1] == 0xff)
		size--;
	if (!size) /* only 0xff: there is none */
		return 0;
	ret = bound_set(&iter->high, prefix->data, size);
	if (!ret)
		iter->high.data[size - 1]++;
	return ret;
}

/* ---- steps ---- */

static int move(struct lath_store_iter *iter, u64 *value)
{
	LATH_ASSERT(iter->sought && lath_reader_inside(iter->store->rcu));
	return iter->backward ? lath_bytes_cursor_prev(&iter->cursor, value)
			      : lath_bytes_cursor_next(&iter->cursor, value);
}

/* Moves the cursor to where the iteration goes on, behind the last key, or begins. 1 (*value) | 0:
 * there is nothing */
static int seek(struct lath_store_iter *iter, u64 *value)
{
	const struct bound *from = iter->last.data  ? &iter->last
				   : iter->backward ? &iter->high
						    : &iter->low;
	struct lath_bytes_key key = { from->data, from->size, 0 }, found;
	int ret;

	LATH_ASSERT(lath_reader_inside(iter->store->rcu) && !iter->sought);
	iter->sought = true;
	lath_bytes_cursor_init(&iter->cursor, &iter->store->set);
	if (!from->data) /* from the first, or the last, key of all */
		return move(iter, value);
	ret = iter->backward ? lath_bytes_cursor_seek_floor(&iter->cursor, &key, value)
			     : lath_bytes_cursor_seek(&iter->cursor, &key, value);
	if (!ret || from == &iter->low)
		return ret;
	/* the key itself was returned before, or is the bound that is not included */
	lath_store_key_of(NULL, *value, &found);
	if (found.size == key.size && !memcmp(found.data, key.data, key.size))
		ret = move(iter, value);
	return ret;
}

static bool beyond(const struct lath_store_iter *iter, const struct record *record)
{
	const struct bound *far = iter->backward ? &iter->low : &iter->high;
	int c;

	/* the bound that the iteration goes towards */
	if (!far->data)
		return false;
	c = key_compare(record_key(record), record_key_size(record), far->data, far->size);
	return iter->backward ? c < 0 : c >= 0;
}

/* Leaves the section and enters another one, where the last key is sought again. Without memory
 * for that it stays in the old section, and tries again REFRESH steps later. */
static void refresh(struct lath_store_iter *iter, const struct record *at)
{
	LATH_ASSERT(iter->sought && lath_reader_inside(iter->store->rcu));
	iter->steps = 0;
	if (bound_set(&iter->last, record_key(at), record_key_size(at)))
		return;
	/* the copy of the key is what remains: the record may be freed from here on */
	lath_reader_exit(iter->store->rcu);
	lath_reader_enter(iter->store->rcu);
	iter->sought = false;
}

static int next_number(struct lath_store_iter *iter, u64 *key, u64 *word)
{
	LATH_ASSERT(iter->i <= iter->n && iter->n <= CHUNK);
	LATH_ASSERT(lath_reader_inside(iter->store->rcu));
	if (iter->i ==
	    iter->n) { /* the items are copies, their values are not: a section per chunk */
		u64 next = 0;

		if (iter->ended)
			return 0;
		lath_reader_exit(iter->store->rcu);
		lath_reader_enter(iter->store->rcu);
		iter->n = (u32)(iter->backward ? lath_index_scan_back : lath_index_scan)(
			&iter->store->numbers, iter->number, iter->number_end, iter->item, CHUNK,
			&next);
		iter->i = 0;
		/* fewer than asked for, or the last key of the range: no further chunk */
		iter->ended = iter->n < CHUNK || iter->item[CHUNK - 1].key == iter->number_end;
		iter->number = next;
		if (!iter->n)
			return 0;
	}
	*key = iter->item[iter->i].key;
	*word = iter->item[iter->i++].value;
	return 1;
}

int lath_iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word)
{
	const struct record *record;
	u64 value;

	if (iter->store->keys == LATH_STORE_NUMBERS) {
		key->data = NULL;
		return next_number(iter, &key->n, word);
	}
	/* so that a long iteration does not keep all that is freed in the meantime */
	if (unlikely(iter->steps++ == REFRESH))
		refresh(iter, word_record(iter->store, *word));
	/* in a new section the cursor is not valid: seek the last key again */
	if (iter->ended || !(iter->sought ? move(iter, &value) : seek(iter, &value)) ||
	    beyond(iter, (const struct record *)(uintptr_t)value)) {
		iter->ended = true;
		return 0;
	}
	*word = lath_address_word(iter->store, value);
	record = word_record(iter->store, *word);
	*key = lath_key_bytes(record_key(record), record_key_size(record));
	return 1;
}

int lath_kv_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
		      struct lath_store_ref *value)
{
	int ret;

	/* entries that have expired are passed over */
	do {
		ret = lath_iter_next_word(iter, key, &iter->at);
		if (ret <= 0)
			return ret;
		value_ref(iter->store, iter->at, value);
	} while (ref_expired(value));
	return 1;
}

int lath_iter_pass(struct lath_store_iter *iter, struct lath_store_key key)
{
	if (key.data)
		return bound_set(&iter->last, key.data, key.n);
	iter->ended = key.n == iter->number_end;
	iter->number = iter->backward ? key.n - 1 : key.n + 1;
	return 0;
}

/* ---- begin and end ---- */

static int start_numbers(struct lath_store_iter *iter, const struct lath_store_range *range)
{
	u64 low = range->from ? range->from->n : 0, high = ~0ull;

	if (range->prefix || (range->from && range->from->data) || (range->to && range->to->data))
		return -EINVAL;
	/* `to` is not included: up to 0 there is nothing */
	if (range->to) {
		iter->ended = !range->to->n;
		high = range->to->n - 1;
	}
	LATH_ASSERT(iter->store->keys == LATH_STORE_NUMBERS);
	iter->ended |= low > high;
	iter->number = iter->backward ? high : low;
	iter->number_end = iter->backward ? low : high;
	return 0;
}

static int start_bytes(struct lath_store_iter *iter, const struct lath_store_range *range)
{
	int ret = 0;

	if ((range->prefix && !range->prefix->data) || (range->from && !range->from->data) ||
	    (range->to && !range->to->data))
		return -EINVAL;
	LATH_ASSERT(iter->store->keys == LATH_STORE_BYTES);
	if (range->prefix)
		ret = bound_prefix(iter, range->prefix);
	if (!ret)
		ret = narrow(&iter->low, range->from, true);
	return ret ? ret : narrow(&iter->high, range->to, false);
}

int lath_kv_iter_begin(struct lath_store *store, const struct lath_store_range *range, size_t size,
		       struct lath_store_iter **out)
{
	static const struct lath_store_range everything;
	struct lath_store_iter *iter;
	int ret;

	LATH_ASSERT(size >= sizeof(*iter));
	iter = memory_refused() ? NULL : calloc(1, size);
	if (!iter)
		return -ENOMEM;
	if (!range)
		range = &everything;
	iter->store = store;
	iter->backward = range->backward;
	/* until lath_store_iter_end(), by the same thread */
	lath_reader_enter(store->rcu);
	ret = store->keys == LATH_STORE_NUMBERS ? start_numbers(iter, range)
						: start_bytes(iter, range);
	if (ret)
		lath_store_iter_end(iter);
	else
		*out = iter;
	return ret;
}

void lath_store_iter_end(struct lath_store_iter *iter)
{
	if (!iter)
		return;
	LATH_ASSERT(lath_reader_inside(iter->store->rcu));
	lath_reader_exit(iter->store->rcu);
	free(iter->copies);
	free(iter->low.data);
	free(iter->high.data);
	free(iter->last.data);
	free(iter);
}

/* ---- many at once ---- */

/* Where a scan puts keys and values. */
struct refs {
	const struct lath_store *store;
	uint64_t *keys;
	struct lath_store_ref *refs;
	size_t n, max;
	u64 next; /* the key to go on from; 0: the scan came to its end */
};

/* Adds those of the entries [i, m) that have not expired. forms as value_ref_of(). */
static __always_inline void put_refs(struct refs *to, size_t i, size_t m, const u64 *keys,
				     const u64 *words, enum word_forms forms)
{
	const struct lath_store *store = to->store;
	struct lath_store_ref *refs = to->refs;
	uint64_t *out = to->keys;
	size_t n = to->n;

	LATH_ASSERT(n <= to->max && m - i <= to->max - n);
	for (; i < m; i++) {
		out[n] = keys[i];
		/* written in any case; one that has expired is overwritten by the next */
		value_ref_of(store, words[i], forms, &refs[n]);
		n += forms == FORMS_NIBBLES || !ref_expired(&refs[n]);
	}
	to->n = n;
}

/* Adds the entries of one leaf as far as there is room. Values of one kind lie together most often,
 * so the first ones of a leaf are looked at for the kind that takes longest when it is mixed. */
static int visit_refs(void *arg, const uint64_t *keys, const uint64_t *words, size_t m)
{
	struct refs *to = arg;
	bool packed = false, placed = false;
	size_t room = to->max - to->n, same, i;

	LATH_ASSERT(to->n <= to->max && m);
	if (m > room) { /* the scan ends in this leaf, and goes on there */
		m = room;
		to->next = keys[m];
	}
	for (same = 0; same < m && word_has_nibbles(words[same]);)
		same++;
	put_refs(to, 0, same, keys, words, FORMS_NIBBLES);
	for (i = same; i < m; i++) {
		packed |= word_has_nibbles(words[i]);
		placed |= word_has_place(words[i]);
	}
	/* all misses first: records lie anywhere in the arena */
	for (i = same; placed && i < m; i++)
		value_prefetch(to->store, words[i]);
	/* without characters of 4 bits a shorter expansion will do (word_text) */
	if (packed)
		put_refs(to, same, m, keys, words, FORMS_ANY);
	else
		put_refs(to, same, m, keys, words, FORMS_BYTES);
	return to->next != 0;
}

size_t lath_kv_scan(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		    struct lath_store_ref *refs, size_t max, uint64_t *next)
{
	struct refs to = { store, keys, refs, 0, max, 0 };

	lath_reader_enter(store->rcu);
	lath_index_visit_values(&store->numbers, from, last, max, visit_refs, &to);
	lath_reader_exit(store->rcu);
	*next = to.next;
	return to.n;
}

static int visit_count(void *arg, const uint64_t *keys, const uint64_t *words, size_t n)
{
	(void)keys;
	(void)words;
	*(int64_t *)arg += (int64_t)n;
	return 0;
}

int64_t lath_kv_count(struct lath_store *store, const struct lath_store_range *range)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	int64_t count = 0;
	u64 word = 0;
	int ret = lath_kv_iter_begin(store, range, sizeof(*iter), &iter);

	if (ret)
		return ret;
	/* each byte key is visited; of numbers the leaves are counted */
	if (store->keys == LATH_STORE_BYTES)
		while (lath_iter_next_word(iter, &key, &word) > 0)
			count++;
	else if (!iter->ended)
		lath_index_visit_values(&store->numbers, min(iter->number, iter->number_end),
					max(iter->number, iter->number_end), SIZE_MAX, visit_count,
					&count);
	lath_store_iter_end(iter);
	return count;
}
