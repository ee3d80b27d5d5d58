/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * calls.c - the public calls on keys: arguments are checked, then the place's function is called.
 * Each change that depends on the old value is lath_store_update() with a function that decides.
 */
#include "store/place/place.h"

#include <inttypes.h>
#include <stdio.h>

/* Makes a call of kv.h on a store in this process, else the place's of that name. */
#define CALL(store, name, ...)                                                   \
	(likely((store)->inside == (store)) ? lath_kv_##name(store, __VA_ARGS__) \
					    : (store)->place->name(store, __VA_ARGS__))

/* 0 | as key_check() | -EROFS */
static inline int change_check(const struct lath_store *store, struct lath_store_key key)
{
	int ret = key_check(store, key);

	return unlikely(ret) ? ret : unlikely(store->read_only) ? -EROFS : 0;
}

/* ---- reads ---- */

void lath_store_read_begin(struct lath_store *store)
{
	lath_reader_enter(store->rcu);
}

void lath_store_read_end(struct lath_store *store)
{
	lath_reader_exit(store->rcu);
}

int lath_store_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	int ret = key_check(store, key);

	return unlikely(ret) ? ret : CALL(store, get_ref, key, ref);
}

int64_t lath_store_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	int ret = key_check(store, key);

	return unlikely(ret) ? ret : CALL(store, get, key, buf, room);
}

/* ---- changes ---- */

/* Where a set or a delete is an update. Apart, so that those here pass their arguments on. */
static __attribute__((noinline)) int
set_elsewhere(struct lath_store *store, struct lath_store_key key, const void *value, size_t size)
{
	struct lath_store_entry want = { key, value, size, 0 };

	return store->place->update(store, key, lath_decide_put, &want);
}

int lath_store_set(struct lath_store *store, struct lath_store_key key, const void *value,
		   size_t size)
{
	int ret = change_check(store, key);

	if (unlikely(ret))
		return ret;
	return likely(store->inside == store) ? lath_kv_set(store, key, value, size)
					      : set_elsewhere(store, key, value, size);
}

int lath_store_delete(struct lath_store *store, struct lath_store_key key)
{
	int ret = change_check(store, key), seen = 0;

	if (!ret && store->inside == store)
		return lath_kv_delete(store, key);
	if (!ret)
		ret = store->place->update(store, key, lath_decide_delete, &seen);
	return ret ? ret : seen ? 0 : -ENOENT;
}

int lath_store_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	int ret = change_check(store, key);

	return unlikely(ret) ? ret : CALL(store, update, key, fn, arg);
}

/* ---- decisions of the calls, for lath_store_update ---- */

static int decide_add(void *arg, const struct lath_store_ref *old, struct lath_store_change *change)
{
	return old ? -EEXIST : lath_decide_put(arg, old, change);
}

int lath_store_add(struct lath_store *store, struct lath_store_key key, const void *value,
		   size_t size)
{
	struct lath_store_entry want = { key, value, size, 0 };

	return lath_store_update(store, key, decide_add, &want);
}

static int decide_replace(void *arg, const struct lath_store_ref *old,
			  struct lath_store_change *change)
{
	return old ? lath_decide_put(arg, old, change) : -ENOENT;
}

int lath_store_replace(struct lath_store *store, struct lath_store_key key, const void *value,
		       size_t size)
{
	struct lath_store_entry want = { key, value, size, 0 };

	return lath_store_update(store, key, decide_replace, &want);
}

struct cas {
	struct lath_store_entry set;
	const void *expected; /* NULL: the version decides */
	u64 expected_size, version;
};

/* The time of expiry stays: the value is the same one, changed. */
static int decide_if(void *arg, const struct lath_store_ref *old, struct lath_store_change *change)
{
	struct cas *want = arg;

	if (!old)
		return -ENOENT;
	if (want->expected ? old->size != want->expected_size ||
				     memcmp(old->data, want->expected, old->size)
			   : old->version != want->version)
		return -EAGAIN;
	want->set.expires = change->expires;
	return lath_decide_put(&want->set, old, change);
}

int lath_store_cas(struct lath_store *store, struct lath_store_key key, const void *expected,
		   size_t expected_size, const void *value, size_t size)
{
	struct cas want = { { key, value, size, 0 }, expected ? expected : "", expected_size, 0 };

	return lath_store_update(store, key, decide_if, &want);
}

int lath_store_set_if(struct lath_store *store, struct lath_store_key key, uint64_t version,
		      const void *value, size_t size)
{
	struct cas want = { { key, value, size, 0 }, NULL, 0, version };

	return store->plain ? -EOPNOTSUPP : lath_store_update(store, key, decide_if, &want);
}

struct number {
	enum number_call { NUMBER_ADD, NUMBER_MIN, NUMBER_MAX } what;
	int64_t by, now;
	char text[24];
};

/* Parses a whole decimal number, with or without a NUL at the end. 0 | -EINVAL | -ERANGE */
static int parse_number(const struct lath_store_ref *ref, int64_t *number)
{
	const char *text = ref->data;
	u64 size = ref->size, i = 0, n = 0;
	bool minus;

	if (size && !text[size - 1])
		size--;
	minus = size && text[0] == '-';
	i = minus;
	if (i == size || size > 20)
		return -EINVAL;
	for (; i < size; i++) {
		unsigned int digit = (unsigned int)(u8)text[i] - '0';

		if (digit > 9)
			return -EINVAL;
		if (__builtin_mul_overflow(n, 10ull, &n) ||
		    __builtin_add_overflow(n, (u64)digit, &n))
			return -ERANGE;
	}
	if (n > (u64)INT64_MAX + minus)
		return -ERANGE;
	*number = minus ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

static int decide_number(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	struct number *want = arg;
	int64_t number = 0;
	int ret;

	if (old) {
		ret = parse_number(old, &number);
		if (ret)
			return ret;
	}
	if (want->what == NUMBER_ADD) {
		if (__builtin_add_overflow(number, want->by, &want->now))
			return -ERANGE;
	} else {
		bool keep =
			old && (want->what == NUMBER_MIN ? number <= want->by : number >= want->by);

		want->now = keep ? number : want->by;
		if (keep)
			return 0;
	}
	change->action = LATH_STORE_PUT;
	change->value = want->text;
	change->size = (u64)snprintf(want->text, sizeof(want->text), "%" PRId64, want->now);
	LATH_ASSERT(change->size < sizeof(want->text));
	/* a C string remains one */
	if (old && old->size && !((const char *)old->data)[old->size - 1])
		change->size++;
	return 0;
}

static int change_number(struct lath_store *store, struct lath_store_key key, enum number_call what,
			 int64_t by, int64_t *now)
{
	struct number want = { .what = what, .by = by };
	int ret = lath_store_update(store, key, decide_number, &want);

	if (!ret && now)
		*now = want.now;
	return ret;
}

int lath_store_incr(struct lath_store *store, struct lath_store_key key, int64_t by, int64_t *now)
{
	return change_number(store, key, NUMBER_ADD, by, now);
}

int lath_store_min(struct lath_store *store, struct lath_store_key key, int64_t by, int64_t *now)
{
	return change_number(store, key, NUMBER_MIN, by, now);
}

int lath_store_max(struct lath_store *store, struct lath_store_key key, int64_t by, int64_t *now)
{
	return change_number(store, key, NUMBER_MAX, by, now);
}

struct append {
	const void *tail;
	u64 size;
	int64_t length;
};

static int decide_append(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	struct append *want = arg;

	/* in two parts, so that the old value is copied once, to its new place */
	change->action = LATH_STORE_PUT;
	change->value = old ? old->data : NULL;
	change->size = old ? old->size : 0;
	change->tail = want->tail;
	change->tail_size = want->size;
	want->length = (int64_t)(change->size + change->tail_size);
	return 0;
}

int64_t lath_store_append(struct lath_store *store, struct lath_store_key key, const void *tail,
			  size_t size)
{
	struct append want = { tail, size, 0 };
	int ret = lath_store_update(store, key, decide_append, &want);

	return ret ? ret : want.length;
}

static int decide_expire(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	if (!old)
		return -ENOENT;
	change->action = LATH_STORE_PUT;
	change->value = old->data;
	change->size = old->size;
	change->expires = *(const u64 *)arg;
	return 0;
}

int lath_store_expire(struct lath_store *store, struct lath_store_key key, uint64_t expires)
{
	return lath_store_update(store, key, decide_expire, &expires);
}

/* ---- many keys, GROUP at a time ---- */

size_t lath_store_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	size_t found = 0, i;

	for (i = 0; i < n; i += GROUP)
		found += CALL(store, mget, min(n - i, (size_t)GROUP), keys + i, refs + i);
	return found;
}

size_t lath_store_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
			       struct lath_store_ref *refs)
{
	struct lath_store_key numbers[GROUP];
	size_t found = 0, i, j;

	if (store->inside == store && store->keys == LATH_STORE_NUMBERS)
		return lath_kv_mget_numbers(store, n, keys, refs);
	for (i = 0; i < n; i += j) {
		for (j = 0; j < GROUP && i + j < n; j++)
			numbers[j] = lath_key_number(keys[i + j]);
		found += lath_store_mget(store, j, numbers, refs + i);
	}
	return found;
}

/* Sets entries, or without any deletes keys. Returns how many succeeded. */
static size_t change_all(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
			 const struct lath_store_key *keys, int *results)
{
	size_t done = 0, i;
	int own[GROUP];

	for (i = 0; i < n; i += GROUP) {
		size_t m = min(n - i, (size_t)GROUP), j;
		int *out = results ? results + i : own;
		int64_t ret = -EROFS;

		if (likely(!store->read_only))
			ret = CALL(store, change, m, entries ? entries + i : NULL,
				   entries ? NULL : keys + i, out);
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

/* ---- in order ---- */

int lath_store_iter_begin(struct lath_store *store, const struct lath_store_range *range,
			  struct lath_store_iter **out)
{
	struct lath_store_iter *iter;
	int ret = lath_kv_iter_begin(store, range, max(store->place->iter_size, sizeof(*iter)),
				     &iter);

	if (ret)
		return ret;
	ret = store->place->begin ? store->place->begin(iter) : 0;
	if (ret)
		lath_store_iter_end(iter);
	else
		*out = iter;
	return ret;
}

int lath_store_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
			 struct lath_store_ref *value)
{
	return likely(iter->store->inside == iter->store)
		       ? lath_kv_iter_next(iter, key, value)
		       : iter->store->place->next(iter, key, value);
}

size_t lath_store_scan_numbers(struct lath_store *store, uint64_t from, uint64_t last,
			       uint64_t *keys, struct lath_store_ref *refs, size_t max,
			       uint64_t *next)
{
	uint64_t go_on = max ? 0 : from;
	size_t n = 0;

	if (store->keys == LATH_STORE_NUMBERS && max)
		n = CALL(store, scan, from, last, keys, refs, max, &go_on);
	if (next)
		*next = go_on;
	return n;
}

int64_t lath_store_count(struct lath_store *store, const struct lath_store_range *range)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int64_t count = 0;
	int ret;

	if (store->inside)
		return INSIDE(store, false, lath_kv_count(store->inside, range));
	ret = lath_store_iter_begin(store, range, &iter);
	if (ret)
		return ret;
	while ((ret = lath_store_iter_next(iter, &key, &ref)) > 0)
		count++;
	lath_store_iter_end(iter);
	return ret < 0 ? ret : count;
}

int64_t lath_store_rank(struct lath_store *store, struct lath_store_key key)
{
	struct lath_store_range range = { NULL, &key, NULL, 0 };
	int ret = key_check(store, key);

	return ret ? ret : lath_store_count(store, &range);
}
