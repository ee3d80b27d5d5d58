/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gap.h - what lies free below a node, so that a search for a hole passes by what cannot hold it.
 *
 * Only in lists made with LATH_HOLES. Every node has a gap of its own, and an inner node a copy of
 * each child's. A gap is a claim that may promise too much and never too little:
 *
 *   wide    no free run between two items below is longer
 *   room    byte k: from a multiple of 2^k on (the last byte: of 2^31) no such run goes on for longer than this
 *           (gap_code); 0: none has one. So the bytes never ascend
 *   head    the first item below begins here or earlier
 *   rtail   ~ the last key of the last item, which ends here or later
 *   items   0: there is no item below at all
 *
 * So all ones say "anything may be free". What lies between two children, [tail of the one + 1,
 * head of the next - 1], needs no fence and no third field.
 *
 * Who keeps it true
 *   insert     nothing: less is free than claimed
 *   erase      if the run it makes is more than its leaf claims: gap_sync, from the leaf up to the first
 *              node that claims as much already
 *   search     finds a claim too high: gap_sync, which lowers it
 *   moves      (shares, splits, appended leaves, merges, ranges stored over others) every node whose fences move
 *              settles its own claim in the same locked section, for an erase that is on its way to correct it, by
 *              key, may come to the node on the other side; then gap_sync_span for the levels above
 *
 * Every step of gap_sync takes one lock and copies what the child claims at that moment; so raising
 * and lowering may meet in any order and the copy is never below the child's claim once both are through.
 * What is not through yet is inside a section: the counters of sections begun and ended tell a search
 * that found nothing whether it may say so (hole.c).
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
_Static_assert(sizeof(struct gap) == GAP_WORDS * sizeof(u64), "a gap is one entry of the side column");

/* The node's own gap stands behind its column. */
static inline u64 *gap_own(const struct tree *list, struct node *node)
{
	return node->size + NODE_CAP * (node_level(node) ? (size_t)list->inner_side : 1);
}

/* An inner node's copy of what the child at entry i claims. */
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

/* What it says of multiples of 2^slot. */
static inline u8 gap_room(const struct gap *gap, unsigned int slot)
{
	return (u8)(gap->room[slot / 8] >> slot % 8 * 8);
}

static inline bool gap_items(const struct gap *gap)
{
	return gap->items;
}

/* Items up to a known tail, from a known head: all ones is no claim. */
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

/* A length (not 0) in a byte, rounded down: the place of its first bit and the two bits behind. A run that is too
 * short by less than a quarter may pass for long enough. */
static inline u8 gap_code(u64 length)
{
	unsigned int k = __fls64(length);
	u64 behind = k < 2 ? length << (2 - k) : length >> (k - 2);

	return (u8)(k ? 4 * k + (behind & 3) : 1);
}

/* Nothing shorter has this code. */
static inline bool gap_exact(u64 length)
{
	unsigned int k = __fls64(length);

	return k < 3 || !(length & ((1ull << (k - 2)) - 1));
}

/* The byte that tells of multiples of align, a power of two. */
static inline unsigned int gap_slot(u64 align)
{
	return min(__ffs64(align), GAP_ALIGNS - 1u);
}

/* The places in a run where it can be entered at a better alignment than before: the lowest bit of each. */
#define for_each_entry(at, first, last) for ((at) = (first); (at) && (at) <= (last); (at) += (at) & -(at))

/* Does the gap claim this run? */
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

/* Exactly what lies free in a node: locked, or to be validated. */
void gap_measure(struct node *node, struct gap *gap);
/* Set a locked or unseen node's own gap to that. This, gap_adopt, the syncs and the sections have nothing to do in
 * a list without holes. */
void gap_settle(const struct tree *list, struct node *node);
/* Copy what the child at entry i claims; nobody else is there. */
void gap_adopt(const struct tree *list, struct node *inner, unsigned int i);
/* Does the locked leaf claim the run around its entry i, which has just been erased? */
bool gap_claims(const struct tree *list, struct node *leaf, unsigned int i);
/* Correct the claims about the node that covers key, from the leaf up; at least up to this level, then as long
 * as something changes. Inside a reader, no lock held. */
void gap_sync(struct tree *list, u64 key, unsigned int level);
/* The same from level `from` on, for all that covers [first, last]; the nodes below have settled their own. */
void gap_sync_span(struct tree *list, u64 first, u64 last, unsigned int from, unsigned int level);

/* Would a search that believes every claim find the free run [first, last] between two items? Quiescent lists. */
bool gap_finds(const struct tree *list, u64 first, u64 last);

/* ---- sections ---- */

/* Between begin and end claims may be too low. */
static inline void gap_begin(struct tree *list)
{
	/* counted before the change can be seen: the change is released by a node's unlock */
	if (list->holes)
		lath_fetch_add(&list->stripe[lath_stripe() % GAP_STRIPES].begun, 1);
}

static inline void gap_end(struct tree *list)
{
	if (list->holes) /* pairs with the acquire in gap_ended */
		lath_fetch_add_release(&list->stripe[lath_stripe() % GAP_STRIPES].ended, 1);
}

u64 gap_begun(struct tree *list);
u64 gap_ended(struct tree *list);

#endif /* LATH_INDEX_GAP_H */
