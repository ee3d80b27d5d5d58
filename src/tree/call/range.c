/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * range.c - calls that change all items of a key range: erase_range, clear, store_range.
 *
 * erase_range and clear work leaf by leaf. store_range locks all leaves of its range from left to
 * right and keeps them, so that it takes effect at one moment.
 */
#include "tree/watch/change.h"
#include "tree/step/step.h"
#include "tree/way/locate.h"

/* Items erased from a locked leaf at a time. In the kernel a stack is small. */
#ifdef __KERNEL__
#define CARRY 8
#else
#define CARRY 16
#endif

/* Returns the first live entry of the leaf that overlaps [key, last], or -1. */
static int first_overlap(const struct node *leaf, u64 key, u64 last)
{
	int i = (int)node_cover(leaf, key);

	if (i < 0)
		i = node_after(leaf, (int)node_floor(leaf, key));
	return i >= 0 && node_key(leaf, (unsigned int)i) <= last ? i : -1;
}

/* Erase what one leaf has of [key, last], at most CARRY items, and copy them. Returns their number;
 * *end: the last key up to which the range is empty now. In a read-side critical section. */
static unsigned int erase_some(struct tree *tree, u64 key, u64 last, struct lath_item *carry,
			       u64 *end)
{
	struct node *leaf = locate_locked(tree, key, FOR_ERASE);
	unsigned int n = 0, count;
	int i = first_overlap(leaf, key, last);
	bool marked = leaf->counted;

	LATH_ASSERT(key <= last && lath_reader_inside(tree->rcu));
	change_begin(tree);
	for (; i >= 0 && n < CARRY && node_key(leaf, (unsigned int)i) <= last;
	     i = node_after(leaf, i)) {
		item_of(tree, leaf, (unsigned int)i, &carry[n++]);
		node_erase(leaf, (unsigned int)i);
	}
	/* full: the leaf may have more, so the caller goes on behind the last item that was taken
	 */
	*end = n == CARRY ? carry[n - 1].key + (carry[n - 1].size - 1) : leaf->last;
	count = node_count(leaf);
	/* the levels above are told with no lock held; the change is in flight until then */
	node_unlock_as(leaf, n);
	if (n)
		change_freed(tree, carry, n, marked);
	else
		change_end(tree);
	/* once per leaf, when it becomes sparse or empty: lath_merge_later() remembers it for a while */
	if (n && (!count || (node_sparse(count) && !node_sparse(count + n))))
		lath_merge_later(tree, key);
	return n;
}

/* Erase all items that overlap [key, last], leaf by leaf. Returns their number. */
static s64 erase_between(struct tree *tree, u64 key, u64 last, lath_item_fn each, void *arg)
{
	s64 total = 0;
	u64 end;

	for (;;) {
		struct lath_item carry[CARRY];
		u64 value[CARRY][VALUE_WORDS];
		unsigned int n, i;

		for (i = 0; i < CARRY; i++)
			carry[i].value = (u64)(uintptr_t)value[i];
		call_enter(tree);
		n = erase_some(tree, key, last, carry, &end);
		call_exit(tree);
		/* outside of the call: the user's function may use the index */
		for (i = 0; each && i < n; i++)
			each(arg, &carry[i]);
		total += n;
		/* the leaf may have had no item: *end is its last key then, and the next one
		 * follows */
		if (end >= last)
			return total;
		key = end + 1;
	}
}

int64_t lath_index_erase_range(struct lath_index *index, uint64_t key, uint64_t size,
			       lath_item_fn each, void *arg)
{
	if (!size || size - 1 > KEY_MAX - key)
		return -EINVAL;
	return erase_between(tree_of(index), key, key + size - 1, each, arg);
}

int64_t lath_index_clear(struct lath_index *index, lath_item_fn each, void *arg)
{
	return erase_between(tree_of(index), 0, KEY_MAX, each, arg);
}

/* ---- store_range ---- */

/* What a range [key, end] that is stored over them does to the items of one leaf. */
struct overlay {
	unsigned int covered;	/* items that leave the tree */
	int left;		/* entry that begins before key and reaches it, or -1 */
	struct lath_item right; /* what remains of an item behind end; size 0: nothing */
	struct own_item was;	/* that item, as it was */
	bool right_moves;	/* that item begins in the range and must begin later */
};

static void overlay_leaf(const struct tree *tree, const struct node *leaf, u64 key, u64 end,
			 struct overlay *over)
{
	int i = first_overlap(leaf, key, end);

	memset(over, 0, sizeof(*over));
	over->left = -1;
	for (; i >= 0 && node_key(leaf, (unsigned int)i) <= end; i = node_after(leaf, i)) {
		u64 first = node_key(leaf, (unsigned int)i), last = node_end(leaf, (unsigned int)i);

		/* it reaches beyond the range: its rest stays, as an item that begins there */
		if (last > end) {
			over->right.key = end + 1;
			over->right.size = last - end;
			over->right.value =
				own_item_of(tree, leaf, (unsigned int)i, &over->was)->value;
			over->right_moves = first >= key;
		}
		if (first < key)
			over->left = i;
		else if (last <= end)
			over->covered++;
	}
}

/* Cut and erase what one leaf has of [key, end]. each: called for erased items that end in it. */
static void clear_leaf(const struct tree *tree, struct node *leaf, u64 key, u64 end,
		       lath_item_fn each, void *arg)
{
	int i = first_overlap(leaf, key, end), next;

	for (; i >= 0 && node_key(leaf, (unsigned int)i) <= end; i = next) {
		u64 first = node_key(leaf, (unsigned int)i), last = node_end(leaf, (unsigned int)i);
		struct own_item own;

		next = node_after(leaf, i);
		/* it begins before the range, and is cut; what is behind the range is put back by
		 * the caller */
		if (first < key) {
			WRITE_ONCE(leaf->size[i], key - first);
			continue;
		}
		/* inside the range, or with a rest behind it, which the caller inserts anew */
		node_erase(leaf, (unsigned int)i);
		if (each && last <= end)
			each(arg, own_item_of(tree, leaf, (unsigned int)i, &own));
	}
}

/* Clear the locked leaves [first, last] of what a range [key, end] covers, and let `last` cover the
 * range. */
static void clear_leaves(const struct tree *tree, struct node *first, struct node *last, u64 key,
			 u64 end, lath_item_fn each, void *arg)
{
	struct node *leaf = first;

	LATH_ASSERT(end >= last->low && end <= last->last);
	for (;; leaf = leaf_right(leaf)) {
		LATH_ASSERT(node_is_locked(leaf));
		clear_leaf(tree, leaf, key, end, each, arg);
		if (leaf == last)
			break;
	}
	if (first != last)
		lath_cover_from(first, last, key);
}

/* 0 | -ENOMEM. In a read-side critical section. */
static int store(struct tree *tree, const struct lath_item *item, lath_item_fn each, void *arg,
		 struct reserve *reserve)
{
	u64 key = item->key, end = key + item->size - 1;
	bool marked;

	for (;;) {
		struct node *first = locate_locked(tree, key, FOR_ERASE), *last = first;
		struct overlay over;
		unsigned int count;

		while (end > last->last || node_half_dead(last))
			last = lock_right(last);
		overlay_leaf(tree, last, key, end, &over);
		count = node_count(last) - over.covered - over.right_moves + 1 + !!over.right.size;
		LATH_ASSERT(count && count <= node_count(last) + 2u);
		/* before anything is erased: an erased item cannot be put back without memory */
		if (count > last->cap) {
			int ret = lath_leaf_make_room(tree, first, last, key, reserve);

			if (ret)
				return ret;
			continue;
		}
		/* fences will move: lath_finish_cover() ends this change */
		if (first != last)
			change_begin(tree);
		clear_leaves(tree, first, last, key, end, each, arg);
		if (over.right.size)
			lath_node_insert(last, node_rank(last, over.right.key), over.right.key,
					 over.right.size, over.right.value, tree->leaf_side);
		lath_node_insert(last, node_rank(last, key), key, item->size, item->value,
				 tree->leaf_side);
		marked = last->counted;
		if (first == last)
			node_unlock(first);
		else
			lath_finish_cover(tree, first, last, key, end);
		/* with no lock held: the index by length takes its own locks */
		change_added(tree, key, item->size, false);
		change_number(tree, key, over.right.size ? end + 1 : end, marked);
		return 0;
	}
}

int lath_index_store_range(struct lath_index *index, const struct lath_item *item,
			   lath_item_fn each, void *arg)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	u64 first;
	int ret;

	if (!item_valid(tree, item->key, item->size))
		return -EINVAL;
	first = change_storing(tree, item->key, item->key + item->size - 1);
	call_enter(tree);
	ret = store(tree, item, each, arg, &reserve);
	call_exit(tree);
	change_stored(tree, first, !ret);
	lath_reserve_release(tree, &reserve);
	hint_tick(tree, true);
	return ret;
}
