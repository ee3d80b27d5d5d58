/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * resize.c - calls that change the extent of one item: resize, split.
 */
#include "index/tree/change.h"
#include "index/tree/fence.h"
#include "index/tree/locate.h"
#include "index/tree/redistribute.h"

/* Change the size of entry i of a locked leaf that also covers its new end. Unlocks. */
static void resize_inside(struct tree *tree, struct node *leaf, unsigned int i, u64 size)
{
	u64 key = node_key(leaf, i), was = leaf->size[i];
	struct lath_item rest = { .key = key + size, .size = was - size };
	bool shrinks = size < was;

	if (shrinks)
		change_begin(tree);
	WRITE_ONCE(leaf->size[i], size);
	node_unlock(leaf);
	if (shrinks) {
		change_freed(tree, key);
		change_end(tree);
		change_vacated(tree, &rest, 1);
	} else if (size > was) {
		change_inserted(tree, key + was, size - was);
	}
}

/* Move entry i of the locked leaf `first` to the locked leaf `last`, which covers its new end, and
 * the fence with it. Unlocks all. */
static void resize_across(struct tree *tree, struct node *first, struct node *last, unsigned int i,
			  u64 size)
{
	struct lath_item item;

	change_begin(tree);
	item_of(first, i, true, &item);
	node_erase(first, i);
	cover_from(first, last, item.key);
	node_insert(last, node_rank(last, item.key), item.key, size, item.value, true);
	finish_cover(tree, first, last, item.key, item.key + size - 1);
	if (size > item.size)
		change_inserted(tree, item.key + item.size, size - item.size);
}

/* Does the entry after i in the leaf begin at or before `end`? */
static bool next_overlaps(const struct node *leaf, int i, u64 end)
{
	int next = node_after(leaf, i);

	return next >= 0 && node_key(leaf, (unsigned int)next) <= end;
}

/* 0 | -ENOENT | -EEXIST | -ENOMEM. In a read-side critical section. */
static int resize(struct tree *tree, u64 key, u64 size, struct reserve *reserve)
{
	u64 end = key + size - 1;

	for (;;) {
		struct node *first = locate_locked(tree, key, FOR_ERASE), *last;
		int i = (int)node_find(first, key), hit, ret;

		if (i < 0 || next_overlaps(first, i, end)) {
			node_unlock_clean(first);
			return i < 0 ? -ENOENT : -EEXIST;
		}
		last = lock_until(first, end, &hit);
		if (hit >= 0) {
			unlock_clean(first, last);
			return -EEXIST;
		}
		if (first == last) {
			resize_inside(tree, first, (unsigned int)i, size);
			return 0;
		}
		if (!node_full(last)) {
			resize_across(tree, first, last, (unsigned int)i, size);
			return 0;
		}
		ret = make_room(tree, first, last, key, reserve);
		if (ret)
			return ret;
	}
}

int lath_index_resize(struct lath_index *index, uint64_t key, uint64_t size)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	int ret;

	if (!item_valid(tree, key, size) || !tree->ranges)
		return -EINVAL;
	call_enter(tree);
	ret = resize(tree, key, size, &reserve);
	call_exit(tree);
	reserve_release(tree, &reserve);
	hint_tick(tree, true);
	return ret;
}

/* 0 | -ENOENT | -EEXIST | -ENOMEM. In a read-side critical section. */
static int split(struct tree *tree, u64 at, u64 value, struct reserve *reserve)
{
	for (;;) {
		struct node *leaf = locate_locked(tree, at, FOR_ERASE);
		int i = (int)node_cover(leaf, at, tree->ranges), ret;
		u64 key, end;
		bool marked;

		if (i < 0 || node_key(leaf, (unsigned int)i) == at) {
			node_unlock_clean(leaf);
			return i < 0 ? -ENOENT : -EEXIST;
		}
		if (node_full(leaf)) {
			ret = leaf_make_room(tree, leaf, at, reserve);
			if (ret)
				return ret;
			continue;
		}
		key = node_key(leaf, (unsigned int)i);
		end = node_end(leaf, (unsigned int)i, true);
		WRITE_ONCE(leaf->size[i], at - key);
		node_insert(leaf, node_rank(leaf, at), at, end - at + 1, value, true);
		marked = leaf->counted;
		node_unlock(leaf);
		change_number(tree, at, at, marked);
		return 0;
	}
}

int lath_index_split(struct lath_index *index, uint64_t at, uint64_t value)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	int ret;

	call_enter(tree);
	ret = split(tree, at, value, &reserve);
	call_exit(tree);
	reserve_release(tree, &reserve);
	hint_tick(tree, true);
	return ret;
}
