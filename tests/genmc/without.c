/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * without.c - what a tree of a client does not have, so that GenMC need not read it: a hint table
 * (a small tree has none), the counts of trees with LATH_RANKS, and the index of holes by length;
 * and the summaries of trees with LATH_HOLES, for clients that do not search for holes.
 */
#include "set/hole/lengths.h"
#include "tree/watch/change.h"

struct node *lath_hint_find_near(struct tree *tree, u64 key, struct node *leaf, u64 *lockword)
{
	return NULL;
}

void lath_hint_learn(struct tree *tree, u64 key, const struct node *leaf, u64 low, u64 last)
{
}

void lath_hint_maintain(struct tree *tree, bool may_allocate)
{
}

void lath_hint_consider(struct tree *tree)
{
}

void lath_hint_build(struct tree *tree)
{
}

void lath_hint_fini(struct tree *tree)
{
}

u64 lath_hint_bytes(const struct tree *tree)
{
	return 0;
}

#ifdef GENMC_HOLES
u64 lath_lengths_least;

void lath_lengths_consider(struct tree *tree, u64 nodes)
{
}

bool lath_lengths_ready(struct tree *tree)
{
	return false;
}

enum lengths_result lath_lengths_find(struct tree *tree, const struct lath_hole_request *want,
				      u64 low, u64 last, u64 *key, u64 *looks)
{
	return LENGTHS_OUTSIDE;
}
#else
int lath_gap_next(struct node *inner, int i)
{
	return -1;
}

int lath_gap_previous(struct node *inner, int i)
{
	return -1;
}

void lath_gap_recompute(const struct tree *tree, struct node *node)
{
}

void lath_gap_measure_level(const struct tree *tree, struct node *node)
{
}

void lath_gap_recompute_boundary(const struct tree *tree, struct node *left, struct node *right)
{
}

bool lath_gap_erased(struct node *leaf, unsigned int i, struct gap_raise *raise)
{
	return true;
}

void lath_gap_raise(struct tree *tree, struct gap_raise *raise)
{
}

void lath_gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level)
{
}

void lath_gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from,
			unsigned int level, bool anew)
{
}

bool lath_gap_true(const struct tree *tree, struct node *node, struct gap_slack *slack)
{
	return true;
}
#endif

void lath_count_outdate(struct tree *tree, u64 first, u64 last)
{
}

bool lath_count_true(const struct tree *tree, const struct node *inner, unsigned int i,
		     bool *marked)
{
	*marked = true;
	return true;
}

bool lath_count_all(struct tree *tree, u64 *count)
{
	return false;
}
