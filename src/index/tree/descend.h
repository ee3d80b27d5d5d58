/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.h - one step of the walk from the root to a leaf (walk.c, batch.c, scan.c).
 */
#ifndef LATH_INDEX_WALK_H
#define LATH_INDEX_WALK_H

#include "index/tree/tree.h"

/* What the next node is wanted for: more walking, in a large inner node with its pairs; or, being a leaf, a lookup,
 * an erase, an insert. */
enum walk_for { WALK_ON, WALK_TO_INNER, WALK_TO_READ, WALK_TO_ERASE, WALK_TO_INSERT };

/* Slots an average leaf uses. */
static __always_inline unsigned int leaf_fill(const struct tree *list)
{
	return READ_ONCE(list->loose) ? NODE_CAP : NODE_CAP * 7 / 8;
}

/*
 * Ask memory for what a search of a child begins with, its header and heads, and for the pairs it will need then, or
 * they would be a second wait: `pair` is where the key's may be. Random keys stray: two lines around the guess hit 7 times
 * of 10 in a leaf and 9 of 10 in an inner node, whose entries are spread; four lines 9 of 10 in a leaf. An
 * insert takes eight, for what it will move. `fill`: entries that are used in such a child, on average.
 */
static __always_inline void prefetch_leaf(const struct node *child, const char *pair, enum walk_for use,
					  unsigned int fill)
{
	const char *end;
	unsigned int i;

	if (use != WALK_TO_INSERT) {
		if (use == WALK_TO_ERASE)
			prefetchw(child);
		else
			prefetch((const char *)child);
		prefetch((const char *)child + 64);
		prefetch(pair - 32);
		prefetch(pair + 32);
		if (use != WALK_TO_INNER) {
			prefetch(pair - 96);
			prefetch(pair + 96);
		}
		return;
	}
	prefetchw((const char *)child);
	prefetchw((const char *)child + 64);
	if (fill == NODE_CAP) /* spread: a free slot is near, on either side */
		pair -= 160;
	end = (const char *)&child->pair[NODE_CAP] - 64;
	/* a number of lines that depended on the guess would cost a misprediction more than it saves */
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		prefetchw(min(pair - 32 + 64 * i, end));
}

/* The same for the child at an entry of an inner node; where in it the key is, is guessed between the separators. */
static __always_inline void prefetch_child(const struct node *inner, const struct pair *slot,
					   const struct node *child, u64 key, enum walk_for use,
					   unsigned int fill)
{
	u64 sep, next, behind;

	if (use == WALK_ON) {
		prefetch((const char *)child);
		prefetch((const char *)child + 64);
		return;
	}
	sep = READ_ONCE(slot->key);
	behind = READ_ONCE(inner->live) >> (slot - inner->pair) >> 1;
	next = behind ? READ_ONCE(slot[1 + __ffs64(behind)].key) : READ_ONCE(inner->last);
	prefetch_leaf(child, (const char *)&child->pair[lath_part(key - sep, next - sep, fill)], use, fill);
}

enum step { STEP_ANEW, STEP_DOWN, STEP_RIGHT };

/* One step down or right from an inner node; STEP_ANEW: begin at the root again. */
static __always_inline enum step walk_step(struct node **at, u64 key, enum walk_for use, unsigned int fill)
{
	struct node *node = *at, *next;
	enum step step;

	for (;;) {
		u64 word = smp_load_acquire(&node->word); /* pairs with node_unlock */

		if (unlikely(word & (NODE_LOCKED | NODE_DEAD))) {
			word = node_read(node);
			if (word & NODE_DEAD)
				return STEP_ANEW;
		}
		if (unlikely(key > READ_ONCE(node->last))) {
			step = STEP_RIGHT;
			next = LATH_LINK(READ_ONCE(node->right));
			if (!next) /* being changed: the rightmost covers all keys */
				continue;
		} else {
			const struct pair *slot;
			long i = inner_slot(node, key);

			if (unlikely(i < 0))
				return STEP_ANEW;
			step = STEP_DOWN;
			slot = &node->pair[i];
			next = LATH_LINK((struct node *)(uintptr_t)READ_ONCE(slot->value));
			prefetch_child(node, slot, next, key, use, fill);
		}
		if (node_valid(node, word)) {
			*at = next;
			return step;
		}
	}
}

/*
 * The walk from the root to the leaf that covers key, and the leaf's word as it was when that was so.
 * Right without a reader too, where node memory keeps its kind: a node that died under us and was used
 * again is another live node of this list, so at worst the walk ends in a leaf elsewhere, and its
 * fences, read under its word, tell.
 */
static __always_inline struct node *descend(struct tree *list, u64 key, u64 *word, enum walk_for use)
{
	struct node *node, *right;
	unsigned int level, fill = leaf_fill(list);
	u64 w;

restart:
	node = LATH_LINK(smp_load_acquire(&list->root)); /* pairs with the store in grow.c add_root */
	while ((level = node_level(node)) > READ_ONCE(list->guess_from))
		if (unlikely(!walk_step(&node, key, WALK_ON, 0)))
			goto again;
	while (level == 2) {
		if (unlikely(!walk_step(&node, key, WALK_TO_INNER, NODE_CAP)))
			goto again;
		level = node_level(node);
	}
	while (level == 1) {
		if (unlikely(!walk_step(&node, key, use, fill)))
			goto again;
		level = node_level(node);
	}
	if (unlikely(level)) /* used again higher up */
		goto again;
	for (;;) {
		w = smp_load_acquire(&node->word); /* pairs with node_unlock */
		if (unlikely(w & NODE_FLAGS)) {
			w = node_read(node);
			if (w & NODE_DEAD)
				goto again;
			if (w & NODE_VOID)
				goto right;
		}
		if (unlikely(key < READ_ONCE(node->low)))
			goto again;
		if (likely(key <= READ_ONCE(node->last))) {
			lath_delay("walk: leaf found");
			*word = w;
			return node;
		}
right:
		right = LATH_LINK(READ_ONCE(node->right));
		if (node_valid(node, w))
			node = right;
	}
again:
	lath_fetch_add(&list->restarts, 1);
	goto restart;
}

/*
 * The leaf that holds key and its word: this one, or the one at its right, where the upper half of a leaf has gone that
 * was split since; or NULL.
 */
static __always_inline struct node *leaf_settle(struct node *leaf, u64 key, u64 *word)
{
	struct node *right;

	if (likely(node_holds(leaf, key, word)))
		return leaf;
	if (*word & NODE_FLAGS || key < READ_ONCE(leaf->low))
		return NULL;
	right = leaf_right(leaf);
	if (!node_valid(leaf, *word) || !right)
		return NULL;
	prefetch((const char *)right->head);
	lath_delay("a leaf to the right");
	return node_holds(right, key, word) ? right : NULL;
}

#endif /* LATH_INDEX_WALK_H */
