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
#include "index/holes/gap.h"
#include "index/hint/hint.h"

/* Merge only what leaves a quarter free, or an empty node. */
static bool nodes_fit(unsigned int a, unsigned int b)
{
	return a + b <= NODE_CAP - NODE_CAP / 4 || !a || !b;
}

/* Two locked neighbours, right.low == left.last + 1 or one of them VOID: all to the left one. */
static void merge(struct tree *list, struct node *left, struct node *right)
{
	bool left_void = node_void(left), right_void = node_void(right);
	unsigned int side = node_level(left) ? list->inner_side : list->ranges;

	if (node_count(right)) {
		node_compact(left, side);
		node_compact(right, side);
		node_move_down(left, right, right->used, side);
		node_rescale(left);
	}
	if (!right_void)
		WRITE_ONCE(left->last, right->last);
	if (!right_void && left_void) {
		WRITE_ONCE(left->low, min(left->low, right->low));
		WRITE_ONCE(left->word, READ_ONCE(left->word) & ~(u64)NODE_VOID);
	}
	WRITE_ONCE(left->right, right->right);
	WRITE_ONCE(right->word, READ_ONCE(right->word) | NODE_DEAD);
}

/* Children i and j of a locked node, neighbours there: merge j into i? Returns j's node, DEAD, or NULL. */
static struct node *merge_children(struct tree *list, struct node *up, int i, int j, u64 span[2])
{
	struct node *left, *right;

	if (i < 0 || j < 0)
		return NULL;
	left = node_child(up, (unsigned int)i);
	right = node_child(up, (unsigned int)j);
	node_lock(left);
	if (left->right != right) { /* one between them is not posted yet */
		node_unlock_clean(left);
		return NULL;
	}
	node_lock(right);
	if (!nodes_fit(node_count(left), node_count(right))) {
		node_unlock_clean(right);
		node_unlock_clean(left);
		return NULL;
	}
	merge(list, left, right);
	node_erase(up, (unsigned int)j);
	if (list->holes) {
		gap_settle(list, left);
		node_forget_gap(up, (unsigned int)i);
	}
	span[0] = left->low;
	span[1] = left->last;
	if (!node_level(left))
		guide_lead(list, left, span[0]);
	lath_delay("merged, locks still held");
	node_unlock(right);
	node_unlock(left);
	return right;
}

static bool child_empty(const struct node *up, int i)
{
	return !READ_ONCE(node_child(up, (unsigned int)i)->live);
}

/* Merge the child of a locked node that covers key with a neighbour. The DEAD node or NULL; *more: one of
 * the two was empty, so there may be another like it. */
static struct node *merge_one(struct tree *list, struct node *up, u64 key, bool *more, u64 span[2])
{
	int i = (int)inner_slot(up, key), j = node_after(up, i), h = node_before(up, i);
	struct node *dead;

	*more = j >= 0 && (child_empty(up, j) || child_empty(up, i));
	dead = merge_children(list, up, i, j, span);
	if (dead)
		return dead;
	*more = h >= 0 && (child_empty(up, h) || child_empty(up, i));
	return merge_children(list, up, h, i, span);
}

/* Merge the node of this level that covers key with its neighbours; then perhaps its parent, and so on.
 * Returns the last key of the first parent. */
static u64 merge_at(struct tree *list, u64 key, unsigned int level)
{
	bool merged = false, first = true, more;
	u64 last = KEY_MAX, span[2];

	for (;;) {
		struct node *up = lock_level(list, key, level + 1), *dead;
		bool sparse;

		if (!up)
			return last;
		if (first)
			last = up->last;
		first = false;
		gap_begin(list);
		dead = merge_one(list, up, key, &more, span);
		sparse = node_sparse(node_count(up));
		if (dead)
			node_unlock(up);
		else
			node_unlock_clean(up);
		if (dead)
			gap_sync_span(list, span[0], span[1], level + 1, level + 1);
		gap_end(list);
		if (dead) {
			node_retire(list, level ? POOL_INNER : POOL_LEAF, dead);
			lath_fetch_add(&list->merges, 1);
			merged = true;
			if (more)
				continue;
		}
		if (!merged || !sparse)
			return last;
		merged = false;
		level++;
	}
}

void merge_void(struct tree *list, u64 key, u64 end)
{
	u64 last;

	for (;;) {
		last = merge_at(list, key, 0);
		if (last >= end)
			return;
		key = last + 1;
	}
}

void leaf_became_sparse(struct tree *list, u64 key)
{
	u64 turn = lath_fetch_add(&list->sparse_turn, 1);
	u64 *slot = &list->sparse[turn % SPARSE_RING];
	u64 earlier = READ_ONCE(*slot), word;
	struct node *leaf;

	WRITE_ONCE(*slot, key);
	if (turn < SPARSE_RING)
		return;
	leaf = find_leaf(list, earlier, &word);
	if (node_sparse(node_count(leaf)))
		merge_at(list, earlier, 0);
}

/* Erase entry i of a locked leaf and unlock. True: the leaf has just become sparse. */
static bool erase_entry(struct tree *list, struct node *leaf, int i, struct lath_item *old)
{
	u64 key = node_key(leaf, (unsigned int)i);
	unsigned int count;
	bool claimed;

	if (old)
		item_of(leaf, (unsigned int)i, list->ranges, old);
	gap_begin(list);
	node_erase(leaf, (unsigned int)i);
	count = node_count(leaf);
	claimed = !list->holes || gap_claims(list, leaf, (unsigned int)i);
	node_unlock(leaf);
	lath_delay("erased, hole not yet claimed");
	if (!claimed) {
		lath_reader_enter(list->rcu);
		gap_sync(list, key, 0);
		lath_reader_exit(list->rcu);
	}
	gap_end(list);
	return count == NODE_CAP / 4 || !count;
}

int erase_locked(struct tree *list, struct node *leaf, int i, struct lath_item *old)
{
	u64 key = node_key(leaf, (unsigned int)i);

	if (unlikely(erase_entry(list, leaf, i, old))) {
		lath_reader_enter(list->rcu);
		leaf_became_sparse(list, key);
		lath_reader_exit(list->rcu);
	}
	return 0;
}

/* Erase in this leaf if it is so still. -EAGAIN: it is not. */
int erase_under(struct tree *list, struct node *leaf, u64 word, u64 key, bool exact,
		struct lath_item *old)
{
	int i = (int)(exact ? node_find(leaf, key) : node_cover(leaf, key, list->ranges));

	if (i < 0)
		return node_valid(leaf, word) ? -ENOENT : -EAGAIN;
	return node_trylock(leaf, word) ? erase_locked(list, leaf, i, old) : -EAGAIN;
}

/* exact: the item must start at key. A miss is answered without the lock. */
int erase_item(struct tree *list, u64 key, bool exact, struct lath_item *old)
{
	unsigned int try;
	struct node *leaf;
	u64 word;
	int i;

	for (try = 0; try < READ_TRIES; try++) {
		int ret;

		leaf = walk_to_erase(list, key, &word);
		ret = erase_under(list, leaf, word, key, exact, old);
		if (likely(ret != -EAGAIN))
			return ret;
	}
	leaf = lock_leaf(list, key);
	i = exact ? node_find(leaf, key) : node_cover(leaf, key, list->ranges);
	if (i >= 0)
		return erase_locked(list, leaf, i, old);
	node_unlock_clean(leaf);
	return -ENOENT;
}

static int erase(struct tree *list, u64 key, bool exact, struct lath_item *old)
{
	struct node *leaf;
	u64 word;
	int ret;

	leaf = finger_try(list, key, &word);
	if (leaf) {
		ret = erase_under(list, leaf, word, key, exact, old);
		if (ret != -EAGAIN)
			return ret;
	}
	walker_enter(list);
	ret = erase_item(list, key, exact, old);
	walker_exit(list);
	guide_turn(list, 1, false);
	return ret;
}

int lath_index_erase_item(struct lath_index *list, uint64_t key, struct lath_item *old)
{
	return erase(tree_of(list), key, true, old);
}

int lath_index_erase_item_at(struct lath_index *list, uint64_t point, struct lath_item *old)
{
	return erase(tree_of(list), point, false, old);
}

int lath_index_erase_if(struct lath_index *public, uint64_t key, uint64_t expected,
			   struct lath_item *there)
{
	struct tree *list = tree_of(public);
	struct node *leaf;
	int i, ret = -ENOENT;

	walker_enter(list);
	leaf = lock_leaf(list, key);
	i = node_find(leaf, key);
	if (i >= 0 && node_value(leaf, (unsigned int)i) != expected) {
		if (there)
			item_of(leaf, (unsigned int)i, list->ranges, there);
		ret = -EAGAIN;
	}
	if (i >= 0 && ret == -ENOENT)
		ret = erase_locked(list, leaf, i, there);
	else
		node_unlock_clean(leaf);
	walker_exit(list);
	return ret;
}
