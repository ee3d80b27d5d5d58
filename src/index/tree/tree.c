/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * list.c - a list's beginning and end, loading sorted input, counts.
 */
#include "index/holes/gap.h"
#include "index/hint/hint.h"
#include "index/tree/tree.h"
#include "index/tree/share.h"

#ifndef __KERNEL__
__thread struct fingers lath_fingers __attribute__((tls_model("initial-exec")));
#endif

static u64 next_list_id = 1;

static const struct lath_config default_config = LATH_CONFIG_INIT;

/* A caller compiled with an older, shorter struct gets the defaults for what it does not know. */
static int read_config(struct lath_config *to, const struct lath_config *from)
{
	*to = default_config;
	if (!from)
		return 0;
	if (from->size < offsetof(struct lath_config, rcu) || from->size > sizeof(*from))
		return -EINVAL;
	memcpy(to, from, from->size);
	if (to->layout != LATH_RANGES && to->layout != LATH_POINTS)
		return -EINVAL;
	if (to->flags & ~(unsigned int)(LATH_HUGE_PAGES | LATH_SMALL_PAGES | LATH_NODE_EACH | LATH_HOLES))
		return -EINVAL;
	if (to->flags & LATH_HUGE_PAGES && to->flags & LATH_SMALL_PAGES)
		return -EINVAL;
	if (to->flags & LATH_HOLES && to->layout != LATH_RANGES)
		return -EINVAL;
	return 0;
}

int lath_index_init(struct lath_index *public, const struct lath_config *config)
{
	struct tree *list = tree_of(public);
	struct lath_config cfg;
	struct node *root;
	int ret = read_config(&cfg, config);

	if (ret)
		return ret;
	memset(list, 0, sizeof(*list));
	list->ranges = cfg.layout == LATH_RANGES;
	list->each = cfg.flags & LATH_NODE_EACH;
	list->huge = cfg.flags & LATH_HUGE_PAGES && !cfg.allocator;
	list->small = cfg.flags & LATH_SMALL_PAGES || cfg.allocator;
	list->holes = cfg.flags & LATH_HOLES;
	list->inner_side = list->holes ? GAP_WORDS : 0;
	list->rcu = cfg.rcu ? cfg.rcu : &lath_rcu_auto;
	if (cfg.allocator)
		list->allocator = *cfg.allocator;
	list->id = lath_fetch_add(&next_list_id, 1);
	lath_spin_init(&list->root_lock);
#ifndef __KERNEL__
	lath_spin_init(&list->guide_lock);
#endif
	if (!pools_init(list))
		return -ENOMEM;
	root = node_alloc(list, POOL_LEAF);
	if (!root) {
		pools_fini(list);
		return -ENOMEM;
	}
	node_init(root, 0, 0, KEY_MAX, NULL, 0);
	gap_settle(list, root);
	node_open(root);
	fingers_init(list);
	smp_store_release(&list->root, root); /* pairs with the load in walk.c descend */
	return 0;
}

void lath_index_share(struct lath_index *public, const struct lath_allocator *allocator, u64 id)
{
	struct tree *list = tree_of(public);

	list->shared = allocator;
	list->guide_turn = 0;
	list->id = id;
}

void lath_index_loosen(struct lath_index *public)
{
	tree_of(public)->loose = true;
}

void lath_index_expect(struct lath_index *list, u64 key)
{
	guide_ask(tree_of(list), key);
}

void lath_index_prepare(struct lath_index *list)
{
	guide_make(tree_of(list));
}

u32 lath_index_node_cap(void)
{
	return NODE_CAP;
}

static struct node *first_leaf(struct tree *list)
{
	struct node *node = list->root;

	while (node_level(node))
		node = node_child(node, __ffs64(node->live));
	return node;
}

/* In `each` mode nodes are given back one by one, level by level. */
static void free_nodes(struct tree *list)
{
	struct node *down = list->root;

	while (down) {
		struct node *node = down, *right;
		enum pool_kind kind = node_level(node) ? POOL_INNER : POOL_LEAF;

		down = kind == POOL_INNER ? node_child(node, __ffs64(node->live)) : NULL;
		for (; node; node = right) {
			right = node->right;
			node_free(list, kind, node);
		}
	}
}

void lath_index_fini(struct lath_index *public, lath_item_fn each, void *arg)
{
	struct tree *list = tree_of(public);
	struct node *leaf;

	if (each) {
		for (leaf = first_leaf(list); leaf; leaf = leaf_right(leaf)) {
			u64 live = leaf->live;

			for (; live; live &= live - 1) {
				struct lath_item item;

				item_of(leaf, __ffs64(live), list->ranges, &item);
				each(arg, &item);
			}
		}
	}
	if (list->each)
		free_nodes(list);
	guide_fini(list);
	pools_fini(list);
	fingers_fini(list);
	list->root = NULL;
}

struct lath_index *lath_index_create(const struct lath_config *config)
{
	struct lath_index *list = lath_block_alloc(sizeof(*list));

	if (list && lath_index_init(list, config)) {
		lath_block_free(list);
		list = NULL;
	}
	return list;
}

void lath_index_destroy(struct lath_index *list, lath_item_fn each, void *arg)
{
	if (!list)
		return;
	lath_index_fini(list, each, arg);
	lath_block_free(list);
}

/* Live entries of the nodes of a level, and how many of these nodes no parent knows. */
static void count_level(struct tree *list, unsigned int level, u64 *entries, u64 *unposted)
{
	struct node *node;
	u64 word;

begin:
	*entries = *unposted = 0;
	for (node = level_node(list, 0, level, &word); node;) {
		struct node *next;
		unsigned int n, alone;

		word = node_read(node);
		n = node_count(node);
		alone = READ_ONCE(node->unposted);
		next = leaf_right(node);
		if (unlikely(word & NODE_DEAD)) /* its entries are further left */
			goto begin;
		if (next)
			prefetch((char *)next);
		if (!node_valid(node, word))
			continue;
		*entries += n;
		*unposted += alone;
		node = next;
	}
}

uint64_t lath_index_count(struct lath_index *public)
{
	struct tree *list = tree_of(public);
	u64 count, unposted;

	lath_reader_enter(list->rcu);
	count_level(list, 0, &count, &unposted);
	lath_reader_exit(list->rcu);
	return count;
}

void lath_index_get_stats(struct lath_index *public, struct lath_index_stats *stats)
{
	struct tree *list = tree_of(public);
	unsigned int level;
	u64 unposted;

	memset(stats, 0, sizeof(*stats));
	pool_stats(&list->pool[POOL_LEAF], &stats->bytes, &stats->huge_bytes, &stats->leaves);
	pool_stats(&list->pool[POOL_INNER], &stats->bytes, &stats->huge_bytes, &stats->inner_nodes);
	stats->bytes += guide_bytes(list);
	lath_reader_enter(list->rcu);
	stats->levels = node_level(smp_load_acquire(&list->root)) + 1; /* pairs with add_root */
	for (level = stats->levels; level-- > 0;) {
		count_level(list, level, &stats->items, &unposted);
		stats->unposted += unposted;
	}
	lath_reader_exit(list->rcu);
	stats->fill_permille = stats->leaves ? stats->items * 1000 / (stats->leaves * NODE_CAP) : 0;
	stats->restarts = READ_ONCE(list->restarts);
	stats->lock_falls = READ_ONCE(list->lock_falls);
	stats->splits = READ_ONCE(list->splits);
	stats->merges = READ_ONCE(list->merges);
}
