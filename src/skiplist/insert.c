/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * insert.c - insert and replace.
 *
 * One leaf, one lock: no range crosses a fence, so whatever could overlap a new range that fits
 * between the fences is in the same leaf. A range that would cross one moves the fence instead:
 * all keys from its first one on go to the leaf that covers its last one (cover_from), which keeps
 * the rule and lets a lookup answer from one leaf, always.
 */
#include "skiplist/list.h"

void cover_from(struct node *first, struct node *last, u64 key)
{
	struct node *leaf;

	for (leaf = first; leaf != last; leaf = leaf_right(leaf)) {
		if (leaf->low < key && !(leaf->word & NODE_VOID))
			WRITE_ONCE(leaf->last, key - 1);
		else
			WRITE_ONCE(leaf->word, leaf->word | NODE_VOID);
	}
	WRITE_ONCE(last->low, key);
}

static void unlock_through(struct node *first, struct node *last)
{
	while (first != last) {
		struct node *next = leaf_right(first);

		node_unlock(first);
		first = next;
	}
	node_unlock(last);
}

static bool leaf_void(const struct node *leaf)
{
	return leaf->word & NODE_VOID;
}

/*
 * The range begins in the locked leaf, behind all its entries, and ends beyond its fence.
 * Unlocks. 0 | -EEXIST | -ENOMEM | -EAGAIN (a leaf was made larger, or the reserve is empty).
 */
static int insert_across(struct skiplist *list, struct node *first, const struct lath_item *item,
			 struct lath_item *conflict, struct reserve *reserve)
{
	u64 end = item->key + item->size - 1;
	struct node *last = first;
	int i;

	do {
		last = lock_right(last); /* the rightmost leaf ends at the last key */
		i = node_after(last, -1);
		if (i >= 0 && node_key(last, (unsigned int)i) <= end) {
			if (conflict)
				item_of(last, (unsigned int)i, true, conflict);
			unlock_clean_through(first, last);
			return -EEXIST;
		}
	} while (end > last->last || leaf_void(last));

	if (node_full(last)) {
		struct node *leaf, *next;

		for (leaf = first; leaf != last; leaf = next) {
			next = leaf_right(leaf);
			node_unlock_clean(leaf);
		}
		i = leaf_grow(list, last, last->low, reserve);
		return i ? i : -EAGAIN;
	}
	cover_from(first, last, item->key);
	node_insert(last, node_rank(last, item->key), item->key, item->size, item->value, true);
	unlock_through(first, last);
	post_low(list, last);
	leaf_became_sparse(list, item->key);
	return 0;
}

int insert_item(struct skiplist *list, const struct lath_item *item, struct lath_item *conflict,
		struct reserve *reserve)
{
	u64 key = item->key, end = key + item->size - 1;
	bool ranges = list->ranges;

	for (;;) {
		struct node *leaf = lock_leaf(list, key);
		unsigned int rank = node_rank(leaf, key);
		u64 below = leaf->live & node_mask_below(rank), above = leaf->live & ~node_mask_below(rank);
		int hit = -1, ret;

		if (ranges && below && node_end(leaf, fls64(below) - 1, true) >= key)
			hit = (int)fls64(below) - 1;
		else if (above && node_key(leaf, __ffs64(above)) <= end)
			hit = (int)__ffs64(above);
		if (unlikely(hit >= 0)) {
			if (conflict)
				item_of(leaf, (unsigned int)hit, ranges, conflict);
			node_unlock_clean(leaf);
			return -EEXIST;
		}
		lath_delay("insert: leaf locked");
		if (unlikely(end > leaf->last)) {
			ret = insert_across(list, leaf, item, conflict, reserve);
			if (ret != -EAGAIN || (reserve->fixed && !reserve->leaf))
				return ret;
			continue;
		}
		if (likely(!node_full(leaf))) {
			node_insert(leaf, rank, key, item->size, item->value, ranges);
			node_unlock(leaf);
			return 0;
		}
		ret = leaf_grow(list, leaf, key, reserve);
		if (ret)
			return ret;
	}
}

int lath_skiplist_insert_item(struct lath_skiplist *public, const struct lath_item *item,
			      struct lath_item *conflict)
{
	struct skiplist *list = list_of(public);
	struct reserve reserve = { NULL, false };
	int ret;

	if (!item_valid(list, item->key, item->size))
		return -EINVAL;
	lath_reader_enter(list->rcu);
	ret = insert_item(list, item, conflict, &reserve);
	lath_reader_exit(list->rcu);
	if (unlikely(reserve.leaf))
		reserve_release(list, &reserve);
	return ret;
}

int lath_skiplist_replace_item(struct lath_skiplist *public, uint64_t key, uint64_t value,
			       struct lath_item *old)
{
	struct skiplist *list = list_of(public);
	struct node *leaf;
	int i;

	lath_reader_enter(list->rcu);
	leaf = lock_leaf(list, key);
	i = node_find(leaf, key);
	if (i >= 0) {
		if (old)
			item_of(leaf, (unsigned int)i, list->ranges, old);
		WRITE_ONCE(leaf->pair[i].value, value);
		node_unlock(leaf);
	} else {
		node_unlock_clean(leaf);
	}
	lath_reader_exit(list->rcu);
	return i >= 0 ? 0 : -ENOENT;
}
