/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * string_map.c - layers, buckets and records.
 */
#include "string_map.h"

#include <errno.h>
#include <string.h>

#include "command.h"
#include "index.h"

struct record {
	word value;
	uint32_t size;
	char key[];
};

struct bucket {
	size_t n, room;
	struct record *at[];
};

struct strings {
	word root; /* 0: empty */
	size_t bytes;
	size_t layers, layered; /* layers, and entries in them */
	char *mark; /* the key where a defragmentation goes on; NULL: none is under way */
	size_t mark_size;
};

/* What a layer maps to: an address and its kind in the two lowest bits; 0: nothing. */
enum { RECORD, BUCKET_OF, LAYER, NODE_KIND = 3 };

static struct record *record_of(word node)
{
	return (struct record *)(uintptr_t)node;
}

static struct bucket *bucket_of(word node)
{
	return (struct bucket *)(uintptr_t)(node - BUCKET_OF);
}

static struct lath_index *layer_of(word node)
{
	return (struct lath_index *)(uintptr_t)(node - LAYER);
}

static struct bytes key_of(const struct record *record)
{
	return (struct bytes){ record->key, record->size };
}

static uint64_t slice_of(struct bytes key, size_t depth)
{
	size_t from = 8 * depth, left = key.size > from ? key.size - from : 0;
	uint64_t slice = 0;

	if (left)
		memcpy(&slice, key.data + from, left < 8 ? left : 8);
	return __builtin_bswap64(slice);
}

/* ---- records and buckets ---- */

static size_t record_size(size_t key)
{
	return (sizeof(struct record) + key + 7) & ~7ul;
}

static struct record *record_make(struct strings *strings, struct bytes key, word value)
{
	struct record *record;

	if (key.size > VALUE_MAX)
		return NULL;
	record = vk.TryAlloc(record_size(key.size));
	if (!record)
		return NULL;
	record->value = value;
	record->size = (uint32_t)key.size;
	if (key.size)
		memcpy(record->key, key.data, key.size);
	strings->bytes += record_size(key.size);
	return record;
}

/* Frees a record. Returns its value, which the caller owns then. */
static word record_end(struct strings *strings, struct record *record)
{
	word value = record->value;

	strings->bytes -= record_size(record->size);
	vk.Free(record);
	return value;
}

/* The first record that is not before the key, or with `behind` that is behind it. */
static size_t bucket_find(const struct bucket *bucket, struct bytes key, bool behind)
{
	size_t low = 0, high = bucket->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = bytes_compare(key_of(bucket->at[middle]), key);

		if (order < 0 || (behind && !order))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t bucket_size(size_t room)
{
	return sizeof(struct bucket) + room * sizeof(struct record *);
}

static struct bucket *bucket_make(struct strings *strings, size_t room)
{
	struct bucket *bucket = vk.TryAlloc(bucket_size(room));

	if (bucket) {
		bucket->n = 0;
		bucket->room = room;
		strings->bytes += bucket_size(room);
	}
	return bucket;
}

static void bucket_end(struct strings *strings, struct bucket *bucket)
{
	strings->bytes -= bucket_size(bucket->room);
	vk.Free(bucket);
}

/* Makes room for one more. Returns the bucket, at another address perhaps; NULL: no memory. */
static struct bucket *bucket_grow(struct strings *strings, struct bucket *bucket)
{
	struct bucket *more;

	if (bucket->n < bucket->room)
		return bucket;
	more = bucket_make(strings, 2 * bucket->room);
	if (!more)
		return NULL;
	memcpy(more->at, bucket->at, bucket->n * sizeof(bucket->at[0]));
	more->n = bucket->n;
	bucket_end(strings, bucket);
	return more;
}

/* ---- layers ---- */

static int layer_insert(struct strings *strings, struct lath_index *layer, uint64_t slice,
			word node)
{
	struct lath_item item = { slice, 1, node };
	int ret = lath_index_insert_item(layer, &item, NULL);

	strings->layered += !ret;
	return ret;
}

struct ending {
	struct strings *strings;
	bool records; /* too, not only buckets */
};

static void end_node(struct ending *ending, word node);

static void end_item(void *arg, const struct lath_item *item)
{
	struct ending *ending = arg;

	ending->strings->layered--;
	end_node(ending, item->value);
}

static void layer_end(struct ending *ending, struct lath_index *layer)
{
	lath_index_fini(layer, end_item, ending);
	server_memory.free(NULL, layer, sizeof(*layer));
	ending->strings->layers--;
}

static void end_node(struct ending *ending, word node)
{
	struct bucket *bucket;
	size_t i;

	if (!node)
		return;
	switch (node & NODE_KIND) {
	case RECORD:
		if (ending->records)
			value_free(record_end(ending->strings, record_of(node)));
		return;
	case BUCKET_OF:
		bucket = bucket_of(node);
		for (i = 0; ending->records && i < bucket->n; i++)
			value_free(record_end(ending->strings, bucket->at[i]));
		bucket_end(ending->strings, bucket);
		return;
	default:
		layer_end(ending, layer_of(node));
	}
}

/* Makes the layer of this depth from a bucket, which stays. NULL: no memory. */
static struct lath_index *layer_from(struct strings *strings, const struct bucket *bucket,
				     size_t depth)
{
	struct lath_index *layer = points_create(true);
	struct ending ending = { strings, false };
	size_t i, k;

	if (!layer)
		return NULL;
	strings->layers++;
	for (i = 0; i < bucket->n; i = k) {
		uint64_t slice = slice_of(key_of(bucket->at[i]), depth);
		word node = (word)(uintptr_t)bucket->at[i];

		for (k = i + 1; k < bucket->n && slice_of(key_of(bucket->at[k]), depth) == slice;
		     k++)
			;
		if (k > i + 1) {
			struct bucket *part = bucket_make(strings, k - i);

			if (!part)
				break;
			part->n = k - i;
			memcpy(part->at, bucket->at + i, part->n * sizeof(part->at[0]));
			node = (word)(uintptr_t)part + BUCKET_OF;
		}
		if (layer_insert(strings, layer, slice, node)) {
			end_node(&ending, node);
			break;
		}
	}
	if (i == bucket->n)
		return layer;
	layer_end(&ending, layer);
	return NULL;
}

/* ---- making and ending ---- */

struct strings *strings_create(void)
{
	struct strings *strings = vk.TryAlloc(sizeof(*strings));

	if (strings)
		*strings = (struct strings){ 0 };
	return strings;
}

void strings_free(struct strings *strings)
{
	struct ending ending = { strings, true };

	end_node(&ending, strings->root);
	vk.Free(strings->mark);
	vk.Free(strings);
}

size_t strings_memory(const struct strings *strings)
{
	return sizeof(*strings) + strings->bytes + 1728 * strings->layers + 22 * strings->layered;
}

/* ---- single entries ---- */

int strings_get(const struct strings *strings, struct bytes key, word *value)
{
	word node = strings->root;
	struct bucket *bucket;
	size_t depth, i;

	for (depth = 0; node; depth++)
		switch (node & NODE_KIND) {
		case RECORD:
			*value = record_of(node)->value;
			return !bytes_compare(key_of(record_of(node)), key);
		case BUCKET_OF:
			bucket = bucket_of(node);
			i = bucket_find(bucket, key, false);
			if (i == bucket->n || bytes_compare(key_of(bucket->at[i]), key))
				return 0;
			*value = bucket->at[i]->value;
			return 1;
		default:
			if (!lath_index_get(layer_of(node), slice_of(key, depth), &node))
				return 0;
		}
	return 0;
}

struct change {
	struct strings *strings;
	struct bytes key;
	word value; /* to set */
	word *old;  /* that was there */
};

static int set_node(const struct change *change, word *node, size_t depth);

static int set_record(const struct change *change, word *node)
{
	struct record *there = record_of(*node), *record;
	int order = bytes_compare(key_of(there), change->key);
	struct bucket *bucket;

	if (!order) {
		*change->old = there->value;
		there->value = change->value;
		return 0;
	}
	bucket = bucket_make(change->strings, 4);
	if (!bucket)
		return -ENOMEM;
	record = record_make(change->strings, change->key, change->value);
	if (!record) {
		bucket_end(change->strings, bucket);
		return -ENOMEM;
	}
	bucket->n = 2;
	bucket->at[order > 0] = there;
	bucket->at[order < 0] = record;
	*node = (word)(uintptr_t)bucket + BUCKET_OF;
	return 1;
}

static int set_bucket(const struct change *change, word *node, size_t depth)
{
	struct bucket *bucket = bucket_of(*node);
	size_t i = bucket_find(bucket, change->key, false);
	struct lath_index *layer;
	struct record *record;

	if (i < bucket->n && !bytes_compare(key_of(bucket->at[i]), change->key)) {
		*change->old = bucket->at[i]->value;
		bucket->at[i]->value = change->value;
		return 0;
	}
	if (bucket->n >= STRINGS_BUCKET && depth < STRINGS_DEPTH) {
		layer = layer_from(change->strings, bucket, depth);
		if (!layer)
			return -ENOMEM;
		bucket_end(change->strings, bucket);
		*node = (word)(uintptr_t)layer + LAYER;
		return set_node(change, node, depth);
	}
	bucket = bucket_grow(change->strings, bucket);
	if (!bucket)
		return -ENOMEM;
	*node = (word)(uintptr_t)bucket + BUCKET_OF;
	record = record_make(change->strings, change->key, change->value);
	if (!record)
		return -ENOMEM;
	memmove(&bucket->at[i + 1], &bucket->at[i], (bucket->n - i) * sizeof(bucket->at[0]));
	bucket->at[i] = record;
	bucket->n++;
	return 1;
}

static int set_layer(const struct change *change, struct lath_index *layer, size_t depth)
{
	uint64_t slice = slice_of(change->key, depth);
	struct record *record;
	word before, node;
	int ret;

	if (lath_index_get(layer, slice, &before)) {
		node = before;
		ret = set_node(change, &node, depth + 1);
		if (node != before)
			lath_index_replace_item(layer, slice, node, NULL);
		return ret;
	}
	record = record_make(change->strings, change->key, change->value);
	if (!record)
		return -ENOMEM;
	if (layer_insert(change->strings, layer, slice, (word)(uintptr_t)record)) {
		record_end(change->strings, record);
		return -ENOMEM;
	}
	return 1;
}

/* The depth of recursion is at most STRINGS_DEPTH. */
static int set_node(const struct change *change, word *node, size_t depth)
{
	switch (*node & NODE_KIND) {
	case RECORD:
		return set_record(change, node);
	case BUCKET_OF:
		return set_bucket(change, node, depth);
	default:
		return set_layer(change, layer_of(*node), depth);
	}
}

int strings_set(struct strings *strings, struct bytes key, word value, word *old)
{
	struct change change = { strings, key, value, old };
	struct record *record;

	if (strings->root)
		return set_node(&change, &strings->root, 0);
	record = record_make(strings, key, value);
	strings->root = (word)(uintptr_t)record;
	return record ? 1 : -ENOMEM;
}

static int erase_node(const struct change *change, word *node, size_t depth)
{
	struct ending ending = { change->strings, false };
	struct bucket *bucket;
	struct lath_item item;
	uint64_t slice;
	word child;
	size_t i;

	switch (*node & NODE_KIND) {
	case RECORD:
		if (bytes_compare(key_of(record_of(*node)), change->key))
			return 0;
		*change->old = record_end(change->strings, record_of(*node));
		*node = 0;
		return 1;
	case BUCKET_OF:
		bucket = bucket_of(*node);
		i = bucket_find(bucket, change->key, false);
		if (i == bucket->n || bytes_compare(key_of(bucket->at[i]), change->key))
			return 0;
		*change->old = record_end(change->strings, bucket->at[i]);
		bucket->n--;
		memmove(&bucket->at[i], &bucket->at[i + 1],
			(bucket->n - i) * sizeof(bucket->at[0]));
		if (!bucket->n) {
			bucket_end(change->strings, bucket);
			*node = 0;
		}
		return 1;
	default:
		slice = slice_of(change->key, depth);
		if (!lath_index_get(layer_of(*node), slice, &child) ||
		    !erase_node(change, &child, depth + 1))
			return 0;
		if (child) {
			lath_index_replace_item(layer_of(*node), slice, child, NULL);
			return 1;
		}
		lath_index_erase_item(layer_of(*node), slice, NULL);
		change->strings->layered--;
		if (lath_index_first_item(layer_of(*node), &item)) {
			layer_end(&ending, layer_of(*node));
			*node = 0;
		}
		return 1;
	}
}

int strings_erase(struct strings *strings, struct bytes key, word *old)
{
	struct change change = { strings, key, 0, old };

	return strings->root && erase_node(&change, &strings->root, 0);
}

/* ---- ranges ---- */

/* The first record below the node, or the last one. */
static struct record *outermost(word node, bool last)
{
	struct lath_item item = { 0 };

	while ((node & NODE_KIND) == LAYER) { /* no layer is empty */
		if (last)
			lath_index_last_item(layer_of(node), &item);
		else
			lath_index_first_item(layer_of(node), &item);
		node = item.value;
	}
	if ((node & NODE_KIND) == BUCKET_OF)
		return bucket_of(node)->at[last ? bucket_of(node)->n - 1 : 0];
	return record_of(node);
}

/* The record nearest to the key: with `back` the last one before it, else the first one behind it;
 * the one with the key itself unless `open`. NULL: there is none. */
static struct record *nearest(word node, struct bytes key, size_t depth, bool open, bool back)
{
	struct record *found;
	struct lath_item item;
	uint64_t slice;
	size_t i;
	int order, none;
	word child;

	switch (node & NODE_KIND) {
	case RECORD:
		order = bytes_compare(key_of(record_of(node)), key);
		return (back ? order < 0 : order > 0) || (!order && !open) ? record_of(node) : NULL;
	case BUCKET_OF:
		i = bucket_find(bucket_of(node), key, open != back);
		if (back)
			return i ? bucket_of(node)->at[i - 1] : NULL;
		return i < bucket_of(node)->n ? bucket_of(node)->at[i] : NULL;
	default:
		slice = slice_of(key, depth);
		if (lath_index_get(layer_of(node), slice, &child)) {
			found = nearest(child, key, depth + 1, open, back);
			if (found)
				return found;
		}
		if (slice == (back ? 0 : UINT64_MAX))
			return NULL;
		none = back ? lath_index_floor_item(layer_of(node), slice - 1, &item)
			    : lath_index_ceiling_item(layer_of(node), slice + 1, &item);
		return none ? NULL : outermost(item.value, back);
	}
}

int strings_next(struct map_iter *iter, struct map_entry *entry)
{
	const struct strings *strings = iter->map->body;
	struct map_bound *here = iter->back ? &iter->high : &iter->low;
	const struct map_bound *end = iter->back ? &iter->low : &iter->high;
	struct record *record = NULL;
	int order;

	if (!iter->most || !strings->root || here->infinite == (iter->back ? -1 : 1) ||
	    end->infinite == (iter->back ? 1 : -1))
		return 0;
	if (here->infinite)
		record = outermost(strings->root, iter->back);
	else
		record = nearest(strings->root, here->key.string, 0, here->open, iter->back);
	if (!record)
		return 0;
	order = end->infinite ? -1 : bytes_compare(key_of(record), end->key.string);
	if (iter->back && !end->infinite)
		order = -order;
	if (order > 0 || (!order && end->open))
		return 0;
	*here = (struct map_bound){ .key = { 0, key_of(record) }, .open = true };
	entry->key = here->key;
	entry->value = record->value;
	iter->most--;
	return 1;
}

/* ---- defragmentation ---- */

static struct record *move_record(struct vk_defrag *ctx, struct record *record)
{
	record = defrag_block(ctx, record);
	record->value = defrag_value(ctx, record->value);
	return record;
}

/* Moves the record of a key, which is there, and with the first record of a bucket the bucket.
 * Returns where the record is now. */
static struct record *move_node(struct vk_defrag *ctx, word *node, struct bytes key, size_t depth)
{
	struct record *record;
	struct bucket *bucket;
	word before, child;
	uint64_t slice;
	size_t i;

	switch (*node & NODE_KIND) {
	case RECORD:
		record = move_record(ctx, record_of(*node));
		*node = (word)(uintptr_t)record;
		return record;
	case BUCKET_OF:
		i = bucket_find(bucket_of(*node), key, false);
		if (!i)
			*node = (word)(uintptr_t)defrag_block(ctx, bucket_of(*node)) + BUCKET_OF;
		bucket = bucket_of(*node);
		return bucket->at[i] = move_record(ctx, bucket->at[i]);
	default:
		slice = slice_of(key, depth);
		lath_index_get(layer_of(*node), slice, &before);
		child = before;
		record = move_node(ctx, &child, key, depth + 1);
		if (child != before)
			lath_index_replace_item(layer_of(*node), slice, child, NULL);
		return record;
	}
}

/* Notes the key of a record, to go on behind it. false: no memory. */
static bool set_mark(struct strings *strings, const struct record *record)
{
	strings->mark = vk.TryAlloc(record->size + 1);
	if (!strings->mark)
		return false;
	memcpy(strings->mark, record->key, record->size);
	strings->mark_size = record->size;
	return true;
}

/* The cursor of the server says that there is a mark; the mark says where. */
int strings_defragment(struct strings *strings, struct vk_defrag *ctx, uint64_t from)
{
	struct record *record = NULL;

	if (strings->root)
		record = from && strings->mark
				 ? nearest(strings->root,
					   (struct bytes){ strings->mark, strings->mark_size }, 0,
					   true, false)
				 : outermost(strings->root, false);
	vk.Free(strings->mark);
	strings->mark = NULL;
	while (record) {
		record = move_node(ctx, &strings->root, key_of(record), 0);
		if (defrag_pause(ctx, 1))
			return set_mark(strings, record);
		record = nearest(strings->root, key_of(record), 0, true, false);
	}
	return 0;
}
