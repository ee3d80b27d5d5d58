/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * post.h - tell the level above where a node begins ("posting"; Lomet and Salzberg 1992).
 *
 * A new node is first linked to its left sibling, where a descent finds it by moving right (an
 * incomplete split). Then, with no lock held below, its parent gets an entry for it: a separator
 * key and a downlink. A separator may be too high, which costs a descent a move to the right. It
 * must never be too low (I9).
 */
#ifndef LATH_INDEX_POST_H
#define LATH_INDEX_POST_H

#include "tree/memory/pool.h"

/* Link a new node, not reachable yet, right of the locked `left`, and note that it has no
 * downlink. */
static inline void link_right(struct node *left, struct node *fresh)
{
	LATH_ASSERT(node_is_locked(left) && node_is_locked(fresh));
	WRITE_ONCE(fresh->no_downlink, 1);
	WRITE_ONCE(left->right, fresh);
}

/*
 * Give the node a downlink, or lower its separator to the node's low fence; then the same for inner
 * nodes that were split or moved by that. If memory for an inner node is missing, the node keeps
 * no_downlink, and a later call for a leaf near it tries again. In a read-side critical section, so
 * that no node met here is reused in the meantime; no lock held.
 */
void lath_post(struct tree *tree, struct node *node, struct reserve *reserve);
/* Post some of the leaves right of `leaf` that found no memory earlier. Conditions as for post. */
void lath_post_right(struct tree *tree, struct node *leaf, struct reserve *reserve);
/* The low fence of a leaf fell: lower its separator. Needs no memory. Conditions as for post. */
void lath_post_low(struct tree *tree, struct node *leaf);

#endif /* LATH_INDEX_POST_H */
