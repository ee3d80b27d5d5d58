/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A look at the inside of structures, for programs in C++. */
#ifndef LATH_TESTS_SCHED_INSPECT_H
#define LATH_TESTS_SCHED_INSPECT_H

#include "lathwork/index.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes that the pools have handed out and not got back, minus those in the chains of the levels.
 * Not while other threads change the index. */
int64_t sched_lost_nodes(struct lath_index *index);
/* The fence keys of leaf i, from the left, and its number of items; false: there is none. */
bool sched_leaf(struct lath_index *index, unsigned int i, uint64_t *low, uint64_t *last,
		unsigned int *items);
/* Says what is in the 64 bytes at an address. */
void sched_name_line(struct lath_index *index, uintptr_t address, char *name, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* LATH_TESTS_SCHED_INSPECT_H */
