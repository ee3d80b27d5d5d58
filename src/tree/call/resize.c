/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * resize.c - calls that change the extent of an item: resize, split, erase_part, join.
 */
#include "tree/call/call.h"
#include "tree/watch/change.h"
#include "tree/step/step.h"
#include "tree/way/locate.h"

/* Change the size of entry i of a locked leaf that also covers its new end. Unlocks. */
static void resize_inside(struct tree *tree, struct node *leaf, unsigned int i, u64 size)
{
	u64 key = node_key(leaf, i), was = leaf->size[i];
	struct lath_item rest = { .key = key + size, .size = was - size };
	bool shrinks = size < was;

	LATH_ASSERT(node_is_locked(leaf) && node_has_sizes(leaf) && leaf->live >> i & 1);
	LATH_ASSERT(size && size - 1 <= leaf->last - key);
	if (shrinks)
		change_begin(tree);
	WRITE_ONCE(leaf->size[i], size);
	node_unlock(leaf);
	/* Keys that became free must be promised above; a promise that is too large now is only
	 * looked at without result. */
	if (shrinks) {
		change_freed(tree, &rest, 1, false);
	} else if (size > was) {
		change_added(tree, key + was, size - was, false);
	}
}

/* Move entry i of the locked leaf `first` to the locked leaf `last`, which covers its new end, and
 * the fence with it. Unlocks all. */
static void resize_across(struct tree *tree, struct node *first, struct node *last, unsigned int i,
			  u64 size)
{
	struct own_item own;
	const struct lath_item *item = own_item_of(tree, first, i, &own);

	LATH_ASSERT(node_is_locked(first) && node_is_locked(last) && first != last);
	LATH_ASSERT(first->live >> i & 1 && !node_full(last));
	change_begin(tree);
	node_erase(first, i);
	lath_cover_from(first, last, item->key);
	lath_node_insert(last, node_rank(last, item->key), item->key, size, item->value,
			 tree->leaf_side);
	lath_finish_cover(tree, first, last, item->key, item->key + size - 1);
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
	u64 end = key + size - 1, was;

	LATH_ASSERT(size && end >= key && lath_reader_inside(tree->rcu));
	for (;;) {
		struct node *first = locate_locked(tree, key, FOR_ERASE), *last;
		int i = (int)node_find(first, key), hit, ret;

		/* the answer is in this leaf: no other one has to be locked */
		if (i < 0 || next_overlaps(first, i, end)) {
			node_unlock_clean(first);
			return i < 0 ? -ENOENT : -EEXIST;
		}
		last = lath_lock_until(first, end, &hit);
		if (hit >= 0) {
			lath_unlock_clean(first, last);
			return -EEXIST;
		}
		if (first == last) {
			resize_inside(tree, first, (unsigned int)i, size);
			return 0;
		}
		/* the item moves to the leaf that covers its new end: no range crosses a fence */
		if (!node_full(last)) {
			was = first->size[i];
			resize_across(tree, first, last, (unsigned int)i, size);
			change_added(tree, key + was, size - was, false);
			return 0;
		}
		/* it has unlocked all, and the leaves have other entries: begin again */
		ret = lath_leaf_make_room(tree, first, last, key, reserve);
		if (ret)
			return ret;
	}
}

int lath_index_resize(struct lath_index *index, uint64_t key, uint64_t size)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	int ret;

	if (!item_valid(tree, key, size) || !holds_ranges(tree))
		return -EINVAL;
	call_enter(tree);
	ret = resize(tree, key, size, &reserve);
	call_exit(tree);
	lath_reserve_release(tree, &reserve);
	hint_tick(tree, true);
	return ret;
}

/* 0 | -ENOENT | -EEXIST | -ENOMEM. In a read-side critical section. */
static int split(struct tree *tree, u64 at, u64 value, struct reserve *reserve)
{
	for (;;) {
		struct node *leaf = locate_locked(tree, at, FOR_ERASE);
		int i = (int)node_cover(leaf, at), ret;
		u64 key, end;
		bool marked;

		if (i < 0 || node_key(leaf, (unsigned int)i) == at) {
			node_unlock_clean(leaf);
			return i < 0 ? -ENOENT : -EEXIST;
		}
		/* the second half needs its own entry */
		if (node_full(leaf)) {
			ret = lath_leaf_make_room(tree, leaf, leaf, at, reserve);
			if (ret)
				return ret;
			continue;
		}
		key = node_key(leaf, (unsigned int)i);
		end = node_end(leaf, (unsigned int)i);
		LATH_ASSERT(key < at && at <= end && end <= leaf->last);
		/* both under one lock: no reader sees the item without its second half */
		WRITE_ONCE(leaf->size[i], at - key);
		lath_node_insert(leaf, node_rank(leaf, at), at, end - at + 1, value,
				 tree->leaf_side);
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
	lath_reserve_release(tree, &reserve);
	hint_tick(tree, true);
	return ret;
}

/* Erase the keys of `part` from entry i, *there, of a locked leaf with room for more. Unlocks. */
static void erase_inside(struct tree *tree, struct node *leaf, unsigned int i,
			 const struct lath_item *part, const struct lath_item *there)
{
	u64 head = part->key - there->key, tail = there->size - head - part->size;
	u64 next = part->key + part->size;
	bool marked = leaf->counted;

	LATH_ASSERT(node_is_locked(leaf) && leaf->live >> i & 1 && head + tail);
	change_begin(tree);
	if (head)
		WRITE_ONCE(leaf->size[i], head);
	else
		node_erase(leaf, i);
	if (tail)
		lath_node_insert(leaf, node_rank(leaf, next), next, tail, there->value,
				 tree->leaf_side);
	node_unlock(leaf);
	change_freed(tree, part, 1, false);
	if (head && tail) /* one item more */
		change_number(tree, next, next, marked);
}

/* 0 | -ENOENT | -EAGAIN | -ENOMEM. In a read-side critical section. */
static int erase_part(struct tree *tree, const struct lath_item *part, struct own_item *own,
		      struct reserve *reserve)
{
	const struct lath_item *there = &own->item;

	for (;;) {
		struct node *leaf = locate_locked(tree, part->key, FOR_ERASE);
		int i = (int)node_cover(leaf, part->key), ret = -ENOENT;
		u64 head = 0;

		if (i >= 0) {
			own_item_of(tree, leaf, (unsigned int)i, own);
			head = part->key - there->key;
			if (part->size <= there->size - head)
				ret = has_value(tree, leaf, (unsigned int)i, part->value) ? 0
											  : -EAGAIN;
		}
		if (ret) {
			node_unlock_clean(leaf);
			return ret;
		}
		if (part->size == there->size) {
			lath_leaf_erase(tree, leaf, i, NULL);
			return 0;
		}
		/* only what stays on both sides needs one entry more */
		if (!head || part->size == there->size - head || !node_full(leaf)) {
			erase_inside(tree, leaf, (unsigned int)i, part, there);
			return 0;
		}
		ret = lath_leaf_make_room(tree, leaf, leaf, part->key + part->size, reserve);
		if (ret)
			return ret;
	}
}

int lath_index_erase_part(struct lath_index *index, const struct lath_item *part,
			  struct lath_item *there)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	struct own_item own;
	int ret;

	if (!item_valid(tree, part->key, part->size))
		return -EINVAL;
	call_enter(tree);
	ret = erase_part(tree, part, &own, &reserve);
	call_exit(tree);
	if (there && (!ret || ret == -EAGAIN))
		give_item(tree, &own.item, there);
	lath_reserve_release(tree, &reserve);
	hint_tick(tree, false);
	return ret;
}

/* ---- join ---- */

/* Two items, the second of which begins where the first one ends, in locked leaves. */
struct meeting {
	struct node *first, *last; /* their leaves; the same one, or with half-dead ones between */
	int left, right;	   /* their entries */
};

/* Lock the leaves of the items that meet at `at`. Returns false, with nothing locked, if there are
 * no such items. */
static bool lock_pair(struct tree *tree, u64 at, struct meeting *two)
{
	struct node *first = locate_locked(tree, at - 1, FOR_ERASE), *last = first;

	two->left = (int)node_cover(first, at - 1);
	two->right = -1;
	/* the right item begins in this leaf, or in the next one that covers keys */
	if (two->left >= 0 && node_end(first, (unsigned int)two->left) == at - 1) {
		while (at > last->last || node_half_dead(last))
			last = lock_right(last);
		two->right = (int)node_find(last, at);
	}
	two->first = first;
	two->last = last;
	/* an item that does not end at `at` - 1 meets none: nothing right of it was locked then */
	if (two->right >= 0)
		return true;
	lath_unlock_clean(first, last);
	return false;
}

/* Let the left item cover both. Unlocks. */
static void join_pair(struct tree *tree, const struct meeting *two, const struct lath_item *left,
		      const struct lath_item *right)
{
	u64 size = left->size + right->size;
	bool marked = two->last->counted;
	unsigned int count;

	LATH_ASSERT(left->key + left->size == right->key && size);
	node_erase(two->last, (unsigned int)two->right);
	/* looked at before the unlock: afterwards other threads change it */
	count = node_count(two->last);
	if (two->first == two->last) {
		WRITE_ONCE(two->first->size[two->left], size);
		node_unlock(two->first);
	} else {
		resize_across(tree, two->first, two->last, (unsigned int)two->left, size);
	}
	change_number(tree, right->key, right->key, marked);
	/* the two counts that every leaf passes on its way down: each is noted once */
	if (count == NODE_CAP / 4 || !count)
		lath_merge_later(tree, left->key);
}

int lath_index_join(struct lath_index *index, uint64_t at,
		    int (*may_join)(void *arg, const struct lath_item *left,
				    const struct lath_item *right),
		    void *arg, struct lath_item *gone)
{
	struct tree *tree = tree_of(index);
	const struct lath_item *left, *right;
	struct own_item own[2];
	struct meeting two;
	int ret = -ENOENT;

	if (!holds_ranges(tree))
		return -EINVAL;
	call_enter(tree);
	if (at && lock_pair(tree, at, &two)) {
		left = own_item_of(tree, two.first, (unsigned int)two.left, &own[0]);
		right = own_item_of(tree, two.last, (unsigned int)two.right, &own[1]);
		/* together they would be the whole key space, whose size is not a 64-bit number */
		if (!(left->size + right->size))
			ret = -EINVAL;
		else
			ret = !may_join || may_join(arg, left, right) ? 0 : -ECANCELED;
		/* may_join() was asked under the locks: what it saw is what is joined */
		if (ret)
			lath_unlock_clean(two.first, two.last);
		else
			join_pair(tree, &two, left, right);
	}
	call_exit(tree);
	if (!ret && gone)
		give_item(tree, &own[1].item, gone);
	return ret;
}
