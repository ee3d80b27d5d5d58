/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.c - reads of a set of byte keys: single records, batches, ceiling and floor, cursors.
 *
 * Scans and cursors gather records in order: they read the words of a layer, enter each layer that
 * a word leads to, and at the end of a layer find the one above by its prefix. So they need no
 * stack, however long the keys are.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/row.h"

/* ---- single records ---- */

u64 lath_record_of(struct bytes_set *set, const struct want *want, const struct place *place)
{
	struct want key;

	LATH_ASSERT(form_of(place->word) != FORM_LAYER);
	if (!place->word)
		return 0;
	if (form_of(place->word) == FORM_BUCKET)
		return lath_bucket_get(set, place, want);
	if (form_of(place->word) == FORM_ROW)
		return lath_row_get(set, place->word, want);
	key = key_of(set, place->word);
	return bytes_equal(want, &key, agree_at(set, place)) ? place->word : 0;
}

int lath_bytes_get(struct lath_bytes *public, const struct lath_bytes_key *key, uint64_t *value)
{
	struct bytes_set *set = bytes_of(public);
	struct want want = want_key(set, key);
	struct place place;
	u64 found;

	lath_reader_enter(set->rcu);
	do {
		lath_bytes_search(set, &want, &place);
		found = lath_record_of(set, &want, &place);
	} while (unlikely(found == LOOK_AGAIN));
	lath_reader_exit(set->rcu);
	if (found)
		*value = found;
	return found != 0;
}

/* ---- in order ---- */

#define CHUNK 32

struct gather {
	struct bytes_set *set;
	const struct want *want;
	bool back;
	bool beside; /* a record with the key itself is not wanted */
	bool near;   /* it has just entered the layer on the way to the key, at the key's slice */
	struct layer *layer;
	u64 from; /* the slice to go on from */
	u64 *out;
	size_t n, max;
};

/* Does a record on the way to the key come where it is wanted? */
static bool is_wanted(const struct gather *g, u64 value)
{
	struct want key = key_of(g->set, value);
	int c = lath_bytes_compare(g->want, &key);

	return c ? (c < 0) != g->back : !g->beside;
}

/* Gather from a bucket; near: it is on the way to the key. */
static void gather_bucket(struct gather *g, u64 word, bool near)
{
	struct bucket *bucket = bucket_of(word);
	size_t n;
	u32 version, i, used;

	lath_bucket_prefetch_all(word);
	do {
		version = lath_bucket_read(bucket);
		used = bucket_used(bucket);
		i = g->back ? used : 0;
		/* Forward from the spot, or behind it if its record is not wanted. Backward, `i` is
		 * behind the next record: behind the spot's own if that is wanted. */
		if (near) {
			struct spot spot = lath_bucket_seek(g->set, bucket, g->want);

			i = spot.i + (spot.equal && g->beside != g->back);
		}
		for (n = g->n; n < g->max; n++) {
			if (g->back ? !i || i > used : i >= used)
				break;
			g->out[n] = READ_ONCE(*bucket_value(bucket, g->back ? --i : i++));
		}
		lath_delay("bucket read, version not yet compared");
	} while (unlikely(!lath_bucket_same(bucket, version)));
	g->n = n;
}

/* As gather_bucket(). Returns false if the row was left for good. */
static bool gather_row(struct gather *g, u64 word, bool near)
{
	u64 value[ROW_MAX];
	u32 n = lath_row_read(word, value), i;

	for (i = 0; i < n && g->n < g->max; i++) {
		u64 next = value[g->back ? n - 1 - i : i];

		if (near && !is_wanted(g, next))
			continue;
		near = false; /* so are all behind it */
		g->out[g->n++] = next;
	}
	return n != 0;
}

/* Go on in a layer that was met; near: on the way to the key. Returns false if nothing in it is
 * wanted. */
static bool enter_layer(struct gather *g, struct layer *layer, bool near)
{
	int side = near ? lath_layer_side(layer, g->want) : g->back ? 1 : -1;

	LATH_ASSERT(layer->rank > g->layer->rank);
	/* all of its keys are on the side that the search comes from */
	if (side && (side < 0) == g->back)
		return false;
	g->near = !side;
	g->layer = layer;
	g->from = !side ? slice_of(g->want, layer->rank) : g->back ? KEY_MAX : 0;
	return true;
}

/* Go on in the layer above, behind the word that leads to this one. False: there is none. */
static bool leave_layer(struct gather *g)
{
	struct layer *layer = g->layer, *above;
	struct want key;
	u64 word, slice;

	g->near = false;
	do {
		if (layer == &g->set->root)
			return false;
		key = layer_key(layer);
		above = &g->set->root;
		for (;;) {
			slice = slice_of(&key, above->rank);
			/* by the bytes of a key of the layer: a layer has no link to the word that
			 * leads to it */
			if (!lath_index_get(&above->index, slice, &word))
				word = 0;
			LATH_ASSERT(form_of(word) == FORM_LAYER); /* it stays where it is */
			if (layer_of(word) == layer)
				break;
			above = layer_of(word);
			LATH_ASSERT(above->rank < layer->rank); /* the way passes this layer */
		}
		layer = above;
	} while (slice == (g->back ? 0 : KEY_MAX));
	g->layer = layer;
	g->from = g->back ? slice - 1 : slice + 1;
	return true;
}

/* Gather forward from a layer all of whose words are likely to be those of records, without a look
 * at each. Returns false if one is not: nothing was gathered. */
static bool gather_records(struct gather *g)
{
	size_t most = g->max - g->n, m, i;
	u64 *out = g->out + g->n, bits = 0;

	/* straight to the caller's array: nothing counts until all words have been looked at */
	m = lath_index_scan_values(&g->layer->index, g->from, KEY_MAX, NULL, out, most, NULL);
	LATH_ASSERT(m <= most);
	for (i = 0; i < m; i++)
		bits |= out[i];
	/* a word of another form came after the look at `forked`: the slow way reads them again */
	if (bits & 3)
		return false;
	g->n += m;
	return true;
}

/* Prefetch the rows, buckets and layers that words lead to: their cache misses overlap. */
static void warm_arrays(const struct lath_item *item, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (form_of(item[i].value) != FORM_RECORD)
			prefetch((const void *)(uintptr_t)item[i].value);
}

/* Gather from some words of the layer. Returns whether there is more to do. */
static bool gather_words(struct gather *g)
{
	struct lath_item item[CHUNK];
	size_t most = min(g->max - g->n, (size_t)CHUNK), m, i;
	u64 first = g->from, next = 0;
	bool near = g->near, more;

	LATH_ASSERT(g->n < g->max && lath_reader_inside(g->set->rcu));
	if (!near && !g->back && !READ_ONCE(g->layer->forked) && gather_records(g))
		return g->n < g->max && leave_layer(g);
	if (g->back)
		m = lath_index_scan_back(&g->layer->index, first, 0, item, most, &next);
	else
		m = lath_index_scan(&g->layer->index, first, KEY_MAX, item, most, &next);
	warm_arrays(item, m);
	for (i = 0; i < m; i++) {
		u64 word = item[i].value;
		bool here = near && item[i].key == first;

		if (form_of(word) == FORM_LAYER) {
			if (enter_layer(g, layer_of(word), here))
				return true;
		} else if (form_of(word) == FORM_BUCKET) {
			gather_bucket(g, word, here);
		} else if (form_of(word) == FORM_ROW) {
			/* left for good: the same slice has another word, look it up again */
			if (unlikely(!gather_row(g, word, here))) {
				g->near = here;
				g->from = item[i].key;
				return true;
			}
		} else if (!here || is_wanted(g, word)) {
			g->out[g->n++] = word;
		}
		if (g->n == g->max)
			return false;
	}
	g->near = false;
	more = m == most && item[m - 1].key != (g->back ? 0 : KEY_MAX);
	if (!more)
		return leave_layer(g);
	g->from = g->back ? item[m - 1].key - 1 : item[m - 1].key + 1;
	return true;
}

static struct gather gather_from(struct bytes_set *set, const struct want *want, bool back,
				 bool beside, u64 *out, size_t max)
{
	return (struct gather){ .set = set,
				.want = want,
				.back = back,
				.beside = beside,
				.near = true,
				.layer = &set->root,
				.out = out,
				.max = max };
}

/* Copy at most max records in order, from the key on in one direction. Returns their number. */
static size_t gather(struct bytes_set *set, const struct want *want, bool back, bool beside,
		     u64 *out, size_t max)
{
	struct gather g = gather_from(set, want, back, beside, out, max);

	/* `beyond` is behind all keys: the search begins at the end of the root layer */
	if (!want->beyond)
		g.layer = layer_begin(set, want);
	g.from = slice_of(want, g.layer->rank);
	lath_reader_enter(set->rcu);
	while (gather_words(&g))
		;
	lath_reader_exit(set->rcu);
	return g.n;
}

/* Copy at most max records with the bytes of the key alone, which are behind one word or in one
 * layer: lath_bytes_search() has found the place. If there are none, no record is looked at unless
 * its slices are those of the key. Returns their number. In a section. */
static size_t gather_same_at(struct bytes_set *set, const struct want *want, struct place place,
			     bool back, bool beside, u64 *out, size_t max)
{
	struct gather g = gather_from(set, want, back, beside, out, max);
	bool again;
	size_t n = 0;

	LATH_ASSERT(lath_reader_inside(set->rcu));
	do {
		again = false;
		g.layer = place.layer;
		g.from = place.slice;
		if (place.layer->rank == TAG)
			while (gather_words(&g) && g.layer == place.layer)
				;
		else if (form_of(place.word) == FORM_BUCKET)
			gather_bucket(&g, place.word, true);
		else if (form_of(place.word) == FORM_ROW)
			again = !gather_row(&g, place.word, true);
		else if (place.word && is_wanted(&g, place.word))
			out[g.n++] = place.word;
		if (unlikely(again))
			lath_bytes_search(set, want, &place);
	} while (unlikely(again));
	for (; n < g.n; n++) {
		struct want key = key_of(set, out[n]);

		/* in order, those with the same bytes come first */
		if (key.size != want->size || bytes_common(want, &key) != key.size)
			break;
	}
	return n;
}

size_t lath_bytes_scan(struct lath_bytes *public, const struct lath_bytes_key *from,
		       unsigned int flags, uint64_t *values, size_t max)
{
	struct bytes_set *set = bytes_of(public);
	bool back = flags & LATH_BYTES_BACK;
	bool beside = from && flags & LATH_BYTES_BEHIND;
	struct want want = { NULL, 0, 0, back };
	struct place place;

	if (from)
		want = want_key(set, from);
	if (!max)
		return 0;
	if (!from || !(flags & LATH_BYTES_SAME))
		return gather(set, &want, back, beside, values, max);
	lath_reader_enter(set->rcu);
	lath_bytes_search(set, &want, &place);
	max = gather_same_at(set, &want, place, back, beside, values, max);
	lath_reader_exit(set->rcu);
	return max;
}

/* ---- batches ---- */

/* Keys that are looked for at once. In the kernel a stack is small. */
#ifdef __KERNEL__
#define BATCH 8
#else
#define BATCH 16
#endif

/* Look up the words of the keys in `open` that have come to the layer of the first of them. Returns
 * those that have further to go. */
static u32 find_in_layer(u32 open, const struct want *want, struct place *place)
{
	struct layer *here = place[__ffs64(open)].layer;
	u64 slice[BATCH] = { 0 }, found[BATCH];
	u8 hit[BATCH], who[BATCH];
	u32 left = open, n = 0, i;

	for (; left; left &= left - 1) {
		i = (u32)__ffs64(left);
		if (place[i].layer != here)
			continue;
		place[i].slice = slice_of(&want[i], here->rank);
		slice[n] = place[i].slice;
		who[n++] = (u8)i;
	}
	LATH_ASSERT(n && n <= BATCH); /* the first key is in this layer, so the loop of callers ends
				       */
	lath_index_get_batch(&here->index, n, slice, found, hit);
	while (n--) {
		i = who[n];
		place[i].word = hit[n] ? found[n] : 0;
		/* it stays open: its next step is with the keys that are in that layer */
		if (form_of(place[i].word) == FORM_LAYER) {
			place[i].layer = layer_of(place[i].word);
			LATH_ASSERT(place[i].layer->rank > here->rank);
			prefetch(place[i].layer);
			continue;
		}
		open &= ~(1u << i);
		if (form_of(place[i].word) == FORM_BUCKET)
			lath_bucket_prefetch(&place[i], &want[i]);
		else
			prefetch_record(place[i].word);
	}
	return open;
}

/* Find the places of n keys at once, at most BATCH, and prefetch what is there. */
static void find_some(struct bytes_set *set, size_t n, const struct want *want, struct place *place)
{
	u32 open = (u32)lath_ones((unsigned int)n);
	size_t i;

	LATH_ASSERT(n <= BATCH && lath_reader_inside(set->rcu));
	for (i = 0; i < n; i++)
		place[i].layer = layer_begin(set, &want[i]);
	while (open) /* those that are in one layer go on together */
		open = find_in_layer(open, want, place);
	for (i = 0; i < n; i++)
		if (form_of(place[i].word) == FORM_BUCKET)
			lath_bucket_prefetch_record(&place[i], &want[i]);
		else if (form_of(place[i].word) == FORM_ROW)
			lath_row_prefetch_records(place[i].word);
}

void lath_bytes_search_batch(struct bytes_set *set, size_t n, const struct want *want,
			     struct place *place)
{
	size_t done, m;

	for (done = 0; done < n; done += m) {
		m = min(n - done, (size_t)BATCH);
		find_some(set, m, want + done, place + done);
	}
}

/* Find the record with a key at its place, as it was looked up. Returns its value or 0. */
static u64 record_at(struct bytes_set *set, const struct want *want, struct place *place)
{
	u64 value;

	while (unlikely((value = lath_record_of(set, want, place)) == LOOK_AGAIN))
		lath_bytes_search(set, want, place);
	return value;
}

/* Of each key the record that has it, or with `first` the first one beside it, by the flags, that
 * has its bytes; 0: there is none. Returns how many there are. */
static __always_inline size_t get_all(struct bytes_set *set, size_t n,
				      const struct lath_bytes_key *keys, bool first,
				      unsigned int flags, u64 *values)
{
	bool back = flags & LATH_BYTES_BACK, beside = flags & LATH_BYTES_BEHIND;
	struct place place[BATCH];
	struct want want[BATCH];
	size_t found = 0, done, i, m;

	lath_reader_enter(set->rcu);
	for (done = 0; done < n; done += m) {
		m = min(n - done, (size_t)BATCH);
		for (i = 0; i < m; i++)
			want[i] = want_key(set, &keys[done + i]);
		find_some(set, m, want, place);
		for (i = 0; i < m; i++) {
			u64 value = 0;

			if (!first)
				value = record_at(set, &want[i], &place[i]);
			else if (!gather_same_at(set, &want[i], place[i], back, beside, &value, 1))
				value = 0;
			values[done + i] = value;
			found += value != 0;
		}
	}
	lath_reader_exit(set->rcu);
	return found;
}

size_t lath_bytes_get_batch(struct lath_bytes *set, size_t n, const struct lath_bytes_key *keys,
			    uint64_t *values)
{
	return get_all(bytes_of(set), n, keys, false, 0, values);
}

size_t lath_bytes_first_batch(struct lath_bytes *set, size_t n, const struct lath_bytes_key *keys,
			      unsigned int flags, uint64_t *values)
{
	return get_all(bytes_of(set), n, keys, true, flags, values);
}

/* ---- cursors ---- */

/* Records that the first look of a cursor reads ahead; further ones read twice as many. */
#define ASK 16u
/* How many records behind the current one of a cursor are prefetched. */
#define WARM 8u

static void warm(const struct lath_bytes_cursor *cursor, u32 i)
{
	if (i < cursor->n)
		prefetch_record(cursor->ahead[i]);
}

void lath_bytes_cursor_init_prefix(struct lath_bytes_cursor *cursor, struct lath_bytes *set,
				   const void *prefix, uint64_t size)
{
	cursor->set = set;
	cursor->prefix = prefix;
	cursor->prefix_size = size;
	cursor->at = 0;
	cursor->i = cursor->n = 0;
	cursor->ask = ASK;
	cursor->back = 0;
}

static bool has_prefix(const struct lath_bytes_cursor *cursor, u64 value)
{
	struct want key;

	if (!cursor->prefix_size)
		return true;
	key = key_of(bytes_of(cursor->set), value);
	return key.size >= cursor->prefix_size &&
	       !memcmp(key.data, cursor->prefix, cursor->prefix_size);
}

/* Stand on the next record that was read ahead. 1 | 0: there is none */
static int step(struct lath_bytes_cursor *cursor, uint64_t *value)
{
	LATH_ASSERT(cursor->i <= cursor->n && cursor->n <= ARRAY_SIZE(cursor->ahead));
	/* records are in order: no record with the prefix follows one without it */
	if (cursor->i == cursor->n || !has_prefix(cursor, cursor->ahead[cursor->i]))
		return 0;
	warm(cursor, cursor->i + WARM);
	cursor->at = *value = cursor->ahead[cursor->i++];
	return 1;
}

/* Read ahead from the key. The cache misses of the records overlap. */
static void look_ahead(struct lath_bytes_cursor *cursor, const struct want *want, bool back,
		       bool beside)
{
	u32 i;

	LATH_ASSERT(cursor->ask <= ARRAY_SIZE(cursor->ahead));
	cursor->back = back;
	cursor->i = 0;
	cursor->n =
		(u32)gather(bytes_of(cursor->set), want, back, beside, cursor->ahead, cursor->ask);
	for (i = 0; i < WARM; i++)
		warm(cursor, i);
}

static int seek(struct lath_bytes_cursor *cursor, const struct want *want, bool back,
		uint64_t *value)
{
	cursor->ask = ASK;
	look_ahead(cursor, want, back, false);
	if (step(cursor, value))
		return 1;
	cursor->i = cursor->n = 0; /* it stays where it was */
	return 0;
}

int lath_bytes_cursor_seek(struct lath_bytes_cursor *cursor, const struct lath_bytes_key *key,
			   uint64_t *value)
{
	struct want want = want_key(bytes_of(cursor->set), key);

	return seek(cursor, &want, false, value);
}

int lath_bytes_cursor_seek_floor(struct lath_bytes_cursor *cursor, const struct lath_bytes_key *key,
				 uint64_t *value)
{
	struct want want = want_key(bytes_of(cursor->set), key);

	return seek(cursor, &want, true, value);
}

static int move(struct lath_bytes_cursor *cursor, bool back, uint64_t *value)
{
	struct want want;

	/* It stands nowhere: before the first record of the prefix, or behind the last one. */
	if (unlikely(!cursor->at)) {
		want = (struct want){ cursor->prefix, cursor->prefix_size, 0, back };
		return seek(cursor, &want, back, value);
	}
	/* what was read ahead is used up, or lies in the other direction */
	if (cursor->i == cursor->n || cursor->back != back) {
		/* a cursor that turns round reads little ahead, one that goes on as much as it can
		 * hold */
		cursor->ask = cursor->back != back ? ASK : (u32)LATH_BYTES_AHEAD;
		want = key_of(bytes_of(cursor->set), cursor->at);
		look_ahead(cursor, &want, back, true);
	}
	return step(cursor, value);
}

int lath_bytes_cursor_next(struct lath_bytes_cursor *cursor, uint64_t *value)
{
	return move(cursor, false, value);
}

int lath_bytes_cursor_prev(struct lath_bytes_cursor *cursor, uint64_t *value)
{
	return move(cursor, true, value);
}
