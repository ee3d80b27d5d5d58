// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * linux_rbtree.c - the kernel's red-black tree with searches as its users write them, and one
 * spinlock.
 */
#include <stdlib.h>

#include <linux/rbtree.h>

#include "linux_trees.h"
#include "subjects/spin.h"

struct linux_rbtree {
	struct bench_spin lock;
	struct rb_root root;
	int locked;
};

struct pair {
	struct rb_node node;
	uint64_t key, value;
};

static void lock(struct linux_rbtree *tree)
{
	if (tree->locked)
		bench_spin_lock(&tree->lock);
}

static void unlock(struct linux_rbtree *tree)
{
	if (tree->locked)
		bench_spin_unlock(&tree->lock);
}

struct linux_rbtree *linux_rbtree_new(int locked)
{
	struct linux_rbtree *tree = aligned_alloc(64, sizeof(*tree));

	if (!tree)
		abort();
	*tree = (struct linux_rbtree){ .root = RB_ROOT, .locked = locked };
	return tree;
}

void linux_rbtree_free(struct linux_rbtree *tree)
{
	free(tree);
}

void linux_rbtree_free_pairs(struct linux_rbtree *tree)
{
	struct pair *pair, *next;

	rbtree_postorder_for_each_entry_safe(pair, next, &tree->root, node) free(pair);
	free(tree);
}

/* The hook of an extent holds the rb_node. */
_Static_assert(sizeof(struct rb_node) <= sizeof(((struct linux_extent *)0)->hook),
	       "hook too small");

static struct linux_extent *extent_of(struct rb_node *node)
{
	return (struct linux_extent *)node;
}

int linux_rbtree_insert_extent(struct linux_rbtree *tree, struct linux_extent *item)
{
	struct rb_node *node = (struct rb_node *)item->hook, *parent = NULL,
		       **link = &tree->root.rb_node;
	int inserted = 0;

	lock(tree);
	while (*link) {
		struct linux_extent *there = extent_of(*link);

		parent = *link;
		if (item->key + item->size <= there->key)
			link = &parent->rb_left;
		else if (item->key >= there->key + there->size)
			link = &parent->rb_right;
		else
			goto out;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, &tree->root);
	inserted = 1;
out:
	unlock(tree);
	return inserted;
}

static struct linux_extent *find_extent(struct linux_rbtree *tree, uint64_t point)
{
	struct rb_node *node = tree->root.rb_node;

	while (node) {
		struct linux_extent *there = extent_of(node);

		if (point < there->key)
			node = node->rb_left;
		else if (point >= there->key + there->size)
			node = node->rb_right;
		else
			return there;
	}
	return NULL;
}

struct linux_extent *linux_rbtree_lookup_extent(struct linux_rbtree *tree, uint64_t point)
{
	struct linux_extent *item;

	lock(tree);
	item = find_extent(tree, point);
	unlock(tree);
	return item;
}

struct linux_extent *linux_rbtree_erase_extent(struct linux_rbtree *tree, uint64_t point)
{
	struct linux_extent *item;

	lock(tree);
	item = find_extent(tree, point);
	if (item)
		rb_erase((struct rb_node *)item->hook, &tree->root);
	unlock(tree);
	return item;
}

static struct pair *pair_of(struct rb_node *node)
{
	return rb_entry(node, struct pair, node);
}

static struct pair *find_pair(struct linux_rbtree *tree, uint64_t key)
{
	struct rb_node *node = tree->root.rb_node;

	while (node) {
		struct pair *pair = pair_of(node);

		if (key < pair->key)
			node = node->rb_left;
		else if (key > pair->key)
			node = node->rb_right;
		else
			return pair;
	}
	return NULL;
}

int linux_rbtree_insert(struct linux_rbtree *tree, uint64_t key, uint64_t value)
{
	struct rb_node *parent = NULL, **link = &tree->root.rb_node;
	struct pair *pair = malloc(sizeof(*pair));

	if (!pair)
		abort();
	pair->key = key;
	pair->value = value;
	lock(tree);
	while (*link) {
		parent = *link;
		if (key < pair_of(parent)->key) {
			link = &parent->rb_left;
		} else if (key > pair_of(parent)->key) {
			link = &parent->rb_right;
		} else {
			unlock(tree);
			free(pair);
			return 0;
		}
	}
	rb_link_node(&pair->node, parent, link);
	rb_insert_color(&pair->node, &tree->root);
	unlock(tree);
	return 1;
}

int linux_rbtree_get(struct linux_rbtree *tree, uint64_t key, uint64_t *value)
{
	struct pair *pair;

	lock(tree);
	pair = find_pair(tree, key);
	if (pair)
		*value = pair->value;
	unlock(tree);
	return pair != NULL;
}

int linux_rbtree_update(struct linux_rbtree *tree, uint64_t key, uint64_t value)
{
	struct pair *pair;

	lock(tree);
	pair = find_pair(tree, key);
	if (pair)
		pair->value = value;
	unlock(tree);
	return pair != NULL;
}

int linux_rbtree_erase(struct linux_rbtree *tree, uint64_t key)
{
	struct pair *pair;

	lock(tree);
	pair = find_pair(tree, key);
	if (pair)
		rb_erase(&pair->node, &tree->root);
	unlock(tree);
	free(pair);
	return pair != NULL;
}

int linux_rbtree_floor(struct linux_rbtree *tree, uint64_t point, uint64_t *key, uint64_t *value)
{
	struct pair *best = NULL;
	struct rb_node *node;

	lock(tree);
	for (node = tree->root.rb_node; node;) {
		struct pair *pair = pair_of(node);

		if (pair->key <= point) {
			best = pair;
			node = node->rb_right;
		} else {
			node = node->rb_left;
		}
	}
	if (best) {
		*key = best->key;
		*value = best->value;
	}
	unlock(tree);
	return best != NULL;
}

void linux_rbtree_scan(struct linux_rbtree *tree, uint64_t from, size_t length, linux_visit visit,
		       void *arg)
{
	struct rb_node *node, *start = NULL;

	lock(tree);
	for (node = tree->root.rb_node; node;) {
		if (pair_of(node)->key >= from) {
			start = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	for (node = start; node && length; node = rb_next(node), length--)
		visit(arg, pair_of(node)->key, pair_of(node)->value);
	unlock(tree);
}
