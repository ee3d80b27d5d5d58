/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge.h - merging sparse and half-dead nodes with their siblings.
 */
#ifndef LATH_INDEX_MERGE_H
#define LATH_INDEX_MERGE_H

#include "index/tree/tree.h"

/* A node with so few entries is worth merging. */
static inline bool node_sparse(unsigned int count)
{
	return count <= NODE_CAP / 4;
}

/* The leaf that covers `key` has become sparse: remember it, and look at one remembered earlier. In
 * a read-side critical section, no lock held. */
void merge_later(struct tree *tree, u64 key);
/* A range [key, end] was put across fences, and leaves may have become half-dead: merge them.
 * Conditions as above. */
void merge_half_dead(struct tree *tree, u64 key, u64 end);

#endif /* LATH_INDEX_MERGE_H */
