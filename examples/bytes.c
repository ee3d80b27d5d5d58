/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The table of a small database in memory (lathwork/bytes.h): rows with versions, the latest one
 * first; a read as of a version, and all rows of a customer. Keys stay in the rows. The program
 * checks its own result.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lathwork/bytes.h>

struct row {
	const char *key;
	uint64_t version;
	const char *text;
};

static struct row rows[] = {
	{ "customer/7/city", 1, "Lyon" },     { "customer/7/name", 2, "Ada" },
	{ "customer/7/city", 3, "Turin" },    { "customer/77/name", 4, "Grace" },
	{ "customer/7/city", 5, "Valencia" },
};

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct row *row = (const struct row *)(uintptr_t)value;

	(void)ctx;
	key->data = row->key;
	key->size = strlen(row->key);
	key->tag = row->version;
}

static const struct row *as_row(uint64_t value)
{
	return (const struct row *)(uintptr_t)value;
}

/* The text of a row as of a version, or NULL. Larger tags come first: the first row at or after
 * {key, version} is the latest one that is not newer. */
static const char *read_row(struct lath_bytes *table, const char *name, uint64_t version)
{
	struct lath_bytes_key key = { name, strlen(name), version };
	uint64_t value;

	if (lath_bytes_ceiling(table, &key, &value) || strcmp(as_row(value)->key, name) != 0)
		return NULL;
	return as_row(value)->text;
}

int main(void)
{
	struct lath_bytes_records records = { key_of, NULL, LATH_BYTES_DESCENDING };
	struct lath_bytes_cursor cursor;
	struct lath_bytes table;
	unsigned int i, n = 0;
	uint64_t value;

	assert(!lath_bytes_init(&table, &records, NULL));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert(!lath_bytes_insert(&table, (uint64_t)(uintptr_t)&rows[i], NULL));
	assert(!strcmp(read_row(&table, "customer/7/city", 4), "Turin"));
	assert(!read_row(&table, "customer/77/name", 3));

	lath_bytes_cursor_init_prefix(&cursor, &table, "customer/7/", 11);
	for (; lath_bytes_cursor_next(&cursor, &value); n++)
		printf("%s %" PRIu64 ": %s\n", as_row(value)->key, as_row(value)->version,
		       as_row(value)->text);
	printf("%u versions of customer 7, the city was %s\n", n,
	       read_row(&table, "customer/7/city", 4));
	lath_bytes_fini(&table, NULL, NULL);
	return 0;
}
