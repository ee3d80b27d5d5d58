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
#ifndef LATH_INDEX_FINGER_H
#define LATH_INDEX_FINGER_H

#include "index/tree/tree.h"

/* Two, so that work at two places (the front and the back of a queue) finds both. */
#define FINGERS 2

#ifdef __KERNEL__
struct fingers {
	struct node *leaf[FINGERS];
};

/* Without memory there are no fingers. */
static inline void fingers_init(struct tree *list)
{
	if (!list->each)
		list->fingers = alloc_percpu_gfp(struct fingers, lath_gfp() | __GFP_NOWARN);
}

static inline void fingers_fini(struct tree *list)
{
	free_percpu(list->fingers);
}

static inline bool fingers_there(const struct tree *list)
{
	return list->fingers;
}

#define finger_leaf(list, i) this_cpu_read((list)->fingers->leaf[i])

static inline void finger_judge(bool good)
{
}

static inline void finger_set(struct tree *list, struct node *leaf)
{
	if (unlikely(!list->fingers))
		return;
	this_cpu_write(list->fingers->leaf[1], this_cpu_read(list->fingers->leaf[0]));
	this_cpu_write(list->fingers->leaf[0], leaf);
}
#else
/* So many misses in a row, and fingers are not looked at until a walk ends where one is: calls at
 * random places would only pay for them. */
#define FINGER_TRUST 8

struct fingers {
	u64 list_id;
	u64 trust;
	struct node *leaf[FINGERS];
	u64 turns; /* of all lists: see guide_turn */
};

extern __thread struct fingers lath_fingers __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline void fingers_init(struct tree *list)
{
	(void)list;
}

static inline void fingers_fini(struct tree *list)
{
	(void)list;
}

static inline bool fingers_there(const struct tree *list)
{
	return lath_fingers.list_id == list->id && lath_fingers.trust;
}

#define finger_leaf(list, i) (lath_fingers.leaf[i])

static inline void finger_judge(bool good)
{
	lath_fingers.trust = good ? FINGER_TRUST : lath_fingers.trust - 1;
}

static inline void finger_set(struct tree *list, struct node *leaf)
{
	struct fingers *f = &lath_fingers;

	if (unlikely(f->list_id != list->id)) {
		if (list->each)
			return;
		f->list_id = list->id;
		f->leaf[0] = leaf;
		f->leaf[1] = leaf;
	}
	if (unlikely(leaf == f->leaf[0] || leaf == f->leaf[1]))
		f->trust = FINGER_TRUST;
	if (leaf != f->leaf[0]) {
		f->leaf[1] = f->leaf[0];
		f->leaf[0] = leaf;
	}
}
#endif

/* The leaf the thread's next call will want. */
static inline void finger_point(struct tree *list, struct node *leaf)
{
	finger_set(list, leaf);
	finger_judge(true);
}

/* A leaf used lately, if it covers key; what is read in it is to be validated by *word. */
static __always_inline struct node *finger_try(struct tree *list, u64 key, u64 *word)
{
	unsigned int i;

	if (!fingers_there(list))
		return NULL;
	for (i = 0; i < FINGERS; i++) {
		struct node *leaf = finger_leaf(list, i);

		if (unlikely(!leaf))
			return NULL;
		if (node_holds(leaf, key, word)) {
			finger_judge(true);
			lath_delay("finger: leaf found");
			return leaf;
		}
	}
	finger_judge(false);
	return NULL;
}

#endif /* LATH_INDEX_FINGER_H */
