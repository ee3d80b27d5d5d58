/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slots.h - a space in which it is known whether there is room: for tests that judge -ENOSPC.
 *
 *   slot s   [32 s ............ 32 s + 24)  F  n n n n n n  F
 *            free, or in use by one range       filler      fences, never erased
 *
 * A request is for 13 to 24 units, so it fits in every free slot, in none that is in use, and not
 * between fences. Each alignment up to 32 is one of a slot's first key. Fillers come and go: nodes
 * are split, merged and filled up from their siblings, and slots move from node to node.
 */
#ifndef LATH_TESTS_SLOTS_H
#define LATH_TESTS_SLOTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/hole.h"

#define STRIDE 32u
#define SLOT 24u    /* units of a slot; two requests do not fit */
#define LEAST 13u   /* of a request */
#define FILLERS 6u  /* between the fences behind a slot */
#define POLICIES 5u /* all but EXACT, which is the last one */

static struct lath_index list;
static unsigned int slots;
static _Thread_local uint64_t random_state;

#define below(n) draw(&random_state, n)

static inline uint64_t slot_key(unsigned int slot)
{
	return (uint64_t)slot * STRIDE;
}

static inline unsigned int slot_of(uint64_t key)
{
	return (unsigned int)(key / STRIDE);
}

/* A unit that every range in the slot covers. */
static inline uint64_t slot_middle(unsigned int slot)
{
	return slot_key(slot) + LEAST - 1;
}

/* An index of n free slots; false: no memory. */
static inline bool slots_init(unsigned int n, unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int s;

	slots = n;
	config.flags = LATH_HOLES | flags;
	if (lath_index_init(&list, &config))
		return false;
	for (s = 0; s < n; s++) {
		struct lath_item left = { slot_key(s) + SLOT, 1, 0 };
		struct lath_item right = { slot_key(s) + STRIDE - 1, 1, 0 };

		if (lath_index_insert_item(&list, &left, NULL) ||
		    lath_index_insert_item(&list, &right, NULL))
			return false;
	}
	return true;
}

/* A request that every free slot serves; EXACT: at the first key of the slot. */
static inline struct lath_hole_request slots_request(enum lath_hole_policy policy,
						     unsigned int slot)
{
	struct lath_hole_request want = { .size = LEAST + below(SLOT - LEAST + 1),
					  .align = 1ull << below(6),
					  .high = slot_key(slots),
					  .policy = policy };

	want.hint = policy == LATH_HOLE_EXACT ? slot_key(slot) : below(want.high);
	if (!below(4))
		want.below = below(want.high);
	return want;
}

/* Insert, or erase, fillers behind a slot. */
static inline void slots_churn(unsigned int slot)
{
	uint64_t first = slot_key(slot) + SLOT + 1, i;

	switch (below(4)) {
	case 0:
		lath_index_erase_range(&list, first, FILLERS, NULL, NULL);
		break;
	case 1:
		lath_index_erase_item(&list, first + below(FILLERS), NULL);
		break;
	default:
		for (i = below(FILLERS); i < FILLERS; i++) {
			struct lath_item item = { first + i, 1, 0 };

			lath_index_insert_item(&list, &item, NULL);
		}
	}
}

/* Free what is in a slot, in one of all ways. Returns false if it was not there. */
static inline bool slots_free(uint64_t key, uint64_t size)
{
	int result = -ENOENT;

	switch (below(5)) {
	case 0:
		return !lath_index_erase_item_at(&list, key + below(size), NULL);
	case 1:
		return lath_index_erase_range(&list, key, size, NULL, NULL) == 1;
	case 2:
		return lath_index_erase_batch(&list, 1, &key, &result) == 1 && !result;
	case 3: /* in two steps */
		return !lath_index_resize(&list, key, 1 + below(size)) &&
		       !lath_index_erase_item(&list, key, NULL);
	default:
		return !lath_index_erase_item(&list, key, NULL);
	}
}

/* The invariants at rest; false: one is broken. */
static inline bool slots_sound(void)
{
	char text[200] = "";

	if (!lath_index_verify(&list, 6, text, sizeof(text)))
		return true;
	fprintf(stderr, "%s\n", text);
	return false;
}

#endif /* LATH_TESTS_SLOTS_H */
