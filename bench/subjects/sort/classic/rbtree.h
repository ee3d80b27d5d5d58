/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rbtree.h - the red-black tree: a subject of table `sort`.
 *
 * Invariants: R1 the root is black; R2 a red node has no red child; R3 every path from a node down
 * to a leaf has the same number of black nodes. So the height is at most 2 log2(n + 1). insert and
 * remove are O(log n). After Guibas and Sedgewick, "A dichromatic framework for balanced trees",
 * 1978.
 */
#ifndef LATHBENCH_RBTREE_H
#define LATHBENCH_RBTREE_H

#include "subjects/sort/classic/bst.h"

/* node->key is set, and the node is in no tree. */
void lath_rb_insert(struct lath_bst *tree, struct lath_bst_node *node);
/* The node is in this tree. */
void lath_rb_remove(struct lath_bst *tree, struct lath_bst_node *node);
/* Returns 0 or the number of the broken invariant; 4: the order, 5: a wrong link. O(n log n). */
int lath_rb_verify(const struct lath_bst *tree);

#endif /* LATHBENCH_RBTREE_H */
