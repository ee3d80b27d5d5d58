/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bound.h - each thread remembers up to where its last search for the lowest place found none, so
 * that the next one need not begin at the lowest key again.
 *
 * Invariant: if the tree's counters of changes begun and ended both read `changes`, no hole of this
 * size and alignment begins in [low, at). Inserts do not invalidate that, they only take space.
 * Every other change is counted (gap_change_begin): if the count differs, the bound is void. Only
 * the thread's own erases are allowed for: a hole that such an erase makes contains a key of the
 * item, so it begins no more than size - 1 keys in front of it.
 *
 * While the bound holds, the thread's last erase, of an item below `at`, made the only hole up to
 * where `at` was before. A request for an item of the same size that fits where the erased one was
 * is served by putting that back (search.c), which undoes the erase: the summaries are lowered to
 * what they were, and `at` is again where it was.
 *
 * In the kernel each processor has one, for trees with LATH_ANY_CONTEXT: interrupts are off from an
 * erase to bound_erased(), so no other search of the processor sets the bound between the two.
 */
#ifndef LATH_INDEX_BOUND_H
#define LATH_INDEX_BOUND_H

#include "tree/memory/section.h"
#include "tree/watch/gap.h"

struct bound {
	u64 tree_id;
	u64 changes; /* begun, and ended */
	u64 low;
	u64 at;
	u64 size;
	u64 align;	      /* mask */
	struct gap_undo undo; /* of the thread's last change, if that was an erase */
	u64 undo_at;	      /* `at` before it */
};

#ifdef __KERNEL__
DECLARE_PER_CPU(struct bound, lath_bound);

/* Returns the bound of the caller, which is in a call of the tree, or NULL: it has none. */
static inline struct bound *bound_of(const struct tree *tree)
{
	return any_context(tree) ? this_cpu_ptr(&lath_bound) : NULL;
}
#else
extern LATH_TLS struct bound lath_bound __attribute__((visibility("hidden")));

static inline struct bound *bound_of(const struct tree *tree)
{
	(void)tree;
	return &lath_bound;
}
#endif

/* Does the caller's bound want to know what an erase of an item raises? Not where nodes are freed:
 * it does not follow that. */
static inline bool bound_notes(const struct tree *tree)
{
	const struct bound *bound = bound_of(tree);

	return bound && bound->tree_id == tree->id && nodes_stay(tree);
}

/* The caller has erased the item at key, which counted as one change. `undo`: what it raised, or
 * NULL. */
static inline void bound_erased(struct tree *tree, u64 key, const struct gap_undo *undo)
{
	struct bound *bound = bound_of(tree);
	u64 first;

	if (!bound || bound->tree_id != tree->id)
		return;
	first = key > bound->size - 1 ? key - (bound->size - 1) : 0;
	bound->changes++;
	bound->undo.leaf = NULL;
	if (undo && undo->leaf && key < bound->at) {
		bound->undo = *undo;
		bound->undo_at = bound->at;
	}
	bound->at = min(bound->at, first);
}

#endif /* LATH_INDEX_BOUND_H */
