/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * guide.h - keys to leaves without a walk: a table over the range of the keys, in equal steps.
 *
 * A slot says which leaf covers its middle, where in the slot that leaf begins, and how dense its entries are, so that a
 * search can ask for the leaf's header and for the pairs it will need at once, after one miss instead of one a level.
 * All of it is a hint, as a finger is (finger.h): the leaf's memory stays a leaf's of this list, and its word and
 * fences tell whether it is the right one. Where keys do not lie evenly the table is not used.
 *
 * Nobody waits for it. Writers refresh it: whoever had to walk to a leaf and locks it, and whoever moves fences, lets the slots near
 * lead there; and every GUIDE_TURN changes somebody refreshes the leaves of one parent, in turn. It takes 12 to 24 bytes a
 * leaf, one part in 70 of a list, asked for by inserts alone; it is never given back while the list lives, so that
 * looking at it needs no reader.
 *
 * Not with LATH_NODE_EACH (there a leaf's memory does not stay one's), not in shared memory, not in the kernel.
 */
#ifndef LATH_INDEX_GUIDE_H
#define LATH_INDEX_GUIDE_H

#include "index/hint/finger.h"
#include "index/tree/descend.h"

/* Changes between two steps of the keeping, and while there is no guide yet, or the table is new. */
#ifndef LATH_GUIDE_TURN
#define LATH_GUIDE_TURN 1024
#endif
#define GUIDE_TURN LATH_GUIDE_TURN
#define GUIDE_TURN_FIRST (GUIDE_TURN < 16 ? 1 : GUIDE_TURN / 16)
_Static_assert(GUIDE_TURN < 65536, "list->guide_turn");

#ifdef __KERNEL__
static inline const struct guide *guide_of(const struct tree *list)
{
	return NULL;
}

static inline struct node *guide_leaf(const struct tree *list, u64 key, u64 *word, enum walk_for use)
{
	return NULL;
}

static inline void guide_ask(const struct tree *list, u64 key)
{
}

static inline void guide_ask_all(const struct guide *guide, unsigned int fill, unsigned int n, const u64 *key,
				 size_t stride, struct node **leaf)
{
}

static inline void guide_lead(struct tree *list, const struct node *leaf, u64 key)
{
}

static inline void guide_turn(struct tree *list, unsigned int changes, bool may_allocate)
{
}

static inline void guide_allow(struct tree *list, u64 bytes)
{
}

static inline void guide_make(struct tree *list)
{
}

static inline u64 guide_bytes(const struct tree *list)
{
	return 0;
}

static inline void guide_fini(struct tree *list)
{
}
#else

/* A position is a key's place in the table, in parts of a slot. */
#define GUIDE_PARTS 5
/* A slot: leaf / 64 in bits 0..41; then, in parts, where in the slot the leaf begins; and how many of its entries, in
 * 1 / 2^GUIDE_DENSE, there are to a part. */
#define GUIDE_LEAF 42
#define GUIDE_PART 11
#define GUIDE_PART_MAX ((1u << GUIDE_PART) - 1)
#define GUIDE_DENSE 7
#define GUIDE_BEGIN (1 << (GUIDE_PART - 1)) /* this: where the slot begins */

/* The table grows in segments: the first has 2^GUIDE_SEGMENT slots, each further one as many as all before it. */
#define GUIDE_SEGMENT 10
#define GUIDE_SEGMENTS 20

#define GUIDE_SAMPLES 256

struct guide {
	u64 base;
	u64 scale;			   /* position = (key - base) * scale >> (64 - GUIDE_PARTS) */
	u64 slots;			   /* their segments are there */
	uintptr_t segment[GUIDE_SEGMENTS]; /* where slot 0 would be if all were in one piece */
	/* written under list->guide_lock */
	u64 last;
	unsigned int segments;
	void *memory[GUIDE_SEGMENTS];  /* of the segments */
	u64 want, aim_first, aim_last; /* so many slots for these keys as soon as there is memory; 0: none */
	struct guide_round {	       /* what was seen on the way from the first parent to the last */
		u64 hand, leaves, led;
		unsigned int samples, stride; /* the latter's logarithm */
		u64 sample[GUIDE_SAMPLES];
	} round;
};

/* Is there one, and is it worth a look? */
static __always_inline const struct guide *guide_of(const struct tree *list)
{
	return smp_load_acquire(&list->guide); /* pairs with the store in guide.c end_round */
}

static __always_inline u64 guide_position(const struct guide *guide, u64 key)
{
	u64 base = READ_ONCE(guide->base), at = key > base ? key - base : 0;
	u128 product = (u128)at * READ_ONCE(guide->scale);

	if (unlikely((u64)(product >> 64) >> (63 - GUIDE_PARTS))) /* far behind the table */
		return KEY_MAX >> 1;
	return (u64)(product >> (64 - GUIDE_PARTS));
}

/* Slot i, below the number of slots. */
static __always_inline u64 *guide_slot(const struct guide *guide, u64 i)
{
	return (u64 *)(guide->segment[fls64(i >> GUIDE_SEGMENT)] + i * sizeof(u64));
}

/* About where in the leaf a slot leads to a position is: the number of an entry, below 0 left of the leaf, above those it has
 * to its right. */
static __always_inline s64 guide_entry(u64 slot, s64 part)
{
	part += GUIDE_BEGIN - (s64)(slot >> GUIDE_LEAF & GUIDE_PART_MAX);
	return part * (s64)(slot >> (GUIDE_LEAF + GUIDE_PART)) >> GUIDE_DENSE;
}

/* The leaf for a key, or NULL, and about where the key is among the `fill` entries it has. */
static __always_inline struct node *guide_look(const struct guide *guide, u64 key, unsigned int fill,
					       const char **pair)
{
	u64 slots = smp_load_acquire(&guide->slots); /* pairs with the store in guide.c aim */
	u64 at = guide_position(guide, key), i = at >> GUIDE_PARTS, slot;
	s64 part = (s64)(at - (i << GUIDE_PARTS)), entry;
	struct node *leaf;

	if (unlikely(i >= slots))
		return NULL;
	slot = READ_ONCE(*guide_slot(guide, i));
	entry = guide_entry(slot, part);
	/* the slot has the border of two leaves, and the key is the other one's */
	if (unlikely((u64)entry > fill)) {
		bool left = entry < 0;

		i += left ? -1ull : 1;
		if (unlikely(i >= slots))
			return NULL;
		slot = READ_ONCE(*guide_slot(guide, i));
		entry = guide_entry(slot, part + (left ? 1 : -1) * (1 << GUIDE_PARTS));
		entry = max(entry, (s64)0);
		entry = min(entry, (s64)NODE_CAP - 1);
	}
	leaf = (struct node *)(uintptr_t)((slot & ((1ull << GUIDE_LEAF) - 1)) << 6);
	if (unlikely(!leaf))
		return NULL;
	*pair = (const char *)&leaf->pair[entry];
	return leaf;
}

/* The leaf that covers key, and its word as it was when that was so; NULL: by a walk. */
static __always_inline struct node *guide_leaf(const struct tree *list, u64 key, u64 *word,
					       enum walk_for use)
{
	const struct guide *guide = guide_of(list);
	struct node *leaf;
	const char *pair;

	if (!guide)
		return NULL;
	leaf = guide_look(guide, key, leaf_fill(list), &pair);
	if (unlikely(!leaf))
		return NULL;
	prefetch_leaf(leaf, pair, use, leaf_fill(list));
	return leaf_settle(leaf, key, word);
}

/* An insert of key will come: ask memory for what it needs. */
static inline void guide_ask(const struct tree *list, u64 key)
{
	const struct guide *guide = guide_of(list);
	struct node *leaf = NULL;
	const char *pair;

	/* neighbouring keys find their leaves by the fingers, in the cache */
	if (guide && !fingers_there(list))
		leaf = guide_look(guide, key, leaf_fill(list), &pair);
	if (leaf)
		prefetch_leaf(leaf, pair, WALK_TO_INSERT, leaf_fill(list));
}

/* The leaves for n keys, their headers and heads asked for: leaf_settle is to look at them. NULL: by a walk. */
static __always_inline void guide_ask_all(const struct guide *guide, unsigned int fill, unsigned int n,
					  const u64 *key, size_t stride, struct node **leaf)
{
	u64 slots = smp_load_acquire(&guide->slots); /* pairs with the store in guide.c aim */
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 at = guide_position(guide, *(const u64 *)((const char *)key + i * stride));

		prefetch((const char *)guide_slot(guide, min(at >> GUIDE_PARTS, slots - 1)));
	}
	for (i = 0; i < n; i++) {
		const char *pair;

		leaf[i] = guide_look(guide, *(const u64 *)((const char *)key + i * stride), fill, &pair);
		if (unlikely(!leaf[i]))
			continue;
		prefetch((const char *)leaf[i]);
		prefetch((const char *)leaf[i] + 64);
	}
}

void guide_keep(struct tree *list, bool may_allocate);
void guide_lead_near(struct tree *list, const struct node *leaf, u64 key);
/* The whole table at once, for a list that has just been loaded. */
void guide_make(struct tree *list);
u64 guide_bytes(const struct tree *list);
void guide_fini(struct tree *list);
/* The leaves' pool has so many bytes now: is the list large enough to have one? */
void guide_allow(struct tree *list, u64 bytes);

/* A locked leaf's fences are new, or the guide did not lead to it for key: let it. */
static inline void guide_lead(struct tree *list, const struct node *leaf, u64 key)
{
	if (guide_of(list))
		guide_lead_near(list, leaf, key);
}

/* So many changes went to leaves found by the walk or the guide. No lock held. */
static inline void guide_turn(struct tree *list, unsigned int changes, bool may_allocate)
{
	unsigned int turn = READ_ONCE(list->guide_turn);

	if (!turn)
		return;
	lath_fingers.turns += changes;
	if (unlikely(lath_fingers.turns >= turn))
		guide_keep(list, may_allocate);
}

/* Leaves from which on there is a guide: what fits the caches is walked to as fast. Tests begin at once. */
extern unsigned int lath_guide_least;
#endif

/* The leaf that covers key, and its word as it was when that was so: by the guide, or else by the walk. */
static __always_inline struct node *reach_leaf(struct tree *list, u64 key, u64 *word, enum walk_for use)
{
	struct node *leaf = guide_leaf(list, key, word, use);

	return likely(leaf) ? leaf : descend(list, key, word, use);
}

#endif /* LATH_INDEX_GUIDE_H */
