/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/skip_queue.h - single-threaded skip list of embedded nodes with a 64-bit key.
 *
 * Level 0 links all nodes; a node of level l reaches level l + 1 with probability 1/4, decided by a
 * generator inside the queue. Expected O(log n) insert and remove, O(1) removal of the first node.
 * (The concurrent blocked skiplist is lathwork/index.h; this one is the textbook's.)
 *
 * Keys, equal keys and locking as in lathwork/rbtree.h; removal walks over equal keys one by one. No
 * allocation: every node has room for the tallest tower. 88 bytes a node. After Pugh, "Skip lists: a
 * probabilistic alternative to balanced trees", 1990.
 */
#ifndef LATHWORK_SKIP_QUEUE_H
#define LATHWORK_SKIP_QUEUE_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 4^8 nodes before the top level grows long */
#define LATH_SKIP_LEVELS 8

struct lath_skip_node {
	uint64_t key;
	struct lath_skip_node *prev;
	struct lath_skip_node *next[LATH_SKIP_LEVELS];
	uint32_t levels;
};

struct lath_skip_queue {
	struct lath_skip_node head;
	struct lath_skip_node *last;
	uint64_t dice;
};

LATH_API void lath_skip_init(struct lath_skip_queue *queue);
LATH_API void lath_skip_insert(struct lath_skip_queue *queue, struct lath_skip_node *node);
LATH_API void lath_skip_remove(struct lath_skip_queue *queue, struct lath_skip_node *node);
/* The first node whose key is not before `key`, or NULL. */
LATH_API struct lath_skip_node *lath_skip_ceiling(const struct lath_skip_queue *queue, uint64_t key);

static inline struct lath_skip_node *lath_skip_first(const struct lath_skip_queue *queue)
{
	return queue->head.next[0];
}

static inline struct lath_skip_node *lath_skip_last(const struct lath_skip_queue *queue)
{
	return queue->last;
}

static inline struct lath_skip_node *lath_skip_next(const struct lath_skip_node *node)
{
	return node->next[0];
}

static inline struct lath_skip_node *lath_skip_prev(const struct lath_skip_node *node)
{
	return node->prev;
}

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SKIP_QUEUE_H */
