/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.c - the search for a hole (lathwork/hole.h).
 *
 * Free runs are met in key order: upwards, or downwards for LATH_HOLE_LAST. The search carries
 * `at`, where the present run begins (upwards) or ends (downwards). In an inner node one pass over
 * a column tells which children may serve the request (gap.h); all others are skipped, and `at`
 * moves behind them. Summaries are upper bounds and nodes are read without locks, so a hole counts
 * as found only once it has been inserted.
 *
 * If a summary promised a fit where there is none, the search corrects it and goes on from there.
 * "No hole" may be reported only if no change was in flight since the search began, or else one
 * might have come up behind it: the counters of gap.h tell.
 */
#include "lathwork/hole.h"
#include "tree/watch/bound.h"
#include "tree/watch/gap.h"
#include "set/hole/lengths.h"
#include "set/hole/place.h"
#include "tree/call/call.h"
#include "tree/way/locate.h"

/* the kernel has this word too */
#ifndef noinline
#define noinline __attribute__((noinline))
#endif

/* What a part of a search comes to.
 *   ON     no place in this part: continue with the next one
 *   HIT    `found` is set
 *   END    no place in the whole span
 *   AGAIN  a node changed, or a summary was corrected: start again at the root, from `at` */
enum result { HOLE_ON, HOLE_HIT, HOLE_END, HOLE_AGAIN };

/* No run before this key (upwards) or behind it (downwards) is of interest any more. Returns false
 * if there is no room on the other side. */
static __always_inline bool move_to(struct search *s, u64 key, bool up)
{
	if (up ? key <= s->at : key >= s->at)
		return true;
	s->at = key;
	return up ? key <= s->last && s->last - key >= s->size - 1
		  : key >= s->low && key - s->low >= s->size - 1;
}

/* Go past the items in [key, end]. Returns false if there is no room behind them. */
static __always_inline bool pass(struct search *s, u64 key, u64 end, bool up)
{
	if (up)
		return end == KEY_MAX ? s->at > end : move_to(s, end + 1, true);
	return key ? move_to(s, key - 1, false) : false;
}

/* ---- leaves ---- */

/* The whole node was searched and has no place, although its summary promised one: lower the
 * summary. BEST looks at nodes that may have a place and are not the best, so it lowers none. */
static __always_inline void lower_node(struct search *s, struct node *node, u64 lockword)
{
	/* a summary that promised nothing is not the reason why the node was searched */
	if (!s->best && gap_lane(gap_own(node), s->slot) >= s->need)
		lath_gap_lower_node(node, lockword);
}

/* Test the run behind the last item of the leaf (upwards) or in front of the first one, as far as
 * the leaf covers it: no item crosses a fence. BEST needs whole runs. A run at a leaf's end is
 * known as a whole only at the ends of the key space; look() measures the others. */
static __always_inline enum result search_end(struct search *s, const struct node *leaf, bool up)
{
	u64 low = READ_ONCE(leaf->low), last = READ_ONCE(leaf->last);

	if (up ? last == KEY_MAX : !low)
		return take_run(s, up ? s->at : 0, up ? KEY_MAX : s->at, up) ? HOLE_HIT : HOLE_ON;
	if (s->best || s->at < low || s->at > last)
		return HOLE_ON;
	return take_run(s, up ? s->at : low, up ? last : s->at, up) ? HOLE_HIT : HOLE_ON;
}

/* The loop below has few runs that are long enough: its registers are for the others. */
static noinline bool take_run_up(struct search *s, u64 at, u64 key)
{
	return key && take_run(s, at, key - 1, true);
}

/* The runs in front of the items from entry i on, upwards. HOLE_END: there is no room behind all of
 * them. */
static __always_inline enum result leaf_up(struct search *s, struct node *leaf, int i)
{
	u64 live = READ_ONCE(leaf->live) & ~lath_ones((unsigned int)i), at = s->at;
	u64 size = s->size, behind = 1;

	for (; live; live &= live - 1) {
		unsigned int entry = __ffs64(live);
		u64 key = node_key(leaf, entry);

		/* where `at` is inside the item, this is a large number, and there is no run */
		if (unlikely(key - at >= size) && take_run_up(s, at, key))
			return HOLE_HIT;
		behind = key + node_side(leaf, entry);
		at = max(at, behind);
	}
	if (unlikely(!behind)) /* the last item ends with the key space */
		return HOLE_END;
	return move_to(s, at, true) ? HOLE_ON : HOLE_END;
}

/* The runs behind the items up to entry i, downwards; likewise. */
static __always_inline enum result leaf_down(struct search *s, struct node *leaf, int i)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones((unsigned int)(i + 1));

	while (live) {
		unsigned int entry = __fls64(live);
		u64 key = node_key(leaf, entry), end = node_end(leaf, entry);

		if (end < s->at && s->at - end >= s->size && take_run(s, end + 1, s->at, false))
			return HOLE_HIT;
		if (!pass(s, key, end, false))
			return HOLE_END;
		live &= ~(1ull << entry);
	}
	return HOLE_ON;
}

/* Search the entries of a leaf. */
static __always_inline enum result search_entries(struct search *s, struct node *leaf, bool up)
{
	int i = (int)node_floor(leaf, s->at);

	return up ? leaf_up(s, leaf, max(i, 0)) : leaf_down(s, leaf, i);
}

/* Search one leaf, as it was under the lockword. */
static __always_inline enum result search_leaf(struct search *s, struct node *leaf, u64 lockword,
					       bool up)
{
	/* what a search of a leaf changes, to undo it if the leaf changed since */
	u64 at = s->at, found = s->found, found_room = s->found_room;
	bool some = s->some;
	enum result ret = HOLE_ON;
	bool whole, between = false; /* is the place between two items, or what acts as one? */

	LATH_ASSERT(!node_level(leaf));
	if (node_dead(lockword))
		return HOLE_AGAIN;
	s->nodes++;
	/* a half-dead leaf has no items and no keys, so no run */
	if (!(lockword & NODE_HALF_DEAD)) {
		ret = search_entries(s, leaf, up);
		between = ret == HOLE_HIT ||
			  (up ? READ_ONCE(leaf->last) == KEY_MAX : !READ_ONCE(leaf->low));
		if (ret == HOLE_ON)
			ret = search_end(s, leaf, up);
	}
	whole = up ? s->low <= READ_ONCE(leaf->low) : s->last >= READ_ONCE(leaf->last);
	if (!node_valid(leaf, lockword)) {
		s->at = at;
		s->found = found;
		s->found_room = found_room;
		s->some = some;
		return HOLE_AGAIN;
	}
	if (ret == HOLE_HIT) /* an insert into this leaf is likely to follow */
		finger_expect(s->tree, leaf);
	/* A place in the run at the leaf's end is promised by the ends of the summary, not by its
	 * room: the room may still promise too much. */
	if (whole && (ret == HOLE_ON || (ret == HOLE_HIT && !between)))
		lower_node(s, leaf, lockword);
	return ret;
}

/* ---- inner nodes ---- */

/* The summaries of the leaf that covers key are out of date: correct them up to `level`. */
static void correct(struct search *s, u64 key, unsigned int level)
{
	LATH_ASSERT(level);
	gap_change_begin(s->tree);
	lath_gap_propagate_leaf(s->tree, key, level);
	gap_change_end(s->tree);
	s->corrected++;
}

/*
 * The summaries promise that the run at `at`, which crosses the edge of this subtree, fits. Find
 * both of its ends by lookups. If it does not fit, the summary of the leaf at one of its ends is
 * outdated: correct it, and those above up to `level`.
 */
static __always_inline enum result look(struct search *s, unsigned int level, bool up)
{
	u64 from = s->at, lockword, end, key;
	struct node *leaf = locate(s->tree, from, FOR_READ, &lockword);
	enum result ret = search_leaf(s, leaf, lockword, up);
	struct lath_item item;

	if (ret != HOLE_ON)
		return ret;
	s->nodes++;
	/* No item follows within the span: the run goes on to its end. */
	if (up ? lath_overlap_item(s->tree, s->at, s->last, &item)
	       : lath_floor_item(s->tree, s->at, &item))
		return take_run(s, up ? s->at : 0, up ? s->last : s->at, up) ? HOLE_HIT : HOLE_END;
	end = item.key + (item.size - 1);
	if (up ? item.key > s->at && take_run(s, s->at, item.key - 1, up)
	       : end < s->at && take_run(s, end + 1, s->at, up))
		return HOLE_HIT;
	/* With BEST a run that fits may be passed because a shorter one was found: nothing is wrong
	 * with its summary. */
	if (!s->best || !(up ? item.key > s->at && fit(s, s->at, item.key - 1, up, &key)
			     : end < s->at && fit(s, end + 1, s->at, up, &key))) {
		correct(s, s->at != from ? from : item.key, level);
	}
	return pass(s, item.key, end, up) ? HOLE_AGAIN : HOLE_END;
}

static enum result node_up(struct search *s, struct node *node);
static enum result node_down(struct search *s, struct node *node);

/* Upwards: the run between a node that was passed and its right sibling, which begins in the same
 * region, has no entry. Level 0 needs none: leaves are read item by item. */
static enum result run_behind(struct search *s, struct node *node, struct node *right,
			      unsigned int level)
{
	u64 behind = READ_ONCE(gap_own(node)[GAP_ROOM + 1]), key;
	u64 before = READ_ONCE(gap_own(right)[GAP_ROOM]);

	if (!level)
		return HOLE_ON;
	if (!move_to(s, behind, true))
		return HOLE_END;
	return before >= s->at && fit(s, s->at, before, true, &key) ? look(s, level + 1, true)
								    : HOLE_ON;
}

/* Downwards likewise: the run that ends at `at`, behind all items of the node. */
static enum result run_above(struct search *s, struct node *node, unsigned int level)
{
	u64 behind = READ_ONCE(gap_own(node)[GAP_ROOM + 1]), key;

	return level && behind <= s->at && fit(s, behind, s->at, false, &key)
		       ? look(s, level + 1, false)
		       : HOLE_ON;
}

/* Search the nodes of a region from the left: from child on, up to the one that covers last. */
static enum result region_up(struct search *s, struct node *child, u64 last, unsigned int level)
{
	for (;;) {
		enum result ret =
			level ? node_up(s, child) : search_leaf(s, child, node_read(child), true);
		u64 lockword = node_read(child), end = READ_ONCE(child->last);
		struct node *right = READ_ONCE(child->right);

		if (ret != HOLE_ON)
			return ret;
		/* the right link is of the moment of the look: it may lead past new nodes */
		if (node_dead(lockword) || !node_valid(child, lockword))
			return HOLE_AGAIN;
		if (!right || (end >= last && !(lockword & NODE_HALF_DEAD)))
			return HOLE_ON;
		ret = run_behind(s, child, right, level);
		if (ret != HOLE_ON)
			return ret;
		child = right;
	}
}

/* Does the node, alone, cover [first, last]? */
static bool covers(struct node *node, u64 first, u64 last)
{
	u64 lockword = node_read(node);
	/* the fences are read before the lockword is compared: both are of one moment */
	bool ret = READ_ONCE(node->low) <= first && READ_ONCE(node->last) >= last;

	return ret && node_sound(lockword) && node_valid(node, lockword);
}

/* Search the nodes of a level that cover keys of [first, last] from the right. child: the first of
 * them, most often the only one. */
static enum result region_down(struct search *s, struct node *child, u64 first, u64 last,
			       unsigned int level)
{
	bool one = covers(child, first, last);

	LATH_ASSERT(first <= last);
	while (s->at >= first) {
		enum result ret = HOLE_ON;
		u64 lockword, low;

		/* the nodes of a level are linked to the right only: each one is found by its last
		 * key */
		if (!one) {
			child = lath_level_find(s->tree, min(last, s->at), level, &lockword);
			if (!child)
				return HOLE_AGAIN;
			ret = run_above(s, child, level);
		}
		low = READ_ONCE(child->low);
		if (ret == HOLE_ON)
			ret = level ? node_down(s, child)
				    : search_leaf(s, child, node_read(child), false);
		if (ret != HOLE_ON || low <= first)
			return ret;
		last = low - 1;
		one = false;
	}
	return HOLE_ON;
}

/* Where an inner node is searched. */
struct place {
	struct node *node;
	u64 lockword;
	int first;  /* the entry that promises the run at `at` */
	bool whole; /* nothing of it is outside of the span that is searched */
};

/* Move `at` past the entries between the first one and entry i, which cannot hold the request. */
static __always_inline bool skip_to(struct search *s, const struct place *p, int i, bool up)
{
	int j = up ? lath_gap_previous(p->node, i) : lath_gap_next(p->node, i);

	if (up ? j < p->first : j < 0 || j > p->first)
		return true;
	return move_to(
		s, up ? READ_ONCE(gap_behind(p->node)[j]) : READ_ONCE(gap_before(p->node)[j]), up);
}

/* Does the run between entry i, which has items, and the one before it seem to serve? Upwards it is
 * met before the entry and ends at `end`, downwards behind it. */
static __always_inline bool run_serves(const struct search *s, const struct place *p, int i,
				       u64 end, bool up)
{
	u64 key, first = s->at;

	if (!up) {
		int j = lath_gap_previous(p->node, i);

		if (j < 0)
			return false;
		first = READ_ONCE(gap_behind(p->node)[j]);
	}
	return first <= end && fit(s, first, end, up, &key);
}

/* Downwards: the run in front of entry i, whose region was searched from `from` on without success.
 * `before`: the key in front of the region's first item, by the entry's summary. */
static __always_inline enum result search_run_before(struct search *s, const struct place *p, int i,
						     u64 before, u64 from)
{
	unsigned int level = node_level(p->node);
	/* The region ended further left than the summary says, and the run there seems to fit. */
	bool stale = s->at < from && s->at < before && run_serves(s, p, i, before, false);
	bool on = move_to(s, before, false), serves = run_serves(s, p, i, s->at, false);

	if (!node_valid(p->node, p->lockword))
		return HOLE_AGAIN;
	if (!on)
		return HOLE_END;
	if (serves)
		return look(s, level, false);
	if (!stale)
		return HOLE_ON;
	correct(s, s->at + 1, level); /* an item begins right behind `at` */
	return HOLE_AGAIN;
}

/* Search the region of entry i, which promises a fit, and the run in front of it. */
static __always_inline enum result search_entry(struct search *s, struct place *p, int i, bool up)
{
	struct node *node = p->node, *child = node_child(node, (unsigned int)i);
	unsigned int level = node_level(node);
	u64 first = node_key(node, (unsigned int)i), last = READ_ONCE(node->last);
	int next = node_after(node, i);
	u64 before = READ_ONCE(gap_before(node)[i]), from;
	bool empty = gap_entry_empty(node, (unsigned int)i), serves;
	bool on = skip_to(s, p, i, up);
	enum result ret;

	if (next >= 0)
		last = node_key(node, (unsigned int)next) - 1;
	/* the region of key 0 has no run in front of it: there, before = 0 is not a free key */
	serves = up && first && run_serves(s, p, i, before, up);
	if (!node_valid(node, p->lockword))
		return HOLE_AGAIN;
	if (!on)
		return HOLE_END;
	LATH_ASSERT(level && first <= last); /* of a node that has not changed */
	/* An empty region that promises a fit has no items to bound its run: measure it. So is a
	 * run in front of the entry that seems to fit. */
	if (empty || serves)
		return look(s, level, up);
	from = s->at;
	ret = up ? region_up(s, child, last, level - 1)
		 : region_down(s, child, first, last, level - 1);
	if (ret != HOLE_ON)
		return ret;
	if (!up) {
		ret = search_run_before(s, p, i, before, from);
		if (ret != HOLE_ON)
			return ret;
	}
	/* The region was searched as a whole, but perhaps for the one in which the search began. */
	if (!s->best && (i != p->first || p->whole))
		lath_gap_lower_entry(node, (unsigned int)i, &p->lockword);
	return HOLE_ON;
}

/* The first entry of an inner node that may promise free space from `at` on: upwards, `at` may lie
 * in a leaf that begins in the region before and is promised there; downwards, the run at `at` is
 * promised by the entry behind it. */
static __always_inline int first_entry(struct node *node, u64 at, bool up)
{
	int i = (int)inner_slot(node, at), next;

	if (up) {
		if (i < 0)
			return node_after(node, -1);
		next = lath_gap_previous(node, i);
		return next >= 0 && READ_ONCE(gap_behind(node)[next]) > at ? next : i;
	}
	if (i >= 0 && !gap_entry_empty(node, (unsigned int)i) &&
	    at < READ_ONCE(gap_behind(node)[i]))
		return i;
	next = lath_gap_next(node, i);
	return next < 0 ? i : next;
}

/* Search below an inner node. */
static __always_inline enum result search_node(struct search *s, struct node *node, bool up)
{
	struct place p = { .node = node, .lockword = node_read(node) };
	enum result ret = HOLE_ON;
	u64 may;
	bool on;

	if (node_dead(p.lockword))
		return HOLE_AGAIN;
	s->nodes++;
	p.whole = up ? s->low <= READ_ONCE(node->low) : s->last >= READ_ONCE(node->last);
	p.first = first_entry(node, s->at, up);
	if (p.first < 0)
		return node_valid(node, p.lockword) ? HOLE_ON : HOLE_AGAIN;
	/* the other entries promise too little: their nodes are not looked at */
	may = gap_at_least(node, s->slot, s->need) & READ_ONCE(node->live);
	may &= up ? ~lath_ones((unsigned int)p.first) : lath_ones((unsigned int)p.first + 1);
	while (may && ret == HOLE_ON) {
		int i = (int)(up ? __ffs64(may) : __fls64(may));

		may &= ~(1ull << i);
		ret = search_entry(s, &p, i, up);
	}
	if (ret != HOLE_ON)
		return ret;
	on = skip_to(s, &p, up ? NODE_CAP : -1, up);
	if (!node_valid(node, p.lockword))
		return HOLE_AGAIN;
	if (!on)
		return HOLE_END;
	if (p.whole)
		lower_node(s, node, p.lockword);
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

/* Does a leaf's summary promise a place from `at` on: between two items, or in the run at an end of
 * the leaf? */
static bool leaf_promises(const struct search *s, struct node *leaf)
{
	const u64 *own = gap_own(leaf);
	u64 before = READ_ONCE(own[GAP_ROOM]), last = READ_ONCE(leaf->last);
	u64 behind = max(s->at, READ_ONCE(own[GAP_ROOM + 1]));

	/* for the runs at the ends alignment is ignored: the leaf may have no place after all */
	return gap_lane(own, s->slot) >= s->need ||
	       (before > s->at && before - s->at >= s->size - 1) ||
	       (behind <= last && last - behind >= s->size - 1);
}

/* The leaf that begins at key has no place for the request: lower its entry in the parent. */
static void lower_entry_of(struct search *s, u64 key)
{
	u64 lockword;
	struct node *parent = lath_level_find(s->tree, key, 1, &lockword);
	int i = parent ? (int)inner_slot(parent, key) : -1;

	/* a parent that changed since keeps its promise: a later search corrects it */
	if (i >= 0 && node_valid(parent, lockword))
		lath_gap_lower_entry(parent, (unsigned int)i, &lockword);
}

/* Search upwards the leaf that covers `at`, if a finger leads there and it may serve. HOLE_HIT |
 * HOLE_END | HOLE_AGAIN */
static enum result search_finger(struct search *s)
{
	u64 lockword, low;
	struct node *leaf = finger_find(s->tree, s->at, &lockword);
	enum result ret;

	if (!leaf || !leaf_promises(s, leaf))
		return HOLE_AGAIN;
	low = READ_ONCE(leaf->low);
	ret = search_leaf(s, leaf, lockword, true);
	if (ret != HOLE_ON)
		return ret;
	/* the search came without the way from the root, so no parent is at hand */
	lower_entry_of(s, low);
	return HOLE_AGAIN;
}

/* Search [low, last] upwards or downwards. Returns true if s->found is a place. */
static bool search_span(struct search *s, u64 low, u64 last, bool up)
{
	enum result ret = HOLE_AGAIN;

	LATH_ASSERT(s->size && !(s->align & (s->align + 1)));
	LATH_ASSERT(lath_reader_inside(s->tree->rcu));
	if (low > last || last - low < s->size - 1)
		return false;
	s->low = low;
	s->last = last;
	s->at = up ? low : last;
	s->some = false;
	if (s->from > low) { /* else it is low, or not known */
		if (!move_to(s, s->from, true))
			return false;
		ret = search_finger(s);
	}
	while (ret == HOLE_AGAIN) {
		struct node *root = smp_load_acquire(&s->tree->root); /* pairs with add_root */

		ret = up ? region_up(s, root, KEY_MAX, node_level(root))
			 : region_down(s, root, 0, KEY_MAX, node_level(root));
	}
	return ret == HOLE_HIT || s->some;
}

/* ---- policies ---- */

/* Check a request and prepare the search: 0 | -EINVAL */
static int search_begin(struct search *s, struct tree *tree, const struct lath_hole_request *want)
{
	if (!gap_kept(tree) || hole_begin(s, want))
		return -EINVAL;
	s->tree = tree;
	s->slot = gap_slot(s->align + 1);
	s->need = gap_code(want->size);
	return 0;
}

/* The shortest hole in [low, last]: by the second index, or else by reading every leaf that may
 * hold one. If the second index met no run with an aligned place, the lowest place is taken. */
static bool search_best(struct search *s, const struct lath_hole_request *want, u64 low, u64 last)
{
	enum lengths_result result = LENGTHS_OUTSIDE;
	bool found;

	if (last - low < s->size - 1)
		return false;
	if (lath_lengths_ready(s->tree))
		result = lath_lengths_find(s->tree, want, low, last, &s->found, &s->nodes);
	if (result == LENGTHS_FOUND)
		return true;
	found = search_span(s, low, last, true);
	if (!found || result == LENGTHS_NONE) /* none at all, or the first aligned place */
		return found;
	s->best = true;
	found = search_span(s, low, last, true);
	s->best = false;
	return found;
}

/* Take the hole that was found, if there is a reserve, or look whether it is one: the search read
 * its leaves one after the other, and items may have moved between them since. 0 | -EEXIST: it
 * is not | -ENOMEM */
static int take_hole(struct search *s, u64 value, struct reserve *reserve)
{
	struct lath_item item = { s->found, s->size, value };

	LATH_ASSERT(!(s->found & s->align) && s->size - 1 <= KEY_MAX - s->found);
	if (reserve)
		return lath_insert_item(s->tree, &item, NULL, reserve);
	return lath_overlap_item(s->tree, s->found, s->found + (s->size - 1), &item) ? 0 : -EEXIST;
}

/* ---- the bound ---- */

#ifdef __KERNEL__
DEFINE_PER_CPU(struct bound, lath_bound);
#else
LATH_TLS struct bound lath_bound;
#endif

/* Begin a search, before which this many changes had ended, at the caller's bound if that *holds
 * for the request. Returns true if the search may set the bound: no change is in flight. */
static bool bound_begin(struct search *s, const struct lath_hole_request *want, u64 ended,
			bool *holds)
{
	const struct bound *bound = bound_of(s->tree);

	s->from = 0;
	*holds = false;
	if (!bound || want->policy != LATH_HOLE_FIRST || lath_gap_begun(s->tree) != ended)
		return false;
	if (bound->tree_id == s->tree->id && bound->changes == ended && bound->low <= want->low &&
	    bound->size <= s->size && !(bound->align & ~s->align)) {
		*holds = true;
		s->from = bound->at;
	}
	return true;
}

/* There is no place for the request that begins in [want->low, at), unless a change began after so
 * many. */
static void bound_set(const struct search *s, const struct lath_hole_request *want, u64 changes,
		      u64 at)
{
	struct bound *bound = bound_of(s->tree);

	bound->tree_id = s->tree->id;
	bound->changes = changes;
	bound->low = want->low;
	bound->at = at;
	bound->size = s->size;
	bound->align = s->align;
	bound->undo.leaf = NULL;
}

/* Whether the place of the item that the caller erased last is the lowest that serves the request.
 * The caller has found that no hole below the bound does. */
static bool back_serves(struct search *s, const struct lath_hole_request *want,
			const struct bound *bound)
{
	const struct gap_undo *undo = &bound->undo;
	u64 key;

	s->last = want->high - 1; /* high 0 is 2^64 */
	return undo->leaf && undo->size == s->size &&
	       fit(s, max(undo->first, want->low), undo->last, true, &key) && key == undo->key;
}

/* Insert by putting an item back, if that takes the lowest place. Returns whether it did. */
static bool put_back(struct search *s, const struct lath_hole_request *want, u64 value)
{
	struct bound *bound = bound_of(s->tree);

	if (!back_serves(s, want, bound) || !lath_insert_back(s->tree, &bound->undo, value))
		return false;
	s->nodes++;
	s->found = bound->undo.key;
	/* Not each time: searches have to pass by what others left, and lower it. With one in four
	 * 999 of 1,000 requests look at 16 nodes (hole_aging, 20 are allowed), without at 24. */
	bound->at = bound->changes & 3 ? bound->undo_at : s->found + s->size;
	bound->undo.leaf = NULL;
	return true;
}

/* Find a hole, and insert if there is a reserve: 0 | -ENOSPC | -ENOMEM. Nothing found counts only
 * if no change was in flight while the search ran. In a read-side critical section. */
static int find(struct search *s, const struct lath_hole_request *want, u64 value,
		struct reserve *reserve)
{
	unsigned int rounds = 0;
	bool still, holds;
	u64 ended;
	int ret;

	for (;;) {
		ended = lath_gap_ended(s->tree);
		still = bound_begin(s, want, ended, &holds);
		if (reserve && holds && put_back(s, want, value))
			return 0;
		s->corrected = 0;
		while (hole_search(s, want, search_span, search_best)) {
			ret = take_hole(s, value, reserve);
			if (!ret && still)
				bound_set(s, want, ended + s->corrected,
					  s->found + (reserve ? s->size : 0));
			/* another thread was faster, or items moved past the search: look again */
			if (ret != -EEXIST)
				return ret;
		}
		LATH_ASSERT(lath_gap_begun(s->tree) - ended >= s->corrected);
		/* a change in flight may hide a hole from the summaries: -ENOSPC would be a
		 * guess */
		if (lath_gap_begun(s->tree) - s->corrected == ended)
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
	gap_count(tree, s.nodes);
	call_exit(tree);
	/* outside of the call: it may make the index by length, which reads the whole tree */
	if (want->policy == LATH_HOLE_BEST)
		lath_lengths_consider(tree, s.nodes);
	if (ret == -ENOSPC)
		lath_probe(refusal, tree, want->size);
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
