/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * verify_test.c - lath_bytes_verify sees what is wrong with a set: one fault of each kind. And what
 * init refuses.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "set/bytes/bucket.h"
#include "set/bytes/row.h"

static struct lath_bytes set;
static struct lath_bytes_records records;
static char report[200];

/* 300 with one prefix: a layer. Three more with another one: a bucket. One alone. */
static struct record {
	char text[32];
} record[304];

static void text_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	(void)ctx;
	key->data = ((const struct record *)(uintptr_t)value)->text;
	key->size = strlen(key->data);
}

static void fill(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;

	config.flags = LATH_RANKS;
	records.key_of = text_of;
	assert(!lath_bytes_init(&set, &records, &config));
	for (i = 0; i < ARRAY_SIZE(record); i++) {
		if (i < 300)
			snprintf(record[i].text, sizeof(record[i].text), "prefixes: %u", i);
		else if (i < 303)
			snprintf(record[i].text, sizeof(record[i].text), "together %u", i);
		else
			snprintf(record[i].text, sizeof(record[i].text), "alone");
		assert(!lath_bytes_insert(&set, (uintptr_t)&record[i], NULL));
	}
	assert(!lath_bytes_verify(&set, report, sizeof(report)));
}

static void expect(int number)
{
	int ret = lath_bytes_verify(&set, report, sizeof(report));

	printf("%d: %s\n", ret, report);
	assert(ret == number && *report);
	assert(lath_bytes_verify(&set, NULL, 0) == number);
}

static void check_refusals(void)
{
	struct lath_config config = LATH_CONFIG_INIT;

	records.key_of = NULL;
	assert(lath_bytes_init(&set, &records, NULL) == -EINVAL);
	assert(lath_bytes_init(&set, NULL, NULL) == -EINVAL);
	records.key_of = text_of;
	records.flags = 2;
	assert(lath_bytes_init(&set, &records, NULL) == -EINVAL);
	records.flags = 0;
	config.flags = LATH_HOLES;
	assert(lath_bytes_init(&set, &records, &config) == -EINVAL);
	config.flags = LATH_HUGE_PAGES | LATH_SMALL_PAGES;
	assert(lath_bytes_init(&set, &records, &config) == -EINVAL);
	config.flags = 0;
	config.layout = LATH_POINTS;
	assert(lath_bytes_init(&set, &records, &config) == -EINVAL);
	config.layout = LATH_RANGES;
	config.size = 1;
	assert(lath_bytes_init(&set, &records, &config) == -EINVAL);
	assert(lath_bytes_init(NULL, &records, NULL) == -EINVAL);
	assert(lath_bytes_init((struct lath_bytes *)(void *)((char *)&set + 8), &records, NULL) ==
	       -EINVAL);
}

/* The word of the root for a beginning. */
static u64 word_of(const char *text, u64 *slice)
{
	struct want want = { (const u8 *)text, strlen(text), 0, false };
	struct lath_item item;

	*slice = slice_of(&want, 0);
	assert(!lath_index_lookup_item(&bytes_of(&set)->root.index, *slice, &item));
	return item.value;
}

/* Puts the word of one slice under another one. */
static void misplace(u64 slice, u64 word, int number)
{
	struct lath_index *root = &bytes_of(&set)->root.index;
	struct lath_item item = { slice + 1, 1, word };

	assert(!lath_index_erase_item(root, slice, NULL));
	assert(!lath_index_insert_item(root, &item, NULL));
	expect(number);
	assert(!lath_index_erase_item(root, slice + 1, NULL));
	item.key = slice;
	assert(!lath_index_insert_item(root, &item, NULL));
	assert(!lath_bytes_verify(&set, report, sizeof(report)));
}

static void check_bucket(struct bucket *bucket)
{
	*bucket_slice(bucket, 1) += 1; /* not what its key says */
	expect(32);
	*bucket_slice(bucket, 1) -= 1;
	bucket->offset++; /* they do not agree in this many bytes */
	expect(32);
	bucket->offset--;
	bucket->version++;
	expect(32);
	bucket->version--;
	bucket->tags = true;
	expect(32);
	bucket->tags = false;
	bucket->entry[0] ^= 2; /* the print of a record: lookups do not find it */
	expect(32);
	bucket->entry[0] ^= 2;
	*bucket_choice(bucket, 1) ^= 1; /* a copy would have it in another group */
	expect(32);
	*bucket_choice(bucket, 1) ^= 1;
	assert(!lath_bytes_verify(&set, report, sizeof(report)));
}

/* 200 records with one key make a layer of tags. A cursor for longer keys passes it, in both
 * directions. */
static char of_other_key[8];

static void one_key(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	(void)ctx;
	*key = (struct lath_bytes_key){ "eight456", 8, value };
	if (value == (uintptr_t)of_other_key)
		key->data = "eight457";
}

/* A row of three records with one key. */
static void check_row(void)
{
	static char byte[3][8];
	u64 slice, word, *places, value;
	unsigned int i;

	records.key_of = one_key;
	assert(!lath_bytes_init(&set, &records, NULL));
	for (i = 0; i < ARRAY_SIZE(byte); i++)
		assert(!lath_bytes_insert(&set, (uintptr_t)byte[i], NULL));
	word = word_of("eight456", &slice);
	assert(form_of(word) == FORM_ROW && !lath_bytes_verify(&set, report, sizeof(report)));
	places = row_places(word);
	value = places[2];
	places[2] = places[0]; /* out of order */
	expect(32);
	places[2] = (uintptr_t)of_other_key;
	expect(32);
	places[2] = 0; /* one record is not a row */
	value = places[1];
	places[1] &= ROW_BITS;
	expect(32);
	places[1] = value;
	places[2] = (uintptr_t)byte[2];
	places[0] |= ROW_BUSY;
	expect(32);
	places[0] &= ~ROW_BUSY;
	misplace(slice, word, 32);
	lath_bytes_fini(&set, NULL, NULL);
}

static void check_tags(void)
{
	static char byte[200][8];
	struct lath_bytes_cursor cursor;
	struct lath_bytes_stats stats;
	uint64_t value;
	unsigned int i;

	records.key_of = one_key;
	assert(!lath_bytes_init(&set, &records, NULL));
	for (i = 0; i < ARRAY_SIZE(byte); i++)
		assert(!lath_bytes_insert(&set, (uintptr_t)byte[i], NULL));
	lath_bytes_get_stats(&set, &stats);
	assert(stats.items == ARRAY_SIZE(byte) && stats.trees > 1);
	lath_bytes_cursor_init_prefix(&cursor, &set, "eight456!", 9);
	assert(!lath_bytes_cursor_prev(&cursor, &value));
	assert(!lath_bytes_cursor_next(&cursor, &value));
	lath_bytes_cursor_init_prefix(&cursor, &set, "eight456", 8);
	for (i = ARRAY_SIZE(byte); i-- > 0;)
		assert(lath_bytes_cursor_prev(&cursor, &value) && value == (uintptr_t)byte[i]);
	assert(!lath_bytes_cursor_prev(&cursor, &value));
	lath_bytes_fini(&set, NULL, NULL);
}

int main(void)
{
	u64 slice, word;

	check_tags();
	check_row();
	check_refusals();
	fill();
	word = word_of("alone", &slice);
	misplace(slice, word, 31);
	word = word_of("together", &slice);
	assert(form_of(word) == FORM_BUCKET);
	misplace(slice, word, 32);
	check_bucket(bucket_of(word));
	word = word_of("prefixes", &slice);
	assert(form_of(word) == FORM_LAYER);
	misplace(slice, word, 33);
	layer_of(word)->rank -= 16;
	expect(33);
	layer_of(word)->rank += 16;
	layer_of(word)->total++; /* one record more than it has */
	expect(35);
	layer_of(word)->total--;
	layer_of(word)->up = layer_of(word);
	expect(35);
	layer_of(word)->up = &bytes_of(&set)->root;
	record[303].text[1] = 'a'; /* a key that was changed behind the set's back */
	expect(31);
	record[303].text[1] = 'l';
	*report = 0;
	tree_of(&bytes_of(&set)->root.index)->root->low = 1;
	expect(2);
	tree_of(&bytes_of(&set)->root.index)->root->low = 0;
	lath_bytes_fini(&set, NULL, NULL);
	return 0;
}
