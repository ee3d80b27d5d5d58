/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bst.h - what the red-black tree and the AVL tree share: a binary search tree of embedded nodes.
 *
 * A node keeps its parent and, in the two low bits of the same word, what its tree balances by: the
 * colour (rbtree.c) or the difference of heights (avl.c). Left and right are child[0] and child[1],
 * so that each case is written once for both. Equal keys stay in order of arrival. No call
 * allocates or locks; the caller excludes other calls on the same tree.
 */
#ifndef LATHBENCH_BST_H
#define LATHBENCH_BST_H

#include "subjects/sort/classic/order.h"

struct lath_bst_node {
	u64 key;      /* set before the insert, constant while the node is in a tree */
	uintptr_t up; /* parent | balance bits */
	struct lath_bst_node *child[2];
};

struct lath_bst {
	struct lath_bst_node *root;
	struct lath_bst_node *end[2]; /* the first and the last node */
};

#define BST_BITS ((uintptr_t)3)

static inline void bst_init(struct lath_bst *tree)
{
	tree->root = tree->end[0] = tree->end[1] = NULL;
}

static inline struct lath_bst_node *bst_parent(const struct lath_bst_node *n)
{
	return (struct lath_bst_node *)(n->up & ~BST_BITS);
}

static inline void bst_set_parent(struct lath_bst_node *n, struct lath_bst_node *parent)
{
	n->up = (uintptr_t)parent | (n->up & BST_BITS);
}

/* Put `n` where `old` hangs below `parent`, or at the root if `parent` is NULL. n->up is the
 * caller's. */
static inline void bst_replace_child(struct lath_bst *tree, struct lath_bst_node *parent,
				     struct lath_bst_node *old, struct lath_bst_node *n)
{
	if (!parent)
		tree->root = n;
	else
		parent->child[parent->child[1] == old] = n;
}

/* Rotate the subtree of x: x goes down to the side `dir`, its other child takes its place. Balance
 * bits stay with their nodes. */
static inline void bst_rotate(struct lath_bst *tree, struct lath_bst_node *x, int dir)
{
	struct lath_bst_node *y = x->child[!dir], *inner = y->child[dir], *parent = bst_parent(x);

	assert((parent ? parent->child[parent->child[1] == x] : tree->root) == x);
	x->child[!dir] = inner;
	if (inner)
		bst_set_parent(inner, x);
	y->child[dir] = x;
	bst_replace_child(tree, parent, x, y);
	bst_set_parent(y, parent);
	bst_set_parent(x, y);
}

/* Hang `node` as a leaf behind all nodes with its key, with balance `bits`. Returns the side of its
 * parent that it is on. */
static inline int bst_link(struct lath_bst *tree, struct lath_bst_node *node, uintptr_t bits)
{
	struct lath_bst_node *parent = NULL, *n = tree->root;
	bool first = true, last = true;
	int dir = 0;

	assert(!((uintptr_t)node & BST_BITS));
	while (n) {
		parent = n;
		dir = !lath_before(node->key, n->key);
		if (dir)
			first = false;
		else
			last = false;
		n = n->child[dir];
	}
	node->up = (uintptr_t)parent | bits;
	node->child[0] = node->child[1] = NULL;
	if (parent)
		parent->child[dir] = node;
	else
		tree->root = node;
	if (first)
		tree->end[0] = node;
	if (last)
		tree->end[1] = node;
	return dir;
}

/* The neighbour of `node` in order: the next one for dir 1, the previous one for dir 0, or NULL. */
static inline struct lath_bst_node *bst_step(const struct lath_bst_node *node, int dir)
{
	struct lath_bst_node *n = node->child[dir];

	if (n) {
		while (n->child[!dir])
			n = n->child[!dir];
		return n;
	}
	while ((n = bst_parent(node)) && n->child[dir] == node)
		node = n;
	return n;
}

/* Where a removal left a subtree lower: below `parent` (NULL: the root) on the side `dir`. bits:
 * the balance bits of the place that is gone. */
struct bst_hole {
	struct lath_bst_node *parent;
	int dir;
	uintptr_t bits;
};

/* `node` has two children: its successor takes its place and its balance bits. */
static inline struct bst_hole bst_unlink_inner(struct lath_bst *tree, struct lath_bst_node *node)
{
	struct lath_bst_node *next = node->child[1], *only;
	struct bst_hole hole;

	while (next->child[0])
		next = next->child[0];
	hole = (struct bst_hole){ bst_parent(next), 0, next->up & BST_BITS };
	if (hole.parent == node) {
		hole.parent = next;
		hole.dir = 1;
	} else {
		only = next->child[1];
		hole.parent->child[0] = only;
		if (only)
			bst_set_parent(only, hole.parent);
		next->child[1] = node->child[1];
		bst_set_parent(next->child[1], next);
	}
	next->child[0] = node->child[0];
	bst_set_parent(next->child[0], next);
	bst_replace_child(tree, bst_parent(node), node, next);
	next->up = node->up;
	return hole;
}

/* Take `node`, which is in the tree, out of it without rebalancing. */
static inline struct bst_hole bst_unlink(struct lath_bst *tree, struct lath_bst_node *node)
{
	struct lath_bst_node *only, *parent = bst_parent(node);
	struct bst_hole hole = { parent, parent && parent->child[1] == node, node->up & BST_BITS };

	assert((parent ? parent->child[hole.dir] : tree->root) == node);
	if (tree->end[0] == node)
		tree->end[0] = bst_step(node, 1);
	if (tree->end[1] == node)
		tree->end[1] = bst_step(node, 0);
	if (node->child[0] && node->child[1])
		return bst_unlink_inner(tree, node);
	only = node->child[0] ? node->child[0] : node->child[1];
	bst_replace_child(tree, parent, node, only);
	if (only)
		bst_set_parent(only, parent);
	return hole;
}

/* Checks the order of `prev` and its next node n, and the links below n: 0, 4 (order) or 5 (a
 * link). */
static inline int bst_verify_node(const struct lath_bst_node *prev, const struct lath_bst_node *n)
{
	int dir;

	if (prev && lath_before(n->key, prev->key))
		return 4;
	for (dir = 0; dir < 2; dir++) {
		if (n->child[dir] && bst_parent(n->child[dir]) != n)
			return 5;
	}
	return 0;
}

#endif /* LATHBENCH_BST_H */
