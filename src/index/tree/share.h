/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * share.h - what the store asks of its lists besides the public calls.
 *
 * A list in memory that several processes have at one address:
 * Its nodes are linked by addresses, so they mean the same everywhere; functions lie elsewhere in each process.
 * So the list's RCU flavour (lath_config.rcu) and this allocator must be structs that each process has for
 * itself, at one address too. And each process counts the ids of its own lists: that of a shared one comes
 * from outside and is never used again, as a thread's finger knows the list by it.
 */
#ifndef LATH_INDEX_SHARE_H
#define LATH_INDEX_SHARE_H

#include "lathwork/index.h"
#include "sys/sys.h"

/* A list just made with a copy of this allocator. */
void lath_index_share(struct lath_index *list, const struct lath_allocator *allocator, u64 id);

/* A list just made, without holes: full leaves split in halves, and their entries stand apart. Inserts at random touch a
 * third of the lines, and the list takes a fifth more memory. */
void lath_index_loosen(struct lath_index *list);

/* An insert of this key will come soon: ask memory for what it needs. */
void lath_index_expect(struct lath_index *list, u64 key);

/* What was put in one after the other will be read in any order: prepare for that (guide.h). */
void lath_index_prepare(struct lath_index *list);

/* Entries of a node: what else but their structs decides how lists of this build lie in memory. */
u32 lath_index_node_cap(void);

#endif /* LATH_INDEX_SHARE_H */
