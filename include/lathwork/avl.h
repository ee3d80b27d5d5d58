/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/avl.h - AVL tree of embedded nodes, ordered by a 64-bit key.
 *
 * Invariants: A1 the heights of the two subtrees of a node differ by at most one; A2 the node's
 * balance is that difference. So the height is at most 1.44 log2(n): flatter than a red-black tree,
 * at the price of more rotations.
 *
 * Keys, equal keys, locking and memory as in lathwork/rbtree.h. After Adelson-Velsky and Landis,
 * "An algorithm for the organization of information", 1962.
 */
#ifndef LATHWORK_AVL_H
#define LATHWORK_AVL_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_avl_node {
	uint64_t key;
	uintptr_t up; /* parent; bits 0-1: height(right) - height(left) + 1 */
	struct lath_avl_node *child[2];
};

struct lath_avl_tree {
	struct lath_avl_node *root;
	struct lath_avl_node *end[2]; /* least and greatest */
};

static inline void lath_avl_init(struct lath_avl_tree *tree)
{
	tree->root = tree->end[0] = tree->end[1] = NULL;
}

static inline struct lath_avl_node *lath_avl_first(const struct lath_avl_tree *tree)
{
	return tree->end[0];
}

static inline struct lath_avl_node *lath_avl_last(const struct lath_avl_tree *tree)
{
	return tree->end[1];
}

LATH_API void lath_avl_insert(struct lath_avl_tree *tree, struct lath_avl_node *node);
LATH_API void lath_avl_remove(struct lath_avl_tree *tree, struct lath_avl_node *node);
LATH_API struct lath_avl_node *lath_avl_next(const struct lath_avl_node *node);
LATH_API struct lath_avl_node *lath_avl_prev(const struct lath_avl_node *node);
/* The first node whose key is not before `key`, or NULL. */
LATH_API struct lath_avl_node *lath_avl_ceiling(const struct lath_avl_tree *tree, uint64_t key);
/* 0, or the number of the broken invariant; 4 is the order, 5 a wrong link. O(n). */
LATH_API int lath_avl_verify(const struct lath_avl_tree *tree);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_AVL_H */
