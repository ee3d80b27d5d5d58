/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.c - the walk from the root to a node.
 *
 * A step: read the node's word, search, read the word again. Unchanged means that the child was
 * right for the key at that moment; it can only be too far left by the time we get there, and then
 * we move right (or, without a reader, it is another node by then, and its fences tell). A DEAD node
 * was merged into its left neighbour: start anew. Nothing shared is written.
 */
#include "index/tree/tree.h"
#include "index/hint/hint.h"

struct node *walk_to_leaf(struct tree *list, u64 key, u64 *word)
{
	struct node *leaf = reach_leaf(list, key, word, WALK_TO_READ);

	finger_set(list, leaf);
	return leaf;
}

struct node *walk_to_erase(struct tree *list, u64 key, u64 *word)
{
	struct node *leaf = reach_leaf(list, key, word, WALK_TO_ERASE);

	finger_set(list, leaf);
	return leaf;
}

struct node *find_leaf(struct tree *list, u64 key, u64 *word)
{
	struct node *leaf = finger_try(list, key, word);

	return leaf ? leaf : walk_to_leaf(list, key, word);
}

struct node *lock_leaf(struct tree *list, u64 key)
{
	struct node *leaf;
	bool led;
	u64 word;

	do {
		leaf = guide_leaf(list, key, &word, WALK_TO_INSERT);
		led = leaf;
		if (!led)
			leaf = descend(list, key, &word, WALK_TO_INSERT);
		/* fences read after the word belong to it, if it has not changed by now */
	} while (!node_trylock(leaf, word));
	if (!led)
		guide_lead(list, leaf, key);
	finger_set(list, leaf);
	return leaf;
}

struct node *level_node(struct tree *list, u64 key, unsigned int level, u64 *word)
{
	for (;;) {
		struct node *node = smp_load_acquire(&list->root); /* pairs with add_root */

		if (node_level(node) < level)
			return NULL;
		while (node_level(node) > level)
			if (!walk_step(&node, key, WALK_ON, 0))
				break;
		while (node_level(node) == level) {
			u64 w = node_read(node);
			struct node *right;

			if (w & NODE_DEAD)
				break;
			if (key <= READ_ONCE(node->last) && !(w & NODE_VOID)) {
				*word = w;
				return node;
			}
			right = READ_ONCE(node->right);
			if (node_valid(node, w))
				node = right;
		}
	}
}

struct node *lock_level(struct tree *list, u64 key, unsigned int level)
{
	struct node *node;
	u64 word;

	do
		node = level_node(list, key, level, &word);
	while (node && !node_trylock(node, word));
	return node;
}

void unlock_clean_before(struct node *first, struct node *last)
{
	while (first != last) {
		struct node *next = leaf_right(first);

		node_unlock_clean(first);
		first = next;
	}
}

void unlock_clean_through(struct node *first, struct node *last)
{
	unlock_clean_before(first, last);
	node_unlock_clean(last);
}
