/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sorted_list.h - a doubly linked list of embedded nodes in order of their keys: a subject of table
 * `sort`.
 *
 * insert walks from the end: O(1) for data that arrive nearly sorted, O(n) for random data. Removal
 * is O(1). Equal keys stay in order of arrival.
 */
#ifndef LATHBENCH_SORTED_LIST_H
#define LATHBENCH_SORTED_LIST_H

#include "subjects/sort/classic/order.h"

struct lath_list_node {
	u64 key;
	struct lath_list_node *prev, *next;
};

struct lath_sorted_list {
	struct lath_list_node *first, *last;
};

static inline void lath_list_init(struct lath_sorted_list *list)
{
	list->first = list->last = NULL;
}

/* Put `node` behind `after`, or first if `after` is NULL. The caller keeps the order of keys. */
static inline void lath_list_insert_after(struct lath_sorted_list *list,
					  struct lath_list_node *node, struct lath_list_node *after)
{
	node->prev = after;
	node->next = after ? after->next : list->first;
	*(after ? &after->next : &list->first) = node;
	*(node->next ? &node->next->prev : &list->last) = node;
}

static inline void lath_list_insert(struct lath_sorted_list *list, struct lath_list_node *node)
{
	struct lath_list_node *after = list->last;

	while (after && lath_before(node->key, after->key))
		after = after->prev;
	lath_list_insert_after(list, node, after);
}

static inline void lath_list_remove(struct lath_sorted_list *list, struct lath_list_node *node)
{
	assert((node->prev ? node->prev->next : list->first) == node);
	assert((node->next ? node->next->prev : list->last) == node);
	*(node->prev ? &node->prev->next : &list->first) = node->next;
	*(node->next ? &node->next->prev : &list->last) = node->prev;
}

#endif /* LATHBENCH_SORTED_LIST_H */
