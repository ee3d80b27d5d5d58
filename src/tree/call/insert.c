/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * insert.c - insert.
 *
 *   1  locate_locked   the leaf that covers the item's first key, locked (locate.h)
 *   2  leaf_insert     the item ends in the leaf too, and there is room: done (leaf.h,
 *                      tree/node/node.c)
 *   3  insert_across   it ends in a leaf to the right: move the fences (fence.c)
 *   4  lath_leaf_make_room  no room: give entries to the siblings or split, then begin again
 *                      (redistribute.c, post.c)
 */
#include "tree/call/call.h"
#include "tree/watch/change.h"
#include "tree/step/step.h"
#include "tree/way/locate.h"

/*
 * Insert an item that begins in the locked leaf, behind all its entries, and ends beyond its right
 * fence. LEAF_DONE | LEAF_CONFLICT (*conflict) | LEAF_FULL_LOCKED: [first, *full] are still locked.
 */
static enum leaf_result insert_across(struct tree *tree, struct node *first,
				      const struct lath_item *item, struct lath_item *conflict,
				      struct node **full)
{
	u64 end = item->key + item->size - 1;
	int hit;
	struct node *last = lath_lock_until(first, end, &hit);
	bool marked;

	LATH_ASSERT(node_has_sizes(first) &&
		    end > first->last); /* else it does not cross the fence */
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	if (hit >= 0) {
		if (conflict)
			item_of(tree, last, (unsigned int)hit, conflict);
		lath_unlock_clean(first, last);
		return LEAF_CONFLICT;
	}
	/* the item goes to the last leaf: that is the one that needs room */
	if (node_full(last)) {
		*full = last;
		return LEAF_FULL_LOCKED;
	}
	LATH_ASSERT(end >= last->low && end <= last->last);
	/* no range crosses a fence: the last leaf takes the keys from the item's first one on */
	change_begin(tree);
	lath_cover_from(first, last, item->key);
	lath_node_insert(last, node_rank(last, item->key), item->key, item->size, item->value,
			 tree->leaf_side);
	marked = last->counted;
	lath_finish_cover(tree, first, last, item->key, end);
	change_added(tree, item->key, item->size, marked);
	return LEAF_DONE;
}

enum leaf_result lath_insert_from(struct tree *tree, struct node *leaf,
				  const struct lath_item *item, struct lath_item *conflict,
				  struct node **full)
{
	enum leaf_result result = leaf_insert(tree, leaf, item, conflict);

	*full = leaf;
	if (result == LEAF_CROSSES_LOCKED)
		result = insert_across(tree, leaf, item, conflict, full);
	return result;
}

/* Insert although the locked leaf is full or the item ends beyond it. Unlocks. Results as
 * lath_insert_item. What is left of a reserve that is not fixed is freed. */
static int insert_slow(struct tree *tree, struct node *leaf, const struct lath_item *item,
		       struct lath_item *conflict, struct reserve *reserve)
{
	struct node *full;
	int ret;

	lath_reader_enter(tree->rcu);
	for (;;) {
		enum leaf_result result = lath_insert_from(tree, leaf, item, conflict, &full);

		if (result != LEAF_FULL_LOCKED) {
			ret = leaf_error(result);
			break;
		}
		ret = lath_leaf_make_room(tree, leaf, full, item->key, reserve);
		if (ret)
			break;
		/* room was made, or a node obtained for it, without a lock: anything may be there
		 * by now */
		finger_skip(tree);
		leaf = locate_locked(tree, item->key, FOR_INSERT);
	}
	lath_reader_exit(tree->rcu);
	/* a node that was obtained for a split, but another thread split first */
	if (!reserve->fixed)
		lath_reserve_release(tree, reserve);
	return ret;
}

/* lath_insert_into(), inlined into the public call. */
static __always_inline int insert_one(struct tree *tree, struct node *leaf,
				      const struct lath_item *item, struct lath_item *conflict,
				      struct reserve *reserve)
{
	enum leaf_result result = leaf_insert(tree, leaf, item, conflict);

	if (unlikely(result >= LEAF_FULL_LOCKED))
		return insert_slow(tree, leaf, item, conflict, reserve);
	return leaf_error(result);
}

int lath_insert_into(struct tree *tree, struct node *leaf, const struct lath_item *item,
		     struct lath_item *conflict, struct reserve *reserve)
{
	return insert_one(tree, leaf, item, conflict, reserve);
}

int lath_insert_item(struct tree *tree, const struct lath_item *item, struct lath_item *conflict,
		     struct reserve *reserve)
{
	return lath_insert_into(tree, locate_locked(tree, item->key, FOR_INSERT), item, conflict,
				reserve);
}

bool lath_insert_back(struct tree *tree, struct gap_undo *undo, u64 value)
{
	struct node *leaf = undo->leaf;
	bool marked;

	lath_delay("insert: back to an entry, not yet locked");
	if (!lath_gap_undo_lock(undo))
		return false;
	lath_delay("insert: leaf locked");
	marked = leaf->counted;
	/* the entry kept its key and its size */
	WRITE_ONCE(leaf->pair[undo->i].value, value);
	node_revive(leaf, undo->i);
	lath_gap_undo(undo);
	change_added(tree, undo->key, undo->size, marked);
	return true;
}

int lath_index_insert_item(struct lath_index *index, const struct lath_item *item,
			   struct lath_item *conflict)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	struct node *leaf;
	u64 lockword;
	int ret;

	if (unlikely(!item_valid(tree, item->key, item->size)))
		return -EINVAL;
	locks_enter(tree);
	leaf = locate_first(tree, item->key, FOR_INSERT, &lockword);
	lath_delay("located, not yet locked");
	if (unlikely(!leaf || !node_trylock(leaf, lockword)))
		leaf = locate_locked(tree, item->key, FOR_INSERT);
	ret = insert_one(tree, leaf, item, conflict, &reserve);
	locks_exit(tree);
	hint_tick(tree, true);
	return ret;
}

/* ---- with nodes brought along ---- */

int lath_index_preload(struct lath_index *index, struct lath_preload *preload)
{
	struct tree *tree = tree_of(index);
	unsigned int i;

	/* nodes that an earlier call did not use are kept */
	for (i = 0; i < ARRAY_SIZE(preload->node); i++)
		if (!preload->node[i])
			preload->node[i] = lath_node_alloc(tree, i ? POOL_INNER : POOL_LEAF);
	if (preload->node[0] && preload->node[1] && preload->node[2])
		return 0;
	lath_index_preload_release(index, preload);
	return -ENOMEM;
}

static void reserve_from(struct reserve *reserve, const struct lath_preload *preload)
{
	reserve->leaf = preload->node[0];
	reserve->inner[0] = preload->node[1];
	reserve->inner[1] = preload->node[2];
	LATH_ASSERT(!reserve->leaf || node_dead(READ_ONCE(reserve->leaf->lockword)));
	reserve->fixed = true;
}

void lath_index_preload_release(struct lath_index *index, struct lath_preload *preload)
{
	struct reserve reserve;

	reserve_from(&reserve, preload);
	lath_reserve_release(tree_of(index), &reserve);
	memset(preload, 0, sizeof(*preload));
}

int lath_index_insert_preloaded(struct lath_index *index, const struct lath_item *item,
				struct lath_preload *preload, struct lath_item *conflict)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve;
	int ret;

	if (!item_valid(tree, item->key, item->size))
		return -EINVAL;
	reserve_from(&reserve, preload);
	locks_enter(tree);
	ret = lath_insert_item(tree, item, conflict, &reserve);
	locks_exit(tree);
	hint_tick(tree, false);
	/* what was not used goes back to the caller, who frees it or uses it again */
	preload->node[0] = reserve.leaf;
	preload->node[1] = reserve.inner[0];
	preload->node[2] = reserve.inner[1];
	return ret;
}
