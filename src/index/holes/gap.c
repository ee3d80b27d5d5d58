/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gap.c - computing summaries and keeping them true.
 */
#include "index/holes/gap.h"
#include "index/tree/locate.h"

static const struct gap gap_unknown = { ~0ull,
					~0ull,
					~0ull,
					~0ull,
					{ ~0ull, ~0ull, ~0ull, ~0ull } };
static const struct gap gap_nothing = { .head = KEY_MAX, .rtail = KEY_MAX };

/* The larger of each pair of bytes. */
static u64 max_bytes(u64 a, u64 b)
{
	u64 tops = lath_bytes_ge(a, b), all = (tops << 1) - (tops >> 7);

	return (a & all) | (b & ~all);
}

/* Add a run to a summary under construction. There room[k] counts only keys aligned to exactly 2^k;
 * gap_sum() then extends each value to the smaller alignments. */
static void gap_add_run(struct gap *sum, u64 first, u64 last)
{
	u64 at;

	if (first > last)
		return;
	sum->wide = max(sum->wide, last - first + 1);
	for_each_entry(at, first, last) {
		unsigned int slot = gap_slot(at & -at);
		u8 code = gap_code(last - at + 1);

		if (gap_room(sum, slot) < code)
			sum->room[slot / 8] += (u64)(code - gap_room(sum, slot)) << slot % 8 * 8;
	}
}

/* Extend a summary under construction by that of a node to the right. */
static void gap_append(struct gap *sum, const struct gap *gap)
{
	unsigned int w;

	if (!gap_items(gap))
		return;
	if (!gap_items(sum))
		sum->head = gap->head;
	else if (gap->head > gap_tail(sum))
		gap_add_run(sum, gap_tail(sum) + 1, gap->head - 1);
	sum->rtail = gap->rtail;
	sum->items = 1;
	sum->wide = max(sum->wide, gap->wide);
	for (w = 0; w < GAP_ALIGNS / 8; w++)
		sum->room[w] = max_bytes(sum->room[w], gap->room[w]);
}

/* Finish a summary under construction: the maximum of each byte and those above it. */
static void gap_sum(struct gap *sum)
{
	u64 above = 0;
	unsigned int w;

	for (w = GAP_ALIGNS / 8; w--;) {
		u64 room = max_bytes(sum->room[w], above << 56);

		room = max_bytes(room, room >> 8);
		room = max_bytes(room, room >> 16);
		room = max_bytes(room, room >> 32);
		sum->room[w] = room;
		above = room & 255;
	}
}

static void measure_leaf(struct node *leaf, struct gap *sum)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP);

	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);

		if (!sum->items)
			sum->head = node_key(leaf, i);
		else
			gap_add_run(sum, gap_tail(sum) + 1, node_key(leaf, i) - 1);
		sum->rtail = ~node_end(leaf, i, true);
		sum->items = 1;
	}
}

void gap_measure(struct node *node, struct gap *gap)
{
	u64 live = READ_ONCE(node->live) & lath_ones(NODE_CAP);
	struct gap one;

	*gap = gap_nothing;
	if (!node_level(node)) {
		measure_leaf(node, gap);
	} else {
		for (; live; live &= live - 1) {
			gap_read(gap_child(node, __ffs64(live)), &one);
			gap_append(gap, &one);
		}
	}
	gap_sum(gap);
}

/* Returns true if the summary was another one. */
static bool gap_write(u64 *words, const struct gap *gap)
{
	struct gap old;
	unsigned int w;

	gap_read(words, &old);
	if (!memcmp(&old, gap, sizeof(old)))
		return false;
	WRITE_ONCE(words[0], gap->wide);
	WRITE_ONCE(words[1], gap->head);
	WRITE_ONCE(words[2], gap->rtail);
	WRITE_ONCE(words[3], gap->items);
	for (w = 0; w < GAP_ALIGNS / 8; w++)
		WRITE_ONCE(words[4 + w], gap->room[w]);
	return true;
}

void gap_recompute(const struct tree *tree, struct node *node)
{
	struct gap gap;

	if (!tree->holes)
		return;
	gap_measure(node, &gap);
	gap_write(gap_own(tree, node), &gap);
}

void gap_copy_child(const struct tree *tree, struct node *inner, unsigned int i)
{
	struct gap gap;

	if (!tree->holes)
		return;
	gap_read(gap_own(tree, node_child(inner, i)), &gap);
	gap_write(gap_child(inner, i), &gap);
}

bool gap_promises(const struct tree *tree, struct node *leaf, unsigned int i)
{
	int before = node_before(leaf, (int)i), after = node_after(leaf, (int)i);
	struct gap own;
	u64 first, last;

	gap_read(gap_own(tree, leaf), &own);
	if (!gap_items(&own))
		return true;
	if (before < 0 && after < 0)
		return false;
	if (before < 0)
		return own.head >= node_key(leaf, (unsigned int)after);
	first = node_end(leaf, (unsigned int)before, true) + 1;
	if (after < 0)
		return gap_tail(&own) < first;
	last = node_key(leaf, (unsigned int)after) - 1;
	if (last < own.head ||
	    first > gap_tail(&own)) /* before the first or behind the last promised item */
		return true;
	return gap_has_run(&own, first, last);
}

/* Nodes without a downlink may follow a child in its region. If there are more than this, the
 * summary is unknown. */
#define CHAIN 16

/* The summary of all nodes that cover keys of [first, last], from child on. */
static struct gap region_summary(const struct tree *tree, struct node *child, u64 first, u64 last)
{
	struct gap sum = gap_nothing, gap;
	unsigned int n;

	for (n = 0; child && n < CHAIN; n++) {
		struct node *right;
		u64 lockword, end;

		do {
			lockword = node_read(child);
			gap_read(gap_own(tree, child), &gap);
			right = READ_ONCE(child->right);
			end = READ_ONCE(child->last);
		} while (!node_valid(child, lockword));
		if (!(lockword & NODE_HALF_DEAD)) {
			if (end >= first)
				gap_append(&sum, &gap);
			if (end >= last) {
				gap_sum(&sum);
				return sum;
			}
		}
		child = right;
	}
	return gap_unknown;
}

/* Copy the summary of the region of entry i of a locked node. Returns true if it was another
 * one. */
static bool copy_summary(const struct tree *tree, struct node *up, unsigned int i)
{
	int next = node_after(up, (int)i);
	u64 last = next >= 0 ? node_key(up, (unsigned int)next) - 1 : up->last;
	struct gap gap = region_summary(tree, node_child(up, i), node_key(up, i), last);

	return gap_write(gap_child(up, i), &gap);
}

/* Update the copies of all regions with keys of [*first, *last] on one level, and the nodes' own
 * summaries. Widens both to the fence keys of these nodes. Returns true if a node's own summary
 * changed; *there: the level exists. */
static bool propagate_level(struct tree *tree, u64 *first, u64 *last, unsigned int level,
			    bool *there)
{
	u64 key = *first, until = *last;
	bool changed = false;

	for (;;) {
		struct node *up = level_lock(tree, key, level);
		bool copied = false, own;
		struct gap gap;
		u64 end;
		int i;

		*there = up;
		if (!up)
			return false;
		i = (int)inner_slot(up, key);
		do {
			copied |= copy_summary(tree, up, (unsigned int)i);
			i = node_after(up, i);
		} while (i >= 0 && node_key(up, (unsigned int)i) <= until);
		gap_measure(up, &gap);
		own = gap_write(gap_own(tree, up), &gap);
		if (key == *first)
			*first = up->low;
		*last = end = up->last;
		if (copied || own)
			node_unlock(up);
		else
			node_unlock_clean(up);
		changed |= own;
		if (end >= until)
			return changed;
		key = end + 1;
	}
}

void gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from, unsigned int level)
{
	bool changed, there;

	do {
		changed = propagate_level(tree, &first, &last, from++, &there);
		lath_delay("summaries copied to one level");
	} while (there && (changed || from <= level));
}

void gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level)
{
	struct node *leaf;
	u64 first, last;
	struct gap gap;
	bool changed;

	leaf = locate_locked(tree, key);
	first = leaf->low;
	last = leaf->last;
	gap_measure(leaf, &gap);
	changed = gap_write(gap_own(tree, leaf), &gap);
	if (changed)
		node_unlock(leaf);
	else
		node_unlock_clean(leaf);
	lath_delay("leaf's summary set, not yet the parent's copy");
	if (changed || level)
		gap_propagate(tree, first, last, 1, level);
}

/* A search for the run [first, last] in one node, as search.c does it: it finds the run, skips it,
 * or goes on. */
enum sight { SEEN, MISSED, AHEAD };

static enum sight look_in(struct node *node, u64 first, u64 last)
{
	int i = node_floor(node, first), next;

	if (!node_level(node)) /* the run's end is in this leaf, or to its right */
		return !node_half_dead(node) && node_after(node, i) >= 0 ? SEEN : AHEAD;
	for (i = max(i, 0); i >= 0; i = next) {
		struct node *child = node_child(node, (unsigned int)i);
		enum sight sight = AHEAD;
		struct gap gap;
		u64 end;

		next = node_after(node, i);
		end = next >= 0 ? node_key(node, (unsigned int)next) - 1 : node->last;
		gap_read(gap_child(node, (unsigned int)i), &gap);
		if (gap_items(&gap) && gap.head > last)
			return SEEN;
		if (gap_has_run(&gap, first, last))
			for (; child && sight == AHEAD; child = child->right) {
				sight = look_in(child, first, last);
				if (!node_half_dead(child) && child->last >= end)
					break;
			}
		if (sight != AHEAD)
			return sight;
		if (gap_has_tail(&gap) && gap_tail(&gap) >= first)
			return MISSED;
	}
	return AHEAD;
}

bool gap_finds(const struct tree *tree, u64 first, u64 last)
{
	struct node *node = tree->root;

	for (; node; node = node->right) {
		enum sight sight = look_in(node, first, last);

		if (sight != AHEAD)
			return sight == SEEN;
	}
	return true;
}

u64 gap_begun(struct tree *tree)
{
	u64 sum = 0;
	unsigned int i;

	smp_rmb(); /* after all reads of the search; pairs with the release in node_unlock */
	for (i = 0; i < GAP_STRIPES; i++)
		/* pairs with node_unlock: a change is counted before it is released */
		sum += smp_load_acquire(&tree->stripe[i].begun);
	return sum;
}

u64 gap_ended(struct tree *tree)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < GAP_STRIPES; i++)
		sum += smp_load_acquire(&tree->stripe[i].ended); /* pairs with gap_change_end */
	return sum;
}
