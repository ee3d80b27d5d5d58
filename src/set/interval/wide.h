/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wide.h - a tree of points that have a word each beside their value: for intervals the distance
 * from the first to the last key.
 *
 * The word is in the side column of the leaves, where a tree of ranges has the sizes. The points
 * are disjoint, so the tree below is the one of LATH_POINTS.
 */
#ifndef LATH_INDEX_WIDE_H
#define LATH_INDEX_WIDE_H

#include "tree/tree.h"

/* Insert the point item->key with the word item->size: 0 | -EEXIST: the point is there | -ENOMEM.
 * No lock held. */
int lath_wide_insert(struct tree *tree, const struct lath_item *item);
/* Erase the point if its word and its value are these: 0 | -ENOENT. Never allocates. No lock
 * held. */
int lath_wide_erase(struct tree *tree, const struct lath_item *item);

/* Points in [from, to] whose key + word is in [low, high]. */
struct wide_query {
	u64 from, to;
	u64 low, high;
};

/* Prefetch the hint for key / what a scan reads, as far as hints tell where it is. */
void lath_wide_prefetch_hint(struct tree *tree, u64 key);
void lath_wide_prefetch(struct tree *tree, const struct wide_query *query);
/*
 * Copy at most max points, in order, as {key, key + word + behind, value}; found == NULL: count
 * them only. Returns their number; *next is behind the last key that was looked at if the number is
 * max. In a read-side critical section, no lock held; concurrently with anything.
 */
size_t lath_wide_scan(struct tree *tree, const struct wide_query *query, struct lath_item *found,
		      size_t max, u64 behind, u64 *next);

#endif /* LATH_INDEX_WIDE_H */
