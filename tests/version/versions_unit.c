/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A set with snapshots: what is shown before and after changes, and what is handed back when. In
 * both hosts.
 */
#include "base/unit.h"
#include "lathwork/versions.h"

#define KEYS 500u
#define ROUNDS 4u

int versions_unit(void);

struct record {
	struct lath_version version;
	u32 round;
	u8 key[4]; /* in order */
};

struct test {
	struct lath_versions set;
	struct lath_snapshot snapshot[ROUNDS];
	bool held[ROUNDS]; /* the snapshot is */
	struct record record[ROUNDS][KEYS];
	u64 returned; /* records that were handed back */
};

static void key_of(void *ctx, u64 value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	key->data = record->key;
	key->size = sizeof(record->key);
}

static void give_back(void *ctx, void *record)
{
	struct test *t = ctx;

	(void)record;
	lath_fetch_add(&t->returned, 1);
}

/* In round r every key whose number is not a multiple of r + 2 gets a record of that round, and the
 * others are erased. */
static bool there(u32 round, u32 i)
{
	return i % (round + 2);
}

static int change(struct test *t, u32 round)
{
	u32 i;

	for (i = 0; i < KEYS; i++) {
		struct record *record = &t->record[round][i];
		struct lath_bytes_key key = { record->key, sizeof(record->key), 0 };
		void *old = NULL;
		bool before = round && there(round - 1, i);

		record->round = round;
		record->key[1] = (u8)(i >> 8);
		record->key[2] = (u8)i;
		if (there(round, i))
			CHECK(!lath_versions_put(&t->set, record, &old));
		else
			CHECK(lath_versions_erase(&t->set, &key, &old) == (before ? 0 : -ENOENT));
		CHECK(old == (before ? &t->record[round - 1][i] : NULL));
	}
	return 0;
}

/* What the snapshot of a round shows. */
static int look(struct test *t, u32 round)
{
	struct lath_versions_cursor cursor;
	void *found;
	u32 i;

	lath_versions_cursor_init(&cursor, &t->set, &t->snapshot[round]);
	for (i = 0; i < KEYS; i++) {
		struct record *record = &t->record[round][i];
		struct lath_bytes_key key = { record->key, sizeof(record->key), 0 };

		if (there(round, i)) {
			CHECK(lath_versions_cursor_next(&cursor, &found) && found == record);
			CHECK(lath_versions_get(&t->set, &t->snapshot[round], &key, &found) &&
			      found == record);
		} else {
			CHECK(!lath_versions_get(&t->set, &t->snapshot[round], &key, &found));
		}
	}
	CHECK(!lath_versions_cursor_next(&cursor, &found));
	return 0;
}

static void release(struct test *t, u32 round)
{
	lath_snapshot_release(&t->set, &t->snapshot[round]);
	t->held[round] = false;
}

static u64 records_put(void)
{
	u32 round, i;
	u64 put = 0;

	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < KEYS; i++)
			put += there(round, i);
	return put;
}

static int run(struct test *t)
{
	struct lath_versions_stats stats;
	u32 round, i;

	for (round = 0; round < ROUNDS; round++) {
		CHECK(!change(t, round));
		lath_snapshot_take(&t->set, &t->snapshot[round]);
		t->held[round] = true;
	}
	CHECK(!lath_versions_verify(&t->set, NULL, 0));
	lath_versions_get_stats(&t->set, &stats);
	CHECK(stats.snapshots == ROUNDS && !t->returned);
	/* given back in another order: 2, 0, 1, 3 */
	for (round = 0; round < ROUNDS; round++) {
		for (i = round; i < ROUNDS; i++)
			CHECK(!look(t, (i * 2 + 2) % 5 % ROUNDS));
		release(t, (round * 2 + 2) % 5 % ROUNDS);
	}
	/* grace periods, and in the kernel a worker */
	for (i = 0; i < 1000; i++) {
		lath_retire_drain(&lath_rcu_auto);
		lath_versions_get_stats(&t->set, &stats);
		if (!stats.older &&
		    READ_ONCE(t->returned) == records_put() - lath_versions_count(&t->set, NULL))
			break;
	}
	CHECK(!stats.older && !stats.snapshots);
	CHECK(!lath_versions_verify(&t->set, NULL, 0));
	CHECK(t->returned == records_put() - lath_versions_count(&t->set, NULL));
	return 0;
}

/* A set, whose end gives all records back. */
static int test_set(struct test *t)
{
	struct lath_versions_records records = { key_of, give_back, t,
						 offsetof(struct record, version), 0 };
	u32 round;
	int ret;

	CHECK(!lath_versions_init(&t->set, &records, NULL));
	ret = run(t);
	/* a test that has failed holds some: with them the set cannot end */
	for (round = 0; round < ROUNDS; round++)
		if (t->held[round])
			release(t, round);
	lath_versions_fini(&t->set);
	if (!ret)
		CHECK(t->returned == records_put());
	return ret;
}

int versions_unit(void)
{
	struct test *t = unit_alloc_aligned(sizeof(*t));
	int ret;

	CHECK(t);
	memset(t, 0, sizeof(*t));
	ret = test_set(t);
	unit_free_aligned(t);
	return ret;
}
