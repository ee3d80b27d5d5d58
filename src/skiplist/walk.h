/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * walk.h - one step of the walk from the root to a leaf (walk.c, batch.c, scan.c).
 */
#ifndef LATH_SKIPLIST_WALK_H
#define LATH_SKIPLIST_WALK_H

#include "skiplist/list.h"

/* Bring in what a lookup of key will touch in leaf i of this inner node: header and heads, and the
 * pair line guessed by interpolation between the separators. */
static inline void prefetch_leaf(const struct inner *inner, unsigned int i, struct node *child, u64 key)
{
	u64 sep = READ_ONCE(inner->sep[i]);
	u64 next = i + 1 < INNER_CAP ? READ_ONCE(inner->sep[i + 1]) : KEY_MAX;
	u64 span = next - sep, off = key - sep;
	unsigned int bits = fls64(span);
	char *p = (char *)child;

	prefetch(p);
	prefetch(p + 64);
	if (bits > 32) {
		span >>= bits - 32;
		off >>= bits - 32;
	}
	if (span > LEAF_CAP && off <= span) {
		unsigned int guess = (u32)(off * (LEAF_CAP * 13 / 16) / span);

		prefetch((char *)&node_leaf(child)->pair[guess]);
	}
}

/* One step down or right. Returns the next node, NULL to start anew. */
static inline struct node *walk_step(struct node *node, u64 key, bool leaves)
{
	struct inner *inner = node_inner(node);

	for (;;) {
		u64 word = node_read(node);
		struct node *next;

		if (unlikely(word & NODE_DEAD))
			return NULL;
		if (unlikely(key > READ_ONCE(node->last) || word & NODE_VOID)) {
			next = READ_ONCE(node->right);
		} else {
			unsigned int i = inner_slot(inner, key);

			next = READ_ONCE(inner->child[i]);
			if (leaves)
				prefetch_leaf(inner, i, next, key);
		}
		if (node_valid(node, word))
			return next;
	}
}

/* The header of an inner node and what its search reads. */
static inline void prefetch_inner(struct node *node)
{
	char *p = (char *)node;
	unsigned int i;

	for (i = 0; i <= sizeof(u64) * INNER_CAP / 64; i++)
		prefetch(p + 64 * i);
}

#endif /* LATH_SKIPLIST_WALK_H */
