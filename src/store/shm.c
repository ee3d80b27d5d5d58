/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm.c - shm:NAME: each call takes the lock and makes the call of the same name on the inner
 * store.
 *
 * A ref points to a copy in this process; a short value is in the ref itself. The other copies of a
 * call are in one block, which is retired at once: the caller is in a section, so the block is
 * valid until that section ends. The caller need not free it.
 */
#include "store/shm.h"

#include "store/backend.h"
#include "store/keys.h"
#include "store/pages.h"
#include "store/reason.h"

#include <stdlib.h>
#include <string.h>

/* Elements of a batch per locking. */
#define GROUP 64

/* ---- copies ---- */

struct copies {
	struct lath_rcu_head rcu;
	u8 data[];
};

static void copies_free(struct lath_rcu_head *head)
{
	lath_retired();
	free(container_of(head, struct copies, rcu));
	lath_retired_end();
}

/* Returns the room a value needs in the block of copies: none if it fits in its ref. */
static u64 room_of(const struct lath_store_ref *ref)
{
	return ref->data && ref->size > sizeof(ref->small) ? (ref->size + 7) & ~7ull : 0;
}

/* Makes refs point to copies: of short values in the refs themselves, of others in one block. Lock
 * held. Returns the block, or NULL: not needed, or no memory (*ret). unreached: chance decides */
static struct copies *copy_refs(struct lath_store_ref *refs, size_t n, int *ret)
{
	struct copies *copies;
	u64 size = 0, at = 0;
	size_t i;

	*ret = 0;
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		size += room;
		if (!room && refs[i].data && refs[i].data != refs[i].small) {
			memcpy(refs[i].small, refs[i].data, refs[i].size);
			refs[i].data = refs[i].small;
		}
	}
	if (!size) /* all values are short: in the refs themselves */
		return NULL;
	copies = memory_refused() ? NULL : malloc(sizeof(*copies) + size);
	if (!copies) {
		*ret = -ENOMEM;
		return NULL;
	}
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		if (!room)
			continue;
		memcpy(copies->data + at, refs[i].data, refs[i].size);
		LATH_ASSERT(room <= size - at);
		refs[i].data = copies->data + at;
		at += room;
	}
	LATH_ASSERT(at == size);
	return copies;
}

static void keep_for_section(struct lath_store *store, struct copies *copies)
{
	LATH_ASSERT(lath_reader_inside(store->rcu) || !copies);
	if (copies) /* retired now, freed when the caller's section has ended */
		lath_retire(store->rcu, &copies->rcu, copies_free);
}

/* Makes a call with the lock held. Its result, or why the lock was not to be had. */
#define INSIDE(store, change, call)                                 \
	({                                                          \
		int64_t inside_ = shm_enter(shm_of(store), change); \
		if (!inside_) {                                     \
			inside_ = (call);                           \
			shm_leave(shm_of(store));                   \
		}                                                   \
		inside_;                                            \
	})

/* ---- reading ---- */

static int64_t shm_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	return INSIDE(store, false, lath_store_get(shm_inside(store), key, buf, room));
}

static int shm_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	struct copies *copies = NULL;
	int ret = shm_enter(shm_of(store), false);

	if (ret)
		return ret;
	ret = lath_store_get_ref(shm_inside(store), key, ref);
	if (!ret)
		copies = copy_refs(ref, 1, &ret);
	shm_leave(shm_of(store));
	keep_for_section(store, copies);
	return ret;
}

static size_t shm_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	size_t found = 0, i, j;

	for (i = 0; i < n; i += GROUP) {
		size_t m = min(n - i, (size_t)GROUP), here = 0;
		struct copies *copies = NULL;
		int ret = shm_enter(shm_of(store), false);

		if (!ret) {
			here = lath_store_mget(shm_inside(store), m, keys + i, refs + i);
			copies = copy_refs(refs + i, m, &ret);
			shm_leave(shm_of(store));
		}
		/* without memory for the copies no ref may point into the object */
		for (j = 0; ret && j < m; j++)
			refs[i + j].data = NULL;
		found += ret ? 0 : here;
		keep_for_section(store, copies);
	}
	return found;
}

static size_t shm_scan(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next)
{
	struct copies *copies;
	uint64_t go_on = from;
	size_t n;
	int ret = shm_enter(shm_of(store), false);

	if (next)
		*next = from;
	if (ret)
		return 0;
	n = lath_store_scan_numbers(shm_inside(store), from, last, keys, refs, max, &go_on);
	/* all values or none: without memory for the copies the scan goes on from `from` */
	copies = copy_refs(refs, n, &ret);
	shm_leave(shm_of(store));
	LATH_ASSERT(n <= max);
	if (ret)
		return 0;
	if (next)
		*next = go_on;
	keep_for_section(store, copies);
	return n;
}

static int64_t shm_count(struct lath_store *store, const struct lath_store_range *range)
{
	return INSIDE(store, false, lath_store_count(shm_inside(store), range));
}

/* ---- writing ---- */

static int shm_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	/* fn is called with the lock held: a call of it on the store is -EDEADLK */
	return (int)INSIDE(store, true, lath_store_update(shm_inside(store), key, fn, arg));
}

/* Sets entries, or without any deletes keys. */
static size_t in_groups(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
			const struct lath_store_key *keys, int *results)
{
	struct lath_store *inside = shm_inside(store);
	size_t done = 0, i, j;

	for (i = 0; i < n; i += GROUP) {
		size_t m = min(n - i, (size_t)GROUP);
		int ret = shm_enter(shm_of(store), true), *here = results ? results + i : NULL;

		if (!ret) {
			done += entries ? lath_store_mset(inside, m, entries + i, here)
					: lath_store_mdel(inside, m, keys + i, here);
			shm_leave(shm_of(store));
		}
		/* the lock was not to be had: each one of the group tells why */
		for (j = 0; ret && here && j < m; j++)
			here[j] = ret;
	}
	return done;
}

static size_t shm_mset(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       int *results)
{
	return in_groups(store, n, entries, NULL, results);
}

static size_t shm_mdel(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       int *results)
{
	return in_groups(store, n, NULL, keys, results);
}

/* ---- the whole ---- */

static int64_t shm_sweep(struct lath_store *store)
{
	return INSIDE(store, true, lath_store_sweep(shm_inside(store)));
}

static int64_t shm_compact(struct lath_store *store)
{
	return INSIDE(store, true, lath_store_compact(shm_inside(store)));
}

static int shm_clear(struct lath_store *store)
{
	int ret = shm_enter(shm_of(store), true);

	if (ret)
		return ret;
	LATH_ASSERT(shm_inside(store)->mark);
	keys_clear(shm_inside(store));
	shm_leave(shm_of(store));
	return 0;
}

static int64_t shm_items(struct lath_store *store)
{
	return INSIDE(store, false, store_items(shm_inside(store)));
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
	.mset = shm_mset,
	.mdel = shm_mdel,
	.items = shm_items,
	.stats = shm_stats,
	.iter_begin = shm_iter_begin,
	.iter_next = shm_iter_next,
	.iter_end = shm_iter_end,
	.scan = shm_scan,
	.count = shm_count,
	.sweep = shm_sweep,
	.compact = shm_compact,
	.clear = shm_clear,
};
