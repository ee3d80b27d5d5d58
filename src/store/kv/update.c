/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * update.c - one key: reads, and changes, which make room in a full store. Sets of plain numbers and
 * deletes of byte keys need no look at the old value.
 */
#include "store/kv/kv.h"

/* ---- reads ---- */

int lath_kv_get_ref(struct lath_store *store, struct lath_store_key key, struct lath_store_ref *ref)
{
	u64 value;

	if (store->keys == LATH_STORE_BYTES) {
		struct lath_bytes_key bytes = { key.data, key.n, 0 };

		if (!lath_bytes_get(&store->set, &bytes, &value))
			return -ENOENT;
		/* byte keys have records only */
		record_ref((const struct record *)(uintptr_t)value, ref);
	} else {
		if (!lath_index_get(&store->numbers, key.n, &value))
			return -ENOENT;
		value_ref(store, value, ref);
	}
	return ref_expired(ref) ? -ENOENT : 0;
}

int64_t lath_kv_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	struct lath_store_ref ref;
	int64_t ret;

	/* the section ends after the copy: the value may be freed then */
	lath_reader_enter(store->rcu);
	ret = lath_kv_get_ref(store, key, &ref);
	if (!ret)
		ret = ref_copy(&ref, buf, room);
	lath_reader_exit(store->rcu);
	return ret;
}

/* ---- changes ---- */

/* As lath_kv_update() when the store is full: makes room and tries again, as long as there was
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

int lath_kv_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		   void *arg)
{
	int ret = lath_key_update(store, key, fn, arg);

	if (unlikely(ret == -ENOSPC))
		ret = update_when_full(store, key, fn, arg);
	return unlikely(ret == -EFBIG) ? -ENOSPC : ret;
}

int lath_decide_put(void *arg, const struct lath_store_ref *old, struct lath_store_change *change)
{
	const struct lath_store_entry *entry = arg;

	(void)old;
	change->action = LATH_STORE_PUT;
	change->value = entry->value;
	change->size = entry->size;
	/* a set ends the time of expiry of the old value */
	change->expires = entry->expires;
	return 0;
}

int lath_kv_put(struct lath_store *store, const struct lath_store_entry *entry)
{
	struct lath_store_entry want = *entry;
	int ret = key_check(store, want.key);

	return ret ? ret : lath_kv_update(store, want.key, lath_decide_put, &want);
}

/* Sets the value of a number without reading the old one. In a call. */
static int set_plain(struct lath_store *store, struct lath_store_key key, const void *value,
		     size_t size)
{
	struct lath_store_change change = { LATH_STORE_PUT, value, size, NULL, 0, 0 };
	struct lath_item item = { key.n, 1, 0 };
	int ret;

	lath_call_assert();
	LATH_ASSERT(store->plain && !key.data);
	/* the way to the leaf comes into the cache while the value is built */
	lath_index_prefetch(&store->numbers, key.n);
	ret = lath_value_build(store, key, &change, &item.value);
	if (ret)
		return ret;
	ret = lath_index_insert_item(&store->numbers, &item, NULL);
	if (ret)
		ret = lath_word_set(store, &item, ret);
	if (likely(!ret))
		store_changed(store);
	return ret;
}

int lath_kv_set(struct lath_store *store, struct lath_store_key key, const void *value, size_t size)
{
	struct lath_store_entry want = { key, value, size, 0 };
	int ret;

	if (store->plain) {
		lath_call_enter();
		ret = set_plain(store, key, value, size);
		lath_call_exit();
		/* out of memory: the long way, which makes room */
		if (likely(ret != -ENOMEM && ret != -ENOSPC && ret != -EFBIG))
			return ret;
	}
	return lath_kv_update(store, key, lath_decide_put, &want);
}

int lath_decide_delete(void *arg, const struct lath_store_ref *old,
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

	LATH_ASSERT(store->keys == LATH_STORE_BYTES);
	ret = lath_bytes_erase(&store->set, &bytes, &old);
	if (ret)
		return ret;
	record_ref((const struct record *)(uintptr_t)old, &ref); /* nobody else frees it now */
	/* an expired entry was none for the caller, but is removed */
	ret = ref_expired(&ref) ? -ENOENT : 0;
	lath_call_enter();
	lath_keys_count(store, -1);
	store_changed(store);
	lath_value_retire(store, lath_address_word(store, old));
	lath_call_exit();
	return ret;
}

int lath_kv_delete(struct lath_store *store, struct lath_store_key key)
{
	int seen = 0, ret;

	if (store->keys == LATH_STORE_BYTES)
		return delete_bytes(store, key);
	ret = lath_kv_update(store, key, lath_decide_delete, &seen);
	return ret ? ret : seen ? 0 : -ENOENT;
}
