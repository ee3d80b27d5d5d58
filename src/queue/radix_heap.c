/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * radix_heap.c - the radix heap of lathwork/radix_heap.h.
 *
 * Buckets are lists that keep their order of arrival, and a bucket is dealt out from its front: equal
 * keys are always in the same bucket and never overtake each other.
 */
#include "lathwork/radix_heap.h"
#include "queue/order.h"

void lath_radix_init(struct lath_radix_heap *heap)
{
	memset(heap, 0, sizeof(*heap));
}

static inline void put(struct lath_radix_heap *heap, struct lath_radix_node *n)
{
	unsigned int i = fls64(n->key ^ heap->last);

	n->bucket = i;
	n->next = NULL;
	n->prev = heap->tail[i];
	if (n->prev)
		n->prev->next = n;
	else
		heap->first[i] = n;
	heap->tail[i] = n;
	if (i)
		heap->used |= 1ull << (i - 1);
}

static inline void take(struct lath_radix_heap *heap, struct lath_radix_node *n)
{
	unsigned int i = n->bucket;

	if (n->prev)
		n->prev->next = n->next;
	else
		heap->first[i] = n->next;
	if (n->next)
		n->next->prev = n->prev;
	else
		heap->tail[i] = n->prev;
	if (i && !heap->first[i])
		heap->used &= ~(1ull << (i - 1));
}

/* Detach bucket i. */
static struct lath_radix_node *lift(struct lath_radix_heap *heap, unsigned int i)
{
	struct lath_radix_node *n = heap->first[i];

	heap->first[i] = heap->tail[i] = NULL;
	if (i)
		heap->used &= ~(1ull << (i - 1));
	return n;
}

static void deal(struct lath_radix_heap *heap, struct lath_radix_node *n)
{
	struct lath_radix_node *next;

	for (; n; n = next) {
		next = n->next;
		put(heap, n);
	}
}

/* A key before `last` came: start again from it. The chain keeps every bucket's order. */
static void step_back(struct lath_radix_heap *heap, u64 last)
{
	struct lath_radix_node *chain = NULL, **end = &chain, *n;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(heap->first); i++) {
		*end = lift(heap, i);
		for (n = *end; n; n = n->next)
			end = &n->next;
	}
	heap->last = last;
	deal(heap, chain);
}

void lath_radix_insert(struct lath_radix_heap *heap, struct lath_radix_node *node)
{
	if (unlikely(lath_before(node->key, heap->last)))
		step_back(heap, node->key);
	put(heap, node);
}

void lath_radix_remove(struct lath_radix_heap *heap, struct lath_radix_node *node)
{
	take(heap, node);
}

struct lath_radix_node *lath_radix_first(struct lath_radix_heap *heap)
{
	struct lath_radix_node *n, *chain;
	u64 least;

	if (heap->first[0])
		return heap->first[0];
	if (!heap->used)
		return NULL;
	chain = lift(heap, __ffs64(heap->used) + 1);
	least = chain->key;
	for (n = chain->next; n; n = n->next) {
		if (lath_before(n->key, least))
			least = n->key;
	}
	heap->last = least;
	deal(heap, chain);
	return heap->first[0];
}

struct lath_radix_node *lath_radix_pop(struct lath_radix_heap *heap)
{
	struct lath_radix_node *n = lath_radix_first(heap);

	if (n)
		take(heap, n);
	return n;
}
