/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/fibheap.h - Fibonacci heap of embedded nodes with a 64-bit key.
 *
 * A ring of heap-ordered trees. insert puts a node into the ring and does nothing else; the price is
 * paid by the next pop, which links trees of equal degree until all degrees differ. Amortised: insert
 * O(1), pop and remove O(log n); a single pop may touch every node that came since the last one.
 *
 * Keys are compared circularly as in lathwork/rbtree.h; equal keys leave in the order in which they
 * came (the heap numbers its nodes; at most 2^31 inserts between two equal ones). No allocation, no
 * lock. 48 bytes a node. After Fredman and Tarjan, "Fibonacci heaps and their uses in improved
 * network optimization algorithms", 1987.
 */
#ifndef LATHWORK_FIBHEAP_H
#define LATHWORK_FIBHEAP_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_fib_node {
	uint64_t key;
	struct lath_fib_node *left, *right; /* ring of siblings */
	struct lath_fib_node *parent, *child;
	uint32_t arrival;
	uint16_t degree;
	uint16_t marked; /* lost a child since it became one itself */
};

struct lath_fib_heap {
	struct lath_fib_node *least;
	uint32_t arrivals;
};

static inline void lath_fib_init(struct lath_fib_heap *heap)
{
	heap->least = NULL;
	heap->arrivals = 0;
}

static inline struct lath_fib_node *lath_fib_first(const struct lath_fib_heap *heap)
{
	return heap->least;
}

LATH_API void lath_fib_insert(struct lath_fib_heap *heap, struct lath_fib_node *node);
LATH_API void lath_fib_remove(struct lath_fib_heap *heap, struct lath_fib_node *node);
/* Removes and returns the first node, or NULL. */
LATH_API struct lath_fib_node *lath_fib_pop(struct lath_fib_heap *heap);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_FIBHEAP_H */
