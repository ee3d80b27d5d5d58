/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * erase.c - erase clears one bit; sparse leaves are merged some time later.
 *
 * What is erased is often inserted again soon (the 2013 test pops 128 neighbours and puts them
 * back), so a leaf that became sparse is only noted. It is looked at again SPARSE_RING such events
 * later; if it is still sparse, it is merged with a neighbour under the same parent, into the left
 * one of the two: parent, left and right are locked, the right one dies, and its separator leaves
 * the parent in the same locked section. So whoever meets the DEAD node and starts anew does not
 * meet it again.
 */
#include "skiplist/list.h"

/* Merge only what leaves a quarter free, or an empty node. */
static bool leaves_fit(unsigned int a, unsigned int b)
{
	return a + b <= LEAF_CAP - LEAF_CAP / 4 || !a || !b;
}

static void die(struct node *left, struct node *right)
{
	WRITE_ONCE(left->right, READ_ONCE(right->right));
	WRITE_ONCE(right->word, right->word | NODE_DEAD);
}

static bool merge_leaves(struct leaf *left, struct leaf *right, bool ranges)
{
	u64 left_void = left->node.word & NODE_VOID, right_void = right->node.word & NODE_VOID;

	if (!leaves_fit(leaf_count(left), leaf_count(right)))
		return false;
	if (leaf_count(right)) {
		leaf_compact(left, ranges);
		leaf_compact(right, ranges);
		leaf_move_down(left, right, right->used, ranges);
		leaf_rescale(left);
	}
	if (!right_void) {
		WRITE_ONCE(left->node.last, right->node.last);
		if (left_void) {
			WRITE_ONCE(left->node.low, min(left->node.low, right->node.low));
			WRITE_ONCE(left->node.word, left->node.word & ~(u64)NODE_VOID);
		}
	}
	die(&left->node, &right->node);
	return true;
}

static bool merge_inner(struct inner *left, struct inner *right)
{
	if (left->count + right->count > INNER_CAP - INNER_CAP / 4)
		return false;
	inner_move_down(left, right);
	WRITE_ONCE(left->node.last, right->node.last);
	die(&left->node, &right->node);
	return true;
}

/* Children i and i + 1 of a locked node: the right one if it was merged into the left, or NULL. */
static struct node *merge_pair(struct skiplist *list, struct inner *up, unsigned int i)
{
	struct node *left = up->child[i], *right = up->child[i + 1];
	bool merged = false;

	node_lock(left);
	if (left->right != right) { /* one between them is not posted yet */
		node_unlock_clean(left);
		return NULL;
	}
	node_lock(right);
	if (up->level == 1)
		merged = merge_leaves(node_leaf(left), node_leaf(right), list->ranges);
	else
		merged = merge_inner(node_inner(left), node_inner(right));
	if (!merged) {
		node_unlock_clean(right);
		node_unlock_clean(left);
		return NULL;
	}
	inner_remove(up, i + 1);
	lath_delay("merged, locks still held");
	node_unlock(right);
	node_unlock(left);
	return right;
}

static void merge_at(struct skiplist *list, u64 key, unsigned int level)
{
	struct node *dead = NULL;
	bool again;

	do {
		struct node *node = lock_level(list, key, level);
		struct inner *up;
		unsigned int i;

		if (!node)
			return;
		up = node_inner(node);
		i = inner_slot(up, key);
		if (i + 1 < up->count)
			dead = merge_pair(list, up, i);
		if (!dead && i > 0)
			dead = merge_pair(list, up, i - 1);
		again = dead && up->count < INNER_CAP / 4;
		if (dead)
			node_unlock(node);
		else
			node_unlock_clean(node);
		if (dead) {
			node_retire(list, level == 1 ? POOL_LEAF : POOL_INNER, dead);
			lath_fetch_add(&list->merges, 1);
			dead = NULL;
		}
		level++;
	} while (again);
}

void leaf_became_sparse(struct skiplist *list, u64 key)
{
	u64 turn = lath_fetch_add(&list->sparse_turn, 1);
	u64 *slot = &list->sparse[turn % SPARSE_RING];
	u64 earlier = READ_ONCE(*slot), word;
	struct leaf *leaf;

	WRITE_ONCE(*slot, key);
	if (turn < SPARSE_RING)
		return;
	leaf = find_leaf(list, earlier, &word);
	if (leaf_sparse(leaf_count(leaf)))
		merge_at(list, earlier, 1);
}

static int erase_locked(struct skiplist *list, struct leaf *leaf, int i, struct lath_item *old)
{
	unsigned int count;
	u64 key;

	if (old)
		item_of(leaf, (unsigned int)i, list->ranges, old);
	key = leaf_key(leaf, (unsigned int)i);
	leaf_erase(leaf, (unsigned int)i);
	count = leaf_count(leaf);
	node_unlock(&leaf->node);
	if (unlikely(count == LEAF_CAP / 4 - 1 || !count))
		leaf_became_sparse(list, key);
	return 0;
}

/* exact: the item must start at key. A miss is answered without the lock. */
int erase_item(struct skiplist *list, u64 key, bool exact, struct lath_item *old)
{
	unsigned int try;
	struct leaf *leaf;
	u64 word;
	int i;

	for (try = 0; try < READ_TRIES; try++) {
		leaf = find_leaf(list, key, &word);
		i = exact ? leaf_find(leaf, key) : leaf_cover(leaf, key, list->ranges);
		if (i >= 0 && node_trylock(&leaf->node, word))
			return erase_locked(list, leaf, i, old);
		if (i < 0 && node_valid(&leaf->node, word))
			return -ENOENT;
	}
	leaf = lock_leaf(list, key);
	i = exact ? leaf_find(leaf, key) : leaf_cover(leaf, key, list->ranges);
	if (i >= 0)
		return erase_locked(list, leaf, i, old);
	node_unlock_clean(&leaf->node);
	return -ENOENT;
}

int lath_skiplist_erase_item(struct lath_skiplist *list, uint64_t key, struct lath_item *old)
{
	const struct lath_rcu *rcu = list_of(list)->rcu;
	int ret;

	lath_reader_enter(rcu);
	ret = erase_item(list_of(list), key, true, old);
	lath_reader_exit(rcu);
	return ret;
}

int lath_skiplist_erase_item_at(struct lath_skiplist *list, uint64_t point, struct lath_item *old)
{
	const struct lath_rcu *rcu = list_of(list)->rcu;
	int ret;

	lath_reader_enter(rcu);
	ret = erase_item(list_of(list), point, false, old);
	lath_reader_exit(rcu);
	return ret;
}
