// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * linux_interval.c - the kernel's interval tree: a red-black tree by first key, augmented with the
 * largest last key below each node, with 64-bit keys, and one spinlock.
 */
#include <stdlib.h>

#include <linux/rbtree.h>
#include <linux/rbtree_augmented.h>
#include <linux/interval_tree_generic.h>

#include "linux_interval.h"
#include "subjects/spin.h"

struct interval {
	struct rb_node rb;
	uint64_t first, last, largest, value;
};

#define FIRST(node) ((node)->first)
#define LAST(node) ((node)->last)
INTERVAL_TREE_DEFINE(struct interval, rb, uint64_t, largest, FIRST, LAST, static, interval)

struct linux_interval {
	struct bench_spin lock;
	struct rb_root_cached root;
	int locked;
};

static void lock(struct linux_interval *tree)
{
	if (tree->locked)
		bench_spin_lock(&tree->lock);
}

static void unlock(struct linux_interval *tree)
{
	if (tree->locked)
		bench_spin_unlock(&tree->lock);
}

struct linux_interval *linux_interval_new(int locked)
{
	struct linux_interval *tree = aligned_alloc(64, sizeof(*tree));

	if (!tree)
		abort();
	*tree = (struct linux_interval){ .root = RB_ROOT_CACHED, .locked = locked };
	return tree;
}

void linux_interval_free(struct linux_interval *tree)
{
	struct interval *node, *next;

	rbtree_postorder_for_each_entry_safe(node, next, &tree->root.rb_root, rb) free(node);
	free(tree);
}

void linux_interval_insert(struct linux_interval *tree, uint64_t first, uint64_t last,
			   uint64_t value)
{
	struct interval *node = malloc(sizeof(*node));

	if (!node)
		abort();
	node->first = first;
	node->last = last;
	node->value = value;
	lock(tree);
	interval_insert(node, &tree->root);
	unlock(tree);
}

/* Goes by first key to the nodes that begin there: no search for what overlaps. */
static struct interval *find(struct linux_interval *tree, uint64_t first, uint64_t last,
			     uint64_t value)
{
	struct rb_node *at = tree->root.rb_root.rb_node, *begin = NULL;

	while (at) {
		if (rb_entry(at, struct interval, rb)->first >= first) {
			begin = at;
			at = at->rb_left;
		} else {
			at = at->rb_right;
		}
	}
	for (; begin; begin = rb_next(begin)) {
		struct interval *node = rb_entry(begin, struct interval, rb);

		if (node->first != first)
			break;
		if (node->last == last && node->value == value)
			return node;
	}
	return NULL;
}

int linux_interval_erase(struct linux_interval *tree, uint64_t first, uint64_t last, uint64_t value)
{
	struct interval *node;

	lock(tree);
	node = find(tree, first, last, value);
	if (node)
		interval_remove(node, &tree->root);
	unlock(tree);
	free(node);
	return node != NULL;
}

uint64_t linux_interval_overlap(struct linux_interval *tree, uint64_t first, uint64_t last,
				uint64_t *sum)
{
	struct interval *node;
	uint64_t n = 0;

	*sum = 0;
	lock(tree);
	for (node = interval_iter_first(&tree->root, first, last); node;
	     node = interval_iter_next(node, first, last)) {
		*sum += node->value;
		n++;
	}
	unlock(tree);
	return n;
}
