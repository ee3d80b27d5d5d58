/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load.c - fill an empty tree from sorted items: full leaves, full inner nodes, no searching.
 * Excludes all other calls.
 */
#include "tree/call/call.h"
#include "tree/watch/change.h"
#include "tree/way/locate.h"
#include "tree/step/step.h"

/* 0 | -EINVAL (*bad: the index of the first item out of order, overlapping or invalid) */
static int check_items(const struct tree *tree, size_t n, const struct lath_item *items,
		       size_t *bad)
{
	size_t i;

	for (i = 0; i < n; i++) {
		bool wrong = !item_valid(tree, items[i].key, items[i].size);

		/* above the end of the item before, which is valid: the sum does not wrap */
		if (i && !wrong)
			wrong = items[i].key <= items[i - 1].key + (items[i - 1].size - 1);
		if (wrong) {
			if (bad)
				*bad = i;
			return -EINVAL;
		}
	}
	return 0;
}

/* Free this node and all right of it; `seen`: after a grace period, since a thread's finger or the
 * hint table may lead to one. */
static void drop_level(struct tree *tree, enum pool_kind kind, struct node *node, bool seen)
{
	while (node) {
		struct node *right = node->right;

		node_kill(node);
		if (seen)
			lath_node_retire(tree, kind, node);
		else
			lath_node_free(tree, kind, node);
		node = right;
	}
}

/* Add a node that begins at `low` right of `left`, or the first one of a level. NULL: no memory. */
static struct node *add_right(struct tree *tree, struct node *left, enum pool_kind kind,
			      unsigned int level, u64 low)
{
	struct node *node = lath_node_alloc(tree, kind);

	LATH_ASSERT(!left || (low && left->low < low && !left->right));
	if (!node)
		return NULL;
	lath_node_init(node, level ? level : tree->leaf_level, low, KEY_MAX, NULL, 0);
	if (left) {
		WRITE_ONCE(left->right, node);
		WRITE_ONCE(left->last, low - 1);
	}
	node_open(node);
	return node;
}

/* A full leaf is followed by another one; the small one that an index of points begins with becomes
 * larger. Returns the leaf to go on with, or NULL: no memory. */
static struct node *next_leaf(struct tree *tree, struct node *leaf, u64 key)
{
	struct node *fresh;

	if (leaf->cap == NODE_CAP) {
		lath_node_reindex(leaf);
		return add_right(tree, leaf, POOL_LEAF, 0, key);
	}
	fresh = lath_node_alloc(tree, POOL_LEAF);
	if (!fresh)
		return NULL;
	lath_call_enter();
	node_lock(leaf);
	lath_first_leaf_grow(tree, leaf, fresh);
	lath_call_exit();
	return fresh;
}

struct node *lath_load_item(struct tree *tree, struct node *leaf, const struct lath_item *item)
{
	/* each leaf is filled completely */
	if (leaf->used == leaf->cap)
		leaf = next_leaf(tree, leaf, item->key);
	if (leaf)
		lath_node_append(leaf, item->key, item->size, item->value, tree->leaf_side);
	return leaf;
}

/* Build the level above the one that begins with `below`. Returns its first node, or NULL: no
 * memory. */
static struct node *load_inner(struct tree *tree, struct node *below)
{
	unsigned int level = node_level(below) + 1;
	struct node *first = add_right(tree, NULL, POOL_INNER, level, 0), *node = first;

	for (; below && node; below = below->right) {
		if (node->used == NODE_CAP) {
			lath_node_reindex(node);
			node = add_right(tree, node, POOL_INNER, level, below->low);
			if (!node)
				break;
		}
		lath_node_append(node, below->low, 0, (u64)(uintptr_t)below, tree->inner_side);
	}
	/* NULL: one of the nodes could not be had; those before it are dropped */
	if (node) {
		lath_node_reindex(node);
		lath_gap_measure_level(tree, first);
		return first;
	}
	drop_level(tree, POOL_INNER, first, false);
	return NULL;
}

struct node *lath_load_begin(struct tree *tree)
{
	struct node *first = leftmost_leaf(tree), *node, *down;

	/* Erases merge leaves late, so a tree without items may still have several. */
	for (node = first; node; node = node->right)
		if (node->live)
			return NULL;
	if (tree->root != first || first->right) {
		lath_call_enter();
		for (node = tree->root; node != first; node = down) {
			down = node_child(node, __ffs64(node->live));
			drop_level(tree, POOL_INNER, node, true);
		}
		drop_level(tree, POOL_LEAF, first->right, true);
		lath_call_exit();
		WRITE_ONCE(first->right, NULL);
		WRITE_ONCE(first->last, KEY_MAX);
		WRITE_ONCE(first->no_downlink, 0);
		WRITE_ONCE(tree->root, first);
	}
	lath_node_clear(first);
	return first;
}

/* Free all that was loaded but the first leaf, and empty that. `top`: the first node of the highest
 * level. */
static int load_failed(struct tree *tree, struct node *top)
{
	struct node *leaf = tree->root, *down; /* no level above it has been shown */

	LATH_ASSERT(!node_level(leaf));
	for (; node_level(top); top = down) {
		down = node_child(top, 0);
		drop_level(tree, POOL_INNER, top, false);
	}
	drop_level(tree, POOL_LEAF, leaf->right, false);
	lath_node_clear(leaf);
	WRITE_ONCE(leaf->right, NULL);
	WRITE_ONCE(leaf->last, KEY_MAX);
	lath_gap_recompute(tree, leaf);
	return -ENOMEM;
}

int lath_load_end(struct tree *tree, struct node *leaf)
{
	struct node *top = tree->root;

	if (!leaf)
		return load_failed(tree, top);
	lath_node_reindex(leaf);
	lath_gap_measure_level(tree, top);
	while (top->right) {
		struct node *above = load_inner(tree, top);

		if (!above)
			return load_failed(tree, top);
		top = above;
	}
	smp_store_release(&tree->root, top); /* pairs with the load in descend */
	watch_filled(tree);
	lath_hint_build(tree);
	return 0;
}

int lath_index_load_sorted(struct lath_index *index, size_t n, const struct lath_item *items,
			   size_t *bad)
{
	struct tree *tree = tree_of(index);
	int ret = check_items(tree, n, items, bad);
	struct node *leaf;
	size_t i;

	if (ret)
		return ret;
	leaf = lath_load_begin(tree);
	if (!leaf)
		return -EBUSY;
	for (i = 0; i < n && leaf; i++)
		leaf = lath_load_item(tree, leaf, &items[i]);
	return lath_load_end(tree, leaf);
}
