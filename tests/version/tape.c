/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. A set with snapshots against arrays: one of the record that each key
 * has now, and one for each snapshot that is held. A record that was handed back is poisoned, so
 * that nobody finds it, and freed.
 */
#include "base/tape.h"

#include <stdlib.h>
#include <string.h>

#include "lathwork/versions.h"

#define KEYS 300u
#define SNAPSHOTS 7u
#define ALIVE 0x6c61746877u

struct record {
	uint32_t point; /* of keys[] */
	struct lath_version version;
	uint64_t alive;
};

struct key {
	uint64_t tag;
	uint8_t size;
	uint8_t data[30];
};

/* All keys of a tape, in order, and what each of them has. */
static struct key keys[KEYS];
typedef struct record *content[KEYS];
static content present;
static struct held {
	struct lath_snapshot snapshot;
	content shown;
} held[SNAPSHOTS];
static unsigned int snapshots;

static struct lath_versions set;
static const struct lath_rcu *rcu;
static bool descending;
static unsigned long outstanding; /* records that the set has; changed atomically */

static unsigned long unreturned(void)
{
	return __atomic_load_n(&outstanding, __ATOMIC_SEQ_CST);
}

static struct lath_bytes_key as_key(const struct key *key)
{
	return (struct lath_bytes_key){ key->data, key->size, key->tag };
}

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	if (ctx != &set || record->alive != ALIVE)
		abort();
	*key = as_key(&keys[record->point]);
}

static void give_back(void *ctx, void *memory)
{
	struct record *record = memory;

	if (ctx != &set || record->alive != ALIVE)
		abort();
	record->alive = 0;
	__atomic_fetch_sub(&outstanding, 1, __ATOMIC_SEQ_CST); /* in the thread of the flavour */
	free(record);
}

static int compare(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

	if (c)
		return c;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->tag == b->tag)
		return 0;
	return (a->tag < b->tag) != descending ? -1 : 1;
}

/* Kinds of keys: numbers of two bytes; behind a common beginning, of one to three bytes; versions
 * of one key and of a few. */
static void make_keys(unsigned int kind)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		struct key *key = &keys[i];
		unsigned int begin = kind == 1 ? 20 : 0;

		memset(key, 0, sizeof(*key));
		memset(key->data, 'b', begin);
		key->size = (uint8_t)begin;
		if (kind == 2 || (kind == 3 && i % 2)) {
			key->tag = i;
			key->data[key->size++] = (uint8_t)(kind == 3 ? i % 8 : 0);
			continue;
		}
		key->data[key->size++] = (uint8_t)(i >> 5);
		if (kind != 1 || i % 32)
			key->data[key->size++] = (uint8_t)((i & 31) << 3);
		if (kind == 3)
			key->data[key->size++] = 0;
	}
	qsort(keys, KEYS, sizeof(*keys), compare);
}

static unsigned int some_point(struct tape *tape)
{
	return (unsigned int)next_number(tape) % KEYS;
}

/* A snapshot that is held, or the present. */
static struct record **some_time(struct tape *tape, const struct lath_snapshot **at)
{
	unsigned int i = next_byte(tape) % (snapshots + 1);

	*at = i < snapshots ? &held[i].snapshot : NULL;
	return i < snapshots ? held[i].shown : present;
}

/* ---- changes ---- */

static struct record *new_record(unsigned int point)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record)
		abort();
	memset(&record->version, 0xa5, sizeof(record->version));
	record->point = point;
	record->alive = ALIVE;
	return record;
}

static int play_write(struct tape *tape)
{
	unsigned int how = next_byte(tape) % 5, point = some_point(tape);
	struct record *record = new_record(point), *before = present[point];
	bool expected = next_byte(tape) % 4;
	void *there = &set;
	int ret, wanted = 0;

	if (how < 2) {
		ret = lath_versions_put(&set, record, &there);
	} else if (how == 2) {
		ret = lath_versions_insert(&set, record, &there);
		wanted = before ? -EEXIST : 0;
	} else if (how == 3) {
		ret = lath_versions_replace(&set, record, &there);
		wanted = before ? 0 : -ENOENT;
	} else {
		ret = lath_versions_replace_if(&set, expected && before ? before : record, record,
					       &there);
		wanted = !before ? -ENOENT : expected ? 0 : -EAGAIN;
	}
	if (ret)
		free(record);
	if (failed(tape, ret)) {
		EXPECT(tape, !before);
		return 0;
	}
	EXPECT(tape, ret == wanted);
	if (before)
		EXPECT(tape, there == before);
	else
		EXPECT(tape, there == (how < 2 ? NULL : (void *)&set));
	if (ret)
		return 0;
	present[point] = record;
	__atomic_fetch_add(&outstanding, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int play_erase(struct tape *tape)
{
	unsigned int how = next_byte(tape) % 3, point = some_point(tape);
	struct record *before = present[point], *other = new_record(point);
	struct lath_bytes_key key = as_key(&keys[point]);
	void *there = &set;
	int ret, wanted = before ? 0 : -ENOENT;

	if (how == 0) {
		ret = lath_versions_erase(&set, &key, &there);
	} else {
		ret = lath_versions_erase_if(&set, how == 1 && before ? before : other, &there);
		if (before && how == 2)
			wanted = -EAGAIN;
	}
	free(other);
	EXPECT(tape, ret == wanted);
	EXPECT(tape, there == (before ? before : (void *)&set));
	if (!ret)
		present[point] = NULL;
	return 0;
}

/* A row of keys is erased or put. */
static int play_many(struct tape *tape)
{
	unsigned int point = some_point(tape), n = next_byte(tape), i;
	bool erase = next_byte(tape) % 2;
	int ret;

	for (i = point; i < KEYS && i < point + n; i++) {
		struct lath_bytes_key key = as_key(&keys[i]);
		struct record *record;

		if (erase) {
			ret = lath_versions_erase(&set, &key, NULL);
			EXPECT(tape, ret == (present[i] ? 0 : -ENOENT));
			present[i] = NULL;
			continue;
		}
		record = new_record(i);
		ret = lath_versions_put(&set, record, NULL);
		if (ret)
			free(record);
		if (failed(tape, ret))
			return 0;
		EXPECT(tape, !ret);
		present[i] = record;
		__atomic_fetch_add(&outstanding, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static int play_misuse(struct tape *tape)
{
	EXPECT(tape, lath_versions_put(&set, NULL, NULL) == -EINVAL);
	EXPECT(tape, lath_versions_insert(&set, (char *)&set + 4, NULL) == -EINVAL);
	EXPECT(tape, lath_versions_replace_if(&set, NULL, &set, NULL) == -EINVAL);
	EXPECT(tape, lath_versions_erase_if(&set, NULL, NULL) == -EINVAL);
	EXPECT(tape, lath_versions_erase_if(&set, (char *)&set + 1, NULL) == -EINVAL);
	return 0;
}

/* ---- snapshots ---- */

static int play_take(struct tape *tape)
{
	(void)tape;
	if (snapshots == SNAPSHOTS)
		return 0;
	lath_snapshot_take(&set, &held[snapshots].snapshot);
	memcpy(held[snapshots].shown, present, sizeof(present));
	snapshots++;
	return 0;
}

/* Snapshots stay where they are as long as they are held, so the last one is given back, or one
 * that is taken again at once. */
static int play_release(struct tape *tape)
{
	unsigned int i = next_byte(tape);

	if (!snapshots)
		return 0;
	if (i % 2) {
		lath_snapshot_release(&set, &held[--snapshots].snapshot);
		return 0;
	}
	i = i / 2 % snapshots;
	lath_snapshot_release(&set, &held[i].snapshot);
	lath_snapshot_take(&set, &held[i].snapshot);
	memcpy(held[i].shown, present, sizeof(present));
	return 0;
}

/* ---- reads ---- */

static int play_get(struct tape *tape)
{
	const struct lath_snapshot *at;
	struct record **shown = some_time(tape, &at);
	unsigned int point = some_point(tape), i;

	for (i = point; i < KEYS && i < point + 5; i++) {
		struct lath_bytes_key key = as_key(&keys[i]);
		void *found = &set;

		EXPECT(tape, lath_versions_get(&set, at, &key, &found) == (shown[i] != NULL));
		EXPECT(tape, found == (shown[i] ? shown[i] : (void *)&set));
	}
	return 0;
}

/* Returns the next key from i on that has a record and, with `same`, the bytes of key `like`; KEYS:
 * there is none. */
static unsigned int next_shown(struct record **shown, unsigned int i, bool back, bool same,
			       unsigned int like)
{
	for (; i < KEYS; i += back ? ~0u : 1) {
		if (same && (keys[i].size != keys[like].size ||
			     memcmp(keys[i].data, keys[like].data, keys[i].size)))
			return KEYS;
		if (shown[i])
			return i;
	}
	return KEYS;
}

static int play_scan(struct tape *tape)
{
	const struct lath_snapshot *at;
	struct record **shown = some_time(tape, &at);
	unsigned int flags = next_byte(tape) % 8, point = some_point(tape), i = point;
	bool begin = next_byte(tape) < 30, back = flags & LATH_BYTES_BACK;
	size_t most = next_byte(tape) % 100, n, got;
	struct lath_bytes_key key = as_key(&keys[point]);
	void *records[100];

	got = lath_versions_scan(&set, at, begin ? NULL : &key, flags, records, most);
	if (begin)
		i = back ? KEYS - 1 : 0;
	else if (flags & LATH_BYTES_BEHIND)
		i += back ? ~0u : 1;
	for (n = 0; n < most; n++) {
		i = next_shown(shown, i, back, !begin && flags & LATH_BYTES_SAME, point);
		if (i == KEYS)
			break;
		EXPECT(tape, n < got && records[n] == shown[i]);
		i += back ? ~0u : 1;
	}
	EXPECT(tape, got == n);
	return 0;
}

/* Has the key all bytes of the other one but the last? */
static bool begins(const struct key *key, const struct lath_bytes_key *other)
{
	return key->size >= other->size - 1 && !memcmp(key->data, other->data, other->size - 1);
}

static int play_cursor(struct tape *tape)
{
	const struct lath_snapshot *at;
	struct record **shown = some_time(tape, &at);
	unsigned int steps = next_byte(tape), low = 0, high = KEYS, on = KEYS, to;
	unsigned int point = some_point(tape);
	struct lath_versions_cursor cursor;
	struct lath_bytes_key key = as_key(&keys[point]);
	bool prefix = next_byte(tape) % 2 && key.size;
	void *found = NULL;
	int ret;

	if (prefix) {
		while (!begins(&keys[low], &key))
			low++;
		while (!begins(&keys[high - 1], &key))
			high--;
		lath_versions_cursor_init_prefix(&cursor, &set, at, key.data, key.size - 1);
	} else {
		lath_versions_cursor_init(&cursor, &set, at);
	}
	for (; steps; steps--) {
		unsigned int turn = next_byte(tape);
		bool back = (turn < 20) != (steps % 64 > 50);

		if (turn > 245) {
			point = low + (unsigned int)next_byte(tape) % (high - low);
			key = as_key(&keys[point]);
			to = point;
			ret = back ? lath_versions_cursor_seek_floor(&cursor, &key, &found)
				   : lath_versions_cursor_seek(&cursor, &key, &found);
		} else {
			to = on == KEYS ? back ? high - 1 : low : on + (back ? ~0u : 1);
			ret = back ? lath_versions_cursor_prev(&cursor, &found)
				   : lath_versions_cursor_next(&cursor, &found);
		}
		to = next_shown(shown, to, back, false, 0);
		if (to < low || to >= high)
			to = KEYS;
		EXPECT(tape, ret == (to != KEYS));
		if (to != KEYS) {
			EXPECT(tape, found == shown[to]);
			on = to;
		}
	}
	return 0;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	if (op < 90)
		PLAY("insert, put, replace", play_write(tape));
	if (op < 140)
		PLAY("erase", play_erase(tape));
	if (op < 150)
		PLAY("many", play_many(tape));
	if (op < 170)
		PLAY("take", play_take(tape));
	if (op < 190)
		PLAY("release", play_release(tape));
	if (op < 205)
		PLAY("get", play_get(tape));
	if (op < 220)
		PLAY("scan", play_scan(tape));
	if (op < 240)
		PLAY("cursor", play_cursor(tape));
	if (op < 254) {
		if (rcu == &lath_rcu_single)
			lath_rcu_single_step(op);
		return 0;
	}
	PLAY("misuse", play_misuse(tape));
}

static int check(struct tape *tape)
{
	struct lath_versions_stats stats;
	unsigned long now = 0, shown = 0, then, most;
	unsigned int i, k;
	char report[200] = "";

	if (lath_versions_verify(&set, report, sizeof(report)))
		fprintf(stderr, "%s\n", report);
	EXPECT(tape, !*report);
	for (i = 0; i < KEYS; i++)
		now += present[i] != NULL;
	EXPECT(tape, lath_versions_count(&set, NULL) == now);
	for (k = 0; k < snapshots; k++) {
		for (then = 0, i = 0; i < KEYS; i++)
			then += held[k].shown[i] != NULL;
		EXPECT(tape, lath_versions_count(&set, &held[k].snapshot) == then);
		shown += then;
	}
	/* What nobody shows is judged, leaves with those that wait for the next grace period, and
	 * is handed back: a drain waits for the callbacks of one of these. */
	k = 0;
	do {
		rcu->drain();
		lath_versions_get_stats(&set, &stats);
		most = snapshots * stats.keys + (snapshots ? stats.keys - now : 0);
	} while ((unreturned() != now + stats.older || stats.older > most) && ++k < 1000);
	EXPECT(tape, stats.snapshots == snapshots && stats.bytes >= sizeof(set));
	EXPECT(tape, unreturned() == now + stats.older);
	EXPECT(tape, shown <= snapshots * stats.keys);
	/* one for each snapshot, and the last one of a key that was erased */
	EXPECT(tape, stats.older <= most);
	return 0;
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)((failing ? 1 : i % 2) | (i / 2 % 2) << 1 | (i / 3 % 2) << 2);
	bytes[1] = (uint8_t)(i % 4);
}

const struct tape_plan tape_plan = { 300, 5000, 12, 2500, begin, NULL };

int tape_run(struct tape *tape)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_versions_records records = { key_of, give_back, &set,
						 offsetof(struct record, version), 0 };
	uint8_t kind = next_byte(tape);
	int ret;

	config.flags = kind % 2 ? LATH_NODE_EACH : 0;
	config.allocator = tape->allocator;
	descending = kind / 2 % 2;
	rcu = kind / 4 % 2 ? &lath_rcu_auto : &lath_rcu_single;
	config.rcu = rcu;
	records.flags = descending ? LATH_BYTES_DESCENDING : 0;
	make_keys(next_byte(tape) % 4);
	memset(present, 0, sizeof(present));
	outstanding = snapshots = 0;
	tape->call = "init";
	ret = lath_versions_init(&set, &records, &config);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, !ret);
	ret = tape_play(tape, play_one, check);
	while (snapshots)
		lath_snapshot_release(&set, &held[--snapshots].snapshot);
	lath_versions_fini(&set);
	tape->call = "fini";
	EXPECT(tape, ret || !unreturned());
	return ret;
}
