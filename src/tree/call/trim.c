/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * trim.c - give memory back while the index lives.
 *
 * A pass has two parts. The first merges leaves, from left to right, until they are as full as
 * after inserts at random places. The second chooses chunks of which few nodes are in use, as many
 * as the others have room for, and moves these nodes: each is copied to a node of another chunk,
 * which takes its place under the locks of parent, left sibling and node, and dies. When the last
 * one has come back after its grace period, the host gets the chunk's pages (pool.c).
 *
 * The call keeps no lock between two nodes and does not wait for readers. One thread at a time
 * trims an index.
 */
#include "tree/watch/change.h"
#include "tree/way/locate.h"
#include "tree/step/step.h"
#include "tree/memory/pool.h"

/* A cursor is an even key, in the node to go on with, or MOVING: the second part, whose place the
 * index keeps. 0: the beginning. */
#define MOVING 1ull

/* A node to be moved, its parent and its left sibling (NULL if it begins at key 0), locked. */
struct move {
	struct tree *tree;
	struct node *up, *left, *node;
	unsigned int at; /* its entry in the parent */
};

/* Returns the entry of the locked `up` that leads to child, or -1. */
static int entry_of(const struct node *up, const struct node *child)
{
	u64 live = up->live;

	for (; live; live &= live - 1)
		if (node_child(up, __ffs64(live)) == child)
			return (int)__ffs64(live);
	return -1;
}

/* Lock a node that may be any by now, with those that lead to it. Returns false, with none locked,
 * if it is not in use, is not led to by a parent, or is being changed. In a read-side critical
 * section. */
static bool move_lock(struct move *m, struct node *node)
{
	u64 lockword = node_read(node), low = READ_ONCE(node->low), left_word;
	unsigned int level = node_level(node);
	int at;

	LATH_ASSERT(lath_spin_mine(&m->tree->trim_lock));
	/* a node that changes from here on is not locked below, whatever was read of it */
	if (!node_sound(lockword) || READ_ONCE(node->no_downlink))
		return false;
	m->node = node;
	/* locks are taken from the top down and from left to right, as everywhere; what was read
	 * before is compared under them */
	m->left = low ? lath_level_find(m->tree, low - 1, level, &left_word) : NULL;
	if (low && !m->left)
		return false;
	lath_delay("to be moved, not yet locked");
	m->up = lath_level_lock(m->tree, low, level + 1);
	if (!m->up)
		return false;
	at = entry_of(m->up, node);
	/* the leftmost node of a level has no left sibling to lock: the second branch */
	if (at >= 0 && m->left && node_trylock(m->left, left_word)) {
		if (m->left->right == node && node_trylock(node, lockword)) {
			m->at = (unsigned int)at;
			return true;
		}
		node_unlock_clean(m->left);
	} else if (at >= 0 && !low && node_trylock(node, lockword)) {
		m->at = (unsigned int)at;
		return true;
	}
	node_unlock_clean(m->up);
	return false;
}

/* Move a node to `fresh`. Returns false if it could not be locked; then fresh was not used. */
static bool move_node(struct tree *tree, struct node *node, struct node *fresh, enum pool_kind kind)
{
	struct move m = { .tree = tree };

	if (!move_lock(&m, node))
		return false;
	LATH_ASSERT(node_is_locked(node) && node_is_locked(m.up) && node_child(m.up, m.at) == node);
	LATH_ASSERT(!m.left || (node_is_locked(m.left) && m.left->right == node));
	/* the copy is complete and open before a link leads to it */
	lath_node_copy(fresh, node, tree->pool[kind].node_size);
	node_open(fresh);
	if (m.left)
		WRITE_ONCE(m.left->right, fresh);
	WRITE_ONCE(m.up->pair[m.at].value, (u64)(uintptr_t)fresh);
	node_kill(node);
	lath_delay("moved, locks still held");
	node_unlock(node);
	if (m.left)
		node_unlock(m.left);
	node_unlock(m.up);
	/* readers may still hold its address: it returns to its pool after a grace period */
	lath_node_retire(tree, kind, node);
	return true;
}

/* ---- the two parts; trim_lock held, in a read-side critical section of a call ---- */

/* Merge leaves from *key on. Returns the number of those that died; *key: where to go on, 0: at the
 * end. */
static size_t merge_some(struct tree *tree, u64 *key, size_t *budget)
{
	size_t done = 0;

	/* each round locks one parent, so that other threads get in between */
	do
		done += lath_merge_dense(tree, key, budget);
	while (*key && *budget);
	if (!*key)
		lath_merge_roots(tree);
	return done;
}

static void begin_moving(struct tree *tree, enum pool_kind kind)
{
	LATH_ASSERT(lath_spin_mine(&tree->trim_lock));
	tree->moving_kind = (u8)kind;
	tree->moving = lath_pool_leave(tree, kind);
	tree->moving_at = 0;
}

/* The next node to be moved, or NULL: there are no more. */
static struct node *next_to_move(struct tree *tree)
{
	struct node *node;

	while (!(node = lath_chunk_next(&tree->moving, &tree->moving_at))) {
		/* leaves first, then inner nodes, then the trim is done */
		if (tree->moving_kind == POOL_INNER)
			return NULL;
		begin_moving(tree, POOL_INNER);
	}
	return node;
}

/* Move nodes out of the chunks that were chosen. Returns how many; *more: there are others. */
static size_t move_some(struct tree *tree, size_t *budget, bool *more)
{
	struct node *fresh = NULL, *node;
	enum pool_kind kind = POOL_LEAF;
	size_t done = 0;

	for (*more = true; *budget; --*budget) {
		node = next_to_move(tree);
		if (fresh && (!node || kind != tree->moving_kind)) {
			lath_node_free(tree, kind, fresh);
			fresh = NULL;
		}
		kind = tree->moving_kind;
		if (node && !fresh)
			fresh = lath_node_alloc_kept(tree, kind);
		if (!node || !fresh) { /* inserts have taken the room */
			*more = false;
			return done;
		}
		/* it was changed since: it counts, so that the loop ends, and a later trim
		 * comes back */
		if (!move_node(tree, node, fresh, kind))
			continue;
		fresh = NULL;
		done++;
	}
	if (fresh)
		lath_node_free(tree, kind, fresh);
	return done;
}

size_t lath_index_trim(struct lath_index *index, size_t budget, uint64_t *cursor)
{
	struct tree *tree = tree_of(index);
	size_t done = 0;
	bool more = true;
	u64 key = *cursor;

	budget = max(budget, (size_t)1);
	call_enter(tree);
	/* another thread trims: its work is not needed twice */
	if (!lath_spin_trylock(&tree->trim_lock)) {
		call_exit(tree);
		return 0;
	}
	if (key != MOVING) {
		done = merge_some(tree, &key, &budget);
		/* Up to the next even key, so that the next call goes on: the one below lies in the
		 * leaf before. To pass by a leaf of one key does no harm. */
		key += key & MOVING;
		if (!key)
			key = MOVING;
		if (key == MOVING)
			begin_moving(tree, POOL_LEAF);
	}
	if (key == MOVING)
		done += move_some(tree, &budget, &more);
	lath_spin_unlock(&tree->trim_lock);
	call_exit(tree);
	if (!more) {
		lath_hint_trim(tree);
		key = 0;
	}
	*cursor = key;
	return done;
}
