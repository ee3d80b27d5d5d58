/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * classic_test.c - the textbook's structures of table `sort`: they give nodes back in order, equal
 * ones by arrival, with removals between; and verify of the trees sees each thing broken.
 */
#undef NDEBUG
#include <stdio.h>
#include <stdlib.h>

#include "base/broken.h"
#include "base/random.h"
#include "subjects/sort/classic/avl.h"
#include "subjects/sort/classic/fibheap.h"
#include "subjects/sort/classic/rbtree.h"
#include "subjects/sort/classic/skip_list.h"
#include "subjects/sort/classic/sorted_list.h"

#define N 1000u
#define RED 1u

/*
 * A structure under test: its nodes have numbers. The model is the array of those that are in it,
 * with their keys, in order of arrival.
 */
struct subject {
	const char *name;
	void (*init)(void);
	void (*insert)(u32 i, u64 key);
	void (*remove)(u32 i);
	u32 (*first)(void);
	int (*verify)(void);
};

static union {
	struct lath_list_node list;
	struct lath_bst_node bst;
	struct lath_skip_node skip;
	struct lath_fib_node fib;
} nodes[N];
static struct lath_sorted_list list;
static struct lath_bst tree;
static struct lath_skip_list skip;
static struct lath_fib_heap heap;

static u32 number(const void *node)
{
	return (u32)(((const char *)node - (const char *)nodes) / (long)sizeof(nodes[0]));
}

static int nothing(void)
{
	return 0;
}

#define SUBJECT(name, root, member, init_root, insert_node, remove_node, first_node, verify_all) \
	static void name##_init(void)                                                            \
	{                                                                                        \
		init_root(&(root));                                                              \
	}                                                                                        \
	static void name##_insert(u32 i, u64 key)                                                \
	{                                                                                        \
		nodes[i].member.key = key;                                                       \
		insert_node(&(root), &nodes[i].member);                                          \
	}                                                                                        \
	static void name##_remove(u32 i)                                                         \
	{                                                                                        \
		remove_node(&(root), &nodes[i].member);                                          \
	}                                                                                        \
	static u32 name##_first(void)                                                            \
	{                                                                                        \
		return number(first_node);                                                       \
	}                                                                                        \
	static int name##_verify(void)                                                           \
	{                                                                                        \
		return verify_all;                                                               \
	}
SUBJECT(list, list, list, lath_list_init, lath_list_insert, lath_list_remove, list.first, nothing())
SUBJECT(rb, tree, bst, bst_init, lath_rb_insert, lath_rb_remove, tree.end[0], lath_rb_verify(&tree))
SUBJECT(avl, tree, bst, bst_init, lath_avl_insert, lath_avl_remove, tree.end[0],
	lath_avl_verify(&tree))
SUBJECT(skip, skip, skip, lath_skip_init, lath_skip_insert, lath_skip_remove, skip.head.next[0],
	nothing())
SUBJECT(fib, heap, fib, lath_fib_init, lath_fib_insert, lath_fib_remove, heap.least, nothing())

static u32 in[N], n_in;
static u64 keys[N], state;

static void leave(u32 at)
{
	n_in--;
	memmove(&in[at], &in[at + 1], (n_in - at) * sizeof(in[0]));
}

/* Where in the model the first node in order is: of equal ones the first that came. */
static u32 model_first(void)
{
	u32 at, best = 0;

	for (at = 1; at < n_in; at++)
		if (lath_before(keys[in[at]], keys[in[best]]))
			best = at;
	return best;
}

static void compare(const struct subject *s)
{
	static bool there[N];
	u32 step, i, at;
	u64 base = ~0ull - 5000; /* keys wrap */

	memset(there, 0, sizeof(there));
	n_in = 0;
	s->init();
	for (step = 0; step < 20000; step++) {
		u64 r = random_word(&state);

		base += r % 3;
		i = (u32)(r >> 32) % N;
		if (r % 8 < 4 && !there[i]) {
			keys[i] = base + (r >> 8) % 200;
			s->insert(i, keys[i]);
			in[n_in++] = i;
			there[i] = true;
		} else if (n_in && r % 8 < 6) { /* the first in order */
			at = model_first();
			expect_line((int)s->first(), (int)in[at], __LINE__);
			s->remove(in[at]);
			there[in[at]] = false;
			leave(at);
		} else if (n_in) { /* any */
			at = (u32)(r >> 40) % n_in;
			s->remove(in[at]);
			there[in[at]] = false;
			leave(at);
		}
		if (step % 500 == 0)
			expect_line(s->verify(), 0, __LINE__);
	}
	while (n_in) {
		at = model_first();
		expect_line((int)s->first(), (int)in[at], __LINE__);
		s->remove(in[at]);
		leave(at);
	}
}

static const struct subject subjects[] = {
	{ "list", list_init, list_insert, list_remove, list_first, list_verify },
	{ "rbtree", rb_init, rb_insert, rb_remove, rb_first, rb_verify },
	{ "avl", avl_init, avl_insert, avl_remove, avl_first, avl_verify },
	{ "skiplist", skip_init, skip_insert, skip_remove, skip_first, skip_verify },
	{ "fibheap", fib_init, fib_insert, fib_remove, fib_first, fib_verify },
};

static void broken_rbtree(void)
{
	static struct lath_bst_node node[N];
	struct lath_bst_node *n, *red = NULL, *under_red = NULL;
	u32 i;

	bst_init(&tree);
	for (i = 0; i < N; i++) {
		node[i].key = i * 7919 % 2003;
		lath_rb_insert(&tree, &node[i]);
	}
	expect_line(lath_rb_verify(&tree), 0, __LINE__);
	for (n = tree.end[0]; n; n = bst_step(n, 1)) {
		if ((n->up & RED) && !red)
			red = n;
		if ((n->up & RED) && n->child[1])
			under_red = n->child[1];
	}
	assert(red && under_red);
	BROKEN_INT(lath_rb_verify(&tree), 1, tree.root->up, tree.root->up | RED);
	BROKEN_INT(lath_rb_verify(&tree), 2, under_red->up, under_red->up | RED);
	BROKEN_INT(lath_rb_verify(&tree), 3, red->up, red->up & ~(uintptr_t)RED);
	BROKEN_INT(lath_rb_verify(&tree), 4, tree.end[0]->key, 5000);
	n = tree.root->child[1];
	BROKEN_INT(lath_rb_verify(&tree), 5, n->child[1]->up,
		   (uintptr_t)tree.root | (n->child[1]->up & RED));
	BROKEN_INT(lath_rb_verify(&tree), 5, tree.end[1], tree.root);
}

static void broken_avl(void)
{
	static struct lath_bst_node node[N];
	struct lath_bst_node *n;
	u32 i;

	bst_init(&tree);
	for (i = 0; i < N; i++) {
		node[i].key = i * 7919 % 2003;
		lath_avl_insert(&tree, &node[i]);
	}
	expect_line(lath_avl_verify(&tree), 0, __LINE__);
	BROKEN_INT(lath_avl_verify(&tree), 1, tree.root->child[1], NULL);
	BROKEN_INT(lath_avl_verify(&tree), 2, tree.end[0]->up, tree.end[0]->up ^ 3);
	BROKEN_INT(lath_avl_verify(&tree), 4, tree.end[0]->key, 5000);
	n = tree.root->child[1];
	BROKEN_INT(lath_avl_verify(&tree), 5, n->child[1]->up,
		   (uintptr_t)tree.root | (n->child[1]->up & 3));
	BROKEN_INT(lath_avl_verify(&tree), 5, tree.end[1], tree.root);
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		printf("%s\n", subjects[i].name);
		compare(&subjects[i]);
	}
	broken_rbtree();
	broken_avl();
	return 0;
}
