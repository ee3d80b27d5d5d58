/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rbtree.c - how the red-black tree of rbtree.h restores its colours after a change.
 */
#include "subjects/sort/classic/rbtree.h"

#define RED ((uintptr_t)1) /* of the balance bits; 0 is black */

static inline bool is_red(const struct lath_bst_node *n)
{
	return n && (n->up & RED);
}

/* n is red. Restores "a red node has no red child" from n upwards. */
static void repair_insert(struct lath_bst *tree, struct lath_bst_node *n)
{
	for (;;) {
		struct lath_bst_node *p = bst_parent(n), *g, *uncle;
		int dir;

		if (!p) {
			n->up &= ~RED;
			return;
		}
		if (!(p->up & RED))
			return;
		g = bst_parent(p);
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
			bst_rotate(tree, p, dir);
			p = n;
		}
		bst_rotate(tree, g, !dir);
		p->up &= ~RED;
		g->up |= RED;
		return;
	}
}

void lath_rb_insert(struct lath_bst *tree, struct lath_bst_node *node)
{
	bst_link(tree, node, RED);
	repair_insert(tree, node);
}

/* Paths through the side `dir` of p have one black node too few. */
static void repair_remove(struct lath_bst *tree, struct lath_bst_node *p, int dir)
{
	while (p) {
		struct lath_bst_node *s = p->child[!dir], *up;

		assert(s); /* its side has a black node more */
		if (s->up & RED) {
			s->up &= ~RED;
			p->up |= RED;
			bst_rotate(tree, p, dir);
			s = p->child[!dir];
		}
		if (!is_red(s->child[0]) && !is_red(s->child[1])) {
			s->up |= RED;
			if (p->up & RED) {
				p->up &= ~RED;
				return;
			}
			up = bst_parent(p);
			dir = up && up->child[1] == p;
			p = up;
			continue;
		}
		if (!is_red(s->child[!dir])) {
			s->child[dir]->up &= ~RED;
			s->up |= RED;
			bst_rotate(tree, s, !dir);
			s = p->child[!dir];
		}
		s->up = (s->up & ~RED) | (p->up & RED);
		p->up &= ~RED;
		s->child[!dir]->up &= ~RED;
		bst_rotate(tree, p, dir);
		return;
	}
}

void lath_rb_remove(struct lath_bst *tree, struct lath_bst_node *node)
{
	struct bst_hole hole = bst_unlink(tree, node);
	struct lath_bst_node *moved = hole.parent ? hole.parent->child[hole.dir] : tree->root;

	if (hole.bits & RED)
		return;
	if (is_red(moved))
		moved->up &= ~RED;
	else
		repair_remove(tree, hole.parent, hole.dir);
}

static int black_depth(const struct lath_bst_node *n)
{
	int depth = 0;

	for (; n; n = bst_parent(n))
		depth += !(n->up & RED);
	return depth;
}

int lath_rb_verify(const struct lath_bst *tree)
{
	const struct lath_bst_node *n, *prev = NULL;
	int depth = -1, d, broken;

	if (is_red(tree->root))
		return 1;
	for (n = tree->end[0]; n; prev = n, n = bst_step(n, 1)) {
		if ((n->up & RED) && (is_red(n->child[0]) || is_red(n->child[1])))
			return 2;
		if (!n->child[0] || !n->child[1]) {
			d = black_depth(n);
			if (depth >= 0 && d != depth)
				return 3;
			depth = d;
		}
		broken = bst_verify_node(prev, n);
		if (broken)
			return broken;
	}
	return prev == tree->end[1] ? 0 : 5;
}
