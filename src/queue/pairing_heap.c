/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pairing_heap.c - the pairing heap of lathwork/pairing_heap.h, two-pass form.
 */
#include "lathwork/pairing_heap.h"
#include "queue/order.h"

static inline bool comes_first(const struct lath_pairing_node *a, const struct lath_pairing_node *b)
{
	return lath_before(a->key, b->key) || (a->key == b->key && (int32_t)(a->arrival - b->arrival) < 0);
}

/* Two roots become one. */
static inline struct lath_pairing_node *meld(struct lath_pairing_node *a, struct lath_pairing_node *b)
{
	if (comes_first(b, a)) {
		struct lath_pairing_node *t = a;

		a = b;
		b = t;
	}
	b->next = a->child;
	b->prev = a;
	if (a->child)
		a->child->prev = b;
	a->child = b;
	return a;
}

void lath_pairing_insert(struct lath_pairing_heap *heap, struct lath_pairing_node *node)
{
	node->child = node->next = node->prev = NULL;
	node->arrival = heap->arrivals++;
	heap->root = heap->root ? meld(heap->root, node) : node;
}

/* Join a list of siblings into one tree: pairs from the left, then fold from the right. */
static struct lath_pairing_node *join(struct lath_pairing_node *c)
{
	struct lath_pairing_node *stack = NULL, *root = NULL;

	while (c) {
		struct lath_pairing_node *a = c, *b = a->next;

		c = b ? b->next : NULL;
		if (b)
			a = meld(a, b);
		a->next = stack;
		stack = a;
	}
	while (stack) {
		struct lath_pairing_node *next = stack->next;

		root = root ? meld(root, stack) : stack;
		stack = next;
	}
	if (root)
		root->next = root->prev = NULL;
	return root;
}

struct lath_pairing_node *lath_pairing_pop(struct lath_pairing_heap *heap)
{
	struct lath_pairing_node *root = heap->root;

	if (root)
		heap->root = join(root->child);
	return root;
}

void lath_pairing_remove(struct lath_pairing_heap *heap, struct lath_pairing_node *node)
{
	struct lath_pairing_node *rest;

	if (node == heap->root) {
		lath_pairing_pop(heap);
		return;
	}
	if (node->prev->child == node)
		node->prev->child = node->next;
	else
		node->prev->next = node->next;
	if (node->next)
		node->next->prev = node->prev;
	rest = join(node->child);
	if (rest)
		heap->root = meld(heap->root, rest);
}
