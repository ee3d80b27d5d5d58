/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hint.c - maintaining the hint table.
 *
 * Maintenance runs in passes: a cursor goes from one level-1 node to the next and updates the slots
 * of its leaves. At the end of a pass it is known how many leaves there are, between which keys
 * they lie, and how many of them cover the middle of a slot. If most do, the table is used. If it
 * is too small, or the keys lie elsewhere, it is
 * remapped: all hints are discarded and the slots cover another range.
 */
#include "index/hint/hint.h"
#include "index/tree/pool.h"

#ifndef __KERNEL__
unsigned int lath_hint_least = HINT_INTERVAL > 1 ? 1024 : 1;

/* Most slots written for one leaf: by a pass, and by a writer. */
#define SLOTS_MOST 4096u
#define SLOTS_NEAR 32u
#define HUGE_SEGMENT (2ul << 20)
/* Ignore the outermost 1/OUTER of the sampled keys at each end, so that outliers do not stretch the
 * range. */
#define OUTER (HINT_SAMPLES / 2)

/* Next power of two above 1.5 slots per leaf: 1.5 to 3 slots per leaf. */
static u64 slots_for(u64 leaves)
{
	return 1ull << fls64(leaves * 3 / 2);
}

/* Point the slots whose middles lie in [low, last] at `leaf`; write at most `most` slots, from slot
 * `first` on. Returns true if the leaf covers the middle of any slot. The table may be remapped
 * concurrently. */
static bool publish(const struct hint *hint, u64 low, u64 last, const struct node *leaf, u64 first,
		    u64 most)
{
	u64 slots = smp_load_acquire(&hint->slots); /* pairs with the store in remap */
	u64 from = hint_position(hint, low), to = hint_position(hint, last);
	u64 half = 1ull << HINT_PARTS >> 1, dense, i, end;

	if (last < READ_ONCE(hint->base) || (u64)(uintptr_t)leaf >> (HINT_LEAF + 6))
		return false;
	i = (from + half - 1) >> HINT_PARTS;
	end = (to + half) >> HINT_PARTS;
	end = min(end, slots);
	if (i >= end)
		return false;
	dense = ((u64)hint->fill << HINT_DENSE) /
		(to - from + 1); /* to >= from, or else end <= i */
	dense = min(dense, (u64)HINT_PART_MAX);
	dense = max(dense, (u64)1) << (HINT_LEAF + HINT_PART);
	i = max(i, first);
	for (end = min(end, i + most); i < end; i++) {
		s64 begin = (s64)(from - (i << HINT_PARTS));
		u64 *slot = hint_slot(hint, i), word;

		begin = max(begin, (s64)-HINT_BEGIN) + HINT_BEGIN;
		begin = min(begin, (s64)HINT_PART_MAX);
		word = (u64)(uintptr_t)leaf >> 6 | (u64)begin << HINT_LEAF | dense;
		if (READ_ONCE(*slot) != word) /* other threads cache the line */
			WRITE_ONCE(*slot, word);
	}
	return true;
}

void hint_publish_near(struct tree *tree, const struct node *leaf, u64 key)
{
	const struct hint *hint = hint_of(tree);
	u64 at;

	if (!hint || node_half_dead(leaf))
		return;
	at = hint_position(hint, key) >> HINT_PARTS;
	publish(hint, READ_ONCE(leaf->low), READ_ONCE(leaf->last), leaf,
		at > SLOTS_NEAR ? at - SLOTS_NEAR : 0, 2 * SLOTS_NEAR);
}

/* ---- memory: no lock held, and only from calls that may allocate ---- */

/* Slots before a segment. */
static u64 slots_before(unsigned int segment)
{
	return segment ? 1ull << (HINT_SEGMENT + segment - 1) : 0;
}

/* Slots for which there is memory. */
static u64 capacity(const struct hint *hint)
{
	return slots_before(READ_ONCE(hint->segments));
}

static size_t segment_bytes(unsigned int segment)
{
	return (slots_before(segment + 1) - slots_before(segment)) * sizeof(u64);
}

/* Returns zeroed memory, or NULL. */
static void *zeroed_memory(struct tree *tree, size_t size)
{
	void *at = tree_block_alloc(tree, size, size >= HUGE_SEGMENT && !tree->small);

	if (at && tree->allocator.alloc)
		memset(at, 0, size);
	return at;
}

/* Allocate the table without slots, unless another thread has. */
static void allocate_table(struct tree *tree)
{
	struct hint *fresh = zeroed_memory(tree, sizeof(*fresh));

	if (!fresh)
		return;
	if (lath_spin_trylock(&tree->hint_lock)) {
		if (!tree->hint_made) {
			fresh->fill = tree->leaf_fill;
			smp_store_release(&tree->hint_made, fresh); /* pairs with hint_bytes */
			fresh = NULL;
		}
		lath_spin_unlock(&tree->hint_lock);
	}
	if (fresh)
		tree_block_free(tree, fresh, sizeof(*fresh));
}

static void remap_if_due(struct tree *tree, struct hint *hint);

/* Add a segment. Returns false if there is no memory or another thread maintains the table. */
static bool allocate_segment(struct tree *tree, struct hint *hint)
{
	unsigned int n = READ_ONCE(hint->segments);
	void *fresh = n < HINT_SEGMENTS ? zeroed_memory(tree, segment_bytes(n)) : NULL;

	if (!fresh)
		return false;
	if (lath_spin_trylock(&tree->hint_lock)) {
		if (hint->segments == n) {
			hint->memory[n] = fresh;
			hint->segment[n] = (uintptr_t)fresh - slots_before(n) * sizeof(u64);
			WRITE_ONCE(hint->segments, n + 1);
			fresh = NULL;
			remap_if_due(tree, hint);
		}
		lath_spin_unlock(&tree->hint_lock);
	}
	if (fresh)
		tree_block_free(tree, fresh, segment_bytes(n));
	return !fresh;
}

/* Allocate what the last pass found to be missing. */
static void allocate_wanted(struct tree *tree)
{
	struct hint *hint = smp_load_acquire(&tree->hint_made); /* pairs with allocate_table */

	if (!hint)
		allocate_table(tree); /* the next pass counts the leaves */
	while (hint && capacity(hint) < READ_ONCE(hint->want) && allocate_segment(tree, hint))
		;
}

/* ---- passes; tree->hint_lock held ---- */

static void begin_pass(struct hint *hint)
{
	memset(&hint->pass, 0, offsetof(struct hint_pass, sample));
}

/* Discard all hints and remap the table: `slots` slots, which are allocated, over the keys [first,
 * last]. */
static void remap(struct tree *tree, struct hint *hint, u64 slots, u64 first, u64 last)
{
	u64 i;

	WRITE_ONCE(tree->hint,
		   NULL); /* a thread that has it already finds no leaf, or a wrong one */
	for (i = 0; i < hint->slots; i++)
		WRITE_ONCE(*hint_slot(hint, i), 0);
	WRITE_ONCE(hint->base, first);
	WRITE_ONCE(hint->scale,
		   last - first > slots ? (u64)(((u128)slots << 64) / (last - first)) : KEY_MAX);
	smp_store_release(&hint->slots, slots); /* pairs with hint_predict */
	hint->last = last;
	WRITE_ONCE(hint->want, 0);
	begin_pass(hint);
	WRITE_ONCE(tree->hint_interval, HINT_INTERVAL_FIRST);
}

/* Remap as the last pass decided, if there is memory for it now. */
static void remap_if_due(struct tree *tree, struct hint *hint)
{
	if (hint->want && capacity(hint) >= hint->want)
		remap(tree, hint, hint->want, hint->want_first, hint->want_last);
}

/* What a pass found out about the keys. */
struct extent {
	u64 first, last, span; /* of the sampled keys without outliers */
	bool left, right;      /* keys lie outside the table at that end */
};

static struct extent sampled_extent(const struct hint *hint)
{
	const struct hint_pass *pass = &hint->pass;
	struct extent e = { .first = pass->sample[pass->samples / OUTER],
			    .last = pass->sample[pass->samples - 1 - pass->samples / OUTER] };

	e.span = e.last - e.first;
	e.left = e.first < hint->base;
	e.right = e.last > hint->last;
	return e;
}

/* Decide to remap to `slots` slots over these keys. On the side where keys have left the table they
 * are moving: leave room for half as many again. */
static void want_remap(struct hint *hint, u64 slots, const struct extent *e)
{
	u64 below = e->span / min(hint->pass.leaves, OUTER / 3ull), above = below;

	if (hint->slots && e->left)
		below = e->span / 2;
	if (hint->slots && e->right)
		above = e->span / 2;
	hint->want_first = e->first - min(below, e->first);
	hint->want_last = e->last + min(above, KEY_MAX - e->last);
	WRITE_ONCE(hint->want, max(slots, hint->slots));
}

/* The cursor has passed the last key: decide whether to use the table and whether to remap it. */
static void end_pass(struct tree *tree, struct hint *hint)
{
	u64 leaves = hint->pass.leaves, hinted = hint->pass.hinted, slots = slots_for(leaves);
	struct extent e = sampled_extent(hint);
	bool fits = !e.left && !e.right && e.span >= (hint->last - hint->base) / 2;
	bool lost = !fits && hinted < leaves - leaves / 8;
	bool starved = hint->want; /* there was no memory since the pass before this one */

	/* pairs with hint_of */
	smp_store_release(&tree->hint, hinted >= leaves - leaves / 4 ? hint : NULL);
	WRITE_ONCE(tree->hint_interval, HINT_INTERVAL);
	WRITE_ONCE(hint->want, 0);
	if (slots > hint->slots || lost) {
		want_remap(hint, slots, &e);
		begin_pass(hint);
		remap_if_due(tree, hint);
		if (hint->want && starved && lost &&
		    hint->slots) /* make do with the memory there is */
			remap(tree, hint, hint->slots, hint->want_first, hint->want_last);
	} else {
		begin_pass(hint);
	}
}

/* Sample every 2^stride-th leaf's first key; the stride grows when there are too many samples. */
static void take_sample(struct hint_pass *pass, u64 key)
{
	unsigned int i;

	if (pass->samples == HINT_SAMPLES) {
		for (i = 0; i < HINT_SAMPLES / 2; i++)
			pass->sample[i] = pass->sample[2 * i];
		pass->samples = HINT_SAMPLES / 2;
		pass->stride++;
	}
	if (!(pass->leaves++ & lath_ones(pass->stride)))
		pass->sample[pass->samples++] = key;
}

/* Update the slots of the leaves below the next level-1 node. Returns false if there is no such
 * node or it is being changed. In a read-side critical section. */
static bool refresh_next(struct tree *tree, struct hint *hint)
{
	struct hint_pass *pass = &hint->pass;
	struct pair pair[NODE_CAP];
	unsigned int n = 0, i;
	struct node *parent;
	u64 lockword, live, last;

	parent = level_find(tree, pass->cursor, 1, &lockword);
	if (!parent)
		return false;
	for (live = READ_ONCE(parent->live); live && n < NODE_CAP; live &= live - 1) {
		i = __ffs64(live) % NODE_CAP;
		pair[n].key = node_key(parent, i);
		pair[n++].value = node_value(parent, i);
	}
	last = READ_ONCE(parent->last);
	if (!node_valid(parent, lockword) || !n)
		return false;
	for (i = 0; i < n; i++) {
		u64 end = i + 1 < n ? pair[i + 1].key - 1 : last;

		take_sample(pass, pair[i].key);
		pass->hinted +=
			publish(hint, pair[i].key, end,
				(const struct node *)(uintptr_t)pair[i].value, 0, SLOTS_MOST);
	}
	pass->cursor = last + 1;
	if (!pass->cursor)
		end_pass(tree, hint);
	return true;
}

/* Grow the table as soon as there are too many leaves for it, without waiting for the end of the
 * pass. */
static void grow_if_due(struct tree *tree, struct hint *hint)
{
	u64 slots = slots_for(READ_ONCE(tree->pool[POOL_LEAF].nodes));

	if (!hint->slots || hint->want || slots <= hint->slots)
		return;
	hint->want_first = hint->base;
	hint->want_last = hint->last;
	WRITE_ONCE(hint->want, slots);
	remap_if_due(tree, hint);
}

/* Do one step, or a whole pass, unless another thread maintains the table. May spin on a locked
 * level-1 node; no node lock is held. */
static void refresh(struct tree *tree, bool whole)
{
	struct hint *hint;

	if (!lath_spin_trylock(&tree->hint_lock))
		return;
	hint = tree->hint_made;
	if (hint) {
		lath_reader_enter(tree->rcu);
		if (whole)
			begin_pass(hint);
		while (refresh_next(tree, hint) && whole && hint->pass.cursor)
			;
		lath_reader_exit(tree->rcu);
		if (!whole)
			grow_if_due(tree, hint);
	}
	lath_spin_unlock(&tree->hint_lock);
}

void hint_maintain(struct tree *tree, bool may_allocate)
{
	lath_fingers.changes = 0;
	lath_call_enter();
	if (may_allocate)
		allocate_wanted(tree);
	refresh(tree, false);
	lath_call_exit();
}

void hint_build(struct tree *tree)
{
	unsigned int passes;

	hint_consider(tree);
	if (!READ_ONCE(tree->hint_interval))
		return;
	for (passes = 0; passes < 2; passes++) { /* one counts, the other fills */
		lath_call_enter();
		allocate_wanted(tree);
		refresh(tree, true);
		lath_call_exit();
	}
}

u64 hint_bytes(const struct tree *tree)
{
	const struct hint *hint =
		smp_load_acquire(&tree->hint_made); /* pairs with allocate_table */

	return hint ? sizeof(*hint) + capacity(hint) * sizeof(u64) : 0;
}

void hint_fini(struct tree *tree)
{
	struct hint *hint = tree->hint_made;
	unsigned int i;

	if (!hint)
		return;
	for (i = 0; i < hint->segments; i++)
		tree_block_free(tree, hint->memory[i], segment_bytes(i));
	tree_block_free(tree, hint, sizeof(*hint));
}

void hint_consider(struct tree *tree)
{
	const struct pool *leaves = &tree->pool[POOL_LEAF];

	if (!READ_ONCE(tree->hint_interval) && !tree->each && !tree->shared_allocator &&
	    READ_ONCE(leaves->bytes) >= lath_hint_least * leaves->node_size)
		WRITE_ONCE(tree->hint_interval, HINT_INTERVAL_FIRST);
}
#endif
