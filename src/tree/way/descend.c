/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * descend.c - descents that end at a given level, for calls that change inner nodes.
 */
#include "tree/way/descend.h"

struct node *lath_level_right(struct node *node, u64 key, unsigned int level, u64 *lockword)
{
	while (node_level(node) == level) {
		u64 word = node_read(node);
		struct node *right;

		/* what it covered is in its left sibling, to which no link leads from here */
		if (node_dead(word))
			return NULL;
		if (key <= READ_ONCE(node->last) && !(word & NODE_HALF_DEAD)) {
			*lockword = word;
			return node;
		}
		right = READ_ONCE(node->right);
		if (node_valid(node, word))
			node = right;
	}
	return NULL;
}

struct node *lath_level_find(struct tree *tree, u64 key, unsigned int level, u64 *lockword)
{
	for (;;) {
		struct node *node = smp_load_acquire(&tree->root); /* pairs with add_root */

		if (node_level(node) < level)
			return NULL;
		while (node_level(node) > level)
			if (!descend_step(&node, key, 0, FOR_READ))
				break;
		node = lath_level_right(node, key, level, lockword);
		if (node)
			return node;
	}
}

struct node *lath_level_lock(struct tree *tree, u64 key, unsigned int level)
{
	struct node *node;
	u64 lockword;

	do
		node = lath_level_find(tree, key, level, &lockword);
	while (node && !node_trylock(node, lockword));
	LATH_ASSERT(!node || (node_level(node) == level && key >= node->low && key <= node->last));
	return node;
}
