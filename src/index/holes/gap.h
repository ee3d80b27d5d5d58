/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gap.h - summaries of the free space below a node, so that a search for a hole skips what cannot
 * hold it.
 *
 * Only in trees made with LATH_HOLES. Every node has a summary of its own, and an inner node has a
 * copy of each child's in its side column. A summary is an upper bound: it may promise too much,
 * never too little.
 *
 *   wide    no free run between two items below is longer
 *   room    room[k] bounds how far any such run extends past a multiple of 2^k, rounded (gap_code);
 *           0: no run contains a multiple of 2^k. The last byte stands for 2^31. Non-increasing in
 *           k
 *   head    the first item below begins here or earlier
 *   rtail   ~ the last key of the last item below, which ends here or later
 *   items   0: there is no item below
 *
 * All ones therefore means "unknown: anything may be free". The run between two siblings, from the
 * tail of the one to the head of the next, follows from these and needs no field.
 *
 * How summaries are kept true
 *   insert     changes nothing: less is free than promised
 *   erase      if the run it makes exceeds what its leaf promises, gap_propagate_leaf corrects the
 *              leaf and then upwards, until a node promises as much already
 *   search     a summary that promised too much is corrected the same way, which lowers it
 *   structure  (redistribution, splits, merges, ranges stored over others) each node whose fence
 *              keys change recomputes its own summary before it is unlocked, because a concurrent
 *              erase finds its node by key and may reach the sibling instead; gap_propagate then
 *              corrects the levels above
 *
 * Each step of gap_propagate holds one lock and copies what the child promises at that moment. So
 * raising and lowering may meet in any order: when both are through, no copy is below its child's
 * summary. Until then
 * the change is in flight: the counters of changes begun and ended tell a search that found nothing
 * whether it may report that (search.c).
 */
#ifndef LATH_INDEX_GAP_H
#define LATH_INDEX_GAP_H

#include "index/tree/tree.h"

#define GAP_ALIGNS 32

struct gap {
	u64 wide;
	u64 head;
	u64 rtail;
	u64 items;
	u64 room[GAP_ALIGNS / 8]; /* byte k is in bits 8 * (k % 8) of word k / 8 */
};
_Static_assert(sizeof(struct gap) == GAP_WORDS * sizeof(u64), "one entry of the side column");

/* The node's own summary; it follows the side column. */
static inline u64 *gap_own(const struct tree *tree, struct node *node)
{
	return node->size + NODE_CAP * (node_level(node) ? (size_t)tree->inner_side : 1);
}

/* An inner node's copy of the summary of the child at entry i. */
static inline u64 *gap_child(struct node *inner, unsigned int i)
{
	return inner->size + (size_t)i * GAP_WORDS;
}

static inline void gap_read(const u64 *words, struct gap *gap)
{
	gap->wide = READ_ONCE(words[0]);
	gap->head = READ_ONCE(words[1]);
	gap->rtail = READ_ONCE(words[2]);
	gap->items = READ_ONCE(words[3]);
	gap->room[0] = READ_ONCE(words[4]);
	gap->room[1] = READ_ONCE(words[5]);
	gap->room[2] = READ_ONCE(words[6]);
	gap->room[3] = READ_ONCE(words[7]);
}

/* The byte for multiples of 2^slot. */
static inline u8 gap_room(const struct gap *gap, unsigned int slot)
{
	return (u8)(gap->room[slot / 8] >> slot % 8 * 8);
}

static inline bool gap_items(const struct gap *gap)
{
	return gap->items;
}

/* Is the tail, the head of the last, first item known? All ones is unknown. */
static inline bool gap_has_tail(const struct gap *gap)
{
	return gap_items(gap) && ~gap->rtail;
}

static inline bool gap_has_head(const struct gap *gap)
{
	return gap_items(gap) && ~gap->head;
}

static inline u64 gap_tail(const struct gap *gap)
{
	return ~gap->rtail;
}

/* A length (not 0) as a byte, rounded down: the position of its highest bit and the next two bits.
 * A run that is too short by less than a quarter may thus pass for long enough. */
static inline u8 gap_code(u64 length)
{
	unsigned int k = __fls64(length);
	u64 behind = k < 2 ? length << (2 - k) : length >> (k - 2);

	return (u8)(k ? 4 * k + (behind & 3) : 1);
}

/* Is this the shortest length with its code? */
static inline bool gap_exact(u64 length)
{
	unsigned int k = __fls64(length);

	return k < 3 || !(length & ((1ull << (k - 2)) - 1));
}

/* The byte for multiples of align, a power of two. */
static inline unsigned int gap_slot(u64 align)
{
	return min(__ffs64(align), GAP_ALIGNS - 1u);
}

/* All keys of a run that are aligned better than every key of the run before them. */
#define for_each_entry(at, first, last) \
	for ((at) = (first); (at) && (at) <= (last); (at) += (at) & -(at))

/* Does the summary promise the run [first, last]? */
static inline bool gap_has_run(const struct gap *gap, u64 first, u64 last)
{
	u64 at;

	if (gap->wide <= last - first)
		return false;
	for_each_entry(at, first, last) {
		if (gap_room(gap, gap_slot(at & -at)) < gap_code(last - at + 1))
			return false;
	}
	return true;
}

/* Compute the exact summary of a node, which is locked or whose lockword the caller validates; an
 * inner node's from its copies. */
void gap_measure(struct node *node, struct gap *gap);
/* Set the summary of a node, which is locked or not reachable yet, to that. Does nothing without
 * LATH_HOLES. */
void gap_recompute(const struct tree *tree, struct node *node);
/* Copy the summary of the child at entry i. No other thread sees the nodes. Does nothing without
 * LATH_HOLES. */
void gap_copy_child(const struct tree *tree, struct node *inner, unsigned int i);
/* Does the locked leaf's summary promise the run around its entry i, which has just been erased? */
bool gap_promises(const struct tree *tree, struct node *leaf, unsigned int i);
/* Correct the summaries of the leaf that covers key and of the nodes above it, at least up to
 * `level` and then as long as something changes. In a read-side critical section, no lock held. */
void gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level);
/* The same from level `from` on, for all nodes that cover keys of [first, last]. */
void gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from, unsigned int level);

/* Would a search that believes every summary find the free run [first, last] between two items?
 * Quiescent trees. */
bool gap_finds(const struct tree *tree, u64 first, u64 last);

/* ---- changes in flight ---- */

/* From here to gap_change_end summaries may be too low. Counted before the change can be seen: the
 * change is released by a node's unlock. */
static inline void gap_change_begin(struct tree *tree)
{
	if (tree->holes)
		lath_fetch_add(&tree->stripe[lath_stripe() % GAP_STRIPES].begun, 1);
}

static inline void gap_change_end(struct tree *tree)
{
	if (tree->holes) /* pairs with the acquire in gap_ended */
		lath_fetch_add_release(&tree->stripe[lath_stripe() % GAP_STRIPES].ended, 1);
}

/* Changes begun, ended so far. A search that read `ended` before it began and finds `begun` equal
 * to it afterwards ran while no change was in flight. */
u64 gap_begun(struct tree *tree);
u64 gap_ended(struct tree *tree);

#endif /* LATH_INDEX_GAP_H */
