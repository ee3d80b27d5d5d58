/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* magazine.h - caches of free blocks of 1, 2, 4 .. 256 units, in slots. */
#ifndef LATH_SPACE_SOURCE_MAGAZINE_H
#define LATH_SPACE_SOURCE_MAGAZINE_H

#include "space/space.h"

extern const struct shape lath_magazine_least;

/* Makes a slot. Returns it, or the one that another thread has made, or NULL (no memory). No lock
 * held. */
struct slot *lath_slot_make(struct lath_space *space, struct slot **at);

/* Returns the size of a slot with its magazines. */
static inline size_t slot_size(const struct lath_space *space)
{
#ifdef __KERNEL__
	return sizeof(struct slot) + space->shape.all * sizeof(u64);
#else
	(void)space;
	return sizeof(struct slot);
#endif
}

/* Returns the slot of the calling thread, or NULL (no memory). No lock held. */
static inline struct slot *slot_of(struct lath_space *space)
{
	unsigned int number = lath_stripe();
	/* a processor's number is less most often: no division */
	struct slot **at = &space->slot[likely(number < SLOTS) ? number : number % SLOTS];
	struct slot *slot = lath_load_pointer(at); /* pairs with lath_slot_make */

	return likely(slot) ? slot : lath_slot_make(space, at);
}

/* Returns the order of the magazines for ranges of n units, or ORDERS: there is none, or they are
 * not in use, which is read again under a slot's lock. */
static inline unsigned int magazine_order(const struct lath_space *space, u64 n)
{
	return READ_ONCE(space->magazines) && n < 1ull << ORDERS && !(n & (n - 1)) ? log2_up(n)
										   : ORDERS;
}

/* How often the capacity is halved when magazines are emptied. */
#define TIGHT 5

/* Returns how many blocks the magazines of a slot hold, and where. */
static inline const struct shape *shape_of(const struct slot *slot)
{
#ifdef __KERNEL__
	return &slot->shape;
#else
	(void)slot;
	return &lath_magazine_least;
#endif
}

/* Returns how many blocks a magazine may hold. The slot is locked. */
static inline unsigned int capacity(struct slot *slot, unsigned int order)
{
	LATH_ASSERT(lath_spin_mine(&slot->lock) && slot->tight <= TIGHT);
	return shape_of(slot)->size[order] >> slot->tight;
}

/* Returns the keys in a magazine of a locked slot: slot->count[order] of them, oldest first. */
static inline u64 *magazine(struct slot *slot, unsigned int order)
{
	LATH_ASSERT(lath_spin_mine(&slot->lock));
	LATH_ASSERT(slot->count[order] <= shape_of(slot)->size[order]);
	return slot->key + shape_of(slot)->begin[order];
}

/* Takes the newest block out of a magazine that has one: the thread's caches have what it
 * describes. The slot is locked. */
static inline u64 magazine_pop(const struct lath_space *space, struct slot *slot,
			       unsigned int order)
{
	unsigned int n = slot->count[order];
	u64 key = magazine(slot, order)[n - 1];

	LATH_ASSERT(n && slot->held >= n << order);
	LATH_ASSERT(!(units_of(space, key) & ((1ull << order) - 1)));
	slot->count[order] = (u16)(n - 1);
	WRITE_ONCE(slot->held, slot->held - (u32)(1u << order));
	return key;
}

/* For assertions: is the block free, in its arena or in a magazine? Then this free is the second
 * one. `mine` is locked; other slots that are locked are passed by. */
bool lath_magazine_has(struct lath_space *space, struct slot *mine, unsigned int order, u64 key);

/* Puts a block into a magazine that has room. The slot is locked. */
static inline void magazine_push(struct lath_space *space, struct slot *slot, unsigned int order,
				 u64 key)
{
	(void)space;
	LATH_ASSERT(!lath_magazine_has(space, slot, order, key));
	LATH_ASSERT(slot->count[order] < shape_of(slot)->size[order]);
	magazine(slot, order)[slot->count[order]++] = key;
	WRITE_ONCE(slot->held, slot->held + (1u << order));
}

/* Locks and returns the thread's slot, or NULL if that takes more than a look. In a call; no lock
 * held. */
static __always_inline struct slot *slot_trylock(struct lath_space *space)
{
	unsigned int number = lath_known_stripe();
	struct slot *slot;

	/* pairs with lath_slot_make */
	slot = lath_load_pointer(&space->slot[likely(number < SLOTS) ? number : number % SLOTS]);
	return likely(slot) && likely(lath_spin_trylock(&slot->lock)) ? slot : NULL;
}

/* Takes a block of 2^order units from a magazine; refills it from an arena. Returns whether it did.
 * No lock held. */
bool lath_magazine_alloc(struct lath_space *space, unsigned int order, u64 *key);
/* Puts a block of 2^order units, at a multiple of its size, into a magazine; flushes a part of a
 * full one first. Returns whether it did. No lock held. */
bool lath_magazine_free(struct lath_space *space, unsigned int order, u64 key);

/* Chooses the sizes of magazines in the kernel: not less than in user space, and `burst` blocks
 * where these are at most 8,192 units. */
void magazines_shape(struct shape *shape, unsigned int burst);
/* Switches the magazines on or off: they hold blocks of the first segment, and do not know of
 * limits. The caller holds the lock of the space, or excludes all other calls; it empties them
 * after that. */
void lath_magazines_choose(struct lath_space *space);
/* Empties the magazines of all slots. Returns whether there was a block. No lock held. */
bool lath_magazines_flush(struct lath_space *space);

/* Locks the space and all slots, in which blocks then neither come nor go, and unlocks them. No
 * lock held on entry of the first, on return of the second. */
void lath_slots_lock(struct lath_space *space);
void lath_slots_unlock(struct lath_space *space);
/* Sets the bits of the units of this block that a magazine holds. The slots are locked. */
void lath_slots_mark(struct lath_space *space, u64 block, u64 *map);
/* Returns the number of units in magazines. */
u64 lath_slots_held(const struct lath_space *space);

#endif /* LATH_SPACE_SOURCE_MAGAZINE_H */
