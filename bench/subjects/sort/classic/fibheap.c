/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fibheap.c - the Fibonacci heap of fibheap.h.
 */
#include "subjects/sort/classic/fibheap.h"

/* A tree of degree d has at least Fibonacci(d + 2) nodes: 2^32 nodes stay below degree 46. */
#define MAX_DEGREE 48

static inline bool comes_first(const struct lath_fib_node *a, const struct lath_fib_node *b)
{
	return lath_before(a->key, b->key) ||
	       (a->key == b->key && (int32_t)(a->arrival - b->arrival) < 0);
}

static inline void make_ring(struct lath_fib_node *n)
{
	n->left = n->right = n;
}

static inline void ring_add(struct lath_fib_node *ring, struct lath_fib_node *n)
{
	n->left = ring->left;
	n->right = ring;
	ring->left->right = n;
	ring->left = n;
}

static inline void ring_remove(struct lath_fib_node *n)
{
	n->left->right = n->right;
	n->right->left = n->left;
}

void lath_fib_insert(struct lath_fib_heap *heap, struct lath_fib_node *node)
{
	node->parent = node->child = NULL;
	node->degree = node->marked = 0;
	node->arrival = heap->arrivals++;
	if (!heap->least) {
		make_ring(node);
		heap->least = node;
		return;
	}
	ring_add(heap->least, node);
	if (comes_first(node, heap->least))
		heap->least = node;
}

/* Makes the children of z roots, next to it in its ring. */
static void free_children(struct lath_fib_node *z)
{
	struct lath_fib_node *c = z->child, *next;
	unsigned int n = z->degree;

	for (; n; n--, c = next) {
		next = c->right;
		c->parent = NULL;
		c->marked = 0;
		ring_add(z, c);
	}
	z->child = NULL;
	z->degree = 0;
}

/* Makes b, which is in no ring any more, a child of a. */
static void adopt(struct lath_fib_node *a, struct lath_fib_node *b)
{
	assert(!comes_first(b, a) && a->degree < MAX_DEGREE - 1);
	b->parent = a;
	b->marked = 0;
	if (a->child) {
		ring_add(a->child, b);
	} else {
		make_ring(b);
		a->child = b;
	}
	a->degree++;
}

/* Links roots of equal degree until all degrees differ; `ring` is any root. Returns the first root
 * in key order. */
static struct lath_fib_node *consolidate(struct lath_fib_node *ring)
{
	struct lath_fib_node *of_degree[MAX_DEGREE] = { NULL };
	struct lath_fib_node *n = ring, *next, *least = NULL, *end = ring->left;
	unsigned int d, top = 0;
	bool done;

	do {
		struct lath_fib_node *x = n;

		done = n == end;
		next = n->right;
		for (d = x->degree; of_degree[d]; d++) {
			struct lath_fib_node *y = of_degree[d];

			of_degree[d] = NULL;
			if (comes_first(y, x)) {
				adopt(y, x);
				x = y;
			} else {
				adopt(x, y);
			}
		}
		of_degree[d] = x;
		top = top > d ? top : d;
		n = next;
	} while (!done);
	for (d = 0; d <= top; d++) {
		struct lath_fib_node *x = of_degree[d];

		if (!x)
			continue;
		if (!least) {
			make_ring(x);
			least = x;
			continue;
		}
		ring_add(least, x);
		if (comes_first(x, least))
			least = x;
	}
	return least;
}

struct lath_fib_node *lath_fib_pop(struct lath_fib_heap *heap)
{
	struct lath_fib_node *z = heap->least;

	if (!z)
		return NULL;
	free_children(z);
	if (z->right == z) {
		heap->least = NULL;
		return z;
	}
	ring_remove(z);
	heap->least = consolidate(z->right);
	return z;
}

/* Takes n from its parent and makes it a root. */
static void cut(struct lath_fib_heap *heap, struct lath_fib_node *n)
{
	struct lath_fib_node *p = n->parent;

	assert(p->degree && n->left->right == n && n->right->left == n);
	if (p->child == n)
		p->child = n->right == n ? NULL : n->right;
	ring_remove(n);
	p->degree--;
	n->parent = NULL;
	n->marked = 0;
	ring_add(heap->least, n);
}

void lath_fib_remove(struct lath_fib_heap *heap, struct lath_fib_node *node)
{
	struct lath_fib_node *p = node->parent, *up, *least = heap->least;

	assert(least && node->left->right == node && node->right->left == node);
	if (node == least) {
		lath_fib_pop(heap);
		return;
	}
	if (p) {
		cut(heap, node);
		/* a parent that loses its second child is cut too: this bounds the degrees */
		for (; (up = p->parent); p = up) {
			if (!p->marked) {
				p->marked = 1;
				break;
			}
			cut(heap, p);
		}
	}
	free_children(node);
	ring_remove(node);
}
