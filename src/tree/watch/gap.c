/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* gap.c - computing summaries and keeping them true. */
#include "tree/watch/gap.h"
#include "tree/way/locate.h"

#define GAP_ALL LATH_CODES((u64)GAP_CODE_MAX)

static const struct gap gap_nothing = { .before = KEY_MAX };

/* ---- arithmetic ---- */

static void max_room(u64 *room, const u64 *by)
{
	unsigned int w;

	for (w = 0; w < GAP_ROOM && by[w]; w++) /* behind a 0 there are others */
		room[w] = lath_codes_max(room[w], by[w]);
}

static void raise_slot(u64 *room, unsigned int slot, unsigned int code)
{
	u64 *word = &room[slot / GAP_LANES];
	unsigned int shift = slot % GAP_LANES * 16, now = (unsigned int)(*word >> shift) & 0xffff;

	LATH_ASSERT(slot < GAP_ALIGNS && code <= GAP_CODE_MAX);
	if (now < code)
		*word += (u64)(code - now) << shift;
}

/* Add the run [first, last] to room[] under construction, where room[k] counts only keys aligned to
 * exactly 2^k; room_finish() then extends each value to the smaller alignments. */
static void room_add(u64 *room, u64 first, u64 last)
{
	u64 at;

	if (!first) /* aligned to everything: all other keys of the run have less room */
		raise_slot(room, GAP_ALIGNS - 1, gap_code(last + 1));
	for (at = first; at && at <= last; at += at & -at)
		raise_slot(room, gap_slot(at & -at), gap_code(last - at + 1));
}

/* Returns the place in room[] for the largest power of two that has a multiple in [first, last]. */
static __always_inline unsigned int highest_slot(u64 first, u64 last)
{
	unsigned int most = GAP_ALIGNS - 1;

	return first ? min((unsigned int)__fls64((first - 1) ^ last), most) : most;
}

/* Returns how far the run [first, last] extends past its first multiple of 2^k, k at most
 * highest_slot(); 0 is 2^64. */
static __always_inline u64 stretch_from(u64 first, u64 last, unsigned int k)
{
	u64 mask = (1ull << k) - 1;

	return last - ((first + mask) & ~mask) + 1;
}

/* Set room[] to what the run [first, last] offers. */
static void room_of_run(u64 *room, u64 first, u64 last)
{
	unsigned int k, most = highest_slot(first, last);

	memset(room, 0, GAP_ROOM * sizeof(*room));
	for (k = 0; k <= most; k++)
		room[k / GAP_LANES] |= (u64)gap_code(stretch_from(first, last, k))
				       << k % GAP_LANES * 16;
}

/* The maximum of each code and those behind it. */
static void room_finish(u64 *room)
{
	u64 above = 0;
	unsigned int w;

	for (w = GAP_ROOM; w--;) {
		u64 codes = lath_codes_max(room[w], above << 48);

		codes = lath_codes_max(codes, codes >> 16);
		codes = lath_codes_max(codes, codes >> 32);
		room[w] = codes;
		above = codes & 0xffff;
	}
}

static bool room_within(const u64 *room, const u64 *limit)
{
	unsigned int w;

	for (w = 0; w < GAP_ROOM && room[w]; w++)
		if (lath_codes_max(limit[w], room[w]) != limit[w])
			return false;
	return true;
}

/* Extend a summary under construction by that of a node to the right. */
static void gap_append(struct gap *sum, const struct gap *right)
{
	max_room(sum->room, right->room);
	if (gap_empty(right->before, right->behind))
		return;
	if (gap_empty(sum->before, sum->behind))
		sum->before = right->before;
	else if (right->before >= sum->behind)
		room_add(sum->room, sum->behind, right->before);
	sum->behind = right->behind;
}

/* ---- measuring one node ---- */

/* The longest stretch from a multiple of 2^k to the end of its run, for each k. Non-increasing. */
struct stretches {
	u64 length[GAP_ALIGNS]; /* 0 is 2^64 where `all` is set */
	bool all;
};

static __always_inline void add_run(struct stretches *s, u64 first, u64 last)
{
	unsigned int k, most = highest_slot(first, last);

	s->all |= !first && last == KEY_MAX;
	/* no stretch of the run is longer than the run: then it is not the longest anywhere */
	if (s->length[most] >= last - first + 1)
		return;
	for (k = 0; k <= most; k++)
		s->length[k] = max(s->length[k], stretch_from(first, last, k));
}

static void stretches_to_room(const struct stretches *s, u64 *room)
{
	unsigned int k;

	memset(room, 0, GAP_ROOM * sizeof(*room));
	for (k = 0; k < GAP_ALIGNS && (s->length[k] || s->all); k++)
		room[k / GAP_LANES] |= (u64)gap_code(s->all ? 0 : s->length[k])
				       << k % GAP_LANES * 16;
}

/* Free runs of a leaf: where each begins, and the entry in front of which it ends. */
struct runs {
	u64 first[NODE_CAP];
	u8 entry[NODE_CAP];
};

/* The free runs between the items of a leaf, and in front of them in the node that covers key 0.
 * Returns their number; *behind: the key behind the last item, 0 if that ends with the key space.
 */
static unsigned int leaf_runs(const struct node *leaf, struct runs *runs, u64 *behind)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP), at = 0;
	unsigned int n = 0;

	if (READ_ONCE(leaf->low) && live)
		at = node_key(leaf, __ffs64(live));
	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		u64 key = node_key(leaf, i);

		runs->first[n] = at;
		runs->entry[n] = (u8)i;
		n += key != at; /* no branch: nothing predicts it */
		at = key + node_side(leaf, i);
	}
	*behind = at;
	return n;
}

static void measure_leaf(struct node *leaf, struct gap *gap)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP), behind;
	bool some = live || !READ_ONCE(leaf->low); /* an item, or what acts as one */
	bool end = READ_ONCE(leaf->last) == KEY_MAX, full;
	struct runs runs;
	struct stretches stretches = { .all = false };
	unsigned int n = leaf_runs(leaf, &runs, &behind), i;

	for (i = 0; i < n; i++)
		add_run(&stretches, runs.first[i], node_key(leaf, runs.entry[i]) - 1);
	full = live && !behind;
	if (end && some && !full)
		add_run(&stretches, behind, KEY_MAX);
	gap->before = !READ_ONCE(leaf->low) ? 0
		      : live		    ? node_key(leaf, __ffs64(live)) - 1
					    : KEY_MAX;
	gap->behind = end ? KEY_MAX : behind;
	stretches_to_room(&stretches, gap->room);
}

int lath_gap_next(struct node *inner, int i)
{
	do {
		i = node_after(inner, i);
	} while (i >= 0 && gap_entry_empty(inner, (unsigned int)i));
	return i;
}

int lath_gap_previous(struct node *inner, int i)
{
	do {
		i = node_before(inner, i);
	} while (i >= 0 && gap_entry_empty(inner, (unsigned int)i));
	return i;
}

/* The ends of what an inner node's entries promise. */
static void inner_ends(struct node *inner, struct gap *gap)
{
	int first = lath_gap_next(inner, -1), last = lath_gap_previous(inner, NODE_CAP);

	gap->before = first >= 0 ? READ_ONCE(gap_before(inner)[first]) : KEY_MAX;
	gap->behind = last >= 0 ? READ_ONCE(gap_behind(inner)[last]) : 0;
}

/* A mask of entries as words of lanes. */
static void lanes_of(u64 entries, u64 *lanes)
{
	unsigned int w;

	for (w = 0; w < SIDE_COLUMN; w++) {
		u64 bits = entries >> GAP_LANES * w & 15;

		/* bit i of four to the lowest bit of lane i, then to the whole lane */
		bits = (bits | bits << 15 | bits << 30 | bits << 45) & LATH_CODES(1ull);
		lanes[w] = bits * 0xffff;
	}
}

static void measure_inner(struct node *inner, struct gap *gap)
{
	u64 live[SIDE_COLUMN];
	unsigned int k;

	*gap = gap_nothing;
	inner_ends(inner, gap);
	lanes_of(inner->live, live);
	for (k = 0; k < GAP_ALIGNS; k++) {
		u64 most = lath_codes_most(gap_column(inner, k), SIDE_COLUMN, live);

		if (!most)
			break; /* so are the others */
		gap->room[k / GAP_LANES] |= most << k % GAP_LANES * 16;
	}
}

static void measure(struct node *node, struct gap *gap)
{
	if (node_level(node))
		measure_inner(node, gap);
	else
		measure_leaf(node, gap);
}

/* ---- reading and writing ---- */

static void read_own(struct node *node, struct gap *gap)
{
	const u64 *own = gap_own(node);
	unsigned int w;

	for (w = 0; w < GAP_ROOM; w++)
		gap->room[w] = READ_ONCE(own[w]);
	gap->before = READ_ONCE(own[GAP_ROOM]);
	gap->behind = READ_ONCE(own[GAP_ROOM + 1]);
}

static bool write_word(u64 *word, u64 value)
{
	if (*word == value)
		return false;
	WRITE_ONCE(*word, value);
	return true;
}

/* Set the summary of a locked node. Returns true if it was another. */
static bool write_own(struct node *node, const struct gap *gap)
{
	u64 *own = gap_own(node);
	bool changed = false;
	unsigned int w;

	for (w = 0; w < GAP_ROOM; w++)
		changed |= write_word(&own[w], gap->room[w]);
	changed |= write_word(&own[GAP_ROOM], gap->before);
	return changed | write_word(&own[GAP_ROOM + 1], gap->behind);
}

/* Where `to` is less, lower the room of *gap, which has looser ends or the same. */
static void lower_room(struct gap *gap, const struct gap *to)
{
	unsigned int w;

	for (w = 0; w < GAP_ROOM; w++)
		gap->room[w] = lath_codes_min(gap->room[w], to->room[w]);
}

/* Set the first n codes of entry i of an inner node, or raise them; n: up to all of them. Returns
 * true if one was another. */
static bool write_entry_room(struct node *inner, unsigned int i, const u64 *room, unsigned int n,
			     bool raise)
{
	unsigned int k, shift = i % GAP_LANES * 16;
	bool changed = false;

	LATH_ASSERT(node_level(inner) && i < NODE_CAP);
	for (k = 0; k < n; k++) {
		unsigned int code =
			(unsigned int)(room[k / GAP_LANES] >> k % GAP_LANES * 16) & 0xffff;
		u64 *word = gap_column(inner, k) + i / GAP_LANES, old = *word;
		unsigned int now = (unsigned int)(old >> shift) & 0xffff;

		if (!code && (raise || !now))
			break; /* the others are 0 too */
		if (raise ? now >= code : now == code)
			continue;
		WRITE_ONCE(*word, (old & ~(0xffffull << shift)) | (u64)code << shift);
		changed = true;
	}
	return changed;
}

/* Likewise: what they are. */
static void read_entry_room(struct node *inner, unsigned int i, u64 *room, unsigned int n)
{
	unsigned int k;

	memset(room, 0, n / GAP_LANES * sizeof(*room));
	for (k = 0; k < n; k++) {
		u64 code = gap_lane(gap_column(inner, k), i);

		if (!code)
			break; /* the others are 0 too */
		room[k / GAP_LANES] |= code << k % GAP_LANES * 16;
	}
}

static void read_entry(struct node *inner, unsigned int i, struct gap *gap)
{
	read_entry_room(inner, i, gap->room, GAP_ALIGNS);
	gap->before = READ_ONCE(gap_before(inner)[i]);
	gap->behind = READ_ONCE(gap_behind(inner)[i]);
}

static bool write_entry(struct node *inner, unsigned int i, const struct gap *gap)
{
	u64 *before = gap_before(inner) + i, *behind = gap_behind(inner) + i;
	bool changed = write_entry_room(inner, i, gap->room, GAP_ALIGNS, false);

	changed |= write_word(before, gap->before);
	return changed | write_word(behind, gap->behind);
}

/* ---- an entry of an inner node ---- */

/* The summary of all nodes that begin in the region [first, last], from child on: the child, unless
 * it begins further left and thus belongs to another region, and those without a downlink yet. A
 * node on the way may have died since its left sibling was read: its summary and its right link are
 * still those of that moment, and what moved from it is raised by the thread that moved it. In a
 * read-side critical section. */
static struct gap region_summary(struct node *child, u64 first, u64 last)
{
	struct gap sum = gap_nothing, gap;
	bool more = false;

	for (; child; more = true) {
		struct node *right;
		u64 lockword, low, end;

		do {
			lockword = lath_node_wait_holding(child);
			read_own(child, &gap);
			right = READ_ONCE(child->right);
			low = READ_ONCE(child->low);
			end = READ_ONCE(child->last);
		} while (!node_valid(child, lockword));
		if (!(lockword & NODE_HALF_DEAD)) { /* one that is covers no keys */
			if (low >= first)	    /* else it belongs to the region before */
				gap_append(&sum, &gap);
			if (end >= last) {
				if (more)
					room_finish(sum.room);
				return sum;
			}
		}
		lath_delay("summary read, right sibling not yet");
		child = right;
	}
	LATH_ASSERT(false); /* the last node of a level covers the last key */
	return sum;
}

/* The free run between entry i and the one before it that has items, as room. */
static void run_in_front(struct node *inner, unsigned int i, u64 before, u64 *room)
{
	int previous = lath_gap_previous(inner, (int)i);
	u64 behind;

	memset(room, 0, GAP_ROOM * sizeof(*room));
	if (previous < 0)
		return;
	LATH_ASSERT((unsigned int)previous < i);
	behind = READ_ONCE(gap_behind(inner)[previous]);
	if (before < behind)
		return;
	room_of_run(room, behind, before);
}

/* What entry i of an inner node has to promise, by what the nodes below promise. */
static void entry_summary(struct node *inner, unsigned int i, struct gap *gap)
{
	u64 room[GAP_ROOM];

	*gap = region_summary(node_child(inner, i), node_key(inner, i), inner_end(inner, i));
	if (gap_empty(gap->before, gap->behind))
		return;
	run_in_front(inner, i, gap->before, room);
	max_room(gap->room, room);
}

/* Copy the summary of the region of entry i of a locked node, and to *gap. Returns true if it was
 * another. */
static bool copy_entry(struct node *inner, unsigned int i, struct gap *gap)
{
	entry_summary(inner, i, gap);
	return write_entry(inner, i, gap);
}

/* The entry before entry i changed: let i promise the run between them, which is copied to room[].
 * Returns true if it promised less. */
static bool raise_run_in_front(struct node *inner, unsigned int i, u64 *room)
{
	run_in_front(inner, i, READ_ONCE(gap_before(inner)[i]), room);
	return write_entry_room(inner, i, room, GAP_ALIGNS, true);
}

void lath_gap_recompute(const struct tree *tree, struct node *node)
{
	struct gap gap;
	u64 live = node->live;

	if (!tree->holes)
		return;
	/* Entries that were moved here may have other neighbours than before. */
	for (; node_level(node) && live; live &= live - 1)
		if (!gap_entry_empty(node, __ffs64(live)))
			raise_run_in_front(node, __ffs64(live), gap.room);
	measure(node, &gap);
	write_own(node, &gap);
}

void lath_gap_measure_level(const struct tree *tree, struct node *node)
{
	struct gap gap;

	for (; tree->holes && node; node = node->right) {
		u64 live = node_level(node) ? node->live : 0;

		for (; live; live &= live - 1)
			copy_entry(node, __ffs64(live), &gap);
		lath_gap_recompute(tree, node);
	}
}

void lath_gap_recompute_boundary(const struct tree *tree, struct node *left, struct node *right)
{
	struct gap gap;

	if (!tree->holes)
		return;
	LATH_ASSERT(node_level(left) && left->live && right->live);
	copy_entry(left, __fls64(left->live), &gap);
	copy_entry(right, __ffs64(right->live), &gap);
	lath_gap_recompute(tree, left);
	lath_gap_recompute(tree, right);
}

/* ---- one level after the other ---- */

/* The lockword that a locked node will have when it is unlocked. */
static u64 lockword_after(const struct node *node)
{
	return (READ_ONCE(node->lockword) & ~(u64)NODE_LOCKED) + NODE_VERSION;
}

/* Note what entry i of a locked inner node promises for the region [first, last], and the node's
 * own room, before both are raised. Not if nodes other than the raised one below begin in the
 * region: their changes may rely on what this erase raises. Returns whether it did. */
static bool note_raise(struct node *up, unsigned int i, u64 first, u64 last, struct gap_undo *undo)
{
	unsigned int level = node_level(up);
	struct gap_undo_node *to = &undo->level[level - 1];
	struct gap gap;

	LATH_ASSERT(node_is_locked(up));
	if (!undo->leaf || level > GAP_UNDO_LEVELS || undo->levels != level - 1 ||
	    node_key(up, i) != first || inner_end(up, i) != last)
		return false;
	read_entry_room(up, i, to->entry, GAP_UNDO_ALIGNS);
	read_own(up, &gap);
	memcpy(to->own, gap.room, sizeof(to->own));
	to->node = up;
	to->lockword = lockword_after(up);
	to->i = i;
	return true;
}

/* Raise a locked inner node: the entries from i on whose regions begin at or before `until`, and
 * its own room. Returns true if its own changed; *written: something did. */
static bool raise_node(struct node *up, int i, u64 until, const struct gap_raise *raise,
		       bool *written)
{
	struct gap own;
	bool changed;

	LATH_ASSERT(node_is_locked(up) && node_level(up) && i >= 0);
	*written = false;
	do {
		*written |= write_entry_room(up, (unsigned int)i, raise->room, GAP_ALIGNS, true);
		i = node_after(up, i);
	} while (i >= 0 && node_key(up, (unsigned int)i) <= until);
	read_own(up, &own);
	max_room(own.room, raise->room);
	changed = write_own(up, &own);
	*written |= changed;
	return changed;
}

/* Copy to the entries of a locked inner node from i on whose regions begin at or before `until`.
 * `lower`: then measure it; otherwise its own room is only raised by these entries. Returns true if
 * what it promises changed; *written: something did. */
static bool copy_node(struct node *up, int i, u64 until, bool lower, bool *written)
{
	struct gap gap, entry;
	bool changed;
	int next;

	LATH_ASSERT(node_is_locked(up) && node_level(up) && i >= 0);
	*written = false;
	read_own(up, &gap);
	do {
		*written |= copy_entry(up, (unsigned int)i, &entry);
		max_room(gap.room, entry.room);
		next = lath_gap_next(up, i);
		i = node_after(up, i);
	} while (i >= 0 && node_key(up, (unsigned int)i) <= until);
	/* The entry behind the last copied one promises the run between the two, whose left end may
	 * have moved to the left. */
	if (next >= 0)
		*written |= raise_run_in_front(up, (unsigned int)next, entry.room);
	if (lower) {
		measure_inner(up, &gap);
	} else { /* other entries promise what they did: the node's room can only grow */
		if (next >= 0)
			max_room(gap.room, entry.room);
		inner_ends(up, &gap);
	}
	changed = write_own(up, &gap);
	*written |= changed;
	return changed;
}

/* Update the entries of all regions with keys of [*first, *last] on one level, and the nodes' own
 * summaries. Widens both to the fence keys of these nodes. Returns true if what a node promises
 * changed; *there: the level exists. raise: what an erase says, or NULL. lower: see copy_node. */
static bool propagate_level(struct tree *tree, u64 *first, u64 *last, unsigned int level,
			    struct gap_raise *raise, bool lower, bool *there)
{
	u64 key = *first, until = *last;
	bool changed = false;

	for (;;) {
		struct node *up = lath_level_lock(tree, key, level);
		bool written, noted;
		u64 end;
		int i;

		*there = up;
		if (!up)
			return false;
		LATH_ASSERT(key <= until);
		i = (int)inner_slot(up, key);
		noted = raise && raise->note &&
			note_raise(up, (unsigned int)i, key, until, &raise->undo);
		changed |= raise && !raise->copy ? raise_node(up, i, until, raise, &written)
						 : copy_node(up, i, until, lower, &written);
		if (key == *first)
			*first = up->low;
		*last = end = up->last;
		if (written && noted)
			raise->undo.levels = level;
		node_unlock_as(up, written);
		if (end >= until)
			return changed;
		key = end + 1;
	}
}

void lath_gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from,
			unsigned int level, bool lower)
{
	bool changed, there;

	LATH_ASSERT(from && first <= last);
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	do {
		changed = propagate_level(tree, &first, &last, from++, NULL, lower, &there);
		lath_delay("summaries copied to one level");
	} while (there && (changed || from <= level));
}

void lath_gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level)
{
	struct node *leaf = locate_locked(tree, key, FOR_ERASE);
	u64 first = leaf->low, last = leaf->last;
	struct gap gap;

	measure_leaf(leaf, &gap);
	node_unlock_as(leaf, write_own(leaf, &gap));
	lath_delay("leaf's summary set, not yet the parent's copy");
	lath_gap_propagate(tree, first, last, 1, level, true);
}

/* ---- an erase ---- */

/* The run [first, last] came up in a leaf with this summary; `left`, `right`: an item is next to it
 * there. Raises the summary; returns true if an end of it changed. */
static bool raise_ends(struct gap *own, bool left, u64 first, bool right, u64 last)
{
	u64 before = own->before, behind = own->behind;

	if (!left)
		own->before = max(own->before, right ? last : KEY_MAX);
	if (!right)
		own->behind = min(own->behind, left ? first : 0);
	return own->before != before || own->behind != behind;
}

/* Does a leaf's summary promise the run [first, last] between two of its items? If not, room[] is
 * what it has to be raised to. */
static bool promises_run(const struct gap *own, u64 first, u64 last, u64 *room)
{
	/* as part of the run at an end of the leaf; 0 and KEY_MAX are the ends of the key space */
	if ((own->before && last <= own->before) || (own->behind < KEY_MAX && first >= own->behind))
		return true;
	/* no run promises more at an alignment than at a smaller one: if the largest alignment that
	 * the run has is promised its whole length, so are the others */
	if (gap_lane(own->room, highest_slot(first, last)) >= gap_code(last - first + 1))
		return true;
	room_of_run(room, first, last);
	return room_within(room, own->room);
}

/* Note what the summary of a locked leaf is before it is raised for an item that has left it. Not
 * if the run goes on in another leaf: places before the item may be there. */
static void note_erase(struct gap_undo *undo, struct node *leaf, unsigned int i, bool open,
		       u64 first, u64 last, const struct gap *own)
{
	undo->leaf = open || highest_slot(first, last) >= GAP_UNDO_ALIGNS ? NULL : leaf;
	undo->levels = 0;
	if (!undo->leaf)
		return;
	undo->lockword = lockword_after(leaf);
	undo->i = i;
	undo->key = node_key(leaf, i);
	undo->size = node_side(leaf, i);
	undo->first = first;
	undo->last = last;
	memcpy(undo->own, own->room, sizeof(undo->own));
}

bool lath_gap_erased(struct node *leaf, unsigned int i, struct gap_raise *raise)
{
	int before = node_before(leaf, (int)i), after = node_after(leaf, (int)i);
	/* the ends of the key space act as items */
	bool left = before >= 0 || !leaf->low, right = after >= 0 || leaf->last == KEY_MAX;
	u64 first = before >= 0 ? node_end(leaf, (unsigned int)before) + 1 : leaf->low;
	u64 last = after >= 0 ? node_key(leaf, (unsigned int)after) - 1 : leaf->last;
	struct gap own;

	LATH_ASSERT(node_is_locked(leaf) && !node_level(leaf));
	LATH_ASSERT(!(leaf->live >> i & 1) && first <= last); /* the item has left */
	read_own(leaf, &own);
	raise->first = leaf->low;
	raise->last = leaf->last;
	raise->copy = !left || !right;
	if (raise->note)
		note_erase(&raise->undo, leaf, i, raise->copy, first, last, &own);
	/* A run at an end of the leaf continues in the sibling: the parents combine the ends of
	 * both, so they copy them. A run between two items of this leaf is known as a whole. */
	if (raise->copy) {
		if (!raise_ends(&own, left, first, right, last))
			return true;
		if (!left && !right) /* no item is left, and no run between two */
			own = gap_nothing;
	} else {
		if (promises_run(&own, first, last, raise->room))
			return true;
		max_room(own.room, raise->room);
	}
	write_own(leaf, &own);
	return false;
}

void lath_gap_raise(struct tree *tree, struct gap_raise *raise)
{
	u64 first = raise->first, last = raise->last;
	unsigned int level = 1;
	bool there;

	lath_reader_enter(tree->rcu);
	while (propagate_level(tree, &first, &last, level++, raise, false, &there))
		lath_delay("summaries raised on one level");
	lath_reader_exit(tree->rcu);
}

/* ---- an erase undone ---- */

/* Unlock the noted nodes above the leaf from number `from` on, which have not changed. */
static void undo_unlock(struct gap_undo *undo, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		node_unlock_clean(undo->level[from].node);
}

bool lath_gap_undo_lock(struct gap_undo *undo)
{
	unsigned int n = undo->levels, top = 0;

	/* downwards, as all locks; what is above a node that has changed since stays as it is */
	while (n--) {
		if (node_trylock(undo->level[n].node, undo->level[n].lockword)) {
			top = max(top, n + 1);
		} else {
			undo_unlock(undo, n + 1, top);
			top = 0;
		}
	}
	undo->levels = top;
	if (node_trylock(undo->leaf, undo->lockword))
		return true;
	undo_unlock(undo, 0, top);
	return false;
}

static void restore_own(struct node *node, const u64 *room)
{
	u64 *own = gap_own(node);
	unsigned int w;

	for (w = 0; w < GAP_UNDO_ROOM; w++)
		write_word(&own[w], room[w]);
}

void lath_gap_undo(struct gap_undo *undo)
{
	unsigned int n;

	/* all are locked until all are lowered: a change that raises one of them would not go on to
	 * one that still promises as much */
	for (n = undo->levels; n--;) {
		write_entry_room(undo->level[n].node, undo->level[n].i, undo->level[n].entry,
				 GAP_UNDO_ALIGNS, false);
		restore_own(undo->level[n].node, undo->level[n].own);
	}
	restore_own(undo->leaf, undo->own);
	for (n = undo->levels; n--;)
		node_unlock(undo->level[n].node);
	node_unlock(undo->leaf);
}

/* ---- a search ---- */

void lath_gap_lower_node(struct node *node, u64 lockword)
{
	struct gap own, gap;

	/* A node that has changed since the search looked may have the hole by now. */
	if (!node_trylock(node, lockword))
		return;
	read_own(node, &own);
	measure(node, &gap);
	/* The ends stay: a tighter end would make the run part of `room`, which the parent would
	 * have to be told. */
	lower_room(&own, &gap);
	node_unlock_as(node, write_own(node, &own));
}

void lath_gap_lower_entry(struct node *inner, unsigned int i, u64 *lockword)
{
	struct gap entry, gap;

	if (!node_trylock(inner, *lockword))
		return;
	read_entry(inner, i, &entry);
	entry_summary(inner, i, &gap);
	lower_room(&entry, &gap);
	if (write_entry(inner, i, &entry)) {
		node_unlock(inner);
		*lockword += NODE_VERSION;
	} else {
		node_unlock_clean(inner);
	}
}

/* ---- verify ---- */

static bool promises(const struct gap *promised, const struct gap *there)
{
	return room_within(there->room, promised->room) && there->before <= promised->before &&
	       there->behind >= promised->behind;
}

static void count_slack(const struct gap *promised, const struct gap *there,
			struct gap_slack *slack)
{
	slack->summaries++;
	slack->loose += !room_within(promised->room, there->room);
	slack->unknown +=
		promised->room[0] == GAP_ALL && gap_empty(promised->before, promised->behind);
}

static bool leaf_true(const struct gap *own, const struct gap *there, struct node *leaf)
{
	u64 live = leaf->live, behind = 0, room[GAP_ROOM];
	bool some = !leaf->low;

	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		u64 key = node_key(leaf, i);

		if (some && key > behind && !promises_run(own, behind, key - 1, room))
			return false;
		behind = node_end(leaf, i) + 1;
		some = true;
	}
	if (some && leaf->last == KEY_MAX && (behind || !leaf->live) &&
	    !promises_run(own, behind, KEY_MAX, room))
		return false;
	return there->before <= own->before && there->behind >= own->behind;
}

bool lath_gap_true(const struct tree *tree, struct node *node, struct gap_slack *slack)
{
	u64 live = node->live;
	struct gap promised, there;

	if (!tree->holes)
		return true;
	read_own(node, &promised);
	measure(node, &there);
	if (!node_level(node)) {
		count_slack(&promised, &there, slack);
		return leaf_true(&promised, &there, node);
	}
	if (!promises(&promised, &there))
		return false;
	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);

		read_entry(node, i, &promised);
		entry_summary(node, i, &there);
		count_slack(&promised, &there, slack);
		if (!promises(&promised, &there))
			return false;
	}
	return true;
}

/* ---- changes in flight ---- */

u64 lath_gap_begun(struct tree *tree)
{
	u64 sum = 0;
	unsigned int i;

	smp_rmb(); /* after all reads of the search; pairs with the release in node_unlock */
	for (i = 0; i <= tree->stripe_mask; i++)
		/* pairs with node_unlock: a change is counted before it is released */
		sum += smp_load_acquire(&tree->stripe[i].begun);
	return sum;
}

u64 lath_gap_ended(struct tree *tree)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i <= tree->stripe_mask; i++)
		sum += smp_load_acquire(&tree->stripe[i].ended); /* pairs with gap_change_end */
	return sum;
}
