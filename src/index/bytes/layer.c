/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * layer.c - layers: trees of keys that agree in a prefix.
 */
#include "index/bytes/bytes.h"

/* While small blocks take less than this for each layer with nodes in chunks, a new layer becomes
 * one: the first chunks of a tree take 32 KiB, but it can have a hint table. Early layers grow
 * largest. */
#define BYTES_PER_POOL (512ul << 10)

/* ---- memory ---- */

void *bytes_alloc(struct bytes_set *set, size_t size, size_t align)
{
	const struct lath_allocator *from = set->config.allocator;
	void *block;

	if (from)
		block = from->alloc(from->ctx, size, align);
	else
		block = align < 64 ? lath_small_alloc(size) : lath_block_alloc(size);
	if (block)
		lath_fetch_add(&set->bytes, size);
	return block;
}

void bytes_free(struct bytes_set *set, void *block, size_t size)
{
	const struct lath_allocator *to = set->config.allocator;

	lath_fetch_add(&set->bytes, -(u64)size);
	if (to)
		to->free(to->ctx, block, size);
	else
		lath_block_free(block);
}

static size_t layer_size(const struct layer *layer)
{
	return (sizeof(*layer) + layer->known + 63) & ~63ul;
}

int layer_prepare(struct bytes_set *set, struct layer *layer, u64 rank, bool pooled)
{
	struct lath_config config = set->config;

	layer->rank = rank;
	layer->forked = 0;
	layer->next = NULL;
	config.flags |= pooled ? 0 : LATH_NODE_EACH;
	config.id += lath_fetch_add(&set->ids, 1);
	return lath_index_init(&layer->index, &config);
}

/* Make a layer of keys that agree with `key` in all steps before `rank`. NULL: no memory. */
static struct layer *layer_new(struct bytes_set *set, u64 rank, const struct want *key)
{
	u64 known = rank == TAG ? key->size : depth_of(rank) + (rank & 1 ? STEP : 0), have;
	bool pooled = READ_ONCE(set->bytes) / BYTES_PER_POOL >= READ_ONCE(set->pooled);
	struct layer head = { .known = (u32)known }, *layer;

	layer = bytes_alloc(set, layer_size(&head), 64);
	if (!layer)
		return NULL;
	have = min(known, key->size);
	layer->known = (u32)known;
	if (have)
		memcpy(layer_prefix(layer), key->data, have);
	memset(layer_prefix(layer) + have, 0, known - have);
	if (layer_prepare(set, layer, rank, pooled)) {
		bytes_free(set, layer, layer_size(layer));
		return NULL;
	}
	if (pooled)
		lath_fetch_add(&set->pooled, 1);
	return layer;
}

void layer_add(struct bytes_set *set, struct layer *layer, const struct layer *below)
{
	lath_spin_lock(&set->lock);
	layer->next = set->layers;
	WRITE_ONCE(set->trees, set->trees + 1);
	smp_store_release(&set->layers, layer); /* pairs with layers_of */
	if (set->trunk == below && !(layer->rank & 1))
		smp_store_release(&set->trunk, layer); /* pairs with layer_begin */
	lath_spin_unlock(&set->lock);
}

static void drop_word(void *arg, const struct lath_item *item)
{
	array_drop(arg, item->value);
}

void layer_free(struct bytes_set *set, struct layer *layer)
{
	bytes_free(set, layer, layer_size(layer));
}

void layer_drop(struct bytes_set *set, struct layer *layer)
{
	lath_index_fini(&layer->index, drop_word, set);
	layer_free(set, layer);
}

/* ---- new layers ---- */

static int insert_word(struct layer *layer, u64 slice, u64 word)
{
	struct lath_item item = { slice, 1, word };

	return lath_index_insert_item(&layer->index, &item, NULL);
}

/* Put records i to end - 1 of a sorted bucket, which have one slice, into a layer. 0 | -ENOMEM */
static int insert_group(struct bytes_set *set, struct layer *layer, u64 slice, struct bucket *from,
			u32 i, u32 end)
{
	struct bucket *bucket;
	struct want first, last;
	int ret;

	if (end - i == 1)
		return insert_word(layer, slice, *bucket_value(from, i));
	first = key_of(set, *bucket_value(from, i));
	last = key_of(set, *bucket_value(from, end - 1));
	bucket = bucket_new(set, end - i, bytes_common(&first, &last));
	if (!bucket)
		return -ENOMEM;
	for (; i < end; i++)
		bucket_append(set, bucket, layer, *bucket_value(from, i));
	bucket_sort_out(set, bucket);
	layer->forked = 1;
	ret = insert_word(layer, slice, bucket_word(bucket));
	if (ret)
		bucket_drop(bucket);
	return ret;
}

int layer_of_bucket(struct bytes_set *set, struct bucket *bucket, struct layer **out)
{
	struct want first = key_of(set, *bucket_value(bucket, 0)),
		    last = key_of(set, *bucket_value(bucket, bucket->used - 1u));
	struct layer *layer = layer_new(set, bytes_fork(&first, &last), &first);
	u64 slice, next;
	u32 i, end;
	int ret = 0;

	if (!layer)
		return -ENOMEM;
	next = slice_of(&first, layer->rank);
	for (i = 0; i < bucket->used && !ret; i = end) {
		slice = next;
		for (end = i + 1; end < bucket->used; end++) {
			struct want key = key_of(set, *bucket_value(bucket, end));

			next = slice_of(&key, layer->rank);
			if (next != slice)
				break;
		}
		ret = insert_group(set, layer, slice, bucket, i, end);
	}
	if (ret)
		layer_drop(set, layer);
	else
		*out = layer;
	return ret;
}

int layer_above(struct bytes_set *set, const struct place *place, const struct want *want,
		u64 value, struct layer **out)
{
	const struct layer *below = layer_of(place->word);
	struct want prefix = layer_key(below);
	u64 rank = bytes_fork(want, &prefix);
	struct layer *layer = layer_new(set, rank, &prefix);
	int ret;

	LATH_ASSERT(rank > place->layer->rank && rank < below->rank);
	if (!layer)
		return -ENOMEM;
	layer->forked = 1;
	ret = insert_word(layer, slice_of(&prefix, rank), place->word);
	if (!ret)
		ret = insert_word(layer, slice_of(want, rank), value);
	if (ret)
		layer_drop(set, layer);
	else
		*out = layer;
	return ret;
}

/* ---- keys and layers ---- */

bool layer_holds(const struct layer *layer, const struct want *want)
{
	struct want prefix = layer_key(layer);

	if (likely(!(layer->rank & 1)))
		return want->size >= layer->known &&
		       (!layer->known || !memcmp(want->data, layer_prefix(layer), layer->known));
	return bytes_fork(want, &prefix) >= layer->rank;
}

bool place_holds(const struct place *place, const struct want *key)
{
	return layer_holds(place->layer, key) && slice_of(key, place->layer->rank) == place->slice;
}

int layer_side(const struct layer *layer, const struct want *want)
{
	struct want prefix = layer_key(layer);
	u64 most = min(want->size, (u64)layer->known), agree;

	if (!want->beyond && layer_holds(layer, want))
		return 0;
	agree = bytes_agree(want->data, layer_prefix(layer), most);
	if (agree < most)
		return want->data[agree] < layer_prefix(layer)[agree] ? -1 : 1;
	if (want->beyond)
		return want->size <= layer->known || layer->rank == TAG;
	return bytes_compare(want, &prefix);
}

/* bytes_find(), or, with `belongs`, bytes_find_place(). */
static __always_inline void follow(struct bytes_set *set, const struct want *want, bool belongs,
				   struct place *place)
{
	struct layer *layer = layer_begin(set, want);

	for (;;) {
		place->layer = layer;
		place->slice = slice_of(want, layer->rank);
		if (!lath_index_get(&layer->index, place->slice, &place->word))
			place->word = 0;
		if (form_of(place->word) != FORM_LAYER)
			return;
		layer = layer_of(place->word);
		if (belongs && !layer_holds(layer, want))
			return;
	}
}

void bytes_find(struct bytes_set *set, const struct want *want, struct place *place)
{
	follow(set, want, false, place);
}

void bytes_find_place(struct bytes_set *set, const struct want *want, struct place *place)
{
	follow(set, want, true, place);
}
