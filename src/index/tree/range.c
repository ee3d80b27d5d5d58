/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * range.c - calls that change a stretch of keys: erase_range, store_range, resize, split.
 *
 * A stretch within one leaf needs that leaf's lock. A longer one locks its leaves left to right and
 * keeps them, so that store_range and resize happen at one moment.
 */
#include "index/holes/gap.h"
#include "index/tree/tree.h"

/* Items carried out of a locked leaf at a time. */
#define CARRY 16

/* The first live entry of the leaf that overlaps [key, last], or -1. */
static int first_overlap(const struct node *leaf, bool ranges, u64 key, u64 last)
{
	int i = node_cover(leaf, key, ranges);

	if (i < 0)
		i = node_after(leaf, node_floor(leaf, key));
	return i >= 0 && node_key(leaf, (unsigned int)i) <= last ? i : -1;
}

/* Erase what one leaf has of [key, last], at most CARRY items; *end: how far the stretch is clear now. */
static unsigned int erase_some(struct tree *list, u64 key, u64 last, struct lath_item *carry, u64 *end)
{
	struct node *leaf = lock_leaf(list, key);
	unsigned int n = 0, count;
	int i = first_overlap(leaf, list->ranges, key, last);

	gap_begin(list);
	for (; i >= 0 && n < CARRY && node_key(leaf, (unsigned int)i) <= last; i = node_after(leaf, i)) {
		item_of(leaf, (unsigned int)i, list->ranges, &carry[n++]);
		node_erase(leaf, (unsigned int)i);
	}
	*end = n == CARRY ? carry[n - 1].key + (carry[n - 1].size - 1) : leaf->last;
	count = node_count(leaf);
	if (n)
		node_unlock(leaf);
	else
		node_unlock_clean(leaf);
	if (n)
		gap_sync(list, carry[0].key, 0);
	gap_end(list);
	if (n && node_sparse(count) && !node_sparse(count + n))
		leaf_became_sparse(list, key);
	else if (n && !count)
		leaf_became_sparse(list, key);
	return n;
}

int64_t lath_index_erase_range(struct lath_index *public, uint64_t key, uint64_t size,
				  lath_item_fn each, void *arg)
{
	struct tree *list = tree_of(public);
	u64 last = key + size - 1, end;
	s64 total = 0;

	if (!size || size - 1 > KEY_MAX - key)
		return -EINVAL;
	for (;;) {
		struct lath_item carry[CARRY];
		unsigned int n, i;

		lath_reader_enter(list->rcu);
		n = erase_some(list, key, last, carry, &end);
		lath_reader_exit(list->rcu);
		for (i = 0; each && i < n; i++)
			each(arg, &carry[i]);
		total += n;
		if (end >= last)
			return total;
		key = end + 1;
	}
}

/* ---- store_range ---- */

/* What becomes of the items that a stored range [key, end] meets in one leaf. */
struct overlay {
	unsigned int covered;	/* items that leave */
	int left;		/* entry that begins before key and reaches it, or -1 */
	struct lath_item right; /* what remains behind end; size 0: nothing */
	bool right_moves;	/* it is an entry of its own by now, and must begin later */
};

static void overlay_leaf(const struct node *leaf, bool ranges, u64 key, u64 end, struct overlay *over)
{
	int i = first_overlap(leaf, ranges, key, end);

	memset(over, 0, sizeof(*over));
	over->left = -1;
	for (; i >= 0 && node_key(leaf, (unsigned int)i) <= end; i = node_after(leaf, i)) {
		struct lath_item item;
		u64 last;

		item_of(leaf, (unsigned int)i, ranges, &item);
		last = item.key + item.size - 1;
		if (last > end) {
			over->right.key = end + 1;
			over->right.size = last - end;
			over->right.value = item.value;
			over->right_moves = item.key >= key;
		}
		if (item.key < key)
			over->left = i;
		else if (last <= end)
			over->covered++;
	}
}

/* Cut and drop what is there; the caller inserts. */
static void clear_leaf(struct node *leaf, bool ranges, u64 key, u64 end, lath_item_fn each, void *arg)
{
	int i = first_overlap(leaf, ranges, key, end), next;

	for (; i >= 0 && node_key(leaf, (unsigned int)i) <= end; i = next) {
		struct lath_item item;

		next = node_after(leaf, i);
		item_of(leaf, (unsigned int)i, ranges, &item);
		if (item.key < key) {
			WRITE_ONCE(leaf->size[i], key - item.key);
			continue;
		}
		node_erase(leaf, (unsigned int)i);
		if (each && item.key + item.size - 1 <= end)
			each(arg, &item);
	}
}

static int store(struct tree *list, const struct lath_item *item, lath_item_fn each, void *arg,
		 struct reserve *reserve)
{
	u64 key = item->key, end = key + item->size - 1;
	bool ranges = list->ranges;

	for (;;) {
		struct node *first = lock_leaf(list, key), *last = first, *leaf;
		struct overlay over;
		unsigned int count;
		int ret;

		while (end > last->last || node_void(last))
			last = lock_right(last);
		overlay_leaf(last, ranges, key, end, &over);
		count = node_count(last) - over.covered - over.right_moves + 1 + !!over.right.size;
		if (count > NODE_CAP) {
			ret = grow_last(list, first, last, key, reserve);
			if (ret)
				return ret;
			continue;
		}
		if (first != last)
			gap_begin(list);
		for (leaf = first;; leaf = leaf_right(leaf)) {
			clear_leaf(leaf, ranges, key, end, each, arg);
			if (leaf == last)
				break;
		}
		if (first != last)
			cover_from(first, last, key);
		if (over.right.size)
			node_insert(last, node_rank(last, over.right.key), over.right.key, over.right.size,
				    over.right.value, ranges);
		node_insert(last, node_rank(last, key), key, item->size, item->value, ranges);
		if (first == last)
			node_unlock(first);
		else
			after_cover(list, first, last, key, end);
		return 0;
	}
}

int lath_index_store_range(struct lath_index *public, const struct lath_item *item, lath_item_fn each,
			      void *arg)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	int ret;

	if (!item_valid(list, item->key, item->size))
		return -EINVAL;
	lath_reader_enter(list->rcu);
	ret = store(list, item, each, arg, &reserve);
	lath_reader_exit(list->rcu);
	reserve_release(list, &reserve);
	return ret;
}

/* ---- resize, split ---- */

static int resize(struct tree *list, u64 key, u64 size, struct reserve *reserve)
{
	u64 end = key + size - 1;

	for (;;) {
		struct node *first = lock_leaf(list, key), *last;
		int i = node_find(first, key), next, hit, ret = 0;
		struct lath_item item;

		if (i < 0) {
			node_unlock_clean(first);
			return -ENOENT;
		}
		next = node_after(first, i);
		if (next >= 0 && node_key(first, (unsigned int)next) <= end) {
			node_unlock_clean(first);
			return -EEXIST;
		}
		last = lock_across(first, end, &hit);
		if (hit >= 0) {
			unlock_clean_through(first, last);
			return -EEXIST;
		}
		if (first == last) {
			bool shrinks = list->holes && size < first->size[i];

			if (shrinks)
				gap_begin(list);
			WRITE_ONCE(first->size[i], size);
			node_unlock(first);
			if (shrinks) {
				gap_sync(list, key, 0);
				gap_end(list);
			}
			return 0;
		}
		if (node_full(last)) {
			ret = grow_last(list, first, last, key, reserve);
			if (ret)
				return ret;
			continue;
		}
		/* the item moves to the leaf its new end lies in, and the fence before it */
		gap_begin(list);
		item_of(first, (unsigned int)i, true, &item);
		node_erase(first, (unsigned int)i);
		cover_from(first, last, key);
		node_insert(last, node_rank(last, key), key, size, item.value, true);
		after_cover(list, first, last, key, end);
		return 0;
	}
}

int lath_index_resize(struct lath_index *public, uint64_t key, uint64_t size)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	int ret;

	if (!item_valid(list, key, size) || !list->ranges)
		return -EINVAL;
	lath_reader_enter(list->rcu);
	ret = resize(list, key, size, &reserve);
	lath_reader_exit(list->rcu);
	reserve_release(list, &reserve);
	return ret;
}

static int split(struct tree *list, u64 at, u64 value, struct reserve *reserve)
{
	for (;;) {
		struct node *leaf = lock_leaf(list, at);
		int i = node_cover(leaf, at, list->ranges), ret = 0;
		u64 key, end;

		if (i < 0)
			ret = -ENOENT;
		else if (node_key(leaf, (unsigned int)i) == at)
			ret = -EEXIST;
		if (ret) {
			node_unlock_clean(leaf);
			return ret;
		}
		if (node_full(leaf)) {
			ret = leaf_grow(list, leaf, at, reserve);
			if (ret)
				return ret;
			continue;
		}
		key = node_key(leaf, (unsigned int)i);
		end = node_end(leaf, (unsigned int)i, true);
		WRITE_ONCE(leaf->size[i], at - key);
		node_insert(leaf, node_rank(leaf, at), at, end - at + 1, value, true);
		node_unlock(leaf);
		return 0;
	}
}

int lath_index_split(struct lath_index *public, uint64_t at, uint64_t value)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	int ret;

	lath_reader_enter(list->rcu);
	ret = split(list, at, value, &reserve);
	lath_reader_exit(list->rcu);
	reserve_release(list, &reserve);
	return ret;
}
