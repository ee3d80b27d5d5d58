/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.c - the search for a hole (lathwork/hole.h).
 *
 * Free runs are met in key order: upwards, or downwards for LATH_HOLE_LAST. The search carries the
 * place where the present run begins (`at`). In an inner node it goes through the entries in order:
 * the run between `at` and the child's first item is tested; what lies between the child's items is
 * searched only if its summary promises a fit; then the next run begins behind the child's last
 * item. Summaries are upper bounds (gap.h) and nodes are read without locks, so a hole counts as
 * found only once it has been inserted.
 *
 * If a summary promised a fit where there is none, the search corrects it and goes on from there.
 * "No hole" may be reported only if no change was in flight since the search began, or else one
 * might have come up behind it: the counters of gap.h tell.
 */
#include "lathwork/hole.h"
#include "index/holes/gap.h"
#include "index/tree/insert.h"
#include "index/tree/locate.h"
#include "index/tree/lookup.h"

struct search {
	struct tree *tree;
	u64 size;
	u64 align; /* mask */
	u64 low;   /* the hole lies in [low, last] */
	u64 last;
	unsigned int slot; /* byte of gap.room, and what it has to be at least */
	u8 need;
	bool exact; /* a run with that byte has a place for sure */
	u64 at;	    /* upwards: the first key of the present run; downwards: its last */
	bool best;
	u64 found;
	u64 found_room; /* LATH_HOLE_BEST: last - first of the run that `found` is in */
	bool some;	/* LATH_HOLE_BEST: found is set */
};

/* ON: not in what was searched; END: nowhere; AGAIN: something changed, or a summary was corrected:
 * search on from the root, beginning at `at`. */
enum result { HOLE_ON, HOLE_HIT, HOLE_END, HOLE_AGAIN };

/* Does the summary promise a fit between two items? */
static bool promises(const struct search *s, const struct gap *gap)
{
	return gap->wide >= s->size && gap_room(gap, s->slot) >= s->need;
}

/* Find the first place in the free run [first, last], or the last one. Returns false if there is
 * none. */
static __always_inline bool fit(const struct search *s, u64 first, u64 last, bool up, u64 *key)
{
	u64 at;

	first = up ? first : max(first, s->low);
	last = up ? min(last, s->last) : last;
	if (last < first || last - first < s->size - 1)
		return false;
	if (up) {
		at = (first + s->align) & ~s->align;
		if (at < first || at > last || last - at < s->size - 1)
			return false;
	} else {
		at = (last - (s->size - 1)) & ~s->align;
		if (at < first)
			return false;
	}
	*key = at;
	return true;
}

/* Test the free run [first, last]. Returns true if it ends the search. */
static __always_inline bool take_run(struct search *s, u64 first, u64 last, bool up)
{
	u64 key, room = min(last, s->last) - first;

	if (!fit(s, first, last, up, &key))
		return false;
	if (!s->best) {
		s->found = key;
		return true;
	}
	if (!s->some || room < s->found_room) {
		s->found = key;
		s->found_room = room;
		s->some = true;
	}
	return room == s->size - 1;
}

/* Go past the items in [key, end]: the next run begins behind them. Returns false if there is no
 * room there. */
static __always_inline bool pass(struct search *s, u64 key, u64 end, bool up)
{
	if (up) {
		if (end < s->at)
			return true;
		if (end >= s->last || s->last - end < s->size)
			return false;
		s->at = end + 1;
	} else {
		if (key > s->at)
			return true;
		if (key <= s->low || key - s->low < s->size)
			return false;
		s->at = key - 1;
	}
	return true;
}

/* Search one leaf. */
static __always_inline enum result search_leaf(struct search *s, struct node *leaf, bool up)
{
	u64 lockword = node_read(leaf);
	struct search before = *s;
	enum result ret = HOLE_ON;
	int i = -1;

	if (lockword & NODE_DEAD)
		return HOLE_AGAIN;
	if (!(lockword & NODE_HALF_DEAD)) {
		i = (int)node_floor(leaf, s->at);
		if (up && i < 0)
			i = node_after(leaf, -1);
	}
	for (; i >= 0 && ret == HOLE_ON; i = up ? node_after(leaf, i) : node_before(leaf, i)) {
		u64 key = node_key(leaf, (unsigned int)i),
		    end = node_end(leaf, (unsigned int)i, true);

		if (up ? key > s->at && take_run(s, s->at, key - 1, up)
		       : end < s->at && take_run(s, end + 1, s->at, up))
			ret = HOLE_HIT;
		else if (!pass(s, key, end, up))
			ret = HOLE_END;
	}
	if (!node_valid(leaf, lockword)) {
		*s = before;
		return HOLE_AGAIN;
	}
	if (ret == HOLE_HIT)
		finger_expect(s->tree, leaf);
	return ret;
}

/* Summaries promise a fit for the run at `at`, whose other end is not in this subtree: see what is
 * there, and correct them if they were wrong. */
static __always_inline enum result look(struct search *s, unsigned int level, bool up)
{
	struct lath_item item;
	u64 at = s->at, end;
	bool some =
		!(up ? overlap_item(s->tree, at, s->last, &item) : floor_item(s->tree, at, &item));

	if (!some)
		return take_run(s, up ? at : 0, up ? s->last : at, up) ? HOLE_HIT : HOLE_END;
	end = item.key + (item.size - 1);
	if (up ? item.key > at && take_run(s, at, item.key - 1, up)
	       : end < at && take_run(s, end + 1, at, up))
		return HOLE_HIT;
	if (!pass(s, item.key, end, up))
		return HOLE_END;
	gap_propagate_leaf(s->tree, item.key, level);
	return HOLE_AGAIN;
}

/* The child was searched in vain although the parent's copy of its summary promised a fit. If the
 * child is an inner node, the search below it has corrected its summary, and only the copy can be
 * stale. */
static void correct(struct search *s, struct node *child, unsigned int level)
{
	u64 lockword = node_read(child), low = READ_ONCE(child->low);
	struct gap own, gap;

	gap_read(gap_own(s->tree, child), &own);
	if (promises(s, &own)) {
		if (level > 1)
			return;
		if (!s->exact) {
			gap_measure(child, &gap);
			if (promises(s, &gap))
				return;
		}
		level = 0;
	}
	if (node_valid(child, lockword) && !(lockword & (NODE_DEAD | NODE_HALF_DEAD)))
		gap_propagate_leaf(s->tree, low, level);
}

static enum result node_up(struct search *s, struct node *node);
static enum result node_down(struct search *s, struct node *node);

/* Search the nodes of a region from the left: from child on, up to the one that covers last. */
static enum result region_up(struct search *s, struct node *child, u64 last, unsigned int level)
{
	for (;;) {
		enum result ret = level == 1 ? search_leaf(s, child, true) : node_up(s, child);
		u64 lockword = node_read(child), end = READ_ONCE(child->last);
		struct node *right = READ_ONCE(child->right);

		if (ret != HOLE_ON)
			return ret;
		if (lockword & NODE_DEAD || !node_valid(child, lockword))
			return HOLE_AGAIN;
		if (!right || (end >= last && !(lockword & NODE_HALF_DEAD)))
			return HOLE_ON;
		child = right;
	}
}

/* Search the nodes of a level that cover keys of [first, last] from the right, and no further right
 * than `at`. */
static enum result region_down(struct search *s, u64 first, u64 last, unsigned int level)
{
	for (;;) {
		u64 lockword, low;
		struct node *node = level_find(s->tree, min(last, s->at), level, &lockword);
		enum result ret;

		if (!node)
			return HOLE_AGAIN;
		low = READ_ONCE(node->low);
		ret = level ? node_down(s, node) : search_leaf(s, node, false);
		if (ret != HOLE_ON || low <= first)
			return ret;
		last = low - 1;
	}
}

/* Search the region of one entry of an inner node: the keys [first, last], below `child`. */
static __always_inline enum result search_entry(struct search *s, struct node *child,
						const struct gap *gap, u64 first, u64 last,
						unsigned int level, bool up)
{
	enum result ret = HOLE_ON;
	u64 from = s->at, key;

	if (gap_items(gap) &&
	    (up ? gap->head > from && fit(s, from, gap->head - 1, up, &key)
		: gap_tail(gap) < from && fit(s, gap_tail(gap) + 1, from, up, &key)))
		return look(s, level, up);
	if (promises(s, gap)) {
		ret = up ? region_up(s, child, last, level)
			 : region_down(s, first, last, level - 1);
		if (ret == HOLE_ON &&
		    (up ? from <= gap->head && !s->best : !gap_items(gap) || from >= gap_tail(gap)))
			correct(s, child, level);
	}
	return ret;
}

/* Search below an inner node. */
static __always_inline enum result search_node(struct search *s, struct node *node, bool up)
{
	u64 lockword = node_read(node);
	int i, next;

	if (lockword & NODE_DEAD)
		return HOLE_AGAIN;
	i = (int)node_floor(node, s->at);
	if (up && i < 0)
		i = node_after(node, -1);
	for (; i >= 0; i = up ? next : node_before(node, i)) {
		struct node *child = node_child(node, (unsigned int)i);
		u64 first = node_key(node, (unsigned int)i), last = READ_ONCE(node->last);
		enum result ret;
		struct gap gap;

		gap_read(gap_child(node, (unsigned int)i), &gap);
		next = node_after(node, i);
		if (next >= 0)
			last = node_key(node, (unsigned int)next) - 1;
		if (!node_valid(node, lockword))
			return HOLE_AGAIN;
		ret = search_entry(s, child, &gap, first, last, node_level(node), up);
		if (ret == HOLE_ON && !node_valid(node, lockword))
			ret = HOLE_AGAIN;
		if (ret == HOLE_ON && (up ? gap_has_tail(&gap) : gap_has_head(&gap)) &&
		    !pass(s, gap.head, gap_tail(&gap), up))
			ret = HOLE_END;
		if (ret != HOLE_ON)
			return ret;
	}
	return HOLE_ON;
}

static enum result node_up(struct search *s, struct node *node)
{
	return search_node(s, node, true);
}

static enum result node_down(struct search *s, struct node *node)
{
	return search_node(s, node, false);
}

/* Search [low, last] upwards or downwards. Returns true if s->found is a place. */
static bool search_span(struct search *s, u64 low, u64 last, bool up)
{
	enum result ret;

	if (low > last || last - low < s->size - 1)
		return false;
	s->low = low;
	s->last = last;
	s->at = up ? low : last;
	s->some = false;
	do {
		struct node *root = smp_load_acquire(&s->tree->root); /* pairs with add_root */

		ret = up ? region_up(s, root, KEY_MAX, node_level(root) + 1)
			 : region_down(s, 0, KEY_MAX, node_level(root));
		if (ret == HOLE_ON)
			ret = look(s, 1, up);
	} while (ret == HOLE_AGAIN);
	return ret == HOLE_HIT || s->some;
}

/* ---- policies ---- */

/* Check a request and prepare the search: 0 | -EINVAL */
static int search_begin(struct search *s, struct tree *tree, const struct lath_hole_request *want)
{
	u64 align = want->align ? want->align : 1;

	if (!tree->holes || !want->size || align & (align - 1) ||
	    (want->high && want->low >= want->high))
		return -EINVAL;
	*s = (struct search){ .tree = tree,
			      .size = want->size,
			      .align = align - 1,
			      .slot = gap_slot(align),
			      .need = gap_code(want->size),
			      .exact = align >> gap_slot(align) == 1 && gap_exact(want->size) };
	if (want->policy == LATH_HOLE_EXACT &&
	    (want->hint & s->align || want->hint < want->low || want->hint > want->high - 1 ||
	     want->high - 1 - want->hint < want->size - 1))
		return -EINVAL;
	return (unsigned int)want->policy <= LATH_HOLE_EXACT ? 0 : -EINVAL;
}

/* The nearest of the first place above the hint and the last one below it. */
static bool search_near(struct search *s, u64 low, u64 last, u64 hint)
{
	bool above = search_span(s, max(low, hint), last, true), below;
	u64 up = s->found, reach = hint > KEY_MAX - (s->size - 1) ? KEY_MAX : hint + (s->size - 1);

	below = search_span(s, low, min(last, reach), false);
	if (above && (!below || up - hint < hint - s->found))
		s->found = up;
	return above || below;
}

/* Search [low, last] once, by the policy. */
static bool search_within(struct search *s, const struct lath_hole_request *want, u64 low, u64 last)
{
	switch (want->policy) {
	case LATH_HOLE_LAST:
		return search_span(s, low, last, false);
	case LATH_HOLE_NEXT:
		return (want->hint > low && search_span(s, want->hint, last, true)) ||
		       search_span(s, low, last, true);
	case LATH_HOLE_NEAR:
		return search_near(s, low, last, want->hint);
	case LATH_HOLE_EXACT:
		return search_span(s, want->hint, want->hint + (s->size - 1), true);
	default:
		s->best = want->policy == LATH_HOLE_BEST;
		return search_span(s, low, last, true);
	}
}

static bool search(struct search *s, const struct lath_hole_request *want)
{
	u64 last = want->high - 1; /* high 0 is 2^64 */

	if (want->below && want->below - 1 < last && want->below > want->low &&
	    want->policy != LATH_HOLE_EXACT && search_within(s, want, want->low, want->below - 1))
		return true;
	return search_within(s, want, want->low, last);
}

/* Find a hole, and insert if there is a reserve: 0 | -ENOSPC | -ENOMEM. Nothing found counts only
 * if no change was in flight while the search ran. In a read-side critical section. */
static int find(struct search *s, const struct lath_hole_request *want, u64 value,
		struct reserve *reserve)
{
	unsigned int rounds = 0;
	u64 ended;
	int ret;

	for (;;) {
		ended = gap_ended(s->tree);
		while (search(s, want)) {
			struct lath_item item = { s->found, s->size, value };

			ret = reserve ? insert_item(s->tree, &item, NULL, reserve) : 0;
			if (ret != -EEXIST)
				return ret;
		}
		if (gap_begun(s->tree) == ended)
			return -ENOSPC;
		lath_spin_wait(&rounds);
	}
}

static int find_hole(struct lath_index *index, const struct lath_hole_request *want, u64 value,
		     bool insert, u64 *key)
{
	struct tree *tree = tree_of(index);
	struct reserve reserve = { 0 };
	struct search s;
	int ret = search_begin(&s, tree, want);

	if (ret)
		return ret;
	call_enter(tree);
	ret = find(&s, want, value, insert ? &reserve : NULL);
	call_exit(tree);
	if (!ret)
		*key = s.found;
	return ret;
}

int lath_index_find_hole(struct lath_index *index, const struct lath_hole_request *want,
			 uint64_t *key)
{
	return find_hole(index, want, 0, false, key);
}

int lath_index_insert_hole(struct lath_index *index, const struct lath_hole_request *want,
			   uint64_t value, uint64_t *key)
{
	return find_hole(index, want, value, true, key);
}
