/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * step.h - the steps of a change, but for those of one leaf (leaf.h).
 */
#ifndef LATH_INDEX_STEP_H
#define LATH_INDEX_STEP_H

#include "tree/memory/pool.h"

/* ---- fence.c: several adjacent leaves locked from left to right, and a range that is put across their
 * fences ---- */

/*
 * Lock the leaves right of the locked `first` up to the one that covers `end`, and return that one.
 * *hit: an entry in them that begins at or before `end`, or -1; on a hit locking stops at its leaf.
 */
struct node *lath_lock_until(struct node *first, u64 end, int *hit);

/* Unlock the locked leaves [first, last], which were not changed. */
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

/* ---- post.c: tell the level above where a node begins ---- */

/* Link a new node, not reachable yet, right of the locked `left`, and note that it has no
 * downlink. */
static inline void link_right(struct node *left, struct node *fresh)
{
	LATH_ASSERT(node_is_locked(left) && node_is_locked(fresh));
	WRITE_ONCE(fresh->no_downlink, 1);
	WRITE_ONCE(left->right, fresh);
}

/*
 * Give the node a downlink, or lower its separator to the node's low fence; then the same for inner
 * nodes that were split or moved by that. If memory for an inner node is missing, the node keeps
 * no_downlink, and a later call for a leaf near it tries again. In a read-side critical section, so
 * that no node met here is reused in the meantime; no lock held.
 */
void lath_post(struct tree *tree, struct node *node, struct reserve *reserve);
/* Post some of the leaves right of `leaf` that found no memory earlier. Conditions as for post. */
void lath_post_right(struct tree *tree, struct node *leaf, struct reserve *reserve);
/* The low fence of a leaf fell: lower its separator. Needs no memory. Conditions as for post. */
void lath_post_low(struct tree *tree, struct node *leaf);

/* ---- redistribute.c: room for a full leaf ---- */

/*
 * The last of the locked leaves [first, leaf] has no room for what belongs at key, or at its low
 * fence. Give entries to the right siblings, or split; unlocks all in any case. 0: the caller looks
 * for its leaf again | -ENOMEM (nothing changed) | -EAGAIN (a fixed reserve is used up). In a
 * read-side critical section.
 */
int lath_leaf_make_room(struct tree *tree, struct node *first, struct node *leaf, u64 key,
			struct reserve *reserve);

/* The locked first leaf is small: let `fresh` take its place, and unlock. It is dead then, and its
 * memory is kept until the tree ends. */
void lath_first_leaf_grow(struct tree *tree, struct node *leaf, struct node *fresh);

/* ---- merge.c: merging sparse and half-dead nodes with their siblings ---- */

/* Returns whether a node with this number of entries is worth merging. */
static inline bool node_sparse(unsigned int count)
{
	return count <= NODE_CAP / 4;
}

/* A leaf with exactly this number of entries after an erase is thin: merging it with its siblings
 * may save a leaf. */
#define THIN_LEAF (NODE_CAP * 11 / 16)

/* A leaf has become thin: when the next one is added, look for leaves that can become fewer. */
static inline void merge_thin_later(struct tree *tree)
{
	u64 *thin = &notes_of(tree)->thin;

	WRITE_ONCE(*thin, READ_ONCE(*thin) + 1); /* roughly: threads may overwrite it */
}

/* The tree has a leaf more: see whether others can become fewer, if some are thin. In a read-side
 * critical section, no lock held. */
void lath_merge_thin(struct tree *tree);
/* Look at leaves from the one that covers *key on, under one parent, at most *steps, whether they
 * and those right of them can be one less. Returns the number of leaves that died; *steps: what is
 * left; *key: the key to go on from, or 0 behind the last leaf. At the end of a parent it is merged
 * with its siblings too. Conditions as above. */
unsigned int lath_merge_dense(struct tree *tree, u64 *key, size_t *steps);
/* Remove roots with a single child. Conditions as above. */
void lath_merge_roots(struct tree *tree);
/* The leaf that covers `key` has become sparse: remember it, and look at one remembered earlier. In
 * a read-side critical section, no lock held. */
void lath_merge_later(struct tree *tree, u64 key);
/* A range [key, end] was put across fences: it begins in the leaf `first` and lies in a leaf that
 * covers the keys up to `to`. Leaves from the first one on may have become half-dead: unlink them,
 * but for the first children of their parents, which are merged with what follows. The caller
 * corrects the summaries of level 1 for the keys up to `to`. Conditions as above. */
void lath_merge_half_dead(struct tree *tree, struct node *first, u64 key, u64 end, u64 to);
/* If the right sibling of the locked leaf is half-dead and has no downlink, unlink it and return
 * true. The leaf stays locked; it has changed then. In a read-side critical section. */
bool lath_absorb_right(struct tree *tree, struct node *left);

#endif /* LATH_INDEX_STEP_H */
