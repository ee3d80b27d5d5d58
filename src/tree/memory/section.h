/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * section.h - does the memory of a node stay a node's, and what has a call without locks to do if
 * not?
 */
#ifndef LATH_INDEX_SECTION_H
#define LATH_INDEX_SECTION_H

#include "tree/tree.h"

/* Does memory that was a leaf stay a leaf's, or zeros, until the tree ends? Not with
 * LATH_NODE_EACH: then no leaf is remembered from one call to the next. */
static inline bool nodes_stay(const struct tree *tree)
{
	return !(tree->flags & LATH_NODE_EACH);
}

/*
 * A call that trusts a node only under its lockword, and follows no link of a node whose lockword
 * it has not compared since, needs no RCU read-side critical section: node memory is type-stable
 * (descend.h). It needs one where nodes are freed one by one, and in the kernel, where it costs
 * next to nothing.
 */
static inline void section_enter(struct tree *tree)
{
#ifndef __KERNEL__
	if (likely(nodes_stay(tree)))
		return;
#endif
	lath_reader_enter(tree->rcu);
}

static inline void section_exit(struct tree *tree)
{
#ifndef __KERNEL__
	if (likely(nodes_stay(tree)))
		return;
#endif
	lath_reader_exit(tree->rcu);
}

#endif /* LATH_INDEX_SECTION_H */
