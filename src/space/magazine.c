/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * magazine.c - caches of free blocks, in slots over which the threads are distributed.
 *
 * A thread locks the slot of its number, or a neighbour if that one is locked. Magazines hold keys
 * of the first set only. When a request finds no room and the magazines are emptied, their capacity
 * shrinks to 1/32; each overflow of a magazine doubles it again. So in a full space magazines hold
 * back few blocks.
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

struct slot *slot_of(struct lath_space *space)
{
	return &space->slots[lath_stripe() % SLOTS];
}

/* Locks and returns the thread's slot, or a neighbour if the slot is locked. */
static struct slot *slot_lock(struct lath_space *space)
{
	struct slot *slot = slot_of(space), *next = slot == space->slots ? slot + 1 : slot - 1;

	if (likely(lath_spin_trylock(&slot->lock)))
		return slot;
	if (lath_spin_trylock(&next->lock))
		return next;
	lath_spin_lock(&slot->lock);
	return slot;
}

bool magazine_take(struct lath_space *space, unsigned int order, u64 *key)
{
	struct slot *slot = slot_lock(space);
	unsigned int n = slot->count[order];
	u64 *keys = magazine(slot, order);

	LATH_ASSERT(order < ORDERS);
	if (!n) {
		n = set_take(space, &space->set[0], slot, 1ull << order,
			     (capacity(slot, order) + 3) / 4, 0, keys);
		WRITE_ONCE(slot->held, slot->held + (u32)(n << order));
	}
	LATH_ASSERT(n <= magazine_size[order] && slot->held >= n << order);
	if (n) {
		slot->count[order] = (u16)(n - 1);
		WRITE_ONCE(slot->held, slot->held - (u32)(1u << order));
		*key = keys[n - 1];
	}
	lath_spin_unlock(&slot->lock);
	return n;
}

static void give_all(struct lath_space *space, const u64 *key, unsigned int n, u64 size)
{
	while (n--)
		if (free_range(space, key[n], size))
			lath_fetch_add(&space->bad_frees, 1);
}

/* Removes the n oldest blocks from a magazine of a locked slot. */
static void magazine_shift(struct slot *slot, unsigned int order, u64 *out, unsigned int n)
{
	u64 *keys = magazine(slot, order);

	LATH_ASSERT(n <= slot->count[order] && slot->held >= n << order);
	memcpy(out, keys, n * sizeof(u64));
	slot->count[order] = (u16)(slot->count[order] - n);
	memmove(keys, keys + n, slot->count[order] * sizeof(u64));
	WRITE_ONCE(slot->held, slot->held - (n << order));
}

void magazine_give(struct lath_space *space, unsigned int order, u64 key)
{
	struct slot *slot = slot_lock(space);
	unsigned int flushed = 0;
	u64 out[FLUSH];

	LATH_ASSERT(order < ORDERS);
	if (unlikely(slot->count[order] >= capacity(slot, order))) {
		flushed = min((unsigned int)FLUSH, (slot->count[order] + 1u) / 2);
		magazine_shift(slot, order, out, flushed);
		slot->tight -= slot->tight > 0;
	}
	LATH_ASSERT(slot->count[order] < magazine_size[order]);
	magazine(slot, order)[slot->count[order]++] = key;
	WRITE_ONCE(slot->held, slot->held + (1u << order));
	lath_spin_unlock(&slot->lock);
	give_all(space, out, flushed, space->config.unit << order);
}

bool magazines_drain(struct lath_space *space)
{
	unsigned int i, order, n;
	bool any = false;
	u64 out[FLUSH];

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = &space->slots[i];

		for (order = 0; READ_ONCE(slot->held) && order < ORDERS;) {
			lath_spin_lock(&slot->lock);
			slot->tight = TIGHT;
			n = min((unsigned int)FLUSH, (unsigned int)slot->count[order]);
			magazine_shift(slot, order, out, n);
			lath_spin_unlock(&slot->lock);
			give_all(space, out, n, space->config.unit << order);
			any |= n;
			order += n < FLUSH;
		}
	}
	return any;
}
