/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load.c - fill an empty list from sorted items: full leaves, full inner nodes, no searching.
 */
#include "index/holes/gap.h"
#include "index/hint/hint.h"

static int check_items(const struct tree *list, size_t n, const struct lath_item *items, size_t *bad)
{
	size_t i;

	for (i = 0; i < n; i++) {
		bool wrong = !item_valid(list, items[i].key, items[i].size);

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

/* Give back a level, from this node on. */
static void drop_level(struct tree *list, enum pool_kind kind, struct node *node)
{
	while (node) {
		struct node *right = node->right;

		WRITE_ONCE(node->word, node->word | NODE_DEAD);
		node_free(list, kind, node);
		node = right;
	}
}

static struct node *add_right(struct tree *list, struct node *left, enum pool_kind kind,
			      unsigned int level, u64 low)
{
	struct node *node = node_alloc(list, kind);

	if (!node)
		return NULL;
	node_init(node, level, low, KEY_MAX, NULL, 0);
	if (left) {
		WRITE_ONCE(left->right, node);
		WRITE_ONCE(left->last, low - 1);
	}
	node_open(node);
	return node;
}

static bool load_leaves(struct tree *list, struct node *leaf, size_t n, const struct lath_item *items)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (leaf->used == NODE_CAP) {
			node_rescale(leaf);
			gap_settle(list, leaf);
			leaf = add_right(list, leaf, POOL_LEAF, 0, items[i].key);
			if (!leaf)
				return false;
		}
		node_append(leaf, items[i].key, items[i].size, items[i].value, list->ranges);
	}
	node_rescale(leaf);
	gap_settle(list, leaf);
	return true;
}

/* One level over `below`: its first node, or NULL. */
static struct node *load_inner(struct tree *list, struct node *below)
{
	unsigned int level = node_level(below) + 1;
	struct node *first = add_right(list, NULL, POOL_INNER, level, 0), *node = first;

	for (; below && node; below = below->right) {
		if (node->used == NODE_CAP) {
			node_rescale(node);
			gap_settle(list, node);
			node = add_right(list, node, POOL_INNER, level, below->low);
			if (!node)
				break;
		}
		node_append(node, below->low, 0, (u64)(uintptr_t)below, list->inner_side);
		gap_adopt(list, node, node->used - 1);
	}
	if (node) {
		node_rescale(node);
		gap_settle(list, node);
		return first;
	}
	drop_level(list, POOL_INNER, first);
	return NULL;
}

static int load(struct tree *list, size_t n, const struct lath_item *items)
{
	struct node *leaf = list->root, *top = leaf, *down;

	if (node_level(leaf) || leaf->live)
		return -EBUSY;
	node_clear(leaf);
	if (!load_leaves(list, leaf, n, items))
		goto no_memory;
	while (top->right) {
		struct node *above = load_inner(list, top);

		if (!above)
			goto no_memory;
		top = above;
	}
	smp_store_release(&list->root, top); /* pairs with the load in walk.c descend */
	return 0;

no_memory:
	for (; node_level(top); top = down) {
		down = node_child(top, 0);
		drop_level(list, POOL_INNER, top);
	}
	drop_level(list, POOL_LEAF, leaf->right);
	node_clear(leaf);
	gap_settle(list, leaf);
	WRITE_ONCE(leaf->right, NULL);
	WRITE_ONCE(leaf->last, KEY_MAX);
	return -ENOMEM;
}

int lath_index_load_sorted(struct lath_index *public, size_t n, const struct lath_item *items,
			      size_t *bad)
{
	struct tree *list = tree_of(public);
	int ret = check_items(list, n, items, bad);

	if (!ret)
		ret = load(list, n, items);
	if (!ret)
		guide_make(list);
	return ret;
}
