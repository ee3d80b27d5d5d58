/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hole.c - the search for a hole (lathwork/hole.h).
 *
 * Runs are met in the order of their keys, upwards or, for LAST, downwards. The search carries the
 * place where the present run begins (`at`); an inner node's entries are passed in order: what lies
 * between the run's beginning and the child's first item is one run; what lies between the child's
 * items is looked at only if its gap may hold the request; then the run begins anew behind the
 * child's last item. All this rests on claims (gap.h) and on nodes read without locks, so what is
 * found is found only once it has been inserted.
 *
 * A hole claimed where there is none: the claim is corrected and the search goes on from there.
 * No hole: that may be said only if nothing was being freed or moved since the search began, else
 * one might have come up behind it. The counters of sections tell (gap_begun, gap_ended).
 */
#include "lathwork/hole.h"
#include "index/hint/finger.h"
#include "index/holes/gap.h"
#include "index/tree/descend.h"

struct search {
	struct tree *list;
	u64 size;
	u64 align; /* mask */
	u64 low;   /* the hole lies in [low, last] */
	u64 last;
	unsigned int slot; /* of gap.room, and what has to be there */
	u8 need;
	bool exact; /* a run that has it there has a place */
	u64 at;	    /* upwards: first key of the present run; downwards: its last */
	bool best;
	u64 found;
	u64 found_room; /* BEST: last - first of the run it lies in */
	bool some;	/* BEST: found is set */
};

/* ON: not here; END: nowhere; AGAIN: something moved, or a claim was corrected: from the root, from `at` on. */
enum result { HOLE_ON, HOLE_HIT, HOLE_END, HOLE_AGAIN };

static bool serves(const struct search *s, const struct gap *gap)
{
	return gap->wide >= s->size && gap_room(gap, s->slot) >= s->need;
}

/* The first place in the run [first, last]. */
static bool fit_up(const struct search *s, u64 first, u64 last, u64 *key)
{
	u64 at = (first + s->align) & ~s->align;

	last = min(last, s->last);
	if (at < first || at > last || last - at < s->size - 1)
		return false;
	*key = at;
	return true;
}

/* The last one. */
static bool fit_down(const struct search *s, u64 first, u64 last, u64 *key)
{
	u64 at;

	first = max(first, s->low);
	if (last < first || last - first < s->size - 1)
		return false;
	at = (last - (s->size - 1)) & ~s->align;
	if (at < first)
		return false;
	*key = at;
	return true;
}

/* A free run; true: it ends the search. */
static bool take_run(struct search *s, u64 first, u64 last)
{
	u64 key, room = min(last, s->last) - first;

	if (!fit_up(s, first, last, &key))
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

/* The run goes on behind an item that ends here. False: no room is left there. */
static bool begin_behind(struct search *s, u64 end)
{
	if (end < s->at)
		return true;
	if (end >= s->last || s->last - end < s->size)
		return false;
	s->at = end + 1;
	return true;
}

static bool end_before(struct search *s, u64 key)
{
	if (key > s->at)
		return true;
	if (key <= s->low || key - s->low < s->size)
		return false;
	s->at = key - 1;
	return true;
}

/* ---- upwards ---- */

static enum result leaf_up(struct search *s, struct node *leaf)
{
	u64 word = node_read(leaf);
	struct search before = *s;
	enum result ret = HOLE_ON;
	int i;

	if (word & NODE_DEAD)
		return HOLE_AGAIN;
	i = word & NODE_VOID ? -1 : node_floor(leaf, s->at);
	if (i < 0 && !(word & NODE_VOID))
		i = node_after(leaf, -1);
	for (; i >= 0 && ret == HOLE_ON; i = node_after(leaf, i)) {
		u64 key = node_key(leaf, (unsigned int)i);

		if (key > s->at && take_run(s, s->at, key - 1))
			ret = HOLE_HIT;
		else if (!begin_behind(s, node_end(leaf, (unsigned int)i, true)))
			ret = HOLE_END;
	}
	if (!node_valid(leaf, word)) {
		*s = before;
		return HOLE_AGAIN;
	}
	if (ret == HOLE_HIT)
		finger_point(s->list, leaf);
	return ret;
}

/* Claims say that a run from `at` on may do. See what is there. */
static enum result look_up(struct search *s, unsigned int level)
{
	struct lath_item item;
	u64 run = s->at;

	if (overlap_item(s->list, run, s->last, &item))
		return take_run(s, run, s->last) ? HOLE_HIT : HOLE_END;
	if (item.key > run && take_run(s, run, item.key - 1))
		return HOLE_HIT;
	if (!begin_behind(s, item.key + (item.size - 1)))
		return HOLE_END;
	gap_sync(s->list, item.key, level);
	return HOLE_AGAIN;
}

/* The child was looked through and had nothing, though its copy in the parent promised it. Searching what is below an
 * inner node has corrected that: there it can only be the copy. */
static void check_claim(struct search *s, struct node *child, unsigned int level)
{
	u64 word = node_read(child), low = READ_ONCE(child->low);
	struct gap own, gap;

	gap_read(gap_own(s->list, child), &own);
	if (serves(s, &own)) {
		if (level > 1)
			return;
		if (!s->exact) {
			gap_measure(child, &gap);
			if (serves(s, &gap))
				return;
		}
		level = 0;
	}
	if (node_valid(child, word) && !(word & (NODE_DEAD | NODE_VOID)))
		gap_sync(s->list, low, level);
}

static enum result node_up(struct search *s, struct node *node);

/* The nodes of a region, from child on, up to the one that covers its last key. */
static enum result region_up(struct search *s, struct node *child, u64 last, unsigned int level)
{
	for (;;) {
		enum result ret = level == 1 ? leaf_up(s, child) : node_up(s, child);
		u64 word = node_read(child), end = READ_ONCE(child->last);
		struct node *right = READ_ONCE(child->right);

		if (ret != HOLE_ON)
			return ret;
		if (word & NODE_DEAD || !node_valid(child, word))
			return HOLE_AGAIN;
		if (!right || (end >= last && !(word & NODE_VOID)))
			return HOLE_ON;
		child = right;
	}
}

static enum result node_up(struct search *s, struct node *node)
{
	unsigned int level = node_level(node);
	u64 word = node_read(node);
	int i, next;

	if (word & NODE_DEAD)
		return HOLE_AGAIN;
	i = node_floor(node, s->at);
	if (i < 0)
		i = node_after(node, -1);
	for (; i >= 0; i = next) {
		struct node *child = node_child(node, (unsigned int)i);
		u64 last = READ_ONCE(node->last), key, from = s->at;
		enum result ret = HOLE_ON;
		struct gap gap;

		gap_read(gap_child(node, (unsigned int)i), &gap);
		next = node_after(node, i);
		if (next >= 0)
			last = node_key(node, (unsigned int)next) - 1;
		if (!node_valid(node, word))
			return HOLE_AGAIN;
		if (gap_items(&gap) && gap.head > s->at && fit_up(s, s->at, gap.head - 1, &key))
			return look_up(s, level);
		if (serves(s, &gap)) {
			ret = region_up(s, child, last, level);
			if (ret == HOLE_ON && from <= gap.head && !s->best)
				check_claim(s, child, level);
			if (ret == HOLE_ON && !node_valid(node, word))
				ret = HOLE_AGAIN;
		}
		if (ret == HOLE_ON && gap_has_tail(&gap) && !begin_behind(s, gap_tail(&gap)))
			ret = HOLE_END;
		if (ret != HOLE_ON)
			return ret;
	}
	return HOLE_ON;
}

static bool search_up(struct search *s)
{
	enum result ret;

	s->at = s->low;
	s->some = false;
	do {
		struct node *root = smp_load_acquire(&s->list->root); /* pairs with add_root */

		ret = region_up(s, root, KEY_MAX, node_level(root) + 1);
		if (ret == HOLE_ON)
			ret = look_up(s, 1);
	} while (ret == HOLE_AGAIN);
	return ret == HOLE_HIT || s->some;
}

/* ---- downwards ---- */

static enum result leaf_down(struct search *s, struct node *leaf)
{
	u64 word = node_read(leaf), was = s->at;
	enum result ret = HOLE_ON;
	int i;

	if (word & NODE_DEAD)
		return HOLE_AGAIN;
	i = word & NODE_VOID ? -1 : node_floor(leaf, s->at);
	for (; i >= 0 && ret == HOLE_ON; i = node_before(leaf, i)) {
		u64 end = node_end(leaf, (unsigned int)i, true);

		if (end < s->at && fit_down(s, end + 1, s->at, &s->found))
			ret = HOLE_HIT;
		else if (!end_before(s, node_key(leaf, (unsigned int)i)))
			ret = HOLE_END;
	}
	if (!node_valid(leaf, word)) {
		s->at = was;
		return HOLE_AGAIN;
	}
	if (ret == HOLE_HIT)
		finger_point(s->list, leaf);
	return ret;
}

static enum result look_down(struct search *s, unsigned int level)
{
	struct lath_item item;
	u64 end;

	if (floor_item(s->list, s->at, &item))
		return fit_down(s, 0, s->at, &s->found) ? HOLE_HIT : HOLE_END;
	end = item.key + (item.size - 1);
	if (end < s->at && fit_down(s, end + 1, s->at, &s->found))
		return HOLE_HIT;
	if (!end_before(s, item.key))
		return HOLE_END;
	gap_sync(s->list, item.key, level);
	return HOLE_AGAIN;
}

static enum result node_down(struct search *s, struct node *node);

/* The nodes of this level that cover keys of [first, last], from the right; no further than `at`. */
static enum result region_down(struct search *s, u64 first, u64 last, unsigned int level)
{
	for (;;) {
		u64 word, low;
		struct node *node = level_node(s->list, min(last, s->at), level, &word);
		enum result ret;

		if (!node)
			return HOLE_AGAIN;
		low = READ_ONCE(node->low);
		ret = level ? node_down(s, node) : leaf_down(s, node);
		if (ret != HOLE_ON || low <= first)
			return ret;
		last = low - 1;
	}
}

static enum result node_down(struct search *s, struct node *node)
{
	unsigned int level = node_level(node);
	u64 word = node_read(node);
	int i;

	if (word & NODE_DEAD)
		return HOLE_AGAIN;
	for (i = node_floor(node, s->at); i >= 0; i = node_before(node, i)) {
		struct node *child = node_child(node, (unsigned int)i);
		u64 first = node_key(node, (unsigned int)i), last = READ_ONCE(node->last), key, from = s->at;
		int next = node_after(node, i);
		enum result ret = HOLE_ON;
		struct gap gap;

		gap_read(gap_child(node, (unsigned int)i), &gap);
		if (next >= 0)
			last = node_key(node, (unsigned int)next) - 1;
		if (!node_valid(node, word))
			return HOLE_AGAIN;
		if (gap_items(&gap) && gap_tail(&gap) < s->at && fit_down(s, gap_tail(&gap) + 1, s->at, &key))
			return look_down(s, level);
		if (serves(s, &gap)) {
			ret = region_down(s, first, last, level - 1);
			if (ret == HOLE_ON && (!gap_items(&gap) || from >= gap_tail(&gap)))
				check_claim(s, child, level);
			if (ret == HOLE_ON && !node_valid(node, word))
				ret = HOLE_AGAIN;
		}
		if (ret == HOLE_ON && gap_has_head(&gap) && !end_before(s, gap.head))
			ret = HOLE_END;
		if (ret != HOLE_ON)
			return ret;
	}
	return HOLE_ON;
}

static bool search_down(struct search *s)
{
	enum result ret;

	s->at = s->last;
	do {
		struct node *root = smp_load_acquire(&s->list->root); /* pairs with add_root */

		ret = region_down(s, 0, KEY_MAX, node_level(root));
		if (ret == HOLE_ON)
			ret = look_down(s, 1);
	} while (ret == HOLE_AGAIN);
	return ret == HOLE_HIT;
}

/* ---- policies ---- */

static int search_begin(struct search *s, struct tree *list, const struct lath_hole_request *want)
{
	u64 align = want->align ? want->align : 1;

	if (!list->holes || !want->size || align & (align - 1) || (want->high && want->low >= want->high))
		return -EINVAL;
	*s = (struct search){ .list = list,
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

static bool up_from(struct search *s, u64 low, u64 last)
{
	s->low = low;
	s->last = last;
	return low <= last && last - low >= s->size - 1 && search_up(s);
}

static bool down_from(struct search *s, u64 low, u64 last)
{
	s->low = low;
	s->last = last;
	return low <= last && last - low >= s->size - 1 && search_down(s);
}

static bool near_to(struct search *s, u64 low, u64 last, u64 hint)
{
	bool above = up_from(s, max(low, hint), last), below;
	u64 up = s->found, reach = hint > KEY_MAX - (s->size - 1) ? KEY_MAX : hint + (s->size - 1);

	below = down_from(s, low, min(last, reach));
	if (above && (!below || up - hint < hint - s->found))
		s->found = up;
	return above || below;
}

/* Search [low, last] once, by the policy. */
static bool search_within(struct search *s, const struct lath_hole_request *want, u64 low, u64 last)
{
	switch (want->policy) {
	case LATH_HOLE_LAST:
		return down_from(s, low, last);
	case LATH_HOLE_NEXT:
		return (want->hint > low && up_from(s, want->hint, last)) || up_from(s, low, last);
	case LATH_HOLE_NEAR:
		return near_to(s, low, last, want->hint);
	case LATH_HOLE_EXACT:
		return up_from(s, want->hint, want->hint + (s->size - 1));
	default:
		s->best = want->policy == LATH_HOLE_BEST;
		return up_from(s, low, last);
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

/* Inside a reader. */
static int insert_there(struct search *s, u64 value, struct reserve *reserve)
{
	struct lath_item item = { s->found, s->size, value };
	int ret = insert_by_finger(s->list, &item, NULL);

	return ret == -EAGAIN ? insert_item(s->list, &item, NULL, reserve) : ret;
}

/* Find, and insert if there is a reserve. Nothing found counts if nothing was freed or moved while we looked:
 * no section had begun that was not over before. */
static int find(struct search *s, const struct lath_hole_request *want, u64 value, struct reserve *reserve)
{
	unsigned int rounds = 0;
	u64 ended;
	int ret;

	for (;;) {
		ended = gap_ended(s->list);
		while (search(s, want)) {
			ret = reserve ? insert_there(s, value, reserve) : 0;
			if (ret != -EEXIST)
				return ret;
		}
		if (gap_begun(s->list) == ended)
			return -ENOSPC;
		lath_spin_wait(&rounds);
	}
}

static int find_hole(struct lath_index *public, const struct lath_hole_request *want, u64 value,
		     bool insert, u64 *key)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	struct search s;
	int ret = search_begin(&s, list, want);

	if (ret)
		return ret;
	lath_reader_enter(list->rcu);
	ret = find(&s, want, value, insert ? &reserve : NULL);
	lath_reader_exit(list->rcu);
	reserve_release(list, &reserve);
	if (!ret)
		*key = s.found;
	return ret;
}

int lath_index_find_hole(struct lath_index *list, const struct lath_hole_request *want, uint64_t *key)
{
	return find_hole(list, want, 0, false, key);
}

int lath_index_insert_hole(struct lath_index *list, const struct lath_hole_request *want,
			      uint64_t value, uint64_t *key)
{
	return find_hole(list, want, value, true, key);
}
