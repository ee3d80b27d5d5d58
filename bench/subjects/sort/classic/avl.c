/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * avl.c - how the AVL tree of avl.h restores its heights after a change.
 *
 * The balance bits are height(right) - height(left) + 1.
 */
#include "subjects/sort/classic/avl.h"

#define EVEN ((uintptr_t)1)

static inline int balance_of(const struct lath_bst_node *n)
{
	return (int)(n->up & BST_BITS) - 1;
}

static inline void set_balance(struct lath_bst_node *n, int balance)
{
	assert(balance >= -1 && balance <= 1);
	n->up = (n->up & ~BST_BITS) | (uintptr_t)(balance + 1);
}

/* The side `dir` of x is two higher than the other. Rotates; returns the new top of the subtree.
 * lower: the subtree is now one lower than it was with x at its top. */
static struct lath_bst_node *rebalance(struct lath_bst *tree, struct lath_bst_node *x, int dir,
				       bool *lower)
{
	struct lath_bst_node *y = x->child[dir], *z;
	int side = dir ? 1 : -1, b = balance_of(y);

	*lower = b != 0;
	if (b != -side) {
		bst_rotate(tree, x, !dir);
		set_balance(x, b ? 0 : side);
		set_balance(y, b ? 0 : -side);
		return y;
	}
	z = y->child[!dir];
	b = balance_of(z);
	bst_rotate(tree, y, dir);
	bst_rotate(tree, x, !dir);
	set_balance(x, b == side ? -side : 0);
	set_balance(y, b == -side ? side : 0);
	set_balance(z, 0);
	return z;
}

void lath_avl_insert(struct lath_bst *tree, struct lath_bst_node *node)
{
	int dir = bst_link(tree, node, EVEN), b;
	struct lath_bst_node *p, *up;
	bool lower;

	/* the side `dir` of p grew by one */
	for (p = bst_parent(node); p; p = up) {
		b = balance_of(p) + (dir ? 1 : -1);
		if (b < -1 || b > 1) {
			rebalance(tree, p, dir, &lower);
			return;
		}
		set_balance(p, b);
		if (!b)
			return;
		up = bst_parent(p);
		dir = up && up->child[1] == p;
	}
}

void lath_avl_remove(struct lath_bst *tree, struct lath_bst_node *node)
{
	struct bst_hole hole = bst_unlink(tree, node);
	struct lath_bst_node *p, *up, *top;
	int dir = hole.dir, b;
	bool lower;

	/* the side `dir` of p is one lower than it was */
	for (p = hole.parent; p; p = up) {
		up = bst_parent(p);
		b = balance_of(p) + (dir ? -1 : 1);
		top = p;
		lower = b == 0;
		if (b < -1 || b > 1)
			top = rebalance(tree, p, !dir, &lower);
		else
			set_balance(p, b);
		if (!lower)
			return;
		dir = up && up->child[1] == top;
	}
}

/* The height of a subtree with right balances: follows the higher side of every node. */
static int height(const struct lath_bst_node *n)
{
	int h = 0;

	for (; n; n = n->child[balance_of(n) > 0])
		h++;
	return h;
}

int lath_avl_verify(const struct lath_bst *tree)
{
	const struct lath_bst_node *n, *prev = NULL;
	int d, broken;

	for (n = tree->end[0]; n; prev = n, n = bst_step(n, 1)) {
		d = height(n->child[1]) - height(n->child[0]);
		if (d < -1 || d > 1)
			return 1;
		if (d != balance_of(n))
			return 2;
		broken = bst_verify_node(prev, n);
		if (broken)
			return broken;
	}
	return prev == tree->end[1] ? 0 : 5;
}
