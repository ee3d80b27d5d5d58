/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * change.h - what the tree tells of a change, and to whom.
 *
 * Four parts follow what happens to nodes and keys, and are called here and nowhere else in tree/
 * (but for load.c, which measures a whole level at once):
 *
 *   gap     how much free space there is below each node (LATH_HOLES)
 *   bound   where a thread's next search for a hole begins (LATH_HOLES)
 *   count   how many items there are below each entry (LATH_RANKS)
 *   watch   a registered watcher, which is told which keys become free and taken (LATH_HOLES)
 *
 * Whoever changes the tree tells them without asking which of them there are. Everything is
 * inlined; a tree with none of the four pays three predictable branches.
 *
 *   change_begin        before anything is unlocked of which someone must still be told
 *   change_node         a node's fence keys or its free space changed, or it is new. The node is
 *                       locked, or not reachable yet. Called before it is unlocked: whoever finds
 *                       its nodes by key may come to the sibling instead afterwards
 *   change_boundary     the boundary between two locked inner siblings moved
 *   change_child        an entry of a locked inner node leads to another child than before, or has
 *                       taken the keys of the entry behind it
 *   change_separator    the entry of a locked inner node that covers this key has lost keys to a
 *                       new entry, or taken those of an erased one
 *   change_keys         a locked leaf has taken keys of another one
 *   change_number       `marked`, which is node->counted while the leaf is locked: the number of
 *                       its items with keys of [first, last] changed. No lock held
 *   change_added        [key, key + size) was free and is not any more; `marked`: as for
 *                       change_number, of the item that begins there. No lock held
 *   change_erased       entry i left a locked leaf
 *   change_gone         the leaf of change_erased is unlocked: tells the nodes above it, and ends
 *                       the change
 *   change_freed        the keys of these adjacent items of one leaf are free now: tells the nodes
 *                       above it, and ends the change. `marked`: as for change_number. No lock held
 *   change_storing      a range will be stored over whatever is in [key, end]. Returns what
 *   change_stored       is given when that has been done, or failed. No lock held
 *   change_levels       tell the nodes of levels [from, to] that cover keys of [first, last], and
 *                       go on upwards while something changes. No lock held, in a read-side
 *                       critical section. `anew`: measure the nodes again, because a summary was
 *                       computed while one of its entries was "unknown"
 *   change_end          everything has been told
 *
 * Between change_begin and change_end a summary above the changed nodes may promise too little;
 * searches that depend on summaries count the changes in flight (lath_gap_begun, lath_gap_ended).
 */
#ifndef LATH_INDEX_CHANGE_H
#define LATH_INDEX_CHANGE_H

#include "tree/watch/bound.h"
#include "tree/watch/gap.h"
#include "tree/watch/rank.h"
#include "tree/watch/watch.h"

static inline void change_begin(struct tree *tree)
{
	gap_change_begin(tree);
}

static inline void change_end(struct tree *tree)
{
	gap_change_end(tree);
}

static inline void change_node(struct tree *tree, struct node *node)
{
	LATH_ASSERT(node_is_locked(node));
	lath_gap_recompute(tree, node);
}

static inline void change_child(struct tree *tree, struct node *inner, unsigned int i)
{
	LATH_ASSERT(node_is_locked(inner) && node_level(inner));
	LATH_ASSERT(inner->live >> i & 1);
	gap_entry_unknown(tree, inner, i);
	count_outdate_entry(tree, inner, i);
}

static inline void change_separator(struct tree *tree, struct node *inner, u64 key)
{
	LATH_ASSERT(inner_slot(inner, key) >= 0);
	if (unlikely(tree->ranks))
		count_outdate_entry(tree, inner, (unsigned int)inner_slot(inner, key));
}

static inline void change_keys(struct node *to, const struct node *from)
{
	LATH_ASSERT(to != from && node_level(to) == node_level(from));
	count_mark(to, from);
}

static inline void change_number(struct tree *tree, u64 first, u64 last, bool marked)
{
	LATH_ASSERT(first <= last && (!marked || tree->ranks));
	if (unlikely(marked))
		lath_count_outdate(tree, first, last);
}

static inline void change_boundary(struct tree *tree, struct node *left, struct node *right)
{
	LATH_ASSERT(node_is_locked(left) && node_is_locked(right));
	LATH_ASSERT(left->right == right && left->last + 1 == right->low);
	lath_gap_recompute_boundary(tree, left, right);
	count_outdate_entry(tree, left, __fls64(left->live));
	count_outdate_entry(tree, right, __ffs64(right->live));
}

static inline void change_added(struct tree *tree, u64 key, u64 size, bool marked)
{
	if (unlikely(tree->holes))
		watch_inserted(tree, key, size);
	change_number(tree, key, key, marked);
}

/* What an erase tells the nodes above; only change_erased and change_gone look inside. */
struct change_up {
	struct gap_raise gap;
	u64 size;      /* of the item */
	bool promised; /* the nodes above need not be told */
};

static inline void change_erased(struct tree *tree, struct node *leaf, unsigned int i,
				 struct change_up *up)
{
	LATH_ASSERT(node_is_locked(leaf));
	LATH_ASSERT(!(leaf->live >> i & 1)); /* it has left */
	if (!tree->holes)
		return;
	up->size = node_side(leaf, i);
	up->gap.note = bound_notes(tree);
	up->promised = lath_gap_erased(leaf, i, &up->gap);
}

/* change_gone() and change_freed() with LATH_HOLES, but for the number of items. */
void lath_change_gone(struct tree *tree, u64 key, struct change_up *up);
void lath_change_freed(struct tree *tree, const struct lath_item *items, unsigned int n);

static inline void change_gone(struct tree *tree, u64 key, bool marked, struct change_up *up)
{
	if (unlikely(tree->holes))
		lath_change_gone(tree, key, up);
	change_number(tree, key, key, marked);
}

static inline void change_freed(struct tree *tree, const struct lath_item *items, unsigned int n,
				bool marked)
{
	LATH_ASSERT(n && items[0].key <= items[n - 1].key);
	if (unlikely(tree->holes))
		lath_change_freed(tree, items, n);
	change_number(tree, items[0].key, items[n - 1].key, marked);
}

static inline u64 change_storing(struct tree *tree, u64 key, u64 end)
{
	return unlikely(tree->holes) ? watch_storing(tree, key, end) : KEY_MAX;
}

static inline void change_stored(struct tree *tree, u64 first, bool stored)
{
	watch_stored(tree, first, stored);
}

static inline void change_levels(struct tree *tree, u64 first, u64 last, unsigned int from,
				 unsigned int to, bool anew)
{
	LATH_ASSERT(from && from <= to); /* leaves are told by change_node() */
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	if (tree->holes)
		lath_gap_propagate(tree, first, last, from, to, anew);
}

#endif /* LATH_INDEX_CHANGE_H */
