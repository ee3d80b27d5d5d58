/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * guide.h - numbers to leaves without a walk: a table over the range of the keys, in equal steps.
 *
 * A slot says which leaf covers its middle, and where in its steps that leaf begins and how wide it is, so that a
 * search can ask for the leaf's header and for the pairs it will need at once, after one miss instead of one a level.
 * All of it is a hint: the leaf's memory stays a leaf's of this index, and its word and fences tell whether it is
 * the right one (as with the fingers of src/skiplist/finger.h). Where keys are not spread evenly the table
 * is not used.
 *
 * Nobody waits for it. Every 256 changes one writer refreshes the leaves of one parent, in turn; a larger table is made
 * when the leaves have become too many. It takes 24 to 48 bytes a leaf, some 3 % of an
 * index.
 */
#ifndef LATH_STORE_GUIDE_H
#define LATH_STORE_GUIDE_H

#include "store/engine.h"

/* NONE: it does not know, walk. */
enum guide_answer { GUIDE_NONE, GUIDE_THERE, GUIDE_ABSENT };

/* Inside a reader. The word of a number; untouched unless it is THERE. */
enum guide_answer guide_get(struct lath_store *store, u64 key, u64 *word);
/* The leaf where a number may belong, asked for to be written; or NULL. Outside a reader too. */
struct node *guide_leaf(struct lath_store *store, u64 key);
/* Insert there: 0 | -EEXIST | -EAGAIN: by a walk */
int guide_insert(struct lath_store *store, struct node *leaf, const struct lath_item *item);
/* Put another word where a key is, in a leaf that was looked at just now: 0 and the old one | -ENOENT | -EAGAIN: by a walk */
int guide_replace(struct lath_store *store, u64 key, u64 value, u64 *old);
/*
 * Up to GUIDE_GROUP at once, as lath_skiplist_get_batch and lath_skiplist_insert_batch do it. The get inside a
 * reader. False, NOT_DONE: there is no guide.
 */
#define GUIDE_GROUP 64
bool guide_get_batch(struct lath_store *store, unsigned int n, const u64 *keys, u64 *words, u8 *hits);
enum guide_order { GUIDE_NOT_DONE, GUIDE_IN_ORDER, GUIDE_ANY_ORDER };
enum guide_order guide_insert_batch(struct lath_store *store, unsigned int n, const struct lath_item *items,
				    int *results);
/* It went by a walk just now: let the table know where. */
void guide_repair(struct lath_store *store, u64 key);
/* So many numbers were put in by this thread. */
void guide_turn(struct lath_store *store, unsigned int changes);

/* The whole table at once, where many were put in: twice, once to count and once to fill. */
void guide_go_round(struct lath_store *store);

/* Leaves from which on there is a guide. Tests begin at once. */
extern unsigned int lath_guide_least;

#endif /* LATH_STORE_GUIDE_H */
