/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * finger.h - each thread, or processor, remembers the leaves used last and tries them before the walk.
 *
 * Neighbouring keys are used together; then the walk is saved, and the reader too: a leaf that is
 * locked, or whose word has not changed, is a leaf of this list. The finger is a hint: the leaf may
 * have been merged away, even have become another leaf of the same list. Its memory stays a leaf's
 * as long as the list lives, its word tells DEAD, and its version never repeats, so the fences read
 * under that word decide. The list is recognised by an id that is never used twice.
 * Not with LATH_NODE_EACH (there a retired leaf is freed).
 *
 * User space keeps the fingers of the list used last in each thread. The kernel keeps them in each
 * processor, for each list: whoever is moved or interrupted meanwhile finds another hint, that is all.
 */
#ifndef LATH_SKIPLIST_FINGER_H
#define LATH_SKIPLIST_FINGER_H

#include "skiplist/list.h"

/* Two, so that work at two places (the front and the back of a queue) finds both. */
#define FINGERS 2

#ifdef __KERNEL__
struct fingers {
	struct node *leaf[FINGERS];
};

/* Without memory there are no fingers. */
static inline void fingers_init(struct skiplist *list)
{
	if (!list->each)
		list->fingers = alloc_percpu_gfp(struct fingers, lath_gfp() | __GFP_NOWARN);
}

static inline void fingers_fini(struct skiplist *list)
{
	free_percpu(list->fingers);
}

static inline bool fingers_there(const struct skiplist *list)
{
	return list->fingers;
}

#define finger_leaf(list, i) this_cpu_read((list)->fingers->leaf[i])

static inline void finger_set(struct skiplist *list, struct node *leaf)
{
	if (unlikely(!list->fingers))
		return;
	this_cpu_write(list->fingers->leaf[1], this_cpu_read(list->fingers->leaf[0]));
	this_cpu_write(list->fingers->leaf[0], leaf);
}
#else
struct fingers {
	u64 list_id;
	struct node *leaf[FINGERS];
};

extern __thread struct fingers lath_fingers __attribute__((tls_model("initial-exec")));

static inline void fingers_init(struct skiplist *list)
{
	(void)list;
}

static inline void fingers_fini(struct skiplist *list)
{
	(void)list;
}

static inline bool fingers_there(const struct skiplist *list)
{
	return lath_fingers.list_id == list->id;
}

#define finger_leaf(list, i) (lath_fingers.leaf[i])

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

/* A leaf used lately, if it covers key; what is read in it is to be validated by *word. */
static inline struct node *finger_try(struct skiplist *list, u64 key, u64 *word)
{
	unsigned int i;

	if (!fingers_there(list))
		return NULL;
	for (i = 0; i < FINGERS; i++) {
		struct node *leaf = finger_leaf(list, i);
		u64 w;

		if (unlikely(!leaf))
			return NULL;
		w = smp_load_acquire(&leaf->word); /* pairs with node_unlock */
		if (key < READ_ONCE(leaf->low) || key > READ_ONCE(leaf->last) || unlikely(w & NODE_FLAGS))
			continue;
		*word = w;
		return leaf;
	}
	return NULL;
}

#endif /* LATH_SKIPLIST_FINGER_H */
