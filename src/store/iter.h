/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iter.h - iterators, for the store's own walks.
 */
#ifndef LATH_STORE_ITER_H
#define LATH_STORE_ITER_H

#include "store/engine.h"

/* As lath_store_iter_next, with expired entries. *word must keep its value between
 * calls. */
int iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word);

#endif /* LATH_STORE_ITER_H */
