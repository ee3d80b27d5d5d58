/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * skip_queue.c - the textbook skip list of lathwork/skip_queue.h.
 */
#include "lathwork/skip_queue.h"
#include "queue/order.h"

void lath_skip_init(struct lath_skip_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	queue->head.levels = 1; /* of the tallest node */
	queue->dice = 0x9e3779b97f4a7c15ull;
}

/* Marsaglia's xorshift; two bits a level. */
static unsigned int throw_levels(struct lath_skip_queue *queue)
{
	u64 x = queue->dice;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	queue->dice = x;
	return 1 + __ffs64(x | 1ull << (2 * (LATH_SKIP_LEVELS - 1))) / 2;
}

/* On every level the last node that is before key, or with `equal` not after it. */
static void find(const struct lath_skip_queue *queue, u64 key, bool equal, struct lath_skip_node **at)
{
	struct lath_skip_node *n = (struct lath_skip_node *)&queue->head, *next;
	u64 bound = key + equal;
	int i;

	for (i = (int)queue->head.levels - 1; i >= 0; i--) {
		while ((next = n->next[i]) && lath_before(next->key, bound))
			n = next;
		at[i] = n;
	}
}

void lath_skip_insert(struct lath_skip_queue *queue, struct lath_skip_node *node)
{
	struct lath_skip_node *at[LATH_SKIP_LEVELS];
	unsigned int i, levels = throw_levels(queue);

	find(queue, node->key, true, at);
	while (queue->head.levels < levels)
		at[queue->head.levels++] = &queue->head;
	node->levels = levels;
	for (i = 0; i < levels; i++) {
		node->next[i] = at[i]->next[i];
		at[i]->next[i] = node;
	}
	node->prev = at[0] == &queue->head ? NULL : at[0];
	if (node->next[0])
		node->next[0]->prev = node;
	else
		queue->last = node;
}

void lath_skip_remove(struct lath_skip_queue *queue, struct lath_skip_node *node)
{
	struct lath_skip_node *at[LATH_SKIP_LEVELS];
	unsigned int i;

	if (queue->head.next[0] == node) { /* first on every level it is on */
		for (i = 0; i < node->levels; i++)
			queue->head.next[i] = node->next[i];
	} else {
		find(queue, node->key, false, at);
		for (i = 0; i < node->levels; i++) {
			while (at[i]->next[i] != node)
				at[i] = at[i]->next[i];
			at[i]->next[i] = node->next[i];
		}
	}
	if (node->next[0])
		node->next[0]->prev = node->prev;
	else
		queue->last = node->prev;
	while (queue->head.levels > 1 && !queue->head.next[queue->head.levels - 1])
		queue->head.levels--;
}

struct lath_skip_node *lath_skip_ceiling(const struct lath_skip_queue *queue, uint64_t key)
{
	struct lath_skip_node *at[LATH_SKIP_LEVELS];

	find(queue, key, false, at);
	return at[0]->next[0];
}
