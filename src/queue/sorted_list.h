/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sorted_list.h - a doubly linked list of embedded nodes in order of their keys: an engine of
 * lathwork/sortq.h, and the list of requests behind a barrier.
 *
 * insert walks from the end: O(1) for data that arrive nearly sorted, O(n) for random data. Removal
 * is O(1). Equal keys stay in order of arrival.
 */
#ifndef LATH_QUEUE_SORTED_LIST_H
#define LATH_QUEUE_SORTED_LIST_H

#include "queue/order.h"

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
	LATH_ASSERT((node->prev ? node->prev->next : list->first) == node);
	LATH_ASSERT((node->next ? node->next->prev : list->last) == node);
	*(node->prev ? &node->prev->next : &list->first) = node->next;
	*(node->next ? &node->next->prev : &list->last) = node->prev;
}

/* The first node whose key is not before `key`, or NULL. O(n). */
static inline struct lath_list_node *lath_list_ceiling(const struct lath_sorted_list *list, u64 key)
{
	struct lath_list_node *node = list->first;

	while (node && lath_before(node->key, key))
		node = node->next;
	return node;
}

#endif /* LATH_QUEUE_SORTED_LIST_H */
