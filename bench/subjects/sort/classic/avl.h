/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * avl.h - the AVL tree: a subject of table `sort`.
 *
 * Invariants: A1 the heights of a node's two subtrees differ by at most one; A2 the node's balance
 * is that difference. So the height is at most 1.44 log2(n): lower than a red-black tree's, for
 * more rotations. insert and remove are O(log n). After Adelson-Velsky and Landis, "An algorithm
 * for the organization of information", 1962.
 */
#ifndef LATHBENCH_AVL_H
#define LATHBENCH_AVL_H

#include "subjects/sort/classic/bst.h"

/* node->key is set, and the node is in no tree. */
void lath_avl_insert(struct lath_bst *tree, struct lath_bst_node *node);
/* The node is in this tree. */
void lath_avl_remove(struct lath_bst *tree, struct lath_bst_node *node);
/* Returns 0 or the number of the broken invariant; 4: the order, 5: a wrong link. O(n log n). */
int lath_avl_verify(const struct lath_bst *tree);

#endif /* LATHBENCH_AVL_H */
