/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * finger.h - each thread remembers the leaves it used last and tries them before the walk.
 *
 * Neighbouring keys are used together; then the walk is saved, and the reader too: a leaf that is
 * locked, or whose word has not changed, is a leaf of this list. The finger is a hint: the leaf may
 * have been merged away, even have become another leaf of the same list. Its memory stays a leaf's
 * as long as the list lives, its word tells DEAD, and its version never repeats, so the fences read
 * under that word decide. The list is recognised by an id that is never used twice.
 * Not in the kernel (preemption) and not with LATH_NODE_EACH (there a retired leaf is freed).
 */
#ifndef LATH_SKIPLIST_FINGER_H
#define LATH_SKIPLIST_FINGER_H

#include "skiplist/list.h"

#ifdef __KERNEL__
static inline struct node *finger_try(struct skiplist *list, u64 key, u64 *word)
{
	return NULL;
}

static inline void finger_set(struct skiplist *list, struct node *leaf)
{
}
#else

/* Two, so that work at two places (the front and the back of a queue) finds both. */
#define FINGERS 2

struct fingers {
	u64 list_id;
	struct node *leaf[FINGERS];
};

extern __thread struct fingers lath_fingers __attribute__((tls_model("initial-exec")));

/* A leaf the thread has used lately, if it covers key; what is read in it is to be validated by *word. */
static inline struct node *finger_try(struct skiplist *list, u64 key, u64 *word)
{
	unsigned int i;

	if (lath_fingers.list_id != list->id)
		return NULL;
	for (i = 0; i < FINGERS; i++) {
		struct node *leaf = lath_fingers.leaf[i];
		u64 w = smp_load_acquire(&leaf->word); /* pairs with node_unlock */

		if (key < READ_ONCE(leaf->low) || key > READ_ONCE(leaf->last) || unlikely(w & NODE_FLAGS))
			continue;
		*word = w;
		return leaf;
	}
	return NULL;
}

static inline void finger_set(struct skiplist *list, struct node *leaf)
{
	if (unlikely(lath_fingers.list_id != list->id)) {
		if (list->each)
			return;
		lath_fingers.list_id = list->id;
		lath_fingers.leaf[0] = leaf;
	}
	lath_fingers.leaf[1] = lath_fingers.leaf[0];
	lath_fingers.leaf[0] = leaf;
}
#endif

#endif /* LATH_SKIPLIST_FINGER_H */
