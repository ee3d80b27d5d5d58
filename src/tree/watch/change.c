/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * change.c - the part of change.h that is out of line: keys have become free.
 */
#include "tree/watch/change.h"

void lath_change_gone(struct tree *tree, u64 key, struct change_up *up)
{
	struct lath_item item = { .key = key, .size = up->size };

	LATH_ASSERT(item.size && item.size - 1 <= KEY_MAX - key);
	if (!up->promised)
		lath_gap_raise(tree, &up->gap);
	change_end(tree);
	bound_erased(tree, key, up->gap.note ? &up->gap.undo : NULL);
	watch_erased(tree, &item, 1);
}

void lath_change_freed(struct tree *tree, const struct lath_item *items, unsigned int n)
{
	lath_gap_propagate_leaf(tree, items[0].key, 0);
	change_end(tree);
	watch_erased(tree, items, n);
}
