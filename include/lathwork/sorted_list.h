/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/sorted_list.h - doubly linked list of embedded nodes kept in order of a 64-bit key.
 *
 * insert walks from the end, so data that arrive nearly sorted cost one comparison and random data
 * O(n); removal is O(1). Nothing beats its removal, and below some thirty nodes little beats it at
 * all. Keys, equal keys and locking as in lathwork/rbtree.h. 24 bytes a node.
 */
#ifndef LATHWORK_SORTED_LIST_H
#define LATHWORK_SORTED_LIST_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_list_node {
	uint64_t key;
	struct lath_list_node *prev, *next;
};

struct lath_sorted_list {
	struct lath_list_node *first, *last;
};

static inline void lath_list_init(struct lath_sorted_list *list)
{
	list->first = list->last = NULL;
}

/* Put node behind `after`; NULL puts it first. The caller answers for the order. */
static inline void lath_list_insert_after(struct lath_sorted_list *list, struct lath_list_node *node,
					  struct lath_list_node *after)
{
	node->prev = after;
	node->next = after ? after->next : list->first;
	*(after ? &after->next : &list->first) = node;
	*(node->next ? &node->next->prev : &list->last) = node;
}

static inline void lath_list_insert(struct lath_sorted_list *list, struct lath_list_node *node)
{
	struct lath_list_node *after = list->last;

	while (after && (int64_t)(node->key - after->key) < 0)
		after = after->prev;
	lath_list_insert_after(list, node, after);
}

static inline void lath_list_remove(struct lath_sorted_list *list, struct lath_list_node *node)
{
	*(node->prev ? &node->prev->next : &list->first) = node->next;
	*(node->next ? &node->next->prev : &list->last) = node->prev;
}

/* The first node whose key is not before `key`, or NULL. O(n). */
static inline struct lath_list_node *lath_list_ceiling(const struct lath_sorted_list *list, uint64_t key)
{
	struct lath_list_node *node = list->first;

	while (node && (int64_t)(node->key - key) < 0)
		node = node->next;
	return node;
}

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SORTED_LIST_H */
