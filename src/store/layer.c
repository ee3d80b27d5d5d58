/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * layer.c - byte keys: layers of indexes, slice by slice.
 *
 * Each change of what keys map to is one compare-and-swap of one word in one index, so a reader
 * sees the state before it or after it:
 *
 *   none   -> record             insert
 *   record -> record             replace_if
 *   record -> bucket             a second key with the same slice
 *   bucket -> bucket             a copy with a record added, removed or replaced
 *   bucket -> layer              one record too many: all of them go to a new layer, whose prefix
 *                                is what they agree in
 *   layer  -> layer              the key leaves the layer's prefix: a new layer at that depth, with
 *                                the old one below
 *   record -> none               erase_if
 *   bucket of two -> record      the record that is left
 *
 * The old word's memory is retired. The word of a layer in use is only ever replaced by that of a
 * layer above it, so a thread that is in a layer stays in the right one.
 */
#include "store/engine.h"

u64 slice_of(const u8 *key, u64 size, u64 depth)
{
	u64 left = size - depth, bytes = 0;
	unsigned int i, n = left < SLICE ? (unsigned int)left : SLICE;

	if (likely(left >= 8)) {
		memcpy(&bytes, key + depth, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		bytes = __builtin_bswap64(bytes);
#endif
		return (bytes & ~0xffull) | 8;
	}
	for (i = 0; i < n; i++)
		bytes |= (u64)key[depth + i] << (56 - 8 * i);
	return bytes | left;
}

static bool slice_is_shared(u64 slice)
{
	return (slice & 0xff) == 8;
}

int key_compare(const u8 *a, u64 a_size, const u8 *b, u64 b_size)
{
	int c = memcmp(a, b, min(a_size, b_size));

	return c ? c : (a_size > b_size) - (a_size < b_size);
}

static int compare_record(const struct lath_store *store, u64 word, struct lath_store_key key)
{
	const struct record *record = word_record(store, word);

	return key_compare(key.data, key.n, record_key(record), record_key_size(record));
}

/* Returns in how many bytes, at most `most`, a and b agree. They agree in the first `from`. */
static u32 agree(const u8 *a, const u8 *b, u32 from, u64 most)
{
	while (from < most && a[from] == b[from])
		from++;
	return from;
}

static void find_in_bucket(struct lath_store *store, struct lath_store_key key, struct place *place)
{
	const struct bucket *bucket = word_bucket(store, place->word);
	u32 low = 0, high = (u32)bucket->count;

	LATH_ASSERT(high > 1 && high <= BUCKET_MAX);
	while (low < high) {
		u32 mid = (low + high) / 2;
		int c = compare_record(store, bucket->word[mid], key);

		if (!c) {
			place->index = mid;
			place->value = bucket->word[mid];
			return;
		}
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	place->index = low;
}

void layer_find_from(struct lath_store *store, struct lath_store_key key, struct layer *layer,
		     u64 word, struct place *place)
{
	u32 from = layer->depth + SLICE; /* the key and all keys below agree so far */

	place->layer = layer;
	place->word = word;
	place->value = 0;
	place->agree = 0;
	while (place->word) {
		u64 most;

		switch (word_form(place->word)) {
		case WORD_RECORD:
			if (!slice_is_shared(place->slice) ||
			    !compare_record(store, place->word, key))
				place->value = place->word;
			return;
		case WORD_BUCKET:
			find_in_bucket(store, key, place);
			return;
		default:
			layer = word_layer(store, place->word);
		}
		most = min((u64)layer->depth, key.n);
		place->agree = agree(key.data, layer_prefix(layer), from, most);
		if (place->agree < layer->depth)
			return;
		place->agree = 0;
		place->layer = layer;
		place->slice = slice_of(key.data, key.n, layer->depth);
		from = layer->depth + SLICE;
		if (!lath_index_get(&layer->list, place->slice, &place->word))
			place->word = 0;
	}
}

void layer_find(struct lath_store *store, struct lath_store_key key, struct place *place)
{
	u64 word;

	place->slice = slice_of(key.data, key.n, 0);
	if (!lath_index_get(&store->root.list, place->slice, &word))
		word = 0;
	layer_find_from(store, key, &store->root, word, place);
}

/* ---- building ---- */

int layer_init(struct lath_store *store, struct layer *layer, unsigned int flags)
{
	struct lath_allocator allocator = { arena_node_alloc, arena_node_free, &store->index };
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = LATH_POINTS;
	/* numbers come at random more often than not; byte strings' words share prefixes */
	config.flags = flags | (store->keys == LATH_STORE_NUMBERS ? LATH_GAPPED : 0);
	config.rcu = store->rcu;
	config.allocator = &allocator;
	if (store->allocator) {
		config.flags |= LATH_SHARED;
		config.allocator = store->allocator;
		config.id = store->list_id++;
	}
	return lath_index_init(&layer->list, &config);
}

static int layer_new(struct lath_store *store, const u8 *prefix, u32 depth, struct layer **out)
{
	u64 size = (sizeof(struct layer) + depth + 63) & ~63ull,
	    place; /* aligned to a cache line */
	struct layer *layer;
	int ret;

	LATH_ASSERT(!(depth % SLICE));
	ret = arena_alloc(&store->index, size, &place);
	if (ret)
		return ret;
	layer = arena_at(&store->index, place);
	layer->depth = depth;
	memcpy(layer_prefix(layer), prefix, depth);
	/* most layers are small: allocate nodes one by one */
	ret = layer_init(store, layer, LATH_NODE_EACH);
	if (ret) {
		arena_free(&store->index, place);
		return ret;
	}
	*out = layer;
	return 0;
}

/* Frees a layer that no other thread has seen. */
static void layer_drop(struct lath_store *store, struct layer *layer)
{
	lath_index_fini(&layer->list, NULL, NULL);
	arena_free(&store->index, (u64)((char *)layer - store->index.base));
}

static u64 layer_word(const struct lath_store *store, const struct layer *layer)
{
	return place_word((u64)((const char *)layer - store->index.base), WORD_LAYER);
}

static int bucket_new(struct lath_store *store, const u64 *words, u64 count, u64 *out)
{
	struct bucket *bucket;
	u64 place;
	int ret = arena_alloc(&store->arena, sizeof(*bucket) + count * sizeof(u64), &place);

	LATH_ASSERT(count > 1 && count <= BUCKET_MAX);
	if (ret)
		return ret;
	bucket = arena_at(&store->arena, place);
	bucket->count = count;
	memcpy(bucket->word, words, count * sizeof(u64));
	*out = place_word(place, WORD_BUCKET);
	return 0;
}

static int insert_word(struct layer *layer, u64 slice, u64 word)
{
	struct lath_item item = { slice, 1, word };

	return lath_index_insert_item(&layer->list, &item, NULL);
}

static void drop_bucket(void *arg, const struct lath_item *item)
{
	struct lath_store *store = arg;

	if (word_form(item->value) == WORD_BUCKET)
		arena_free(&store->arena, word_place(item->value));
}

/* Makes a layer of `count` records in key order, more than a bucket holds, that agree in at least
 * `from` bytes. 0 (*out: its word) | -ENOMEM, -ENOSPC */
static int layer_of_records(struct lath_store *store, const u64 *words, u32 count, u32 from,
			    u64 *out)
{
	const struct record *first = word_record(store, words[0]),
			    *last = word_record(store, words[count - 1]);
	u32 depth = agree(record_key(first), record_key(last), from,
			  min(record_key_size(first), record_key_size(last)));
	struct layer *layer;
	u32 i, end;
	int ret;

	LATH_ASSERT(count > BUCKET_MAX && depth >= from);
	ret = layer_new(store, record_key(first), depth / SLICE * SLICE, &layer);
	if (ret)
		return ret;
	for (i = 0; i < count && !ret; i = end) {
		const struct record *record = word_record(store, words[i]);
		u64 slice = slice_of(record_key(record), record_key_size(record), layer->depth),
		    word = words[i];

		for (end = i + 1; end < count; end++) {
			record = word_record(store, words[end]);
			if (slice_of(record_key(record), record_key_size(record), layer->depth) !=
			    slice)
				break;
		}
		if (end - i > 1)
			ret = bucket_new(store, words + i, end - i, &word);
		if (ret)
			break;
		ret = insert_word(layer, slice, word);
		if (ret && end - i > 1)
			arena_free(&store->arena, word_place(word));
	}
	if (ret) {
		lath_index_fini(&layer->list, drop_bucket, store);
		arena_free(&store->index, (u64)((char *)layer - store->index.base));
		return ret;
	}
	*out = layer_word(store, layer);
	return 0;
}

/* Makes a layer above place's layer, where the key leaves its prefix, with the key's word in it. 0
 * (*out: its word) | -ENOMEM, -ENOSPC */
static int layer_above(struct lath_store *store, struct lath_store_key key,
		       const struct place *place, u64 value, u64 *out)
{
	const struct layer *below = word_layer(store, place->word);
	struct layer *layer;
	int ret = layer_new(store, layer_prefix(below), place->agree / SLICE * SLICE, &layer);

	LATH_ASSERT(place->agree < below->depth && place->agree >= place->layer->depth + SLICE);
	if (ret)
		return ret;
	ret = insert_word(
		layer, (slice_of(layer_prefix(below), below->depth, layer->depth) & ~0xffull) | 8,
		place->word);
	if (!ret)
		ret = insert_word(layer, slice_of(key.data, key.n, layer->depth), value);
	if (ret) {
		layer_drop(store, layer);
		return ret;
	}
	*out = layer_word(store, layer);
	return 0;
}

/* ---- changes ---- */

/* Replaces the word at the place by compare-and-swap. 0 | RETRY */
static int swap_word(const struct place *place, u64 word)
{
	return lath_index_replace_if(&place->layer->list, place->slice, place->word, word, NULL)
		       ? RETRY
		       : 0;
}

/* Copies the words at the place (a record counts as a bucket of one) with the key's word added or
 * replaced. Returns their number, at most BUCKET_MAX + 1. */
static u32 words_with(const struct lath_store *store, const struct place *place,
		      struct lath_store_key key, u64 value, u64 *words)
{
	u32 count = 1, index = place->index, rest;

	words[0] = place->word;
	if (word_form(place->word) == WORD_BUCKET) {
		const struct bucket *bucket = word_bucket(store, place->word);

		count = (u32)bucket->count;
		memcpy(words, bucket->word, count * sizeof(u64));
	} else if (!place->value) {
		index = compare_record(store, place->word, key) > 0;
	}
	if (!place->value) {
		rest = count - index;
		memmove(words + index + 1, words + index, rest * sizeof(u64));
		count++;
	}
	words[index] = value;
	LATH_ASSERT(!index || compare_record(store, words[index - 1], key) > 0);
	LATH_ASSERT(index + 1 == count || compare_record(store, words[index + 1], key) < 0);
	return count;
}

int layer_put(struct lath_store *store, struct lath_store_key key, const struct place *place,
	      u64 value)
{
	u64 words[BUCKET_MAX + 1], word = value;
	bool layered = false;
	u32 count;
	int ret = 0;

	lath_call_assert();
	LATH_ASSERT(word_form(value) == WORD_RECORD);
	if (!place->word) {
		ret = insert_word(place->layer, place->slice, value);
		return ret == -EEXIST ? RETRY : ret;
	}
	if (word_form(place->word) == WORD_LAYER) {
		layered = true;
		ret = layer_above(store, key, place, value, &word);
	} else if (word_form(place->word) == WORD_BUCKET || !place->value) {
		count = words_with(store, place, key, value, words);
		layered = count > BUCKET_MAX;
		ret = layered ? layer_of_records(store, words, count, place->layer->depth + SLICE,
						 &word)
			      : bucket_new(store, words, count, &word);
	}
	if (ret)
		return ret;
	ret = swap_word(place, word);
	if (ret) {
		if (word_form(word) == WORD_BUCKET) {
			arena_free(&store->arena, word_place(word));
		} else if (word_form(word) == WORD_LAYER) {
			lath_index_fini(&word_layer(store, word)->list, drop_bucket, store);
			arena_free(&store->index, word_place(word));
		}
		return ret;
	}
	if (layered)
		lath_fetch_add(&store->layers, 1);
	if (word_form(place->word) == WORD_BUCKET)
		arena_retire(&store->arena, word_place(place->word));
	return 0;
}

int layer_remove(struct lath_store *store, const struct place *place)
{
	struct bucket *bucket;
	u64 words[BUCKET_MAX], word;
	u32 count;
	int ret;

	lath_call_assert();
	LATH_ASSERT(place->value);
	if (word_form(place->word) != WORD_BUCKET)
		return lath_index_erase_if(&place->layer->list, place->slice, place->word, NULL)
			       ? RETRY
			       : 0;
	bucket = word_bucket(store, place->word);
	count = (u32)bucket->count - 1;
	LATH_ASSERT(place->index <= count && bucket->word[place->index] == place->value);
	memcpy(words, bucket->word, place->index * sizeof(u64));
	memcpy(words + place->index, bucket->word + place->index + 1,
	       (count - place->index) * sizeof(u64));
	word = words[0];
	if (count > 1) {
		ret = bucket_new(store, words, count, &word);
		if (ret)
			return ret;
	}
	ret = swap_word(place, word);
	if (ret) {
		if (count > 1)
			arena_free(&store->arena, word_place(word));
		return ret;
	}
	arena_retire(&store->arena, word_place(place->word));
	return 0;
}

/* ---- clearing ---- */

struct clearing {
	struct lath_store *store;
	struct layer *below; /* list of layers still to be cleared */
};

static void clear_word(void *arg, const struct lath_item *item)
{
	struct clearing *clearing = arg;
	struct lath_store *store = clearing->store;
	u64 i;

	if (word_form(item->value) == WORD_LAYER) {
		struct layer *layer = word_layer(store, item->value);

		layer->next = clearing->below;
		clearing->below = layer;
		return;
	}
	if (word_form(item->value) == WORD_BUCKET) {
		const struct bucket *bucket = word_bucket(store, item->value);

		for (i = 0; i < bucket->count; i++)
			value_drop(store, bucket->word[i]);
	}
	value_drop(store, item->value);
}

void layer_clear(struct lath_store *store)
{
	struct clearing clearing = { store, NULL };
	struct lath_item last;
	unsigned int i;

	/* erase_range cannot include the last key */
	lath_index_erase_range(&store->root.list, 0, ~0ull, clear_word, &clearing);
	if (!lath_index_erase_item(&store->root.list, ~0ull, &last))
		clear_word(&clearing, &last);
	while (clearing.below) {
		struct layer *layer = clearing.below;

		clearing.below = layer->next;
		lath_index_fini(&layer->list, clear_word, &clearing);
		arena_free(&store->index, (u64)((char *)layer - store->index.base));
	}
	store->layers = 0;
	for (i = 0; i < SHARDS; i++)
		store->arena.shard[i].items = 0;
}
