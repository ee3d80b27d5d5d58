/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rank.c - rank, select, count_range.
 *
 * All of them walk over the keys in ascending order and pass items: those of an entry of an inner
 * node at once, if its count is valid; those of a leaf by a mask. What has been passed is a set of
 * keys, not of nodes, so it stays right whatever moves between nodes in the meantime. Counts that a
 * walk finds outdated are refreshed: it visits O(log n) nodes, and those that changed since the
 * last walk.
 */
#include "tree/watch/rank.h"

struct walk {
	u64 at;	  /* all keys of the range before it have been passed */
	u64 last; /* the last key of the range */
	u64 left; /* items to pass; the next one is the one that is looked for */
	struct lath_item item;
	bool found;
};

/* What a walk does next. */
enum turn {
	TURN_END,     /* nothing: the range has been passed, or the item found */
	TURN_TOP,     /* it has passed the node: begin at the root again */
	TURN_DOWN,    /* go on in a child */
	TURN_REFRESH, /* the same, since a count is outdated */
};

/* Pass the entries of an inner node from w->at on. *child: of the first one that was not passed. To
 * be validated. */
static enum turn pass_entries(struct walk *w, const struct node *inner, struct node **child)
{
	u64 end = READ_ONCE(inner->last), live = READ_ONCE(inner->live), count, last;
	/* -1 if the node is being changed: then what is read here is rejected */
	long slot = inner_slot(inner, w->at);
	unsigned int i = slot < 0 ? 0 : (unsigned int)slot;
	bool whole = node_key(inner, i) == w->at;

	for (live &= ~lath_ones(i + 1);; live &= live - 1) {
		last = live ? node_key(inner, __ffs64(live)) - 1 : end;
		count = READ_ONCE(inner->size[i]);
		*child = node_child(inner, i);
		/* a part of the entry's keys: only the nodes below can tell which items */
		if (!whole || last > w->last)
			return TURN_DOWN;
		if (!count)
			return TURN_REFRESH;
		count &= ~COUNT_VALID;
		/* the item that is looked for is below this entry */
		if (count > w->left)
			return TURN_DOWN;
		w->left -= count;
		if (last == w->last)
			return TURN_END;
		w->at = last + 1;
		if (!live)
			return TURN_TOP;
		i = __ffs64(live);
	}
}

/* The items of a leaf from w->at to w->last, as a mask. To be validated. */
static u64 items_ahead(const struct walk *w, const struct node *leaf, u64 end)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP);

	if (READ_ONCE(leaf->low) < w->at)
		live &= ~lath_ones(node_rank(leaf, w->at));
	if (w->last < end)
		live &= lath_ones(node_rank(leaf, w->last + 1));
	return live;
}

/* pass_items() of a tree with weights. A value may lead to memory: all of them are copied first,
 * and looked at only if the leaf had not changed until then. To be validated again, as a value that
 * the leaf does not have any more may have any weight. */
static enum turn pass_weighed(const struct tree *tree, struct walk *w, struct node *leaf,
			      u64 lockword)
{
	u64 end = READ_ONCE(leaf->last), live = items_ahead(w, leaf, end), todo, weight;
	u64 value[NODE_CAP];

	LATH_ASSERT(!node_has_sizes(leaf));
	for (todo = live; todo; todo &= todo - 1)
		value[__ffs64(todo)] = node_value(leaf, (unsigned int)__ffs64(todo));
	if (!node_valid(leaf, lockword))
		return TURN_TOP;
	lath_delay("values copied, weights not yet looked at");
	for (; live; live &= live - 1) {
		weight = tree->weight(value[__ffs64(live)]);
		if (weight > w->left) {
			/* what is asked for is within this item: its key does not matter */
			w->item = (struct lath_item){ .size = 1, .value = value[__ffs64(live)] };
			w->found = true;
			return TURN_END;
		}
		w->left -= weight;
	}
	w->at = end + 1;
	return w->last <= end ? TURN_END : TURN_TOP;
}

/* Pass the items of a leaf from w->at on. To be validated. */
static enum turn pass_items(const struct tree *tree, struct walk *w, const struct node *leaf)
{
	u64 end = READ_ONCE(leaf->last), live = items_ahead(w, leaf, end), n;

	n = lath_count_bits(live);
	if (n > w->left) {
		for (; w->left; w->left--)
			live &= live - 1;
		item_of(tree, leaf, __ffs64(live), &w->item);
		w->found = true;
		return TURN_END;
	}
	w->left -= n;
	w->at = end + 1;
	return w->last <= end ? TURN_END : TURN_TOP;
}

/* Where a walk found counts outdated. */
struct stale {
	u64 levels; /* bit mask */
	u64 at;	    /* the last place on level 1, tried once */
};

/* The walk stands at an entry with an outdated count. Returns whether it should look again: on
 * level 1, where what is counted is in the leaves. Higher counts are refreshed when the nodes below
 * have been passed. */
static bool refresh(struct tree *tree, const struct walk *w, unsigned int level,
		    struct stale *stale)
{
	bool tried = stale->levels & 2 && stale->at == w->at;

	stale->levels |= 1ull << level;
	/* once per place: if it is outdated again at once, the walk counts the leaves itself */
	if (level > 1 || tried)
		return false;
	stale->at = w->at;
	return lath_count_refresh(tree, w->at, w->last, 1);
}

/* Pass the items with keys of [w->at, w->last], at most w->left of them. In a read-side critical
 * section of a call. */
static void walk(struct tree *tree, struct walk *w)
{
	struct node *node = top_node(tree), *child = NULL;
	struct stale stale = { 0 };
	enum turn turn = TURN_TOP;

	lath_call_assert();
	LATH_ASSERT(tree->ranks && w->at <= w->last);
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	while (turn != TURN_END) {
		unsigned int level = node_level(node);
		struct walk to = *w;
		u64 lockword, low;

		node = lath_level_right(node, w->at, level, &lockword);
		if (!node) { /* it was merged */
			node = top_node(tree);
			continue;
		}
		low = READ_ONCE(node->low);
		if (level)
			turn = pass_entries(&to, node, &child);
		else if (unlikely(tree->weight))
			turn = pass_weighed(tree, &to, node, lockword);
		else
			turn = pass_items(tree, &to, node);
		/* *w is as before: what was passed by this look does not count */
		if (!node_valid(node, lockword)) {
			turn = TURN_TOP;
			continue;
		}
		*w = to;
		lath_delay("ranks: node passed");
		if (turn == TURN_TOP) {
			/* all counts of the node are valid by now: let the one above be */
			if (stale.levels >> level & 2)
				lath_count_refresh(tree, low, low, level + 1);
			node = top_node(tree);
		} else if (turn == TURN_DOWN ||
			   (turn == TURN_REFRESH && !refresh(tree, w, level, &stale))) {
			node = child;
		}
	}
}

static u64 count_keys(struct tree *tree, u64 from, u64 last)
{
	struct walk w = { .at = from, .last = last, .left = KEY_MAX };

	call_enter(tree);
	walk(tree, &w);
	call_exit(tree);
	return KEY_MAX - w.left;
}

bool lath_count_all(struct tree *tree, u64 *count)
{
	if (!tree->ranks)
		return false;
	*count = count_keys(tree, 0, KEY_MAX);
	return true;
}

int64_t lath_index_count_range(struct lath_index *index, uint64_t from, uint64_t last)
{
	struct tree *tree = tree_of(index);

	if (!tree->ranks)
		return -EINVAL;
	return from <= last ? (int64_t)count_keys(tree, from, last) : 0;
}

int64_t lath_index_rank(struct lath_index *index, uint64_t key)
{
	return key ? lath_index_count_range(index, 0, key - 1)
		   : lath_index_count_range(index, 1, 0);
}

bool lath_rank_select(struct tree *tree, u64 *left, struct lath_item *found)
{
	struct walk w = { .last = KEY_MAX, .left = *left, .item.value = found->value };

	walk(tree, &w);
	*left = w.left;
	if (w.found)
		*found = w.item;
	return w.found;
}

int lath_index_select(struct lath_index *index, uint64_t rank, struct lath_item *found)
{
	struct tree *tree = tree_of(index);
	bool there;

	if (!tree->ranks)
		return -EINVAL;
	call_enter(tree);
	there = lath_rank_select(tree, &rank, found);
	call_exit(tree);
	return there ? 0 : -ENOENT;
}
