/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * without.c - what a tree of a client does not have, so that GenMC need not read it: a hint table
 * (a small tree has none), the counts of trees with LATH_RANKS, and the index of holes by length;
 * and the summaries of trees with LATH_HOLES, for clients that do not search for holes.
 */
#include "set/hole/lengths.h"
#include "tree/step/change.h"

struct node *hint_find_near(struct tree *tree, u64 key, struct node *leaf, u64 *lockword)
{
	return NULL;
}

void hint_learn(struct tree *tree, u64 key, const struct node *leaf, u64 low, u64 last)
{
}

void hint_maintain(struct tree *tree, bool may_allocate)
{
}

void hint_consider(struct tree *tree)
{
}

void hint_build(struct tree *tree)
{
}

void hint_fini(struct tree *tree)
{
}

u64 hint_bytes(const struct tree *tree)
{
	return 0;
}

#ifdef GENMC_HOLES
u64 lath_lengths_least;

void lengths_consider(struct tree *tree, u64 nodes)
{
}

bool lengths_ready(struct tree *tree)
{
	return false;
}

enum lengths_result lengths_find(struct tree *tree, const struct lath_hole_request *want, u64 low,
				 u64 last, u64 *key, u64 *looks)
{
	return LENGTHS_OUTSIDE;
}
#else
int gap_next(struct node *inner, int i)
{
	return -1;
}

int gap_previous(struct node *inner, int i)
{
	return -1;
}

void gap_recompute(const struct tree *tree, struct node *node)
{
}

void gap_measure_level(const struct tree *tree, struct node *node)
{
}

void gap_recompute_boundary(const struct tree *tree, struct node *left, struct node *right)
{
}

bool gap_erased(const struct tree *tree, struct node *leaf, unsigned int i, struct gap_raise *raise)
{
	return true;
}

void gap_raise(struct tree *tree, struct gap_raise *raise)
{
}

void gap_propagate_leaf(struct tree *tree, u64 key, unsigned int level)
{
}

void gap_propagate(struct tree *tree, u64 first, u64 last, unsigned int from, unsigned int level,
		   bool anew)
{
}

bool gap_true(const struct tree *tree, struct node *node, struct gap_slack *slack)
{
	return true;
}
#endif

void count_outdate(struct tree *tree, u64 first, u64 last)
{
}

bool count_true(const struct tree *tree, const struct node *inner, unsigned int i, bool *marked)
{
	return true;
}

u64 count_all(struct tree *tree)
{
	return 0;
}
