/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.c - reads of the present and at snapshots.
 */
#include "set/version/chain.h"

/* Heads that are looked at together: their cache misses overlap. */
#define BATCH 32u

static const struct snapshot *at_of(const struct lath_snapshot *at)
{
	return (const struct snapshot *)(const void *)at;
}

/* What to collect. */
struct wanted {
	struct versions_set *set;
	const struct snapshot *at;
	const void *prefix; /* of the keys */
	u64 prefix_size;
};

static bool begins(const struct wanted *wanted, u64 head)
{
	struct lath_bytes_key key = version_key(wanted->set, head);

	return key.size >= wanted->prefix_size &&
	       !memcmp(key.data, wanted->prefix, wanted->prefix_size);
}

/* Copy the records at or after a key, NULL: from the first or last one on, as lath_bytes_scan()
 * with its flags. Returns how many. In a section. */
static size_t collect(const struct wanted *wanted, const struct lath_bytes_key *from,
		      unsigned int flags, void **records, size_t max)
{
	struct versions_set *set = wanted->set;
	struct lath_bytes_key last;
	u64 heads[BATCH], value;
	size_t n = 0, ask, got, i;

	while (n < max) {
		ask = min(max - n, (size_t)BATCH);
		got = lath_bytes_scan(&set->heads, from, flags, heads, ask);
		for (i = 0; i < got; i++)
			prefetch(version_of(set, heads[i]));
		for (i = 0; i < got; i++) {
			if (wanted->prefix_size && !begins(wanted, heads[i]))
				return n;
			value = chain_see(set, heads[i], wanted->at);
			if (value)
				records[n++] = version_record(value);
		}
		if (got < ask)
			break;
		last = version_key(set, heads[got - 1]);
		from = &last;
		flags |= LATH_BYTES_BEHIND;
	}
	return n;
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
		*record = version_record(value);
	return value != 0;
}

size_t lath_versions_scan(struct lath_versions *public, const struct lath_snapshot *at,
			  const struct lath_bytes_key *from, unsigned int flags, void **records,
			  size_t max)
{
	struct wanted wanted = { versions_of(public), at_of(at), NULL, 0 };
	size_t n;

	if (!from)
		flags &= ~(unsigned int)LATH_BYTES_SAME;
	lath_reader_enter(wanted.set->rcu);
	n = collect(&wanted, from, flags, records, max);
	lath_reader_exit(wanted.set->rcu);
	return n;
}

uint64_t lath_versions_count(struct lath_versions *public, const struct lath_snapshot *at)
{
	struct lath_versions_cursor cursor;
	u64 count = 0;

	lath_versions_cursor_init(&cursor, public, at);
	/* the present may free the record that the cursor is at */
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
	cursor->ask = LATH_VERSIONS_AHEAD / 2;
}

/* Read ahead from the key on, or behind it; NULL: from the first or the last record on. */
static void cursor_fill(struct lath_versions_cursor *cursor, const struct lath_bytes_key *key,
			bool behind, bool back)
{
	struct wanted wanted = { versions_of(cursor->set), at_of(cursor->at), cursor->prefix,
				 cursor->prefix_size };
	unsigned int flags = (back ? LATH_BYTES_BACK : 0u) | (behind ? LATH_BYTES_BEHIND : 0u);
	struct lath_bytes_cursor first;
	struct lath_bytes_key there;
	u64 head;
	int any = 1;

	lath_reader_enter(wanted.set->rcu);
	if (!key && cursor->prefix_size) {
		lath_bytes_cursor_init_prefix(&first, &wanted.set->heads, cursor->prefix,
					      cursor->prefix_size);
		any = back ? lath_bytes_cursor_prev(&first, &head)
			   : lath_bytes_cursor_next(&first, &head);
		if (any) {
			there = version_key(wanted.set, head);
			key = &there;
		}
	}
	cursor->i = 0;
	cursor->n = any ? (u32)collect(&wanted, key, flags, cursor->ahead, cursor->ask) : 0;
	cursor->back = back;
	lath_reader_exit(wanted.set->rcu);
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
	cursor->ask = LATH_VERSIONS_AHEAD / 2;
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
	cursor_fill(cursor, cursor->on ? &key : NULL, cursor->on, back);
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
