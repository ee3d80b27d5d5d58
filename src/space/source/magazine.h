/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* magazine.h - caches of free blocks of 1, 2, 4 .. 256 units, in slots. */
#ifndef LATH_SPACE_SOURCE_MAGAZINE_H
#define LATH_SPACE_SOURCE_MAGAZINE_H

#include "space/space.h"

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
