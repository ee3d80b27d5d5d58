/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lookup.h - reads, for the other public calls. In a section, no lock held.
 */
#ifndef LATH_INDEX_LOOKUP_H
#define LATH_INDEX_LOOKUP_H

#include "tree/tree.h"

/* The item that covers point: 0 | -ENOENT */
int lath_lookup_item(struct tree *tree, u64 point, struct lath_item *found);
/* The first item that overlaps [key, last] / the last item that begins at or before key: 0 |
 * -ENOENT */
int lath_overlap_item(struct tree *tree, u64 key, u64 last, struct lath_item *found);
int lath_floor_item(struct tree *tree, u64 key, struct lath_item *found);

#endif /* LATH_INDEX_LOOKUP_H */
