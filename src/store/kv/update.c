/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * update.c - the public calls on single keys: reads; and changes, each of which is
 * lath_key_update() with a function that decides, or a shorter way to the same.
 */
#include "store/place/shm.h"
#include "store/kv/value.h"

#include <inttypes.h>
#include <stdlib.h>

void lath_store_read_begin(struct lath_store *store)
{
	lath_reader_enter(store->rcu);
}

void lath_store_read_end(struct lath_store *store)
{
	lath_reader_exit(store->rcu);
}

/* ---- reads ---- */

int lath_store_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	int ret = key_check(store, key);

	if (unlikely(ret))
		return ret;
	if (unlikely(store->backend))
		return store->backend->get_ref(store, key, ref);
	if (store->keys == LATH_STORE_BYTES) {
		const struct record *record = lath_record_find(store, key);

		if (!record)
			return -ENOENT;
		/* byte keys have records only */
		record_ref(record, ref);
	} else {
		u64 word = lath_word_find(store, key);

		if (!word)
			return -ENOENT;
		value_ref(store, word, ref);
	}
	return ref_expired(ref) ? -ENOENT : 0;
}

static int64_t copy_out(const struct lath_store_ref *ref, void *buf, size_t room)
{
	LATH_ASSERT(ref->data || !ref->size);
	if (room) /* the length is returned in any case */
		memcpy(buf, ref->data, min(ref->size, (u64)room));
	return (int64_t)ref->size;
}

int64_t lath_store_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	struct lath_store_ref ref;
	int64_t ret;

	if (unlikely(store->backend))
		return store->inside
			       ? LOCKED(store, false, lath_store_get(store->inside, key, buf, room))
			       : store->backend->get(store, key, buf, room);
	/* the section ends after the copy: the value may be freed then */
	lath_reader_enter(store->rcu);
	ret = lath_store_get_ref(store, key, &ref);
	if (!ret)
		ret = copy_out(&ref, buf, room);
	lath_reader_exit(store->rcu);
	return ret;
}

/* ---- changes ---- */

/* As lath_store_update() when the store is full: makes room and tries again, as long as there was
 * something to make room of. Apart, so that a change that finds room need not save what this
 * needs. */
static __attribute__((noinline)) int update_when_full(struct lath_store *store,
						      struct lath_store_key key,
						      lath_store_update_fn fn, void *arg)
{
	unsigned int round = 0;
	int ret = -ENOSPC;

	/* not in a call and in no section: to make room may wait for readers */
	while (ret == -ENOSPC && lath_store_make_room(store, &round))
		ret = lath_key_update(store, key, fn, arg);
	return ret;
}

int lath_store_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	int ret = key_check(store, key);

	if (unlikely(ret))
		return ret;
	if (unlikely(store->read_only))
		return -EROFS;
	/* with the lock held: a call of fn on the store is -EDEADLK. The kernel's store makes room by
	 * itself */
	if (unlikely(store->backend))
		return store->inside ? (int)LOCKED(store, true,
						   lath_store_update(store->inside, key, fn, arg))
				     : store->backend->update(store, key, fn, arg);
	ret = lath_key_update(store, key, fn, arg);
	if (unlikely(ret == -ENOSPC))
		ret = update_when_full(store, key, fn, arg);
	return unlikely(ret == -EFBIG) ? -ENOSPC : ret;
}

/* ---- decisions of the calls, for lath_store_update ---- */

enum put_mode { PUT_ANY, PUT_NEW, PUT_OLD };

struct put {
	enum put_mode mode;
	bool by_version; /* set_if, not cas */
	const void *value;
	u64 size, expires;
	/* for cas and set_if */
	const void *expected;
	u64 expected_size, version;
	/* for get_or_set */
	void *buf;
	size_t room;
	int64_t length;
	int added;
};

static int put(struct lath_store_change *change, const void *value, u64 size, u64 expires)
{
	change->action = LATH_STORE_PUT;
	change->value = value;
	change->size = size;
	change->expires = expires;
	return 0;
}

static int decide_put(void *arg, const struct lath_store_ref *old, struct lath_store_change *change)
{
	const struct put *want = arg;

	if (want->mode == PUT_NEW && old)
		return -EEXIST;
	if (want->mode == PUT_OLD && !old)
		return -ENOENT;
	/* a set ends the time of expiry of the old value */
	return put(change, want->value, want->size, want->expires);
}

static int put_key(struct lath_store *store, struct lath_store_key key, enum put_mode mode,
		   const void *value, size_t size, u64 expires)
{
	struct put want; /* decide_put() reads no more of it */

	want.mode = mode;
	want.value = value;
	want.size = size;
	want.expires = expires;
	return lath_store_update(store, key, decide_put, &want);
}

int lath_entry_set(struct lath_store *store, const struct lath_store_entry *entry)
{
	return put_key(store, entry->key, PUT_ANY, entry->value, entry->size, entry->expires);
}

/* Sets the value of a number without reading the old one. In a call. */
static int set_plain(struct lath_store *store, struct lath_store_key key, const void *value,
		     size_t size)
{
	struct lath_store_change change = { LATH_STORE_PUT, value, size, NULL, 0, 0 };
	struct lath_item item = { key.n, 1, 0 }, old;
	int ret;

	lath_call_assert();
	LATH_ASSERT(store->plain && !key.data);
	/* the way to the leaf comes into the cache while the value is built */
	lath_index_prefetch(&store->numbers, key.n);
	ret = lath_value_build(store, key, &change, &item.value);
	if (ret)
		return ret;
	/* insert or replace, until no other thread removes or inserts the key in between */
	do {
		old.value = 0;
		ret = lath_index_insert_item(&store->numbers, &item, NULL);
		if (ret == -EEXIST)
			ret = lath_index_replace_item(&store->numbers, key.n, item.value, &old);
	} while (unlikely(ret == -ENOENT));
	if (unlikely(ret)) {
		lath_value_drop(store, item.value);
		return ret;
	}
	store_changed(store);
	LATH_ASSERT(old.value != item.value || !word_has_place(item.value));
	if (old.value) /* a word without a place has nothing to free; lath_value_retire() sees that */
		lath_value_retire(store, old.value);
	return 0;
}

int lath_store_set(struct lath_store *store, struct lath_store_key key, const void *value,
		   size_t size)
{
	int ret;

	if (store->plain && !key.data && !store->backend && !store->read_only) {
		lath_call_enter();
		ret = set_plain(store, key, value, size);
		lath_call_exit();
		/* out of memory: the long way, which makes room */
		if (likely(ret != -ENOMEM && ret != -ENOSPC && ret != -EFBIG))
			return ret;
	}
	return put_key(store, key, PUT_ANY, value, size, 0);
}

int lath_store_add(struct lath_store *store, struct lath_store_key key, const void *value,
		   size_t size)
{
	return put_key(store, key, PUT_NEW, value, size, 0);
}

int lath_store_replace(struct lath_store *store, struct lath_store_key key, const void *value,
		       size_t size)
{
	return put_key(store, key, PUT_OLD, value, size, 0);
}

static int decide_delete(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	int *seen = arg;

	/* an expired entry is removed too */
	*seen = !!old;
	change->action = LATH_STORE_REMOVE;
	return 0;
}

/* Removes a byte key without a look at its record before. 0 | -ENOENT */
static int delete_bytes(struct lath_store *store, struct lath_store_key key)
{
	struct lath_bytes_key bytes = { key.data, key.n, 0 };
	struct lath_store_ref ref;
	u64 old;
	int ret;

	LATH_ASSERT(store->keys == LATH_STORE_BYTES && !store->backend);
	ret = lath_bytes_erase(&store->set, &bytes, &old);
	if (ret)
		return ret;
	record_ref((const struct record *)(uintptr_t)old, &ref); /* nobody else frees it now */
	/* an expired entry was none for the caller, but is removed */
	ret = ref_expired(&ref) ? -ENOENT : 0;
	lath_call_enter();
	lath_store_count_items(store, -1);
	store_changed(store);
	lath_value_retire(store, lath_address_word(store, old));
	lath_call_exit();
	return ret;
}

int lath_store_delete(struct lath_store *store, struct lath_store_key key)
{
	int seen = 0, ret;

	if (store->keys == LATH_STORE_BYTES && !store->backend && !store->read_only &&
	    !key_check(store, key))
		return delete_bytes(store, key);
	/* numbers, stores elsewhere and errors: the general way */
	ret = lath_store_update(store, key, decide_delete, &seen);
	return ret ? ret : seen ? 0 : -ENOENT;
}

static int decide_get_or_set(void *arg, const struct lath_store_ref *old,
			     struct lath_store_change *change)
{
	struct put *want = arg;

	LATH_ASSERT(want->buf || !want->room);
	want->added = !old;
	if (!old) {
		want->length = (int64_t)want->size;
		return put(change, want->value, want->size, 0);
	}
	want->length = copy_out(old, want->buf, want->room);
	return 0;
}

int64_t lath_store_get_or_set(struct lath_store *store, struct lath_store_key key,
			      const void *value, size_t size, void *buf, size_t room, int *added)
{
	struct put want = { .value = value, .size = size, .buf = buf, .room = room };
	int ret = lath_store_update(store, key, decide_get_or_set, &want);

	if (ret)
		return ret;
	if (added)
		*added = want.added;
	return want.length;
}

/* For cas and set_if. The time of expiry stays: the value is the same one, changed. */
static int decide_if(void *arg, const struct lath_store_ref *old, struct lath_store_change *change)
{
	const struct put *want = arg;

	if (!old)
		return -ENOENT;
	if (want->by_version ? old->version != want->version
			     : old->size != want->expected_size ||
				       (old->size && memcmp(old->data, want->expected, old->size)))
		return -EAGAIN;
	return put(change, want->value, want->size, change->expires);
}

int lath_store_cas(struct lath_store *store, struct lath_store_key key, const void *expected,
		   size_t expected_size, const void *value, size_t size)
{
	struct put want = {
		.value = value, .size = size, .expected = expected, .expected_size = expected_size
	};

	return lath_store_update(store, key, decide_if, &want);
}

int lath_store_set_if(struct lath_store *store, struct lath_store_key key, uint64_t version,
		      const void *value, size_t size)
{
	struct put want = { .value = value, .size = size, .version = version, .by_version = true };

	if (store->plain)
		return -EOPNOTSUPP;
	return lath_store_update(store, key, decide_if, &want);
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

	/* C strings and plain text alike */
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
	put(change, want->text,
	    (u64)snprintf(want->text, sizeof(want->text), "%" PRId64, want->now), change->expires);
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

static int decide_append(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	struct put *want = arg;

	/* in two parts, so that the old value is copied once, to its new place */
	change->action = LATH_STORE_PUT;
	change->value = old ? old->data : NULL;
	change->size = old ? old->size : 0;
	change->tail = want->value;
	change->tail_size = want->size;
	want->length = (int64_t)(change->size + change->tail_size);
	return 0;
}

int64_t lath_store_append(struct lath_store *store, struct lath_store_key key, const void *tail,
			  size_t size)
{
	struct put want = { .value = tail, .size = size };
	int ret = lath_store_update(store, key, decide_append, &want);

	return ret ? ret : want.length;
}

static int decide_expire(void *arg, const struct lath_store_ref *old,
			 struct lath_store_change *change)
{
	const u64 *expires = arg;

	return old ? put(change, old->data, old->size, *expires) : -ENOENT;
}

int lath_store_expire(struct lath_store *store, struct lath_store_key key, uint64_t expires)
{
	return lath_store_update(store, key, decide_expire, &expires);
}
