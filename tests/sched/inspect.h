/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A look at the inside of structures, for programs in C++. */
#ifndef LATH_TESTS_SCHED_INSPECT_H
#define LATH_TESTS_SCHED_INSPECT_H

#include "lathwork/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes that the pools have handed out and not got back, minus those in the chains of the levels.
 * Not while other threads change the index. */
int64_t sched_lost_nodes(struct lath_index *index);

#ifdef __cplusplus
}
#endif
#endif /* LATH_TESTS_SCHED_INSPECT_H */
