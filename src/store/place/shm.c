/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm.c - shm:NAME: the calls on the store in a shared object, each with its lock held. A ref points
 * to a copy in this process, which is valid until the caller's section ends; of an iterator some
 * entries at a time are copied.
 */
#include "store/memory/reason.h"
#include "store/place/shm.h"

#include <stdlib.h>

/* Unlocks. The refs, which point into the object, get copies first. 0 | -ENOMEM: they may not be
 * used */
static int leave_with(struct lath_store *store, struct lath_store_ref *refs, size_t n)
{
	struct copies *copies;
	int ret = lath_refs_copy(refs, n, &copies);

	lath_shm_leave(shm_of(store));
	lath_copies_keep(store, copies);
	return ret;
}

static int64_t shm_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	return INSIDE(store, false, lath_kv_get(store->inside, key, buf, room));
}

/* A call of fn on the store is -EDEADLK. */
static int shm_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	return (int)INSIDE(store, true, lath_kv_update(store->inside, key, fn, arg));
}

static int64_t shm_change(struct lath_store *store, size_t n,
			  const struct lath_store_entry *entries, const struct lath_store_key *keys,
			  int *results)
{
	return INSIDE(store, true, lath_kv_change(store->inside, n, entries, keys, results));
}

static int shm_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	int ret = lath_shm_enter(shm_of(store), false), copied;

	if (ret)
		return ret;
	ret = lath_kv_get_ref(store->inside, key, ref);
	copied = leave_with(store, ref, !ret);
	return ret ? ret : copied;
}

static size_t shm_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	int ret = lath_shm_enter(shm_of(store), false);
	size_t found = 0;

	if (!ret) {
		found = lath_kv_mget(store->inside, n, keys, refs);
		ret = leave_with(store, refs, n);
	}
	/* without memory for the copies no ref may point into the object */
	while (ret && n--)
		refs[n].data = NULL;
	return ret ? 0 : found;
}

static size_t shm_scan(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next)
{
	size_t n = 0;
	int ret = lath_shm_enter(shm_of(store), false);

	if (!ret) {
		n = lath_kv_scan(store->inside, from, last, keys, refs, max, next);
		LATH_ASSERT(n <= max);
		ret = leave_with(store, refs, n);
	}
	if (!ret)
		return n;
	*next = from; /* all values or none: without memory for the copies it goes on from there */
	return 0;
}

/* ---- iteration ---- */

#define COPIED_BYTES (64u << 10)

/* `ended`, and the position to go on from, are those of `iter`. */
struct shm_iter {
	struct lath_store_iter iter;
	unsigned int i, n;
	struct lath_store_ref ref[2 * GROUP]; /* keys and values in turn; a number is a size */
};

/* Copies the entries from the iterator's position on. Lock held. 0: some, or it has ended | -ENOMEM,
 * with none */
static int copy_some(struct shm_iter *it)
{
	struct lath_store_iter in = it->iter; /* the bounds are the same ones */
	struct lath_store_key key;
	struct copies *copies;
	unsigned int n = 0;
	u64 bytes = 0;
	int ret = 1, copied;

	in.store = in.store->inside;
	lath_reader_enter(in.store->rcu);
	while (n < GROUP && bytes < COPIED_BYTES) {
		struct lath_store_ref *ref = &it->ref[2 * n];

		ret = lath_kv_iter_next(&in, &key, &ref[1]);
		if (!ret)
			break;
		ref[0].data = key.data;
		ref[0].size = key.n;
		bytes += (key.data ? key.n : 0) + ref[1].size;
		n++;
	}
	copied = lath_refs_copy(it->ref, 2 * (size_t)n, &copies);
	lath_reader_exit(in.store->rcu);
	if (copied)
		return copied;
	it->iter.copies = copies;
	it->iter.ended = !ret;
	it->n = n;
	return 0;
}

static struct lath_store_key key_at(const struct shm_iter *it, unsigned int i)
{
	LATH_ASSERT(i < it->n);
	return (struct lath_store_key){ it->ref[2 * i].data, it->ref[2 * i].size };
}

static int fill(struct lath_store_iter *iter)
{
	struct shm_iter *it = container_of(iter, struct shm_iter, iter);
	int ret = it->n ? lath_iter_pass(iter, key_at(it, it->n - 1)) : 0;

	if (ret)
		return ret;
	free(iter->copies);
	iter->copies = NULL;
	it->i = it->n = 0;
	return (int)INSIDE(iter->store, false, copy_some(it));
}

static int shm_next(struct lath_store_iter *iter, struct lath_store_key *key,
		    struct lath_store_ref *value)
{
	struct shm_iter *it = container_of(iter, struct shm_iter, iter);
	int ret;

	if (it->i == it->n) {
		ret = iter->ended ? 0 : fill(iter);
		if (ret || it->i == it->n)
			return ret;
	}
	*key = key_at(it, it->i);
	memcpy(value, &it->ref[2 * it->i++ + 1], sizeof(*value));
	return 1;
}

static int open_shm(struct lath_store *store, const char *name,
		    const struct lath_store_options *options)
{
	struct shm *shm = NULL;
	int ret = lath_shm_attach(name, options, &shm);

	if (ret)
		return ret;
	LATH_ASSERT(shm->handles && shm->head->store.keys == options->keys);
	store->place_data = shm;
	store->inside = &shm->head->store;
	store->limit = shm->head->limit;
	/* recovery finds values by their records: every value is one */
	store->plain = false;
	/* the caller's sections protect the copies; those of the inner store are the lock */
	store->rcu = &lath_rcu_auto;
	return 0;
}

const struct store_place lath_place_shm = {
	.scheme = "shm",
	.open = open_shm,
	.close = lath_shm_detach,
	.enter = lath_shm_enter,
	.leave = lath_shm_leave,
	.get = shm_get,
	.update = shm_update,
	.change = shm_change,
	.get_ref = shm_get_ref,
	.mget = shm_mget,
	.scan = shm_scan,
	.iter_size = sizeof(struct shm_iter),
	.begin = fill,
	.next = shm_next,
};
