/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm.c - shm:NAME: each call takes the lock and makes the call of the same name on the store
 * inside.
 *
 * A ref points to a copy in this process, which is valid until the caller's section ends.
 */
#include "store/shm.h"

#include "store/value.h"
#include "store/pages.h"
#include "store/reason.h"

#include <stdlib.h>
#include <string.h>

/* Elements of a batch per locking. */
#define GROUP 64

/* Unlocks. The refs, which point into the object, get copies first. 0 | -ENOMEM: they may not be
 * used */
static int leave_with(struct lath_store *store, struct lath_store_ref *refs, size_t n)
{
	struct copies *copies;
	int ret = refs_copy(refs, n, &copies);

	shm_leave(shm_of(store));
	copies_keep(store, copies);
	return ret;
}

static int64_t shm_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	return LOCKED(store, false, lath_store_get(store->inside, key, buf, room));
}

static int shm_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	int ret = shm_enter(shm_of(store), false), copied;

	if (ret)
		return ret;
	ret = lath_store_get_ref(store->inside, key, ref);
	copied = leave_with(store, ref, !ret);
	return ret ? ret : copied;
}

static size_t shm_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	int ret = shm_enter(shm_of(store), false);
	size_t found = 0;

	if (!ret) {
		found = lath_store_mget(store->inside, n, keys, refs);
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
	uint64_t go_on = from;
	size_t n = 0;
	int ret = shm_enter(shm_of(store), false);

	if (!ret) {
		n = lath_store_scan_numbers(store->inside, from, last, keys, refs, max, &go_on);
		LATH_ASSERT(n <= max);
		ret = leave_with(store, refs, n);
	}
	/* all values or none: without memory for the copies the scan goes on from `from` */
	if (next)
		*next = ret ? from : go_on;
	return ret ? 0 : n;
}

static int shm_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	/* fn is called with the lock held: a call of it on the store is -EDEADLK */
	return (int)LOCKED(store, true, lath_store_update(store->inside, key, fn, arg));
}

static int shm_stats(struct lath_store *store, struct lath_store_stats *stats)
{
	struct shm_head *head = shm_of(store)->head;
	struct pages_coverage pages;
	int ret = shm_enter(shm_of(store), true); /* true: it takes the arenas' locks */

	if (ret)
		return ret;
	store_figures(&head->store, stats);
	shm_leave(shm_of(store));
	/* what this process has mapped; others may have touched more pages */
	ret = pages_coverage((const char *)head, head->size, &pages);
	stats->resident = pages.resident;
	stats->huge = pages.huge;
	return ret;
}

static int shm_open_store(struct lath_store *store, const char *name,
			  const struct lath_store_options *options)
{
	struct shm *shm;
	int ret = shm_attach(name, options, &shm);

	if (ret)
		return ret;
	LATH_ASSERT(shm->handles && shm->head->store.keys == options->keys);
	store->backend_data = shm;
	store->inside = &shm->head->store;
	store->keys = shm->head->store.keys;
	store->flags = shm->head->store.flags;
	store->limit = shm->head->limit;
	/* recovery finds values by their records: every value is one */
	store->plain = false;
	/* the caller's sections protect the copies; those of the inner store are the lock */
	store->rcu = &lath_rcu_auto;
	return 0;
}

static int shm_close(struct lath_store *store)
{
	shm_detach(shm_of(store));
	return 0;
}

int lath_store_remove(const char *spec, char *why, size_t why_size)
{
	LATH_NO_CANCEL;
	int ret;

	store_reason_begin();
	if (strncmp(spec, "shm:", 4) != 0)
		ret = store_refuse(-EINVAL, "%s: only shm:NAME can be removed", spec);
	else
		ret = shm_remove(spec + 4);
	store_reason_copy(why, why_size);
	return ret;
}

const struct store_backend store_shm_backend = {
	.scheme = "shm",
	.open = shm_open_store,
	.close = shm_close,
	.get = shm_get,
	.get_ref = shm_get_ref,
	.update = shm_update,
	.mget = shm_mget,
	.stats = shm_stats,
	.scan = shm_scan,
};
