/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.c - an array that is full becomes a larger one or a layer; a layer above another one.
 *
 * No other thread sees what these functions make, until one compare-and-swap puts it in the place
 * of what it replaces. If that fails, it is freed, and the caller looks again.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/row.h"

static void drop_word(void *arg, const struct lath_item *item)
{
	lath_array_drop(arg, item->value);
}

void lath_layer_drop(struct bytes_set *set, struct layer *layer)
{
	lath_index_fini(&layer->index, drop_word, set);
	lath_layer_free(set, layer);
}

/* Put records i to end - 1 of a sorted bucket, which have one slice, into a layer. 0 | -ENOMEM */
static int insert_group(struct bytes_set *set, struct layer *layer, u64 slice, struct bucket *from,
			u32 i, u32 end)
{
	struct bucket *bucket;
	struct want first, last;
	int ret;

	LATH_ASSERT(i < end && end <= from->used);
	/* a record that is alone with its slice is the word: no bucket */
	if (end - i == 1)
		return lath_layer_insert_word(layer, slice, *bucket_value(from, i));
	first = key_of(set, *bucket_value(from, i));
	last = key_of(set, *bucket_value(from, end - 1));
	bucket = lath_bucket_new(set, end - i, bytes_common(&first, &last));
	if (!bucket)
		return -ENOMEM;
	for (; i < end; i++)
		lath_bucket_append(set, bucket, layer, *bucket_value(from, i));
	lath_bucket_sort_out(set, bucket);
	layer->forked = 1;
	ret = lath_layer_insert_word(layer, slice, bucket_word(bucket));
	if (ret)
		lath_bucket_drop(bucket);
	return ret;
}

/* Make a layer below `up` for the first step in which the records of a bucket, sorted, differ. 0
 * (*out) | -ENOMEM */
static int layer_of_bucket(struct bytes_set *set, struct bucket *bucket, struct layer *up,
			   struct layer **out)
{
	struct want first = key_of(set, *bucket_value(bucket, 0)),
		    last = key_of(set, *bucket_value(bucket, bucket->used - 1u));
	struct layer *layer = lath_layer_new(set, lath_bytes_fork(&first, &last), &first);
	u64 slice, next;
	u32 i, end;
	int ret = 0;

	if (!layer)
		return -ENOMEM;
	LATH_ASSERT(layer->rank > up->rank); /* the records agree in all steps before */
	layer->total = bucket->used;
	layer->up = up;
	next = slice_of(&first, layer->rank);
	for (i = 0; i < bucket->used && !ret; i = end) {
		slice = next;
		for (end = i + 1; end < bucket->used; end++) {
			struct want key = key_of(set, *bucket_value(bucket, end));

			next = slice_of(&key, layer->rank);
			LATH_ASSERT(next >= slice); /* slices are in the order of the keys */
			if (next != slice)
				break;
		}
		ret = insert_group(set, layer, slice, bucket, i, end);
	}
	if (ret)
		lath_layer_drop(set, layer);
	else
		*out = layer;
	return ret;
}

int lath_bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 value, u64 *there)
{
	struct layer *layer = NULL;
	u32 version = lath_bucket_read(bucket_of(place->word));
	int ret;
	struct bucket *bucket =
		lath_bucket_copy_with(set, place, version, want, value, &ret, there);

	if (!bucket)
		return ret;
	if (bucket->used > BUCKET_MAX)
		ret = layer_of_bucket(set, bucket, place->layer, &layer);
	lath_delay("bucket copied, not yet replaced");
	if (!ret)
		ret = lath_bucket_replace(place, version,
					  layer ? (u64)(uintptr_t)layer | FORM_LAYER
						: bucket_word(bucket));
	/* the copy is in the set only if it is what took the place; its records are in the layer */
	if (layer || ret)
		lath_bucket_drop(bucket);
	if (layer && ret)
		lath_layer_drop(set, layer);
	else if (layer)
		lath_layer_add(set, layer, NULL);
	return ret;
}

int lath_layer_above(struct bytes_set *set, const struct place *place, const struct want *want,
		     u64 value, struct layer **out)
{
	const struct layer *below = layer_of(place->word);
	struct want prefix = layer_key(below);
	u64 rank = lath_bytes_fork(want, &prefix);
	struct layer *layer = lath_layer_new(set, rank, &prefix);
	int ret;

	LATH_ASSERT(rank > place->layer->rank && rank < below->rank);
	if (!layer)
		return -ENOMEM;
	/* else the second insert would fail: the record belongs below the old layer */
	LATH_ASSERT(slice_of(&prefix, rank) != slice_of(want, rank));
	layer->forked = 1;
	ret = lath_layer_insert_word(layer, slice_of(&prefix, rank), place->word);
	if (!ret)
		ret = lath_layer_insert_word(layer, slice_of(want, rank), value);
	if (ret)
		lath_layer_drop(set, layer);
	else
		*out = layer;
	return ret;
}
