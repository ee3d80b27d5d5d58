/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * border_test.c - walks come down where they should: after inserts in any order, and erases, no
 * walk has to move right.
 *
 * Full leaves give entries to their right neighbours, whose low fences fall. A separator that does
 * not follow costs no answer, only time: walks end too far left, further and further the longer the
 * list lives.
 */
#include <stdio.h>

#include "index/tree/descend.h"

#define KEYS 50000u

static u64 mix(u64 x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

static u64 moves_right(struct tree *list, u64 key)
{
	struct node *node = list->root;
	u64 n = 0;

	while (node_level(node))
		if (descend_step(&node, key, false, FOR_READ) == STEP_RIGHT)
			n++;
	for (; key > node->last; node = node->right)
		n++;
	return n;
}

int main(void)
{
	static const unsigned int flags[] = { 0, LATH_NODE_EACH };
	unsigned int f, round;

	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		struct lath_config config = LATH_CONFIG_INIT;
		struct lath_index list;
		u64 i, right = 0;

		config.flags = flags[f];
		if (lath_index_init(&list, &config))
			return 1;
		for (round = 0; round < 2; round++) {
			for (i = 1; i <= KEYS; i++) {
				struct lath_item item = { mix(i + round * KEYS), 1, i };

				if (lath_index_insert_item(&list, &item, NULL))
					return 1;
			}
			for (i = 1; i <= KEYS; i++)
				right += moves_right(tree_of(&list), mix(i + round * KEYS));
			for (i = 1; i <= KEYS; i += 2)
				if (lath_index_erase_item(&list, mix(i + round * KEYS), NULL))
					return 1;
		}
		lath_index_fini(&list, NULL, NULL);
		if (right) {
			fprintf(stderr,
				"border_test: flags %u: %llu moves to the right in %u walks\n",
				flags[f], (unsigned long long)right, 2 * KEYS);
			return 1;
		}
	}
	printf("border_test: %u walks, none moved right\n", 4 * KEYS);
	return 0;
}
