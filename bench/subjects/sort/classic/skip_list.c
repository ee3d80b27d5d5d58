/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * skip_list.c - the skip list of skip_list.h.
 */
#include "subjects/sort/classic/skip_list.h"

void lath_skip_init(struct lath_skip_list *list)
{
	memset(list, 0, sizeof(*list));
	list->head.levels = 1;
	list->random = 0x9e3779b97f4a7c15ull;
}

/* Draws a node's number of levels: Marsaglia's xorshift, two bits per level. */
static unsigned int random_levels(struct lath_skip_list *list)
{
	u64 x = list->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	list->random = x;
	return 1 + (u32)__builtin_ctzll(x | 1ull << (2 * (LATH_SKIP_LEVELS - 1))) / 2;
}

/* Sets at[i] to the last node of each level i in use that is before `key`, or with `equal` not
 * after it. */
static void find(const struct lath_skip_list *list, u64 key, bool equal, struct lath_skip_node **at)
{
	struct lath_skip_node *n = (struct lath_skip_node *)&list->head, *next;
	u64 bound = key + equal;
	int i;

	for (i = (int)list->head.levels - 1; i >= 0; i--) {
		while ((next = n->next[i]) && lath_before(next->key, bound))
			n = next;
		at[i] = n;
	}
}

void lath_skip_insert(struct lath_skip_list *list, struct lath_skip_node *node)
{
	struct lath_skip_node *at[LATH_SKIP_LEVELS];
	unsigned int i, levels = random_levels(list);

	find(list, node->key, true, at);
	while (list->head.levels < levels)
		at[list->head.levels++] = &list->head;
	node->levels = levels;
	for (i = 0; i < levels; i++) {
		node->next[i] = at[i]->next[i];
		at[i]->next[i] = node;
	}
	node->prev = at[0] == &list->head ? NULL : at[0];
	assert(!node->prev || !lath_before(node->key, node->prev->key));
	assert(!node->next[0] || lath_before(node->key, node->next[0]->key));
	if (node->next[0])
		node->next[0]->prev = node;
	else
		list->last = node;
}

void lath_skip_remove(struct lath_skip_list *list, struct lath_skip_node *node)
{
	struct lath_skip_node *at[LATH_SKIP_LEVELS];
	unsigned int i;

	if (list->head.next[0] == node) { /* the first node of every level that it is on */
		for (i = 0; i < node->levels; i++)
			list->head.next[i] = node->next[i];
	} else {
		find(list, node->key, false, at);
		for (i = 0; i < node->levels; i++) {
			while (at[i]->next[i] != node) {
				at[i] = at[i]->next[i];
				assert(at[i] && !lath_before(node->key, at[i]->key));
			}
			at[i]->next[i] = node->next[i];
		}
	}
	if (node->next[0])
		node->next[0]->prev = node->prev;
	else
		list->last = node->prev;
	while (list->head.levels > 1 && !list->head.next[list->head.levels - 1])
		list->head.levels--;
}
