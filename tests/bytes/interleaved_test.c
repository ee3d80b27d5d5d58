/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - changes of an array of records between the steps of another call.
 *
 * The set is built with its delay points: when a call has copied an array and not yet put the copy
 * in its place, or has searched it and not yet read what it found, the hook changes the array as
 * another thread might. The call must then do what it does undisturbed, and the change must stay.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "lathwork/bytes.h"

#define MOST 260u
#define COPIED "bucket copied, not yet replaced"
#define SEARCHED "bucket searched, record not yet read"
#define PLACED "bucket: place found, record not yet read"
#define READ "bucket read, version not yet compared"
#define SCANNED "found, not yet copied"
#define WEIGHED "values copied, weights not yet looked at"

extern void (*lath_delay_hook)(const char *point);

/* Keys of equal first eight bytes, in the order of their numbers; or, as versions, one key and the
 * numbers as tags; or, apart, the numbers as keys. */
struct record {
	char data[16];
	uint64_t tag;
} records[MOST], other[MOST];

enum what { ERASE, REPLACE, INSERT, ADD, EXCHANGE };

static struct lath_bytes set;
static const char *where; /* the point that is watched; NULL: none */
static enum what what;
static unsigned int which, fired, skip; /* skip: visits of the point before */
static unsigned int taker;		/* EXCHANGE: the record that is added */
static bool versions, apart, ranks;

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	if (apart)
		*key = (struct lath_bytes_key){ record->data + 8, 4, record->tag };
	else
		*key = (struct lath_bytes_key){ record->data, versions ? 8 : strlen(record->data),
						versions ? record->tag : 0 };
}

static struct lath_bytes_key key_at(unsigned int i)
{
	struct lath_bytes_key key;

	key_of(NULL, (uintptr_t)&records[i], &key);
	return key;
}

static uint64_t value_at(unsigned int i)
{
	return (uintptr_t)&records[i];
}

/* The record that a get finds; 0: none. */
static uint64_t found(unsigned int i)
{
	struct lath_bytes_key key = key_at(i);
	uint64_t value;

	return lath_bytes_get(&set, &key, &value) ? value : 0;
}

static void disturb(const char *point)
{
	struct lath_bytes_key key = key_at(which);

	if (!where || strcmp(point, where) != 0)
		return;
	if (skip) {
		skip--;
		return;
	}
	where = NULL;
	fired++;
	if (what == ERASE || what == EXCHANGE)
		MUST(!lath_bytes_erase(&set, &key, NULL));
	if (what == ERASE)
		return;
	if (what == EXCHANGE)
		MUST(!lath_bytes_insert(&set, value_at(taker), NULL));
	else if (what == REPLACE)
		MUST(!lath_bytes_replace(&set, (uintptr_t)&other[which], NULL));
	else if (what == ADD)
		MUST(!lath_bytes_insert(&set, (uintptr_t)&other[which], NULL));
	else
		MUST(!lath_bytes_insert(&set, value_at(which), NULL));
}

static void arm(const char *point, enum what change, unsigned int i)
{
	where = point;
	what = change;
	which = i;
	fired = 0;
}

/* Records 2, 4, ... 2 n are there. */
static void begin(unsigned int n)
{
	struct lath_bytes_records of = { key_of, NULL, 0 };
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;

	config.flags = ranks ? LATH_RANKS : 0;
	MUST(!lath_bytes_init(&set, &of, &config));
	for (i = 1; i <= n; i++)
		MUST(!lath_bytes_insert(&set, value_at(2 * i), NULL));
}

static void end(unsigned int n)
{
	char report[200] = "";

	MUST(fired == 1);
	MUST(!lath_bytes_verify(&set, report, sizeof(report)));
	MUST(lath_bytes_count(&set) == n);
	lath_bytes_fini(&set, NULL, NULL);
}

/* An array of n records without room is replaced by a larger one, or by a tree: the copy must not
 * take its place if the array has changed. */
static void replaced(unsigned int n, bool put)
{
	struct lath_bytes_key key = key_at(1);
	struct lath_bytes_place place;
	enum what change;

	for (change = ERASE; change <= REPLACE; change++) {
		begin(n);
		arm(COPIED, change, 4);
		if (put) {
			lath_rcu_auto.read_lock();
			MUST(!lath_bytes_find(&set, &key, &place));
			MUST(lath_bytes_put(&set, &place, value_at(1)) == -EAGAIN);
			MUST(!lath_bytes_find(&set, &key, &place));
			MUST(!lath_bytes_put(&set, &place, value_at(1)));
			lath_rcu_auto.read_unlock();
		} else {
			MUST(!lath_bytes_insert(&set, value_at(1), NULL));
		}
		MUST(found(1) == value_at(1));
		MUST(found(4) == (change == ERASE ? 0 : (uintptr_t)&other[4]));
		end(change == ERASE ? n : n + 1);
	}
}

/* What was found moves before it is read: a get looks again. */
static void read_one(void)
{
	begin(5);
	arm(SEARCHED, INSERT, 1);
	MUST(found(6) == value_at(6));
	end(6);
	begin(5);
	arm(SEARCHED, ERASE, 2);
	MUST(found(6) == value_at(6));
	end(4);
}

/* The place that a get found gets another record before the get reads it: that is not the answer.
 */
static void read_taken(void)
{
	for (taker = 1; taker < MOST; taker += 2) {
		begin(5);
		arm(PLACED, EXCHANGE, 6);
		MUST(!found(6));
		MUST(found(taker) == value_at(taker));
		end(5);
	}
}

/* Records move while a cursor copies them: it copies them again. */
static void read_in_order(void)
{
	struct lath_bytes_cursor cursor;
	uint64_t value;
	unsigned int n = 0;

	begin(5);
	arm(READ, ERASE, 4);
	lath_bytes_cursor_init(&cursor, &set);
	while (lath_bytes_cursor_next(&cursor, &value)) {
		MUST(value != value_at(4));
		n++;
	}
	MUST(n == 4);
	end(4);
}

/* A record becomes two of one key while a scan copies words of which each was that of a record. */
static void read_apart(void)
{
	uint64_t values[MOST];
	unsigned int i;

	for (i = 0; i < MOST; i++) {
		records[i].tag = 0;
		other[i].tag = 1;
	}
	apart = true;
	begin(100);
	arm(SCANNED, ADD, 120);
	skip = 40; /* the first 32 words are looked at one by one */
	MUST(lath_bytes_scan(&set, NULL, 0, values, MOST) == 101);
	for (i = 1; i <= 60; i++)
		MUST(values[i - 1] == value_at(2 * i));
	MUST(values[60] == (uintptr_t)&other[120]);
	for (; i <= 100; i++)
		MUST(values[i] == value_at(2 * i));
	end(101);
}

/* An array that is to be counted is replaced: the call counts the one in its place. */
static void counted(enum what change, unsigned int i, unsigned int n, unsigned int left)
{
	uint64_t value = 0;

	ranks = true;
	begin(n);
	arm(WEIGHED, change, i);
	MUST(lath_bytes_count(&set) == left);
	end(left);
	begin(n);
	arm(WEIGHED, change, i);
	MUST(!lath_bytes_select(&set, left - 1, &value) && value == value_at(2 * n));
	end(left);
	ranks = false;
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < MOST; i++) {
		snprintf(records[i].data, sizeof(records[i].data), "together%u", 1000 + i);
		records[i].tag = i;
		other[i] = records[i];
	}
	lath_delay_hook = disturb;
	replaced(3, false);
	replaced(3, true);
	replaced(128, false); /* becomes a tree */
	read_one();
	read_taken();
	read_in_order();
	versions = true;
	replaced(2, false); /* a row becomes a larger one */
	replaced(4, true);
	replaced(5, false); /* and an array */
	counted(INSERT, 1, 3, 4);
	counted(ERASE, 2, 2, 1);
	versions = false;
	counted(INSERT, 1, 3, 4);
	counted(ERASE, 2, 2, 1);
	counted(INSERT, 1, 128, 129);
	read_apart();
	lath_delay_hook = NULL;
	return faults != 0;
}
