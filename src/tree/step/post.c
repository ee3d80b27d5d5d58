/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * post.c - tell the level above where a node begins ("posting"; Lomet and Salzberg 1992).
 *
 * A new node is first linked to its left sibling, where a descent finds it by moving right (an
 * incomplete split). Then, with no lock held below, its parent gets an entry for it: a separator
 * key and a downlink. A separator may be too high, which costs a descent a move to the right. It
 * must never be too low (I9). Each step locks the parent of a node, sometimes the parent's right sibling
 * too, decides what is to be done there, does it, and names the node to post next, if any: the
 * right half of a parent that was split, or another child of the parent.
 */
#include "tree/step/step.h"
#include "tree/watch/change.h"
#include "tree/way/descend.h"

/* The state of one lath_post() call. */
struct posting {
	struct tree *tree;
	struct reserve *reserve; /* NULL: only lower separators */
	struct node *node;	 /* to be posted */
	struct node *spare;	 /* for a split of the parent */
};

/* ---- the parent, locked ---- */

/* Returns the first entry at or after i that leads to child, or -1. */
static int inner_find(const struct node *inner, int i, const struct node *child)
{
	int j = i;

	LATH_ASSERT(node_is_locked(inner));
	while (j >= 0 && node_child(inner, (unsigned int)j) != child)
		j = node_after(inner, j);
	return j;
}

/* Split a full, locked inner node to make room for the new entry (low, child); the unused node
 * `right` becomes its right half. Opens `right` and unlocks `inner`. */
static void inner_split(struct tree *tree, struct node *inner, struct node *right, u64 low,
			struct node *child)
{
	/* at the right edge of the level, after all entries: move one entry only, so that ascending
	 * inserts leave full nodes */
	bool append = !inner->right && node_key(inner, NODE_CAP - 1) < low;
	struct node *into;

	LATH_ASSERT(node_is_locked(inner) && node_full(inner) && node_is_locked(right));
	lath_node_init(right, inner->level, 0, inner->last, inner->right, 0);
	lath_node_move_up(inner, right, append ? 1 : NODE_CAP / 2, tree->inner_side);
	WRITE_ONCE(right->low, node_key(right, 0));
	WRITE_ONCE(inner->last, right->low - 1);
	link_right(inner, right);
	lath_node_reindex(right);
	lath_node_reindex(inner);
	/* the halves are known now: the new entry goes where a descent looks for it */
	into = low >= right->low ? right : inner;
	lath_inner_insert(into, low, child, tree->inner_side);
	change_separator(tree, into, low - 1);
	change_node(tree, inner);
	change_node(tree, right);
	node_open(right);
	node_unlock(inner);
	lath_delay("inner node split, right half not yet posted");
}

/* ---- what to do ---- */

enum post_action {
	POST_NOTHING,  /* nothing to do, or nothing that this call may do */
	POST_ADD,      /* no entry leads to the node: add one */
	POST_LOWER,    /* its separator is too high: replace the entry by one at its low fence */
	POST_REPLACE,  /* the entry at its low fence leads to a node whose low fence has fallen
			  below that since: redirect it */
	POST_BOUNDARY, /* perhaps it is the first child of the parent's right sibling, but begins in
			* the parent: move the boundary between the two */
};

/* Decide for a node that begins at `low`, which the locked `up` covers. *at: the entry a descent
 * for low takes; *entry: the node's own entry or -1. */
static enum post_action post_decide(const struct node *up, const struct node *node, u64 low,
				    bool may_add, unsigned int *at, int *entry)
{
	u64 separator;
	int i = (int)inner_slot(up, low);

	LATH_ASSERT(i >= 0);
	*at = (unsigned int)i;
	*entry = inner_find(up, i, node);
	separator = node_key(up, *at);
	if (*entry >= 0)
		return *entry == i || separator == low ? POST_NOTHING : POST_LOWER;
	if (separator == low)
		return may_add && READ_ONCE(node_child(up, *at)->low) < low ? POST_REPLACE
									    : POST_NOTHING;
	if (may_add)
		return POST_ADD;
	return POST_BOUNDARY;
}

/* ---- actions: `up` is locked before and unlocked after, but for post_first(); true: post p->node
 * next ---- */

/* Returns true for one of all threads that want to post this node. The node is alive as long as
 * no_downlink is set: a thread that absorbs it claims it first. */
static bool claim_posting(struct node *node)
{
	return lath_fetch_clear(&node->no_downlink);
}

/* The entry at p->node's low fence leads to another child, whose low fence has fallen below it:
 * redirect it, and post the other child next. */
static bool post_replace(struct posting *p, struct node *up, unsigned int at, u64 low)
{
	struct node *other = node_child(up, at);
	bool claimed = claim_posting(p->node);

	LATH_ASSERT(node_is_locked(up) && node_level(up) == node_level(p->node) + 1);
	/* not claimed: another thread has posted the node since */
	if (claimed) {
		WRITE_ONCE(other->no_downlink,
			   1); /* alive: its downlink is in `up`, which is locked */
		WRITE_ONCE(up->pair[at].value, (u64)(uintptr_t)p->node);
		change_child(p->tree, up, at);
	}
	node_unlock(up);
	change_levels(p->tree, low, low, node_level(up), node_level(up), true);
	p->node = other;
	return claimed;
}

/*
 * If p->node is the first child of up's right sibling, although it begins in up, and up has no
 * entry at `low` or after it: move the boundary between the two inner nodes down to `low`.
 * Otherwise descents for keys from `low` to the boundary would have to go one node to the right.
 * The sibling, whose low fence fell, is posted next.
 */
static bool post_boundary(struct posting *p, struct node *up, u64 low)
{
	struct node *right = lock_right(up);
	unsigned int level = node_level(up);
	u64 end = up->last;
	bool first = right && node_child(right, __ffs64(right->live)) == p->node;

	if (!first || node_key(up, __fls64(up->live)) >= low) {
		if (right)
			node_unlock_clean(right);
		node_unlock_clean(up);
		return false;
	}
	/* erased entries before the first keep their keys, which may not be below `low` */
	if (!(right->live & 1))
		lath_node_compact(right, p->tree->inner_side);
	/* both are locked: a reader that sees half of the move finds a lockword changed */
	WRITE_ONCE(right->pair[0].key, low);
	WRITE_ONCE(right->pivot[0], low);
	WRITE_ONCE(right->low, low);
	WRITE_ONCE(up->last, low - 1);
	change_boundary(p->tree, up, right);
	node_unlock(right);
	node_unlock(up);
	change_levels(p->tree, low - 1, end + 1, level + 1, level + 1, true);
	p->node = right;
	return true;
}

/* Lower the separator of entry i, which is p->node's, to `low`; it stays above that of the entry
 * before, live or erased. */
static bool post_lower(struct posting *p, struct node *up, unsigned int i, u64 low)
{
	LATH_ASSERT(node_is_locked(up) && node_key(up, i - 1) < low && low < node_key(up, i));
	WRITE_ONCE(up->pair[i].key, low);
	if (i % PIVOT_GROUP == 0)
		WRITE_ONCE(up->pivot[i / PIVOT_GROUP], low);
	change_separator(p->tree, up, low - 1);
	change_child(p->tree, up, i); /* it has taken keys of the entry before */
	node_unlock(up);
	change_levels(p->tree, low - 1, low, node_level(up), node_level(up), false);
	return false;
}

/* Insert an entry for p->node into `up`, split if it is full. The right half, or `up` if it has no
 * downlink itself, is posted next. */
static bool post_insert(struct posting *p, struct node *up, u64 low)
{
	unsigned int level = node_level(up);
	u64 left = up->low;

	LATH_ASSERT(node_is_locked(up) && level == node_level(p->node) + 1);
	LATH_ASSERT(low >= up->low && low <= up->last);
	LATH_ASSERT(!node_full(up) || p->spare);
	if (node_full(up)) {
		inner_split(p->tree, up, p->spare, low, p->node);
		change_levels(p->tree, left, low, level, level + 1, true);
		p->node = p->spare;
		p->spare = NULL;
		return true;
	}
	lath_inner_insert(up, low, p->node, p->tree->inner_side);
	change_separator(p->tree, up, low - 1);
	node_unlock(up);
	change_levels(p->tree, low ? low - 1 : 0, low, level, level, false);
	p->node = up;
	return p->reserve && READ_ONCE(up->no_downlink);
}

/* If p->node covers the low fence of up's right sibling, whose first child begins further left than
 * p->node: redirect that downlink to p->node, and post the other child next. Returns false, with
 * `up` still locked, if that is not so or another thread posts p->node. */
static bool post_first(struct posting *p, struct node *up, unsigned int at, u64 low)
{
	struct node *right, *other;
	unsigned int i;
	bool ret;

	LATH_ASSERT(node_is_locked(up) && node_level(up) == node_level(p->node) + 1);
	/* Only a node that is reached by up's last entry can end after up->last. */
	if (node_after(up, (int)at) >= 0 || !up->right || READ_ONCE(p->node->last) <= up->last)
		return false;
	right = lock_right(up);
	i = __ffs64(right->live);
	other = node_child(right, i);
	/* The sibling's first downlink has to lead to the node that covers the sibling's first key.
	 * That is p->node, if the child there now begins further left. */
	ret = READ_ONCE(other->low) < low && claim_posting(p->node);
	if (!ret) {
		node_unlock_clean(right);
		return false;
	}
	WRITE_ONCE(right->pair[i].value, (u64)(uintptr_t)p->node);
	WRITE_ONCE(other->no_downlink, 1); /* alive: its downlink is in `right`, which is locked */
	change_child(p->tree, right, i);
	low = right->low;
	node_unlock(right);
	node_unlock_clean(up);
	change_levels(p->tree, READ_ONCE(other->low), low, node_level(up), node_level(up), true);
	p->node = other;
	return true;
}

/* Add an entry. If `up` is full and there is no spare node yet, get one and decide again. */
static bool post_add(struct posting *p, struct node *up, unsigned int at, u64 low)
{
	if (post_first(p, up, at, low))
		return true;
	/* Memory is obtained without locks; then the decision is made anew. */
	if (node_full(up) && !p->spare) {
		node_unlock_clean(up);
		p->spare = lath_reserve_take_inner(p->tree, p->reserve);
		return p->spare;
	}
	if (!claim_posting(p->node)) {
		node_unlock_clean(up);
		return false;
	}
	return post_insert(p, up, low);
}

/* The topmost level had more than one node: put a root above it. Returns false if there is no
 * memory, or if that level has gone since. No lock held. */
static bool add_root(struct tree *tree, unsigned int level, struct reserve *reserve)
{
	struct node *node = lath_reserve_take_inner(tree, reserve);
	unsigned int below;
	struct node *root;

	if (!node)
		return false;
	lath_delay("a root is to be added, root_lock not yet taken");
	lath_spin_lock(&tree->root_lock);
	root = READ_ONCE(tree->root);
	below = node_level(root);
	/* Checked under root_lock: one of several threads adds the level, the others free their
	 * nodes. If the root's level is lower than level - 1, the nodes of that level were merged
	 * into one, which lower_root() replaced by its only child: the node to be posted is dead.
	 */
	if (below + 1 == level) {
		lath_node_init(node, level, 0, KEY_MAX, NULL, 56);
		lath_inner_insert(node, 0, root, tree->inner_side);
		change_node(tree, node);
		node_open(node);
		smp_store_release(&tree->root, node); /* pairs with the load in descend */
		node = NULL;
	}
	lath_spin_unlock(&tree->root_lock);
	if (node) /* not used */
		lath_node_free(tree, POOL_INNER, node);
	return below + 1 >= level;
}

/* One step. Returns true if p->node is to be posted next (or again). */
static bool post_step(struct posting *p)
{
	struct node *node = p->node, *up;
	/* a half-dead leaf without a downlink waits to be absorbed (tree/step/merge.c) */
	bool may_add = p->reserve && READ_ONCE(node->no_downlink) && !node_half_dead(node);
	unsigned int level = node_level(node) + 1, at;
	u64 low = READ_ONCE(node->low);
	int entry;

	up = lath_level_lock(p->tree, low, level);
	if (!up)
		return may_add && add_root(p->tree, level, p->reserve);
	/* Read again: a low fence may fall without the parent's lock, and the thread that lowers it
	 * posts it then. Separators do not change while the parent is locked. */
	low = READ_ONCE(node->low);
	if (low < up->low) { /* it fell since, past this parent */
		node_unlock_clean(up);
		return true;
	}
	switch (post_decide(up, node, low, may_add, &at, &entry)) {
	case POST_REPLACE:
		return post_replace(p, up, at, low);
	case POST_BOUNDARY:
		return post_boundary(p, up, low);
	case POST_ADD:
		return post_add(p, up, at, low);
	case POST_LOWER:
		if ((unsigned int)entry == at + 1)
			return post_lower(p, up, (unsigned int)entry, low);
		node_erase(up, (unsigned int)entry);
		change_separator(p->tree, up, node_key(up, (unsigned int)entry));
		return post_insert(p, up, low);
	default:
		node_unlock_clean(up);
		return false;
	}
}

void lath_post(struct tree *tree, struct node *node, struct reserve *reserve)
{
	struct posting p = { .tree = tree, .reserve = reserve, .node = node };

	lath_call_assert();
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	change_begin(tree);
	while (post_step(&p))
		;
	change_end(tree);
	if (p.spare)
		lath_node_free(tree, POOL_INNER, p.spare);
}

void lath_post_low(struct tree *tree, struct node *leaf)
{
	lath_post(tree, leaf, NULL);
}

void lath_post_right(struct tree *tree, struct node *leaf, struct reserve *reserve)
{
	unsigned int n;

	for (n = 0; n < 8; n++) {
		u64 lockword = node_read(leaf);
		struct node *right = READ_ONCE(leaf->right);

		/* `right` is the sibling only if the leaf has not changed; if it has, the thread
		 * that changed it posts */
		if (!node_valid(leaf, lockword) || node_dead(lockword) || !right ||
		    !READ_ONCE(right->no_downlink))
			return;
		lath_post(tree, right, reserve);
		leaf = right;
	}
}
