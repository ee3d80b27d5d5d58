/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * layer.c - layers: trees of keys that agree in a prefix.
 */
#include "set/bytes/layer.h"

/* While small blocks take less than this for each layer with nodes in chunks, a new layer becomes
 * one: the first chunks of a tree take 32 KiB, but it can have a hint table. Early layers grow
 * largest. */
#define BYTES_PER_POOL (512ul << 10)

/* ---- memory ---- */

static size_t layer_size(const struct layer *layer)
{
	return (sizeof(*layer) + layer->known + 63) & ~63ul;
}

int lath_layer_prepare(struct bytes_set *set, struct layer *layer, u64 rank, bool pooled)
{
	struct lath_config config = set->config;
	int ret;

	layer->rank = rank;
	layer->forked = 0;
	layer->next = NULL;
	config.flags |= pooled ? 0 : LATH_NODE_EACH;
	config.id += lath_fetch_add(&set->ids, 1);
	ret = lath_index_init(&layer->index, &config);
	/* no other thread has seen it: the function may be set without a lock */
	if (!ret)
		tree_of(&layer->index)->weight = set->weight;
	lath_spin_init(&layer->lock);
	return ret;
}

struct layer *lath_layer_new(struct bytes_set *set, u64 rank, const struct want *key)
{
	u64 known = rank == TAG ? key->size : depth_of(rank) + (rank & 1 ? STEP : 0), have;
	bool pooled = READ_ONCE(set->bytes) / BYTES_PER_POOL >= READ_ONCE(set->pooled);
	struct layer head = { .known = (u32)known }, *layer;

	/* the key agrees in the steps before, so it ends at the earliest in the last of them */
	LATH_ASSERT(rank & 1 ? known <= key->size + STEP : known <= key->size);
	LATH_ASSERT(!key->beyond && known <= LATH_BYTES_SIZE_MAX + STEP);
	layer = lath_bytes_alloc(set, layer_size(&head), 64);
	if (!layer)
		return NULL;
	have = min(known, key->size);
	layer->known = (u32)known;
	/* no copy of 0 bytes: the data of an empty key may be NULL */
	if (have)
		memcpy(layer_prefix(layer), key->data, have);
	memset(layer_prefix(layer) + have, 0, known - have);
	if (lath_layer_prepare(set, layer, rank, pooled)) {
		lath_bytes_free(set, layer, layer_size(layer));
		return NULL;
	}
	if (pooled)
		lath_fetch_add(&set->pooled, 1);
	return layer;
}

void lath_layer_add(struct bytes_set *set, struct layer *layer, const struct layer *below)
{
	/* a layer above another one is for an earlier step; the root alone has rank 0 */
	LATH_ASSERT(layer->rank && (!below || layer->rank < below->rank));
	lath_spin_lock(&set->lock);
	layer->next = set->layers;
	WRITE_ONCE(set->trees, set->trees + 1);
	smp_store_release(&set->layers, layer); /* pairs with layer_after */
	/* the first layer of all (no trunk, no layer below), or one that came above the trunk: else
	 * keys that the trunk holds are not below it */
	if (set->trunk == below && !(layer->rank & 1))
		smp_store_release(&set->trunk, layer); /* pairs with layer_begin */
	lath_spin_unlock(&set->lock);
}

void lath_layer_free(struct bytes_set *set, struct layer *layer)
{
	LATH_ASSERT(layer != &set->root); /* which is a part of the set */
	lath_bytes_free(set, layer, layer_size(layer));
}

int lath_layer_insert_word(struct layer *layer, u64 slice, u64 word)
{
	struct lath_item item = { slice, 1, word };

	LATH_ASSERT(word); /* 0 says that there is none */
	return lath_index_insert_item(&layer->index, &item, NULL);
}

/* ---- keys and layers ---- */

bool lath_layer_holds(const struct layer *layer, const struct want *want)
{
	struct want prefix = layer_key(layer);

	LATH_ASSERT(!want->beyond);
	/* a layer of bytes: the prefix is all bytes before its depth. Else the step of the length
	 * tells padding from bytes, which a comparison of bytes does not. */
	if (likely(!(layer->rank & 1)))
		return want->size >= layer->known &&
		       (!layer->known || !memcmp(want->data, layer_prefix(layer), layer->known));
	return lath_bytes_fork(want, &prefix) >= layer->rank;
}

bool lath_place_holds(const struct place *place, const struct want *key)
{
	return lath_layer_holds(place->layer, key) &&
	       slice_of(key, place->layer->rank) == place->slice;
}

int lath_layer_side(const struct layer *layer, const struct want *want)
{
	struct want prefix = layer_key(layer);
	u64 most = min(want->size, (u64)layer->known), agree;

	if (!want->beyond && lath_layer_holds(layer, want))
		return 0;
	agree = lath_bytes_agree(want->data, layer_prefix(layer), most);
	/* the first byte in which they differ decides, whatever follows */
	if (agree < most)
		return want->data[agree] < layer_prefix(layer)[agree] ? -1 : 1;
	/* behind all keys that begin with its bytes, so behind the layer if all of its keys do;
	 * else the layer has keys on both sides. With tags the prefix is the whole key. */
	if (want->beyond)
		return want->size <= layer->known || layer->rank == TAG;
	return lath_bytes_compare(want, &prefix);
}

/* lath_bytes_search(), or, with `belongs`, lath_bytes_search_place(). */
static __always_inline void follow(struct bytes_set *set, const struct want *want, bool belongs,
				   struct place *place)
{
	struct layer *layer = layer_begin(set, want);

	LATH_ASSERT(lath_reader_inside(set->rcu)); /* buckets and rows are freed */
	for (;;) {
		place->layer = layer;
		place->slice = slice_of(want, layer->rank);
		if (!lath_index_get(&layer->index, place->slice, &place->word))
			place->word = 0;
		if (form_of(place->word) != FORM_LAYER)
			return;
		layer = layer_of(place->word);
		LATH_ASSERT(layer->rank > place->layer->rank); /* so the way ends */
		/* only who puts a record there must know: for a lookup the record's own key says
		 * whether it is the right one */
		if (belongs && !lath_layer_holds(layer, want))
			return;
	}
}

void lath_bytes_search(struct bytes_set *set, const struct want *want, struct place *place)
{
	follow(set, want, false, place);
}

void lath_bytes_search_place(struct bytes_set *set, const struct want *want, struct place *place)
{
	follow(set, want, true, place);
}
