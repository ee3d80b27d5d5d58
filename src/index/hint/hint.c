/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * guide.c - keeping the table of guide.h.
 *
 * Rounds: a hand goes from parent to parent and lets the slots lead to their leaves. At the end of a round it
 * is known how many leaves there are, between which keys they lie and how many of them got a slot: enough did, and the
 * table is used; the table is too small for the leaves, or the keys lie elsewhere, and it is made anew.
 */
#include "index/hint/hint.h"

#ifndef __KERNEL__
unsigned int lath_guide_least = GUIDE_TURN > 1 ? 1024 : 1;

/* Slots of one leaf that are written: in a round, and by who comes by. */
#define SLOTS_MOST 4096u
#define SLOTS_NEAR 32u
#define HUGE_SEGMENT (2ul << 20)
/* One leaf of so many, on either side, may lie far from the others: the table is for where the rest would lead one to
 * expect them. */
#define OUTER (GUIDE_SAMPLES / 2)

/* Three halves of a slot a leaf at least; at most twice as many. */
static u64 slots_for(u64 leaves)
{
	return 1ull << fls64(leaves * 3 / 2);
}

/* Let the slots whose middles are in [low, last], from slot `first` on and so many at most, lead to a leaf with about `fill`
 * entries: does it cover the middle of any slot? The table may be aimed anew meanwhile. */
static bool lead(const struct guide *guide, u64 low, u64 last, const struct node *leaf, unsigned int fill,
		 u64 first, u64 most)
{
	u64 slots = smp_load_acquire(&guide->slots); /* pairs with the store in aim */
	u64 from = guide_position(guide, low), to = guide_position(guide, last);
	u64 half = 1ull << GUIDE_PARTS >> 1, dense, i, end;

	if (last < READ_ONCE(guide->base) || (u64)(uintptr_t)leaf >> (GUIDE_LEAF + 6))
		return false;
	i = (from + half - 1) >> GUIDE_PARTS;
	end = (to + half) >> GUIDE_PARTS;
	end = min(end, slots);
	if (i >= end)
		return false;
	dense = ((u64)fill << GUIDE_DENSE) / (to - from + 1); /* to >= from: else end would not be above i */
	dense = min(dense, (u64)GUIDE_PART_MAX);
	dense = max(dense, (u64)1) << (GUIDE_LEAF + GUIDE_PART);
	i = max(i, first);
	for (end = min(end, i + most); i < end; i++) {
		s64 begin = (s64)(from - (i << GUIDE_PARTS));
		u64 *slot = guide_slot(guide, i), word;

		begin = max(begin, (s64)-GUIDE_BEGIN) + GUIDE_BEGIN;
		begin = min(begin, (s64)GUIDE_PART_MAX);
		word = (u64)(uintptr_t)leaf >> 6 | (u64)begin << GUIDE_LEAF | dense;
		if (READ_ONCE(*slot) != word) /* other threads have the line too */
			WRITE_ONCE(*slot, word);
	}
	return true;
}

void guide_lead_near(struct tree *list, const struct node *leaf, u64 key)
{
	const struct guide *guide = guide_of(list);
	u64 at;

	if (!guide || node_void(leaf))
		return;
	at = guide_position(guide, key) >> GUIDE_PARTS;
	lead(guide, READ_ONCE(leaf->low), READ_ONCE(leaf->last), leaf, leaf_fill(list),
	     at > SLOTS_NEAR ? at - SLOTS_NEAR : 0, 2 * SLOTS_NEAR);
}

/* ---- memory: no lock and no reader held, and only from calls that may allocate ---- */

/* The slots before a segment. */
static u64 slots_before(unsigned int segment)
{
	return segment ? 1ull << (GUIDE_SEGMENT + segment - 1) : 0;
}

static u64 room(const struct guide *guide)
{
	return slots_before(READ_ONCE(guide->segments));
}

static size_t segment_bytes(unsigned int segment)
{
	return (slots_before(segment + 1) - slots_before(segment)) * sizeof(u64);
}

/* Zeroed, or NULL. */
static void *get_memory(struct tree *list, size_t size)
{
	void *at = list_block_alloc(list, size, size >= HUGE_SEGMENT && !list->small);

	if (at && list->allocator.alloc)
		memset(at, 0, size);
	return at;
}

static void provide_guide(struct tree *list)
{
	struct guide *fresh = get_memory(list, sizeof(*fresh));

	if (!fresh)
		return;
	if (lath_spin_trylock(&list->guide_lock)) {
		if (!list->guide_made) {
			smp_store_release(&list->guide_made, fresh); /* pairs with guide_bytes */
			fresh = NULL;
		}
		lath_spin_unlock(&list->guide_lock);
	}
	if (fresh)
		list_block_free(list, fresh, sizeof(*fresh));
}

static void aim_if_due(struct tree *list, struct guide *guide);

/* One segment more. False: there is no memory, or somebody else is at it. */
static bool provide_segment(struct tree *list, struct guide *guide)
{
	unsigned int n = READ_ONCE(guide->segments);
	void *fresh = n < GUIDE_SEGMENTS ? get_memory(list, segment_bytes(n)) : NULL;

	if (!fresh)
		return false;
	if (lath_spin_trylock(&list->guide_lock)) {
		if (guide->segments == n) {
			guide->memory[n] = fresh;
			guide->segment[n] = (uintptr_t)fresh - slots_before(n) * sizeof(u64);
			WRITE_ONCE(guide->segments, n + 1);
			fresh = NULL;
			aim_if_due(list, guide);
		}
		lath_spin_unlock(&list->guide_lock);
	}
	if (fresh)
		list_block_free(list, fresh, segment_bytes(n));
	return !fresh;
}

/* What the last round found to be missing. */
static void provide(struct tree *list)
{
	struct guide *guide = smp_load_acquire(&list->guide_made); /* pairs with provide_guide */

	if (!guide)
		provide_guide(list); /* a round over it comes first */
	while (guide && room(guide) < READ_ONCE(guide->want) && provide_segment(list, guide))
		;
}

/* ---- in turn; the lock held ---- */

static void begin_round(struct guide *guide)
{
	memset(&guide->round, 0, offsetof(struct guide_round, sample));
}

/* Nothing is known any more: so many slots, which there are, for the keys from first to last. */
static void aim(struct tree *list, struct guide *guide, u64 slots, u64 first, u64 last)
{
	u64 i;

	WRITE_ONCE(list->guide, NULL); /* who looks all the same finds no leaf, or a wrong one */
	for (i = 0; i < guide->slots; i++)
		WRITE_ONCE(*guide_slot(guide, i), 0);
	WRITE_ONCE(guide->base, first);
	WRITE_ONCE(guide->scale,
		   last - first > slots ? (u64)(((u128)slots << 64) / (last - first)) : KEY_MAX);
	smp_store_release(&guide->slots, slots); /* pairs with guide_look */
	guide->last = last;
	WRITE_ONCE(guide->want, 0);
	begin_round(guide);
	WRITE_ONCE(list->guide_turn, GUIDE_TURN_FIRST);
}

static void aim_if_due(struct tree *list, struct guide *guide)
{
	if (guide->want && room(guide) >= guide->want)
		aim(list, guide, guide->want, guide->aim_first, guide->aim_last);
}

/* All parents have been seen once. */
static void end_round(struct tree *list, struct guide *guide)
{
	struct guide_round *round = &guide->round;
	u64 first = round->sample[round->samples / OUTER];
	u64 last = round->sample[round->samples - 1 - round->samples / OUTER];
	u64 span = last - first, below = span / min(round->leaves, OUTER / 3ull), above = below;
	u64 want = slots_for(round->leaves);
	bool left = first < guide->base;
	bool right = last > guide->last;
	bool fits = !left && !right && span >= (guide->last - guide->base) / 2;
	bool enough = round->led >= round->leaves - round->leaves / 4;
	bool lost = !fits && round->led < round->leaves - round->leaves / 8;
	bool starved = guide->want; /* no memory since the round before this one */

	begin_round(guide);
	smp_store_release(&list->guide, enough ? guide : NULL); /* pairs with guide_of */
	WRITE_ONCE(list->guide_turn, GUIDE_TURN);
	WRITE_ONCE(guide->want, 0);
	if (want <= guide->slots && !lost)
		return;
	if (guide->slots && left) /* they move: be there before them */
		below = span / 2;
	if (guide->slots && right)
		above = span / 2;
	guide->aim_first = first - min(below, first);
	guide->aim_last = last + min(above, KEY_MAX - last);
	WRITE_ONCE(guide->want, max(want, guide->slots));
	aim_if_due(list, guide);
	if (guide->want && starved && lost && guide->slots) /* then with what there is */
		aim(list, guide, guide->slots, guide->aim_first, guide->aim_last);
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
static bool step(struct tree *list, struct guide *guide)
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
				   leaf_fill(list), 0, SLOTS_MOST);
	}
	round->hand = last + 1;
	if (!round->hand)
		end_round(list, guide);
	return true;
}

/* One step, or one round from its beginning, unless somebody else is at it. */
static void go_on(struct tree *list, bool whole)
{
	struct guide *guide;

	if (!lath_spin_trylock(&list->guide_lock))
		return;
	guide = list->guide_made;
	if (guide) {
		lath_reader_enter(list->rcu);
		if (whole)
			begin_round(guide);
		while (step(list, guide) && whole && guide->round.hand)
			;
		lath_reader_exit(list->rcu);
	}
	lath_spin_unlock(&list->guide_lock);
}

void guide_keep(struct tree *list, bool may_allocate)
{
	lath_fingers.turns = 0;
	if (may_allocate)
		provide(list);
	go_on(list, false);
}

void guide_make(struct tree *list)
{
	unsigned int rounds;

	if (!READ_ONCE(list->guide_turn))
		return;
	for (rounds = 0; rounds < 2; rounds++) { /* one counts, the other fills */
		provide(list);
		go_on(list, true);
	}
}

u64 guide_bytes(const struct tree *list)
{
	const struct guide *guide = smp_load_acquire(&list->guide_made); /* pairs with provide_guide */

	return guide ? sizeof(*guide) + room(guide) * sizeof(u64) : 0;
}

void guide_fini(struct tree *list)
{
	struct guide *guide = list->guide_made;
	unsigned int i;

	if (!guide)
		return;
	for (i = 0; i < guide->segments; i++)
		list_block_free(list, guide->memory[i], segment_bytes(i));
	list_block_free(list, guide, sizeof(*guide));
}

/* Leaves have come to need so much memory. */
void guide_allow(struct tree *list, u64 bytes)
{
	const struct pool *leaves = &list->pool[POOL_LEAF];

	if (!READ_ONCE(list->guide_turn) && !list->each && !list->shared &&
	    bytes >= lath_guide_least * leaves->node_size)
		WRITE_ONCE(list->guide_turn, GUIDE_TURN_FIRST);
}
#endif
