/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* free.c - frees: to a magazine, to arenas, or from the index. */
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Frees [key, key + *piece), the first part of [key, key + size): of one arena, or of the index up
 * to the first arena. 0 | -EINVAL | -ENOMEM. No lock held. */
static inline int free_piece(struct lath_space *space, u64 key, u64 size, u64 *piece)
{
	int ret = 1;

	/* the arena is asked first; without one the index has the block, and may have more */
	*piece = piece_of(space, key, size);
	if (likely(has_arenas(space)))
		ret = lath_arenas_free(space, key, units_of(space, *piece), true);
	return likely(ret != 1) ? ret : lath_index_free(space, key, size, piece);
}

int lath_free_range(struct lath_space *space, u64 key, u64 size)
{
	u64 piece;
	int ret = 0;

	LATH_ASSERT(whole_units(space, key, size));
	for (; size && !ret; key += piece, size -= piece)
		ret = free_piece(space, key, size, &piece);
	return ret;
}

/* Frees whole units: to a magazine if one holds such blocks, else to where they came from. Results
 * as those of lath_space_free(). No lock held. */
static int free_keys(struct lath_space *space, u64 key, u64 size)
{
	u64 n = units_of(space, size), piece;
	unsigned int order = magazine_order(space, n);
	int ret;

	/* whether it was allocated is looked at when the magazine is flushed */
	if (order < ORDERS && !(units_of(space, key) & (n - 1)) && arena_cached(space, key) &&
	    lath_magazine_free(space, order, key))
		return 0;
	/* most ranges lie in one arena, or are one item: the first piece is all */
	ret = free_piece(space, key, size, &piece);
	return likely(ret || piece == size) ? ret
					    : lath_free_range(space, key + piece, size - piece);
}

/* lath_space_free() wherever its shortcut does not do. */
static noinline int free_range(struct lath_space *space, u64 key, u64 size)
{
	int ret;

	if (!whole_units(space, key, size) || size - 1 > KEY_MAX - key)
		return -EINVAL;
	lath_call_enter();
	/* a wrong free is found by the arena or the index, or when a magazine is flushed */
	ret = free_keys(space, key, size);
	lath_call_exit();
	return ret;
}

/* Puts a block into the thread's magazine, if that has room, and nobody has it locked. */
int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size)
{
	u64 n = units_of(space, size);
	unsigned int order = ORDERS;
	struct slot *slot;
	bool room = false;

	if (likely(whole_units(space, key, size)))
		order = magazine_order(space, n);
	if (unlikely(order >= ORDERS || units_of(space, key) & (n - 1) ||
		     !arena_cached(space, key) || !lath_call_try_enter()))
		return free_range(space, key, size);
	slot = slot_trylock(space);
	if (likely(slot)) {
		/* read under the lock: see lath_magazine_alloc() */
		room = READ_ONCE(space->magazines) && slot->count[order] < capacity(slot, order);
		if (likely(room))
			magazine_push(space, slot, order, key);
		lath_spin_unlock(&slot->lock);
	}
	lath_call_exit();
	return likely(room) ? 0 : free_range(space, key, size);
}
