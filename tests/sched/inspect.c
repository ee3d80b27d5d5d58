/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "inspect.h"

#include "index/tree/tree.h"

int64_t sched_lost_nodes(struct lath_index *index)
{
	struct tree *tree = tree_of(index);
	struct node *down = tree->root, *node;
	int64_t lost = (int64_t)(tree->pool[POOL_LEAF].nodes + tree->pool[POOL_INNER].nodes);

	while (down) {
		for (node = down; node; node = node->right)
			lost--;
		down = node_level(down) ? node_child(down, __ffs64(down->live)) : NULL;
	}
	return lost;
}
