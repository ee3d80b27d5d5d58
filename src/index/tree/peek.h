/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * peek.h - lookups in a list that lives in another address space.
 *
 * Who sees the nodes of a list, read-only, may walk it as its owner does: nothing in a node is believed that
 * was not under its word, and a reader writes nothing (walker_enter in list.h). It needs the root, a place for
 * every link (LATH_LINK in node.h), and to know that both speak of the same nodes.
 */
#ifndef LATH_INDEX_PEEK_H
#define LATH_INDEX_PEEK_H

#include "index/tree/tree.h"

/* Differs where nodes differ; points layout. */
#define LATH_PEEK_LAYOUT \
	((u64)sizeof(struct node) | (u64)offsetof(struct node, pair) << 16 | (u64)NODE_CAP << 32 | 1ull << 48)

/* Where a walk may begin, now and as long as the list lives; a later one is faster. */
static inline u64 lath_peek_root(struct lath_index *list)
{
	return (uintptr_t)smp_load_acquire(&tree_of(list)->root); /* pairs with add_root */
}

#endif /* LATH_INDEX_PEEK_H */
