/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iterate.c - iteration in key order, in both directions; count and rank.
 *
 * Byte keys: an iterator has a cursor, which is valid in one section. Every REFRESH steps the
 * iterator leaves its section, so that replaced memory can be freed, enters another one, and seeks
 * its last key again.
 *
 * A shared store: some entries at a time are copied under the lock.
 */

#include "store/place/shm.h"
#include "store/kv/value.h"
#include "store/memory/reason.h"

#include <stdlib.h>

#define CHUNK 32
#define REFRESH 512
#define CHUNK_BYTES (64u << 10)

/* A bound of the range, owned by the iterator. */
struct bound {
	u8 *data;
	u64 size;
	bool set;
};

struct lath_store_iter {
	struct lath_store *store;
	bool backward;
	bool ended;
	unsigned int steps;
	u64 at;		       /* word of the last key */
	struct copied *copied; /* of a shared store */
	/* numbers */
	u64 number, number_end;
	u32 i, n;
	struct lath_item item[CHUNK];
	/* byte keys */
	struct bound low, high,
		last; /* low inclusive, high exclusive; last: the key to seek again */
	bool sought;  /* the cursor is at the last record */
	struct lath_bytes_cursor cursor;
};

/* Entries of a shared store, copied at once. */
struct copied {
	unsigned int i, n;
	struct {
		u64 key, key_size; /* numbers: the key; bytes: its offset in `data` */
		u64 value, size, version, expires;
	} entry[GROUP];
	u8 *data;
	size_t used, room;
};

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
	bound->set = true;
	return 0;
}

/* Makes *bound the narrower of both, low or high ones. Frees the other. */
static void narrow(struct bound *bound, struct bound other, bool low)
{
	int c = bound->set ? key_compare(bound->data, bound->size, other.data, other.size) : 0;

	LATH_ASSERT(other.set);
	if (!bound->set || (low ? c < 0 : c > 0)) {
		free(bound->data);
		*bound = other;
	} else {
		free(other.data);
	}
}

/* Narrows both bounds to keys with the prefix. 0 | -ENOMEM | -E2BIG */
static int bound_prefix(struct lath_store_iter *iter, const struct lath_store_key *prefix)
{
	struct bound low = { 0 }, high = { 0 };
	u64 size = prefix->n;
	int ret;

	LATH_ASSERT(prefix->data);
	ret = bound_set(&low, prefix->data, size);
	if (ret)
		return ret;
	narrow(&iter->low, low, true);
	/* the first key behind all with the prefix: its last byte that is not 0xff, plus 1 */
	while (size && ((const u8 *)prefix->data)[size - 1] == 0xff)
		size--;
	if (!size) /* only 0xff: there is none */
		return 0;
	ret = bound_set(&high, prefix->data, size);
	if (ret)
		return ret;
	high.data[size - 1]++;
	narrow(&iter->high, high, false);
	return 0;
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
	const struct bound *from = iter->last.set   ? &iter->last
				   : iter->backward ? &iter->high
						    : &iter->low;
	struct lath_bytes_key key = { from->data, from->size, 0 }, found;
	int ret;

	LATH_ASSERT(lath_reader_inside(iter->store->rcu) && !iter->sought);
	iter->sought = true;
	lath_bytes_cursor_init(&iter->cursor, &iter->store->set);
	if (!from->set) /* from the first, or the last, key of all */
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
	if (!far->set)
		return false;
	LATH_ASSERT(far->data);
	c = key_compare(record_key(record), record_key_size(record), far->data, far->size);
	return iter->backward ? c < 0 : c >= 0;
}

/* Finds the next record: 1 (*word) | 0: none */
static int next_record(struct lath_store_iter *iter, u64 *word)
{
	u64 value;

	if (iter->ended)
		return 0;
	/* in a new section the cursor is not valid: seek the last key again */
	if (!(iter->sought ? move(iter, &value) : seek(iter, &value)) ||
	    beyond(iter, (const struct record *)(uintptr_t)value)) {
		iter->ended = true;
		return 0;
	}
	*word = lath_address_word(iter->store, value);
	return 1;
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
		if (iter->backward)
			iter->n = (u32)lath_index_scan_back(&iter->store->numbers, iter->number,
							    iter->number_end, iter->item, CHUNK,
							    &next);
		else
			iter->n = (u32)lath_index_scan(&iter->store->numbers, iter->number,
						       iter->number_end, iter->item, CHUNK, &next);
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
	int ret;

	LATH_ASSERT(!iter->store->backend && !iter->copied);
	if (iter->store->keys == LATH_STORE_NUMBERS) {
		key->data = NULL;
		return next_number(iter, &key->n, word);
	}
	/* so that a long iteration does not keep all that is freed in the meantime */
	if (unlikely(iter->steps++ == REFRESH))
		refresh(iter, word_record(iter->store, *word));
	ret = next_record(iter, word);
	if (ret <= 0)
		return ret;
	record = word_record(iter->store, *word);
	*key = lath_key_bytes(record_key(record), record_key_size(record));
	return 1;
}

/* ---- stores in other places ---- */

static u64 put_bytes(struct copied *chunk, const void *data, u64 size)
{
	u64 at = chunk->used;

	LATH_ASSERT(size <= chunk->room && at <= chunk->room - size);
	if (size)
		memcpy(chunk->data + at, data, size);
	chunk->used = (at + size + 7) & ~7ull;
	return at;
}

static int put_entry(struct copied *chunk, const struct lath_store_key *key,
		     const struct lath_store_ref *ref)
{
	u64 need = chunk->used + (key->data ? key->n : 0) + ref->size + 16;
	__typeof__(chunk->entry[0]) *to = &chunk->entry[chunk->n];

	LATH_ASSERT(chunk->n < GROUP && chunk->used <= chunk->room);
	if (need > chunk->room &&
	    !lath_buffer_grow(&chunk->data, &chunk->room, max(need, chunk->room * 2)))
		return -ENOMEM;
	to->key_size = key->n;
	to->key = key->data ? put_bytes(chunk, key->data, key->n) : key->n;
	to->value = put_bytes(chunk, ref->data, ref->size);
	to->size = ref->size;
	to->version = ref->version;
	to->expires = ref->expires;
	chunk->n++;
	return 0;
}

static struct lath_store_key key_at(const struct lath_store_iter *iter, unsigned int i)
{
	const struct copied *chunk = iter->copied;

	LATH_ASSERT(i < chunk->n);
	return iter->store->keys == LATH_STORE_NUMBERS
		       ? lath_key_number(chunk->entry[i].key)
		       : lath_key_bytes(chunk->data + chunk->entry[i].key,
					chunk->entry[i].key_size);
}

/* Makes a number the last one that was returned. */
static void pass(struct lath_store_iter *iter, u64 key)
{
	iter->ended = key == iter->number_end;
	iter->number = iter->backward ? key - 1 : key + 1;
}

/* Copies the entries from the iterator's position on until the chunk is full. Lock held. 0: some,
 * or it has ended | -ENOMEM, with none */
static int copy_some(struct lath_store_iter *iter)
{
	struct lath_store_iter in = *iter; /* the bounds are the same ones */
	struct copied *chunk = iter->copied;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int ret = 1;

	in.store = iter->store->inside;
	in.copied = NULL;
	lath_reader_enter(in.store->rcu);
	while (ret > 0 && chunk->n < GROUP && chunk->used < CHUNK_BYTES) {
		ret = lath_store_iter_next(&in, &key, &ref);
		if (ret > 0 && put_entry(chunk, &key, &ref))
			ret = -ENOMEM;
	}
	lath_reader_exit(in.store->rcu);
	iter->ended = !ret;
	/* without memory for a further entry those that are copied are returned first */
	return ret < 0 && !chunk->n ? ret : 0;
}

static int fill(struct lath_store_iter *iter)
{
	struct copied *chunk = iter->copied;
	struct lath_store_key last;
	int ret;

	if (chunk->n) { /* go on behind the last one, whose copy is about to be overwritten */
		last = key_at(iter, chunk->n - 1);
		ret = last.data ? bound_set(&iter->last, last.data, last.n) : 0;
		if (ret)
			return ret;
		if (!last.data)
			pass(iter, last.n);
	}
	chunk->i = chunk->n = 0;
	chunk->used = 0;
	return (int)LOCKED(iter->store, false, copy_some(iter));
}

static int next_copied(struct lath_store_iter *iter, struct lath_store_key *key,
		       struct lath_store_ref *value)
{
	struct copied *chunk = iter->copied;
	int ret;

	if (chunk->i == chunk->n) {
		ret = iter->ended ? 0 : fill(iter);
		if (ret || !chunk->n || chunk->i == chunk->n)
			return ret;
	}
	*key = key_at(iter, chunk->i);
	value->data = chunk->data + chunk->entry[chunk->i].value;
	value->size = chunk->entry[chunk->i].size;
	value->version = chunk->entry[chunk->i].version;
	value->expires = chunk->entry[chunk->i++].expires;
	return 1;
}

/* The kernel's store: numbers, one at a time, each in its own section. */
static int next_elsewhere(struct lath_store_iter *iter, struct lath_store_key *key,
			  struct lath_store_ref *value)
{
	struct lath_store *store = iter->store;
	int ret;

	if (iter->ended)
		return 0;
	LATH_ASSERT(store->backend && store->backend->seek);
	LATH_ASSERT(lath_reader_inside(store->rcu));
	/* copies of one call are valid until the section ends */
	lath_reader_exit(store->rcu);
	lath_reader_enter(store->rcu);
	ret = store->backend->seek(store, lath_key_number(iter->number), iter->backward, key,
				   value);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	/* the other place knows no end: the first key behind the range ends it */
	if (iter->backward ? key->n < iter->number_end : key->n > iter->number_end)
		return 0;
	pass(iter, key->n);
	return 1;
}

int lath_store_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
			 struct lath_store_ref *value)
{
	int ret;

	if (unlikely(iter->store->backend))
		return iter->copied ? next_copied(iter, key, value)
				    : next_elsewhere(iter, key, value);
	/* entries that have expired are passed over */
	do {
		ret = lath_iter_next_word(iter, key, &iter->at);
		if (ret <= 0)
			return ret;
		value_ref(iter->store, iter->at, value);
	} while (ref_expired(value));
	return 1;
}

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
	if (range->from)
		ret = bound_set(&iter->low, range->from->data, range->from->n);
	if (!ret && range->to)
		ret = bound_set(&iter->high, range->to->data, range->to->n);
	if (!ret && range->prefix)
		ret = bound_prefix(iter, range->prefix);
	return ret;
}

int lath_store_iter_begin(struct lath_store *store, const struct lath_store_range *range,
			  struct lath_store_iter **out)
{
	static const struct lath_store_range everything;
	struct lath_store_iter *iter;
	int ret;

	iter = memory_refused() ? NULL : calloc(1, sizeof(*iter));
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
	if (!ret && store->inside) {
		iter->copied = memory_refused() ? NULL : calloc(1, sizeof(*iter->copied));
		ret = iter->copied ? fill(iter) : -ENOMEM;
	}
	if (ret) {
		lath_store_iter_end(iter);
		return ret;
	}
	*out = iter;
	return 0;
}

void lath_store_iter_end(struct lath_store_iter *iter)
{
	if (!iter)
		return;
	LATH_ASSERT(lath_reader_inside(iter->store->rcu));
	lath_reader_exit(iter->store->rcu);
	if (iter->copied)
		free(iter->copied->data);
	free(iter->copied);
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

size_t lath_store_scan_numbers(struct lath_store *store, uint64_t from, uint64_t last,
			       uint64_t *keys, struct lath_store_ref *refs, size_t max,
			       uint64_t *next)
{
	struct refs to = { store, keys, refs, 0, max, 0 };

	if (next)
		*next = 0;
	if (store->keys != LATH_STORE_NUMBERS)
		return 0;
	if (store->backend)
		return store->backend->scan(store, from, last, keys, refs, max, next);
	lath_reader_enter(store->rcu);
	lath_index_visit_values(&store->numbers, from, last, max, visit_refs, &to);
	lath_reader_exit(store->rcu);
	if (next)
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

int64_t lath_store_count(struct lath_store *store, const struct lath_store_range *range)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int64_t count = 0;
	u64 word = 0;
	int ret;

	if (store->inside)
		return LOCKED(store, false, lath_store_count(store->inside, range));
	ret = lath_store_iter_begin(store, range, &iter);
	if (ret)
		return ret;
	/* in the kernel and of byte keys each entry is visited; of numbers the leaves are counted */
	if (store->backend || store->keys == LATH_STORE_BYTES)
		while ((ret = store->backend ? next_elsewhere(iter, &key, &ref)
					     : lath_iter_next_word(iter, &key, &word)) > 0)
			count++;
	else if (!iter->ended)
		lath_index_visit_values(&store->numbers, min(iter->number, iter->number_end),
					max(iter->number, iter->number_end), SIZE_MAX, visit_count,
					&count);
	lath_store_iter_end(iter);
	return ret < 0 ? ret : count;
}

int64_t lath_store_rank(struct lath_store *store, struct lath_store_key key)
{
	struct lath_store_range range = { NULL, &key, NULL, 0 };
	int ret = key_check(store, key);

	return ret ? ret : lath_store_count(store, &range);
}
