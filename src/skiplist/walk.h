/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.h - one step of the walk from the root to a leaf (walk.c, batch.c, scan.c).
 */
#ifndef LATH_SKIPLIST_WALK_H
#define LATH_SKIPLIST_WALK_H

#include "skiplist/list.h"

/* What the next node is wanted for: more walking, or, being a leaf, a lookup, an erase, an insert. */
enum walk_for { WALK_ON, WALK_TO_READ, WALK_TO_ERASE, WALK_TO_INSERT };

/* Entries of an average leaf. */
#define NODE_FILL (NODE_CAP * 27 / 32)

/*
 * Ask memory for what a search of the child at entry i begins with, its header and heads, and for the
 * pairs it will need then: guessed by interpolation between the separators, else they would be a
 * second wait. A lookup takes the two lines around the guess, an insert also what it will move.
 */
static inline void prefetch_child(const struct node *inner, unsigned int i, const struct node *child, u64 key,
				  enum walk_for use)
{
	u64 sep, next;
	const char *pair, *end;

	if (use == WALK_ON) {
		prefetch((const char *)child);
		prefetch((const char *)child + 64);
		return;
	}
	sep = node_key(inner, i);
	next = i + 1 < NODE_CAP ? node_key(inner, i + 1) : READ_ONCE(inner->last);
	pair = (const char *)&child->pair[lath_part(key - sep, next - sep, NODE_FILL)];
	if (use != WALK_TO_INSERT) {
		if (use == WALK_TO_ERASE)
			prefetchw(child);
		else
			prefetch((const char *)child);
		prefetch((const char *)child + 64);
		prefetch(pair - 32);
		prefetch(pair + 32);
		return;
	}
	prefetchw((const char *)child);
	prefetchw((const char *)child + 64);
	end = (const char *)&child->pair[NODE_FILL];
	for (pair -= 32; pair < end; pair += 64)
		prefetchw(pair);
}

/* One step down or right from an inner node. NULL: start anew. */
static inline struct node *walk_step(struct node *node, u64 key, enum walk_for use)
{
	for (;;) {
		u64 word = node_read(node);
		struct node *next;

		if (unlikely(word & NODE_DEAD))
			return NULL;
		if (unlikely(key > READ_ONCE(node->last))) {
			next = READ_ONCE(node->right);
		} else {
			unsigned int i = inner_slot(node, key);

			next = node_child(node, i);
			prefetch_child(node, i, next, key, use);
		}
		if (node_valid(node, word))
			return next;
	}
}

#endif /* LATH_SKIPLIST_WALK_H */
