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
#include "space/space.h"

/* Blocks per slot of each order: 256 units of the small ones, up to 8,192 of the largest. */
static const u16 magazine_size[ORDERS] = { 256, 128, 64, 32, 32, 32, 32, 32, 32 };

/* Blocks moved out of a magazine at a time. */
#define FLUSH 32
/* How often the capacity is halved when magazines are emptied. */
#define TIGHT 5

static unsigned int capacity(const struct slot *slot, unsigned int order)
{
	return magazine_size[order] >> slot->tight;
}

static u64 *magazine(struct slot *slot, unsigned int order)
{
	static const u16 begin[ORDERS] = { 0, 256, 384, 448, 480, 512, 544, 576, 608 };

	LATH_ASSERT(lath_spin_mine(&slot->lock) && slot->count[order] <= magazine_size[order]);
	return slot->key + begin[order];
}

struct slot *slot_make(struct lath_space *space, struct slot **at)
{
	struct slot *slot = space_alloc(space, sizeof(*slot)), *there;

	if (!slot)
		return NULL;
	lath_spin_init(&slot->lock);
	slot->number = (u8)(at - space->slot + 1);
	lath_spin_lock(&space->lock);
	there = *at;
	if (!there)
		smp_store_release(at, slot); /* pairs with slot_of */
	lath_spin_unlock(&space->lock);
	if (there)
		space_free(space, slot, sizeof(*slot));
	return there ? there : slot;
}

/* Locks and returns the thread's slot, or a neighbour if the slot is locked; NULL: no memory. */
static struct slot *slot_lock(struct lath_space *space)
{
	struct slot *slot = slot_of(space), *next;

	if (unlikely(!slot) || likely(lath_spin_trylock(&slot->lock)))
		return slot;
	/* pairs with slot_make */
	next = smp_load_acquire(&space->slot[(lath_stripe() ^ 1) % SLOTS]);
	if (next && lath_spin_trylock(&next->lock))
		return next;
	lath_spin_lock(&slot->lock);
	return slot;
}

/* Fills the empty magazine of a locked slot, by up to a quarter, from the first set. Returns the
 * number of blocks. */
static unsigned int magazine_fill(struct lath_space *space, struct slot *slot, unsigned int order)
{
	unsigned int want = (capacity(slot, order) + 3) / 4, n;
	struct set *set = &space->first.set[0];
	u64 size = space->config.unit << order, *count;
	struct wanted blocks;

	want_units(space, 1ull << order, 1ull << order, 0, &blocks);
	blocks.most = want;
	count = segment_charge(&space->first, want * size);
	if (!count)
		return 0;
	n = set->empty ? 0 : set_take(space, set, slot, &blocks, magazine(slot, order));
	if (n < want)
		segment_uncharge(&space->first, count, (want - n) * size);
	WRITE_ONCE(slot->held, slot->held + (u32)(n << order));
	return n;
}

bool magazine_take(struct lath_space *space, unsigned int order, u64 *key)
{
	struct slot *slot = slot_lock(space);
	unsigned int n;

	LATH_ASSERT(order < ORDERS);
	if (unlikely(!slot))
		return false;
	n = slot->count[order];
	if (!n && READ_ONCE(space->magazines))
		n = magazine_fill(space, slot, order);
	LATH_ASSERT(n <= magazine_size[order] && slot->held >= n << order);
	if (n) {
		slot->count[order] = (u16)(n - 1);
		WRITE_ONCE(slot->held, slot->held - (u32)(1u << order));
		*key = magazine(slot, order)[n - 1];
	}
	lath_spin_unlock(&slot->lock);
	return n;
}

/* Returns the n oldest blocks of a magazine of a locked slot to their arenas. A block in a magazine
 * keeps its arena in use, so one that lies in none is a wrong free. */
static void magazine_flush(struct lath_space *space, struct slot *slot, unsigned int order,
			   unsigned int n)
{
	u64 *keys = magazine(slot, order);
	unsigned int i, bad = 0;

	LATH_ASSERT(n <= slot->count[order] && slot->held >= n << order);
	for (i = 0; i < n; i++)
		bad += arena_return(space, keys[i], 1ull << order, false) != 0;
	if (unlikely(bad))
		lath_fetch_add(&space->bad_frees, bad);
	segment_count(&space->first, -((n - bad) * (space->config.unit << order)));
	slot->count[order] = (u16)(slot->count[order] - n);
	memmove(keys, keys + n, slot->count[order] * sizeof(u64));
	WRITE_ONCE(slot->held, slot->held - (n << order));
}

bool magazine_give(struct lath_space *space, unsigned int order, u64 key)
{
	struct slot *slot = slot_lock(space);

	LATH_ASSERT(order < ORDERS);
	if (unlikely(!slot))
		return false;
	if (unlikely(!READ_ONCE(space->magazines))) {
		lath_spin_unlock(&slot->lock);
		return false;
	}
	if (unlikely(slot->count[order] >= capacity(slot, order))) {
		magazine_flush(space, slot, order,
			       min((unsigned int)FLUSH, (slot->count[order] + 1u) / 2));
		slot->tight -= slot->tight > 0;
	}
	LATH_ASSERT(slot->count[order] < magazine_size[order]);
	magazine(slot, order)[slot->count[order]++] = key;
	WRITE_ONCE(slot->held, slot->held + (1u << order));
	lath_spin_unlock(&slot->lock);
	return true;
}

bool magazines_drain(struct lath_space *space)
{
	unsigned int i, order, n;
	bool any = false;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = smp_load_acquire(&space->slot[i]); /* pairs with slot_make */

		for (order = 0; slot && READ_ONCE(slot->held) && order < ORDERS;) {
			lath_spin_lock(&slot->lock);
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

void slots_lock(struct lath_space *space)
{
	unsigned int i, rounds = 0;

	lath_spin_lock(&space->lock); /* no slot is made */
	for (i = 0; i < SLOTS; i++)
		while (space->slot[i] && !lath_spin_trylock(&space->slot[i]->lock))
			lath_spin_wait(&rounds);
}

void slots_unlock(struct lath_space *space)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (space->slot[i])
			lath_spin_unlock(&space->slot[i]->lock);
	lath_spin_unlock(&space->lock);
}

/* Sets the bits of 2^order units from a multiple of 2^order on. */
static void mark_block(u64 *map, u64 unit, unsigned int order)
{
	if (order < 6)
		map[unit / 64] |= lath_ones(1u << order) << unit % 64;
	else
		memset(&map[unit / 64], 0xff, (size_t)8 << (order - 6));
}

void slots_mark(struct lath_space *space, u64 block, u64 *map)
{
	unsigned int i, order, j;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = space->slot[i];

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

u64 slots_held(const struct lath_space *space)
{
	u64 held = 0;
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = smp_load_acquire(&space->slot[i]); /* pairs with slot_make */

		held += slot ? READ_ONCE(slot->held) : 0;
	}
	return held;
}
