/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * copy.c - a copy of an index, and a number by which two can be compared. Both go over the items
 * as a scan does (P2).
 */
#include "tree/call/call.h"

/* Items read at a time. In the kernel a stack is small. */
#ifdef __KERNEL__
#define STEP 8
#else
#define STEP NODE_CAP
#endif

/* The configuration of the tree itself, for a copy that shall be like it. */
static void config_of(const struct tree *tree, struct lath_config *config)
{
	*config = (struct lath_config)LATH_CONFIG_INIT;
	config->layout = holds_ranges(tree) ? LATH_RANGES : LATH_POINTS;
	config->flags = tree->flags & ~(unsigned int)LATH_SHARED;
	/* the copy uses what the tree resolved: the flavour, and the caller's allocator */
	config->rcu = tree->rcu;
	config->value_size = value_words(tree) * sizeof(u64);
	config->allocator = tree->allocator.alloc ? &tree->allocator : NULL;
}

/* Copy all items of `index` to the empty index `copy`. A scan goes on behind the end of its last
 * item, so they are disjoint and in order. 0 | -ENOMEM | -EINVAL: the copy cannot hold one */
static int copy_items(struct tree *copy, struct lath_index *index)
{
	struct node *leaf = lath_load_begin(copy);
	struct lath_item items[STEP];
	u64 value[STEP][VALUE_WORDS];
	uint64_t from = 0;
	size_t n, i;

	for (i = 0; i < STEP; i++)
		items[i].value = (u64)(uintptr_t)value[i];
	do {
		n = lath_index_scan(index, from, KEY_MAX, items, STEP, &from);
		for (i = 0; i < n && leaf; i++) {
			if (!item_valid(copy, items[i].key, items[i].size)) {
				lath_load_end(copy, leaf);
				return -EINVAL;
			}
			leaf = lath_load_item(copy, leaf, &items[i]);
		}
	} while (leaf && n == STEP && from);
	return lath_load_end(copy, leaf);
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
	ret = value_words(tree_of(copy)) == value_words(tree_of(index))
		      ? copy_items(tree_of(copy), index)
		      : -EINVAL;
	if (ret)
		lath_index_fini(copy, NULL, NULL);
	return ret;
}
