/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rank.h - counts of the items below the entries of inner nodes, for rank, select and count_range.
 *
 * Only in trees made with LATH_RANKS. There each entry of an inner node has a count in the side
 * column: how many items have their keys between its separator and the next one. A count is valid
 * or outdated. Calls that ask for ranks make counts valid (lath_count_refresh), changes outdate
 * them (lath_count_outdate): so an insert writes to the nodes above its leaf once after each such
 * call, and not at all if there is none.
 *
 * A leaf that a valid count includes is marked (node->counted). A change of the number of its items
 * then outdates the counts of all entries above that cover the item's key, and clears the mark.
 * The mark is looked at under the leaf's lock:
 *
 *   C1  a valid count of an entry is the number of items with keys of the entry, but for changes
 *       whose calls have not returned yet
 *   C2  if an entry with a valid count covers a key, the leaf that covers it is marked
 *
 * Counts belong to keys, not to children. So entries that move from node to node take their counts
 * along, and items may move from leaf to leaf below a valid count, as long as the leaf that gets
 * keys gets the mark with them (count_mark). Only where separators are added, erased or moved, the
 * counts of the entries beside them are outdated, in the same locked section (count_outdate_entry).
 *
 * An item counts as one, or in a tree with weights as many as tree->weight() says of its value: a
 * record of a set of byte keys is one, an array of records as many as it has (set/bytes/count.c).
 * The weight of an item may change while nothing changes in the tree. The caller that changed it
 * calls lath_count_weight_changed() afterwards. A thread that counts marks the leaf before it reads
 * weights, so one of the two sees what the other did. Read "the weights of the items" for their
 * number in C1.
 *
 * `count_lock` serialises refreshing and outdating. Otherwise a thread could find the mark cleared
 * by another one that has not outdated all counts yet; or outdate a count that is at once computed
 * from lower ones, which are not outdated yet.
 */
#ifndef LATH_INDEX_RANK_H
#define LATH_INDEX_RANK_H

#include "tree/way/descend.h"

/* In the side column of inner nodes: with a valid count. 0: outdated. */
#define COUNT_VALID (1ull << 63)

/* What an inner node says of the entry that covers a key. */
struct counted {
	unsigned int i;
	u64 first, last; /* the keys of the entry */
	u64 count;	 /* with COUNT_VALID, or 0 */
	struct node *child;
};

/* Read the entry that covers key; to be validated. Returns false if the node is being changed. */
static inline bool counted_entry(const struct node *inner, u64 key, struct counted *entry)
{
	long i = inner_slot(inner, key);

	if (unlikely(i < 0))
		return false;
	entry->i = (unsigned int)i;
	entry->first = node_key(inner, entry->i);
	entry->last = inner_end(inner, entry->i);
	entry->count = READ_ONCE(inner->size[i]);
	entry->child = node_child(inner, entry->i);
	return true;
}

static inline struct node *top_node(struct tree *tree)
{
	return smp_load_acquire(&tree->root); /* pairs with add_root */
}

/* ---- for the tree (tree/watch/change.h) ---- */

/* The number of items with keys of [first, last] has changed in a marked leaf: outdate the counts
 * that include them. In a call, no lock held. */
void lath_count_outdate(struct tree *tree, u64 first, u64 last);

/* The weight of the item at this key has changed: outdate the counts that include it. In a
 * read-side critical section of a call, no lock held. */
void lath_count_weight_changed(struct tree *tree, u64 key);

/* The keys of entry i of a locked inner node have changed: outdate its count. */
static inline void count_outdate_entry(const struct tree *tree, struct node *inner, unsigned int i)
{
	LATH_ASSERT(node_is_locked(inner) && node_level(inner));
	if (unlikely(tree->ranks))
		WRITE_ONCE(inner->size[i], 0);
}

/* One locked leaf has taken keys of another one: counts that include these include the first. */
static inline void count_mark(struct node *to, const struct node *from)
{
	LATH_ASSERT(node_is_locked(to));
	if (unlikely(READ_ONCE(from->counted)))
		WRITE_ONCE(to->counted, 1);
}

/* ---- for tree.c and bytes/ ---- */

/* Returns false if the tree keeps no counts; else *count: all items. No lock held. */
bool lath_count_all(struct tree *tree, u64 *count);

/* Find the item that the one with *left before it is in: *left is then how many of its weight are
 * before that one. In a tree with weights *found has the value alone. Returns false: there are no
 * more than *left. In a read-side critical section of a call, no lock held. */
bool lath_rank_select(struct tree *tree, u64 *left, struct lath_item *found);

/* ---- for rank.c ---- */

/* Compute the outdated counts of a node of this level, from the entry that covers `key` on up to
 * the one that covers `last`, as far as the nodes below allow: their counts must be valid, and
 * their fence keys agree with the separators. Returns whether any was. In a read-side critical
 * section of a call, no lock held. */
bool lath_count_refresh(struct tree *tree, u64 key, u64 last, unsigned int level);

/* ---- verify ---- */

/* Is C1 true of entry i of an inner node? *marked: is C2? No thread changes the tree. */
bool lath_count_true(const struct tree *tree, const struct node *inner, unsigned int i,
		     bool *marked);

#endif /* LATH_INDEX_RANK_H */
