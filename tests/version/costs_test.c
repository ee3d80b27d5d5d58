/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * costs_test.c - many snapshots of one key: to take them, to change the key and to release them in
 * any order costs about the same for each. And a record that is put where it is already.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "base/must.h"
#include "lathwork/versions.h"

#define SNAPSHOTS 40000u
#define MOST 1.5 /* seconds; with a search per record it is 3 to 20, without 0.05 */

struct row {
	struct lath_version version;
	uint64_t key;
};

static struct lath_versions set;
static struct lath_snapshot snapshot[SNAPSHOTS];
static const uint64_t the_key;
static const struct lath_bytes_key key = { &the_key, sizeof(the_key), 0 };
static size_t made, freed;

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *of)
{
	(void)ctx;
	*of = (struct lath_bytes_key){ &((const struct row *)(uintptr_t)value)->key,
				       sizeof(uint64_t), 0 };
}

static void free_row(void *ctx, void *row)
{
	(void)ctx;
	freed++;
	free(row);
}

static void put(void)
{
	struct row *row = malloc(sizeof(*row));

	row->key = the_key;
	made++;
	MUST(!lath_versions_put(&set, row, NULL));
}

static void begin(void)
{
	const struct lath_versions_records records = { key_of, free_row, NULL,
						       offsetof(struct row, version), 0 };

	made = freed = 0;
	MUST(!lath_versions_init(&set, &records, NULL));
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The snapshot that is released as number i. */
static unsigned int oldest_first(unsigned int i)
{
	return i;
}

static unsigned int newest_first(unsigned int i)
{
	return SNAPSHOTS - 1 - i;
}

static unsigned int in_any_order(unsigned int i)
{
	return (unsigned int)(i * 25013ull % SNAPSHOTS);
}

/* erases: the key is erased between two changes. ends: it is erased before the first release. */
static void many(const char *name, unsigned int (*order)(unsigned int i), bool erases, bool ends)
{
	double start = cpu();
	unsigned int i;

	begin();
	for (i = 0; i < SNAPSHOTS; i++) {
		put();
		lath_snapshot_take(&set, &snapshot[i]);
		if (erases)
			MUST(!lath_versions_erase(&set, &key, NULL));
	}
	/* changes that no snapshot shows, of a key with many records */
	for (i = 0; i < 1000; i++)
		put();
	if (ends)
		MUST(!lath_versions_erase(&set, &key, NULL));
	for (i = 0; i < SNAPSHOTS; i++) {
		lath_snapshot_release(&set, &snapshot[order(i)]);
		if (i % 8000 == 0)
			lath_rcu_auto.drain();
	}
	lath_versions_fini(&set);
	MUST(freed == made);
	if (cpu() - start > MOST)
		fprintf(stderr, "%s: %.1f s\n", name, cpu() - start);
	MUST(cpu() - start <= MOST);
}

/* A key is reused after it was erased: no snapshot shows what it had before. */
static void erased_between(void)
{
	unsigned int i;
	void *found;

	begin();
	put();
	lath_snapshot_take(&set, &snapshot[0]);
	put();
	MUST(!lath_versions_erase(&set, &key, NULL));
	lath_snapshot_take(&set, &snapshot[1]);
	put();
	MUST(lath_versions_get(&set, &snapshot[0], &key, &found) == 1);
	MUST(!lath_versions_get(&set, &snapshot[1], &key, &found));
	MUST(lath_versions_get(&set, NULL, &key, &found) == 1);
	lath_snapshot_release(&set, &snapshot[0]);
	for (i = 0; i < 20 && freed < 2; i++)
		lath_rcu_auto.drain();
	MUST(freed == 2 && !lath_versions_get(&set, &snapshot[1], &key, &found));
	lath_snapshot_release(&set, &snapshot[1]);
	lath_versions_fini(&set);
	MUST(freed == made);
}

static void same_record(void)
{
	struct row *row;
	void *old;

	begin();
	put();
	MUST(lath_versions_get(&set, NULL, &key, &old) == 1);
	row = old;
	MUST(lath_versions_insert(&set, row, &old) == -EEXIST && old == row);
	old = NULL;
	MUST(!lath_versions_put(&set, row, &old) && old == row);
	MUST(!lath_versions_replace(&set, row, &old) && old == row);
	MUST(!lath_versions_replace_if(&set, row, row, NULL));
	MUST(lath_versions_get(&set, NULL, &key, &old) == 1 && old == row);
	MUST(!lath_versions_verify(&set, NULL, 0));
	lath_versions_fini(&set);
	MUST(freed == 1);
}

int main(void)
{
	same_record();
	erased_between();
	many("oldest first", oldest_first, false, false);
	many("newest first", newest_first, false, false);
	many("in any order", in_any_order, false, false);
	many("oldest first, erased", oldest_first, true, true);
	many("newest first, erased", newest_first, true, true);
	many("in any order, erased", in_any_order, true, true);
	many("newest first, erased at last", newest_first, false, true);
	return (int)faults;
}
