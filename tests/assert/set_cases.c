/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* set_cases.c - sets of byte keys: words, keys, locks, sections; sets of intervals: places, lists;
 * blocks of small containers. */
#include "cases.h"

#include <stdlib.h>

#include "set/bytes/bucket.h"
#include "set/bytes/count.h"
#include "set/bytes/grow.h"
#include "set/bytes/memory.h"
#include "set/bytes/print.h"
#include "set/bytes/read.h"
#include "set/bytes/row.h"
#include "set/interval/set.h"
#include "set/small/block.h"

#define RECORDS 40u

struct record {
	char key[32];
	u64 size;
	u64 tag;
};

static struct record records[RECORDS];
static struct lath_bytes public;
static struct bytes_set *set;
static struct place place; /* of records[0], which a bucket has */
static struct bucket *bucket;
static struct want want; /* the key of records[0] */

static void record_key(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	*key = (struct lath_bytes_key){ record->key, record->size, record->tag };
}

/* Fill the set; in a call and in a section afterwards. Keys that differ in byte 12 alone: a
 * bucket. */
static void fill(unsigned int flags, unsigned int n)
{
	const struct lath_bytes_records of = { record_key, NULL, 0 };
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;

	config.flags = flags;
	NEED(!lath_bytes_init(&public, &of, &config));
	set = bytes_of(&public);
	for (i = 0; i < n; i++) {
		snprintf(records[i].key, sizeof(records[i].key), "the same key%c behind", 'A' + i);
		records[i].size = 20;
		NEED(!lath_bytes_insert(&public, (uintptr_t)&records[i], NULL));
	}
	lath_call_enter();
	lath_reader_enter(set->rcu);
	want = key_of(set, (uintptr_t)&records[0]);
	bytes_find(set, &want, &place);
	if (n > ROW_MAX) {
		NEED(form_of(place.word) == FORM_BUCKET);
		bucket = bucket_of(place.word);
	}
}

static void fill_bucket(void)
{
	fill(0, min(RECORDS, BUCKET_MAX));
}

/* The same, with the section left. */
static void fill_outside(void)
{
	fill_bucket();
	lath_reader_exit(set->rcu);
}

/* A row: the same bytes with two tags. */
static void fill_row(void)
{
	fill(0, 1);
	records[1] = records[0];
	records[1].tag = 1;
	NEED(!lath_bytes_insert(&public, (uintptr_t)&records[1], NULL));
	bytes_find(set, &want, &place);
	NEED(form_of(place.word) == FORM_ROW);
}

/* ---- words and keys ---- */

static void layer_of_a_record(void)
{
	layer_of((uintptr_t)&records[0]);
}

static void bucket_of_a_record(void)
{
	bucket_of((uintptr_t)&records[0]);
}

static void row_of_a_bucket(void)
{
	fill_bucket();
	row_places(place.word);
}

static void key_of_an_array(void)
{
	fill_bucket();
	key_of(set, place.word);
}

static void word_of_an_unaligned_bucket(void)
{
	struct bucket two = { .groups = 2 };
	/* the entries begin 16 bytes past a multiple of 64 */
	static char room[sizeof(two) + 80] __attribute__((aligned(64)));
	struct bucket *moved = (void *)(room + 64 * (sizeof(two) / 64 + 1) + 16 - sizeof(two));

	memcpy(moved, &two, sizeof(two));
	bucket_word(moved);
}

static void slice_beyond_the_room(void)
{
	fill_bucket();
	bucket_slice(bucket, bucket->room + 1u);
}

static void choice_beyond_the_room(void)
{
	fill_bucket();
	bucket_choice(bucket, bucket->room + 1u);
}

static void order_with_the_word_of_prints(void)
{
	fill_bucket();
	*bucket_order(bucket, 0) = 0;
	bucket_value(bucket, 0);
}

static void rank_of_an_odd_depth(void)
{
	rank_of_bytes(3);
}

static void few_bytes_that_are_many(void)
{
	load_few((const u8 *)"12345678", STEP);
}

static void equal_with_a_part_of_a_step(void)
{
	fill_bucket();
	bytes_equal(&want, &want, 3);
}

static void equal_to_a_key_that_is_beyond(void)
{
	struct want beyond = { NULL, 0, 0, true };

	bytes_equal(&want, &beyond, 0);
}

static void fork_of_a_key_that_is_beyond(void)
{
	struct want beyond = { NULL, 0, 0, true };

	bytes_fork(&beyond, &want);
}

static void record_key_that_is_beyond(void)
{
	struct want beyond = { NULL, 0, 0, true };

	bytes_compare(&want, &beyond);
}

/* ---- groups ---- */

static u64 group[8];

static void group_too_full(void)
{
	unsigned int i;

	for (i = 0; i <= GROUP_SLOTS; i++)
		place_insert(group, 1, GROUP_SLOTS, 0x102, (uintptr_t)&records[i]);
}

static void print_of_the_prints(void)
{
	place_print(group, 0);
}

static void place_erased_twice(void)
{
	u32 word = place_insert(group, 1, 7, 0x102, (uintptr_t)&records[0]);

	place_erase(group, word);
	place_erase(group, word);
}

/* ---- layers ---- */

static void trunk_of_lengths(void)
{
	fill_bucket();
	set->trunk = layer_new(set, rank_of_bytes(8) + 1, &want);
	NEED(set->trunk);
	layer_begin(set, &want);
}

static void layer_deeper_than_its_key(void)
{
	fill_bucket();
	layer_new(set, rank_of_bytes(64), &want);
}

static void layer_above_of_a_later_step(void)
{
	struct layer *low, *high;

	fill_bucket();
	low = layer_new(set, rank_of_bytes(8), &want);
	high = layer_new(set, rank_of_bytes(16), &want);
	NEED(low && high);
	layer_add(set, high, low);
}

static void free_of_the_root(void)
{
	fill_bucket();
	layer_free(set, &set->root);
}

static void no_word_in_a_layer(void)
{
	fill_bucket();
	layer_insert_word(&set->root, 1, 0);
}

static void find_outside_a_section(void)
{
	fill_outside();
	bytes_find(set, &want, &place);
}

static void layer_above_nothing_between(void)
{
	struct layer *layer;

	fill_bucket();
	place.layer = layer_new(set, rank_of_bytes(8), &want);
	NEED(place.layer);
	place.word = (uintptr_t)place.layer | FORM_LAYER;
	layer_above(set, &place, &want, (uintptr_t)&records[0], &layer);
}

/* ---- buckets ---- */

static void bucket_of_one(void)
{
	fill_bucket();
	bucket_new(set, 1, 0);
}

static void bucket_retired_in_use(void)
{
	fill_bucket();
	bucket_retire(bucket);
}

static void version_of_a_change(void)
{
	fill_bucket();
	bucket_same(bucket, 1);
}

static void seek_outside_a_section(void)
{
	fill_outside();
	bucket_seek(set, bucket, &want);
}

static void get_outside_a_section(void)
{
	fill_outside();
	bucket_get(set, &place, &want);
}

static void get_with_another_number_of_groups(void)
{
	fill_bucket();
	bucket->groups++;
	bucket_get(set, &place, &want);
}

static void insert_outside_a_section(void)
{
	u64 there;

	fill_outside();
	bucket_insert(set, &place, &want, (uintptr_t)&records[0], &there);
}

static void change_outside_a_section(void)
{
	u64 there;

	fill_outside();
	bucket_change(set, &place, &want, 0, 0, &there);
}

static void append_to_a_full_bucket(void)
{
	struct bucket *fresh;
	unsigned int i;

	fill_bucket();
	fresh = bucket_new(set, 2, 0);
	NEED(fresh);
	for (i = 0; i <= fresh->room; i++)
		bucket_append(set, fresh, place.layer, (uintptr_t)&records[i]);
}

static void bucket_out_of_order(void)
{
	struct bucket *fresh;

	fill_bucket();
	fresh = bucket_new(set, 2, 0);
	NEED(fresh);
	bucket_append(set, fresh, place.layer, (uintptr_t)&records[1]);
	bucket_append(set, fresh, place.layer, (uintptr_t)&records[0]);
	bucket_sort_out(set, fresh);
}

static void bucket_replaced_by_itself(void)
{
	fill_bucket();
	bucket_replace(&place, bucket_read(bucket), place.word);
}

static void order_without_a_record(void)
{
	u64 there;
	unsigned int i;

	fill_bucket();
	for (i = 1; i < bucket->used; i++)
		*bucket_order(bucket, i - 1) = *bucket_order(bucket, i);
	bucket_change(set, &place, &want, 0, 0, &there);
}

static void change_during_a_change(void)
{
	u64 there;

	fill_bucket();
	bucket->version++; /* as if a change were under way */
	bucket_change(set, &place, &want, 0, (uintptr_t)&records[0], &there);
}

/* ---- rows, counts, the set ---- */

static void row_insert_outside_a_section(void)
{
	u64 there;

	fill_row();
	lath_reader_exit(set->rcu);
	row_insert(set, &place, &want, (uintptr_t)&records[0], &there);
}

/* Memory at odd addresses for what asks for a word's alignment. */
static void *odd_alloc(void *ctx, size_t size, size_t align)
{
	char *block = aligned_alloc(64, (size + 127) & ~63ul);

	(void)ctx;
	return block && align == 8 ? block + 4 : block;
}

static void odd_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)block;
	(void)size;
}

static void row_at_an_odd_address(void)
{
	static const struct lath_allocator odd = { odd_alloc, odd_free, NULL };
	const struct lath_bytes_records of = { record_key, NULL, 0 };
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;

	config.allocator = &odd;
	NEED(!lath_bytes_init(&public, &of, &config));
	for (i = 0; i < 2; i++) {
		records[i] = (struct record){ "one key", 7, i };
		lath_bytes_insert(&public, (uintptr_t)&records[i], NULL);
	}
}

static void row_change_outside_a_section(void)
{
	u64 there;

	fill_row();
	lath_reader_exit(set->rcu);
	row_change(set, &place, &want, 0, (uintptr_t)&records[0], &there);
}

static void row_change_outside_a_call(void)
{
	u64 there;

	fill_row();
	lath_call_exit();
	row_change(set, &place, &want, 0, (uintptr_t)&records[0], &there);
}

static void count_changed_outside_a_section(void)
{
	fill(LATH_RANKS, 3);
	lath_reader_exit(set->rcu);
	count_changed(set, &place, 1);
}

/* Put a layer where the first record is. */
static struct layer *layer_at_the_place(void)
{
	struct layer *layer;
	u64 was;

	fill(LATH_RANKS, 2);
	layer = layer_new(set, rank_of_bytes(16), &want);
	NEED(layer);
	layer->up = &set->root;
	layer->total = 2;
	was = place.word;
	place.word = (uintptr_t)layer | FORM_LAYER;
	NEED(!lath_index_replace_if(&set->root.index, place.slice, was, place.word, NULL));
	return layer;
}

static void layer_above_a_layer_of_another(void)
{
	struct layer *below = layer_at_the_place(),
		     *layer = layer_new(set, rank_of_bytes(8), &want);

	NEED(layer);
	below->up = NULL;
	count_layer_above(&place, layer);
}

static void rank_in_a_layer_of_rank_0(void)
{
	struct lath_bytes_key key = { records[0].key, 20, 0 };

	layer_at_the_place()->rank = 0;
	lath_bytes_rank(&public, &key, 0);
}

static void select_in_a_layer_of_rank_0(void)
{
	u64 value;

	layer_at_the_place()->rank = 0;
	lath_bytes_select(&public, 0, &value);
}

static void layer_holds_a_key_that_is_beyond(void)
{
	struct want beyond = { NULL, 0, 0, true };

	fill_bucket();
	layer_holds(place.layer, &beyond);
}

static void row_change_to_an_array(void)
{
	u64 there;

	fill_row();
	row_change(set, &place, &want, 0, (uintptr_t)&records[0] | 1, &there);
}

static void count_changed_by_two(void)
{
	fill(LATH_RANKS, min(RECORDS, BUCKET_MAX));
	count_changed(set, &place, 2);
}

static void count_without_ranks(void)
{
	fill_bucket();
	count_changed(set, &place, 1);
}

static void total_of_the_root(void)
{
	fill(LATH_RANKS, min(RECORDS, BUCKET_MAX));
	count_layer_true(&set->root);
}

static void record_of_a_layer(void)
{
	fill_bucket();
	place.word = (uintptr_t)&set->root | FORM_LAYER;
	record_of(set, &want, &place);
}

static void freed_more_than_allocated(void)
{
	fill_bucket();
	lath_reader_exit(set->rcu);
	lath_call_exit();
	lath_retire_drain(set->rcu); /* smaller buckets come back, which changes the number too */
	set->bytes = 8;
	bytes_free(set, NULL, 16);
}

static void end_with_memory_left(void)
{
	fill_bucket();
	NEED(bytes_alloc(set, 64, 64));
	lath_reader_exit(set->rcu);
	lath_call_exit();
	lath_bytes_fini(&public, NULL, NULL);
}

static void end_with_a_layer_missing(void)
{
	fill_bucket();
	set->trees++;
	lath_reader_exit(set->rcu);
	lath_call_exit();
	lath_bytes_fini(&public, NULL, NULL);
}

static void cursor_behind_its_records(void)
{
	struct lath_bytes_cursor cursor;
	u64 value;

	fill_bucket();
	lath_bytes_cursor_init(&cursor, &public);
	NEED(lath_bytes_cursor_next(&cursor, &value));
	cursor.i = cursor.n + 1;
	lath_bytes_cursor_next(&cursor, &value);
}

/* ---- sets of intervals ---- */

static struct lath_intervals intervals;
static struct set *spans;

/* Six intervals that begin at one key: two places and a list. */
static void fill_intervals(void)
{
	unsigned int i;

	NEED(!lath_intervals_init(&intervals, LATH_HALF_OPEN, NULL));
	spans = set_of(&intervals);
	for (i = 0; i < 6; i++) {
		struct lath_interval interval = { 100, 110 + i, i };

		NEED(!lath_intervals_insert(&intervals, &interval));
	}
}

static void least_of_no_class(void)
{
	class_least(CLASSES);
}

static void most_of_no_class(void)
{
	class_most(CLASSES);
}

static void tree_of_no_place(void)
{
	fill_intervals();
	class_tree(spans, 0, PLACES);
}

static void list_of_no_value(void)
{
	struct lath_item entry = { 0 };

	interval_list_free(&entry);
}

static void list_scan_outside_a_section(void)
{
	struct wide_query all = { 0, KEY_MAX, 0, KEY_MAX };
	u64 next, order = 0;

	fill_intervals();
	interval_list_scan(class_tree(spans, class_of(9), PLACES - 1), &all, NULL, 9, &next,
			   &order);
}

static void wide_scan_outside_a_section(void)
{
	struct wide_query all = { 0, KEY_MAX, 0, KEY_MAX };
	u64 next;

	fill_intervals();
	wide_scan(class_tree(spans, class_of(9), 0), &all, NULL, 9, 0, &next);
}

static void wide_scan_for_nothing(void)
{
	struct wide_query all = { 0, KEY_MAX, 0, KEY_MAX };
	u64 next;

	fill_intervals();
	wide_scan(class_tree(spans, class_of(9), 0), &all, NULL, 0, 0, &next);
}

static void wide_insert_without_a_column(void)
{
	struct lath_item item = { 1, 1, 1 };

	fill_intervals();
	wide_insert(class_tree(spans, class_of(9), PLACES - 1), &item);
}

static void wide_insert_beyond_the_last_key(void)
{
	struct lath_item item = { KEY_MAX, 1, 1 };

	fill_intervals();
	wide_insert(class_tree(spans, class_of(9), 0), &item);
}

static void list_memory_left(void)
{
	fill_intervals();
	lath_rcu_auto.drain(); /* the worker changes the number */
	spans->list_bytes += 64;
	lath_intervals_fini(&intervals, NULL, NULL);
}

static void list_memory_uncounted(void)
{
	fill_intervals();
	lath_rcu_auto.drain();
	spans->list_bytes = 0;
	lath_intervals_fini(&intervals, NULL, NULL);
}

static void iterator_behind_its_copies(void)
{
	struct lath_interval_iter iter;
	struct lath_interval interval;

	fill_intervals();
	lath_interval_iter_all(&iter, &intervals);
	iter.at = 1;
	lath_interval_next(&iter, &interval);
}

static void batch_behind_its_copies(void)
{
	struct lath_interval_iter iter;
	struct lath_interval interval;

	fill_intervals();
	lath_interval_iter_all(&iter, &intervals);
	iter.at = 1;
	lath_interval_next_batch(&iter, &interval, 1);
}

/* ---- small containers ---- */

static struct lath_small few;

/* Three ranges in a block. */
static struct small *fill_small(void)
{
	struct lath_item item = { 100, 10, 1 };
	unsigned int i;

	NEED(!lath_small_init(&few, NULL));
	for (i = 0; i < 3; i++, item.key += 100)
		NEED(!lath_small_insert_item(&few, &item, NULL));
	return small_of(&few);
}

static void key_behind_the_block(void)
{
	block_key(fill_small(), 3);
}

static void value_behind_the_block(void)
{
	block_value(fill_small(), 3);
}

static void find_in_an_index(void)
{
	struct small *small = fill_small();

	small->form = SMALL_NODES;
	block_find(small, 7);
}

static void insert_over_an_item(void)
{
	struct lath_item item = { 105, 10, 1 };

	small_block_insert(fill_small(), &item);
}

static void insert_nothing(void)
{
	struct lath_item item = { 50, 0, 1 };

	small_block_insert(fill_small(), &item);
}

static void too_little_room(void)
{
	struct small *small = fill_small();

	small->room = 1;
	small_block_erase(small, 0);
}

static void erase_behind_the_block(void)
{
	small_block_erase(fill_small(), 3);
}

static void room_without_a_block(void)
{
	struct small *small = fill_small();

	small->room = 0;
	small_block_free(small);
}

static void next_without_keys(void)
{
	u64 values[3], next;

	fill_small();
	lath_small_scan_values(&few, 0, LAST_KEY, NULL, values, 3, &next);
}

static void count_of_an_index(void)
{
	struct lath_item item = { 5, 1, 1 };
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;

	kind.limit = 0;
	NEED(!lath_small_init(&few, &kind) && !lath_small_insert_item(&few, &item, NULL));
	small_of(&few)->count = 7;
	lath_small_verify(&few, NULL, 0);
}

static void erase_from_none(void)
{
	struct lath_item item = { 5, 1, 1 };
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;

	kind.limit = 0;
	NEED(!lath_small_init(&few, &kind) && !lath_small_insert_item(&few, &item, NULL));
	small_of(&few)->count = 0;
	lath_small_erase_item(&few, 5, NULL);
}

static void kind_that_became_wrong(void)
{
	struct lath_item item = { 5, 1, 1 };
	struct lath_small_kind kind = LATH_SMALL_KIND_INIT;

	kind.limit = 0;
	NEED(!lath_small_init(&few, &kind));
	kind.index.flags = LATH_HUGE_PAGES | LATH_SMALL_PAGES;
	lath_small_insert_item(&few, &item, NULL);
}

#define BYTES(what, run, file, text) { "bytes: " what, run, "set/bytes/" file, text }
#define SPANS(what, run, file, text) { "interval: " what, run, "set/interval/" file, text }
#define SMALL(what, run, file, text) { "small: " what, run, "set/small/" file, text }

const struct assert_case set_cases[] = {
	BYTES("layer of a record", layer_of_a_record, "bytes.h", "FORM_LAYER"),
	BYTES("bucket of a record", bucket_of_a_record, "bucket.h", "FORM_BUCKET"),
	BYTES("row of a bucket", row_of_a_bucket, "row.h", "FORM_ROW"),
	BYTES("key of an array", key_of_an_array, "key.h", "FORM_RECORD"),
	BYTES("word of an unaligned bucket", word_of_an_unaligned_bucket, "bucket.h", "entry & 63"),
	BYTES("slice beyond the room", slice_beyond_the_room, "bucket.h", "i <= bucket->room"),
	BYTES("choice beyond the room", choice_beyond_the_room, "bucket.h", "i <= bucket->room"),
	BYTES("order with the word of prints", order_with_the_word_of_prints, "bucket.h",
	      "word % GROUP_WORDS"),
	BYTES("rank of an odd depth", rank_of_an_odd_depth, "key.h", "depth % STEP"),
	BYTES("few bytes that are many", few_bytes_that_are_many, "key.h", "size < STEP"),
	BYTES("keys that agree in 3 bytes", equal_with_a_part_of_a_step, "key.h", "agree == STEP"),
	BYTES("equal to a key that is beyond", equal_to_a_key_that_is_beyond, "key.h", "b->beyond"),
	BYTES("fork of a key that is beyond", fork_of_a_key_that_is_beyond, "key.c", "a->beyond"),
	BYTES("record's key that is beyond", record_key_that_is_beyond, "key.c", "!b->beyond"),
	BYTES("group too full", group_too_full, "print.h", "group != group_of"),
	BYTES("print of the prints", print_of_the_prints, "print.h", "word % GROUP_WORDS"),
	BYTES("place erased twice", place_erased_twice, "print.h", "place_print(entry, word)"),
	BYTES("trunk of lengths", trunk_of_lengths, "layer.h", "trunk->rank & 1"),
	BYTES("layer deeper than its key", layer_deeper_than_its_key, "layer.c",
	      "known <= key->size"),
	BYTES("layer above of a later step", layer_above_of_a_later_step, "layer.c", "below->rank"),
	BYTES("free of the root", free_of_the_root, "layer.c", "layer != &set->root"),
	BYTES("no word in a layer", no_word_in_a_layer, "layer.c", "word"),
	BYTES("find outside a section", find_outside_a_section, "layer.c", "lath_reader_inside"),
	BYTES("layer above, nothing between", layer_above_nothing_between, "grow.c",
	      "rank < below->rank"),
	BYTES("bucket of one record", bucket_of_one, "bucket.c", "count >= 2"),
	BYTES("bucket retired in use", bucket_retired_in_use, "bucket.c", "bucket->gone"),
	BYTES("version of a change", version_of_a_change, "bucket.c", "!(version & 1)"),
	BYTES("seek outside a section", seek_outside_a_section, "bucket.c", "lath_reader_inside"),
	BYTES("get outside a section", get_outside_a_section, "bucket.c", "lath_reader_inside"),
	BYTES("get, another number of groups", get_with_another_number_of_groups, "bucket.c",
	      "groups == bucket->groups"),
	BYTES("insert outside a section", insert_outside_a_section, "bucket.c",
	      "lath_reader_inside"),
	BYTES("change outside a section", change_outside_a_section, "bucket.c",
	      "lath_reader_inside"),
	BYTES("append to a full bucket", append_to_a_full_bucket, "bucket.c",
	      "used < bucket->room"),
	BYTES("bucket out of order", bucket_out_of_order, "bucket.c",
	      "*bucket_slice(bucket, i - 1)"),
	BYTES("bucket replaced by itself", bucket_replaced_by_itself, "bucket.c",
	      "word != place->word"),
	BYTES("order without a record", order_without_a_record, "bucket.c", "at && bucket->used"),
	BYTES("change during a change", change_during_a_change, "bucket.c", "bucket->version & 1"),
	BYTES("row insert outside a section", row_insert_outside_a_section, "row.c",
	      "lath_reader_inside"),
	BYTES("row at an odd address", row_at_an_odd_address, "row.c", "(uintptr_t)row & 7"),
	BYTES("row change outside a section", row_change_outside_a_section, "row.c",
	      "lath_reader_inside"),
	{ "bytes: row change outside a call", row_change_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	BYTES("count changed outside a section", count_changed_outside_a_section, "count.c",
	      "lath_reader_inside"),
	BYTES("layer above a layer of another one", layer_above_a_layer_of_another, "count.c",
	      "below->up == place->layer"),
	BYTES("rank in a layer of rank 0", rank_in_a_layer_of_rank_0, "count.c",
	      "below->rank > layer->rank"),
	BYTES("select in a layer of rank 0", select_in_a_layer_of_rank_0, "count.c",
	      "layer_of(item.value)->rank > layer->rank"),
	BYTES("layer holds a key that is beyond", layer_holds_a_key_that_is_beyond, "layer.c",
	      "!want->beyond"),
	BYTES("row change to an array", row_change_to_an_array, "row.c", "value & ROW_BITS"),
	BYTES("count changed by two", count_changed_by_two, "count.c", "by == 1"),
	BYTES("count without ranks", count_without_ranks, "count.c", "set->weight"),
	BYTES("total of the root", total_of_the_root, "count.c", "layer->up"),
	BYTES("record of a layer", record_of_a_layer, "read.c", "FORM_LAYER"),
	BYTES("freed more than allocated", freed_more_than_allocated, "memory.c", ">= size"),
	BYTES("end with memory left", end_with_memory_left, "set.c", "!set->bytes"),
	BYTES("end with a layer missing", end_with_a_layer_missing, "set.c", "set->trees == 1"),
	BYTES("cursor behind its records", cursor_behind_its_records, "read.c", "cursor->i"),
	SPANS("least of no class", least_of_no_class, "set.h", "class < CLASSES"),
	SPANS("most of no class", most_of_no_class, "set.h", "class < CLASSES"),
	SPANS("tree of no place", tree_of_no_place, "set.h", "place < PLACES"),
	SPANS("list of no value", list_of_no_value, "list.c", "value"),
	SPANS("list scan outside a section", list_scan_outside_a_section, "list.c",
	      "lath_reader_inside"),
	SPANS("wide scan outside a section", wide_scan_outside_a_section, "wide.c",
	      "lath_reader_inside"),
	SPANS("wide scan for nothing", wide_scan_for_nothing, "wide.c", "max"),
	SPANS("wide insert without a column", wide_insert_without_a_column, "wide.c", "leaf_side"),
	SPANS("wide insert beyond the last key", wide_insert_beyond_the_last_key, "wide.c",
	      "KEY_MAX - item->key"),
	SPANS("list memory left at the end", list_memory_left, "set.c", "!set->list_bytes"),
	SPANS("list memory uncounted", list_memory_uncounted, "list.c", "list_bytes) >= size"),
	SPANS("iterator behind its copies", iterator_behind_its_copies, "find.c", "iter->at"),
	SPANS("batch behind its copies", batch_behind_its_copies, "find.c", "iter->at"),
	SMALL("key behind the block", key_behind_the_block, "block.h", "i < small->count"),
	SMALL("value behind the block", value_behind_the_block, "block.h", "i < small->count"),
	SMALL("find in an index", find_in_an_index, "block.h", "is_block(small)"),
	SMALL("insert over an item", insert_over_an_item, "block.c", "!small_block_conflicts"),
	SMALL("insert nothing", insert_nothing, "block.c", "item->size"),
	SMALL("too little room", too_little_room, "block.c", "words <= small->room"),
	SMALL("erase behind the block", erase_behind_the_block, "block.c", "i < small->count"),
	SMALL("block without room", room_without_a_block, "block.c", "!small->room"),
	SMALL("next without keys", next_without_keys, "read.c", "keys || !next"),
	SMALL("count of an index", count_of_an_index, "read.c", "small->count"),
	SMALL("erase from none", erase_from_none, "small.c", "small->count"),
	SMALL("kind that became wrong", kind_that_became_wrong, "small.c", "-ENOMEM"),
	{ 0 },
};
