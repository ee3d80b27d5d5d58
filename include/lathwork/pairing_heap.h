/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/pairing_heap.h - pairing heap of embedded nodes with a 64-bit key.
 *
 * One heap-ordered tree; the children of a node form a list, youngest first. insert links the node
 * with the root; pop joins the root's children in pairs from the left, then folds the pairs from the
 * right. insert O(1), pop and remove amortised O(log n), a single pop up to O(n).
 *
 * Keys and equal keys as in lathwork/fibheap.h. No allocation, no lock, no recursion. 40 bytes a
 * node. After Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap: a new form of
 * self-adjusting heap", 1986.
 */
#ifndef LATHWORK_PAIRING_HEAP_H
#define LATHWORK_PAIRING_HEAP_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_pairing_node {
	uint64_t key;
	struct lath_pairing_node *child;
	struct lath_pairing_node *next; /* sibling */
	struct lath_pairing_node *prev; /* sibling, or the parent of a first child */
	uint32_t arrival;
};

struct lath_pairing_heap {
	struct lath_pairing_node *root;
	uint32_t arrivals;
};

static inline void lath_pairing_init(struct lath_pairing_heap *heap)
{
	heap->root = NULL;
	heap->arrivals = 0;
}

static inline struct lath_pairing_node *lath_pairing_first(const struct lath_pairing_heap *heap)
{
	return heap->root;
}

LATH_API void lath_pairing_insert(struct lath_pairing_heap *heap, struct lath_pairing_node *node);
LATH_API void lath_pairing_remove(struct lath_pairing_heap *heap, struct lath_pairing_node *node);
/* Removes and returns the first node, or NULL. */
LATH_API struct lath_pairing_node *lath_pairing_pop(struct lath_pairing_heap *heap);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_PAIRING_HEAP_H */
