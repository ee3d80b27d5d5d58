/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * row.c - rows: a few versions of one key, as an array of their values and nothing else.
 *
 * To add a record, the row is copied. To replace or erase one, a word is stored in place (0:
 * erased). So readers take no lock and compare no version, but the first word may tell them
 * that the row was left for good: there it is a link of a list, and they look again. A writer sets
 * a bit of the first word to lock the row.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/row.h"

/* ---- memory ---- */

static u32 row_size(u64 word)
{
	u32 size = 2 + (u32)(READ_ONCE(row_places(word)[1]) & ROW_BITS);

	LATH_ASSERT(size <= ROW_MAX); /* callers copy rows into arrays of ROW_MAX */
	return size;
}

/* The value of a place. */
static u64 row_value(u64 word, u32 i)
{
	/* pairs with lath_row_change */
	return smp_load_acquire(&row_places(word)[i]) & ~ROW_BITS;
}

static void row_free(struct bytes_set *set, u64 word)
{
	lath_bytes_free(set, row_places(word), row_size(word) * sizeof(u64));
}

/* Make a row of n records, in order. Returns its word; 0: no memory. */
static u64 row_new(struct bytes_set *set, const u64 *value, u32 n)
{
	u64 *row = lath_bytes_alloc(set, n * sizeof(u64), sizeof(u64));

	LATH_ASSERT(n >= 2 && n <= ROW_MAX);
	if (!row)
		return 0;
	LATH_ASSERT(!((uintptr_t)row & 7)); /* bits of the word */
	memcpy(row, value, n * sizeof(u64));
	row[1] |= n - 2;
	return (u64)(uintptr_t)row | 7;
}

/* Make a bucket of n records, in order. Returns its word; 0: no memory. */
static u64 bucket_of_records(struct bytes_set *set, const struct layer *layer, const u64 *value,
			     u32 n)
{
	struct want first = key_of(set, value[0]), last = key_of(set, value[n - 1]);
	struct bucket *bucket = lath_bucket_new(set, n, bytes_common(&first, &last));
	u32 i;

	if (!bucket)
		return 0;
	for (i = 0; i < n; i++)
		lath_bucket_append(set, bucket, layer, value[i]);
	lath_bucket_sort_out(set, bucket);
	return bucket_word(bucket);
}

void lath_array_drop(struct bytes_set *set, u64 word)
{
	if (form_of(word) == FORM_ROW)
		row_free(set, word);
	else if (form_of(word) == FORM_BUCKET)
		lath_bucket_drop(bucket_of(word));
}

static void rows_retired(struct lath_rcu_head *head)
{
	struct bytes_set *set = container_of(head, struct bytes_set, rows_rcu);
	u64 word, next;

	lath_retired();
	lath_call_enter();
	/* nobody else changes it unless it is 0, and this callback is outstanding only if not */
	LATH_ASSERT(set->rows_waiting);
	for (word = set->rows_waiting; word; word = next) {
		next = *row_places(word);
		row_free(set, word);
		if (next == ROW_GONE)
			break;
	}
	lath_spin_lock(&set->lock);
	next = set->rows_left;
	set->rows_left = 0;
	set->rows_waiting = next; /* 0: the set may end now (lath_rows_wait) */
	lath_spin_unlock(&set->lock);
	if (next)
		lath_retire(set->rcu, &set->rows_rcu, rows_retired);
	lath_call_exit();
	lath_retired_end();
}

bool lath_rows_wait(struct bytes_set *set)
{
	bool waiting;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	waiting = set->rows_waiting;
	lath_spin_unlock(&set->lock);
	lath_call_exit();
	return waiting;
}

/* Leave the row for good, which is locked, and free it after a grace period. One callback frees all
 * that were left since the one before began to wait. */
static void row_retire(struct bytes_set *set, u64 word)
{
	bool begin;

	LATH_ASSERT(READ_ONCE(*row_places(word)) & ROW_BUSY);
	/* no store unless it is needed: the field is in a line that every call reads */
	if (!READ_ONCE(set->retired))
		WRITE_ONCE(set->retired, true);
	lath_spin_lock(&set->lock);
	WRITE_ONCE(*row_places(word), set->rows_left | ROW_GONE);
	set->rows_left = word;
	/* one grace period at a time: it is begun here, or by the callback of the one before */
	begin = !set->rows_waiting;
	if (begin) {
		set->rows_waiting = word;
		set->rows_left = 0;
	}
	lath_spin_unlock(&set->lock);
	preempt_enable();
	if (begin)
		lath_retire(set->rcu, &set->rows_rcu, rows_retired);
}

/* ---- reading ---- */

u32 lath_row_read(u64 word, u64 *value)
{
	u32 size = row_size(word), n = 0, i;
	u64 first = smp_load_acquire(row_places(word)); /* pairs with lath_row_change */

	/* the first word is a link now; the other values may be old too */
	if (unlikely(first & ROW_GONE))
		return 0;
	for (i = 0; i < size; i++) {
		value[n] = i ? row_value(word, i) : first & ~ROW_BITS;
		n += value[n] != 0;
	}
	return n;
}

void lath_row_prefetch_records(u64 word)
{
	u32 size = row_size(word), i;

	for (i = 0; i < size; i++)
		prefetch_record(READ_ONCE(row_places(word)[i]));
}

u64 lath_row_get(struct bytes_set *set, u64 word, const struct want *want)
{
	u64 value[ROW_MAX];
	u32 n, i;

	lath_row_prefetch_records(word);
	n = lath_row_read(word, value);
	for (i = 0; i < n; i++) {
		struct want key = key_of(set, value[i]);

		if (bytes_equal(want, &key, 0))
			return value[i];
	}
	return n ? 0 : LOOK_AGAIN;
}

/* ---- changes ---- */

/* Lock a row for a change, unless it was left for good. Returns whether it did. In a call. */
static bool row_lock(u64 word)
{
	u64 *state = row_places(word), was;
	unsigned int rounds = 0;

	lath_call_assert();
	for (;;) {
		was = READ_ONCE(*state);
		if (was & ROW_GONE)
			return false;
		preempt_disable();
		/* pairs with row_unlock */
		if (!(was & ROW_BUSY) && cmpxchg_acquire(state, was, was | ROW_BUSY) == was)
			return true;
		preempt_enable();
		lath_spin_wait(&rounds);
	}
}

static void row_unlock(u64 word)
{
	u64 *state = row_places(word);

	LATH_ASSERT(READ_ONCE(*state) & ROW_BUSY);
	/* pairs with row_lock */
	smp_store_release(state, READ_ONCE(*state) & ~ROW_BUSY);
	preempt_enable();
}

/* Put a word in the place of a record, or of a row if that still has these records. 0 |
 * LOOK_AGAIN */
static int take_place(struct bytes_set *set, const struct place *place, const u64 *value, u32 n,
		      u64 word)
{
	struct lath_index *index = &place->layer->index;
	u64 now[ROW_MAX];
	int ret;

	LATH_ASSERT(form_of(word) == FORM_ROW || form_of(word) == FORM_BUCKET);
	/* before the word is there: who reads the layer without a look at each word (read.c) finds
	 * the mark, or records alone */
	if (!READ_ONCE(place->layer->forked))
		WRITE_ONCE(place->layer->forked, 1);
	if (form_of(place->word) == FORM_RECORD)
		return lath_index_replace_if(index, place->slice, place->word, word, NULL)
			       ? LOOK_AGAIN
			       : 0;
	if (!row_lock(place->word))
		return LOOK_AGAIN;
	/* the copy was made without the lock: another record may have come into a place since */
	if (lath_row_read(place->word, now) != n || memcmp(now, value, n * sizeof(u64)) != 0) {
		row_unlock(place->word);
		return LOOK_AGAIN;
	}
	ret = lath_index_replace_if(index, place->slice, place->word, word, NULL);
	LATH_ASSERT(!ret); /* only the holder of its lock replaces a row */
	row_retire(set, place->word);
	return ret;
}

int lath_row_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		    u64 value, u64 *there)
{
	u64 old[ROW_MAX] = { place->word }, copy[ROW_MAX + 1], word;
	u32 n = form_of(place->word) == FORM_ROW ? lath_row_read(place->word, old) : 1, i;
	struct want key = { 0 };
	int c = 1, ret;

	LATH_ASSERT(lath_reader_inside(set->rcu));
	for (i = 0; i < n; i++) {
		key = key_of(set, old[i]);
		c = lath_bytes_compare(want, &key);
		if (c <= 0)
			break;
	}
	if (!c)
		*there = old[i];
	if (!c || !n)
		return n ? -EEXIST : LOOK_AGAIN;
	memcpy(copy, old, i * sizeof(u64));
	copy[i] = value;
	memcpy(copy + i + 1, old + i, (n - i) * sizeof(u64));
	/* `key` is the last one that was compared; all of a row have the same bytes */
	if (n < ROW_MAX && key.size == want->size && bytes_common(want, &key) == key.size)
		word = row_new(set, copy, n + 1);
	else
		word = bucket_of_records(set, place->layer, copy, n + 1);
	if (!word)
		return -ENOMEM;
	lath_delay("bucket copied, not yet replaced");
	ret = take_place(set, place, old, n, word);
	if (ret)
		lath_array_drop(set, word);
	return ret;
}

/* The place of the record with this key, or of `expected` if that is in the row; ROW_MAX: none. The
 * row is locked. */
static u32 place_of(struct bytes_set *set, u64 word, const struct want *want, u64 expected)
{
	u32 size = row_size(word), i;

	LATH_ASSERT(READ_ONCE(*row_places(word)) & ROW_BUSY);
	/* by value first: no record's key has to be read */
	for (i = 0; expected && i < size; i++)
		if (row_value(word, i) == expected)
			return i;
	for (i = 0; i < size; i++) {
		u64 value = row_value(word, i);
		struct want key;

		if (!value)
			continue;
		key = key_of(set, value);
		if (bytes_equal(want, &key, 0))
			return i;
	}
	return ROW_MAX;
}

int lath_row_change(struct bytes_set *set, const struct place *place, const struct want *want,
		    u64 expected, u64 value, u64 *there)
{
	u64 left[ROW_MAX], *at;
	int ret = -ENOENT;
	u32 i;

	LATH_ASSERT(!(value & ROW_BITS)); /* they are the row's state */
	LATH_ASSERT(lath_reader_inside(set->rcu));
	if (!row_lock(place->word))
		return LOOK_AGAIN;
	i = place_of(set, place->word, want, expected);
	if (i == ROW_MAX)
		goto out;
	at = &row_places(place->word)[i];
	*there = *at & ~ROW_BITS;
	/* the record has the key but is another one: *there tells the caller which */
	ret = expected && expected != *there ? -EAGAIN : 0;
	if (ret)
		goto out;
	/* pairs with lath_row_read and row_value */
	smp_store_release(at, value | (*at & ROW_BITS));
	if (lath_row_read(place->word, left) > 1)
		goto out;
	/* cannot fail: only the holder of its lock replaces a row */
	ret = lath_index_replace_if(&place->layer->index, place->slice, place->word, left[0], NULL);
	LATH_ASSERT(!ret);
	row_retire(set, place->word);
	return ret;
out:
	row_unlock(place->word);
	return ret;
}

/* ---- checks ---- */

bool lath_row_true(struct bytes_set *set, const struct place *place)
{
	u64 value[ROW_MAX];
	u32 n = lath_row_read(place->word, value), i;
	struct want before = { 0 };

	if (n < 2 || row_places(place->word)[0] & ROW_BUSY)
		return false;
	for (i = 0; i < n; i++) {
		struct want key = key_of(set, value[i]);

		if (i && (lath_bytes_fork(&before, &key) != TAG ||
			  lath_bytes_compare(&before, &key) >= 0))
			return false;
		if (!lath_place_holds(place, &key))
			return false;
		before = key;
	}
	return true;
}
