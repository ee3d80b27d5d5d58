/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* store.c - the public calls on a whole store: the place is chosen; statistics, order, memory. */
#include "store/memory/reason.h"
#include "store/place/place.h"

#include <inttypes.h>
#include <stdlib.h>

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
		return lath_refuse(-EINVAL, "options.size %zu: begin with LATH_STORE_OPTIONS_INIT",
				   theirs->size);
	memcpy(mine, theirs, theirs->size);
	return 0;
}

static int check_options(const struct lath_store_options *options)
{
	if (options->limit && options->limit < LIMIT_MIN)
		return lath_refuse(-EINVAL, "limit %" PRIu64 ": at least %llu bytes",
				   options->limit, LIMIT_MIN);
	/* without a limit there is never a reason to evict */
	if ((options->flags & LATH_STORE_EVICT) && !options->limit)
		return lath_refuse(-EINVAL, "eviction needs a limit");
	if (options->flags & ~KNOWN_FLAGS)
		return lath_refuse(-EINVAL, "flags 0x%x: unknown ones are set", options->flags);
	if (options->keys > LATH_STORE_BYTES || options->pages > LATH_PAGES_SMALL)
		return lath_refuse(-EINVAL, "unknown kind of keys or of pages");
	return 0;
}

static int open_spec(struct lath_store *store, const char *spec,
		     const struct lath_store_options *options)
{
	static const struct store_place *const places[] = { &lath_place_here, &lath_place_file,
							    &lath_place_shm, &lath_place_dev };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		size_t n = strlen(places[i]->scheme);

		if (strncmp(spec, places[i]->scheme, n) || spec[n] != ':' || (!i && spec[n + 1]))
			continue;
		store->place = places[i];
		return store->place->open(store, spec + n + 1, options);
	}
	return lath_refuse(-EINVAL, "%s: use mem:, file:PATH, shm:NAME or dev:PATH", spec);
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
	ret = open_spec(store, *spec ? spec : "mem:", options);
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
	return lath_store_reason_end(ret, spec, options.why, options.why_size);
}

int lath_store_close(struct lath_store *store)
{
	LATH_NO_CANCEL;
	int ret;

	if (!store)
		return 0;
	ret = lath_store_leave(store);
	store->place->close(store);
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
	int ret;

	if (store->inside)
		return INSIDE(store, false, lath_keys_items(store->inside));
	ret = store->place->stats(store, &stats);
	return ret ? ret : (int64_t)stats.items;
}

int lath_store_get_stats(struct lath_store *store, struct lath_store_stats *stats)
{
	LATH_NO_CANCEL;

	memset(stats, 0, sizeof(*stats));
	if (store->place->stats)
		return store->place->stats(store, stats);
	/* true: it takes the arenas' locks */
	return (int)INSIDE(store, true, lath_here_figures(store->inside, stats));
}

int lath_store_get_pages(struct lath_store *store, struct lath_store_stats *stats)
{
	LATH_NO_CANCEL;

	stats->resident = stats->huge = 0;
	if (!store->inside)
		return 0;
	return lath_pages_coverage(&store->inside->arena, &store->inside->index, stats);
}

int64_t lath_store_sweep(struct lath_store *store)
{
	return store->read_only ? -EROFS : INSIDE(store, true, lath_kv_sweep(store->inside));
}

int64_t lath_store_compact(struct lath_store *store)
{
	LATH_NO_CANCEL;

	return store->inside ? INSIDE(store, true, lath_kv_compact(store->inside)) : 0;
}

int lath_store_prefault(struct lath_store *store, uint64_t bytes)
{
	LATH_NO_CANCEL;

	lath_store_reason_begin();
	if (store->inside != store)
		return lath_refuse(-EOPNOTSUPP, "%s: prefault is an option of open there",
				   store->place->scheme);
	return lath_here_populate(store, bytes, lath_pages_available(""));
}
