/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge.h - merging sparse and half-dead nodes with their siblings.
 */
#ifndef LATH_INDEX_MERGE_H
#define LATH_INDEX_MERGE_H

#include "tree/tree.h"

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

#endif /* LATH_INDEX_MERGE_H */
