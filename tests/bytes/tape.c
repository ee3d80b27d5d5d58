/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. A set of byte keys against a sorted array of its records: every call is
 * compared with what the array says, and a cursor walks beside an index into it.
 */
#include "base/tape.h"

#include <stdlib.h>
#include <string.h>

#include "lathwork/bytes.h"

#define MOST 1500u
#define LONGEST 64u

struct record {
	uint64_t tag;
	uint8_t size;
	uint8_t data[LONGEST];
};

/* What keys of a tape look like: one of some beginnings, then up to `rest` bytes of an alphabet. */
struct space {
	const char *begin[4];
	uint8_t begin_size[4];
	uint8_t rest;
	const char *alphabet;
	uint8_t letters;
	uint64_t tags;
};

#define ALL_FF "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
#define LONG_BEGIN "a common beginning of forty bytes: 9876_"

static const struct space spaces[] = {
	/* zeros at the end and in between, ends at all places */
	{ { "", "", "a", "\0\0\0\0\0\0\0" }, { 0, 0, 1, 7 }, 20, "\0\0\0a", 4, 2 },
	{ { "", "12345678", "1234567812345678", LONG_BEGIN },
	  { 0, 8, 16, 40 },
	  9,
	  "xyz\xff",
	  4,
	  1 },
	{ { LONG_BEGIN, LONG_BEGIN, LONG_BEGIN, LONG_BEGIN },
	  { 40, 41, 33, 40 },
	  23,
	  "0123456789",
	  10,
	  1 },
	{ { "", "k", "key", "\xff\xff\xff\xff\xff\xff\xff\xff" },
	  { 0, 1, 3, 8 },
	  2,
	  "ab",
	  2,
	  65536 },
	{ { "", "", "", "" }, { 0, 0, 0, 0 }, 8, "\0\1\2\x7f\x80\xfe\xff", 7, 3 },
	/* the last slices there are, at each depth, and those right before them */
	{ { "", ALL_FF, ALL_FF, ALL_FF }, { 0, 8, 16, 7 }, 26, "\xff\xff\xff\xff\xff\xfe\0", 7, 3 },
};

#define SPACES (sizeof(spaces) / sizeof(spaces[0]))

static struct lath_bytes set;
static struct record pool[MOST + 1], *model[MOST], *spare[MOST + 1], probe;
static size_t count, spares;
static const struct space *space;
static bool descending, ranks;

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	if (ctx != &set)
		abort();
	key->data = record->data;
	key->size = record->size;
	key->tag = record->tag;
}

static struct lath_bytes_key as_key(const struct record *record)
{
	return (struct lath_bytes_key){ record->data, record->size, record->tag };
}

static uint64_t as_value(const struct record *record)
{
	return (uint64_t)(uintptr_t)record;
}

static void next_key(struct tape *tape, struct record *record)
{
	unsigned int which = next_byte(tape) % 4, rest = next_byte(tape) % (space->rest + 1u), i;

	record->size = space->begin_size[which];
	memcpy(record->data, space->begin[which], record->size);
	for (i = 0; i < rest && record->size < LONGEST; i++)
		record->data[record->size++] =
			(uint8_t)space->alphabet[next_byte(tape) % space->letters];
	record->tag = space->tags > 1 ? next_number(tape) % space->tags : 0;
	if (record->tag == 1)
		record->tag = ~0ull;
}

static int compare(const struct record *a, const struct record *b)
{
	int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

	if (c)
		return c;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->tag == b->tag)
		return 0;
	return (a->tag < b->tag) != descending ? -1 : 1;
}

/* The first record of the model at or behind a key; *equal: it has the key. */
static size_t position(const struct record *key, bool *equal)
{
	size_t i = 0, n = count;

	while (n) {
		size_t half = n / 2;
		bool right = compare(model[i + half], key) < 0;

		i = right ? i + half + 1 : i;
		n = right ? n - half - 1 : half;
	}
	*equal = i < count && !compare(model[i], key);
	return i;
}

static void some_key(struct tape *tape, struct record *record)
{
	uint64_t n = next_number(tape);

	if (count && n % 4)
		*record = *model[n * 0x9e3779b9u % count];
	else
		next_key(tape, record);
}

/* ---- changes ---- */

/* The record that was inserted, spare[spares - 1], belongs at position i. */
static void remember(size_t i)
{
	memmove(&model[i + 1], &model[i], (count - i) * sizeof(*model));
	model[i] = spare[--spares];
	count++;
}

static void forget(size_t i)
{
	spare[spares++] = model[i];
	memmove(&model[i], &model[i + 1], (count - i - 1) * sizeof(*model));
	count--;
}

static int play_insert(struct tape *tape, const struct record *key)
{
	uint64_t there = 0;
	struct record *record;
	bool equal;
	size_t i = position(key, &equal);
	int ret;

	if (count == MOST)
		return 0;
	record = spare[spares - 1];
	*record = *key;
	ret = lath_bytes_insert(&set, as_value(record), &there);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (equal ? -EEXIST : 0));
	EXPECT(tape, !equal || there == as_value(model[i]));
	if (!ret)
		remember(i);
	return 0;
}

/* Take the next key of a row. */
static void step(bool up)
{
	if (space->tags > 2)
		probe.tag += up ? 1 : ~0ull;
	else if (probe.size)
		probe.data[probe.size - 1] += up ? 1 : 255;
}

/* The next n keys of a row in one call. */
static int play_batch(struct tape *tape, size_t n, bool up)
{
	struct record *record[70];
	uint64_t values[70] = { 0 };
	int results[70];
	size_t inserted, good = 0, i, j;

	for (i = 0; i < n; i++) {
		step(up);
		record[i] = spare[spares - 1 - i];
		*record[i] = probe;
		values[i] = as_value(record[i]);
	}
	if (n > 2) {
		values[n / 2] = 0;
		if (n % 2) /* once more */
			*record[n - 1] = *record[0];
	}
	inserted = lath_bytes_insert_batch(&set, n, values, results);
	for (i = 0; i < n; i++) {
		bool equal;
		size_t at = position(record[i], &equal);

		if (!values[i])
			EXPECT(tape, results[i] == -EINVAL);
		if (!values[i] || failed(tape, results[i]))
			continue;
		EXPECT(tape, results[i] == (equal ? -EEXIST : 0));
		if (results[i])
			continue;
		for (j = spares; spare[--j] != record[i];)
			;
		spare[j] = spare[spares - 1];
		spare[spares - 1] = record[i];
		remember(at);
		good++;
	}
	EXPECT(tape, inserted == good);
	return 0;
}

/* Some in a row: tags or last bytes that go up or down. */
static int play_many(struct tape *tape)
{
	unsigned int n = next_byte(tape), how = next_byte(tape), ret = 0;

	next_key(tape, &probe);
	if (how & 2 && count + n % 71 <= MOST)
		return play_batch(tape, n % 71, how & 1);
	for (; n && !ret; n--) {
		step(how & 1);
		ret = (unsigned int)play_insert(tape, &probe);
	}
	return (int)ret;
}

static int play_erase(struct tape *tape)
{
	struct lath_bytes_key key;
	uint64_t old = 1;
	bool equal;
	size_t i;
	int ret;

	some_key(tape, &probe);
	key = as_key(&probe);
	i = position(&probe, &equal);
	ret = lath_bytes_erase(&set, &key, &old);
	EXPECT(tape, ret == (equal ? 0 : -ENOENT));
	EXPECT(tape, old == (equal ? as_value(model[i]) : 1));
	if (equal)
		forget(i);
	return 0;
}

static int play_erase_if(struct tape *tape)
{
	uint64_t there = 1, value = as_value(&probe);
	bool equal, same = next_byte(tape) % 2;
	size_t i;
	int ret;

	some_key(tape, &probe);
	i = position(&probe, &equal);
	if (equal && same)
		value = as_value(model[i]);
	ret = lath_bytes_erase_if(&set, value, &there);
	EXPECT(tape, ret == (!equal ? -ENOENT : same ? 0 : -EAGAIN));
	EXPECT(tape, there == (equal ? as_value(model[i]) : 1));
	if (!ret)
		forget(i);
	return 0;
}

static int play_replace(struct tape *tape)
{
	struct record *record = spare[spares - 1];
	uint64_t old = 1, how = next_byte(tape) % 3; /* 1, 2: if it is what we say */
	bool equal;
	size_t i;
	int ret;

	some_key(tape, record);
	i = position(record, &equal);
	if (!how)
		ret = lath_bytes_replace(&set, as_value(record), &old);
	else
		ret = lath_bytes_replace_if(&set, how == 1 && equal ? as_value(model[i]) : 4,
					    as_value(record), &old);
	EXPECT(tape, ret == (!equal ? -ENOENT : how == 2 ? -EAGAIN : 0));
	EXPECT(tape, old == (equal ? as_value(model[i]) : 1));
	if (ret)
		return 0;
	spare[spares - 1] = model[i];
	model[i] = record;
	return 0;
}

/* A look and the change that follows; again from the same look, which must say that something has
 * changed. */
static int put_at(struct tape *tape, const struct lath_bytes_place *place, struct record *record,
		  bool erase, size_t i)
{
	int ret = lath_bytes_put(&set, place, erase ? 0 : as_value(record));

	if (!place->value && failed(tape, ret))
		return 0;
	EXPECT(tape, !ret);
	ret = lath_bytes_put(&set, place, as_value(&probe));
	EXPECT(tape, ret == -EAGAIN || failed(tape, ret));
	if (erase) {
		forget(i);
	} else if (place->value) {
		spare[spares - 1] = model[i];
		model[i] = record;
	} else {
		remember(i);
	}
	return 0;
}

static int play_put(struct tape *tape)
{
	struct lath_bytes_place place;
	struct record *record = spare[spares - 1];
	struct lath_bytes_key key;
	bool equal, erase = next_byte(tape) % 2;
	int found, ret = 0;
	size_t i;

	some_key(tape, &probe);
	*record = probe;
	key = as_key(&probe);
	i = position(&probe, &equal);
	lath_rcu_auto.read_lock();
	found = lath_bytes_find(&set, &key, &place);
	if (found == equal && place.value == (equal ? as_value(model[i]) : 0)) {
		if (equal || count < MOST)
			ret = put_at(tape, &place, record, equal && erase, i);
		else
			ret = lath_bytes_put(&set, &place, 0) != -EINVAL;
	} else {
		ret = 1;
	}
	lath_rcu_auto.read_unlock();
	EXPECT(tape, !ret);
	return 0;
}

static int play_misuse(struct tape *tape)
{
	struct lath_bytes_place place = { { 0 }, 0 };

	EXPECT(tape, lath_bytes_put(&set, &place, 0) == -EINVAL);
	EXPECT(tape, lath_bytes_put(&set, &place, 2) == -EINVAL);
	EXPECT(tape, lath_bytes_insert(&set, 0, NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_insert(&set, as_value(&probe) + 1, NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_replace(&set, 0, NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_replace_if(&set, 4, 2, NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_replace_if(&set, 0, as_value(&probe), NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_replace_if(&set, 7, as_value(&probe), NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_erase_if(&set, 0, NULL) == -EINVAL);
	EXPECT(tape, lath_bytes_erase_if(&set, 7, NULL) == -EINVAL);
	return 0;
}

static void count_down(void *arg, uint64_t value)
{
	(void)value;
	--*(size_t *)arg;
}

static int play_clear(struct tape *tape)
{
	size_t left = count;

	if (next_byte(tape) > 60)
		return 0;
	lath_bytes_clear(&set, count_down, &left);
	EXPECT(tape, !left && lath_bytes_trees(&set) == 1);
	while (count)
		forget(count - 1);
	return 0;
}

/* ---- reads ---- */

/* Has the record the bytes of `probe`? */
static bool is_same(const struct record *record)
{
	return record->size == probe.size && !memcmp(record->data, probe.data, probe.size);
}

/* Of each key the first version at or behind its tag, in one direction. */
static int first_versions(struct tape *tape, size_t n, const struct lath_bytes_key *keys,
			  const struct record *record)
{
	unsigned int flags = next_byte(tape) % 4;
	bool back = flags & LATH_BYTES_BACK;
	uint64_t values[40], expected[40];
	size_t i, hits = 0;

	for (i = 0; i < n; i++) {
		bool equal;
		size_t at = position(&record[i], &equal);

		/* at: of the record behind the one that is wanted, if that is before */
		at += equal && back == !(flags & LATH_BYTES_BEHIND);
		at -= back;
		probe = record[i];
		equal = at < count && is_same(model[at]);
		expected[i] = equal ? as_value(model[at]) : 0;
		hits += equal;
	}
	EXPECT(tape, lath_bytes_first_batch(&set, n, keys, flags, values) == hits);
	EXPECT(tape, !memcmp(values, expected, n * sizeof(*values)));
	return 0;
}

static int play_get(struct tape *tape)
{
	struct lath_bytes_key keys[40] = { 0 };
	static struct record record[40];
	uint64_t values[40], expected[40];
	size_t n = next_byte(tape) % 40, i, hits = 0;

	for (i = 0; i < n; i++) {
		bool equal;
		size_t at;

		some_key(tape, &record[i]);
		keys[i] = as_key(&record[i]);
		at = position(&record[i], &equal);
		expected[i] = equal ? as_value(model[at]) : 0;
		hits += equal;
		values[0] = 0;
		EXPECT(tape, lath_bytes_get(&set, &keys[i], values) == equal);
		EXPECT(tape, values[0] == expected[i]);
	}
	EXPECT(tape, lath_bytes_get_batch(&set, n, keys, values) == hits);
	EXPECT(tape, !memcmp(values, expected, n * sizeof(*values)));
	return first_versions(tape, n, keys, record);
}

static int play_near(struct tape *tape)
{
	struct lath_bytes_key key;
	uint64_t value = 1;
	bool equal;
	size_t i;

	some_key(tape, &probe);
	key = as_key(&probe);
	i = position(&probe, &equal);
	EXPECT(tape, lath_bytes_ceiling(&set, &key, &value) == (i < count ? 0 : -ENOENT));
	EXPECT(tape, value == (i < count ? as_value(model[i]) : 1));
	value = 1;
	i += equal;
	EXPECT(tape, lath_bytes_floor(&set, &key, &value) == (i ? 0 : -ENOENT));
	EXPECT(tape, value == (i ? as_value(model[i - 1]) : 1));
	return 0;
}

static int play_ranks(struct tape *tape)
{
	struct lath_bytes_key key;
	uint64_t value = 1, at;
	bool equal;
	size_t i;

	some_key(tape, &probe);
	key = as_key(&probe);
	i = position(&probe, &equal);
	at = next_number(tape) % (MOST + 2);
	if (next_byte(tape) % 4)
		at = count ? at % count : 0;
	if (!ranks) {
		EXPECT(tape, lath_bytes_rank(&set, &key, 0) == -EINVAL);
		EXPECT(tape, lath_bytes_select(&set, 0, &value) == -EINVAL && value == 1);
		return 0;
	}
	EXPECT(tape, lath_bytes_rank(&set, &key, 0) == (int64_t)i);
	EXPECT(tape, lath_bytes_rank(&set, &key, LATH_BYTES_BEHIND) == (int64_t)(i + equal));
	EXPECT(tape, lath_bytes_rank(&set, &key, LATH_BYTES_BACK) == -EINVAL);
	EXPECT(tape, lath_bytes_select(&set, at, &value) == (at < count ? 0 : -ENOENT));
	EXPECT(tape, value == (at < count ? as_value(model[at]) : 1));
	EXPECT(tape, lath_bytes_count(&set) == count);
	return 0;
}

static int play_scan(struct tape *tape)
{
	unsigned int flags = next_byte(tape) % 8, most = next_byte(tape) % 70;
	bool back = flags & LATH_BYTES_BACK, equal = false, begin = next_byte(tape) < 20;
	struct lath_bytes_key key;
	uint64_t values[70] = { 0 };
	size_t i, there, n;

	some_key(tape, &probe);
	key = as_key(&probe);
	i = begin ? back ? count : 0 : position(&probe, &equal);
	if (equal && back == !(flags & LATH_BYTES_BEHIND)) /* it comes before i, or is left out */
		i++;
	there = back ? i : count - i;
	there = there < most ? there : most;
	if (!begin && flags & LATH_BYTES_SAME)
		for (n = 0; n < there; n++)
			if (!is_same(model[back ? i - 1 - n : i + n]))
				there = n;
	EXPECT(tape, lath_bytes_scan(&set, begin ? NULL : &key, flags, values, most) == there);
	for (n = 0; n < there; n++)
		EXPECT(tape, values[n] == as_value(model[back ? i - 1 - n : i + n]));
	return 0;
}

/* One step of a cursor that is at the model's record at - 1 (0: nowhere) of [low, high). */
static int play_step(struct tape *tape, struct lath_bytes_cursor *cursor, bool back, size_t low,
		     size_t high, size_t *at)
{
	size_t to = *at ? *at - 1 + (back ? ~(size_t)0 : 1) : back ? high - 1 : low;
	bool there = low < high && to >= low && to < high;
	uint64_t value = 1;
	int ret = back ? lath_bytes_cursor_prev(cursor, &value)
		       : lath_bytes_cursor_next(cursor, &value);

	EXPECT(tape, ret == there);
	EXPECT(tape, value == (there ? as_value(model[to]) : 1));
	if (there)
		*at = to + 1;
	return 0;
}

static int play_seek(struct tape *tape, struct lath_bytes_cursor *cursor, bool floor, size_t low,
		     size_t high, size_t *at)
{
	struct lath_bytes_key key = as_key(&probe);
	uint64_t value = 1;
	bool equal, there;
	size_t i = position(&probe, &equal);
	int ret;

	if (floor) {
		i += equal;
		there = low < high && i > low;
		i--;
		ret = lath_bytes_cursor_seek_floor(cursor, &key, &value);
	} else {
		there = low < high && i < high;
		ret = lath_bytes_cursor_seek(cursor, &key, &value);
	}
	EXPECT(tape, ret == there);
	EXPECT(tape, value == (there ? as_value(model[i]) : 1));
	if (there)
		*at = i + 1;
	return 0;
}

static bool begins(const struct record *record, const struct record *prefix)
{
	return record->size >= prefix->size && !memcmp(record->data, prefix->data, prefix->size);
}

static int play_cursor(struct tape *tape)
{
	unsigned int steps = next_byte(tape), way = next_byte(tape);
	size_t low = 0, high = count, at = 0;
	struct lath_bytes_cursor cursor;
	struct record prefix;
	int ret = 0;

	some_key(tape, &prefix);
	probe = prefix;
	if (way % 2) {
		prefix.size = way % 4 == 1 && prefix.size ? prefix.size - 1 : prefix.size / 2;
		while (low < count && !begins(model[low], &prefix))
			low++;
		for (high = low; high < count && begins(model[high], &prefix);)
			high++;
		lath_bytes_cursor_init_prefix(&cursor, &set, prefix.data, prefix.size);
	} else {
		lath_bytes_cursor_init(&cursor, &set);
	}
	if (way % 8 > 3)
		ret = play_seek(tape, &cursor, way / 8 % 2, low, high, &at);
	for (; steps && !ret; steps--) { /* mostly in one direction */
		unsigned int turn = next_byte(tape);

		if (turn > 250)
			ret = play_seek(tape, &cursor, turn % 2, low, high, &at);
		else
			ret = play_step(tape, &cursor, (turn < 20) != (way / 16 % 2), low, high,
					&at);
	}
	return ret;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	if (op < 90) {
		next_key(tape, &probe);
		PLAY("insert", play_insert(tape, &probe));
	}
	PLAY_BELOW(110, "insert many", play_many(tape));
	PLAY_BELOW(150, "erase", play_erase(tape));
	PLAY_BELOW(160, "erase if", play_erase_if(tape));
	PLAY_BELOW(175, "replace", play_replace(tape));
	PLAY_BELOW(190, "find, put", play_put(tape));
	PLAY_BELOW(200, "get", play_get(tape));
	PLAY_BELOW(213, "ceiling, floor", play_near(tape));
	PLAY_BELOW(225, "scan", play_scan(tape));
	PLAY_BELOW(245, "cursor", play_cursor(tape));
	PLAY_BELOW(253, "rank, select, count", play_ranks(tape));
	PLAY_BELOW(254, "clear", play_clear(tape));
	PLAY("misuse", play_misuse(tape));
}

static int check(struct tape *tape)
{
	struct lath_bytes_stats stats;
	char report[200] = "";

	if (lath_bytes_verify(&set, report, sizeof(report)))
		fprintf(stderr, "%s\n", report);
	EXPECT(tape, !*report);
	EXPECT(tape, lath_bytes_count(&set) == count);
	lath_bytes_get_stats(&set, &stats);
	EXPECT(tape, stats.items == count && stats.bytes >= sizeof(set));
	EXPECT(tape, stats.arrayed >= 2 * stats.arrays);
	EXPECT(tape, stats.trees == lath_bytes_trees(&set));
	return 0;
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)((failing ? 1 : i % 2) | (i / 2 % 2) << 1 | (i / 3 % 2) << 2);
	bytes[1] = (uint8_t)(i % SPACES);
}

const struct tape_plan tape_plan = { 300, 6000, 12, 2500, begin, NULL, NULL };

int tape_run(struct tape *tape)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_bytes_records records = { key_of, &set, 0 };
	uint8_t kind = next_byte(tape);
	size_t left;
	int ret;

	ranks = kind / 4 % 2;
	config.flags = (kind % 2 ? LATH_NODE_EACH : 0) | (ranks ? LATH_RANKS : 0);
	config.allocator = tape->allocator;
	descending = kind / 2 % 2;
	records.flags = descending ? LATH_BYTES_DESCENDING : 0;
	space = &spaces[next_byte(tape) % SPACES];
	count = 0;
	for (spares = 0; spares <= MOST; spares++)
		spare[spares] = &pool[MOST - spares];
	tape->call = "init";
	ret = lath_bytes_init(&set, &records, &config);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, !ret);
	ret = tape_play(tape, play_one, check);
	left = count;
	lath_bytes_fini(&set, count_down, &left);
	tape->call = "fini";
	EXPECT(tape, ret || !left);
	return ret;
}
