/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * scan.c - numbers and their words in order, straight from the leaves.
 *
 * As lath_index_scan does it: each leaf is copied under its version. But keys go where the caller wants them and
 * words beside them, without an item in between; and the leaves ahead are asked for from their parents' lists, whole
 * and several at a time, for a right link is known only when its leaf has come. What a parent says is a hint,
 * never followed.
 */
#include "store/scan.h"

#include "index/hint/finger.h"

/* Leaves asked for ahead of the one that is read. */
#define AHEAD 4
/* An average leaf has more entries than that: scans of few do not ask for leaves they will not read. */
#define LEAF_LEAST 32

/* The next leaf to ask for. */
static const struct node *hint(struct number_scan *scan)
{
	const struct node *parent = scan->parent;
	unsigned int i;

	if (!parent)
		return NULL;
	if (!scan->children) {
		const struct node *right = READ_ONCE(parent->right);

		smp_rmb(); /* a retired node's right link is something else; its lock was taken before that was written */
		scan->parent = READ_ONCE(parent->word) & (NODE_LOCKED | NODE_DEAD) ? NULL : right;
		parent = scan->parent;
		if (!parent)
			return NULL;
		scan->children = READ_ONCE(parent->live);
		if (!scan->children)
			return NULL;
	}
	i = __ffs64(scan->children);
	scan->children &= scan->children - 1;
	return node_child(parent, i % NODE_CAP);
}

static void ask_ahead(struct number_scan *scan)
{
	const struct node *leaf = hint(scan);

	if (leaf)
		node_prefetch(leaf);
}

/* Where the parent says that the scan begins, or NULL; the leaves behind it are asked for. */
static struct node *first_leaf(struct number_scan *scan, unsigned int ahead)
{
	struct node *parent, *leaf;
	u64 word;
	long i;

	parent = level_node(scan->list, scan->from, 1, &word);
	if (!parent)
		return NULL;
	i = inner_slot(parent, scan->from);
	if (i < 0)
		return NULL;
	leaf = node_child(parent, (unsigned int)i);
	if (!node_valid(parent, word))
		return NULL;
	node_prefetch(leaf);
	scan->parent = parent;
	scan->children = READ_ONCE(parent->live) & ~lath_ones((unsigned int)i + 1);
	while (ahead--)
		ask_ahead(scan);
	return leaf;
}

void number_scan_begin(struct number_scan *scan, struct lath_store *store, u64 from, u64 last, size_t most)
{
	unsigned int ahead = most / LEAF_LEAST < AHEAD ? (unsigned int)(most / LEAF_LEAST) : AHEAD;

	scan->list = tree_of(&store->root.list);
	scan->from = from;
	scan->last = last;
	scan->ended = from > last;
	scan->parent = NULL;
	scan->children = 0;
	scan->leaf = ahead ? first_leaf(scan, ahead) : NULL;
	if (!scan->leaf || node_level(scan->leaf) || !node_holds(scan->leaf, from, &scan->word))
		scan->leaf = find_leaf(scan->list, from, &scan->word);
}

/* The entries of one leaf from scan->from on: how many of them fit. */
static size_t copy_leaf(const struct number_scan *scan, u64 end, u64 *keys, u64 *words, size_t max)
{
	const struct node *leaf = scan->leaf;
	u64 live = READ_ONCE(leaf->live);
	size_t n = 0;

	if (READ_ONCE(leaf->low) < scan->from)
		live &= ~lath_ones(node_rank(leaf, scan->from));
	if (end > scan->last)
		live &= lath_ones(node_rank(leaf, scan->last + 1));
	for (; live && n < max; live &= live - 1) {
		unsigned int i = __ffs64(live);

		keys[n] = node_key(leaf, i);
		words[n++] = node_value(leaf, i);
	}
	return n;
}

size_t number_scan_next(struct number_scan *scan, u64 *keys, u64 *words, size_t max)
{
	while (!scan->ended && max) {
		struct node *leaf = scan->leaf, *right = leaf_right(leaf);
		u64 end = READ_ONCE(leaf->last);
		size_t n = copy_leaf(scan, end, keys, words, max);

		if (unlikely(!node_valid(leaf, scan->word))) {
			scan->leaf = find_leaf(scan->list, scan->from, &scan->word);
			continue;
		}
		if (n == max) {
			scan->ended = keys[n - 1] >= scan->last;
			scan->from = keys[n - 1] + 1;
			return n;
		}
		if (!(scan->word & NODE_VOID)) { /* a VOID leaf covers nothing */
			scan->ended = end >= scan->last || !right;
			if (scan->ended)
				return n;
			scan->from = max(scan->from, end + 1); /* fences may have moved left since */
		}
		ask_ahead(scan);
		scan->leaf = right;
		scan->word = node_read(right);
		if (unlikely(scan->word & NODE_DEAD))
			scan->leaf = find_leaf(scan->list, scan->from, &scan->word);
		if (n)
			return n;
	}
	return 0;
}
