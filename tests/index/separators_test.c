/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * separators_test.c - walks come down where they should: after inserts in any order, and erases, no
 * walk has to move right.
 *
 * Full leaves give entries to their right neighbours, whose low fences fall. A separator that does
 * not follow costs no answer, only time: walks end too far left, further and further the longer the
 * list lives. So do half-dead leaves that ranges stored over many leaves and parents left behind.
 */
#include <stdio.h>

#include "tree/way/descend.h"

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
	for (; key > node->last || node_half_dead(node); node = node->right)
		n++;
	return n;
}

/* Returns how often walks move right after ranges were stored over many leaves and parents, and
 * overwritten by small ones, again and again; ~0: no memory. */
static u64 wide_ranges(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index list;
	u64 i, right = 0, ret = 0;

	if (lath_index_init(&list, &config))
		return ~0ull;
	for (i = 0; i < 4 * KEYS && !ret; i++) {
		struct lath_item item = { mix(i) % KEYS * 16, 1 + i % 16, i };

		if (i >= KEYS && i % 256 == 0)
			item.size = KEYS;
		if (lath_index_store_range(&list, &item, NULL, NULL))
			ret = ~0ull;
	}
	for (i = 0; i < KEYS; i++)
		right += moves_right(tree_of(&list), i * 16);
	if (lath_index_verify(&list, 5, NULL, 0))
		ret = ~0ull;
	lath_index_fini(&list, NULL, NULL);
	return ret ? ret : right;
}

int main(void)
{
	static const unsigned int flags[] = { 0, LATH_NODE_EACH };
	unsigned int f, round;
	u64 wide = wide_ranges();

	/* between two full siblings a parent keeps a half-dead child: seen with up to 16 entries */
	if (wide > (NODE_CAP < 64 ? 64 * KEYS : 0)) {
		fprintf(stderr,
			"separators_test: wide ranges: %llu moves to the right in %u walks\n",
			(unsigned long long)wide, KEYS);
		return 1;
	}
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
				"separators_test: flags %u: %llu moves to the right in %u walks\n",
				flags[f], (unsigned long long)right, 2 * KEYS);
			return 1;
		}
	}
	printf("separators_test: %u walks, none moved right\n", 4 * KEYS);
	return 0;
}
