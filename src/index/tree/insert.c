/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * insert.c - insert and replace.
 *
 * One leaf, one lock: no range crosses a fence, so whatever could overlap a new range that fits
 * between the fences is in the same leaf. A range that would cross one moves the fence instead:
 * all keys from its first one on go to the leaf that covers its last one (cover_from), which keeps
 * the rule and lets a lookup answer from one leaf, always.
 */
#include "index/holes/gap.h"
#include "index/hint/hint.h"

void cover_from(struct node *first, struct node *last, u64 key)
{
	struct node *leaf;

	for (leaf = first; leaf != last; leaf = leaf_right(leaf)) {
		if (leaf->low < key && !node_void(leaf))
			WRITE_ONCE(leaf->last, key - 1);
		else
			WRITE_ONCE(leaf->word, READ_ONCE(leaf->word) | NODE_VOID);
	}
	WRITE_ONCE(last->low, key);
}

void unlock_through(struct node *first, struct node *last)
{
	while (first != last) {
		struct node *next = leaf_right(first);

		node_unlock(first);
		first = next;
	}
	node_unlock(last);
}

struct node *lock_across(struct node *first, u64 end, int *hit)
{
	struct node *last = first;

	*hit = -1;
	while (end > last->last || node_void(last)) {
		last = lock_right(last); /* there is one: the rightmost leaf ends at the last key */
		*hit = node_after(last, -1);
		if (*hit >= 0 && node_key(last, (unsigned int)*hit) <= end)
			break;
		*hit = -1;
	}
	return last;
}

/* Unlock all but the last, which has no room, and make it some. 0: try again | -ENOMEM | -EAGAIN */
int grow_last(struct tree *list, struct node *first, struct node *last, u64 key, struct reserve *reserve)
{
	unlock_clean_before(first, last);
	return leaf_grow(list, last, key > last->low ? key : last->low, reserve);
}

void after_cover(struct tree *list, struct node *first, struct node *last, u64 key, u64 end)
{
	bool apart = leaf_right(first) != last || node_void(first);
	u64 from = first->low, to = last->last;
	struct node *leaf;

	for (leaf = first; list->holes && leaf; leaf = leaf == last ? NULL : leaf_right(leaf))
		gap_settle(list, leaf);
	guide_lead(list, last, key);
	unlock_through(first, last);
	if (apart) /* the VOID ones stand before last in the parent too: no separator moves past them */
		merge_void(list, key, end);
	else
		post_low(list, last);
	gap_sync_span(list, from, to, 1, 1);
	gap_end(list);
}

/*
 * The range begins in the locked leaf, behind all its entries, and ends beyond its fence.
 * 0 | -EEXIST | -EAGAIN: the last leaf is full (returned locked with all before it). Else unlocks.
 */
static int insert_across(struct tree *list, struct node *first, const struct lath_item *item,
			 struct lath_item *conflict, struct node **full)
{
	u64 end = item->key + item->size - 1;
	int hit;
	struct node *last = lock_across(first, end, &hit);

	if (hit >= 0) {
		if (conflict)
			item_of(last, (unsigned int)hit, true, conflict);
		unlock_clean_through(first, last);
		return -EEXIST;
	}
	if (node_full(last)) {
		*full = last;
		return -EAGAIN;
	}
	gap_begin(list);
	cover_from(first, last, item->key);
	node_insert(last, node_rank(last, item->key), item->key, item->size, item->value, true);
	after_cover(list, first, last, item->key, end);
	return 0;
}

/*
 * Insert between the fences of the locked leaf. 0 | -EEXIST: unlocked | -EAGAIN: still locked, the range
 * crosses the right fence or the leaf is full.
 */
static inline int insert_inside(struct tree *list, struct node *leaf, const struct lath_item *item,
				struct lath_item *conflict)
{
	u64 key = item->key, end = key + item->size - 1;
	unsigned int rank = node_rank(leaf, key);
	u64 below = leaf->live & lath_ones(rank), above = leaf->live & ~lath_ones(rank);
	bool ranges = list->ranges;
	int hit = -1;

	if (ranges && below && node_end(leaf, __fls64(below), true) >= key)
		hit = (int)__fls64(below);
	else if (above && node_key(leaf, __ffs64(above)) <= end)
		hit = (int)__ffs64(above);
	if (unlikely(hit >= 0)) {
		if (conflict)
			item_of(leaf, (unsigned int)hit, ranges, conflict);
		node_unlock_clean(leaf);
		return -EEXIST;
	}
	lath_delay("insert: leaf locked");
	if (unlikely(end > leaf->last || node_full(leaf)))
		return -EAGAIN;
	node_insert(leaf, rank, key, item->size, item->value, ranges);
	node_unlock(leaf);
	return 0;
}

/*
 * Insert into the locked leaf that covers item->key, or across its right fence. Unlocks, except on
 * -EAGAIN: then [leaf, *full] are still locked and *full has no room.
 */
int insert_locked(struct tree *list, struct node *leaf, const struct lath_item *item,
		  struct lath_item *conflict, struct node **full)
{
	int ret = insert_inside(list, leaf, item, conflict);

	*full = leaf;
	if (ret == -EAGAIN && item->key + item->size - 1 > leaf->last)
		ret = insert_across(list, leaf, item, conflict, full);
	return ret;
}

/* The locked leaf has no room, or the item does not end in it. */
static int insert_beyond(struct tree *list, struct node *leaf, const struct lath_item *item,
			 struct lath_item *conflict, struct reserve *reserve)
{
	struct node *first = leaf, *full;
	int ret;

	lath_reader_enter(list->rcu);
	for (;;) {
		ret = insert_locked(list, leaf, item, conflict, &full);
		if (ret != -EAGAIN)
			break;
		ret = grow_last(list, leaf, full, item->key, reserve);
		if (ret)
			break;
		/* not by lock_leaf: that this leaf was used lately says nothing of the next call */
		leaf = lock_level(list, item->key, 0);
		if (leaf != first)
			finger_set(list, leaf);
	}
	lath_reader_exit(list->rcu);
	return ret;
}

int insert_item(struct tree *list, const struct lath_item *item, struct lath_item *conflict,
		struct reserve *reserve)
{
	struct node *leaf;
	int ret;

	walker_enter(list);
	leaf = lock_leaf(list, item->key);
	ret = insert_inside(list, leaf, item, conflict);
	if (unlikely(ret == -EAGAIN))
		ret = insert_beyond(list, leaf, item, conflict, reserve);
	walker_exit(list);
	guide_turn(list, 1, !reserve->fixed);
	return ret;
}

/* Insert into this leaf if it is so still. -EAGAIN: it is not, or it takes more than that. */
int insert_under(struct tree *list, struct node *leaf, u64 word, const struct lath_item *item,
		 struct lath_item *conflict)
{
	int ret;

	if (!node_trylock(leaf, word))
		return -EAGAIN;
	ret = insert_inside(list, leaf, item, conflict);
	if (unlikely(ret == -EAGAIN))
		node_unlock_clean(leaf);
	return ret;
}

int insert_by_finger(struct tree *list, const struct lath_item *item, struct lath_item *conflict)
{
	u64 word;
	struct node *leaf = finger_try(list, item->key, &word);

	return leaf ? insert_under(list, leaf, word, item, conflict) : -EAGAIN;
}

int lath_index_insert_item(struct lath_index *public, const struct lath_item *item,
			      struct lath_item *conflict)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	int ret;

	if (unlikely(!item_valid(list, item->key, item->size)))
		return -EINVAL;
	ret = insert_by_finger(list, item, conflict);
	if (ret != -EAGAIN)
		return ret;
	ret = insert_item(list, item, conflict, &reserve);
	if (reserve.leaf || reserve.inner[0] || reserve.inner[1])
		reserve_release(list, &reserve);
	return ret;
}

/* ---- with nodes brought along ---- */

int lath_index_preload(struct lath_index *public, struct lath_preload *preload)
{
	struct tree *list = tree_of(public);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(preload->node); i++)
		if (!preload->node[i])
			preload->node[i] = node_alloc(list, i ? POOL_INNER : POOL_LEAF);
	if (preload->node[0] && preload->node[1] && preload->node[2])
		return 0;
	lath_index_preload_release(public, preload);
	return -ENOMEM;
}

static void reserve_from(struct reserve *reserve, const struct lath_preload *preload)
{
	reserve->leaf = preload->node[0];
	reserve->inner[0] = preload->node[1];
	reserve->inner[1] = preload->node[2];
	reserve->fixed = true;
}

void lath_index_preload_release(struct lath_index *public, struct lath_preload *preload)
{
	struct reserve reserve;

	reserve_from(&reserve, preload);
	reserve_release(tree_of(public), &reserve);
	memset(preload, 0, sizeof(*preload));
}

int lath_index_insert_preloaded(struct lath_index *public, const struct lath_item *item,
				   struct lath_preload *preload, struct lath_item *conflict)
{
	struct tree *list = tree_of(public);
	struct reserve reserve;
	int ret;

	if (!item_valid(list, item->key, item->size))
		return -EINVAL;
	reserve_from(&reserve, preload);
	ret = insert_item(list, item, conflict, &reserve);
	preload->node[0] = reserve.leaf;
	preload->node[1] = reserve.inner[0];
	preload->node[2] = reserve.inner[1];
	return ret;
}

static int replace(struct tree *list, u64 key, const u64 *expected, u64 value, struct lath_item *old)
{
	struct node *leaf;
	int i, ret = -ENOENT;

	walker_enter(list);
	leaf = lock_leaf(list, key);
	i = node_find(leaf, key);
	if (i >= 0) {
		if (old)
			item_of(leaf, (unsigned int)i, list->ranges, old);
		ret = expected && node_value(leaf, (unsigned int)i) != *expected ? -EAGAIN : 0;
	}
	if (!ret) {
		WRITE_ONCE(leaf->pair[i].value, value);
		node_unlock(leaf);
	} else {
		node_unlock_clean(leaf);
	}
	walker_exit(list);
	return ret;
}

int lath_index_replace_item(struct lath_index *list, uint64_t key, uint64_t value,
			       struct lath_item *old)
{
	return replace(tree_of(list), key, NULL, value, old);
}

int lath_index_replace_if(struct lath_index *list, uint64_t key, uint64_t expected, uint64_t value,
			     struct lath_item *there)
{
	return replace(tree_of(list), key, &expected, value, there);
}
