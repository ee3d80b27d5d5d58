/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * finger.h - each thread remembers the leaf it used last and tries it before the walk.
 *
 * Neighbouring keys are used together; then the walk is saved. The finger is a hint: the leaf may
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

struct finger {
	u64 list_id;
	struct node *leaf;
};

extern __thread struct finger lath_finger __attribute__((tls_model("initial-exec")));

static inline struct node *finger_try(struct skiplist *list, u64 key, u64 *word)
{
	struct node *leaf;
	u64 w;

	if (lath_finger.list_id != list->id)
		return NULL;
	leaf = lath_finger.leaf;
	w = smp_load_acquire(&leaf->word); /* pairs with node_unlock */
	if (unlikely(w & (NODE_LOCKED | NODE_DEAD | NODE_VOID)))
		return NULL;
	if (key < READ_ONCE(leaf->low) || key > READ_ONCE(leaf->last))
		return NULL;
	*word = w;
	return leaf;
}

static inline void finger_set(struct skiplist *list, struct node *leaf)
{
	if (list->each)
		return;
	lath_finger.list_id = list->id;
	lath_finger.leaf = leaf;
}
#endif

#endif /* LATH_SKIPLIST_FINGER_H */
