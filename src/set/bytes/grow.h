/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.h - an array that is full becomes a larger one or a layer.
 */
#ifndef LATH_INDEX_BYTES_GROW_H
#define LATH_INDEX_BYTES_GROW_H

#include "set/bytes/bytes.h"

/* The bucket at the place has no room: put one record more there. Results as lath_bucket_insert(),
 * and -ENOMEM. */
int lath_bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 value, u64 *there);
/* Make a layer for the step in which a key leaves the prefix of the layer at the place, with that
 * layer and the record in it. 0 (*out) | -ENOMEM */
int lath_layer_above(struct bytes_set *set, const struct place *place, const struct want *want,
		     u64 value, struct layer **out);
/* The layer was seen by no other thread: free it and its buckets. */
void lath_layer_drop(struct bytes_set *set, struct layer *layer);

#endif /* LATH_INDEX_BYTES_GROW_H */
