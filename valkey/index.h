/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.h - the library's indexes in the server's memory, reclaimed by the server's main thread.
 */
#ifndef LATH_VALKEY_INDEX_H
#define LATH_VALKEY_INDEX_H

#include <stdbool.h>

#include "lathwork/index.h"

/* An index of points, its nodes one by one or in chunks. NULL: no memory. */
struct lath_index *points_create(bool nodes);
/* The same, and it counts (LATH_RANKS). */
struct lath_index *counted_create(bool nodes);
void points_destroy(struct lath_index *index, lath_item_fn each);
size_t points_memory(struct lath_index *index);
/* An index of ranges that finds holes. */
struct lath_index *holes_create(bool nodes);

#endif /* LATH_VALKEY_INDEX_H */
