/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gap.h - what lies free below a node, so that a search for a hole passes by what cannot hold it.
 *
 * Only in lists made with LATH_HOLES. Every node has a gap of its own, and an inner node a copy of
 * each child's. A gap is a claim that may promise too much and never too little:
 *
 *   wide    no free run between two items below is longer
 *   order   no naturally aligned free block between two items below is larger than 2^(order - 1);
 *           0: none. GAP_ITEMS is set unless there is no item below at all
 *   head    the first item below begins here or earlier
 *   rtail   ~ the last key of the last item, which ends here or later
 *
 * So all ones say "anything may be free". What lies between two children, [tail of the one + 1,
 * head of the next - 1], needs no fence and no third field.
 *
 * Who keeps it true
 *   insert     nothing: less is free than claimed
 *   erase      if the run it makes is more than its leaf claims: gap_sync, from the leaf up to the first
 *              node that claims as much already
 *   search     finds a claim too high: gap_sync, which lowers it
 *   moves      (shares, splits, merges, ranges stored over others) gap_sync for each node moved from or to
 *
 * Every step of gap_sync takes one lock and copies what the child claims at that moment; so raising
 * and lowering may meet in any order and the copy is never below the child's claim once both are through.
 * What is not through yet is inside a section: the counters of sections begun and ended tell a search
 * that found nothing whether it may say so (hole.c).
 */
#ifndef LATH_SKIPLIST_GAP_H
#define LATH_SKIPLIST_GAP_H

#include "skiplist/list.h"

#define GAP_ITEMS 256ull

struct gap {
	u64 wide;
	u64 order;
	u64 head;
	u64 rtail;
};
_Static_assert(sizeof(struct gap) == GAP_WORDS * sizeof(u64), "a gap is one entry of the side column");

/* The node's own gap stands behind its column. */
static inline u64 *gap_own(const struct skiplist *list, struct node *node)
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
	gap->order = READ_ONCE(words[1]);
	gap->head = READ_ONCE(words[2]);
	gap->rtail = READ_ONCE(words[3]);
}

static inline bool gap_items(const struct gap *gap)
{
	return gap->order & GAP_ITEMS;
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

/* 1 + log2 of the largest naturally aligned block in [first, last]; not the whole key space */
static inline unsigned int run_order(u64 first, u64 last)
{
	unsigned int k = fls64(last - first + 1) - 1;
	u64 mask = (1ull << k) - 1, at = (first + mask) & ~mask;

	return at >= first && at <= last && last - at >= mask ? k + 1 : k;
}

/* Exactly what lies free in a node: locked, or to be validated. */
void gap_measure(struct node *node, struct gap *gap);
/* Set a locked or unseen node's own gap to that. This, gap_adopt, the syncs and the sections have nothing to do in
 * a list without holes. */
void gap_settle(const struct skiplist *list, struct node *node);
/* Copy what the child at entry i claims; nobody else is there. */
void gap_adopt(const struct skiplist *list, struct node *inner, unsigned int i);
/* Does the locked leaf claim the run around its entry i, which has just been erased? */
bool gap_claims(const struct skiplist *list, struct node *leaf, unsigned int i);
/* Correct the claims about the node that covers key, from the leaf up; at least up to this level, then as long
 * as something changes. Inside a reader, no lock held. */
void gap_sync(struct skiplist *list, u64 key, unsigned int level);
/* The same from level `from` on, for all that covers [first, last]; the nodes below have settled their own. */
void gap_sync_span(struct skiplist *list, u64 first, u64 last, unsigned int from, unsigned int level);

/* Would a search that believes every claim find the free run [first, last] between two items? Quiescent lists. */
bool gap_finds(const struct skiplist *list, u64 first, u64 last);

/* ---- sections ---- */

/* Between begin and end claims may be too low. */
static inline void gap_begin(struct skiplist *list)
{
	/* counted before the change can be seen: the change is released by a node's unlock */
	if (list->holes)
		lath_fetch_add(&list->stripe[lath_stripe() % GAP_STRIPES].begun, 1);
}

static inline void gap_end(struct skiplist *list)
{
	if (list->holes) /* pairs with the acquire in gap_ended */
		lath_fetch_add_release(&list->stripe[lath_stripe() % GAP_STRIPES].ended, 1);
}

u64 gap_begun(struct skiplist *list);
u64 gap_ended(struct skiplist *list);

#endif /* LATH_SKIPLIST_GAP_H */
