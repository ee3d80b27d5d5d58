/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fence.h - several adjacent leaves locked from left to right, and a range that is put across their
 * fences.
 *
 * A range that would cross a fence moves the fence instead: all keys from the range's first one on
 * go to the leaf that covers its last one. So no range ever crosses a fence (I5), and one leaf
 * answers every lookup. Leaves between lose all their keys and become HALF_DEAD until they are
 * merged.
 */
#ifndef LATH_INDEX_FENCE_H
#define LATH_INDEX_FENCE_H

#include "tree/tree.h"

/*
 * Lock the leaves right of the locked `first` up to the one that covers `end`, and return that one.
 * *hit: an entry in them that begins at or before `end`, or -1; on a hit locking stops at its leaf.
 */
struct node *lath_lock_until(struct node *first, u64 end, int *hit);

/* Unlock the locked leaves [first, last], which were changed / were not changed. */
void lath_unlock_changed(struct node *first, struct node *last);
void lath_unlock_clean(struct node *first, struct node *last);
/* Unlock the leaves left of last, which were not changed. `last` stays locked. */
void lath_unlock_clean_before(struct node *first, struct node *last);

/*
 * Give all keys from `key` on to `last`. The leaves [first, last] are locked; `first` covers key;
 * none but `last` has entries at or above key. Leaves between become HALF_DEAD, and so does `first`
 * if it begins at key.
 */
void lath_cover_from(struct node *first, struct node *last, u64 key);
/* After lath_cover_from and the insert of [key, end] into `last`: unlock, tell what follows changes
 * (change.h) and the parents. Ends the change that the caller began (change_begin). In a read-side
 * critical section. */
void lath_finish_cover(struct tree *tree, struct node *first, struct node *last, u64 key, u64 end);

#endif /* LATH_INDEX_FENCE_H */
