/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.c - indexes in the server's memory.
 */
#include "index.h"

#include "value.h"

static struct lath_index *make(enum lath_layout layout, unsigned int flags, bool nodes)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index *index =
		server_memory.alloc(NULL, sizeof(*index), _Alignof(struct lath_index));

	config.layout = layout;
	config.flags = flags | LATH_SMALL_PAGES | (nodes ? LATH_NODE_EACH : 0);
	config.rcu = &lath_rcu_single;
	config.allocator = &server_memory;
	if (index && lath_index_init(index, &config)) {
		server_memory.free(NULL, index, sizeof(*index));
		return NULL;
	}
	return index;
}

struct lath_index *points_create(bool nodes)
{
	return make(LATH_POINTS, 0, nodes);
}

struct lath_index *counted_create(bool nodes)
{
	return make(LATH_POINTS, LATH_RANKS, nodes);
}

struct lath_index *holes_create(bool nodes)
{
	return make(LATH_RANGES, LATH_HOLES, nodes);
}

void points_destroy(struct lath_index *index, lath_item_fn each)
{
	LATH_ASSERT(index);
	lath_index_fini(index, each, NULL);
	server_memory.free(NULL, index, sizeof(*index));
}

size_t points_memory(struct lath_index *index)
{
	struct lath_index_stats stats;

	lath_index_get_stats(index, &stats);
	return sizeof(*index) + stats.bytes;
}
