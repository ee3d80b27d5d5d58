/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * store.c - open, close, statistics.
 */
#include "store/place/file.h"
#include "store/kv/value.h"
#include "store/memory/reason.h"
#include "store/place/shm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT_MIN (8ull << 20)

#define KNOWN_FLAGS                                                                            \
	(LATH_STORE_EVICT | LATH_STORE_VERSIONS | LATH_STORE_READ_ONLY | LATH_STORE_EXISTING | \
	 LATH_STORE_FOREIGN)

/* Copies the caller's options; fields that an older, shorter struct lacks keep their defaults. 0 |
 * -EINVAL */
static int take_options(struct lath_store_options *mine, const struct lath_store_options *theirs)
{
	static const struct lath_store_options defaults = LATH_STORE_OPTIONS_INIT;

	*mine = defaults;
	if (!theirs)
		return 0;
	if (theirs->size < offsetof(struct lath_store_options, pages) ||
	    theirs->size > sizeof(*mine))
		return lath_store_refuse_with(
			-EINVAL, "options.size %zu: begin with LATH_STORE_OPTIONS_INIT",
			theirs->size);
	/* of a program that was compiled with an older header: the rest keeps its defaults */
	memcpy(mine, theirs, theirs->size);
	return 0;
}

static int check_options(const struct lath_store_options *options)
{
	if (options->limit && options->limit < LIMIT_MIN)
		return lath_store_refuse_with(-EINVAL, "limit %" PRIu64 ": at least %llu bytes",
					      options->limit, LIMIT_MIN);
	/* without a limit there is never a reason to evict */
	if ((options->flags & LATH_STORE_EVICT) && !options->limit)
		return lath_store_refuse_with(-EINVAL, "eviction needs a limit");
	if (options->flags & ~KNOWN_FLAGS)
		return lath_store_refuse_with(-EINVAL, "flags 0x%x: unknown ones are set",
					      options->flags);
	if (options->keys > LATH_STORE_BYTES || options->pages > LATH_PAGES_SMALL)
		return lath_store_refuse_with(-EINVAL, "unknown kind of keys or of pages");
	return 0;
}

/* ---- stores in this process ---- */

int lath_store_populate(struct lath_store *store, u64 bytes, u64 available)
{
	u64 taken = READ_ONCE(store->committed), limit = store->index.limit;
	int ret;

	LATH_ASSERT(!store->backend);
	if (!bytes)
		return 0;
	/* refused before any memory is taken, so that a failure leaves the store as it was */
	if (limit && bytes > limit - min(limit, taken))
		return lath_store_refuse_with(-ENOSPC,
					      "prefault of %" PRIu64 " bytes: the limit is %" PRIu64
					      ", %" PRIu64 " are taken",
					      bytes, limit, taken);
	if (bytes > available)
		return lath_store_refuse_with(-ENOMEM,
					      "prefault of %" PRIu64
					      " bytes: the machine has %" PRIu64 " available",
					      bytes, available);
	/* a plain store of numbers needs index nodes only, others about half of each */
	ret = lath_arena_prefault(&store->index, store->plain ? bytes : bytes / 2);
	if (!ret && !store->plain)
		ret = lath_arena_prefault(&store->arena, bytes / 2);
	return ret ? lath_store_refuse_with(ret, "prefault of %" PRIu64 " bytes: %s", bytes,
					    strerror(-ret))
		   : 0;
}

int lath_store_prefault(struct lath_store *store, uint64_t bytes)
{
	LATH_NO_CANCEL;

	lath_store_reason_begin();
	if (store->backend)
		return lath_store_refuse_with(-EOPNOTSUPP,
					      "%s: prefault is an option of open there",
					      store->backend->scheme);
	return lath_store_populate(store, bytes, lath_pages_available(""));
}

static int open_here(struct lath_store *store, const struct lath_store_options *options)
{
	int ret = lath_arena_init(&store->index, options, store->rcu, &store->committed);

	if (ret)
		return ret;
	LATH_ASSERT(!store->backend && !store->mark);
	ret = lath_arena_init(&store->arena, options, store->rcu, &store->committed);
	if (ret) {
		lath_arena_fini(&store->index);
		return ret;
	}
	ret = lath_store_populate(store, options->prefault, lath_pages_available(""));
	if (!ret)
		ret = lath_keys_init(store);
	/* the hand of a store of numbers is a number */
	if (!ret && (options->flags & LATH_STORE_EVICT) && store->keys == LATH_STORE_BYTES) {
		store->hand = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
		ret = store->hand ? 0 : -ENOMEM;
	}
	if (ret) {
		lath_arena_fini(&store->arena);
		lath_arena_fini(&store->index);
		return store_refuse_if_silent(ret, "%s", strerror(-ret));
	}
	pthread_mutex_init(&store->evict_lock, NULL);
	lath_turn_init(&store->compact_turn);
	return 0;
}

/* Frees the arenas, and with them the indexes, once no retired node is left. */
static void close_here(struct lath_store *store)
{
	lath_arena_fini(&store->arena);
	lath_arena_fini(&store->index);
	pthread_mutex_destroy(&store->evict_lock);
	free(store->hand);
}

/* Unlocks the file of a store and forgets it. */
static void leave_file(struct store_file *file, bool writes)
{
	if (writes)
		lath_file_leave_family(file);
	lath_file_forget(file);
	free(file);
}

static int open_file(struct lath_store *store, const char *path,
		     const struct lath_store_options *options)
{
	struct store_file *file = memory_refused() ? NULL : malloc(sizeof(*file));
	bool writes = !(options->flags & LATH_STORE_READ_ONLY);
	struct stat stat;
	int ret;

	if (!file)
		return lath_store_refuse_with(-ENOMEM, "%s: %s", path, strerror(ENOMEM));
	ret = lath_file_resolve(file, path);
	if (!ret && writes) /* locked before it is read: what is written later must be based on what
			       was read */
		ret = lath_file_lock_family(file);
	/* for a writer it need not exist */
	if (!ret && (!writes || options->flags & LATH_STORE_EXISTING ||
		     lath_file_look(file, &stat) != -ENOENT))
		ret = lath_snapshot_load(store, file, NULL, NULL);
	if (!ret && writes)
		store->file = file;
	else /* the open failed, or this is a reader: it writes nothing back, keeps no descriptor */
		leave_file(file, writes);
	return ret;
}

static int open_backend(struct lath_store *store, const struct store_backend *backend,
			const char *rest, const struct lath_store_options *options)
{
	if (!backend->open)
		return lath_store_refuse_with(-ENODEV, "%s:%s: this build has no kernel store",
					      backend->scheme, rest);
	LATH_ASSERT(backend->get_ref && backend->close);
	store->backend = backend;
	return backend->open(store, rest, options);
}

static int open_spec(struct lath_store *store, const char *spec,
		     const struct lath_store_options *options)
{
	int ret;

	if (!strncmp(spec, "dev:", 4))
		return open_backend(store, &lath_store_dev_backend, spec + 4, options);
	if (!strncmp(spec, "shm:", 4))
		return open_backend(store, &lath_store_shm_backend, spec + 4, options);
	if (*spec && strcmp(spec, "mem:") && strncmp(spec, "file:", 5))
		return lath_store_refuse_with(
			-EINVAL, "%s: use mem:, file:PATH, shm:NAME or dev:PATH", spec);
	/* mem: and file: are this process's own; a file is its content at the open */
	ret = open_here(store, options);
	if (!ret && !strncmp(spec, "file:", 5)) {
		ret = open_file(store, spec + 5, options);
		if (ret)
			close_here(store);
	}
	return ret;
}

static int open_options(struct lath_store **out, const char *spec,
			const struct lath_store_options *options)
{
	struct lath_store *store;
	int ret = check_options(options);

	if (ret)
		return ret;
	store = memory_refused() || lath_thread_prepare() ? NULL : lath_block_alloc(sizeof(*store));
	if (!store)
		return -ENOMEM;
	memset(store, 0, sizeof(*store));
	store->keys = options->keys;
	store->flags = options->flags;
	store->limit = options->limit;
	/* a version takes a record per value */
	store->plain =
		options->keys == LATH_STORE_NUMBERS && !(options->flags & LATH_STORE_VERSIONS);
	store->rcu = options->rcu ? options->rcu : &lath_rcu_auto;
	ret = open_spec(store, spec, options);
	if (ret) {
		lath_block_free(store);
		return ret;
	}
	/* loading the file was no change of it, and a handle that is read only may load */
	store->changed = 0;
	store->read_only = options->flags & LATH_STORE_READ_ONLY;
	*out = store;
	return 0;
}

int lath_store_open(struct lath_store **out, const char *spec,
		    const struct lath_store_options *theirs)
{
	LATH_NO_CANCEL;
	struct lath_store_options options;
	int ret;

	spec = spec ? spec : "";
	lath_store_reason_begin();
	ret = take_options(&options, theirs);
	if (!ret)
		ret = open_options(out, spec, &options);
	if (ret) /* -EBADMSG without a reason: of a repair */
		store_refuse_if_silent(ret, "%s: %s", spec,
				       ret == -EBADMSG ? "damaged" : strerror(-ret));
	lath_store_reason_copy(options.why, options.why_size);
	return ret;
}

int lath_store_leave(struct lath_store *store)
{
	LATH_NO_CANCEL;
	int ret = 0;

	lath_store_reason_begin();
	if (store->backend)
		return 0;
	/* if the file cannot be written, it is left all the same; the error tells */
	if (!store->read_only)
		ret = lath_store_sync(store);
	/* the lock behind the save: until here no other process may write the file */
	if (store->file)
		leave_file(store->file, true);
	store->file = NULL;
	lath_arena_flush(&store->arena); /* so that close() has nothing to wait for one day */
	return ret;
}

int lath_store_close(struct lath_store *store)
{
	LATH_NO_CANCEL;
	int ret;

	if (!store)
		return 0;
	ret = lath_store_leave(store);
	if (store->backend)
		ret = store->backend->close(store);
	else
		close_here(store);
	lath_block_free(store);
	return ret;
}

enum lath_store_keys lath_store_kind(const struct lath_store *store)
{
	return store->keys;
}

int64_t lath_store_items(struct lath_store *store)
{
	struct lath_store_stats stats;
	int64_t sum = 0;
	unsigned int i;
	int ret;

	if (store->inside)
		return LOCKED(store, false, lath_store_items(store->inside));
	if (store->backend) {
		ret = store->backend->stats(store, &stats);
		return ret ? ret : (int64_t)stats.items;
	}
	if (store->keys == LATH_STORE_NUMBERS)
		return (int64_t)lath_index_count(&store->numbers);
	/* the set of byte keys does not count: each shard has what its threads added */
	for (i = 0; i < SHARDS; i++)
		sum += __atomic_load_n(&store->arena.shard[i].items, __ATOMIC_RELAXED);
	return max(sum, (int64_t)0); /* while others write, the sum may be off */
}

/* Fills the statistics of a store in this process, except those that only the kernel knows. */
static void figures(struct lath_store *store, struct lath_store_stats *stats)
{
	struct arena_numbers numbers, nodes;

	memset(stats, 0, sizeof(*stats));
	lath_arena_numbers(&store->arena, &numbers);
	lath_arena_numbers(&store->index, &nodes);
	stats->items = (u64)lath_store_items(store);
	stats->committed = numbers.committed + nodes.committed;
	stats->index_bytes = nodes.record_bytes + nodes.large_bytes;
	stats->record_bytes = numbers.record_bytes + numbers.large_bytes;
	stats->pending_bytes = numbers.pending;
	stats->free_bytes = numbers.free_bytes + nodes.free_bytes;
	stats->lost_bytes = numbers.lost;
	stats->layers = store->keys == LATH_STORE_BYTES ? lath_bytes_trees(&store->set) - 1 : 0;
	stats->evicted = READ_ONCE(store->evicted);
	stats->expired = READ_ONCE(store->expired);
	stats->fragmentation_permille =
		stats->committed ? stats->free_bytes * 1000 / stats->committed : 0;
}

int lath_store_get_stats(struct lath_store *store, struct lath_store_stats *stats)
{
	LATH_NO_CANCEL;
	struct pages_coverage records, index = { 0, 0 };
	int ret;

	memset(stats, 0, sizeof(*stats));
	if (store->backend && !store->inside)
		return store->backend->stats(store, stats);
	if (store->inside) {
		const struct shm_head *head = container_of(store->inside, struct shm_head, store);

		/* true: it takes the arenas' locks */
		ret = (int)LOCKED(store, true, (figures(store->inside, stats), 0));
		/* what this process has mapped; others may have touched more pages */
		if (!ret)
			ret = lath_pages_coverage((const char *)head, head->size, &records);
	} else {
		figures(store, stats);
		ret = lath_pages_coverage(store->arena.base, store->arena.reserved, &records);
		if (!ret)
			ret = lath_pages_coverage(store->index.base, store->index.reserved, &index);
	}
	/* only the kernel knows which pages are there, and how large they are */
	if (ret)
		return ret;
	stats->resident = records.resident + index.resident;
	stats->huge = records.huge + index.huge;
	return 0;
}
