/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * scan.c - copy items out in order, a leaf at a time.
 *
 * Each leaf is copied under its version: what comes out of one leaf was there together. The next
 * leaves are asked for before they are needed: the first ones by their addresses in the parent,
 * so that their misses overlap, later ones by the right link of the leaf before.
 */
#include "index/hint/finger.h"
#include "index/tree/descend.h"

/* Leaves to ask for ahead at the start. */
#define AHEAD 2

/* As find_leaf, but asks for the leaf's right neighbours too: pure hints, never followed. */
static struct node *find_leaf_ahead(struct tree *list, u64 key, u64 *word)
{
	struct node *node = smp_load_acquire(&list->root); /* pairs with add_root */

	while (node_level(node) > 1)
		if (!walk_step(&node, key, WALK_ON, 0))
			break;
	if (node_level(node) == 1) {
		int i = (int)inner_slot(node, key), ahead;

		for (ahead = 0; ahead <= AHEAD && i >= 0; ahead++, i = node_after(node, i))
			node_prefetch(node_child(node, (unsigned int)i));
	}
	return find_leaf(list, key, word);
}

/* The items of one leaf that start in [from, last]: how many of them fit. */
static size_t copy_leaf(const struct node *leaf, bool ranges, u64 from, u64 last, struct lath_item *items,
			size_t max)
{
	u64 live = READ_ONCE(leaf->live);
	size_t n = 0;

	for (; live && n < max; live &= live - 1) {
		unsigned int i = __ffs64(live);
		u64 key = node_key(leaf, i);

		if (key < from)
			continue;
		if (key > last)
			break;
		item_of(leaf, i, ranges, &items[n++]);
	}
	return n;
}

static size_t scan(struct tree *list, u64 from, u64 last, struct lath_item *items, size_t max, u64 *next)
{
	size_t n = 0;
	u64 word, end;
	struct node *leaf = find_leaf_ahead(list, from, &word);

	while (n < max) {
		struct node *right = leaf_right(leaf);
		size_t m;

		if (right)
			node_prefetch(right);
		m = copy_leaf(leaf, list->ranges, from, last, items + n, max - n);
		end = READ_ONCE(leaf->last);
		if (unlikely(!node_valid(leaf, word))) {
			leaf = find_leaf(list, from, &word);
			continue;
		}
		n += m;
		if (n == max) {
			from = items[n - 1].key + items[n - 1].size; /* what came out stays disjoint */
			break;
		}
		if (!(word & NODE_VOID)) { /* a VOID leaf covers nothing */
			if (end >= last || !right)
				break;
			from = max(from, end + 1); /* fences may have moved left since */
		}
		leaf = right;
		word = node_read(leaf);
		if (unlikely(word & NODE_DEAD))
			leaf = find_leaf(list, from, &word);
	}
	*next = from;
	return n;
}

size_t lath_index_scan(struct lath_index *public, uint64_t from, uint64_t last, struct lath_item *items,
			  size_t max, uint64_t *next)
{
	struct tree *list = tree_of(public);
	size_t n;
	u64 go_on = from;

	if (!max || from > last)
		return 0;
	lath_reader_enter(list->rcu);
	n = scan(list, from, last, items, max, &go_on);
	lath_reader_exit(list->rcu);
	if (next)
		*next = go_on;
	return n;
}

/* ---- to the left ---- */

/* The items of one leaf that start in [first, from], the highest first: how many of them fit. */
static size_t copy_leaf_back(const struct node *leaf, bool ranges, u64 from, u64 first,
			     struct lath_item *items, size_t max)
{
	int i = node_floor(leaf, from);
	size_t n = 0;

	for (; i >= 0 && n < max; i = node_before(leaf, i)) {
		if (node_key(leaf, (unsigned int)i) < first)
			break;
		item_of(leaf, (unsigned int)i, ranges, &items[n++]);
	}
	return n;
}

static size_t scan_back(struct tree *list, u64 from, u64 first, struct lath_item *items, size_t max,
			u64 *next)
{
	size_t n = 0;

	for (;;) {
		u64 word, low;
		struct node *leaf = find_leaf(list, from, &word);
		size_t m = copy_leaf_back(leaf, list->ranges, from, first, items + n, max - n);

		low = READ_ONCE(leaf->low);
		if (unlikely(!node_valid(leaf, word)))
			continue;
		n += m;
		if (n == max) {
			*next = items[n - 1].key ? items[n - 1].key - 1 : 0;
			return n;
		}
		if (low <= first)
			return n;
		from = low - 1;
	}
}

size_t lath_index_scan_back(struct lath_index *public, uint64_t from, uint64_t first,
			       struct lath_item *items, size_t max, uint64_t *next)
{
	struct tree *list = tree_of(public);
	u64 go_on = from;
	size_t n;

	if (!max || from < first)
		return 0;
	lath_reader_enter(list->rcu);
	n = scan_back(list, from, first, items, max, &go_on);
	lath_reader_exit(list->rcu);
	if (next)
		*next = go_on;
	return n;
}
