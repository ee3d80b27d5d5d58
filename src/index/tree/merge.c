/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge.c - see merge.h.
 *
 * What is erased is often inserted again soon (the 2013 test pops 128 neighbours and puts them
 * back), so a leaf that became sparse is only remembered. It is looked at again SPARSE_RING such
 * events later. If it is still sparse, it is merged with a sibling under the same parent: parent,
 * left and right node are locked, the right one dies, and its downlink leaves the parent in the
 * same locked section. So a descent that meets the DEAD node and starts again does not meet it a
 * second time.
 */
#include "index/tree/merge.h"
#include "index/tree/change.h"
#include "index/tree/locate.h"
#include "index/tree/pool.h"
#include "index/tree/post.h"

/* May two nodes with so many entries become one? A quarter of it must stay free, unless one has
 * next to nothing: no entries, or one child. */
static bool nodes_fit(unsigned int level, unsigned int a, unsigned int b)
{
	if (min(a, b) <= (level ? 1u : 0u))
		return a + b <= NODE_CAP;
	return a + b <= NODE_CAP - NODE_CAP / 4;
}

/* Move everything from the right to the left one of two locked siblings, and mark the right one
 * DEAD. Either may be half-dead. */
static void merge_nodes(struct tree *tree, struct node *left, struct node *right)
{
	bool left_half_dead = node_half_dead(left), right_half_dead = node_half_dead(right);
	unsigned int side = node_level(left) ? tree->inner_side : tree->leaf_side;

	LATH_ASSERT(node_is_locked(left) && node_is_locked(right) && left->right == right);
	if (node_count(right)) {
		node_compact(left, side);
		node_compact(right, side);
		node_move_down(left, right, right->used, side);
		node_reindex(left);
	}
	if (!right_half_dead)
		WRITE_ONCE(left->last, right->last);
	if (!right_half_dead && left_half_dead) {
		WRITE_ONCE(left->low, min(left->low, right->low));
		WRITE_ONCE(left->lockword, READ_ONCE(left->lockword) & ~(u64)NODE_HALF_DEAD);
	}
	WRITE_ONCE(left->right, right->right);
	change_keys(left, right);
	WRITE_ONCE(right->lockword, READ_ONCE(right->lockword) | NODE_DEAD);
}

bool absorb_right(struct tree *tree, struct node *left)
{
	struct node *right = READ_ONCE(left->right);

	LATH_ASSERT(node_is_locked(left));
	if (!right || !READ_ONCE(right->no_downlink) || !node_half_dead(right))
		return false;
	node_lock(right);
	if (!node_half_dead(right) || !lath_fetch_clear(&right->no_downlink)) {
		node_unlock_clean(right);
		return false;
	}
	WRITE_ONCE(left->right, right->right);
	/* however left is unlocked, it has changed */
	WRITE_ONCE(left->lockword, READ_ONCE(left->lockword) + NODE_VERSION);
	WRITE_ONCE(right->lockword, READ_ONCE(right->lockword) | NODE_DEAD);
	node_unlock(right);
	node_retire(tree, POOL_LEAF, right);
	lath_fetch_add(&tree->merges, 1);
	return true;
}

/* Absorb what can be of the half-dead leaves right of `leaf`, up to the next one that covers keys.
 */
static void absorb_run(struct tree *tree, struct node *leaf)
{
	do {
		node_lock(leaf);
		while (!(READ_ONCE(leaf->lockword) & NODE_DEAD) && absorb_right(tree, leaf))
			;
		node_unlock_clean(leaf);
		leaf = leaf_right(leaf);
	} while (leaf && node_half_dead(leaf));
}

/* Erase the downlinks of half-dead leaves with separators of [key, last] in the parent that covers
 * `at`, but for the parent's first one. Returns the last key of the parent, or KEY_MAX if there is
 * none. */
static u64 drop_downlinks(struct tree *tree, u64 at, u64 key, u64 last)
{
	struct node *up = level_lock(tree, at, 1);
	u64 live, ret;
	bool any = false;

	if (!up)
		return KEY_MAX;
	ret = up->last;
	for (live = up->live & (up->live - 1); live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		struct node *child = node_child(up, i);

		if (node_key(up, i) >= key && node_key(up, i) <= last && node_half_dead(child)) {
			node_erase(up, i);
			change_separator(tree, up, node_key(up, i));
			/* alive until this is claimed: its downlink was here, under the lock */
			WRITE_ONCE(child->no_downlink, 1);
			any = true;
		}
	}
	if (any)
		node_unlock(up);
	else
		node_unlock_clean(up);
	return ret;
}

/* A merge under way. */
struct merging {
	struct tree *tree;
	struct node *up; /* the parent, locked */
	u64 first, last; /* fence keys of what was merged */
	bool edge;	 /* the entry that left the parent was its last one */
};

/* Merge the child at entry j of m->up into the one before it, at entry i. Returns the DEAD node, or
 * NULL: they are no neighbours, or too full. */
static struct node *merge_children(struct merging *m, int i, int j)
{
	struct node *left, *right;

	if (i < 0 || j < 0)
		return NULL;
	left = node_child(m->up, (unsigned int)i);
	right = node_child(m->up, (unsigned int)j);
	node_lock(left);
	while (absorb_right(m->tree, left))
		;
	if (left->right != right) { /* a node without a downlink is between them */
		node_unlock_clean(left);
		return NULL;
	}
	node_lock(right);
	if (!nodes_fit(node_level(left), node_count(left), node_count(right))) {
		node_unlock_clean(right);
		node_unlock_clean(left);
		return NULL;
	}
	merge_nodes(m->tree, left, right);
	node_erase(m->up, (unsigned int)j);
	m->edge = node_after(m->up, j) < 0;
	change_node(m->tree, left);
	change_child(m->tree, m->up, (unsigned int)i);
	/* the entry's own key too: a half-dead node's fences may lie elsewhere */
	m->first = min(left->low, node_key(m->up, (unsigned int)i));
	m->last = max(left->last, node_key(m->up, (unsigned int)i));
	lath_delay("merged, locks still held");
	node_unlock(right);
	node_unlock(left);
	return right;
}

static bool child_empty(const struct node *up, int i)
{
	return !READ_ONCE(node_child(up, (unsigned int)i)->live);
}

/* Merge the child that covers key with a sibling. Returns the DEAD node or NULL; *more: one of the
 * two was empty, so there may be another like it. */
static struct node *merge_one(struct merging *m, u64 key, bool *more)
{
	int i = (int)inner_slot(m->up, key), next = node_after(m->up, i),
	    before = node_before(m->up, i);
	struct node *dead;

	*more = next >= 0 && (child_empty(m->up, next) || child_empty(m->up, i));
	dead = merge_children(m, i, next);
	if (dead)
		return dead;
	*more = before >= 0 && (child_empty(m->up, before) || child_empty(m->up, i));
	return merge_children(m, before, i);
}

struct merge_result {
	bool merged;
	bool more;   /* there may be another one to merge */
	bool sparse; /* the parent has few entries now */
	bool alone;  /* the parent has one child, which is half-dead */
	u64 last;    /* the last key of the parent */
};

/* The node of this level that ends at `last` lost its last entry. That may have kept the first
 * child of its right sibling, which begins further left, from moving the boundary there: try again.
 */
static void retry_boundary(struct tree *tree, u64 last, unsigned int level)
{
	struct node *right, *child;
	u64 lockword, low;

	if (last == KEY_MAX)
		return;
	right = level_find(tree, last + 1, level, &lockword);
	if (!right)
		return;
	child = node_child(right, __ffs64(READ_ONCE(right->live) | 1ull << 63));
	low = READ_ONCE(right->low);
	if (node_valid(right, lockword) && READ_ONCE(child->low) < low)
		post_low(tree, child);
}

/* Merge the node of this level that covers key with a sibling. Returns false if the level has no
 * parents. */
static bool merge_step(struct tree *tree, u64 key, unsigned int level, struct merge_result *result)
{
	struct merging m = { .tree = tree, .up = level_lock(tree, key, level + 1) };
	struct node *dead;

	if (!m.up)
		return false;
	result->last = m.up->last;
	change_begin(tree);
	dead = merge_one(&m, key, &result->more);
	result->merged = dead;
	result->sparse = node_sparse(node_count(m.up));
	result->alone = !level && node_count(m.up) == 1 &&
			node_half_dead(node_child(m.up, __ffs64(m.up->live)));
	if (dead) {
		node_unlock(m.up);
		change_levels(tree, m.first, m.last, level + 1, level + 1, true);
		if (m.edge)
			retry_boundary(tree, result->last, level + 1);
	} else {
		node_unlock_clean(m.up);
	}
	change_end(tree);
	if (dead) {
		node_retire(tree, level ? POOL_INNER : POOL_LEAF, dead);
		lath_fetch_add(&tree->merges, 1);
	}
	return true;
}

/* Merge the node of this level that covers key with its siblings. Returns false if none was merged;
 * *result: of the last attempt. */
static bool merge_level(struct tree *tree, u64 key, unsigned int level, struct merge_result *result)
{
	bool any = false;

	do {
		if (!merge_step(tree, key, level, result)) {
			result->sparse = result->alone = false;
			break;
		}
		any |= result->merged;
	} while (result->merged && result->more);
	return any;
}

/* Merge the leaf that covers key with its siblings; then its parent if that has become sparse, and
 * so on. Returns the last key of the leaf's parent. */
static u64 merge_at(struct tree *tree, u64 key)
{
	struct merge_result result = { .last = KEY_MAX }, again;
	unsigned int level, below;
	u64 last = KEY_MAX;

	for (level = 0;; level++) {
		bool any = merge_level(tree, key, level, &result);

		if (!level)
			last = result.last;
		/* the children of two parents are siblings now */
		for (below = level; any && below--;)
			merge_level(tree, key, below, &again);
		if (!(any || result.alone) || !result.sparse)
			return last;
	}
}

void merge_half_dead(struct tree *tree, struct node *first, u64 key, u64 end, u64 to)
{
	u64 last, at, lockword;

	for (at = key; (last = drop_downlinks(tree, at, key, to)) < end; at = last + 1)
		;
	if (node_half_dead(first) && key)
		first = locate(tree, key - 1, FOR_READ, &lockword);
	absorb_run(tree, first);
	for (;;) {
		last = merge_at(tree, key);
		if (last >= end)
			return;
		key = last + 1;
	}
}

void merge_later(struct tree *tree, u64 key)
{
	u64 turn = lath_fetch_add(&tree->sparse_turn, 1);
	u64 *slot = &tree->sparse[turn % SPARSE_RING];
	u64 earlier = READ_ONCE(*slot), lockword;
	struct node *leaf;

	WRITE_ONCE(*slot, key);
	if (turn < SPARSE_RING)
		return;
	leaf = locate(tree, earlier, FOR_READ, &lockword);
	if (node_sparse(node_count(leaf)))
		merge_at(tree, earlier);
}
