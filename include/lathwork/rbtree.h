/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/rbtree.h - red-black tree of embedded nodes, ordered by a 64-bit key.
 *
 * Invariants: R1 the root is black; R2 a red node has no red child; R3 every way from a node
 * down to a leaf crosses the same number of black nodes. So the height is at most 2 log2(n + 1).
 *
 * Keys are compared circularly, (int64_t)(a - b) < 0, so they may wrap; all queued keys lie within
 * 2^63 of each other. Equal keys leave in the order in which they came. The tree allocates nothing
 * and takes no lock: calls on one tree exclude each other. insert and remove are O(log n), first and
 * last O(1). 32 bytes a node. After Guibas and Sedgewick, "A dichromatic framework for balanced
 * trees", 1978.
 */
#ifndef LATHWORK_RBTREE_H
#define LATHWORK_RBTREE_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_rb_node {
	uint64_t key;
	uintptr_t up; /* parent; bit 0: the node is red */
	struct lath_rb_node *child[2];
};

struct lath_rb_tree {
	struct lath_rb_node *root;
	struct lath_rb_node *end[2]; /* least and greatest */
};

static inline void lath_rb_init(struct lath_rb_tree *tree)
{
	tree->root = tree->end[0] = tree->end[1] = NULL;
}

static inline struct lath_rb_node *lath_rb_first(const struct lath_rb_tree *tree)
{
	return tree->end[0];
}

static inline struct lath_rb_node *lath_rb_last(const struct lath_rb_tree *tree)
{
	return tree->end[1];
}

/* node->key is set by the caller and stays while the node is in the tree. */
LATH_API void lath_rb_insert(struct lath_rb_tree *tree, struct lath_rb_node *node);
LATH_API void lath_rb_remove(struct lath_rb_tree *tree, struct lath_rb_node *node);
/* The node after or before in order, or NULL. */
LATH_API struct lath_rb_node *lath_rb_next(const struct lath_rb_node *node);
LATH_API struct lath_rb_node *lath_rb_prev(const struct lath_rb_node *node);
/* The first node whose key is not before `key`, or NULL. */
LATH_API struct lath_rb_node *lath_rb_ceiling(const struct lath_rb_tree *tree, uint64_t key);
/* 0, or the number of the broken invariant; 4 is the order, 5 a wrong link. O(n). */
LATH_API int lath_rb_verify(const struct lath_rb_tree *tree);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_RBTREE_H */
