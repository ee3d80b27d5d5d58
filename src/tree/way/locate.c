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

	if (unlikely(!leaf)) {
		leaf = descend(tree, key, lockword, intent);
		hint_missed(tree, key, leaf, *lockword);
	}
	finger_set(tree, leaf);
	return leaf;
}

struct node *locate_far(struct tree *tree, u64 key, enum intent intent, u64 *lockword)
{
	/* each intent has a descent of its own, with nothing to decide on the way */
	if (intent == FOR_READ) {
		hint_tick(tree, false);
		return find(tree, key, FOR_READ, lockword);
	}
	if (intent == FOR_ERASE)
		return find(tree, key, FOR_ERASE, lockword);
	return find(tree, key, FOR_INSERT, lockword);
}

static __always_inline struct node *find_locked(struct tree *tree, u64 key, enum intent intent)
{
	struct node *leaf;
	u64 lockword;

	section_enter(tree);
	do {
		leaf = hint_find(tree, key, &lockword, intent);
		if (!leaf) {
			leaf = descend(tree, key, &lockword, intent);
			hint_missed(tree, key, leaf, lockword);
		}
	} while (!node_trylock(leaf, lockword));
	section_exit(tree); /* a locked leaf is not retired */
	finger_set(tree, leaf);
	return leaf;
}

struct node *locate_far_locked(struct tree *tree, u64 key, enum intent intent)
{
	if (intent == FOR_INSERT)
		return find_locked(tree, key, FOR_INSERT);
	return find_locked(tree, key, FOR_ERASE);
}
