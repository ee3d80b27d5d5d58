/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.h - a set of intervals: trees by length class, and lists of intervals that begin at one key.
 *
 * An interval from `first` to its last key is the point `first` with the word span = last - first,
 * in the class of its span:
 *
 *   class 0   span 0                   class k   32^(k-1) <= span < 32^k
 *
 * A search for intervals that reach a key p need not look in a class at first keys below p less the
 * longest span that the class has ever had. Narrower classes have fewer intervals that such a
 * search looks at without result, but each class takes a lookup: with a factor of 4 or 8 a stab
 * took longer, with 64 about as long (doc/decisions.md).
 *
 * A tree holds one interval per first key. A class therefore has up to three trees, its places: in
 * each of the first two an interval is an entry, in the third one an entry leads to a list of all
 * further ones with this first key (list.c). An interval never moves from one place to another
 * one. A tree is made when it is needed and stays until the end of the set.
 */
#ifndef LATH_INDEX_SET_H
#define LATH_INDEX_SET_H

#include "tree/tree.h"
#include "lathwork/interval.h"

#define CLASS_BITS 5
#define CLASSES (64 / CLASS_BITS + 2)
#define PLACES 3 /* of a class; the last one leads to lists */

/* Of a mask of places: those of the first trees. */
#define FIRST_PLACES (0x1249249249249249ull & lath_ones(CLASSES * PLACES))

struct length_class {
	struct lath_index *place[PLACES]; /* NULL until it is needed */
	u64 longest;			  /* span; only grows */
};

struct set {
	u64 used;   /* bit class * PLACES + place: that tree is there, or is about to be */
	u64 behind; /* 1: half-open, an end is behind the last key */
	struct length_class class[CLASSES];
	struct lath_config config;	 /* of the trees */
	struct lath_allocator allocator; /* alloc == NULL: the host's */
	const struct lath_rcu *rcu;
	bool retired;		   /* a list was handed to reclamation: wait for it at the end */
	struct lath_spinlock lock; /* adding a tree; the longest spans */
	u64 list_bytes __attribute__((aligned(64)));
	u64 lists;
	u64 listed;
};
_Static_assert(CLASSES *PLACES <= 64, "`used` is a mask");
_Static_assert(sizeof(struct set) <= sizeof(struct lath_intervals), "fits the public struct");
_Static_assert(sizeof(struct lath_interval) == sizeof(struct lath_item), "scans copy either");

static inline struct set *set_of(struct lath_intervals *set)
{
	return (struct set *)(void *)set;
}

static inline unsigned int class_of(u64 span)
{
	return (fls64(span) + CLASS_BITS - 1) / CLASS_BITS;
}

/* The shortest span of a class. */
static inline u64 class_least(unsigned int class)
{
	LATH_ASSERT(class < CLASSES);
	return class ? 1ull << (class - 1) * CLASS_BITS : 0;
}

/* Returns a tree of a class, or NULL: there is none yet. */
static inline struct tree *class_tree(struct set *set, unsigned int class, unsigned int place)
{
	/* pairs with make_place */
	struct lath_index *index = smp_load_acquire(&set->class[class].place[place]);

	LATH_ASSERT(class < CLASSES && place < PLACES);
	return index ? tree_of(index) : NULL;
}

/* Returns a block of the set's allocator, not zeroed, or NULL: no memory. No lock held. */
static inline void *set_alloc(struct set *set, size_t size)
{
	if (set->allocator.alloc)
		return set->allocator.alloc(set->allocator.ctx, size, 64);
	return lath_block_alloc(size);
}

static inline void set_free(struct set *set, void *block, size_t size)
{
	if (set->allocator.alloc)
		set->allocator.free(set->allocator.ctx, block, size);
	else
		lath_block_free(block);
}

/* ---- wide.c: a tree of points that have a word each beside their value, in the side column of the
 * leaves, where a tree of ranges has the sizes: for intervals the distance from the first to the
 * last key. The points are disjoint, so the tree below is the one of LATH_POINTS. ---- */

/* Insert the point item->key with the word item->size: 0 | -EEXIST: the point is there | -ENOMEM.
 * No lock held. */
int lath_wide_insert(struct tree *tree, const struct lath_item *item);
/* Erase the point if its word and its value are these: 0 | -ENOENT. Never allocates. No lock
 * held. */
int lath_wide_erase(struct tree *tree, const struct lath_item *item);

/* Points in [from, to] whose key + word is in [low, high]. */
struct wide_query {
	u64 from, to;
	u64 low, high;
};

/* Prefetch the hint for query->from. */
void lath_wide_prefetch_hint(struct tree *tree, const struct wide_query *query);
/* Prefetch what a scan reads. Returns the leaf at which it probably begins, or NULL: no hint. */
struct node *lath_wide_prefetch(struct tree *tree, const struct wide_query *query);
/*
 * Copy at most max points, in order, as {key, key + word + behind, value}; found == NULL: count
 * them only. `first`: what lath_wide_prefetch() returned for query->from, or NULL. Returns their
 * number; *next is behind the last key that was looked at if the number is max. In a read-side
 * critical section, no lock held; concurrently with anything.
 */
size_t lath_wide_scan(struct tree *tree, const struct wide_query *query, struct node *first,
		      struct lath_item *found, size_t max, u64 behind, u64 *next);

/* ---- list.c: intervals that begin at one key. `tree` is the last place of a class ---- */

/* Add an interval {first, span, value} to the list of its first key: 0 | -ENOMEM */
int lath_interval_list_insert(struct set *set, struct tree *tree, const struct lath_item *item);
/* Erase one that is equal: 0 | -ENOENT. Never allocates. */
int lath_interval_list_erase(struct set *set, struct tree *tree, const struct lath_item *item);
/*
 * As lath_wide_scan() over all lists. *order: of the list at query->from, skip what was added up to
 * this one; if the number is max, the list to go on with, *next, was copied up to *order.
 */
size_t lath_interval_list_scan(struct tree *tree, const struct wide_query *query,
			       struct lath_item *found, size_t max, u64 *next, u64 *order);
/* How many are in the list of this value of an entry, which lives. */
u64 lath_interval_list_weight(u64 value);
/* Is the list of this entry sound? Nobody writes. */
bool lath_interval_list_true(const struct lath_item *entry, unsigned int class, u64 longest);
/* Free the list of an entry: nobody else uses the set. */
void lath_interval_list_free(const struct lath_item *entry);

#endif /* LATH_INDEX_SET_H */
