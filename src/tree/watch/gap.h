/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gap.h - summaries of the free space below a node, so that a search for a hole skips what cannot
 * hold it.
 *
 * Only in trees made with LATH_HOLES. A node's summary says of the keys that the node covers:
 *
 *   room     room[k] bounds how far a free run between two items extends past a multiple of 2^k, as
 *            a gap_code; 0: no run contains a multiple of 2^k. The last one stands for 2^31.
 *            Non-increasing in k
 *   before   the free run in front of the first item ends here or earlier
 *   behind   the free run behind the last item begins here or later
 *
 * A summary is an upper bound of the free space: it may promise too much, never too little. No item
 * at all is before = KEY_MAX, behind = 0: the free run passes through. With room all ones it means
 * "unknown".
 *
 * The node that covers key 0 acts as if an item ended just in front of it, and the node that covers
 * the last key as if one began just behind it. So every free run lies between two items, and the
 * ends of the key space need no special case.
 *
 * Where summaries are kept
 *   every node  its own summary, behind the side column (gap_own)
 *   inner node  one for each child's region (the keys from its separator to the next), in columns:
 *               room[k] of all entries are adjacent, so that one pass over a column tells which
 *               children may serve a request; then before[] and behind[]. The room of an entry
 *               includes the run between it and the nearest entry to the left that has items
 *
 * How summaries are kept true
 *   insert     changes nothing: less is free than promised
 *   erase      raises the summary of its leaf to the run it makes, and then upwards, until a node
 *              promises as much already; nothing is measured, unless the run is at an end of a leaf
 *   search     a node that has no place although its summary promised one is measured
 *              again, and then its entry in the parent (lath_gap_lower_node, lath_gap_lower_entry)
 *   structure  (redistribution, splits, merges, ranges stored over others, boundaries of inner
 *              nodes) each node whose fence keys change measures itself before it is unlocked,
 *              because a concurrent erase finds its node by key and may reach the sibling instead;
 *              lath_gap_propagate then corrects the levels above
 *
 * A summary is only written under its node's lock, and a copy is made of what the child promises at
 * that moment. A thread that raises writes the child before the parent. So a thread that copies
 * either sees what was raised, or the raising thread comes to the parent later and raises it again:
 * when both are through, no copy is below its child's summary. Until then the change is in flight:
 * the counters of changes begun and ended tell a search that found nothing whether it may report
 * that (search.c).
 */
#ifndef LATH_INDEX_GAP_H
#define LATH_INDEX_GAP_H

#include "arch/codes.h"
#include "tree/memory/stripe.h"

#define GAP_ALIGNS SIDE_CODES
#define GAP_LANES 4 /* codes per word */
#define GAP_ROOM (GAP_ALIGNS / GAP_LANES)
#define GAP_CODE_MAX 0x7fffu

struct gap {
	u64 room[GAP_ROOM]; /* the code for 2^k is lane k % GAP_LANES of word k / GAP_LANES */
	u64 before;
	u64 behind;
};
_Static_assert(sizeof(struct gap) == SIDE_WORDS * sizeof(u64), "a node keeps room for one");

/* ---- codes ---- */

/* A length as 15 bits, rounded down to ten significant bits; lengths below 1024 and multiples of
 * larger powers of two with so few bits are exact. 0 stands for 2^64. */
static inline unsigned int gap_code(u64 length)
{
	unsigned int k;

	if (!length)
		return GAP_CODE_MAX;
	k = __fls64(length);
	return min((k << 9 | (unsigned int)(length << (63 - k) >> 54 & 511)) + 1, GAP_CODE_MAX);
}

/* The longest run of keys that has this code. */
static inline u64 gap_code_bound(unsigned int code)
{
	unsigned int k = (code - 1) >> 9, fraction = (code - 1) & 511;

	if (!code || code >= GAP_CODE_MAX)
		return code ? KEY_MAX : 0;
	return k < 9 ? (512 + fraction) >> (9 - k) : ((u64)(513 + fraction) << (k - 9)) - 1;
}

/* The place in room[] for multiples of align, a power of two. */
static inline unsigned int gap_slot(u64 align)
{
	return min(__ffs64(align), GAP_ALIGNS - 1u);
}

static inline unsigned int gap_lane(const u64 *words, unsigned int i)
{
	return (unsigned int)(READ_ONCE(words[i / GAP_LANES]) >> i % GAP_LANES * 16) & 0xffff;
}

static inline bool gap_empty(u64 before, u64 behind)
{
	return before == KEY_MAX && !behind;
}

/* ---- where they are ---- */

/* The summary of the node itself; it follows the side column. */
static inline u64 *gap_own(struct node *node)
{
	return node->size + NODE_CAP * (node_level(node) ? (size_t)SIDE_WORDS : 1);
}

/* An inner node's codes for 2^k, one lane per entry. */
static inline u64 *gap_column(struct node *inner, unsigned int k)
{
	return inner->size + (size_t)k * SIDE_COLUMN;
}

static inline u64 *gap_before(struct node *inner)
{
	return inner->size + SIDE_CODES_END;
}

static inline u64 *gap_behind(struct node *inner)
{
	return gap_before(inner) + NODE_CAP;
}

/* Is entry i of an inner node without items? */
static inline bool gap_entry_empty(struct node *inner, unsigned int i)
{
	return gap_empty(READ_ONCE(gap_before(inner)[i]), READ_ONCE(gap_behind(inner)[i]));
}

/* The next live entry after i, or before i, that has items; -1: none. */
int lath_gap_next(struct node *inner, int i);
int lath_gap_previous(struct node *inner, int i);

/* A mask of the entries whose codes in column k are at least `need`. Some of them may be dead. */
static inline u64 gap_at_least(struct node *inner, unsigned int k, unsigned int need)
{
	return lath_codes_at_least(gap_column(inner, k), SIDE_COLUMN, need);
}

/* ---- for the tree (tree/watch/change.h) ---- */

/* The summaries before an erase raised them, to be restored if the same item is inserted again.
 * What is noted of a node is valid while the node's lockword is unchanged. To keep the note small,
 * it has only the leaf and the two levels above it, and only the codes for multiples below 2^16; an
 * erase that raises a code above these is not noted. */
#define GAP_UNDO_LEVELS 2
#define GAP_UNDO_ROOM (GAP_ROOM < 4 ? GAP_ROOM : 4)
#define GAP_UNDO_ALIGNS (GAP_UNDO_ROOM * GAP_LANES)
struct gap_undo_node {
	struct node *node;
	u64 lockword;		  /* after the erase */
	u64 own[GAP_UNDO_ROOM];	  /* the node's room before the erase, */
	u64 entry[GAP_UNDO_ROOM]; /* and that of its entry i */
	unsigned int i;
};
struct gap_undo {
	struct node *leaf; /* NULL: nothing can be undone */
	u64 lockword;
	u64 own[GAP_UNDO_ROOM];
	unsigned int i; /* the item was entry i, */
	unsigned int levels;
	u64 key, size;
	u64 first, last; /* and without it this run is free */
	struct gap_undo_node level[GAP_UNDO_LEVELS];
};

/* What an erase has to tell the nodes above its leaf. */
struct gap_raise {
	u64 first, last;    /* fence keys of the leaf */
	u64 room[GAP_ROOM]; /* of the run that it made */
	bool copy;	    /* the run is at an end of the leaf: copy the leaf's summary instead */
	bool note;	    /* the caller wants to know what is raised: `undo` is set */
	struct gap_undo undo;
};

/* Measure the node, which is locked or not reachable yet, and set its summary. The entries of an
 * inner node are believed, but for the runs between them. Does nothing without LATH_HOLES. */
void lath_gap_recompute(const struct tree *tree, struct node *node);
/* Set the summaries of all nodes of a level, of which this is the first, by the level below. No
 * other thread sees the nodes. Does nothing without LATH_HOLES. */
void lath_gap_measure_level(const struct tree *tree, struct node *node);
/* The boundary between two adjacent locked inner nodes has moved: copy the summaries of the two
 * children beside it and measure both nodes. Does nothing without LATH_HOLES. */
void lath_gap_recompute_boundary(const struct tree *tree, struct node *left, struct node *right);
/* Entry i of the locked leaf has just been erased: raise the leaf's summary. Returns false if the
 * nodes above must be told: then call lath_gap_raise with *raise. The caller has set raise->note.
 * */
bool lath_gap_erased(struct node *leaf, unsigned int i, struct gap_raise *raise);
/* Lock the leaf, and of the nodes above it those that are as the erase left them. Returns false,
 * nothing locked, if the leaf is not. */
bool lath_gap_undo_lock(struct gap_undo *undo);
/* The item is in its leaf again: set the summaries of the locked nodes to what they were before the
 * erase. Unlocks. */
void lath_gap_undo(struct gap_undo *undo);
/* Raise the nodes above a leaf. In a call, no lock held. */
void lath_gap_raise(struct tree *tree, struct gap_raise *raise);
/* Measure the leaf that covers key, and correct the summaries above it, at least up to `level` and
 * then as long as something changes. In a read-side critical section, no lock held. */
void lath_gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level);
/* The same from level `from` on, for all nodes that cover keys of [first, last]. lower = false: no
 * space was taken, only moved from node to node; then it is enough to raise what nodes promise. */
void lath_gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from,
			unsigned int level, bool lower);

/* ---- for a search ---- */

/* The node has no place for the request: measure it, and let it promise no more than that, unless
 * it changed since its lockword was `lockword` or is locked. */
void lath_gap_lower_node(struct node *node, u64 lockword);
/* The search found nothing under entry i: lower the entry's summary to what the nodes below promise
 * now, unless `inner` changed since *lockword or is locked. Updates *lockword if that changes the
 * node. In a read-side critical section. */
void lath_gap_lower_entry(struct node *inner, unsigned int i, u64 *lockword);

/* ---- verify ---- */

/* How much the summaries of a tree promise beyond what is there. */
struct gap_slack {
	u64 summaries; /* of leaves, and entries of inner nodes */
	u64 loose;     /* of these, those that promise more than there is, for some alignment */
	u64 unknown;   /* of these, those that promise everything */
};

/* Does the node, not locked, and, for an inner node, each of its entries promise at least what is
 * there? Adds to *slack. No thread changes the tree. */
bool lath_gap_true(const struct tree *tree, struct node *node, struct gap_slack *slack);

/* Does the tree have summaries (LATH_HOLES)? */
static inline bool gap_kept(const struct tree *tree)
{
	return tree->holes;
}

/* The entry of a locked inner node leads to another child: anything may be free below it. */
static inline void gap_entry_unknown(const struct tree *tree, struct node *inner, unsigned int i)
{
	if (tree->holes)
		lath_node_side_unknown(inner, i);
}

/* ---- changes in flight ---- */

/* From here to gap_change_end summaries may be too low. Counted before the change can be seen: the
 * change is released by a node's unlock. */
static inline void gap_change_begin(struct tree *tree)
{
	if (tree->holes)
		lath_fetch_add(&own_stripe(tree)->begun, 1);
}

static inline void gap_change_end(struct tree *tree)
{
	if (tree->holes) /* pairs with the acquire in lath_gap_ended */
		lath_fetch_add_release(&own_stripe(tree)->ended, 1);
}

/* A search looked at this many nodes. */
static inline void gap_count(struct tree *tree, u64 nodes)
{
	struct stripe *stripe = own_stripe(tree);

	lath_fetch_add(&stripe->searches, 1);
	lath_fetch_add(&stripe->searched, nodes);
}

/* Changes begun, ended so far. A search that read `ended` before it began and finds `begun` equal
 * to it afterwards ran while no change was in flight. */
u64 lath_gap_begun(struct tree *tree);
u64 lath_gap_ended(struct tree *tree);

#endif /* LATH_INDEX_GAP_H */
