/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bound.h - each thread remembers up to where its last search for the lowest place found none, so
 * that the next one need not begin at the lowest key again.
 *
 * Invariant: if the tree's counters of changes begun and ended both read `changes`, each hole of
 * this size and alignment that begins in [low, at) begins in one of the spans freed[]. Inserts do
 * not invalidate that, they only take space. Every other change is counted (gap_change_begin): if
 * the count differs, the bound is void. Only the thread's own erases are allowed for: a hole that
 * such an erase makes contains a key of the item, so it begins in the item or no more than size - 1
 * keys in front of it. That is a span. If there are too many, the bound falls to the last one.
 *
 * In the kernel each processor has one, for trees with LATH_ANY_CONTEXT: interrupts are off from an
 * erase to bound_erased(), so no other search of the processor sets the bound between the two.
 */
#ifndef LATH_INDEX_BOUND_H
#define LATH_INDEX_BOUND_H

#include "tree/tree.h"

#define BOUND_FREED 8

struct bound {
	u64 tree_id;
	u64 changes; /* begun, and ended */
	u64 low;
	u64 at;
	u64 size;
	u64 align; /* mask */
	struct freed_keys {
		u64 first, last;
	} freed[BOUND_FREED]; /* in the order of their first keys, none of which is above `at` */
	unsigned int spans;
};

#ifdef __KERNEL__
DECLARE_PER_CPU(struct bound, lath_bound);

/* Returns the bound of the caller, which is in a call of the tree, or NULL: it has none. */
static inline struct bound *bound_of(const struct tree *tree)
{
	return tree->any ? this_cpu_ptr(&lath_bound) : NULL;
}
#else
extern __thread struct bound lath_bound
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct bound *bound_of(const struct tree *tree)
{
	(void)tree;
	return &lath_bound;
}
#endif

/* Returns the first key from which a hole in [low, ...) may begin, with the bound's low at most. */
static inline u64 bound_from(const struct bound *bound, u64 low)
{
	unsigned int i;

	for (i = 0; i < bound->spans; i++)
		if (bound->freed[i].last >= low)
			return bound->freed[i].first;
	return bound->at;
}

/* No hole begins in [bound->low, end) any more: cut the spans to what is behind that. */
static inline void bound_cut(struct bound *bound, u64 end)
{
	unsigned int i, n = 0;

	for (i = 0; i < bound->spans; i++)
		if (bound->freed[i].last >= end)
			bound->freed[n++] = (struct freed_keys){ max(bound->freed[i].first, end),
								 bound->freed[i].last };
	bound->spans = n;
}

/* Holes may begin in [first, last] now. */
static inline void bound_add(struct bound *bound, u64 first, u64 last)
{
	struct freed_keys *freed = bound->freed;
	unsigned int i = 0;

	while (i < bound->spans && freed[i].last < first)
		i++;
	if (i < bound->spans && freed[i].first <= last) {
		freed[i].first = min(freed[i].first, first);
		freed[i].last = max(freed[i].last, last);
		return;
	}
	if (i == BOUND_FREED) {
		bound->at = first;
		return;
	}
	if (bound->spans == BOUND_FREED)
		bound->at = freed[--bound->spans].first;
	memmove(&freed[i + 1], &freed[i], (bound->spans - i) * sizeof(*freed));
	freed[i] = (struct freed_keys){ first, last };
	bound->spans++;
}

/* The caller has erased this item, which counted as one change. */
static inline void bound_erased(struct tree *tree, const struct lath_item *item)
{
	struct bound *bound = bound_of(tree);
	u64 first;

	if (!bound || bound->tree_id != tree->id)
		return;
	first = item->key > bound->size - 1 ? item->key - (bound->size - 1) : 0;
	bound->changes++;
	if (first < bound->at)
		bound_add(bound, first, item->key + (item->size - 1));
}

#endif /* LATH_INDEX_BOUND_H */
