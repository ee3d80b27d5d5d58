/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * layer.h - layers: trees of keys that agree in a prefix; the way to a key.
 */
#ifndef LATH_INDEX_BYTES_LAYER_H
#define LATH_INDEX_BYTES_LAYER_H

#include "set/bytes/key.h"

/* The bytes of the prefix, which follow the struct. */
static inline u8 *layer_prefix(const struct layer *layer)
{
	return (u8 *)(uintptr_t)(layer + 1);
}

/* The prefix of a layer as a key. */
static inline struct want layer_key(const struct layer *layer)
{
	return (struct want){ layer_prefix(layer), layer->known, 0, false };
}

/* Prepare a layer of the set; the root has no prefix. 0 | -ENOMEM */
int lath_layer_prepare(struct bytes_set *set, struct layer *layer, u64 rank, bool pooled);
/* Make a layer of keys that agree with `key` in all steps before `rank`. NULL: no memory. */
struct layer *lath_layer_new(struct bytes_set *set, u64 rank, const struct want *key);
/* Insert a word into a layer that no other thread has seen. 0 | -ENOMEM */
int lath_layer_insert_word(struct layer *layer, u64 slice, u64 word);
/* The layer is in use from now on, in the place of `below` or, if that is NULL, of a bucket. */
void lath_layer_add(struct bytes_set *set, struct layer *layer, const struct layer *below);
/* Free the block of a layer whose index has ended. */
void lath_layer_free(struct bytes_set *set, struct layer *layer);
/* Returns whether the key belongs into the layer, by its prefix. */
bool lath_layer_holds(const struct layer *layer, const struct want *want);

/* Returns the layer that the way to a key begins at: the trunk if the key belongs into it, else the
 * root. The trunk is the first layer of BYTES that the set needed, or one that came above it. So
 * what most keys begin with is compared at once instead of looked up. The key is not `beyond`. */
static inline struct layer *layer_begin(struct bytes_set *set, const struct want *want)
{
	struct layer *trunk = smp_load_acquire(&set->trunk); /* pairs with lath_layer_add */

	LATH_ASSERT(!want->beyond);
	LATH_ASSERT(!trunk || !(trunk->rank & 1)); /* a prefix that is compared as bytes */
	return trunk && lath_layer_holds(trunk, want) ? trunk : &set->root;
}

/* Returns whether a record, an array or a layer with this key belongs at the place: into its layer,
 * at its slice. */
bool lath_place_holds(const struct place *place, const struct want *key);
/* Returns whether all keys of the layer are behind (-1) or before (1) the key; 0: neither. */
int lath_layer_side(const struct layer *layer, const struct want *want);
/* Follow the key from there to a word that leads to no layer. Further prefixes are not compared:
 * the record there has the key or not. In a section. */
void lath_bytes_search(struct bytes_set *set, const struct want *want, struct place *place);
/* As lath_bytes_search(), to where the key belongs: the word may be that of a layer which the key
 * does not belong into. */
void lath_bytes_search_place(struct bytes_set *set, const struct want *want, struct place *place);

/* Returns in how many bytes, at least, the keys at a place agree: all keys
 * behind one word of the root have its slice. */
static inline u64 agree_at(const struct bytes_set *set, const struct place *place)
{
	return place->layer == &set->root ? STEP : 0;
}

#endif /* LATH_INDEX_BYTES_LAYER_H */
