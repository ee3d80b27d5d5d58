/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * locate.h - from a key to its leaf: the only way there for every call that knows its key.
 *
 * locate() tries, in this order: the thread's fingers (two loads, for neighbouring keys), the hint
 * table (one cache miss), the descent from the root. The first two may fail; the descent does not.
 * What any of them returns is trusted only as far as the leaf's lockword says: the caller validates
 * it after reading, or locks the leaf under it. Batches look up many leaves at once (batch.c) and
 * use the same parts.
 *
 * No lock held; may run concurrently with anything. For locate(), the caller is in a section
 * (section_enter) until it has validated or locked the leaf; locate_locked() is called in a call
 * (lath_call_enter).
 */
#ifndef LATH_INDEX_LOCATE_H
#define LATH_INDEX_LOCATE_H

#include "tree/way/hint.h"

/* locate() without fingers. */
struct node *lath_locate_far(struct tree *tree, u64 key, enum intent intent, u64 *lockword);
/* locate_locked() without fingers. */
struct node *lath_locate_far_locked(struct tree *tree, u64 key, enum intent intent);

/* Returns the leaf that covers key, with its lockword as it was when that was so. Never locked,
 * never DEAD. */
static __always_inline struct node *locate(struct tree *tree, u64 key, enum intent intent,
					   u64 *lockword)
{
	struct node *leaf = finger_find(tree, key, lockword);

	LATH_ASSERT(nodes_stay(tree) || lath_reader_inside(tree->rcu)); /* nodes are freed */
	if (!leaf)
		leaf = lath_locate_far(tree, key, intent, lockword);
	LATH_ASSERT(node_sound(*lockword)); /* not locked, not dead: node_valid() may compare */
	lath_delay("located, not yet searched");
	return leaf;
}

/* Returns the leaf that covers key, locked. intent: FOR_INSERT, or FOR_ERASE for all other changes.
 */
static __always_inline struct node *locate_locked(struct tree *tree, u64 key, enum intent intent)
{
	u64 lockword;
	struct node *leaf = finger_find(tree, key, &lockword);

	lath_call_assert();
	lath_delay("located, not yet locked");
	/* fence keys that were read under the lockword hold if the lock is taken with it */
	if (!leaf || unlikely(!node_trylock(leaf, lockword)))
		leaf = lath_locate_far_locked(tree, key, intent);
	LATH_ASSERT(node_is_locked(leaf) && key >= leaf->low && key <= leaf->last);
	return leaf;
}

/* Returns the leaf that covers key, with its lockword, if a word of the hint table's first block
 * leads to it; NULL: see locate(). Inlined, for the calls that are short otherwise. */
static __always_inline struct node *locate_first(struct tree *tree, u64 key, enum intent intent,
						 u64 *lockword)
{
	const struct hint *hint = hint_of(tree);
	struct node *leaf;
	const char *pair;

	if (unlikely(!hint || fingers_trusted(tree)))
		return NULL;
	leaf = hint_first(hint, key, &pair);
	if (unlikely(!leaf))
		return NULL;
	prefetch_leaf(leaf, pair, intent);
	if (unlikely(!node_holds(leaf, key, lockword)))
		return NULL;
	finger_see(tree, leaf);
	return leaf;
}

#endif /* LATH_INDEX_LOCATE_H */
