/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.c - reads of the present and at snapshots.
 */
#include "set/version/chain.h"

/* Heads that are looked at together. */
#define BATCH 32u

static const struct snapshot *at_of(const struct lath_snapshot *at)
{
	return (const struct snapshot *)(const void *)at;
}

int lath_versions_get(struct lath_versions *public, const struct lath_snapshot *at,
		      const struct lath_bytes_key *key, void **record)
{
	struct versions_set *set = versions_of(public);
	u64 value = 0;

	lath_reader_enter(set->rcu);
	if (lath_bytes_get(&set->heads, key, &value))
		value = chain_see(set, value, at_of(at));
	lath_reader_exit(set->rcu);
	if (value)
		*record = record_of(value);
	return value != 0;
}

size_t lath_versions_scan(struct lath_versions *public, const struct lath_snapshot *at,
			  const struct lath_bytes_key *from, unsigned int flags, void **records,
			  size_t max)
{
	struct versions_set *set = versions_of(public);
	struct lath_bytes_key last;
	u64 heads[BATCH], value;
	size_t n = 0, ask, got, i;

	if (!from)
		flags &= ~(unsigned int)LATH_BYTES_SAME;
	lath_reader_enter(set->rcu);
	while (n < max) {
		ask = min(max - n, (size_t)BATCH);
		got = lath_bytes_scan(&set->heads, from, flags, heads, ask);
		for (i = 0; i < got; i++)
			prefetch(version_of(set, heads[i]));
		for (i = 0; i < got; i++) {
			value = chain_see(set, heads[i], at_of(at));
			if (value)
				records[n++] = record_of(value);
		}
		if (got < ask)
			break;
		last = version_key(set, heads[got - 1]);
		from = &last;
		flags |= LATH_BYTES_BEHIND;
	}
	lath_reader_exit(set->rcu);
	return n;
}

uint64_t lath_versions_count(struct lath_versions *public, const struct lath_snapshot *at)
{
	struct lath_versions_cursor cursor;
	u64 count = 0;

	lath_versions_cursor_init(&cursor, public, at);
	/* the present may free the record that the cursor stands on */
	if (!at)
		lath_reader_enter(versions_of(public)->rcu);
	for (void *record; lath_versions_cursor_next(&cursor, &record);)
		count++;
	if (!at)
		lath_reader_exit(versions_of(public)->rcu);
	return count;
}

/* ---- cursors ---- */

void lath_versions_cursor_init(struct lath_versions_cursor *cursor, struct lath_versions *set,
			       const struct lath_snapshot *at)
{
	lath_versions_cursor_init_prefix(cursor, set, at, NULL, 0);
}

void lath_versions_cursor_init_prefix(struct lath_versions_cursor *cursor,
				      struct lath_versions *set, const struct lath_snapshot *at,
				      const void *prefix, uint64_t size)
{
	cursor->set = set;
	cursor->at = at;
	cursor->prefix = prefix;
	cursor->prefix_size = size;
	cursor->on = NULL;
	cursor->i = cursor->n = cursor->back = 0;
	cursor->ask = LATH_VERSIONS_AHEAD / 4;
}

static bool key_same(const struct lath_bytes_key *a, const struct lath_bytes_key *b)
{
	return a->size == b->size && a->tag == b->tag &&
	       (!a->size || !memcmp(a->data, b->data, a->size));
}

static int base_step(struct lath_bytes_cursor *base, bool back, u64 *value)
{
	return back ? lath_bytes_cursor_prev(base, value) : lath_bytes_cursor_next(base, value);
}

/* Move to the first head to read: at the key, or behind it, or at the end if it is NULL. */
static int base_begin(struct versions_set *set, struct lath_bytes_cursor *base,
		      const struct lath_bytes_key *key, bool behind, bool back, u64 *value)
{
	struct lath_bytes_key there;
	int ok;

	if (!key)
		return base_step(base, back, value);
	ok = back ? lath_bytes_cursor_seek_floor(base, key, value)
		  : lath_bytes_cursor_seek(base, key, value);
	if (!ok || !behind)
		return ok;
	there = version_key(set, *value);
	return key_same(key, &there) ? base_step(base, back, value) : ok;
}

/* Read ahead from the key on, or behind it. Returns how many there are. */
static u32 cursor_fill(struct lath_versions_cursor *cursor, const struct lath_bytes_key *key,
		       bool behind, bool back)
{
	struct versions_set *set = versions_of(cursor->set);
	struct lath_bytes_cursor base;
	u64 head, value;
	u32 n = 0;
	int ok;

	if (cursor->prefix_size)
		lath_bytes_cursor_init_prefix(&base, &set->heads, cursor->prefix,
					      cursor->prefix_size);
	else
		lath_bytes_cursor_init(&base, &set->heads);
	lath_reader_enter(set->rcu);
	ok = base_begin(set, &base, key, behind, back, &head);
	for (; ok; ok = base_step(&base, back, &head)) {
		value = chain_see(set, head, at_of(cursor->at));
		if (value)
			cursor->ahead[n++] = record_of(value);
		if (n == cursor->ask)
			break;
	}
	lath_reader_exit(set->rcu);
	cursor->i = 0;
	cursor->n = n;
	cursor->back = back;
	return n;
}

/* Show what was read ahead. */
static int cursor_show(struct lath_versions_cursor *cursor, void **record)
{
	if (cursor->i == cursor->n)
		return 0;
	cursor->on = cursor->ahead[cursor->i++];
	*record = cursor->on;
	return 1;
}

static int cursor_seek(struct lath_versions_cursor *cursor, const struct lath_bytes_key *key,
		       bool back, void **record)
{
	cursor->ask = LATH_VERSIONS_AHEAD / 4;
	cursor_fill(cursor, key, false, back);
	return cursor_show(cursor, record);
}

int lath_versions_cursor_seek(struct lath_versions_cursor *cursor, const struct lath_bytes_key *key,
			      void **record)
{
	return cursor_seek(cursor, key, false, record);
}

int lath_versions_cursor_seek_floor(struct lath_versions_cursor *cursor,
				    const struct lath_bytes_key *key, void **record)
{
	return cursor_seek(cursor, key, true, record);
}

static int cursor_step(struct lath_versions_cursor *cursor, bool back, void **record)
{
	struct lath_bytes_key key;

	if (cursor->i < cursor->n && cursor->back == back)
		return cursor_show(cursor, record);
	if (cursor->on)
		key = version_key(versions_of(cursor->set), (u64)(uintptr_t)cursor->on);
	cursor_fill(cursor, cursor->on ? &key : NULL, true, back);
	cursor->ask = LATH_VERSIONS_AHEAD;
	return cursor_show(cursor, record);
}

int lath_versions_cursor_next(struct lath_versions_cursor *cursor, void **record)
{
	return cursor_step(cursor, false, record);
}

int lath_versions_cursor_prev(struct lath_versions_cursor *cursor, void **record)
{
	return cursor_step(cursor, true, record);
}
