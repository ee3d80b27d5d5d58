/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - a set of byte keys: beginning, end, changes, counts and checks.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/count.h"
#include "set/bytes/row.h"
#include "tree/call/config.h"

#define KNOWN_FLAGS (LATH_HUGE_PAGES | LATH_SMALL_PAGES | LATH_NODE_EACH | LATH_SHARED | LATH_RANKS)

/* Copy and check a configuration: 0 | -EINVAL */
static int read_config(struct lath_config *to, const struct lath_config *from)
{
	if (lath_config_read(to, from, false))
		return -EINVAL;
	if (to->layout != LATH_RANGES || to->flags & ~(unsigned int)KNOWN_FLAGS ||
	    (to->flags & LATH_RANKS && to->flags & LATH_SHARED))
		return -EINVAL;
	to->layout = LATH_POINTS;
	to->size = sizeof(*to);
	return 0;
}

int lath_bytes_init(struct lath_bytes *public, const struct lath_bytes_records *records,
		    const struct lath_config *config)
{
	struct bytes_set *set = bytes_of(public);
	struct lath_config copy;
	int ret = read_config(&copy, config);

	if (!public || (uintptr_t)public % _Alignof(struct lath_bytes))
		return -EINVAL;
	if (!records || !records->key_of || records->flags & ~(unsigned int)LATH_BYTES_DESCENDING)
		return -EINVAL;
	if (ret)
		return ret;
	memset(set, 0, sizeof(*set));
	set->records = records;
	if (!(copy.flags & LATH_SHARED)) {
		set->own_records = *records;
		set->records = &set->own_records;
		if (copy.allocator)
			set->own_allocator = *copy.allocator;
		copy.allocator = copy.allocator ? &set->own_allocator : NULL;
	}
	if (copy.flags & LATH_RANKS)
		set->weight = lath_word_weight;
	set->flip = records->flags & LATH_BYTES_DESCENDING ? ~0ull : 0;
	set->rcu = copy.rcu ? copy.rcu : &lath_rcu_auto;
	set->config = copy;
	set->trees = 1;
	lath_spin_init(&set->lock);
	return lath_layer_prepare(set, &set->root, rank_of_bytes(0), true);
}

static bool value_valid(u64 value)
{
	return value && form_of(value) == FORM_RECORD;
}

/* ---- insert ---- */

/* The key belongs into no layer below the place: put one above. 0 | LOOK_AGAIN | -ENOMEM */
static int insert_above(struct bytes_set *set, const struct place *place, const struct want *want,
			u64 value)
{
	struct layer *layer;
	int ret = lath_layer_above(set, place, want, value, &layer);

	if (ret)
		return ret;
	/* with counts, the total of the layer below must not change between its copy and the
	 * exchange of the words: its lock is held */
	if (set->weight)
		ret = lath_count_layer_above(place, layer);
	else if (lath_index_replace_if(&place->layer->index, place->slice, place->word,
				       (u64)(uintptr_t)layer | FORM_LAYER, NULL))
		ret = LOOK_AGAIN;
	if (ret) {
		lath_layer_drop(set, layer);
		return ret;
	}
	lath_layer_add(set, layer, layer_of(place->word));
	return 0;
}

/* Insert the record if its slice has no word, in the layer it belongs into. 0 | -ENOMEM | -EEXIST:
 * *place is where it belongs, as far as layers lead. In a layer without other words than those of
 * records most slices are new: there an insert is tried without a lookup before. */
static int insert_new(struct bytes_set *set, const struct want *want, u64 value,
		      struct place *place)
{
	struct layer *layer = layer_begin(set, want);

	for (;;) {
		struct lath_item item = { slice_of(want, layer->rank), 1, value }, there;

		place->layer = layer;
		place->slice = item.key;
		/* in a layer of records alone the insert itself finds the word, if there is one */
		if (!READ_ONCE(layer->forked) ||
		    !lath_index_get(&layer->index, item.key, &place->word)) {
			int ret = lath_index_insert_item(&layer->index, &item, &there);

			if (ret != -EEXIST)
				return ret;
			place->word = there.value;
		}
		if (form_of(place->word) != FORM_LAYER ||
		    !lath_layer_holds(layer_of(place->word), want))
			return -EEXIST;
		LATH_ASSERT(layer_of(place->word)->rank > layer->rank);
		layer = layer_of(place->word);
	}
}

/* Insert the record at a place that has a word. In a call and in a section. 0 | LOOK_AGAIN |
 * -EEXIST (*there) | -ENOMEM */
static int insert_at(struct bytes_set *set, const struct place *place, const struct want *want,
		     u64 value, u64 *there)
{
	int ret;

	lath_call_assert();
	LATH_ASSERT(place->word && lath_reader_inside(set->rcu));
	if (form_of(place->word) == FORM_LAYER)
		return insert_above(set, place, want, value);
	if (form_of(place->word) == FORM_BUCKET)
		ret = lath_bucket_insert(set, place, want, value, there);
	else
		ret = lath_row_insert(set, place, want, value, there);
	if (ret == -ENOSPC)
		ret = lath_bucket_extend(set, place, want, value, there);
	LATH_ASSERT(ret != -ENOSPC); /* a result of steps, not of calls */
	return ret;
}

int lath_bytes_insert(struct lath_bytes *public, uint64_t value, uint64_t *there)
{
	struct bytes_set *set = bytes_of(public);
	struct place place;
	struct want want;
	u64 other = 0;
	int ret;

	if (unlikely(!value_valid(value)))
		return -EINVAL;
	want = key_of(set, value);
	if (unlikely(want.size > LATH_BYTES_SIZE_MAX))
		return -E2BIG;
	/* Each attempt is its own call: between two of them fork() may go on, and a grace
	 * period may end. */
	do {
		lath_call_enter();
		lath_reader_enter(set->rcu);
		ret = insert_new(set, &want, value, &place);
		if (ret == -EEXIST)
			ret = insert_at(set, &place, &want, value, &other);
		if (set->weight && !ret)
			lath_count_changed(set, &place, 1);
		lath_reader_exit(set->rcu);
		lath_call_exit();
	} while (ret == LOOK_AGAIN);
	if (ret == -EEXIST && there)
		*there = other;
	return ret;
}

/* Records that are inserted at once. In the kernel a stack is small. */
#ifdef __KERNEL__
#define INSERTS 8u
#else
#define INSERTS 32u
#endif

/* Insert those of n records, at most INSERTS, whose slices have no word yet in the layer of the
 * first one. results[i]: as lath_bytes_insert(); -EEXIST: there is a word, or it is in another
 * layer. In a section. */
static void insert_new_batch(struct bytes_set *set, size_t n, const u64 *values,
			     const struct want *want, int *results)
{
	struct layer *layer = layer_begin(set, &want[0]);
	struct lath_item item[INSERTS];
	int result[INSERTS];
	u8 who[INSERTS];
	size_t m = 0, i;

	LATH_ASSERT(n && n <= INSERTS && lath_reader_inside(set->rcu));
	for (i = 0; i < n; i++) {
		results[i] = -EEXIST;
		if (unlikely(want[i].size > LATH_BYTES_SIZE_MAX))
			results[i] = -E2BIG;
		else if (layer_begin(set, &want[i]) == layer) {
			item[m] =
				(struct lath_item){ slice_of(&want[i], layer->rank), 1, values[i] };
			who[m++] = (u8)i;
		}
	}
	lath_index_insert_batch(&layer->index, m, item, result);
	for (i = 0; i < m; i++)
		results[who[i]] = result[i];
}

/* Insert a record at its place, as lath_bytes_search_batch() has found it. Results as insert_at();
 * LOOK_AGAIN also if there is no word, or if the record does not belong into this layer. In a
 * section. */
static int insert_found(struct bytes_set *set, const struct place *place, const struct want *want,
			u64 value)
{
	u64 there;
	int ret;

	if (!place->word || !lath_layer_holds(place->layer, want))
		return LOOK_AGAIN;
	lath_call_enter();
	ret = insert_at(set, place, want, value, &there);
	lath_call_exit();
	return ret;
}

/* At most INSERTS records: those that are alone with their slices in one go; the places of the
 * other ones are looked up at once, and they are inserted there one after the other. */
static void insert_some(struct lath_bytes *public, size_t n, const u64 *values, int *results)
{
	struct bytes_set *set = bytes_of(public);
	struct place place[INSERTS];
	struct want want[INSERTS];
	u8 who[INSERTS];
	size_t m = 0, i;

	lath_reader_enter(set->rcu);
	for (i = 0; i < n; i++)
		want[i] = key_of(set, values[i]);
	insert_new_batch(set, n, values, want, results);
	for (i = 0; i < n; i++) {
		if (results[i] != -EEXIST)
			continue;
		want[m] = want[i];
		who[m++] = (u8)i;
	}
	lath_bytes_search_batch(set, m, want, place);
	for (i = 0; i < m; i++)
		results[who[i]] = insert_found(set, &place[i], &want[i], values[who[i]]);
	lath_reader_exit(set->rcu);
	for (i = 0; i < m; i++)
		if (results[who[i]] == LOOK_AGAIN)
			results[who[i]] = lath_bytes_insert(public, values[who[i]], NULL);
}

size_t lath_bytes_insert_batch(struct lath_bytes *public, size_t n, const uint64_t *values,
			       int *results)
{
	int result[INSERTS];
	size_t inserted = 0, done, m, i;

	for (done = 0; done < n; done += m) {
		/* A value that is none has no key: it ends a group. With counts each insert finds
		 * its place by itself. */
		for (m = 0; m < min(n - done, (size_t)INSERTS); m++)
			if (bytes_of(public)->weight || !value_valid(values[done + m]))
				break;
		if (m) {
			insert_some(public, m, values + done, result);
		} else {
			result[0] = lath_bytes_insert(public, values[done], NULL);
			m = 1;
		}
		for (i = 0; i < m; i++) {
			inserted += !result[i];
			if (results)
				results[done + i] = result[i];
		}
	}
	return inserted;
}

/* ---- erase and replace ---- */

/* Replace a record that is alone with its slice, or erase it. want may be NULL if that record is
 * the expected one. Results as lath_bucket_change(). */
static int change_record(struct bytes_set *set, const struct place *place, const struct want *want,
			 u64 expected, u64 value, u64 *there)
{
	struct want key;
	int ret;

	LATH_ASSERT(place->word && form_of(place->word) == FORM_RECORD);
	LATH_ASSERT(want || expected == place->word);
	/* the expected record is the one: its key needs no look */
	if (expected != place->word) {
		key = key_of(set, place->word);
		if (!bytes_equal(want, &key, agree_at(set, place)))
			return -ENOENT;
	}
	*there = place->word;
	if (expected && expected != place->word)
		return -EAGAIN;
	if (value)
		ret = lath_index_replace_if(&place->layer->index, place->slice, place->word, value,
					    NULL);
	else
		ret = lath_index_erase_if(&place->layer->index, place->slice, place->word, NULL);
	return ret ? LOOK_AGAIN : 0;
}

/* Replace the record with this key, or with value == 0 erase it. expected: 0, or what it must be.
 * 0 | -ENOENT | -EAGAIN; *there, if not NULL, is what was there */
static int change(struct bytes_set *set, const struct want *want, u64 expected, u64 value,
		  u64 *there)
{
	struct place place;
	u64 other = 0;
	int ret;

	do {
		lath_call_enter();
		lath_reader_enter(set->rcu);
		lath_bytes_search(set, want, &place);
		if (!place.word)
			ret = -ENOENT;
		else if (form_of(place.word) == FORM_BUCKET)
			ret = lath_bucket_change(set, &place, want, expected, value, &other);
		else if (form_of(place.word) == FORM_ROW)
			ret = lath_row_change(set, &place, want, expected, value, &other);
		else
			ret = change_record(set, &place, want, expected, value, &other);
		if (set->weight && !ret && !value)
			lath_count_changed(set, &place, -1);
		lath_reader_exit(set->rcu);
		lath_call_exit();
	} while (ret == LOOK_AGAIN);
	if (there && (!ret || ret == -EAGAIN))
		*there = other;
	return ret;
}

int lath_bytes_erase(struct lath_bytes *public, const struct lath_bytes_key *key, uint64_t *old)
{
	struct want want = want_key(bytes_of(public), key);

	return change(bytes_of(public), &want, 0, 0, old);
}

int lath_bytes_replace(struct lath_bytes *public, uint64_t value, uint64_t *old)
{
	struct want want;

	if (unlikely(!value_valid(value)))
		return -EINVAL;
	want = key_of(bytes_of(public), value);
	return change(bytes_of(public), &want, 0, value, old);
}

int lath_bytes_erase_if(struct lath_bytes *public, uint64_t expected, uint64_t *there)
{
	struct want want;

	if (unlikely(!value_valid(expected)))
		return -EINVAL;
	want = key_of(bytes_of(public), expected);
	return change(bytes_of(public), &want, expected, 0, there);
}

int lath_bytes_replace_if(struct lath_bytes *public, uint64_t expected, uint64_t value,
			  uint64_t *there)
{
	struct want want;

	if (unlikely(!value_valid(value) || !value_valid(expected)))
		return -EINVAL;
	want = key_of(bytes_of(public), value);
	return change(bytes_of(public), &want, expected, value, there);
}

/* ---- a look and a change in one descent ---- */

struct found {
	struct place place;
	u64 value;
};
_Static_assert(sizeof(struct found) == sizeof(struct lath_bytes_place), "fits the public struct");

int lath_bytes_find(struct lath_bytes *public, const struct lath_bytes_key *key,
		    struct lath_bytes_place *place)
{
	struct bytes_set *set = bytes_of(public);
	struct found *found = (struct found *)(void *)place;
	struct want want = want_key(set, key);

	do {
		lath_bytes_search_place(set, &want, &found->place);
		if (form_of(found->place.word) == FORM_BUCKET)
			lath_bucket_prefetch_change(found->place.word);
		found->value = form_of(found->place.word) == FORM_LAYER
				       ? 0
				       : lath_record_of(set, &want, &found->place);
	} while (unlikely(found->value == LOOK_AGAIN));
	return found->value != 0;
}

/* One attempt, in a call. Results as lath_bytes_put(), or LOOK_AGAIN. A record that is alone with
 * its slice is replaced or erased without a look at its key. */
static int put(struct bytes_set *set, const struct found *found, u64 value)
{
	struct lath_item item = { found->place.slice, 1, value };
	struct want want;
	u64 there;

	if (found->value && form_of(found->place.word) == FORM_RECORD)
		return change_record(set, &found->place, NULL, found->value, value, &there);
	want = key_of(set, value ? value : found->value);
	if (unlikely(want.size > LATH_BYTES_SIZE_MAX))
		return -E2BIG;
	/* -EEXIST if a word has come since: the caller's look has ended, it looks again */
	if (!found->place.word)
		return lath_index_insert_item(&found->place.layer->index, &item, NULL);
	if (!found->value)
		return insert_at(set, &found->place, &want, value, &there);
	if (form_of(found->place.word) == FORM_ROW)
		return lath_row_change(set, &found->place, &want, found->value, value, &there);
	return lath_bucket_change(set, &found->place, &want, found->value, value, &there);
}

int lath_bytes_put(struct lath_bytes *public, const struct lath_bytes_place *place, uint64_t value)
{
	struct bytes_set *set = bytes_of(public);
	const struct found *found = (const struct found *)(const void *)place;
	int ret;

	if (unlikely(value ? !value_valid(value) : !found->value))
		return -EINVAL;
	lath_call_enter();
	ret = put(set, found, value);
	if (set->weight && !ret && !(found->value && value))
		lath_count_changed(set, &found->place, value ? 1 : -1);
	lath_call_exit();
	return ret && ret != -ENOMEM && ret != -E2BIG ? -EAGAIN : ret;
}

/* ---- counts ---- */

/* The layer behind this one of all, of which the root is the first, or NULL. */
static struct layer *layer_after(struct bytes_set *set, struct layer *layer)
{
	/* pairs with lath_layer_add */
	return layer == &set->root ? smp_load_acquire(&set->layers) : layer->next;
}

/* Count the records of a word. Returns false if it leads to what was left for good. */
static bool count_word(u64 word, struct lath_bytes_stats *stats)
{
	u64 value[ROW_MAX], used = 0;

	if (form_of(word) == FORM_RECORD) {
		stats->items++;
	} else if (form_of(word) == FORM_BUCKET) {
		used = READ_ONCE(bucket_of(word)->used);
	} else if (form_of(word) == FORM_ROW) {
		used = lath_row_read(word, value);
		if (!used)
			return false;
	}
	LATH_ASSERT(used <= BUCKET_MAX + 1);
	stats->arrays += used != 0;
	stats->arrayed += used;
	stats->items += used;
	return true;
}

static void count_layer(struct layer *layer, struct lath_bytes_stats *stats)
{
	struct lath_item item[16];
	u64 from = 0;
	bool more;

	do {
		size_t n = lath_index_scan(&layer->index, from, KEY_MAX, item, ARRAY_SIZE(item),
					   &from),
		       i;

		more = n == ARRAY_SIZE(item) && from;
		for (i = 0; i < n; i++) {
			if (count_word(item[i].value, stats))
				continue;
			from = item[i].key; /* look again */
			more = true;
			break;
		}
	} while (more);
	stats->trees++;
}

uint64_t lath_bytes_count(struct lath_bytes *public)
{
	struct lath_bytes_stats stats = { 0 };
	struct bytes_set *set = bytes_of(public);
	struct layer *layer;

	if (set->weight)
		return lath_index_count(&set->root.index);
	lath_reader_enter(set->rcu);
	for (layer = &set->root; layer; layer = layer_after(set, layer))
		count_layer(layer, &stats);
	lath_reader_exit(set->rcu);
	return stats.items;
}

uint64_t lath_bytes_trees(struct lath_bytes *public)
{
	return READ_ONCE(bytes_of(public)->trees);
}

void lath_bytes_get_stats(struct lath_bytes *public, struct lath_bytes_stats *stats)
{
	struct bytes_set *set = bytes_of(public);
	struct layer *layer;

	memset(stats, 0, sizeof(*stats));
	stats->bytes = sizeof(*public) + READ_ONCE(set->bytes);
	for (layer = &set->root; layer; layer = layer_after(set, layer)) {
		struct lath_index_stats of;

		lath_reader_enter(set->rcu);
		count_layer(layer, stats);
		lath_reader_exit(set->rcu);
		lath_index_get_stats(&layer->index, &of);
		stats->bytes += of.bytes;
	}
}

/* ---- checks ---- */

/* Check a word: 0 | 31 | 32 | 33 */
static int check_word(struct bytes_set *set, const struct place *place)
{
	struct want key;

	if (form_of(place->word) == FORM_BUCKET)
		return lath_bucket_true(set, bucket_of(place->word), place) ? 0 : 32;
	if (form_of(place->word) == FORM_ROW)
		return lath_row_true(set, place) ? 0 : 32;
	if (form_of(place->word) == FORM_LAYER) {
		const struct layer *below = layer_of(place->word);

		key = layer_key(below);
		return below->rank > place->layer->rank && lath_place_holds(place, &key) ? 0 : 33;
	}
	key = key_of(set, place->word);
	return lath_place_holds(place, &key) ? 0 : 31;
}

/* Check the words of a layer: 0 | 31 | 32 | 33 */
static int check_layer(struct bytes_set *set, struct layer *layer)
{
	struct lath_item item;
	u64 from = 0;
	int ret = 0;

	while (!ret && lath_index_scan(&layer->index, from, KEY_MAX, &item, 1, &from)) {
		struct place place = { layer, item.key, item.value };

		ret = check_word(set, &place);
		if (!from)
			break;
	}
	return ret;
}

/* Check the order of all records: 0 | 34 */
static int check_order(struct lath_bytes *public)
{
	struct bytes_set *set = bytes_of(public);
	struct lath_bytes_cursor cursor;
	struct want before = { 0 };
	u64 value, n = 0;

	lath_bytes_cursor_init(&cursor, public);
	for (; lath_bytes_cursor_next(&cursor, &value); n++) {
		struct want key = key_of(set, value);

		if (n && lath_bytes_compare(&before, &key) >= 0)
			return 34;
		before = key;
	}
	return n == lath_bytes_count(public) ? 0 : 34;
}

int lath_bytes_verify(struct lath_bytes *public, char *report, size_t report_size)
{
	struct bytes_set *set = bytes_of(public);
	struct layer *layer;
	static const char *const what[] = { "a record in the wrong place", "a damaged array",
					    "a tree in the wrong place", "records out of order",
					    "a wrong number of records in a tree" };
	int ret = 0;

	for (layer = &set->root; layer && !ret; layer = layer_after(set, layer)) {
		ret = lath_index_verify(&layer->index, 5, report, report_size);
		if (ret)
			return ret;
		ret = check_layer(set, layer);
		if (!ret && set->weight && layer != &set->root && !lath_count_layer_true(layer))
			ret = 35;
	}
	if (!ret)
		ret = check_order(public);
	if (ret && report)
		snprintf(report, report_size, "%s", what[ret - 31]);
	return ret;
}

/* ---- the end ---- */

struct end {
	struct bytes_set *set;
	lath_bytes_fn each;
	void *arg;
};

static void end_word(void *arg, const struct lath_item *item)
{
	struct end *end = arg;
	u64 word = item->value, value[ROW_MAX];
	u32 n = form_of(word) == FORM_ROW ? lath_row_read(word, value) : 0, i;

	if (form_of(word) == FORM_BUCKET)
		n = bucket_of(word)->used;
	if (form_of(word) == FORM_RECORD && end->each)
		end->each(end->arg, word);
	for (i = 0; end->each && i < n; i++)
		end->each(end->arg,
			  form_of(word) == FORM_ROW ? value[i] : *bucket_value(bucket_of(word), i));
	lath_array_drop(end->set, word);
}

/* End all layers but the root. */
static void end_layers(struct bytes_set *set, struct end *end)
{
	struct layer *layer = set->layers, *next;

	for (; layer; layer = next) {
		next = layer->next;
		lath_index_fini(&layer->index, end_word, end);
		lath_layer_free(set, layer);
		set->trees--;
	}
	LATH_ASSERT(set->trees == 1); /* each layer in use is in the list once */
	set->layers = set->trunk = NULL;
	set->pooled = 0;
}

void lath_bytes_clear(struct lath_bytes *public, lath_bytes_fn each, void *arg)
{
	struct bytes_set *set = bytes_of(public);
	struct end end = { set, each, arg };

	lath_index_clear(&set->root.index, end_word, &end);
	end_layers(set, &end);
	set->root.forked = 0;
}

void lath_bytes_fini(struct lath_bytes *public, lath_bytes_fn each, void *arg)
{
	LATH_NO_CANCEL;
	struct bytes_set *set = bytes_of(public);
	struct end end = { set, each, arg };

	lath_index_fini(&set->root.index, end_word, &end);
	end_layers(set, &end);
	if (set->retired)
		lath_retire_drain(set->rcu);
	/* rows that were left in the grace period before */
	while (!lath_retire_ended() && lath_rows_wait(set))
		lath_retire_drain(set->rcu);
	LATH_ASSERT(!set->bytes || lath_retire_ended()); /* all blocks were freed */
}
