/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * finger.h - each thread, or processor, remembers the two leaves it used last and tries them first.
 *
 * Neighbouring keys are used together; then a finger saves the descent. A finger is a hint: the
 * leaf may have been merged away since, or even be another leaf of the same tree. Its memory
 * stays a leaf's as long as the tree lives, its lockword says whether it is DEAD, and its version
 * never repeats, so the fence keys read under its lockword decide. The tree is recognised by an id
 * that is never used twice. With LATH_NODE_EACH, where a retired leaf is freed, there are no
 * fingers.
 *
 * User space keeps the fingers of the tree used last, per thread. The kernel keeps them per
 * processor and tree: a caller that is moved or interrupted meanwhile finds another hint, which
 * does no harm.
 */
#ifndef LATH_INDEX_FINGER_H
#define LATH_INDEX_FINGER_H

#include "tree/memory/section.h"

/* Two, so that work at two places (the front and the back of a queue) finds both. */
#define FINGERS 2

#ifdef __KERNEL__
struct fingers {
	struct node *leaf[FINGERS];
};

/* Allocate the tree's fingers; without memory it has none. */
static inline void fingers_init(struct tree *tree)
{
	if (nodes_stay(tree))
		tree->fingers = alloc_percpu_gfp(struct fingers, lath_gfp() | __GFP_NOWARN);
}

static inline void fingers_fini(struct tree *tree)
{
	free_percpu(tree->fingers);
}

static inline bool fingers_trusted(const struct tree *tree)
{
	return tree->fingers;
}

/* raw: where an operation on a processor's own data is more than an instruction, it need not be
 * protected from interrupts */
#define finger_leaf(tree, i) raw_cpu_read((tree)->fingers->leaf[i])

static inline void finger_judge(bool good)
{
}

static inline void finger_set(struct tree *tree, struct node *leaf)
{
	if (unlikely(!tree->fingers))
		return;
	raw_cpu_write(tree->fingers->leaf[1], raw_cpu_read(tree->fingers->leaf[0]));
	raw_cpu_write(tree->fingers->leaf[0], leaf);
}

#define finger_expect finger_set

static inline void finger_see(struct tree *tree, struct node *leaf)
{
}

static inline void finger_skip(const struct tree *tree)
{
}
#else
/* After this many misses in a row fingers are not tried until a leaf is found twice (finger_see):
 * calls at random places would only pay for them. */
#define FINGER_TRUST 8

struct fingers {
	u64 tree_id; /* 0: fingers are not tried */
	u64 trust;
	struct node *leaf[FINGERS];
	struct node *seen[FINGERS]; /* found last in any tree while they were not tried */
	u64 misses; /* searches that hint tables misled and that are not yet counted there */
};

extern LATH_TLS struct fingers lath_fingers __attribute__((visibility("hidden")));

static inline void fingers_init(struct tree *tree)
{
	(void)tree;
}

static inline void fingers_fini(struct tree *tree)
{
	(void)tree;
}

/* Are this thread's fingers on this tree, and did they help lately? */
static inline bool fingers_trusted(const struct tree *tree)
{
	return lath_fingers.tree_id == tree->id;
}

#define finger_leaf(tree, i) (lath_fingers.leaf[i])

/* The finger led to the right leaf, or neither did. */
static inline void finger_judge(bool good)
{
	struct fingers *f = &lath_fingers;

	f->trust = good ? FINGER_TRUST : f->trust - 1;
	if (unlikely(!f->trust))
		f->tree_id = 0;
}

/* Remember the leaf that the thread's next call will want. */
static inline void finger_expect(struct tree *tree, struct node *leaf)
{
	struct fingers *f = &lath_fingers;
	/* another tree: its id is never used again, so the old fingers lead nowhere any more */
	bool other = f->tree_id != tree->id;

	LATH_ASSERT(leaf);
	if (!nodes_stay(tree))
		return;
	if (other || leaf != f->leaf[0])
		f->leaf[1] = other ? leaf : f->leaf[0];
	f->leaf[0] = leaf;
	f->tree_id = tree->id;
	f->trust = FINGER_TRUST;
}

/* A leaf was found while fingers were not tried. From the second time on that the thread finds it
 * so, they are; the address may have been another tree's leaf the first time. */
static __always_inline void finger_see(struct tree *tree, struct node *leaf)
{
	struct fingers *f = &lath_fingers;

	if (unlikely(leaf == f->seen[0] || leaf == f->seen[1])) {
		finger_expect(tree, leaf);
		return;
	}
	f->seen[1] = f->seen[0];
	f->seen[0] = leaf;
}

/* A call will look for its leaf once more: that it finds the same one says nothing of the next. */
static inline void finger_skip(const struct tree *tree)
{
	(void)tree;
	lath_fingers.seen[0] = lath_fingers.seen[1];
}

/* Remember a leaf that was found without a finger. */
static inline void finger_set(struct tree *tree, struct node *leaf)
{
	struct fingers *f = &lath_fingers;

	if (!fingers_trusted(tree)) {
		finger_see(tree, leaf);
	} else if (leaf != f->leaf[0]) {
		f->leaf[1] = f->leaf[0];
		f->leaf[0] = leaf;
	}
}
#endif

/* Returns a leaf used lately that covers key, with its lockword, which the caller validates; or
 * NULL. */
static __always_inline struct node *finger_find(struct tree *tree, u64 key, u64 *lockword)
{
	unsigned int i;

	if (!fingers_trusted(tree))
		return NULL;
	for (i = 0; i < FINGERS; i++) {
		struct node *leaf = finger_leaf(tree, i);

		if (unlikely(!leaf))
			return NULL;
		if (node_holds(leaf, key, lockword)) {
			finger_judge(true);
			lath_delay("finger: leaf found");
			return leaf;
		}
	}
	finger_judge(false);
	return NULL;
}

#endif /* LATH_INDEX_FINGER_H */
