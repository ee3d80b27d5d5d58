/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "inspect.h"

#include "tree/tree.h"

int64_t sched_lost_nodes(struct lath_index *index)
{
	struct node *down = tree_of(index)->root, *node;
	struct lath_index_stats stats;
	int64_t lost;

	lath_index_get_stats(index, &stats);
	lost = (int64_t)(stats.leaves + stats.inner_nodes);
	while (down) {
		for (node = down; node; node = node->right)
			lost--;
		down = node_level(down) ? node_child(down, __ffs64(down->live)) : NULL;
	}
	return lost;
}

static struct node *leftmost(struct tree *tree, unsigned int level)
{
	struct node *node = tree->root;

	while (node_level(node) > level)
		node = node_child(node, __ffs64(node->live));
	return node_level(node) == level ? node : NULL;
}

bool sched_leaf(struct lath_index *index, unsigned int i, uint64_t *low, uint64_t *last,
		unsigned int *items)
{
	struct node *leaf = leftmost(tree_of(index), 0);

	while (leaf && i--)
		leaf = leaf->right;
	if (!leaf)
		return false;
	*low = leaf->low;
	*last = leaf->last;
	*items = node_count(leaf);
	return true;
}

static const struct {
	size_t end; /* offset of the field behind */
	const char *name;
} fields[] = {
	{ offsetof(struct tree, root_lock), "tree: what every call reads" },
	{ offsetof(struct tree, root_lock) + 64, "tree: root_lock, count_lock, lock of a pool" },
	{ offsetof(struct tree, trim_lock), "tree: pools" },
	{ offsetof(struct tree, notes), "tree: trim_lock, hint_lock, hint_misses" },
	{ offsetof(struct tree, counts), "tree: notes of leaves to be merged" },
	{ sizeof(struct tree), "tree: restarts, splits, merges" },
};

void sched_name_line(struct lath_index *index, uintptr_t address, char *name, size_t size)
{
	struct tree *tree = tree_of(index);
	size_t at = address - (uintptr_t)tree;
	unsigned int level, i;

	snprintf(name, size, "other memory");
	for (i = 0; at < sizeof(*tree) && i < ARRAY_SIZE(fields); i++)
		if (at < fields[i].end) {
			snprintf(name, size, "%s", fields[i].name);
			return;
		}
	at = address - (uintptr_t)tree->stripe;
	if (tree->stripe && at < (tree->stripe_mask + 1u) * sizeof(struct stripe))
		snprintf(name, size, "stripe of threads");
	for (level = 0; level <= node_level(tree->root); level++) {
		struct node *node = leftmost(tree, level);

		for (; node; node = node->right) {
			at = address - (uintptr_t)node;
			if (at < tree->pool[level ? POOL_INNER : POOL_LEAF].node_size)
				snprintf(name, size, "%s: %s", level ? "inner node" : "leaf",
					 at < 64     ? "header"
					 : at < 128  ? "heads"
					 : at < 1152 ? "entries"
						     : "side column");
		}
	}
}
