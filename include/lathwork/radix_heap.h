/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/radix_heap.h - radix heap of embedded nodes: a monotone queue of 64-bit keys.
 *
 * Bucket 0 holds the keys equal to `last`, the key removed last; bucket i holds the keys whose highest
 * bit that differs from `last` is bit i - 1. Bucket 0 empty, pop takes the lowest bucket that is not,
 * makes its least key the new `last` and deals the bucket out over lower ones. A key falls at most 64
 * times in its life; insert and remove are O(1).
 *
 * It is made for keys not before `last` (a one-way sweep). A key before it is taken, but the whole
 * heap is dealt out anew: O(n). Keys are circular, equal keys leave in the order they came. No
 * allocation, no lock. 32 bytes a node. After Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms
 * for the shortest path problem", 1990.
 */
#ifndef LATHWORK_RADIX_HEAP_H
#define LATHWORK_RADIX_HEAP_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_radix_node {
	uint64_t key;
	struct lath_radix_node *prev, *next;
	uint32_t bucket;
};

struct lath_radix_heap {
	uint64_t last;
	uint64_t used; /* bit i: bucket i + 1 is not empty */
	struct lath_radix_node *first[65], *tail[65];
};

LATH_API void lath_radix_init(struct lath_radix_heap *heap);
LATH_API void lath_radix_insert(struct lath_radix_heap *heap, struct lath_radix_node *node);
LATH_API void lath_radix_remove(struct lath_radix_heap *heap, struct lath_radix_node *node);
/* The first node in order, or NULL; deals out a bucket if it must. */
LATH_API struct lath_radix_node *lath_radix_first(struct lath_radix_heap *heap);
/* Removes and returns the first node, or NULL. */
LATH_API struct lath_radix_node *lath_radix_pop(struct lath_radix_heap *heap);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_RADIX_HEAP_H */
