/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * count.h - the number of records before a key, and the record at a position: sets with LATH_RANKS.
 *
 * The trees of such a set have weights (tree/watch/rank.h): a word of a layer counts for the
 * records that it leads to. Those of an array are counted where they are; those of a layer are in
 * layer->total, whose change goes from the layer to the one above, and so on to the root:
 *
 *   R1  layer->total is the number of records below the layer, but for changes whose calls have not
 *       returned yet
 *   R2  layer->up is the layer that has its word
 *
 * Both change under layer->lock. A layer N that comes between a layer and the one above it takes
 * the lower one's total and its place in one locked section: who changed the lower total before is
 * in that of N and goes on above it; who comes later finds N (R2).
 */
#ifndef LATH_INDEX_BYTES_COUNT_H
#define LATH_INDEX_BYTES_COUNT_H

#include "set/bytes/bytes.h"

/* Returns how many records a word leads to; any number if the layer has another word in its place
 * by now. In a section. */
u64 lath_word_weight(u64 word);

/* `by` (1 or -1) records came or went at a place, as the words there say already: the counts above
 * are to follow. In a section of a call, no lock held. */
void lath_count_changed(struct bytes_set *set, const struct place *place, int by);

/* Put a layer that lath_layer_above() made in the place of the one below it. 0 | LOOK_AGAIN:
 * another thread was faster. In a section of a call, no lock held. */
int lath_count_layer_above(const struct place *place, struct layer *layer);

/* Returns false if R1 or R2 is wrong of a layer that is not the root. Nobody writes. */
bool lath_count_layer_true(struct layer *layer);

#endif /* LATH_INDEX_BYTES_COUNT_H */
