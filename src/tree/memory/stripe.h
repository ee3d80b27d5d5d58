/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stripe.h - the stripe of the calling thread, for what calls write besides nodes (tree.h).
 */
#ifndef LATH_INDEX_STRIPE_H
#define LATH_INDEX_STRIPE_H

#include "tree/tree.h"

/* Returns the stripes if calls use them for more than holes, or NULL: the tree is not large. */
static inline struct stripe *stripes_of(struct tree *tree)
{
	return smp_load_acquire(&tree->large) ? tree->stripe : NULL; /* pairs with become_large */
}

/* Returns the stripes, whatever they are used for, or NULL: there are none. */
static inline struct stripe *all_stripes(struct tree *tree)
{
	return tree->holes ? tree->stripe : stripes_of(tree);
}

/* Returns the calling thread's stripe of a tree that has stripes. */
static inline struct stripe *own_stripe(struct tree *tree)
{
	return tree->stripe + (lath_stripe() & tree->stripe_mask);
}

/* The same, or NULL: the tree is not large. */
static inline struct stripe *stripe_of(struct tree *tree)
{
	return stripes_of(tree) ? own_stripe(tree) : NULL;
}

static inline struct counts *counts_of(struct tree *tree)
{
	struct stripe *stripe = stripe_of(tree);

	return stripe ? &stripe->counts : &tree->counts;
}

static inline struct merge_notes *notes_of(struct tree *tree)
{
	struct stripe *stripe = stripe_of(tree);

	return stripe ? &stripe->notes : &tree->notes;
}

#endif /* LATH_INDEX_STRIPE_H */
