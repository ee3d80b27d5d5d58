/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.h - memory for nodes: from the host or the caller's allocator, and back after a grace
 * period.
 */
#ifndef LATH_INDEX_POOL_H
#define LATH_INDEX_POOL_H

#include "index/tree/tree.h"

/* Memory that the tree keeps until its end, aligned to 64 bytes; NULL if there is none. No lock
 * held. */
void *tree_block_alloc(struct tree *tree, size_t size, bool huge);
void tree_block_free(struct tree *tree, void *block, size_t size);

/* Prepare both pools. Returns false if there is no memory. */
bool pools_init(struct tree *tree);
/* Wait until retired nodes have come back, then free all memory. Not in a read-side critical
 * section. */
void pools_fini(struct tree *tree);
/* Returns a node that no other thread sees, DEAD until node_open; NULL if there is no memory. No
 * lock held. */
struct node *node_alloc(struct tree *tree, enum pool_kind kind);
/* Give back a node that was never opened. */
void node_free(struct tree *tree, enum pool_kind kind, struct node *node);
/* Hand an unlinked, DEAD node to reclamation: it comes back to its pool after a grace period. */
void node_retire(struct tree *tree, enum pool_kind kind, struct node *node);
/* Add the pool's bytes to the sums, and tell the number of its nodes in use. */
void pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes);

/* Let a complete node be found: it is neither DEAD nor locked from now on. Its version goes on from
 * its former life, so a lockword never repeats. */
static inline void node_open(struct node *node)
{
	u64 flags = NODE_LOCKED | NODE_DEAD | NODE_HALF_DEAD;

	LATH_ASSERT(READ_ONCE(node->lockword) & NODE_DEAD);
	/* pairs with node_read */
	smp_store_release(&node->lockword, (READ_ONCE(node->lockword) & ~flags) + NODE_VERSION);
}

/* Nodes taken along, so that nothing is allocated while a lock is held. */
struct reserve {
	struct node *leaf;
	struct node *inner[2];
	bool fixed; /* filled by the caller (lath_index_preload): never allocate */
};

/* Free what is left of a reserve. */
void reserve_release(struct tree *tree, struct reserve *reserve);
/* Take an inner node from the reserve, or allocate one unless the reserve is fixed. NULL: none. No
 * lock held. */
struct node *reserve_take_inner(struct tree *tree, struct reserve *reserve);

#endif /* LATH_INDEX_POOL_H */
