/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * insert.h - the insert of one item, for the other public calls.
 */
#ifndef LATH_INDEX_INSERT_H
#define LATH_INDEX_INSERT_H

#include "tree/step/leaf.h"
#include "tree/memory/pool.h"

/* Insert a valid item: 0 | -EEXIST (*conflict) | -ENOMEM | -EAGAIN (a fixed reserve is used up). In
 * a call, no lock held. A reserve that is not fixed is empty afterwards. */
int lath_insert_item(struct tree *tree, const struct lath_item *item, struct lath_item *conflict,
		     struct reserve *reserve);

/* The same for an item that begins in the locked leaf. Unlocks. */
int lath_insert_into(struct tree *tree, struct node *leaf, const struct lath_item *item,
		     struct lath_item *conflict, struct reserve *reserve);

/* Put the item back that the thread erased last, with this value. Returns false if its leaf has
 * changed since. In a call, no lock held. */
bool lath_insert_back(struct tree *tree, struct gap_undo *undo, u64 value);

/*
 * Insert an item that begins in the locked leaf, across the right fence if need be. LEAF_DONE |
 * LEAF_CONFLICT (*conflict) | LEAF_FULL_LOCKED: the leaves [leaf, *full] are still locked, and
 * *full has no free entry. In a read-side critical section.
 */
enum leaf_result lath_insert_from(struct tree *tree, struct node *leaf,
				  const struct lath_item *item, struct lath_item *conflict,
				  struct node **full);

#endif /* LATH_INDEX_INSERT_H */
