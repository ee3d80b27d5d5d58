/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.c - the beginning and the end of a tree; counts and statistics.
 */
#include "tree/watch/change.h"
#include "tree/way/locate.h"
#include "tree/memory/pool.h"
#include "tree/call/config.h"

#ifndef __KERNEL__
LATH_TLS struct fingers lath_fingers;
#endif

static u64 next_id = 1;

static const struct lath_config default_config = LATH_CONFIG_INIT;

#define KNOWN_FLAGS                                                                       \
	(LATH_HUGE_PAGES | LATH_SMALL_PAGES | LATH_NODE_EACH | LATH_HOLES | LATH_SHARED | \
	 LATH_RANKS | LATH_ANY_CONTEXT)

int lath_config_read(struct lath_config *to, const struct lath_config *from, bool long_values)
{
	*to = default_config;
	if (!from)
		return 0;
	/* a longer struct is of a newer version: it may ask for what this library does not know */
	if (from->size < offsetof(struct lath_config, rcu) || from->size > sizeof(*from))
		return -EINVAL;
	memcpy(to, from, from->size);
	if (to->layout != LATH_RANGES && to->layout != LATH_POINTS)
		return -EINVAL;
	if (to->flags & ~(unsigned int)KNOWN_FLAGS)
		return -EINVAL;
	if (to->flags & LATH_HUGE_PAGES && to->flags & LATH_SMALL_PAGES)
		return -EINVAL;
	/* both would need the side column of the inner nodes */
	if (to->flags & LATH_HOLES && (to->layout != LATH_RANGES || to->flags & LATH_RANKS))
		return -EINVAL;
	/* with LATH_HOLES a leaf has its summary where the rows of long values would be */
	long_values &= !(to->flags & LATH_HOLES);
	if (to->value_size % sizeof(u64) ||
	    to->value_size > (long_values ? VALUE_WORDS : 1) * sizeof(u64))
		return -EINVAL;
	if (!lath_any_valid(to))
		return -EINVAL;
	/* all processes must use the same id and the same allocator: neither has a default */
	if (to->flags & LATH_SHARED && (!to->rcu || !to->allocator || !to->id))
		return -EINVAL;
	return 0;
}

static void init_locks(struct tree *tree)
{
	lath_spin_init_any(&tree->root_lock, any_context(tree));
	lath_spin_init_any(&tree->count_lock, any_context(tree));
	lath_spin_init_any(&tree->trim_lock, any_context(tree));
#ifndef __KERNEL__
	lath_spin_init(&tree->hint_lock);
#endif
}

static void apply_config(struct tree *tree, const struct lath_config *config, bool wide)
{
	unsigned int flags = config->flags, most = MOST_STRIPES;

	memset(tree, 0, sizeof(*tree));
	tree->flags = (u16)flags;
	LATH_ASSERT(tree->flags == flags);
	/* no large chunks where they would take too long to get */
	tree->huge = flags & LATH_HUGE_PAGES && !config->allocator && !any_context(tree);
	tree->small = flags & LATH_SMALL_PAGES || config->allocator;
	tree->holes = flags & LATH_HOLES;
	tree->ranks = flags & LATH_RANKS;
	tree->group = flags & LATH_HOLES ? 1 : SPLIT_GROUP;
	if (config->layout == LATH_RANGES)
		tree->leaf_level = NODE_SIZES;
	/* of each leaf that changes the summary has to be measured: two are cheaper than five */
	tree->leaf_fill = halves(tree) ? NODE_CAP * 11 / 16 : NODE_CAP * 7 / 8;
	tree->leaf_side = tree->leaf_level || wide ? SIDE_WORD : 0;
	if (config->value_size > sizeof(u64)) {
		tree->leaf_level |= NODE_LONG;
		tree->leaf_side += (config->value_size / sizeof(u64) - 1) * SIDE_MORE;
	}
	if (flags & LATH_RANKS)
		tree->inner_side = SIDE_WORD;
	if (flags & LATH_HOLES) {
		tree->inner_side = SIDE_SUMMARY;
		most = MOST_STRIPES_OF_HOLES;
	}
	while (tree->stripe_mask + 1u < LATH_STRIPES && tree->stripe_mask + 1u < most)
		tree->stripe_mask = (u8)(2 * tree->stripe_mask + 1);
	LATH_ASSERT(value_words(tree) <= VALUE_WORDS && tree->leaf_fill <= NODE_CAP);
	tree->rcu = config->rcu ? config->rcu : &lath_rcu_auto;
	if (config->allocator)
		tree->allocator = *config->allocator;
	if (flags & LATH_SHARED)
		tree->shared_allocator = config->allocator;
	tree->id = flags & LATH_SHARED ? config->id : lath_fetch_add(&next_id, 1);
#ifdef __KERNEL__
	if (any_context(tree) && !config->allocator)
		lath_any_allocator(&tree->allocator, config->gfp);
#endif
	init_locks(tree);
}

int lath_tree_init(struct lath_index *index, const struct lath_config *config, bool wide)
{
	struct tree *tree = tree_of(index);
	struct lath_config checked;
	struct node *root;
	int ret = lath_config_read(&checked, config, true);

	if (!index || (uintptr_t)index % _Alignof(struct lath_index))
		return -EINVAL;
	if (!ret)
		ret = lath_thread_prepare();
	if (ret)
		return ret;
	apply_config(tree, &checked, wide);
	if (!lath_pools_init(tree))
		return -ENOMEM;
	root = lath_node_alloc_first(tree);
	if (!root) {
		lath_pools_fini(tree);
		return -ENOMEM;
	}
	/* with LATH_HOLES the summary of the empty leaf says that all keys are free */
	change_node(tree, root);
	node_open(root);
	fingers_init(tree);
	smp_store_release(&tree->root, root); /* pairs with the load in descend */
	return 0;
}

int lath_index_init(struct lath_index *index, const struct lath_config *config)
{
	return lath_tree_init(index, config, false);
}

/* Changes with what the bytes of an index mean. */
#define LAYOUT 0u

uint32_t lath_index_layout(void)
{
	return (u32)sizeof(struct tree) << 16 | LAYOUT << 14 | (u32)sizeof(struct node) << 1 |
	       (NODE_CAP == 64);
}

void lath_index_prefetch(struct lath_index *index, uint64_t key)
{
	hint_prefetch(tree_of(index), key);
}

void lath_index_prepare(struct lath_index *index)
{
	lath_hint_build(tree_of(index));
}

static void call_for_items(struct tree *tree, lath_item_fn each, void *arg)
{
	struct node *leaf;

	for (leaf = leftmost_leaf(tree); leaf; leaf = leaf_right(leaf)) {
		u64 live = leaf->live;

		for (; live; live &= live - 1) {
			struct own_item own;

			each(arg, own_item_of(tree, leaf, __ffs64(live), &own));
		}
	}
}

void lath_index_fini(struct lath_index *index, lath_item_fn each, void *arg)
{
	LATH_NO_CANCEL;
	struct tree *tree = tree_of(index);

	if (each)
		call_for_items(tree, each, arg);
	if (tree->watcher)
		tree->watcher->calls->end(tree);
	lath_hint_fini(tree);
	lath_pools_fini(tree);
	fingers_fini(tree);
	tree->root = NULL;
}

/* Returns memory for an index, aligned to a cache line, or NULL. lath_small_alloc() aligns to 16
 * bytes and takes less time than lath_block_alloc(); the word in front of the index is the address
 * of its block. */
static struct lath_index *allocate(void)
{
	void *block = lath_small_alloc(sizeof(struct lath_index) + 64);
	void **index = (void **)(((uintptr_t)block & ~63ul) + 64);

	if (!block)
		return NULL;
	index[-1] = block;
	return (struct lath_index *)index;
}

static void deallocate(struct lath_index *index)
{
	lath_block_free(((void **)index)[-1]);
}

struct lath_index *lath_index_create(const struct lath_config *config)
{
	struct lath_index *index = allocate();

	if (index && lath_index_init(index, config)) {
		deallocate(index);
		index = NULL;
	}
	return index;
}

void lath_index_destroy(struct lath_index *index, lath_item_fn each, void *arg)
{
	LATH_NO_CANCEL;

	if (!index)
		return;
	lath_index_fini(index, each, arg);
	deallocate(index);
}

/* ---- counts ---- */

/* Entries from a key on. */
static unsigned int count_from(const struct node *node, u64 from)
{
	unsigned int n = 0;
	u64 live;

	for (live = READ_ONCE(node->live) & lath_ones(NODE_CAP); live; live &= live - 1)
		n += node_key(node, __ffs64(live)) >= from;
	return n;
}

/* Count the live entries of a level, and its nodes without a downlink. In a read-side critical
 * section. */
static void count_level(struct tree *tree, unsigned int level, u64 *entries, u64 *no_downlink)
{
	u64 lockword, from = 0; /* what lies below has been counted */
	struct node *node = lath_level_find(tree, 0, level, &lockword);

	*entries = *no_downlink = 0;
	while (node) {
		struct node *next;
		unsigned int n, alone;
		u64 last;

		lockword = node_read(node);
		last = READ_ONCE(node->last);
		n = READ_ONCE(node->low) < from ? count_from(node, from) : node_count(node);
		alone = READ_ONCE(node->no_downlink);
		next = leaf_right(node);
		if (unlikely(node_dead(lockword))) { /* its entries have moved to the left */
			node = lath_level_find(tree, from, level, &lockword);
			continue;
		}
		if (next)
			prefetch((char *)next);
		/* the node changed while it was counted: count it again */
		if (!node_valid(node, lockword))
			continue;
		*entries += n;
		*no_downlink += alone;
		if (!(lockword & NODE_HALF_DEAD)) /* a half-dead leaf covers nothing */
			from = max(from, last + 1);
		lath_delay("a leaf to the right");
		node = next;
	}
}

uint64_t lath_index_count(struct lath_index *index)
{
	struct tree *tree = tree_of(index);
	u64 count, no_downlink;

	if (lath_count_all(tree, &count))
		return count;
	lath_reader_enter(tree->rcu);
	count_level(tree, 0, &count, &no_downlink);
	lath_reader_exit(tree->rcu);
	return count;
}

u64 lath_tree_bytes(struct tree *tree)
{
	/* sums of counters that others change: each is true at some time during the call */
	return READ_ONCE(tree->pool[POOL_LEAF].bytes) + READ_ONCE(tree->pool[POOL_INNER].bytes) +
	       lath_hint_bytes(tree) + lath_stripes_bytes(tree) + watch_bytes(tree);
}

static void add_counts(struct lath_index_stats *stats, const struct counts *counts)
{
	stats->restarts += READ_ONCE(counts->restarts);
	stats->lock_falls += READ_ONCE(counts->lock_falls);
	stats->splits += READ_ONCE(counts->splits);
	stats->merges += READ_ONCE(counts->merges);
}

void lath_index_get_stats(struct lath_index *index, struct lath_index_stats *stats)
{
	struct tree *tree = tree_of(index);
	const struct stripe *stripe = all_stripes(tree);
	unsigned int level, i;
	u64 no_downlink;

	memset(stats, 0, sizeof(*stats));
	lath_pool_stats(&tree->pool[POOL_LEAF], &stats->bytes, &stats->huge_bytes, &stats->leaves);
	lath_pool_stats(&tree->pool[POOL_INNER], &stats->bytes, &stats->huge_bytes,
			&stats->inner_nodes);
	stats->bytes = lath_tree_bytes(tree);
	lath_reader_enter(tree->rcu);
	stats->levels = node_level(smp_load_acquire(&tree->root)) + 1; /* pairs with add_root */
	/* from the root down: count_level() overwrites the number of items, and the leaves' comes
	 * last */
	for (level = stats->levels; level-- > 0;) {
		count_level(tree, level, &stats->items, &no_downlink);
		stats->no_downlink += no_downlink;
	}
	lath_reader_exit(tree->rcu);
	stats->fill_permille = stats->leaves ? stats->items * 1000 / (stats->leaves * NODE_CAP) : 0;
	add_counts(stats, &tree->counts);
	for (i = 0; stripe && i <= tree->stripe_mask; i++) {
		add_counts(stats, &stripe[i].counts);
		stats->hole_searches += READ_ONCE(stripe[i].searches);
		stats->hole_nodes += READ_ONCE(stripe[i].searched);
	}
}
