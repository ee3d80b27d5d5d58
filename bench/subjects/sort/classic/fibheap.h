/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fibheap.h - the Fibonacci heap: a subject of table `sort`.
 *
 * A ring of heap-ordered trees. insert adds a node to the ring and does nothing else; the next pop
 * links trees of equal degree until all degrees differ. Amortised: insert O(1), pop and remove
 * O(log n); one pop may visit every node inserted since the previous one. The heap numbers its
 * nodes, so that equal keys leave in order of arrival (at most 2^31 inserts between two equal
 * keys). After Fredman and Tarjan, "Fibonacci heaps and their uses in improved network optimization
 * algorithms", 1987.
 */
#ifndef LATHBENCH_FIBHEAP_H
#define LATHBENCH_FIBHEAP_H

#include "subjects/sort/classic/order.h"

struct lath_fib_node {
	u64 key;
	struct lath_fib_node *left, *right; /* ring of siblings */
	struct lath_fib_node *parent, *child;
	u32 arrival;
	u16 degree;
	u16 marked; /* lost a child since it became a child itself */
};

struct lath_fib_heap {
	struct lath_fib_node *least;
	u32 arrivals;
};

static inline void lath_fib_init(struct lath_fib_heap *heap)
{
	heap->least = NULL;
	heap->arrivals = 0;
}

/* node->key is set, and the node is in no heap. */
void lath_fib_insert(struct lath_fib_heap *heap, struct lath_fib_node *node);
/* The node is in this heap. */
void lath_fib_remove(struct lath_fib_heap *heap, struct lath_fib_node *node);
/* Removes and returns the first node, or NULL if the heap is empty. */
struct lath_fib_node *lath_fib_pop(struct lath_fib_heap *heap);

#endif /* LATHBENCH_FIBHEAP_H */
