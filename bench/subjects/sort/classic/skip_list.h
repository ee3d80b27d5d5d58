/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * skip_list.h - the textbook's skip list: a subject of table `sort`.
 *
 * Level 0 links all nodes. A node of level l is also on level l + 1 with probability 1/4, decided
 * by a random generator in the list. Expected O(log n) insert and remove, O(1) removal of the first
 * node; removal walks over equal keys one by one. Every node has room for the highest tower: 88
 * bytes. Equal keys stay in order of arrival. After Pugh, "Skip lists: a probabilistic alternative
 * to balanced trees", 1990.
 */
#ifndef LATHBENCH_SKIP_LIST_H
#define LATHBENCH_SKIP_LIST_H

#include "subjects/sort/classic/order.h"

/* 4^8 nodes before the top level grows long */
#define LATH_SKIP_LEVELS 8

struct lath_skip_node {
	u64 key;
	struct lath_skip_node *prev;
	struct lath_skip_node *next[LATH_SKIP_LEVELS];
	u32 levels;
};

struct lath_skip_list {
	struct lath_skip_node head; /* head.levels: those of the highest tower */
	struct lath_skip_node *last;
	u64 random;
};

void lath_skip_init(struct lath_skip_list *list);
/* node->key is set, and the node is in no list. */
void lath_skip_insert(struct lath_skip_list *list, struct lath_skip_node *node);
/* The node is in this list. */
void lath_skip_remove(struct lath_skip_list *list, struct lath_skip_node *node);

#endif /* LATHBENCH_SKIP_LIST_H */
