/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.h - one step of the walk from the root to a leaf (walk.c, batch.c, scan.c).
 */
#ifndef LATH_SKIPLIST_WALK_H
#define LATH_SKIPLIST_WALK_H

#include "skiplist/list.h"

/* Bring in what a search of the child at entry i begins with: header and heads. */
static inline void prefetch_node(const struct node *node)
{
	prefetch((const char *)node);
	prefetch((const char *)node + 64);
}

/* And the pair line for key, guessed by interpolation between the separators. */
static inline void prefetch_pair(const struct node *inner, unsigned int i, const struct node *child, u64 key)
{
	u64 sep = node_key(inner, i);
	u64 next = i + 1u < READ_ONCE(inner->used) && i + 1 < NODE_CAP ? node_key(inner, i + 1)
								       : READ_ONCE(inner->last);
	u64 span = next - sep, off = key - sep;
	unsigned int bits = fls64(span);

	if (bits > 24) {
		span >>= bits - 24;
		off >>= bits - 24;
	}
	if (span && off <= span) /* neighbours are 13/16 full on average */
		prefetch((const char *)&child->pair[(u32)off * (NODE_CAP * 13 / 16) / ((u32)span + 1)]);
}

/* One step down or right from an inner node; guess: ask for the pair line too. NULL: start anew. */
static inline struct node *walk_step(struct node *node, u64 key, bool guess)
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
			prefetch_node(next);
			if (guess)
				prefetch_pair(node, i, next, key);
		}
		if (node_valid(node, word))
			return next;
	}
}

#endif /* LATH_SKIPLIST_WALK_H */
