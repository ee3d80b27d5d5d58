/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rbtree.c - the red-black tree of lathwork/rbtree.h.
 *
 * Left and right are one case each: child[dir] and child[!dir], so every repair is written once.
 * Rotations are drawn as "x goes down to the side dir".
 */
#include "lathwork/rbtree.h"
#include "queue/order.h"

#define RED ((uintptr_t)1)

static inline struct lath_rb_node *parent_of(const struct lath_rb_node *n)
{
	return (struct lath_rb_node *)(n->up & ~RED);
}

static inline bool is_red(const struct lath_rb_node *n)
{
	return n && (n->up & RED);
}

static inline void set_parent(struct lath_rb_node *n, struct lath_rb_node *parent)
{
	n->up = (uintptr_t)parent | (n->up & RED);
}

/* Hang `n` where `old` hung below `parent`. */
static inline void replace_child(struct lath_rb_tree *tree, struct lath_rb_node *parent,
				 struct lath_rb_node *old, struct lath_rb_node *n)
{
	if (!parent)
		tree->root = n;
	else
		parent->child[parent->child[1] == old] = n;
}

static void rotate(struct lath_rb_tree *tree, struct lath_rb_node *x, int dir)
{
	struct lath_rb_node *y = x->child[!dir], *inner = y->child[dir], *parent = parent_of(x);

	x->child[!dir] = inner;
	if (inner)
		set_parent(inner, x);
	y->child[dir] = x;
	replace_child(tree, parent, x, y);
	set_parent(y, parent);
	set_parent(x, y);
}

/* n is red; restore "a red node has no red child" upwards. */
static void repair_insert(struct lath_rb_tree *tree, struct lath_rb_node *n)
{
	for (;;) {
		struct lath_rb_node *p = parent_of(n), *g, *uncle;
		int dir;

		if (!p) {
			n->up &= ~RED;
			return;
		}
		if (!(p->up & RED))
			return;
		g = parent_of(p);
		dir = g->child[1] == p;
		uncle = g->child[!dir];
		if (is_red(uncle)) {
			p->up &= ~RED;
			uncle->up &= ~RED;
			g->up |= RED;
			n = g;
			continue;
		}
		if (n == p->child[!dir]) {
			rotate(tree, p, dir);
			p = n;
		}
		rotate(tree, g, !dir);
		p->up &= ~RED;
		g->up |= RED;
		return;
	}
}

void lath_rb_insert(struct lath_rb_tree *tree, struct lath_rb_node *node)
{
	struct lath_rb_node *parent = NULL, *n = tree->root;
	bool least = true, greatest = true;
	int dir = 0;

	while (n) {
		parent = n;
		dir = !lath_before(node->key, n->key);
		if (dir)
			least = false;
		else
			greatest = false;
		n = n->child[dir];
	}
	node->up = (uintptr_t)parent | RED;
	node->child[0] = node->child[1] = NULL;
	if (parent)
		parent->child[dir] = node;
	else
		tree->root = node;
	if (least)
		tree->end[0] = node;
	if (greatest)
		tree->end[1] = node;
	repair_insert(tree, node);
}

/* The side dir below p has one black node too few. */
static void repair_remove(struct lath_rb_tree *tree, struct lath_rb_node *p, int dir)
{
	while (p) {
		struct lath_rb_node *s = p->child[!dir], *up;

		if (s->up & RED) {
			s->up &= ~RED;
			p->up |= RED;
			rotate(tree, p, dir);
			s = p->child[!dir];
		}
		if (!is_red(s->child[0]) && !is_red(s->child[1])) {
			s->up |= RED;
			if (p->up & RED) {
				p->up &= ~RED;
				return;
			}
			up = parent_of(p);
			dir = up && up->child[1] == p;
			p = up;
			continue;
		}
		if (!is_red(s->child[!dir])) {
			s->child[dir]->up &= ~RED;
			s->up |= RED;
			rotate(tree, s, !dir);
			s = p->child[!dir];
		}
		s->up = (s->up & ~RED) | (p->up & RED);
		p->up &= ~RED;
		s->child[!dir]->up &= ~RED;
		rotate(tree, p, dir);
		return;
	}
}

/* node has two children: its successor takes its place and colour. Returns where a node went missing. */
static struct lath_rb_node *swap_with_next(struct lath_rb_tree *tree, struct lath_rb_node *node, int *dir,
					   bool *black)
{
	struct lath_rb_node *next = node->child[1], *hole, *orphan;

	while (next->child[0])
		next = next->child[0];
	*black = !(next->up & RED);
	orphan = next->child[1];
	hole = parent_of(next);
	*dir = hole == node;
	if (hole == node) {
		hole = next;
	} else {
		hole->child[0] = orphan;
		next->child[1] = node->child[1];
		set_parent(next->child[1], next);
		if (orphan)
			set_parent(orphan, hole);
	}
	next->child[0] = node->child[0];
	set_parent(next->child[0], next);
	replace_child(tree, parent_of(node), node, next);
	next->up = node->up;
	return hole;
}

void lath_rb_remove(struct lath_rb_tree *tree, struct lath_rb_node *node)
{
	struct lath_rb_node *hole, *only;
	bool black;
	int dir;

	if (tree->end[0] == node)
		tree->end[0] = lath_rb_next(node);
	if (tree->end[1] == node)
		tree->end[1] = lath_rb_prev(node);
	if (node->child[0] && node->child[1]) {
		hole = swap_with_next(tree, node, &dir, &black);
		only = hole->child[dir];
	} else {
		hole = parent_of(node);
		only = node->child[0] ? node->child[0] : node->child[1];
		black = !(node->up & RED);
		dir = hole && hole->child[1] == node;
		replace_child(tree, hole, node, only);
		if (only)
			set_parent(only, hole);
	}
	if (!black)
		return;
	if (is_red(only))
		only->up &= ~RED;
	else
		repair_remove(tree, hole, dir);
}

static struct lath_rb_node *step(const struct lath_rb_node *node, int dir)
{
	struct lath_rb_node *n = node->child[dir];

	if (n) {
		while (n->child[!dir])
			n = n->child[!dir];
		return n;
	}
	while ((n = parent_of(node)) && n->child[dir] == node)
		node = n;
	return n;
}

struct lath_rb_node *lath_rb_next(const struct lath_rb_node *node)
{
	return step(node, 1);
}

struct lath_rb_node *lath_rb_prev(const struct lath_rb_node *node)
{
	return step(node, 0);
}

struct lath_rb_node *lath_rb_ceiling(const struct lath_rb_tree *tree, uint64_t key)
{
	struct lath_rb_node *n = tree->root, *found = NULL;

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

static int black_depth(const struct lath_rb_node *n)
{
	int depth = 0;

	for (; n; n = parent_of(n))
		depth += !(n->up & RED);
	return depth;
}

int lath_rb_verify(const struct lath_rb_tree *tree)
{
	const struct lath_rb_node *n, *prev = NULL;
	int depth = -1, d;

	if (is_red(tree->root))
		return 1;
	for (n = tree->end[0]; n; prev = n, n = lath_rb_next(n)) {
		if ((n->up & RED) && (is_red(n->child[0]) || is_red(n->child[1])))
			return 2;
		if (!n->child[0] || !n->child[1]) {
			d = black_depth(n);
			if (depth >= 0 && d != depth)
				return 3;
			depth = d;
		}
		if (prev && lath_before(n->key, prev->key))
			return 4;
		for (d = 0; d < 2; d++) {
			if (n->child[d] && parent_of(n->child[d]) != n)
				return 5;
		}
	}
	return prev == tree->end[1] ? 0 : 5;
}
