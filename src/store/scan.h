/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * scan.h - the numbers of a store in order, a leaf at a time.
 */
#ifndef LATH_STORE_SCAN_H
#define LATH_STORE_SCAN_H

#include "store/engine.h"

struct tree;
struct node;

/* Good inside one reader. */
struct number_scan {
	struct tree *list;
	struct node *leaf; /* to be read next, trusted under word */
	u64 word;
	u64 from, last; /* what is left, unless it has ended */
	bool ended;
	const struct node *parent; /* of leaves ahead */
	u64 children;		   /* its entries that have not been asked for */
};

/* Of [from, last]; `most` entries are wanted. */
void number_scan_begin(struct number_scan *scan, struct lath_store *store, u64 from, u64 last, size_t most);
/* The next ones in order, at most max and no more than a leaf has: how many, 0 at the end. */
size_t number_scan_next(struct number_scan *scan, u64 *keys, u64 *words, size_t max);

#endif /* LATH_STORE_SCAN_H */
