/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * redistribute.h - room for a full leaf.
 */
#ifndef LATH_INDEX_REDISTRIBUTE_H
#define LATH_INDEX_REDISTRIBUTE_H

#include "tree/step/fence.h"
#include "tree/memory/pool.h"

/*
 * The locked leaf has no room for what belongs at key. Give entries to the right siblings, or
 * split; unlocks in any case. 0: the caller looks for its leaf again | -ENOMEM (nothing changed) |
 * -EAGAIN (a fixed reserve is used up). In a read-side critical section.
 */
int lath_leaf_make_room(struct tree *tree, struct node *leaf, u64 key, struct reserve *reserve);

/* The same for the last of the locked leaves [first, last]; unlocks all. */
static inline int make_room(struct tree *tree, struct node *first, struct node *last, u64 key,
			    struct reserve *reserve)
{
	lath_unlock_clean_before(first, last);
	return lath_leaf_make_room(tree, last, key > last->low ? key : last->low, reserve);
}

/* The locked first leaf is small: let `fresh` take its place, and unlock. It is dead then, and its
 * memory is kept until the tree ends. */
void lath_first_leaf_grow(struct tree *tree, struct node *leaf, struct node *fresh);

#endif /* LATH_INDEX_REDISTRIBUTE_H */
