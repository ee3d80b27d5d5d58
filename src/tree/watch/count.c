/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * count.c - see rank.h.
 */
#include "tree/watch/rank.h"

/* ---- a change ---- */

/* Outdate the counts of all entries that cover key, and clear the mark of its leaf if no other
 * count includes the leaf. Returns the last key for which that is done. count_lock held. */
static u64 outdate_at(struct tree *tree, u64 key)
{
	struct node *node = top_node(tree);
	u64 first = 0, last = KEY_MAX, lockword;
	struct counted entry;
	unsigned int level;

	LATH_ASSERT(lath_spin_mine(&tree->count_lock));
	for (;;) {
		level = node_level(node);
		node = lath_level_right(node, key, level, &lockword);
		if (!node) { /* it was merged */
			node = top_node(tree);
			continue;
		}
		if (!level) {
			if (node_trylock(node, lockword))
				break;
			continue;
		}
		if (!counted_entry(node, key, &entry))
			continue;
		/* outdated already: no lock on this node, but what was read of it must be true */
		if (!entry.count) {
			if (!node_valid(node, lockword))
				continue;
		} else {
			if (!node_trylock(node, lockword))
				continue;
			count_outdate_entry(tree, node, entry.i);
			node_unlock(node);
		}
		/* what the entries of all levels have in common: for it all counts are outdated */
		first = max(first, entry.first);
		last = min(last, entry.last);
		node = entry.child;
	}
	if (node->low >= first && node->last <= last)
		WRITE_ONCE(node->counted, 0);
	last = min(last, node->last);
	node_unlock_clean(node);
	return last;
}

void lath_count_outdate(struct tree *tree, u64 first, u64 last)
{
	u64 end;

	LATH_ASSERT(tree->ranks && first <= last);
	lath_delay("items changed, counts not yet outdated");
	lath_reader_enter(tree->rcu);
	for (;; first = end + 1) {
		/* a lock per leaf: a question of another thread gets in between */
		lath_spin_lock_crowd(&tree->count_lock);
		end = outdate_at(tree, first);
		lath_spin_unlock(&tree->count_lock);
		if (end >= last)
			break;
	}
	lath_reader_exit(tree->rcu);
}

void lath_count_weight_changed(struct tree *tree, u64 key)
{
	u64 lockword;
	struct node *leaf;
	bool marked;

	LATH_ASSERT(tree->ranks && lath_reader_inside(tree->rcu));
	smp_mb(); /* pairs with count_node: the weight before, `asked` and the mark after */
	if (!READ_ONCE(tree->asked))
		return;
	do {
		leaf = lath_level_find(tree, key, 0, &lockword);
		marked = READ_ONCE(leaf->counted);
	} while (unlikely(!node_valid(leaf, lockword)));
	lath_delay("weight changed, mark read");
	if (marked)
		lath_count_outdate(tree, key, key);
}

/* ---- a question ---- */

/* The weights of these items of a locked leaf, or one that no thread changes. */
static u64 count_items(const struct tree *tree, const struct node *leaf, u64 live)
{
	u64 sum = 0;

	if (!tree->weight)
		return lath_count_bits(live);
	for (; live; live &= live - 1)
		sum += tree->weight(node_value(leaf, (unsigned int)__ffs64(live)));
	return sum;
}

/* The items below a locked node, with COUNT_VALID; 0: they are not known. A leaf is marked. */
static u64 count_node(struct tree *tree, struct node *node)
{
	u64 live = node->live, sum = COUNT_VALID;

	LATH_ASSERT(node_is_locked(node));
	if (!node_level(node)) {
		WRITE_ONCE(node->counted, 1);
		if (tree->weight) {
			WRITE_ONCE(tree->asked, true);
			smp_mb(); /* pairs with lath_count_weight_changed */
		}
		return sum + count_items(tree, node, live);
	}
	for (; live; live &= live - 1) {
		u64 count = node->size[__ffs64(live)];

		if (!count)
			return 0;
		sum += count & ~COUNT_VALID;
	}
	return sum;
}

/* The items with keys of entry i of a locked inner node, with COUNT_VALID; 0: they are not known.
 * The nodes below are locked one after the other: if keys move between two of them in the meantime,
 * the second does not begin where the first one ended. */
static u64 count_entry(struct tree *tree, struct node *inner, unsigned int i)
{
	u64 from = node_key(inner, i), last = inner_end(inner, i), sum = COUNT_VALID, count;
	struct node *node = node_child(inner, i), *right;
	bool ended = false;

	do {
		node_lock(node);
		count = COUNT_VALID;
		if (!node_half_dead(node)) {
			/* it has a downlink in the locked node, or none */
			LATH_ASSERT(!node_dead(READ_ONCE(node->lockword)));
			count = node->low == from && node->last <= last ? count_node(tree, node)
									: 0;
			ended = node->last == last;
			from = node->last + 1;
		}
		right = READ_ONCE(node->right);
		node_unlock_clean(node);
		sum += count & ~COUNT_VALID;
		LATH_ASSERT(right || ended || !count); /* the entry ends in this level */
		node = right;
	} while (count && !ended);
	return count ? sum : 0;
}

/* lath_count_refresh() in the locked node that covers key. */
static bool refresh_node(struct tree *tree, struct node *up, u64 key, u64 last)
{
	int i = (int)inner_slot(up, key), j;
	bool changed = false;

	LATH_ASSERT(node_is_locked(up) && i >= 0 && lath_spin_mine(&tree->count_lock));
	for (j = i; j >= 0 && node_key(up, (unsigned int)j) <= last; j = node_after(up, j))
		if (!up->size[j])
			prefetchw((const char *)node_child(up, (unsigned int)j));
	for (; i != j; i = node_after(up, i)) {
		u64 count;

		if (up->size[i])
			continue;
		count = count_entry(tree, up, (unsigned int)i);
		/* a node below is not known yet: the caller goes down to it first */
		if (!count)
			break;
		WRITE_ONCE(up->size[i], count);
		changed = true;
	}
	return changed;
}

bool lath_count_refresh(struct tree *tree, u64 key, u64 last, unsigned int level)
{
	struct node *up;
	bool changed = false;

	LATH_ASSERT(level && lath_reader_inside(tree->rcu)); /* leaves have no counts */
	lath_spin_lock_crowd(&tree->count_lock);
	up = lath_level_lock(tree, key, level);
	if (up) {
		changed = refresh_node(tree, up, key, last);
		node_unlock_as(up, changed);
	}
	lath_spin_unlock(&tree->count_lock);
	return changed;
}

/* ---- verify ---- */

bool lath_count_true(const struct tree *tree, const struct node *inner, unsigned int i,
		     bool *marked)
{
	u64 first = node_key(inner, i), last = inner_end(inner, i), count = COUNT_VALID;
	const struct node *leaf = node_child(inner, i);

	*marked = true;
	if (!tree->ranks || !inner->size[i])
		return true;
	while (node_level(leaf))
		leaf = node_child(leaf, __ffs64(leaf->live));
	for (; leaf && (node_half_dead(leaf) || leaf->low <= last); leaf = leaf->right) {
		u64 live = leaf->live & ~lath_ones(node_rank(leaf, first));

		if (node_half_dead(leaf) || leaf->last < first)
			continue;
		/* separators follow fences late: the entry may end within this leaf */
		if (last < leaf->last)
			live &= lath_ones(node_rank(leaf, last + 1));
		count += count_items(tree, leaf, live);
		*marked &= leaf->counted;
	}
	return inner->size[i] == count;
}
