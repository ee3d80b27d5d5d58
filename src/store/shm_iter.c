/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm_iter.c - iterators of a shared store: they copy some entries at a time under the lock, and
 * then continue behind the last of them.
 */
#include "store/reason.h"
#include "store/shm.h"

#include <stdlib.h>

#define CHUNK 64
#define CHUNK_BYTES (64u << 10)

struct copied {
	u64 key, key_size; /* numbers: the key; bytes: its offset in `data` */
	u64 value, size, version, expires;
};

/* A bound of the range, owned by the iterator. */
struct bound {
	struct lath_store_key key;
	u8 *data;
	bool set;
};

struct shm_iter {
	struct lath_store *store;
	struct bound from, to, prefix;
	bool backward, done;
	bool skip; /* `from` is the last key returned: skip it */
	unsigned int i, n;
	struct copied entry[CHUNK];
	u8 *data;
	u64 used, room;
};

/* Copies a key of the store's kind to the bound. 0 | -EINVAL | -E2BIG | -ENOMEM */
static int bound_set(const struct lath_store *store, struct bound *bound,
		     const struct lath_store_key *key)
{
	u8 *data = NULL;
	int ret = key_check(store, *key); /* as a store in this process: first the kind */

	if (ret)
		return ret;
	if (key->data) {
		data = memory_refused() ? NULL : malloc(key->n + 1);
		if (!data)
			return -ENOMEM;
		if (key->n)
			memcpy(data, key->data, key->n);
	}
	free(bound->data);
	bound->data = data;
	bound->key.data = data;
	bound->key.n = key->n;
	bound->set = true;
	return 0;
}

static u64 put_bytes(struct shm_iter *iter, const void *data, u64 size)
{
	u64 at = iter->used;

	LATH_ASSERT(size <= iter->room && at <= iter->room - size);
	if (size)
		memcpy(iter->data + at, data, size);
	iter->used = (at + size + 7) & ~7ull;
	return at;
}

static int copy_out(struct shm_iter *iter, const struct lath_store_key *key,
		    const struct lath_store_ref *ref)
{
	u64 need = iter->used + (key->data ? key->n : 0) + ref->size + 16;
	struct copied *to = &iter->entry[iter->n];

	LATH_ASSERT(iter->n < CHUNK && iter->used <= iter->room);
	if (need > iter->room) {
		u64 room = max(need, iter->room * 2);
		u8 *data = memory_refused() ? NULL : realloc(iter->data, room);

		if (!data)
			return -ENOMEM;
		iter->data = data;
		iter->room = room;
	}
	to->key_size = key->n;
	to->key = key->data ? put_bytes(iter, key->data, key->n) : key->n;
	to->value = put_bytes(iter, ref->data, ref->size);
	to->size = ref->size;
	to->version = ref->version;
	to->expires = ref->expires;
	iter->n++;
	return 0;
}

static bool same_key(const struct lath_store_key *a, const struct lath_store_key *b)
{
	return a->n == b->n && (!a->data || !memcmp(a->data, b->data, a->n));
}

/* Copies entries until the chunk is full. Lock held. 0: some, or `done` | -ENOMEM or -E2BIG, with
 * none */
static int copy_some(struct shm_iter *iter)
{
	struct lath_store_range range = { iter->from.set ? &iter->from.key : NULL,
					  iter->to.set ? &iter->to.key : NULL,
					  iter->prefix.set ? &iter->prefix.key : NULL,
					  iter->backward };
	struct lath_store_iter *in;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int ret = lath_store_iter_begin(shm_inside(iter->store), &range, &in);

	if (ret)
		return ret;
	LATH_ASSERT(shm_held(shm_of(iter->store)));
	while (iter->n < CHUNK && iter->used < CHUNK_BYTES) {
		ret = lath_store_iter_next(in, &key, &ref);
		if (ret <= 0) {
			iter->done = !ret;
			break;
		}
		/* the chunk before ended with it, and `from` is inclusive */
		if (iter->skip && same_key(&key, &iter->from.key))
			continue;
		ret = copy_out(iter, &key, &ref);
		if (ret)
			break;
	}
	lath_store_iter_end(in);
	/* without memory for a further entry those that are copied are returned first */
	return ret < 0 && !iter->n ? ret : 0;
}

static struct lath_store_key key_at(const struct shm_iter *iter, unsigned int i)
{
	const struct copied *e = &iter->entry[i];

	LATH_ASSERT(i < iter->n);
	return iter->store->keys == LATH_STORE_NUMBERS
		       ? lath_key_number(e->key)
		       : lath_key_bytes(iter->data + e->key, e->key_size);
}

static int fill(struct shm_iter *iter)
{
	struct lath_store_key last;
	int ret;

	LATH_ASSERT(iter->i == iter->n && !iter->done);
	if (iter->n) { /* go on behind the last one, whose copy is about to be overwritten */
		last = key_at(iter, iter->n - 1);
		ret = bound_set(iter->store, iter->backward ? &iter->to : &iter->from, &last);
		if (ret)
			return ret;
		iter->skip = !iter->backward;
	}
	iter->i = iter->n = 0;
	iter->used = 0;
	ret = shm_enter(shm_of(iter->store), false);
	if (ret)
		return ret;
	ret = copy_some(iter);
	shm_leave(shm_of(iter->store));
	return ret;
}

int shm_iter_next(void *arg, struct lath_store_key *key, struct lath_store_ref *value)
{
	struct shm_iter *iter = arg;
	const struct copied *e;
	int ret;

	if (iter->i == iter->n) {
		if (iter->done)
			return 0;
		ret = fill(iter);
		if (ret)
			return ret;
		if (!iter->n)
			return 0;
	}
	LATH_ASSERT(iter->i < iter->n);
	*key = key_at(iter, iter->i);
	e = &iter->entry[iter->i++];
	value->data = iter->data + e->value;
	value->size = e->size;
	value->version = e->version;
	value->expires = e->expires;
	return 1;
}

int shm_iter_begin(struct lath_store *store, const struct lath_store_range *range, void **out)
{
	struct shm_iter *iter = memory_refused() ? NULL : calloc(1, sizeof(*iter));
	int ret = 0;

	if (!iter)
		return -ENOMEM;
	iter->store = store;
	iter->backward = range->backward;
	if (range->from)
		ret = bound_set(store, &iter->from, range->from);
	if (!ret && range->to)
		ret = bound_set(store, &iter->to, range->to);
	if (!ret && range->prefix)
		ret = bound_set(store, &iter->prefix, range->prefix);
	if (!ret)
		ret = fill(iter); /* checks the range too */
	if (ret) {
		shm_iter_end(iter);
		return ret;
	}
	*out = iter;
	return 0;
}

void shm_iter_end(void *arg)
{
	struct shm_iter *iter = arg;

	free(iter->from.data);
	free(iter->to.data);
	free(iter->prefix.data);
	free(iter->data);
	free(iter);
}
