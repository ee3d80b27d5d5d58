/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * copy.c - a copy of an index, and a number by which two can be compared. Both go over the items
 * as a scan does (P2).
 */
#include "tree/tree.h"

#define STEP 32 /* items read at a time */

/* The configuration of the tree itself, for a copy that shall be like it. */
static void config_of(const struct tree *tree, struct lath_config *config)
{
	*config = (struct lath_config)LATH_CONFIG_INIT;
	config->layout = holds_ranges(tree) ? LATH_RANGES : LATH_POINTS;
	config->flags = tree->flags & ~(unsigned int)LATH_SHARED;
	/* the copy uses what the tree resolved: the flavour, and the caller's allocator */
	config->rcu = tree->rcu;
	config->allocator = tree->allocator.alloc ? &tree->allocator : NULL;
}

/* Insert all items of `index` into the empty index `copy`. A scan goes on behind the end of its
 * last item, so they are disjoint, and come in ascending order, so the leaves become full. 0 |
 * -ENOMEM | -EINVAL */
static int copy_items(struct lath_index *copy, struct lath_index *index)
{
	struct lath_item items[STEP];
	uint64_t from = 0;
	size_t n, i;

	do {
		n = lath_index_scan(index, from, KEY_MAX, items, STEP, &from);
		for (i = 0; i < n; i++) {
			int ret = lath_index_insert_item(copy, &items[i], NULL);

			/* the caller ends the copy, with what it has got */
			if (ret)
				return ret;
		}
	} while (n == STEP && from);
	return 0;
}

int lath_index_clone(struct lath_index *copy, struct lath_index *index,
		     const struct lath_config *config)
{
	struct lath_config own;
	int ret;

	/* a shared index has an id that only its creator can choose */
	if (!config) {
		if (tree_of(index)->shared_allocator)
			return -EINVAL;
		config_of(tree_of(index), &own);
		config = &own;
	}
	ret = lath_index_init(copy, config);
	if (ret)
		return ret;
	ret = copy_items(copy, index);
	if (ret)
		lath_index_fini(copy, NULL, NULL);
	return ret;
}
