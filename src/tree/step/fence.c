/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fence.c - several adjacent leaves locked from left to right, and a range that is put across their
 * fences.
 *
 * A range that would cross a fence moves the fence instead: all keys from the range's first one on
 * go to the leaf that covers its last one. So no range ever crosses a fence (I5), and one leaf
 * answers every lookup. Leaves between lose all their keys and become HALF_DEAD until they are
 * merged.
 */
#include "tree/step/step.h"
#include "tree/watch/change.h"
#include "tree/way/locate.h"

struct node *lath_lock_until(struct node *first, u64 end, int *hit)
{
	struct node *last = first;

	LATH_ASSERT(node_is_locked(first) && end >= first->low);
	*hit = -1;
	while (end > last->last || node_half_dead(last)) {
		last = lock_right(last); /* not NULL: the rightmost leaf covers the last key */
		*hit = node_after(last, -1);
		if (*hit >= 0 && node_key(last, (unsigned int)*hit) <= end)
			break;
		*hit = -1;
	}
	return last;
}

static void unlock_changed(struct node *first, struct node *last)
{
	while (first != last) {
		struct node *next = leaf_right(first);

		node_unlock(first);
		first = next;
	}
	node_unlock(last);
}

void lath_unlock_clean_before(struct node *first, struct node *last)
{
	while (first != last) {
		struct node *next = leaf_right(first);

		node_unlock_clean(first);
		first = next;
	}
}

void lath_unlock_clean(struct node *first, struct node *last)
{
	lath_unlock_clean_before(first, last);
	node_unlock_clean(last);
}

void lath_cover_from(struct node *first, struct node *last, u64 key)
{
	struct node *leaf;

	LATH_ASSERT(first != last && key >= first->low && key <= first->last);
	for (leaf = first; leaf != last; leaf = leaf_right(leaf)) {
		LATH_ASSERT(node_is_locked(leaf));
		change_keys(last, leaf);
		if (leaf->low < key && !node_half_dead(leaf)) {
			WRITE_ONCE(leaf->last, key - 1);
		} else {
			LATH_ASSERT(!leaf->live);
			WRITE_ONCE(leaf->lockword, READ_ONCE(leaf->lockword) | NODE_HALF_DEAD);
		}
	}
	LATH_ASSERT(!node_half_dead(last));
	WRITE_ONCE(last->low, key);
}

void lath_finish_cover(struct tree *tree, struct node *first, struct node *last, u64 key, u64 end)
{
	bool apart = leaf_right(first) != last || node_half_dead(first);
	u64 from = first->low, to = last->last, lockword;
	struct node *leaf;

	LATH_ASSERT(last->low == key && end <= to); /* lath_cover_from() */
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	for (leaf = first; leaf; leaf = leaf == last ? NULL : leaf_right(leaf))
		change_node(tree, leaf);
	unlock_changed(first, last);
	if (apart) { /* half-dead leaves stand before last in the parent too: no separator moves
			past them */
		lath_merge_half_dead(tree, first, key, end, to);
		last = locate(tree, key, FOR_READ, &lockword); /* it may have been merged, too */
	}
	lath_post_low(tree, last);
	change_levels(tree, from, to, 1, 1, true);
	change_end(tree);
}
