/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * call.h - the read, the insert and the erase of one item, for the other public calls.
 */
#ifndef LATH_INDEX_CALL_H
#define LATH_INDEX_CALL_H

#include "tree/step/leaf.h"
#include "tree/memory/pool.h"

/* ---- lookup.c: in a section, no lock held ---- */

/* The item that covers point: 0 | -ENOENT */
int lath_lookup_item(struct tree *tree, u64 point, struct lath_item *found);
/* As lath_index_get(), in a section or not. */
int lath_get_value(struct tree *tree, u64 point, u64 *value);
/* The first item that overlaps [key, last] / the last item that begins at or before key: 0 |
 * -ENOENT */
int lath_overlap_item(struct tree *tree, u64 key, u64 last, struct lath_item *found);
int lath_floor_item(struct tree *tree, u64 key, struct lath_item *found);

/* ---- load.c: a tree that no other call uses is filled in order ---- */

/* Returns the leaf to begin with, or NULL: the tree has items. */
struct node *lath_load_begin(struct tree *tree);
/* Append a valid item behind all others. Returns the leaf to go on with, or NULL: no memory. */
struct node *lath_load_item(struct tree *tree, struct node *leaf, const struct lath_item *item);
/* Complete the tree. 0 | -ENOMEM, for a leaf that is NULL too: the tree is empty. */
int lath_load_end(struct tree *tree, struct node *leaf);

/* ---- insert.c ---- */

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

/* ---- erase.c ---- */

/* Erase entry i of a locked leaf, and unlock. *old, if not NULL: the item. No other lock held. */
void lath_leaf_erase(struct tree *tree, struct node *leaf, int i, struct lath_item *old);
/* Erase the item that starts at key (exact) or covers it, in a leaf that covered key under this
 * lockword: LEAF_DONE | LEAF_ABSENT | LEAF_STALE. A miss takes no lock. */
enum leaf_result lath_leaf_erase_if(struct tree *tree, struct node *leaf, u64 lockword, u64 key,
				    bool exact, struct lath_item *old);
/* The same wherever key is: 0 | -ENOENT. In a call, no lock held. */
int lath_erase_item(struct tree *tree, u64 key, bool exact, struct lath_item *old);

#endif /* LATH_INDEX_CALL_H */
