/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * update.c - change the value of an item that is there.
 */
#include "tree/way/locate.h"

/* Set the value of the item that starts at key, if it is *expected or expected is NULL: 0 | -ENOENT
 * | -EAGAIN. *old, if not NULL: the item as it was. */
static int replace(struct tree *tree, u64 key, const u64 *expected, u64 value,
		   struct lath_item *old)
{
	struct node *leaf;
	int i, ret = -ENOENT;

	locks_enter(tree);
	leaf = locate_locked(tree, key, FOR_ERASE);
	/* by its first key alone: a point inside a range names no item here */
	i = (int)node_find(leaf, key);
	if (i >= 0) {
		if (old)
			item_of(tree, leaf, (unsigned int)i, old);
		ret = expected && !has_value(tree, leaf, (unsigned int)i, *expected) ? -EAGAIN : 0;
	}
	/* unlock as changed only if it was: readers of the leaf need not begin again */
	if (!ret) {
		LATH_ASSERT(leaf->live >> i & 1 && node_key(leaf, (unsigned int)i) == key);
		node_set_value(leaf, (unsigned int)i, value, tree->leaf_side);
		node_unlock(leaf);
	} else {
		node_unlock_clean(leaf);
	}
	locks_exit(tree);
	hint_tick(tree, false);
	return ret;
}

int lath_index_replace_item(struct lath_index *index, uint64_t key, uint64_t value,
			    struct lath_item *old)
{
	return replace(tree_of(index), key, NULL, value, old);
}

int lath_index_replace_if(struct lath_index *index, uint64_t key, uint64_t expected, uint64_t value,
			  struct lath_item *there)
{
	return replace(tree_of(index), key, &expected, value, there);
}
