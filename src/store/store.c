/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * store.c - open, close, figures.
 */
#include "store/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/pages.h"
#include "store/snapshot.h"

#define LIMIT_MIN (8ull << 20)

int store_refuse(const struct lath_store_options *options, int ret, const char *format, ...)
{
	va_list args;

	if (options->why && options->why_size) {
		va_start(args, format);
		vsnprintf(options->why, options->why_size, format, args);
		va_end(args);
	}
	return ret;
}

/* What a caller with an older, shorter struct did not know has its default. */
static void take_options(struct lath_store_options *mine, const struct lath_store_options *theirs)
{
	static const struct lath_store_options defaults = LATH_STORE_OPTIONS_INIT;

	*mine = defaults;
	if (theirs)
		memcpy(mine, theirs, min(theirs->size, sizeof(*mine)));
	if (mine->why && mine->why_size)
		mine->why[0] = '\0';
}

static int check_options(const struct lath_store_options *options)
{
	if (options->limit && options->limit < LIMIT_MIN)
		return store_refuse(options, -EINVAL, "limit %" PRIu64 ": at least %llu bytes",
				    options->limit, LIMIT_MIN);
	if ((options->flags & LATH_STORE_EVICT) && !options->limit)
		return store_refuse(options, -EINVAL, "eviction needs a limit");
	if (options->flags & ~(LATH_STORE_EVICT | LATH_STORE_VERSIONS) || options->keys > LATH_STORE_BYTES ||
	    options->pages > LATH_PAGES_SMALL)
		return store_refuse(options, -EINVAL, "unknown flag, kind of keys or of pages");
	return 0;
}

/* ---- here ---- */

/* What a plain store of numbers takes is index; of others about half is. */
int lath_store_prefault(struct lath_store *store, uint64_t bytes)
{
	int ret;

	if (store->backend)
		return -EOPNOTSUPP;
	if (!bytes)
		return 0;
	if (store->plain)
		return arena_prefault(&store->index, bytes);
	ret = arena_prefault(&store->index, bytes / 2);
	return ret ? ret : arena_prefault(&store->arena, bytes / 2);
}

static int open_arenas(struct lath_store *store, const struct lath_store_options *options)
{
	char unused[1];
	char *why = options->why ? options->why : unused;
	size_t why_size = options->why ? options->why_size : 0;
	int ret = arena_init(&store->index, options, store->rcu, &store->committed, why, why_size);

	if (ret)
		return ret;
	ret = arena_init(&store->arena, options, store->rcu, &store->committed, why, why_size);
	if (ret)
		arena_fini(&store->index);
	return ret;
}

static int open_here(struct lath_store *store, const struct lath_store_options *options)
{
	int ret = open_arenas(store, options);

	if (ret)
		return ret;
	ret = lath_store_prefault(store, options->prefault);
	if (!ret)
		ret = layer_init(store, &store->root, 0);
	if (!ret && (options->flags & LATH_STORE_EVICT) && store->keys == LATH_STORE_BYTES) {
		store->hand = store_refused() ? NULL : malloc(KEY_BYTES_MAX);
		ret = store->hand ? 0 : -ENOMEM;
	}
	if (ret) {
		arena_fini(&store->arena);
		arena_fini(&store->index);
		return store_refuse(options, ret,
				    ret == -ENOSPC ? "the limit is too small for prefault" : "no memory");
	}
	pthread_mutex_init(&store->evict_lock, NULL);
	lath_turn_init(&store->compact_turn);
	return 0;
}

/* The indexes lie in their arena and go with it, once nobody retires their nodes any more. */
static void close_here(struct lath_store *store)
{
	arena_fini(&store->arena);
	arena_fini(&store->index);
	pthread_mutex_destroy(&store->evict_lock);
	free(store->hand);
}

static int open_file(struct lath_store *store, const char *path, const struct lath_store_options *options)
{
	char why[160] = "";
	int ret;

	if (!*path)
		return store_refuse(options, -EINVAL, "file: needs a path");
	store->path = store_refused() ? NULL : strdup(path);
	if (!store->path)
		return store_refuse(options, -ENOMEM, "no memory");
	ret = snapshot_load(store, path, NULL, NULL, why, sizeof(why));
	store->changed = 0;
	if (ret == -ENOENT)
		return 0;
	return ret ? store_refuse(options, ret, "%s: %s", path, why) : 0;
}

static int open_backend(struct lath_store *store, const struct store_backend *backend, const char *rest,
			const struct lath_store_options *options)
{
	if (!backend->open)
		return store_refuse(options, -ENODEV, "%s:%s: this build has no kernel store",
				    backend->scheme, rest);
	store->backend = backend;
	return backend->open(store, rest, options);
}

static int open_spec(struct lath_store *store, const char *spec, const struct lath_store_options *options)
{
	int ret;

	if (!strncmp(spec, "dev:", 4))
		return open_backend(store, &store_dev_backend, spec + 4, options);
	if (!strncmp(spec, "shm:", 4))
		return open_backend(store, &store_shm_backend, spec + 4, options);
	if (*spec && strcmp(spec, "mem:") && strncmp(spec, "file:", 5))
		return store_refuse(options, -EINVAL, "%s: use mem:, file:PATH, shm:NAME or dev:PATH", spec);
	ret = open_here(store, options);
	if (!ret && !strncmp(spec, "file:", 5)) {
		ret = open_file(store, spec + 5, options);
		if (ret)
			close_here(store);
	}
	return ret;
}

int lath_store_open(struct lath_store **out, const char *spec, const struct lath_store_options *theirs)
{
	struct lath_store_options options;
	struct lath_store *store;
	int ret;

	take_options(&options, theirs);
	ret = check_options(&options);
	if (ret)
		return ret;
	store = store_refused() ? NULL : lath_block_alloc(sizeof(*store));
	if (!store)
		return store_refuse(&options, -ENOMEM, "no memory");
	memset(store, 0, sizeof(*store));
	store->keys = options.keys;
	store->flags = options.flags;
	store->plain = options.keys == LATH_STORE_NUMBERS && !(options.flags & LATH_STORE_VERSIONS);
	store->rcu = options.rcu ? options.rcu : &lath_rcu_auto;
	ret = open_spec(store, spec ? spec : "", &options);
	if (ret) {
		free(store->path);
		lath_block_free(store);
		return ret;
	}
	*out = store;
	return 0;
}

int lath_store_sync(struct lath_store *store)
{
	int ret;

	if (!store->path || !READ_ONCE(store->changed))
		return 0;
	WRITE_ONCE(store->changed, 0); /* what changes from here on may be missing in the file */
	ret = lath_store_save(store, store->path, NULL, NULL);
	if (ret)
		WRITE_ONCE(store->changed, 1);
	return ret;
}

int lath_store_close(struct lath_store *store)
{
	int ret;

	if (!store)
		return 0;
	ret = store->backend ? store->backend->close(store) : lath_store_sync(store);
	if (!store->backend)
		close_here(store);
	free(store->path);
	lath_block_free(store);
	return ret;
}

enum lath_store_keys lath_store_kind(const struct lath_store *store)
{
	return store->keys;
}

static u64 items(struct lath_store *store)
{
	s64 sum = 0;
	unsigned int i;

	if (store->keys == LATH_STORE_NUMBERS)
		return lath_index_count(&store->root.list);
	for (i = 0; i < SHARDS; i++)
		sum += __atomic_load_n(&store->arena.shard[i].items, __ATOMIC_RELAXED);
	return sum > 0 ? (u64)sum : 0; /* summed beside writers it may be off by some */
}

void store_figures(struct lath_store *store, struct lath_store_stats *stats)
{
	struct arena_numbers numbers, nodes;

	memset(stats, 0, sizeof(*stats));
	arena_numbers(&store->arena, &numbers);
	arena_numbers(&store->index, &nodes);
	stats->items = items(store);
	stats->committed = numbers.committed + nodes.committed;
	stats->index_bytes = nodes.record_bytes + nodes.large_bytes;
	stats->record_bytes = numbers.record_bytes + numbers.large_bytes;
	stats->pending_bytes = numbers.pending;
	stats->free_bytes = numbers.free_bytes + nodes.free_bytes;
	stats->lost_bytes = numbers.lost;
	stats->layers = READ_ONCE(store->layers);
	stats->evicted = READ_ONCE(store->evicted);
	stats->expired = READ_ONCE(store->expired);
	stats->fragmentation_permille = stats->committed ? stats->free_bytes * 1000 / stats->committed : 0;
}

int lath_store_get_stats(struct lath_store *store, struct lath_store_stats *stats)
{
	struct pages_coverage records, index;
	int ret;

	memset(stats, 0, sizeof(*stats));
	if (store->backend)
		return store->backend->stats(store, stats);
	store_figures(store, stats);
	ret = pages_coverage(store->arena.base, store->arena.reserved, &records);
	if (!ret)
		ret = pages_coverage(store->index.base, store->index.reserved, &index);
	if (ret)
		return ret;
	stats->resident = records.resident + index.resident;
	stats->huge = records.huge + index.huge;
	return 0;
}
