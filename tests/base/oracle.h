/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * oracle.h - items in a sorted array, and the holes between them looked at one by one: slow, and
 * easy to see right.
 */
#ifndef LATH_TESTS_ORACLE_H
#define LATH_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lathwork/hole.h"

struct oracle {
	struct lath_item *item; /* disjoint, by key; the caller's, with room for one more */
	size_t count;
};

static inline uint64_t oracle_last(const struct lath_item *item)
{
	return item->key + (item->size - 1);
}

static inline bool oracle_same(const struct lath_item *a, const struct lath_item *b)
{
	return a->key == b->key && a->size == b->size && a->value == b->value;
}

/* index of the first item that ends at or behind key; count: none */
size_t oracle_at(const struct oracle *oracle, uint64_t key);
void oracle_insert(struct oracle *oracle, struct lath_item item);
void oracle_remove(struct oracle *oracle, struct lath_item *item);

/* 0 | -ENOSPC | -EINVAL, as the calls of hole.h must answer in a quiet list. */
int oracle_find(const struct oracle *oracle, const struct lath_hole_request *want, uint64_t *key);
/* Is what is asked for free from key on, and within the limits? */
bool oracle_serves(const struct oracle *oracle, const struct lath_hole_request *want, uint64_t key);
/* Is key an answer as good as the oracle's? Two leave a choice: NEAR above or below at the same
 * distance, BEST with an alignment among many holes (lathwork/hole.h). */
bool oracle_accepts(const struct oracle *oracle, const struct lath_hole_request *want,
		    uint64_t key);

struct oracle_holes {
	uint64_t largest, order, free, holes; /* order: 64 when no key is free */
	uint64_t histogram[64];
};

/* Is this 1000 * (1 - largest / free), but for what rounding does? */
static inline bool oracle_permille(const struct oracle_holes *holes, uint64_t permille)
{
	double exact = 0;

	if (holes->free > holes->largest)
		exact = 1000 - 1000.0 * (double)holes->largest / (double)holes->free;
	return (double)permille - exact <= 1.5 && exact - (double)permille <= 1.5;
}

/* What is free in [low, high), high 0: 2^64. Not for the whole empty key space, whose size is no
 * uint64_t. */
void oracle_measure(const struct oracle *oracle, uint64_t low, uint64_t high,
		    struct oracle_holes *holes);

#endif /* LATH_TESTS_ORACLE_H */
