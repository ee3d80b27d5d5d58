/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * count.c - rank and select: see count.h.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/count.h"
#include "set/bytes/row.h"
#include "tree/watch/rank.h"

u64 lath_word_weight(u64 word)
{
	u64 value[ROW_MAX];

	switch (form_of(word)) {
	case FORM_RECORD:
		return 1;
	case FORM_BUCKET:
		return READ_ONCE(bucket_of(word)->used);
	case FORM_ROW:
		return lath_row_read(word, value);
	default:
		return lath_count_shown(&layer_of(word)->total);
	}
}

void lath_count_changed(struct bytes_set *set, const struct place *place, int by)
{
	struct layer *layer = place->layer, *up;
	u64 slice = place->slice;
	struct want prefix;

	LATH_ASSERT(set->weight && (by == 1 || by == -1));
	LATH_ASSERT(lath_reader_inside(set->rcu));
	for (;;) {
		lath_count_weight_changed(tree_of(&layer->index), slice);
		if (layer == &set->root)
			return;
		/* one locked section for both: a layer that comes between has either this total
		 * and is told of nothing, or is `up` and is told (R2); see lath_count_shown() */
		lath_spin_lock(&layer->lock);
		WRITE_ONCE(layer->total, layer->total + (u64)(s64)by);
		up = layer->up;
		lath_spin_unlock(&layer->lock);
		LATH_ASSERT(up->rank < layer->rank);
		lath_delay("total changed, layer above not yet told");
		prefix = layer_key(layer);
		slice = slice_of(&prefix, up->rank);
		layer = up;
	}
}

int lath_count_layer_above(const struct place *place, struct layer *layer)
{
	struct layer *below = layer_of(place->word);
	int ret;

	LATH_ASSERT(place->layer->rank < layer->rank && layer->rank < below->rank);
	lath_spin_lock(&below->lock);
	layer->total = below->total + 1; /* with the record that it was made for */
	layer->up = place->layer;
	ret = lath_index_replace_if(&place->layer->index, place->slice, place->word,
				    (u64)(uintptr_t)layer | FORM_LAYER, NULL);
	if (!ret) {
		LATH_ASSERT(below->up == place->layer); /* R2 */
		below->up = layer;
	}
	lath_spin_unlock(&below->lock);
	return ret ? LOOK_AGAIN : 0;
}

/* ---- rank ---- */

/* How many records of a bucket are before the key, or with `behind` not behind it. */
static u64 before_in_bucket(struct bytes_set *set, u64 word, const struct want *want, bool behind)
{
	struct bucket *bucket = bucket_of(word);
	struct spot spot;
	u32 version;

	do {
		version = lath_bucket_read(bucket);
		spot = lath_bucket_seek(set, bucket, want);
	} while (unlikely(!lath_bucket_same(bucket, version)));
	return spot.i + (spot.equal && behind);
}

/* Is this record before the key, or with `behind` not behind it? */
static bool record_before(struct bytes_set *set, u64 value, const struct want *want, bool behind)
{
	struct want key = key_of(set, value);
	int c = lath_bytes_compare(want, &key);

	return c > 0 || (!c && behind);
}

#define ROW_LEFT (~0ull)

/* How many records of a word that the way to the key has led to are before it; ROW_LEFT: it was
 * left for good, so there is another word. *below: the layer that the way goes on in, or NULL. In a
 * section. */
static u64 before_in_word(struct bytes_set *set, u64 word, const struct want *want, bool behind,
			  struct layer **below)
{
	u64 value[ROW_MAX];
	u32 n, i = 0;
	int side;

	*below = NULL;
	switch (form_of(word)) {
	case FORM_RECORD: /* word 0: there is none */
		return word && record_before(set, word, want, behind);
	case FORM_BUCKET:
		return before_in_bucket(set, word, want, behind);
	case FORM_ROW:
		n = lath_row_read(word, value);
		if (!n)
			return ROW_LEFT;
		while (i < n && record_before(set, value[i], want, behind))
			i++;
		return i;
	default:
		/* all records of the layer are on one side of the key, or the way goes on in it */
		side = lath_layer_side(layer_of(word), want);
		if (!side)
			*below = layer_of(word);
		return side > 0 ? lath_count_shown(&layer_of(word)->total) : 0;
	}
}

int64_t lath_bytes_rank(struct lath_bytes *public, const struct lath_bytes_key *key,
			unsigned int flags)
{
	struct bytes_set *set = bytes_of(public);
	struct want want = want_key(set, key);
	struct layer *layer = &set->root, *below;
	bool behind = flags & LATH_BYTES_BEHIND;
	u64 n = 0, slice, word, more;

	if (!set->weight || flags & ~(unsigned int)LATH_BYTES_BEHIND)
		return -EINVAL;
	lath_call_enter();
	lath_reader_enter(set->rcu);
	while (layer) {
		slice = slice_of(&want, layer->rank);
		/* all of what is before the key's own slice, then a part of what is there */
		n += (u64)lath_index_rank(&layer->index, slice);
		do {
			if (!lath_index_get(&layer->index, slice, &word))
				word = 0;
			more = before_in_word(set, word, &want, behind, &below);
		} while (unlikely(more == ROW_LEFT));
		n += more;
		LATH_ASSERT(!below || below->rank > layer->rank);
		layer = below;
	}
	lath_reader_exit(set->rcu);
	lath_call_exit();
	return (int64_t)n;
}

/* ---- select ---- */

/* Returns the record at position `left` of those that a word leads to; 0: it leads to fewer, as
 * another thread has removed some. */
static u64 record_at(u64 word, u64 left)
{
	struct bucket *bucket;
	u64 row[ROW_MAX], value;
	u32 version;

	switch (form_of(word)) {
	case FORM_BUCKET:
		bucket = bucket_of(word);
		do {
			version = lath_bucket_read(bucket);
			value = left < bucket_used(bucket)
					? READ_ONCE(*bucket_value(bucket, (u32)left))
					: 0;
		} while (unlikely(!lath_bucket_same(bucket, version)));
		return value;
	case FORM_ROW:
		return left < lath_row_read(word, row) ? row[left] : 0;
	default:
		return left ? 0 : word;
	}
}

/* Selects once: 0 (*value) | -ENOENT: the set has too few records | LOOK_AGAIN: another thread has
 * changed what the counts led to. In a section of a call. */
static int select_once(struct bytes_set *set, u64 left, u64 *value)
{
	struct layer *layer = &set->root;
	struct lath_item item;

	LATH_ASSERT(lath_reader_inside(set->rcu));
	while (lath_rank_select(tree_of(&layer->index), &left, &item)) {
		if (form_of(item.value) != FORM_LAYER) {
			*value = record_at(item.value, left);
			return *value ? 0 : LOOK_AGAIN;
		}
		LATH_ASSERT(layer_of(item.value)->rank > layer->rank);
		layer = layer_of(item.value);
	}
	/* the root's own counts say that there are too few; those of a layer below only that they
	 * changed after the word that led to it was counted */
	return layer == &set->root ? -ENOENT : LOOK_AGAIN;
}

int lath_bytes_select(struct lath_bytes *public, uint64_t rank, uint64_t *value)
{
	struct bytes_set *set = bytes_of(public);
	u64 found = 0;
	int ret;

	if (!set->weight)
		return -EINVAL;
	do {
		lath_call_enter();
		lath_reader_enter(set->rcu);
		ret = select_once(set, rank, &found);
		lath_reader_exit(set->rcu);
		lath_call_exit();
	} while (ret == LOOK_AGAIN);
	if (!ret)
		*value = found;
	return ret;
}

/* ---- checks ---- */

bool lath_count_layer_true(struct layer *layer)
{
	struct want prefix = layer_key(layer);
	struct lath_item item;
	u64 sum = 0, from = 0, word;

	LATH_ASSERT(layer->up); /* the root has no total */
	if (!lath_index_get(&layer->up->index, slice_of(&prefix, layer->up->rank), &word) ||
	    word != ((u64)(uintptr_t)layer | FORM_LAYER))
		return false;
	while (lath_index_scan(&layer->index, from, KEY_MAX, &item, 1, &from)) {
		sum += lath_word_weight(item.value);
		if (!from)
			break;
	}
	return sum == layer->total;
}
