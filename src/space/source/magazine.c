/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * magazine.c - caches of free blocks, in slots over which the threads are distributed.
 *
 * A thread locks the slot of its number, or a neighbour if that one is locked. Magazines hold keys
 * of the first set of the first segment only, and none while that segment is drained or has a
 * limit. The blocks are charged. When a request finds no room and the magazines are emptied, their
 * capacity shrinks to 1/32; each overflow of a magazine doubles it again. So in a full space
 * magazines hold back few blocks.
 */
#include "space/source/magazine.h"

#include "space/segment.h"
#include "space/source/set.h"

/* Blocks per slot of each order: 256 units of the small ones, up to 8,192 of the largest. */
const struct shape lath_magazine_least = {
	{ 256, 128, 64, 32, 32, 32, 32, 32, 32 },
	{ 0, 256, 384, 448, 480, 512, 544, 576, 608 },
	MAGAZINES,
};

#ifdef __KERNEL__
/* A magazine of any shape holds at most this many units. */
#define MAGAZINE_MOST 8192u
/* Blocks per magazine, at most: the slot is allocated in one piece. */
#define BURST_MOST 1024u
/* Units in all magazines of a slot, at most. */
#define SLOT_MOST (ORDERS * MAGAZINE_MOST)

void magazines_shape(struct shape *shape, unsigned int burst)
{
	unsigned int order;

	*shape = lath_magazine_least;
	shape->all = 0;
	for (order = 0; order < ORDERS; order++) {
		shape->begin[order] = shape->all;
		shape->size[order] = max_t(u16, lath_magazine_least.size[order],
					   min3(burst, BURST_MOST, MAGAZINE_MOST >> order));
		shape->all += shape->size[order];
	}
}
#else
#define SLOT_MOST 16896u
#endif

/* Blocks moved out of a magazine at a time. */
#define FLUSH 32

struct slot *lath_slot_make(struct lath_space *space, struct slot **at)
{
	struct slot *slot = lath_space_memory_alloc(space, slot_size(space)), *there;

	LATH_ASSERT(at >= space->slot && at < space->slot + SLOTS);
	if (!slot)
		return NULL;
	lath_spin_init_any(&slot->lock, any_caller(space));
#ifdef __KERNEL__
	slot->shape = space->shape;
#endif
	slot->number = (u8)(at - space->slot + 1);
	/* made without a lock, so another thread may have made it too: the first one stays */
	lath_spin_lock(&space->lock);
	there = *at;
	if (!there)
		smp_store_release(at, slot); /* pairs with slot_of */
	lath_spin_unlock(&space->lock);
	if (there)
		lath_space_memory_free(space, slot, slot_size(space));
	return there ? there : slot;
}

#ifndef __KERNEL__
/* Continues slot_lock() where the thread's slot is locked. */
static noinline struct slot *slot_lock_busy(struct lath_space *space, struct slot *slot)
{
	struct slot *next;

	/* a neighbour is tried, not made: what it holds serves as well */
	/* pairs with lath_slot_make */
	next = lath_load_pointer(&space->slot[(lath_stripe() ^ 1) % SLOTS]);
	if (next && lath_spin_trylock(&next->lock))
		return next;
	/* both are locked: wait for the own one, whose blocks lie near what this thread has */
	lath_spin_lock(&slot->lock);
	return slot;
}
#endif

/* Locks and returns the thread's slot, or a neighbour if the slot is locked; NULL, with nothing
 * locked: no memory. No lock held. */
static __always_inline struct slot *slot_lock(struct lath_space *space)
{
	struct slot *slot = slot_of(space);

#ifdef __KERNEL__
	/* the processor's own: others take it to empty it, and not for long */
	if (likely(slot))
		lath_spin_lock(&slot->lock);
	return slot;
#else
	if (unlikely(!slot) || likely(lath_spin_trylock(&slot->lock)))
		return slot;
	return slot_lock_busy(space, slot);
#endif
}

/* Fills the empty magazine of a locked slot from the first set, by up to half of what the
 * least shape has: room for longer bursts is for frees, and a fill of that size would split what a
 * nearly full space has left. Returns the number of blocks, which the caller counts. */
static noinline unsigned int magazine_fill(struct lath_space *space, struct slot *slot,
					   unsigned int order)
{
	unsigned int most = 2u * lath_magazine_least.size[order], n;
	unsigned int want = (min(capacity(slot, order), most) + 3) / 4;
	struct arena_set *set = &space->first.set[0];
	u64 size = space->config.unit << order, *count;
	struct small_request blocks;

	LATH_ASSERT(!slot->count[order]);
	small_request_init(space, 1ull << order, 1ull << order, 0, &blocks);
	blocks.most = want;
	/* blocks in a magazine stay charged: they look used to a removal of the segment */
	count = segment_charge(&space->first, want * size);
	if (!count)
		return 0;
	n = set->empty ? 0 : lath_set_alloc_small(space, set, slot, &blocks, magazine(slot, order));
	/* one arena may not have as many; no second one is searched under the slot's lock */
	if (n < want)
		lath_segment_uncharge(&space->first, count, (want - n) * size);
	WRITE_ONCE(slot->held, slot->held + (u32)(n << order));
	return n;
}

bool lath_magazine_alloc(struct lath_space *space, unsigned int order, u64 *key)
{
	struct slot *slot = slot_lock(space);
	bool some;

	LATH_ASSERT(order < ORDERS);
	if (unlikely(!slot)) /* the caller goes to the arenas */
		return false;
	/* read under the lock: once magazines are off, those that are flushed stay empty */
	if (!slot->count[order] && READ_ONCE(space->magazines))
		slot->count[order] = (u16)magazine_fill(space, slot, order);
	some = slot->count[order];
	if (some)
		*key = magazine_pop(space, slot, order);
	lath_spin_unlock(&slot->lock);
	return some;
}

/* Returns the n oldest blocks of a magazine of a locked slot to their arenas. A block in a magazine
 * keeps its arena in use, so one that lies in none is a wrong free. */
static noinline void magazine_flush(struct lath_space *space, struct slot *slot, unsigned int order,
				    unsigned int n)
{
	u64 *keys = magazine(slot, order);
	unsigned int i, bad = 0;

	LATH_ASSERT(n <= slot->count[order] && slot->held >= n << order);
	/* uncharged at once below, not block by block; what was no allocation was not charged */
	for (i = 0; i < n; i++)
		bad += lath_arenas_free(space, keys[i], 1ull << order, false) != 0;
	if (unlikely(bad))
		lath_fetch_add(&space->bad_frees, bad);
	segment_count(&space->first, -((n - bad) * (space->config.unit << order)));
	/* the newest stay, as the thread frees and allocates what it has used last */
	slot->count[order] = (u16)(slot->count[order] - n);
	memmove(keys, keys + n, slot->count[order] * sizeof(u64));
	WRITE_ONCE(slot->held, slot->held - (n << order));
}

/* Does a magazine of the locked slot hold a part of these keys? */
static bool slot_holds(struct lath_space *space, struct slot *slot, u64 key, u64 size)
{
	unsigned int order, i;

	for (order = 0; order < ORDERS; order++)
		for (i = 0; i < slot->count[order]; i++) {
			u64 at = magazine(slot, order)[i];

			if (at - key < size || key - at < space->config.unit << order)
				return true;
		}
	return false;
}

bool lath_magazine_has(struct lath_space *space, struct slot *mine, unsigned int order, u64 key)
{
	u64 size = space->config.unit << order;
	bool found =
		!lath_arenas_take(space, key, 1ull << order) || slot_holds(space, mine, key, size);
	unsigned int i;

	for (i = 0; i < SLOTS && !found; i++) {
		struct slot *slot =
			smp_load_acquire(&space->slot[i]); /* pairs with lath_slot_make */

		if (slot && slot != mine && lath_spin_trylock(&slot->lock)) {
			found = slot_holds(space, slot, key, size);
			lath_spin_unlock(&slot->lock);
		}
	}
	return found;
}

bool lath_magazine_free(struct lath_space *space, unsigned int order, u64 key)
{
	struct slot *slot = slot_lock(space);

	LATH_ASSERT(order < ORDERS && !(units_of(space, key) & ((1ull << order) - 1)));
	if (unlikely(!slot))
		return false;
	/* read under the lock: see lath_magazine_alloc() */
	if (unlikely(!READ_ONCE(space->magazines))) {
		lath_spin_unlock(&slot->lock);
		return false;
	}
	if (unlikely(slot->count[order] >= capacity(slot, order))) {
		magazine_flush(space, slot, order,
			       min((unsigned int)FLUSH, (slot->count[order] + 1u) / 2));
		slot->tight -= slot->tight > 0; /* there is room in the space again */
	}
	magazine_push(space, slot, order, key);
	lath_spin_unlock(&slot->lock);
	return true;
}

void lath_magazines_choose(struct lath_space *space)
{
	/* without arenas there are no blocks; a block in a magazine has no owner, and does not
	 * spread */
	const unsigned int none = LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES |
				  LATH_SPACE_OWNERS | LATH_SPACE_SPREAD;

	WRITE_ONCE(space->magazines, !(space->config.flags & none) && !space->first.limit &&
					     space->first.draining == NOT_DRAINING);
}

bool lath_magazines_flush(struct lath_space *space)
{
	unsigned int i, order, n;
	bool any = false;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot =
			smp_load_acquire(&space->slot[i]); /* pairs with lath_slot_make */

		for (order = 0; slot && READ_ONCE(slot->held) && order < ORDERS;) {
			/* a part at a time, so that no thread waits long for the slot */
			lath_spin_lock(&slot->lock);
			/* hold back less from now on, until a magazine overflows */
			slot->tight = TIGHT;
			n = min((unsigned int)FLUSH, (unsigned int)slot->count[order]);
			magazine_flush(space, slot, order, n);
			lath_spin_unlock(&slot->lock);
			any |= n;
			order += n < FLUSH;
		}
	}
	return any;
}

/* ---- for enumeration ---- */

void lath_slots_lock(struct lath_space *space)
{
	unsigned int i, rounds = 0;

	lath_spin_lock(&space->lock); /* no slot is made in the meantime */
	for (i = 0; i < SLOTS; i++)
		while (space->slot[i] && !lath_spin_trylock(&space->slot[i]->lock))
			lath_spin_wait(&rounds);
}

void lath_slots_unlock(struct lath_space *space)
{
	unsigned int i;

	LATH_ASSERT(lath_spin_mine(&space->lock));
	for (i = 0; i < SLOTS; i++)
		if (space->slot[i])
			lath_spin_unlock(&space->slot[i]->lock);
	lath_spin_unlock(&space->lock);
}

/* Sets the bits of 2^order units from a multiple of 2^order on. */
static void mark_block(u64 *map, u64 unit, unsigned int order)
{
	LATH_ASSERT(unit < ARENA_UNITS && !(unit & ((1ull << order) - 1)));
	/* a block lies in one word, or is whole words */
	if (order < 6)
		map[unit / 64] |= lath_ones(1u << order) << unit % 64;
	else
		memset(&map[unit / 64], 0xff, (size_t)8 << (order - 6));
}

void lath_slots_mark(struct lath_space *space, u64 block, u64 *map)
{
	unsigned int i, order, j;

	LATH_ASSERT(lath_spin_mine(&space->lock));
	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = space->slot[i];

		/* of each magazine the blocks that lie in this arena */
		for (order = 0; slot && slot->held && order < ORDERS; order++) {
			const u64 *keys = magazine(slot, order);

			for (j = 0; j < slot->count[order]; j++) {
				u64 unit = units_of(space, keys[j]);

				if (unit / ARENA_UNITS == block)
					mark_block(map, unit % ARENA_UNITS, order);
			}
		}
	}
}

u64 lath_slots_held(const struct lath_space *space)
{
	u64 held = 0;
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot =
			smp_load_acquire(&space->slot[i]); /* pairs with lath_slot_make */

		LATH_ASSERT(!slot || READ_ONCE(slot->held) <= SLOT_MOST);
		held += slot ? READ_ONCE(slot->held) : 0;
	}
	return held;
}
