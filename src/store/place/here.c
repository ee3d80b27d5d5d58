/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * here.c - mem:, a store in this process; what is known of the memory of any store that is mapped.
 */
#include "store/memory/reason.h"
#include "store/place/place.h"

#include <inttypes.h>
#include <stdlib.h>

int lath_here_populate(struct lath_store *store, u64 bytes, u64 available)
{
	u64 taken = READ_ONCE(store->committed), limit = store->index.limit;
	int ret;

	if (!bytes)
		return 0;
	/* refused before any memory is taken, so that a failure leaves the store as it was */
	if (limit && bytes > limit - min(limit, taken))
		return lath_refuse(-ENOSPC,
				   "prefault of %" PRIu64 " bytes: the limit is %" PRIu64
				   ", %" PRIu64 " are taken",
				   bytes, limit, taken);
	if (bytes > available)
		return lath_refuse(-ENOMEM,
				   "prefault of %" PRIu64 " bytes: the machine has %" PRIu64
				   " available",
				   bytes, available);
	/* a plain store of numbers needs index nodes only, others about half of each */
	ret = lath_arena_prefault(&store->index, store->plain ? bytes : bytes - bytes / 2);
	if (!ret && !store->plain)
		ret = lath_arena_prefault(&store->arena, bytes - bytes / 2);
	return ret ? lath_refuse(ret, "prefault of %" PRIu64 " bytes: %s", bytes, strerror(-ret))
		   : 0;
}

int lath_here_open(struct lath_store *store, const char *rest,
		   const struct lath_store_options *options)
{
	static const struct lath_bytes_records records = { lath_store_key_of, NULL, 0 };
	const struct lath_allocator allocator = { lath_arena_node_alloc, lath_arena_node_free,
						  &store->index };
	struct lath_config config = LATH_CONFIG_INIT;
	int ret = lath_arena_init(&store->index, options, store->rcu, &store->committed);

	(void)rest;
	if (ret)
		return ret;
	LATH_ASSERT(!store->mark);
	ret = lath_arena_init(&store->arena, options, store->rcu, &store->committed);
	if (ret) {
		lath_arena_fini(&store->index);
		return ret;
	}
	store->inside = store;
	config.rcu = store->rcu;
	config.allocator = &allocator;
	ret = lath_here_populate(store, options->prefault, lath_pages_available(""));
	if (!ret)
		ret = lath_keys_init(store, &config, &records);
	/* the hand of a store of numbers is a number */
	if (!ret && (options->flags & LATH_STORE_EVICT) && store->keys == LATH_STORE_BYTES) {
		store->hand = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
		ret = store->hand ? 0 : -ENOMEM;
	}
	pthread_mutex_init(&store->evict_lock, NULL);
	lath_turn_init(&store->compact_turn);
	if (!ret)
		return 0;
	lath_here_close(store);
	return ret;
}

/* Frees the arenas, and with them the indexes, once no retired node is left. */
void lath_here_close(struct lath_store *store)
{
	lath_arena_fini(&store->arena);
	lath_arena_fini(&store->index);
	pthread_mutex_destroy(&store->evict_lock);
	free(store->hand);
}

int lath_here_figures(struct lath_store *store, struct lath_store_stats *stats)
{
	lath_arena_figures(&store->arena, stats, &stats->record_bytes);
	lath_arena_figures(&store->index, stats, &stats->index_bytes);
	stats->items = (u64)lath_keys_items(store);
	stats->layers = store->keys == LATH_STORE_BYTES ? lath_bytes_trees(&store->set) - 1 : 0;
	stats->evicted = READ_ONCE(store->evicted);
	stats->expired = READ_ONCE(store->expired);
	stats->fragmentation_permille =
		stats->committed ? stats->free_bytes * 1000 / stats->committed : 0;
	return 0;
}

const struct store_place lath_place_here = {
	.scheme = "mem",
	.open = lath_here_open,
	.close = lath_here_close,
};
