/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arrivals.h - a doubly linked list of embedded nodes in order of arrival: the requests of a FIFO,
 * and those behind a barrier. All calls are O(1); the caller excludes others on the same list.
 */
#ifndef LATH_QUEUE_ARRIVALS_H
#define LATH_QUEUE_ARRIVALS_H

#include "sys/sys.h"

struct arrival {
	u64 barrier; /* behind which barrier it waits; 0 in a FIFO */
	struct arrival *prev, *next;
} __attribute__((may_alias));

struct arrivals {
	struct arrival *first, *last;
};

/* Adds a node that is in no list at the end. */
static inline void arrivals_add(struct arrivals *list, struct arrival *node)
{
	LATH_ASSERT(list->last ? !list->last->next : !list->first);
	node->prev = list->last;
	node->next = NULL;
	*(node->prev ? &node->prev->next : &list->first) = node;
	list->last = node;
}

/* Removes a node of this list. */
static inline void arrivals_remove(struct arrivals *list, struct arrival *node)
{
	LATH_ASSERT((node->prev ? node->prev->next : list->first) == node);
	LATH_ASSERT((node->next ? node->next->prev : list->last) == node);
	*(node->prev ? &node->prev->next : &list->first) = node->next;
	*(node->next ? &node->next->prev : &list->last) = node->prev;
}

#endif /* LATH_QUEUE_ARRIVALS_H */
