/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * locate.c - the part of locate.h that leaves the caller's leaf.
 */
#include "index/tree/locate.h"

/* By the hint table, or else by a descent. */
static __always_inline struct node *find(struct tree *tree, u64 key, enum intent intent,
					 u64 *lockword)
{
	struct node *leaf = hint_find(tree, key, lockword, intent);

	if (unlikely(!leaf))
		leaf = descend(tree, key, lockword, intent);
	finger_set(tree, leaf);
	return leaf;
}

struct node *locate_far(struct tree *tree, u64 key, enum intent intent, u64 *lockword)
{
	/* each intent has a descent of its own, with nothing to decide on the way */
	if (intent == FOR_READ)
		return find(tree, key, FOR_READ, lockword);
	hint_count(tree, 1);
	if (intent == FOR_ERASE)
		return find(tree, key, FOR_ERASE, lockword);
	return find(tree, key, FOR_INSERT, lockword);
}

struct node *locate_far_locked(struct tree *tree, u64 key)
{
	struct node *leaf;
	bool hinted;
	u64 lockword;

	hint_count(tree, 1);
	section_enter(tree);
	do {
		leaf = hint_find(tree, key, &lockword, FOR_INSERT);
		hinted = leaf;
		if (!hinted)
			leaf = descend(tree, key, &lockword, FOR_INSERT);
	} while (!node_trylock(leaf, lockword));
	section_exit(tree); /* a locked leaf is not retired */
	if (!hinted)
		hint_publish(tree, leaf, key);
	finger_set(tree, leaf);
	return leaf;
}
