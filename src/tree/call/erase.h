/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * erase.h - the erase of one item, for the other public calls.
 */
#ifndef LATH_INDEX_ERASE_H
#define LATH_INDEX_ERASE_H

#include "tree/step/leaf.h"

/* Erase entry i of a locked leaf, and unlock. *old, if not NULL: the item. No other lock held. */
void lath_leaf_erase(struct tree *tree, struct node *leaf, int i, struct lath_item *old);
/* Erase the item that starts at key (exact) or covers it, in a leaf that covered key under this
 * lockword: LEAF_DONE | LEAF_ABSENT | LEAF_STALE. A miss takes no lock. */
enum leaf_result lath_leaf_erase_if(struct tree *tree, struct node *leaf, u64 lockword, u64 key,
				    bool exact, struct lath_item *old);
/* The same wherever key is: 0 | -ENOENT. In a call, no lock held. */
int lath_erase_item(struct tree *tree, u64 key, bool exact, struct lath_item *old);

#endif /* LATH_INDEX_ERASE_H */
