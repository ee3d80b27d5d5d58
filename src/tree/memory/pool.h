/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.h - memory for nodes: from the host or the caller's allocator, and back after a grace
 * period.
 */
#ifndef LATH_INDEX_POOL_H
#define LATH_INDEX_POOL_H

#include "tree/memory/section.h"
#include "tree/memory/stripe.h"

/* Memory that the tree keeps until its end, aligned to 64 bytes; NULL if there is none. Pages are
 * zeros; what the caller's allocator or the heap gives need not be. The caller holds no lock that
 * another thread waits for. */
void *lath_tree_block_alloc(struct tree *tree, size_t size, enum lath_pages kind);
void lath_tree_block_free(struct tree *tree, void *block, size_t size);
/* May the tree have huge pages, and does the library's thread make them present? */
static inline bool huge_ahead(const struct tree *tree)
{
	return !tree->small && tree->rcu == &lath_rcu_auto;
}

/* Let the host have the pages of such memory, which reads as zeros until something is written
 * there. Returns false if it did not take them. */
bool lath_tree_block_discard(struct tree *tree, void *block, size_t size);

/* Prepare both pools. Returns false if there is no memory. */
bool lath_pools_init(struct tree *tree);
/* Wait until retired nodes have come back, then free all memory. Not in a read-side critical
 * section. */
void lath_pools_fini(struct tree *tree);
/* Returns a node that no other thread sees, dead until node_open; NULL if there is no memory. No
 * lock held. */
struct node *lath_node_alloc(struct tree *tree, enum pool_kind kind);
/* The same for the leaf that the tree begins with, empty: a small one in an index of points. */
struct node *lath_node_alloc_first(struct tree *tree);
/* Drop a dead node from the pool's count without returning its memory: the small first leaf. */
void lath_node_leave(struct tree *tree, enum pool_kind kind);
/* Give back a node that was never opened. */
void lath_node_free(struct tree *tree, enum pool_kind kind, struct node *node);
/* Hand an unlinked, dead node to reclamation: it comes back to its pool after a grace period. */
void lath_node_retire(struct tree *tree, enum pool_kind kind, struct node *node);
/* The calling thread has freed a leaf: if it does so again and again, give those of its stripe back
 * to the pool. In a call, no lock held. */
void lath_spares_return(struct tree *tree);
/* lath_node_alloc() without asking for more memory, in a call. */
struct node *lath_node_alloc_kept(struct tree *tree, enum pool_kind kind);
/* Choose the chunks whose nodes are to be moved to others, so that the host can have their pages as
 * soon as the nodes have come back. Returns the pool's first chunk, or NULL: the host takes no
 * pages from this tree. In a call, no lock held. */
struct chunk *lath_pool_leave(struct tree *tree, enum pool_kind kind);
/* Returns the next node, in use or not, of a chunk that was chosen, from node *at of *chunk on;
 * NULL: there is none. In a call, no lock held. */
struct node *lath_chunk_next(struct chunk **chunk, u32 *at);
/* Returns the bytes of the stripes. */
u64 lath_stripes_bytes(struct tree *tree);
/* Add the pool's bytes to the sums, and tell the number of its nodes in use. */
void lath_pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes);

/* Let a complete node be found: it is alive and not locked from now on. Its version goes on from
 * its former life, so a lockword never repeats. */
static inline void node_open(struct node *node)
{
	u64 version = READ_ONCE(node->lockword) & ~(u64)NODE_FLAGS;

	LATH_ASSERT(node_dead(READ_ONCE(node->lockword)));
	/* pairs with node_read */
	smp_store_release(&node->lockword, version + NODE_VERSION + NODE_ALIVE);
}

/* Nodes taken along, so that nothing is allocated while a lock is held. */
struct reserve {
	struct node *leaf;
	struct node *inner[2];
	bool fixed; /* filled by the caller (lath_index_preload): never allocate */
};

/* Free what is left of a reserve. */
void lath_reserve_release(struct tree *tree, struct reserve *reserve);
/* Take an inner node from the reserve, or allocate one unless the reserve is fixed. NULL: none. No
 * lock held. */
struct node *lath_reserve_take_inner(struct tree *tree, struct reserve *reserve);

#endif /* LATH_INDEX_POOL_H */
