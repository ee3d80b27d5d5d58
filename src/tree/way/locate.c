/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * locate.c - the part of locate.h that leaves the caller's leaf.
 */
#include "tree/way/locate.h"

/* By the hint table, or else by a descent. */
static __always_inline struct node *find(struct tree *tree, u64 key, enum intent intent,
					 u64 *lockword)
{
	struct node *leaf = hint_find(tree, key, lockword, intent);

	/* the table may lead elsewhere or know nothing; a descent always comes to the leaf */
	if (unlikely(!leaf)) {
		leaf = descend(tree, key, lockword, intent);
		hint_missed(tree, key, leaf, *lockword);
	}
	finger_set(tree, leaf);
	return leaf;
}

struct node *lath_locate_far(struct tree *tree, u64 key, enum intent intent, u64 *lockword)
{
	LATH_ASSERT(intent != FOR_INSERT); /* inserts lock: lath_locate_far_locked() */
	/* each intent has its own descent, with nothing to decide on the way */
	if (intent == FOR_READ) {
		hint_tick(tree, false);
		return find(tree, key, FOR_READ, lockword);
	}
	return find(tree, key, FOR_ERASE, lockword);
}

static __always_inline struct node *find_locked(struct tree *tree, u64 key, enum intent intent)
{
	struct node *leaf;
	u64 lockword;

	section_enter(tree);
	/* The leaf may change between the look and the lock: then its fences may have moved, and
	 * the key may be elsewhere. */
	do {
		leaf = hint_find(tree, key, &lockword, intent);
		if (!leaf) {
			leaf = descend(tree, key, &lockword, intent);
			hint_missed(tree, key, leaf, lockword);
		}
	} while (!node_trylock(leaf, lockword));
	LATH_ASSERT(node_is_locked(leaf) && !node_level(leaf));
	section_exit(tree); /* a locked leaf is not retired */
	finger_set(tree, leaf);
	return leaf;
}

struct node *lath_locate_far_locked(struct tree *tree, u64 key, enum intent intent)
{
	if (intent == FOR_INSERT)
		return find_locked(tree, key, FOR_INSERT);
	return find_locked(tree, key, FOR_ERASE);
}
