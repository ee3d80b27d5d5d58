/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * leaf.h - one leaf, one lock: what a step of a change returns, and the insert between the fence
 * keys.
 *
 * No range crosses a fence (I5). So whatever could overlap a new range that fits between a leaf's
 * fence keys is in the same leaf, and its lock is all an insert needs.
 */
#ifndef LATH_INDEX_LEAF_H
#define LATH_INDEX_LEAF_H

#include "tree/watch/change.h"

/* Move n entries from the end of `left` to its right sibling, and the fence between them. Both are
 * locked and compact; the caller reindexes them. */
static inline void give_right(struct node *left, struct node *right, unsigned int n,
			      unsigned int side)
{
	LATH_ASSERT(node_is_locked(left) && node_is_locked(right));
	LATH_ASSERT(n && n <= left->used);
	lath_node_move_up(left, right, n, side);
	WRITE_ONCE(right->low, node_key(right, 0));
	WRITE_ONCE(left->last, node_key(right, 0) - 1);
	change_keys(right, left);
}

/* What became of a change to a leaf. The names say when the leaf is still locked. */
enum leaf_result {
	LEAF_DONE = 0,	     /* done; unlocked */
	LEAF_CONFLICT,	     /* an item overlaps; unlocked */
	LEAF_ABSENT,	     /* there is no such item; unlocked */
	LEAF_STALE,	     /* the leaf had changed since it was read; not locked */
	LEAF_FULL_LOCKED,    /* no free entry; still locked */
	LEAF_CROSSES_LOCKED, /* the range ends beyond the right fence; still locked */
};

/* The error code of the public calls for a result that is not LOCKED or STALE. */
static inline int leaf_error(enum leaf_result result)
{
	LATH_ASSERT(result <= LEAF_ABSENT);
	return result == LEAF_DONE ? 0 : result == LEAF_CONFLICT ? -EEXIST : -ENOENT;
}

/* Returns the rank of key in the locked leaf: first tries behind the last insert, where those
 * before it went behind each other. */
static __always_inline unsigned int leaf_rank(const struct node *leaf, u64 key)
{
	unsigned int next = leaf->at + 1u;

	if (leaf->run > 1 && next <= leaf->used && node_key(leaf, next - 1) < key &&
	    (next == leaf->used || node_key(leaf, next) >= key))
		return next;
	return node_rank(leaf, key);
}

/* Returns a live entry of the locked leaf that overlaps [key, end], where key has this rank; or -1.
 */
static __always_inline int leaf_overlap(const struct node *leaf, unsigned int rank, u64 key,
					u64 end)
{
	u64 above = rank < NODE_CAP ? leaf->live >> rank : 0, below;

	if (node_has_sizes(leaf)) {
		below = leaf->live & lath_ones(rank);
		if (below && node_end(leaf, __fls64(below)) >= key)
			return (int)__fls64(below);
	}
	if (!above)
		return -1;
	rank += __ffs64(above);
	return node_key(leaf, rank) <= end ? (int)rank : -1;
}

/*
 * Insert an item that begins in the locked leaf. LEAF_DONE | LEAF_CONFLICT (*conflict, if not NULL:
 * an item that overlaps) | LEAF_FULL_LOCKED | LEAF_CROSSES_LOCKED.
 */
static __always_inline enum leaf_result leaf_insert(struct tree *tree, struct node *leaf,
						    const struct lath_item *item,
						    struct lath_item *conflict)
{
	u64 key = item->key, end = node_has_sizes(leaf) ? key + item->size - 1 : key;
	unsigned int rank = leaf_rank(leaf, key);
	int hit = leaf_overlap(leaf, rank, key, end);
	bool marked;

	LATH_ASSERT(node_is_locked(leaf) && !node_level(leaf) && key >= leaf->low &&
		    key <= leaf->last);
	if (unlikely(hit >= 0)) {
		if (conflict)
			item_of(tree, leaf, (unsigned int)hit, conflict);
		node_unlock_clean(leaf);
		return LEAF_CONFLICT;
	}
	lath_delay("insert: leaf locked");
	if (unlikely(end > leaf->last))
		return LEAF_CROSSES_LOCKED;
	if (unlikely(node_full(leaf)))
		return LEAF_FULL_LOCKED;
	lath_node_insert(leaf, rank, key, item->size, item->value, tree->leaf_side);
	marked = leaf->counted;
	node_unlock(leaf);
	change_added(tree, key, item->size, marked);
	return LEAF_DONE;
}

#endif /* LATH_INDEX_LEAF_H */
