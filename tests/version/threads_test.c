/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that change a set and look at snapshots of it.
 *
 * Each writer owns its keys and counts its changes up, one key after the other: a record has
 * the number of the change. So at any moment the numbers of a writer's keys are such that one
 * number is the largest, and each key has the last change of it that is not later than that. A
 * reader takes a snapshot, and looks whether what it shows is such a moment of each writer, not
 * before what the writers had finished when it was taken, nor behind what they had begun when that
 * had returned; looks again later, in another way; and compares. threads_test [changes];
 * LATH_LONG=1: twenty times more.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork/versions.h"

#define WRITERS 2u
#define READERS 2u
#define KEYS 61u /* of a writer */

/* Change n of a writer concerns this key, and every ERASES-th erases it. */
#define KEY_OF(n) ((n) * 7 % KEYS)
#define ERASES 5u

struct record {
	struct lath_version version;
	unsigned long number;
	unsigned char key[10];
};

static struct lath_versions set;
static unsigned long changes = 200000, begun[WRITERS], finished[WRITERS], records, looks, faults;
static unsigned int done;

#define FAULT(...)                                                      \
	do {                                                            \
		fprintf(stderr, "versions threads_test: " __VA_ARGS__); \
		__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);       \
	} while (0)

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	key->data = record->key;
	key->size = sizeof(record->key);
}

static void give_back(void *ctx, void *record)
{
	(void)ctx;
	memset(record, 0xee, sizeof(struct record));
	free(record);
	__atomic_fetch_sub(&records, 1, __ATOMIC_RELAXED);
}

static void make_key(unsigned char *key, unsigned int writer, unsigned long which)
{
	memset(key, 'k', 8);
	key[8] = (unsigned char)writer;
	key[9] = (unsigned char)which;
}

static void *write_some(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	unsigned long n;

	for (n = 1; n <= changes; n++) {
		struct record *record;
		int ret;

		__atomic_store_n(&begun[me], n, __ATOMIC_SEQ_CST);
		if (n % ERASES) {
			record = malloc(sizeof(*record));
			if (!record)
				abort();
			record->number = n;
			make_key(record->key, me, KEY_OF(n));
			__atomic_fetch_add(&records, 1, __ATOMIC_RELAXED);
			ret = lath_versions_put(&set, record, NULL);
			if (ret)
				FAULT("put said %d\n", ret);
		} else {
			unsigned char bytes[10];
			struct lath_bytes_key key = { bytes, sizeof(bytes), 0 };

			make_key(bytes, me, KEY_OF(n));
			ret = lath_versions_erase(&set, &key, NULL);
			if (ret && ret != -ENOENT)
				FAULT("erase said %d\n", ret);
		}
		__atomic_store_n(&finished[me], n, __ATOMIC_SEQ_CST);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

struct view {
	unsigned long number[WRITERS][KEYS]; /* 0: no record */
};

static void look_by_get(const struct lath_snapshot *at, struct view *view)
{
	unsigned int w, k;

	for (w = 0; w < WRITERS; w++) {
		for (k = 0; k < KEYS; k++) {
			unsigned char bytes[10];
			struct lath_bytes_key key = { bytes, sizeof(bytes), 0 };
			void *found;

			make_key(bytes, w, k);
			view->number[w][k] = 0;
			if (lath_versions_get(&set, at, &key, &found))
				view->number[w][k] = ((struct record *)found)->number;
		}
	}
}

static void look_by_cursor(const struct lath_snapshot *at, struct view *view, bool back)
{
	struct lath_versions_cursor cursor;
	void *found;

	memset(view, 0, sizeof(*view));
	lath_versions_cursor_init(&cursor, &set, at);
	while (back ? lath_versions_cursor_prev(&cursor, &found)
		    : lath_versions_cursor_next(&cursor, &found)) {
		const struct record *record = found;

		view->number[record->key[8]][record->key[9]] = record->number;
	}
}

/* Returns whether the keys of a writer are as they were after change n. */
static bool is_after(const unsigned long *number, unsigned long n)
{
	unsigned long left = KEYS;
	bool seen[KEYS] = { false };

	/* the last change of each key, from n down */
	for (; n && left; n--) {
		unsigned long k = KEY_OF(n);

		if (seen[k])
			continue;
		seen[k] = true;
		left--;
		if (number[k] != (n % ERASES ? n : 0))
			return false;
	}
	for (unsigned long k = 0; k < KEYS; k++)
		if (!seen[k] && number[k])
			return false;
	return true;
}

/* Is it a moment of a writer between two of its changes? */
static void judge(const struct view *view, unsigned int writer, unsigned long first,
		  unsigned long last)
{
	unsigned long n;

	for (n = first; n <= last; n++)
		if (is_after(view->number[writer], n))
			return;
	FAULT("a snapshot shows no moment of writer %u from %lu to %lu\n", writer, first, last);
}

static void *read_some(void *arg)
{
	unsigned long i = (uintptr_t)arg;

	for (; __atomic_load_n(&done, __ATOMIC_SEQ_CST) < WRITERS; i++) {
		unsigned long first[WRITERS], last[WRITERS];
		struct lath_snapshot snapshot;
		struct view view, again;
		unsigned int w;

		for (w = 0; w < WRITERS; w++)
			first[w] = __atomic_load_n(&finished[w], __ATOMIC_SEQ_CST);
		lath_snapshot_take(&set, &snapshot);
		for (w = 0; w < WRITERS; w++)
			last[w] = __atomic_load_n(&begun[w], __ATOMIC_SEQ_CST);
		if (i % 2)
			look_by_get(&snapshot, &view);
		else
			look_by_cursor(&snapshot, &view, i % 4);
		for (w = 0; w < WRITERS; w++)
			judge(&view, w, first[w], last[w]);
		if (i % 2)
			look_by_cursor(&snapshot, &again, i % 4 == 1);
		else
			look_by_get(&snapshot, &again);
		if (memcmp(&view, &again, sizeof(view)))
			FAULT("a snapshot shows something else than before\n");
		lath_snapshot_release(&set, &snapshot);
		__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct lath_versions_records shape = { key_of, give_back, NULL,
					       offsetof(struct record, version), 0 };
	pthread_t thread[WRITERS + READERS];
	struct lath_versions_stats stats;
	char report[200];
	size_t i;

	if (argc > 1)
		changes = strtoul(argv[1], NULL, 0);
	if (getenv("LATH_LONG"))
		changes *= 20;
#ifdef LATH_FEW_STEPS
	changes /= 10;
#endif
	if (lath_versions_init(&set, &shape, NULL))
		return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&thread[i], NULL, i < WRITERS ? write_some : read_some,
				   (void *)i))
			return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	if (lath_versions_verify(&set, report, sizeof(report)))
		FAULT("%s\n", report);
	/* each callback judges some of what snapshots had needed */
	do {
		lath_rcu_auto.drain();
		lath_versions_get_stats(&set, &stats);
	} while (stats.older);
	for (i = 0; i < 3; i++)
		lath_rcu_auto.drain();
	if (stats.older || stats.snapshots || records != stats.keys)
		FAULT("%lu records of %lu keys, %lu older ones\n", records,
		      (unsigned long)stats.keys, (unsigned long)stats.older);
	lath_versions_fini(&set);
	if (records)
		FAULT("%lu records were not handed back\n", records);
	printf("%lu snapshots looked at, %lu faults\n", looks, faults);
	return faults || !looks;
}
