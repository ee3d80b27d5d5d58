/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * guide.c - keeping the table of guide.h.
 *
 * Rounds: a hand goes from parent to parent and lets the slots lead to their leaves. At the end of a round it
 * is known how many leaves there are, between which keys they lie and how many of them got a slot: enough did, and the
 * table is used; the table is too small for the leaves, or the keys lie elsewhere, and it is made anew.
 */
#include "skiplist/guide.h"

#ifndef __KERNEL__
unsigned int lath_guide_least = GUIDE_TURN > 1 ? 1024 : 1;

#define SLOTS_MOST 4096u /* of one leaf that are written */
#define HUGE_SEGMENT (4ul << 20)
/* One leaf of so many, on either side, may lie far from the others: the table is for where the rest would lead one to
 * expect them. */
#define OUTER (GUIDE_SAMPLES / 2)

/* Three halves of a slot a leaf at least; at most twice as many. */
static u64 slots_for(u64 leaves)
{
	return 1ull << fls64(leaves * 3 / 2);
}

/* Let the slots whose middles are in [low, last] lead to a leaf with about `fill` entries: are there any? */
static bool lead(const struct guide *guide, u64 low, u64 last, const struct node *leaf, unsigned int fill)
{
	u64 slots = smp_load_acquire(&guide->slots); /* pairs with the store in aim */
	u64 from = guide_position(guide, low), to = guide_position(guide, last),
	    half = 1ull << GUIDE_PARTS >> 1;
	u64 i = (from + half - 1) >> GUIDE_PARTS, end = (to + half) >> GUIDE_PARTS;
	u64 dense = ((u64)fill << GUIDE_DENSE) / (to - from + 1);

	if (last < READ_ONCE(guide->base))
		return false;
	end = min(end, slots);
	if (i >= end)
		return false;
	dense = min(dense, (u64)GUIDE_PART_MAX);
	dense = max(dense, (u64)1) << (GUIDE_LEAF + GUIDE_PART);
	for (end = min(end, i + SLOTS_MOST); i < end; i++) {
		s64 begin = (s64)(from - (i << GUIDE_PARTS));

		begin = max(begin, (s64)-GUIDE_BEGIN) + GUIDE_BEGIN;
		WRITE_ONCE(*guide_slot(guide, i), (u64)(uintptr_t)leaf >> 6 |
							  (u64)min(begin, (s64)GUIDE_PART_MAX) << GUIDE_LEAF |
							  dense);
	}
	return true;
}

void guide_lead_slow(struct skiplist *list, const struct node *leaf)
{
	const struct guide *guide = guide_of(list);

	if (guide && !node_void(leaf))
		lead(guide, READ_ONCE(leaf->low), READ_ONCE(leaf->last), leaf, leaf_fill(list));
}

/* ---- in turn; the lock held ---- */

/* The slots before a segment, and in the segments there are. */
static u64 slots_before(unsigned int segment)
{
	return segment ? 1ull << (GUIDE_SEGMENT + segment - 1) : 0;
}

static u64 room(const struct guide *guide)
{
	return slots_before(guide->segments);
}

static size_t segment_bytes(unsigned int segment)
{
	return (slots_before(segment + 1) - slots_before(segment)) * sizeof(u64);
}

/* Segments for so many slots, or as many of these as there is memory for. */
static u64 grow(struct skiplist *list, struct guide *guide, u64 slots)
{
	while (room(guide) < slots && guide->segments < GUIDE_SEGMENTS) {
		size_t size = segment_bytes(guide->segments);
		void *at = list_block_alloc(list, size, size >= HUGE_SEGMENT && !list->small);

		if (!at)
			break;
		memset(at, 0, size);
		guide->segment[guide->segments] = (uintptr_t)at - room(guide) * sizeof(u64);
		guide->segments++;
	}
	return min(slots, room(guide));
}

/* Nothing is known any more: so many slots, which there are, for the keys from first to last. */
static void aim(struct skiplist *list, struct guide *guide, u64 slots, u64 first, u64 last)
{
	__extension__ typedef unsigned __int128 u128;
	u64 i;

	WRITE_ONCE(list->guide, NULL); /* who looks all the same finds no leaf, or a wrong one */
	for (i = 0; i < guide->slots; i++)
		WRITE_ONCE(*guide_slot(guide, i), 0);
	guide->last = last;
	WRITE_ONCE(guide->base, first);
	WRITE_ONCE(guide->scale,
		   last - first > slots ? (u64)(((u128)slots << 64) / (last - first)) : KEY_MAX);
	smp_store_release(&guide->slots, slots); /* pairs with guide_look */
	WRITE_ONCE(list->guide_turn, GUIDE_TURN_FIRST);
}

/* All parents have been seen once. */
static void end_round(struct skiplist *list, struct guide *guide)
{
	struct guide_round *round = &guide->round;
	u64 first = round->sample[round->samples / OUTER];
	u64 last = round->sample[round->samples - 1 - round->samples / OUTER];
	u64 span = last - first, margin = span / min(round->leaves, OUTER / 3ull), below = margin,
	    above = margin;
	u64 slots = grow(list, guide, max(slots_for(round->leaves), guide->slots));
	bool left = first<guide->base, right = last> guide->last;
	bool fits = !left && !right && span >= (guide->last - guide->base) / 2;

	WRITE_ONCE(list->guide_turn, GUIDE_TURN);
	if (slots > guide->slots || (!fits && round->led < round->leaves - round->leaves / 8)) {
		if (guide->slots && left) /* they move: be there before them */
			below = span / 2;
		if (guide->slots && right)
			above = span / 2;
		aim(list, guide, slots, first - min(below, first), last + min(above, KEY_MAX - last));
	} else {
		bool enough = round->led >= round->leaves - round->leaves / 4;

		smp_store_release(&list->guide, enough ? guide : NULL); /* pairs with guide_of */
	}
	memset(round, 0, offsetof(struct guide_round, sample));
}

/* Every stride-th leaf's first key; the stride doubles when there are too many. */
static void take_sample(struct guide_round *round, u64 key)
{
	unsigned int i;

	if (round->samples == GUIDE_SAMPLES) {
		for (i = 0; i < GUIDE_SAMPLES / 2; i++)
			round->sample[i] = round->sample[2 * i];
		round->samples = GUIDE_SAMPLES / 2;
		round->stride++;
	}
	if (!(round->leaves++ & lath_ones(round->stride)))
		round->sample[round->samples++] = key;
}

/* The next parent's leaves. False: there are none, or they are being changed. Inside a reader. */
static bool step(struct skiplist *list, struct guide *guide)
{
	struct guide_round *round = &guide->round;
	struct pair pair[NODE_CAP];
	unsigned int n = 0, i;
	struct node *parent;
	u64 word, live, last;

	parent = level_node(list, round->hand, 1, &word);
	if (!parent)
		return false;
	for (live = READ_ONCE(parent->live); live && n < NODE_CAP; live &= live - 1) {
		i = __ffs64(live) % NODE_CAP;
		pair[n].key = node_key(parent, i);
		pair[n++].value = node_value(parent, i);
	}
	last = READ_ONCE(parent->last);
	if (!node_valid(parent, word) || !n)
		return false;
	for (i = 0; i < n; i++) {
		u64 end = i + 1 < n ? pair[i + 1].key - 1 : last;

		take_sample(round, pair[i].key);
		round->led += lead(guide, pair[i].key, end, (const struct node *)(uintptr_t)pair[i].value,
				   leaf_fill(list));
	}
	round->hand = last + 1;
	if (!round->hand)
		end_round(list, guide);
	return true;
}

/* The guide of a list that is large enough, and its lock; or NULL. */
static struct guide *lock_guide(struct skiplist *list)
{
	const struct pool *leaves = &list->pool[POOL_LEAF];

	if (list->each || list->shared || READ_ONCE(leaves->bytes) < lath_guide_least * leaves->node_size)
		return NULL;
	if (!lath_spin_trylock(&list->guide_lock))
		return NULL;
	if (!list->guide_made) {
		list->guide_made = list_block_alloc(list, sizeof(struct guide), false);
		if (list->guide_made)
			memset(list->guide_made, 0, sizeof(struct guide));
	}
	if (!list->guide_made)
		lath_spin_unlock(&list->guide_lock);
	return list->guide_made;
}

void guide_keep(struct skiplist *list)
{
	struct guide *guide = lock_guide(list);

	lath_fingers.turns = 0;
	if (!guide)
		return;
	lath_reader_enter(list->rcu);
	step(list, guide);
	lath_reader_exit(list->rcu);
	lath_spin_unlock(&list->guide_lock);
}

void guide_make(struct skiplist *list)
{
	struct guide *guide = lock_guide(list);
	unsigned int rounds = 0;

	if (!guide)
		return;
	lath_reader_enter(list->rcu);
	memset(&guide->round, 0, offsetof(struct guide_round, sample));
	while (rounds < 2 && step(list, guide)) /* one counts, the other fills */
		rounds += !guide->round.hand;
	lath_reader_exit(list->rcu);
	lath_spin_unlock(&list->guide_lock);
}

u64 guide_bytes(struct skiplist *list)
{
	u64 bytes = 0;

	lath_spin_lock(&list->guide_lock);
	if (list->guide_made)
		bytes = sizeof(struct guide) + room(list->guide_made) * sizeof(u64);
	lath_spin_unlock(&list->guide_lock);
	return bytes;
}

void guide_fini(struct skiplist *list)
{
	struct guide *guide = list->guide_made;

	if (!guide)
		return;
	while (guide->segments) {
		void *at = guide_slot(guide, slots_before(--guide->segments));

		list_block_free(list, at, segment_bytes(guide->segments));
	}
	list_block_free(list, guide, sizeof(*guide));
}
#endif
