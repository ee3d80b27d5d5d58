/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * avl.c - the AVL tree of lathwork/avl.h. As in rbtree.c a side is a number, so that every case is
 * written once; a side counts as -1 or +1 in a balance.
 */
#include "lathwork/avl.h"
#include "queue/order.h"

#define BALANCE ((uintptr_t)3)

static inline struct lath_avl_node *parent_of(const struct lath_avl_node *n)
{
	return (struct lath_avl_node *)(n->up & ~BALANCE);
}

static inline int balance_of(const struct lath_avl_node *n)
{
	return (int)(n->up & BALANCE) - 1;
}

static inline void set_balance(struct lath_avl_node *n, int balance)
{
	n->up = (n->up & ~BALANCE) | (uintptr_t)(balance + 1);
}

static inline void set_parent(struct lath_avl_node *n, struct lath_avl_node *parent)
{
	n->up = (uintptr_t)parent | (n->up & BALANCE);
}

static inline void replace_child(struct lath_avl_tree *tree, struct lath_avl_node *parent,
				 struct lath_avl_node *old, struct lath_avl_node *n)
{
	if (!parent)
		tree->root = n;
	else
		parent->child[parent->child[1] == old] = n;
}

/* x goes down to the side dir; balances are the caller's. */
static struct lath_avl_node *rotate(struct lath_avl_tree *tree, struct lath_avl_node *x, int dir)
{
	struct lath_avl_node *y = x->child[!dir], *inner = y->child[dir], *parent = parent_of(x);

	x->child[!dir] = inner;
	if (inner)
		set_parent(inner, x);
	y->child[dir] = x;
	replace_child(tree, parent, x, y);
	set_parent(y, parent);
	set_parent(x, y);
	return y;
}

/*
 * x is two higher on the side dir. Returns the new top of the subtree; *shrunk tells whether it is
 * lower by one than x was.
 */
static struct lath_avl_node *rebalance(struct lath_avl_tree *tree, struct lath_avl_node *x, int dir,
				       bool *shrunk)
{
	struct lath_avl_node *y = x->child[dir], *z;
	int side = dir ? 1 : -1, b = balance_of(y);

	*shrunk = b != 0;
	if (b != -side) {
		rotate(tree, x, !dir);
		set_balance(x, b ? 0 : side);
		set_balance(y, b ? 0 : -side);
		return y;
	}
	z = y->child[!dir];
	b = balance_of(z);
	rotate(tree, y, dir);
	rotate(tree, x, !dir);
	set_balance(x, b == side ? -side : 0);
	set_balance(y, b == -side ? side : 0);
	set_balance(z, 0);
	return z;
}

void lath_avl_insert(struct lath_avl_tree *tree, struct lath_avl_node *node)
{
	struct lath_avl_node *p = NULL, *n = tree->root;
	bool least = true, greatest = true, shrunk;
	int dir = 0;

	while (n) {
		p = n;
		dir = !lath_before(node->key, n->key);
		if (dir)
			least = false;
		else
			greatest = false;
		n = n->child[dir];
	}
	node->up = (uintptr_t)p | 1;
	node->child[0] = node->child[1] = NULL;
	if (p)
		p->child[dir] = node;
	else
		tree->root = node;
	if (least)
		tree->end[0] = node;
	if (greatest)
		tree->end[1] = node;
	/* the side dir of p grew by one */
	while (p) {
		int b = balance_of(p) + (dir ? 1 : -1);

		if (b < -1 || b > 1) {
			rebalance(tree, p, dir, &shrunk);
			return;
		}
		set_balance(p, b);
		if (!b)
			return;
		n = parent_of(p);
		dir = n && n->child[1] == p;
		p = n;
	}
}

/* The side dir of p shrank by one. */
static void repair_remove(struct lath_avl_tree *tree, struct lath_avl_node *p, int dir)
{
	while (p) {
		struct lath_avl_node *up = parent_of(p), *top = p;
		int b = balance_of(p) + (dir ? -1 : 1);
		bool shrunk = b == 0;

		if (b < -1 || b > 1)
			top = rebalance(tree, p, !dir, &shrunk);
		else
			set_balance(p, b);
		if (!shrunk)
			return;
		dir = up && up->child[1] == top;
		p = up;
	}
}

void lath_avl_remove(struct lath_avl_tree *tree, struct lath_avl_node *node)
{
	struct lath_avl_node *hole, *next, *only;
	int dir;

	if (tree->end[0] == node)
		tree->end[0] = lath_avl_next(node);
	if (tree->end[1] == node)
		tree->end[1] = lath_avl_prev(node);
	hole = parent_of(node);
	if (!node->child[0] || !node->child[1]) {
		only = node->child[0] ? node->child[0] : node->child[1];
		dir = hole && hole->child[1] == node;
		replace_child(tree, hole, node, only);
		if (only)
			set_parent(only, hole);
		repair_remove(tree, hole, dir);
		return;
	}
	/* the successor takes the place and the balance of node */
	next = node->child[1];
	while (next->child[0])
		next = next->child[0];
	hole = parent_of(next);
	dir = hole == node;
	if (hole == node) {
		hole = next;
	} else {
		only = next->child[1];
		hole->child[0] = only;
		if (only)
			set_parent(only, hole);
		next->child[1] = node->child[1];
		set_parent(next->child[1], next);
	}
	next->child[0] = node->child[0];
	set_parent(next->child[0], next);
	replace_child(tree, parent_of(node), node, next);
	next->up = node->up;
	repair_remove(tree, hole, dir);
}

static struct lath_avl_node *step(const struct lath_avl_node *node, int dir)
{
	struct lath_avl_node *n = node->child[dir];

	if (n) {
		while (n->child[!dir])
			n = n->child[!dir];
		return n;
	}
	while ((n = parent_of(node)) && n->child[dir] == node)
		node = n;
	return n;
}

struct lath_avl_node *lath_avl_next(const struct lath_avl_node *node)
{
	return step(node, 1);
}

struct lath_avl_node *lath_avl_prev(const struct lath_avl_node *node)
{
	return step(node, 0);
}

struct lath_avl_node *lath_avl_ceiling(const struct lath_avl_tree *tree, uint64_t key)
{
	struct lath_avl_node *n = tree->root, *found = NULL;

	while (n) {
		if (lath_before(n->key, key)) {
			n = n->child[1];
		} else {
			found = n;
			n = n->child[0];
		}
	}
	return found;
}

/* Follows the higher side of every node: right if the balances are. */
static int height(const struct lath_avl_node *n)
{
	int h = 0;

	for (; n; n = n->child[balance_of(n) > 0])
		h++;
	return h;
}

int lath_avl_verify(const struct lath_avl_tree *tree)
{
	const struct lath_avl_node *n, *prev = NULL;
	int d;

	for (n = tree->end[0]; n; prev = n, n = lath_avl_next(n)) {
		d = height(n->child[1]) - height(n->child[0]);
		if (d < -1 || d > 1)
			return 1;
		if (d != balance_of(n))
			return 2;
		if (prev && lath_before(n->key, prev->key))
			return 4;
		for (d = 0; d < 2; d++) {
			if (n->child[d] && parent_of(n->child[d]) != n)
				return 5;
		}
	}
	return prev == tree->end[1] ? 0 : 5;
}
