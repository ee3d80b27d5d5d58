/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cursor.c - iteration and the locked leaf (lathwork/cursor.h).
 *
 * A step stays in the leaf if its lockword is the one the cursor remembers. The version never
 * repeats, so the leaf has not changed, nor has its memory become another leaf. With LATH_NODE_EACH
 * the memory may have been freed, and every step goes by key.
 */
#include "lathwork/cursor.h"
#include "tree/call/call.h"
#include "tree/way/locate.h"
#include "tree/step/step.h"

void lath_cursor_init(struct lath_cursor *cursor, struct lath_index *index)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->index = index;
	cursor->entry = -1;
}

/* Stand on the item with this key, and remember its leaf. */
static void cursor_place(struct lath_cursor *cursor, struct tree *tree, u64 key)
{
	struct node *leaf;

	cursor->key = key;
	cursor->leaf = NULL;
	/* With LATH_NODE_EACH the leaf may be freed before the next step: that one looks for the
	 * key. */
	if (nodes_stay(tree)) {
		leaf = locate(tree, key, FOR_READ, &cursor->lockword);
		cursor->leaf = leaf;
		cursor->entry = (int)node_find(leaf, key);
		if (cursor->entry >= 0 && node_valid(leaf, cursor->lockword))
			return;
		cursor->leaf = NULL;
	}
	/* not -1, which means that the cursor is nowhere: the next step goes on from `key` */
	cursor->entry = 0;
}

/* Step to the neighbour in the remembered leaf. Returns false if it is not there, or the leaf has
 * changed. */
static bool step_in_leaf(struct lath_cursor *cursor, struct tree *tree, bool up,
			 struct lath_item *item)
{
	struct node *leaf = cursor->leaf;
	int i;

	LATH_ASSERT(!leaf || nodes_stay(tree)); /* where nodes are freed no leaf is remembered */
	if (!leaf ||
	    smp_load_acquire(&leaf->lockword) != cursor->lockword) /* pairs with node_unlock */
		return false;
	i = up ? node_after(leaf, cursor->entry) : node_before(leaf, cursor->entry);
	/* the leaf ends here: the caller goes on by key */
	if (i < 0)
		return false;
	item_of(tree, leaf, (unsigned int)i, item);
	if (!node_valid(leaf, cursor->lockword))
		return false;
	cursor->entry = i;
	cursor->key = item->key;
	return true;
}

static int stand_or_stay(struct lath_cursor *cursor, int ret, const struct lath_item *item)
{
	struct tree *tree = tree_of(cursor->index);

	/* nothing there: the cursor stays where it was */
	if (ret)
		return 0;
	lath_reader_enter(tree->rcu);
	cursor_place(cursor, tree, item->key);
	lath_reader_exit(tree->rcu);
	return 1;
}

int lath_cursor_seek(struct lath_cursor *cursor, uint64_t key, struct lath_item *item)
{
	return stand_or_stay(cursor, lath_index_ceiling_item(cursor->index, key, item), item);
}

int lath_cursor_seek_floor(struct lath_cursor *cursor, uint64_t key, struct lath_item *item)
{
	return stand_or_stay(cursor, lath_index_floor_item(cursor->index, key, item), item);
}

int lath_cursor_next(struct lath_cursor *cursor, struct lath_item *item)
{
	/* a cursor that has not been used: `next` begins at the first item */
	if (cursor->entry < 0)
		return lath_cursor_seek(cursor, 0, item);
	if (step_in_leaf(cursor, tree_of(cursor->index), true, item))
		return 1;
	return cursor->key < KEY_MAX ? lath_cursor_seek(cursor, cursor->key + 1, item) : 0;
}

int lath_cursor_prev(struct lath_cursor *cursor, struct lath_item *item)
{
	if (cursor->entry < 0)
		return lath_cursor_seek_floor(cursor, KEY_MAX, item);
	if (step_in_leaf(cursor, tree_of(cursor->index), false, item))
		return 1;
	return cursor->key ? lath_cursor_seek_floor(cursor, cursor->key - 1, item) : 0;
}

/* ---- the locked leaf ---- */

int lath_cursor_lock(struct lath_cursor *cursor, uint64_t key, uint64_t *low, uint64_t *last)
{
	struct tree *tree = tree_of(cursor->index);
	struct node *leaf;
	int ret;

	if (unlikely(cursor->locked))
		return -EINVAL;
	/* before the lock: while the leaf is locked nothing is allocated */
	ret = lath_index_preload(cursor->index, &cursor->preload);
	if (ret)
		return ret;
	call_enter(tree);
	/* the call and the section last until the leaf is unlocked (after_unlock) */
	leaf = locate_locked(tree, key, FOR_INSERT);
	cursor->leaf = leaf;
	cursor->locked = 1;
	if (low)
		*low = leaf->low;
	if (last)
		*last = leaf->last;
	return 0;
}

int lath_cursor_locked_floor(const struct lath_cursor *cursor, uint64_t key, struct lath_item *item)
{
	const struct node *leaf = cursor->leaf;
	int i;

	if (unlikely(!cursor->locked))
		return 0;
	LATH_ASSERT(node_is_locked(leaf));
	/* the leaf is locked: what is read needs no validation, and stays true until the unlock */
	i = (int)node_floor(leaf, key);
	if (i >= 0)
		item_of(tree_of(cursor->index), leaf, (unsigned int)i, item);
	return i >= 0;
}

/* The leaf has been unlocked: leave the critical section, free what was not needed. */
static void after_unlock(struct lath_cursor *cursor)
{
	cursor->locked = 0;
	cursor->leaf = NULL;
	call_exit(tree_of(cursor->index));
	lath_index_preload_release(cursor->index, &cursor->preload);
}

int lath_cursor_insert(struct lath_cursor *cursor, const struct lath_item *item,
		       struct lath_item *conflict)
{
	struct tree *tree = tree_of(cursor->index);
	struct node *leaf = cursor->leaf, *full;
	enum leaf_result result;

	if (unlikely(!cursor->locked))
		return -EINVAL;
	/* an item that begins in another leaf is refused: the caller locks that one */
	if (!item_valid(tree, item->key, item->size) || item->key < leaf->low ||
	    item->key > leaf->last) {
		lath_cursor_unlock(cursor);
		return -EINVAL;
	}
	/* the leaf is unlocked in any case but LEAF_FULL_LOCKED */
	result = lath_insert_from(tree, leaf, item, conflict, &full);
	if (result == LEAF_FULL_LOCKED) {
		struct reserve reserve = { cursor->preload.node[0],
					   { cursor->preload.node[1], cursor->preload.node[2] },
					   true };

		lath_leaf_make_room(tree, leaf, full, item->key,
				    &reserve); /* whatever it returns, the caller looks again */
		cursor->preload.node[0] = reserve.leaf;
		cursor->preload.node[1] = reserve.inner[0];
		cursor->preload.node[2] = reserve.inner[1];
	}
	after_unlock(cursor);
	return result == LEAF_FULL_LOCKED ? -EAGAIN : leaf_error(result);
}

int lath_cursor_erase(struct lath_cursor *cursor, uint64_t key, struct lath_item *old)
{
	struct tree *tree = tree_of(cursor->index);
	int i;

	if (unlikely(!cursor->locked))
		return -EINVAL;
	i = (int)node_find(cursor->leaf, key);
	/* every call on a locked cursor ends its lock, whatever it returns */
	if (i < 0) {
		lath_cursor_unlock(cursor);
		return -ENOENT;
	}
	lath_leaf_erase(tree, cursor->leaf, i, old);
	after_unlock(cursor);
	return 0;
}

void lath_cursor_unlock(struct lath_cursor *cursor)
{
	if (unlikely(!cursor->locked))
		return;
	node_unlock_clean(cursor->leaf);
	after_unlock(cursor);
}
