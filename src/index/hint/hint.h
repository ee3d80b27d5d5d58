/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hint.h - the hint table: from a key to its leaf without a descent.
 *
 * The table divides the range of the keys into equal steps, a flat learned index (Kraska et al.,
 * "The case for learned index structures", SIGMOD 2018) over the leaves. A slot says which leaf
 * covers its middle, where in the slot that leaf begins, and how dense its entries are, so that a
 * search prefetches the leaf's header and the pairs it will need at once: one miss for the slot,
 * one for the leaf. Like a finger, a slot is a hint: the leaf's memory stays a leaf's of this tree,
 * and its lockword and fence keys tell whether it is the right one. Where keys do not lie evenly,
 * most slots mislead, and the table is not used.
 *
 * Maintenance never blocks. A writer that changes a leaf's fence keys, or that reached the leaf it
 * now holds by a descent, updates the slots nearby (hint_publish). After every LATH_HINT_INTERVAL
 * changes that did not go by a finger, the thread that made them refreshes the slots of the leaves
 * below one level-1 node, in turn (hint_tick). The table takes 12 to 24 bytes per leaf, 1/70 of the
 * tree. Only calls that may allocate ask for its memory, with no lock held. Its memory stays until
 * the tree ends, so looking at it needs no read-side critical section.
 *
 * There is no table with LATH_NODE_EACH, in shared memory and in the kernel.
 */
#ifndef LATH_INDEX_HINT_H
#define LATH_INDEX_HINT_H

#include "index/hint/finger.h"
#include "index/tree/descend.h"

/* Changes between two maintenance steps. While there is no table yet, or it is new: 1/16 of
 * that. */
#ifndef LATH_HINT_INTERVAL
#define LATH_HINT_INTERVAL 1024
#endif
#define HINT_INTERVAL LATH_HINT_INTERVAL
#define HINT_INTERVAL_FIRST (HINT_INTERVAL < 16 ? 1 : HINT_INTERVAL / 16)
_Static_assert(HINT_INTERVAL < 65536, "fits tree->hint_interval");

#ifdef __KERNEL__
static inline const struct hint *hint_of(const struct tree *tree)
{
	return NULL;
}

static inline struct node *hint_find(const struct tree *tree, u64 key, u64 *lockword,
				     enum intent intent)
{
	return NULL;
}

static inline void hint_prefetch(const struct tree *tree, u64 key)
{
}

static inline void hint_predict_all(const struct hint *hint, unsigned int n, const u64 *key,
				    size_t stride, struct node **leaf)
{
}

static inline void hint_publish(struct tree *tree, const struct node *leaf, u64 key)
{
}

static inline void hint_count(struct tree *tree, unsigned int changes)
{
}

static inline void hint_tick(struct tree *tree, bool may_allocate)
{
}

static inline void hint_consider(struct tree *tree)
{
}

static inline void hint_build(struct tree *tree)
{
}

static inline u64 hint_bytes(const struct tree *tree)
{
	return 0;
}

static inline void hint_fini(struct tree *tree)
{
}
#else

/* A position is a key's place in the table, in 1/2^HINT_PARTS of a slot. */
#define HINT_PARTS 5
/* A slot: the leaf's address / 64 in bits 0..41; then the position in the slot where the leaf
 * begins, plus HINT_BEGIN; then its entries per part of a slot, times 2^HINT_DENSE. */
#define HINT_LEAF 42
#define HINT_PART 11
#define HINT_PART_MAX ((1u << HINT_PART) - 1)
#define HINT_DENSE 7
#define HINT_BEGIN (1 << (HINT_PART - 1))

/* The table grows in segments: the first has 2^HINT_SEGMENT slots, each further one as many as all
 * before it. */
#define HINT_SEGMENT 10
#define HINT_SEGMENTS 20

#define HINT_SAMPLES 256

struct hint {
	u64 base;
	u64 scale; /* position = (key - base) * scale >> (64 - HINT_PARTS) */
	u64 slots; /* slots in use; their segments are allocated */
	u64 fill;  /* tree->leaf_fill */
	uintptr_t
		segment[HINT_SEGMENTS]; /* where slot 0 would be if all slots followed each other */
	/* written under tree->hint_lock */
	u64 last;
	unsigned int segments;
	void *memory[HINT_SEGMENTS];
	u64 want, want_first,
		want_last; /* remap to so many slots over these keys once there is memory; 0: no */
	struct hint_pass { /* what the current pass over all leaves has seen */
		u64 cursor, leaves, hinted;
		unsigned int samples, stride; /* the logarithm of the stride */
		u64 sample[HINT_SAMPLES];
	} pass;
};

/* The table, or NULL while it is not worth using. */
static __always_inline const struct hint *hint_of(const struct tree *tree)
{
	return smp_load_acquire(&tree->hint); /* pairs with the store in hint.c end_pass */
}

static __always_inline u64 hint_position(const struct hint *hint, u64 key)
{
	u64 base = READ_ONCE(hint->base), at = key > base ? key - base : 0;
	u128 product = (u128)at * READ_ONCE(hint->scale);

	if (unlikely((u64)(product >> 64) >> (63 - HINT_PARTS))) /* far behind the table */
		return KEY_MAX >> 1;
	return (u64)(product >> (64 - HINT_PARTS));
}

/* Slot i; i is below the number of slots. */
static __always_inline u64 *hint_slot(const struct hint *hint, u64 i)
{
	return (u64 *)(hint->segment[fls64(i >> HINT_SEGMENT)] + i * sizeof(u64));
}

/* The estimated index of the entry at `part` of the slot. Negative: left of the leaf; above its
 * fill: right of it. */
static __always_inline s64 hint_entry(u64 slot, s64 part)
{
	part += HINT_BEGIN - (s64)(slot >> HINT_LEAF & HINT_PART_MAX);
	return part * (s64)(slot >> (HINT_LEAF + HINT_PART)) >> HINT_DENSE;
}

/* Predict the leaf that covers key, and the address of the key's pair in it. Returns NULL if there
 * is no hint. */
static __always_inline struct node *hint_predict(const struct hint *hint, u64 key,
						 const char **pair)
{
	u64 slots = smp_load_acquire(&hint->slots); /* pairs with the store in hint.c remap */
	u64 at = hint_position(hint, key), i = at >> HINT_PARTS, slot;
	s64 part = (s64)(at - (i << HINT_PARTS)), entry;
	struct node *leaf;

	if (unlikely(i >= slots))
		return NULL;
	slot = READ_ONCE(*hint_slot(hint, i));
	entry = hint_entry(slot, part);
	/* the boundary of two leaves lies in this slot, and the key belongs to the other one */
	if (unlikely((u64)entry > hint->fill)) {
		bool left = entry < 0;

		i += left ? -1ull : 1;
		if (unlikely(i >= slots))
			return NULL;
		slot = READ_ONCE(*hint_slot(hint, i));
		entry = hint_entry(slot, part + (left ? 1 : -1) * (1 << HINT_PARTS));
		entry = max(entry, (s64)0);
		entry = min(entry, (s64)NODE_CAP - 1);
	}
	leaf = (struct node *)(uintptr_t)((slot & ((1ull << HINT_LEAF) - 1)) << 6);
	if (unlikely(!leaf))
		return NULL;
	*pair = (const char *)&leaf->pair[entry];
	return leaf;
}

/* Returns the leaf that covers key, by the table, with its lockword; NULL: the caller descends. */
static __always_inline struct node *hint_find(const struct tree *tree, u64 key, u64 *lockword,
					      enum intent intent)
{
	const struct hint *hint = hint_of(tree);
	struct node *leaf;
	const char *pair;

	if (!hint)
		return NULL;
	leaf = hint_predict(hint, key, &pair);
	if (unlikely(!leaf))
		return NULL;
	prefetch_leaf(leaf, pair, intent);
	return leaf_check(leaf, key, lockword);
}

/* An insert of key will come soon: prefetch what it needs. */
static inline void hint_prefetch(const struct tree *tree, u64 key)
{
	const struct hint *hint = hint_of(tree);
	struct node *leaf = NULL;
	const char *pair;

	/* with trusted fingers the leaf is in the cache */
	if (hint && !fingers_trusted(tree))
		leaf = hint_predict(hint, key, &pair);
	if (leaf)
		prefetch_leaf(leaf, pair, FOR_INSERT);
}

/* Predict the leaves of n keys, `stride` bytes apart, and prefetch their headers and heads. The
 * caller checks them (leaf_check). NULL: no hint for this key. */
static __always_inline void hint_predict_all(const struct hint *hint, unsigned int n,
					     const u64 *key, size_t stride, struct node **leaf)
{
	u64 slots = smp_load_acquire(&hint->slots); /* pairs with the store in hint.c remap */
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 at = hint_position(hint, *(const u64 *)((const char *)key + i * stride));

		prefetch((const char *)hint_slot(hint, min(at >> HINT_PARTS, slots - 1)));
	}
	for (i = 0; i < n; i++) {
		const char *pair;

		leaf[i] = hint_predict(hint, *(const u64 *)((const char *)key + i * stride), &pair);
		if (unlikely(!leaf[i]))
			continue;
		prefetch((const char *)leaf[i]);
		prefetch((const char *)leaf[i] + 64);
	}
}

/* Do one maintenance step, if no other thread does. May allocate: no lock is held and the caller
 * may allocate. */
void hint_maintain(struct tree *tree, bool may_allocate);
void hint_publish_near(struct tree *tree, const struct node *leaf, u64 key);
/* The tree has grown: is it large enough to have a table? No lock held. */
void hint_consider(struct tree *tree);
/* Build the whole table at once. Allocates; no lock held. Concurrent calls of other threads are
 * allowed. */
void hint_build(struct tree *tree);
/* Bytes of memory the table takes. */
u64 hint_bytes(const struct tree *tree);
void hint_fini(struct tree *tree);

/* Update the slots near key for a locked leaf: its fence keys changed, or the table did not lead to
 * it for key. */
static inline void hint_publish(struct tree *tree, const struct node *leaf, u64 key)
{
	if (hint_of(tree))
		hint_publish_near(tree, leaf, key);
}

/* Count changes that this thread makes without a finger. */
static inline void hint_count(struct tree *tree, unsigned int changes)
{
	if (READ_ONCE(tree->hint_interval))
		lath_fingers.changes += changes;
}

/* Maintain the table if enough changes were counted. No lock held. */
static inline void hint_tick(struct tree *tree, bool may_allocate)
{
	if (unlikely(lath_fingers.changes >= HINT_INTERVAL_FIRST)) {
		unsigned int interval = READ_ONCE(tree->hint_interval);

		if (interval && lath_fingers.changes >= interval)
			hint_maintain(tree, may_allocate);
	}
}

/* Leaves from which on a tree has a table: what fits the caches is descended as fast. Tests set it
 * to 1. */
extern unsigned int lath_hint_least;
#endif

#endif /* LATH_INDEX_HINT_H */
