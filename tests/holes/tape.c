/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see tape.h. Erases, cuts and stores of every kind must raise the bounds that searches go
 * by.
 */
#include "base/tape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork/cursor.h"
#include "base/oracle.h"
#include "index/block/node.h"

/* Where the requests of a tape lie: `units` units of `unit` keys from `low` on. */
struct space {
	uint64_t low, unit, units;
};

static const struct space spaces[] = {
	{ 0, 1, 1200 },			  /* from the first key on */
	{ ~0ull - 1499, 1, 1500 },	  /* up to the last */
	{ 4096, 4096, 1000 },		  /* pages, page 0 left out */
	{ (1ull << 32) - 700, 1, 1400 },  /* about the 32-bit line */
	{ 0, 1ull << 54, 1024 },	  /* the whole key space, huge units */
	{ 12345, 3, 900 },		  /* nothing is aligned */
	{ 1ull << 40, 1ull << 21, 4000 }, /* many leaves */
};

struct tape {
	const uint8_t *at, *end;
	const struct tape_options *options;
	struct lath_index list;
	struct oracle oracle;
	const struct space *space;
	uint64_t serial;
	const char *call;
	struct lath_hole_request want;
};

static int differs(const struct tape *tape, const char *what, int line)
{
	const struct lath_hole_request *w = &tape->want;

	fprintf(stderr,
		"hole tape: %s: not so: %s (tape.c:%d)\n  last request: size %#" PRIx64
		" align %#" PRIx64 " in [%#" PRIx64 ", %#" PRIx64 ") below %#" PRIx64
		" hint %#" PRIx64 " policy %d, %zu items\n",
		tape->call, what, line, w->size, w->align, w->low, w->high, w->below, w->hint,
		(int)w->policy, tape->oracle.count);
	return -1;
}

#define EXPECT(tape, condition)                                     \
	do {                                                        \
		if (!(condition))                                   \
			return differs(tape, #condition, __LINE__); \
	} while (0)

static uint8_t next_byte(struct tape *tape)
{
	return tape->at < tape->end ? *tape->at++ : 0;
}

static uint64_t next_number(struct tape *tape)
{
	uint64_t low = next_byte(tape);

	return low | (uint64_t)next_byte(tape) << 8;
}

static uint64_t next_key(struct tape *tape)
{
	uint64_t n = next_number(tape);

	return tape->space->low + n % tape->space->units * tape->space->unit;
}

/* Mostly a few units, rarely many. */
static uint64_t next_units(struct tape *tape)
{
	uint64_t n = next_byte(tape);

	if (n < 150)
		return n % 4 + 1;
	if (n < 240)
		return n % 32 + 1;
	return 1ull << (n - 240) % 11;
}

static uint64_t end_of_space(const struct tape *tape)
{
	return tape->space->low + tape->space->units * tape->space->unit; /* 0 is 2^64 */
}

static struct lath_hole_request next_request(struct tape *tape)
{
	uint64_t kind = next_byte(tape), end = end_of_space(tape), a, b;
	struct lath_hole_request want = { .size = next_units(tape) * tape->space->unit,
					  .low = tape->space->low };

	want.high = end;
	want.policy = (enum lath_hole_policy)(next_byte(tape) % 6);
	want.hint = next_key(tape);
	if (kind % 4 == 1) /* size aligned, as DMA asks for */
		for (want.align = 1; want.align < want.size; want.align *= 2)
			;
	else if (kind % 4 == 2)
		want.align = tape->space->unit * (1ull << next_byte(tape) % 10);
	if (want.align & (want.align - 1))
		want.align = 1ull << next_byte(tape) % 10;
	if (want.policy == LATH_HOLE_EXACT && want.align && kind % 8 != 1)
		want.hint &= ~(want.align - 1);
	if (kind % 16 >= 12) { /* limits of its own */
		a = next_key(tape);
		b = next_key(tape);
		want.low = a < b ? a : b;
		want.high = (a < b ? b : a) + tape->space->unit * (kind / 16 % 2);
	}
	if (kind % 32 == 7) /* no limits: the room around the space is found as well */
		want.low = want.high = 0;
	if (kind % 8 == 5)
		want.below = next_key(tape);
	if (kind == 255)
		want.size = 0;
	if (kind == 254)
		want.align = 6;
	if (kind == 253)
		want.size = ~0ull - next_byte(tape);
	tape->want = want;
	return want;
}

/* Did the call run out of memory where it may? Then it changed nothing, and there is nothing to
 * compare. */
static bool failed(const struct tape *tape, int ret)
{
	return ret == -ENOMEM && tape->options->may_fail;
}

static bool full(const struct tape *tape)
{
	return tape->oracle.count > ORACLE_MAX - 64;
}

static int play_find(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);
	uint64_t key = 0, best = 0;
	int ret = lath_index_find_hole(&tape->list, &want, &key);

	EXPECT(tape, ret == oracle_find(&tape->oracle, &want, &best));
	EXPECT(tape, ret || oracle_accepts(&tape->oracle, &want, key));
	return 0;
}

static int insert_hole(struct tape *tape, const struct lath_hole_request *want)
{
	struct lath_item item = { 0, want->size, ++tape->serial };
	uint64_t best = 0;
	int expected = oracle_find(&tape->oracle, want, &best);
	int ret = lath_index_insert_hole(&tape->list, want, item.value, &item.key);

	if (failed(tape, ret))
		return ret;
	EXPECT(tape, ret == expected);
	if (ret)
		return ret;
	EXPECT(tape, oracle_accepts(&tape->oracle, want, item.key));
	oracle_insert(&tape->oracle, item);
	return 0;
}

static int play_insert_hole(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);

	return !full(tape) && insert_hole(tape, &want) == -1 ? -1 : 0;
}

/* One request again and again, until there is no more room for it. */
static int play_fill(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);
	int ret = 0;

	if (want.policy == LATH_HOLE_EXACT || want.size < tape->space->unit)
		return 0;
	want.low = tape->space->low;
	want.high = end_of_space(tape);
	while (!full(tape) && !ret)
		ret = insert_hole(tape, &want);
	return ret == -1 ? -1 : 0;
}

static size_t some_item(struct tape *tape)
{
	return next_number(tape) * 0x9e3779b9u % tape->oracle.count;
}

static int play_erase(struct tape *tape, int how)
{
	uint64_t keys[24];
	int results[24];
	struct lath_item old;
	size_t i, n = 1;

	if (!tape->oracle.count)
		return 0;
	i = some_item(tape);
	keys[0] = tape->oracle.item[i].key;
	if (how == 0) {
		EXPECT(tape, lath_index_erase_item(&tape->list, keys[0], &old) == 0);
	} else if (how == 1) {
		EXPECT(tape, lath_index_erase_item_at(
				     &tape->list, oracle_last(&tape->oracle.item[i]), &old) == 0);
	} else if (how == 2) {
		EXPECT(tape, lath_index_erase_if(&tape->list, keys[0], tape->oracle.item[i].value,
						 &old) == 0);
	} else if (how == 3) {
		struct lath_cursor cursor;
		int ret;

		lath_cursor_init(&cursor, &tape->list);
		ret = lath_cursor_lock(&cursor, keys[0], NULL, NULL);
		if (failed(tape, ret))
			return 0;
		EXPECT(tape, ret == 0 && lath_cursor_erase(&cursor, keys[0], &old) == 0);
	} else {
		n = next_byte(tape) % 24 + 1u;
		if (n > tape->oracle.count - i)
			n = tape->oracle.count - i;
		for (size_t k = 0; k < n; k++)
			keys[k] = tape->oracle.item[i + k].key;
		EXPECT(tape, lath_index_erase_batch(&tape->list, n, keys, results) == n);
	}
	while (n--)
		oracle_remove(&tape->oracle, i);
	return 0;
}

static int play_insert(struct tape *tape)
{
	struct lath_item item = { next_key(tape), next_units(tape) * tape->space->unit,
				  ++tape->serial };
	int ret, expected = -EEXIST;

	if (full(tape) || item.size - 1 > ~0ull - item.key)
		return 0;
	if (oracle_is_free(&tape->oracle, item.key, item.size))
		expected = 0;
	ret = lath_index_insert_item(&tape->list, &item, NULL);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == expected);
	if (!ret)
		oracle_insert(&tape->oracle, item);
	return 0;
}

static int play_resize(struct tape *tape)
{
	struct lath_item *there;
	uint64_t size, rest;
	int ret;

	if (!tape->oracle.count)
		return 0;
	there = &tape->oracle.item[some_item(tape)];
	size = next_units(tape) * tape->space->unit;
	if (size - 1 > ~0ull - there->key)
		return 0;
	rest = size > there->size ? size - there->size : 0;
	ret = lath_index_resize(&tape->list, there->key, size);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (rest && !oracle_is_free(&tape->oracle, oracle_last(there) + 1, rest)
				     ? -EEXIST
				     : 0));
	if (!ret)
		there->size = size;
	return 0;
}

static int play_split(struct tape *tape)
{
	uint64_t at = next_key(tape);
	size_t i = oracle_at(&tape->oracle, at);
	struct lath_item right, *there = &tape->oracle.item[i];
	int ret;

	if (full(tape) || i == tape->oracle.count || there->key >= at)
		return 0;
	ret = lath_index_split(&tape->list, at, ++tape->serial);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == 0);
	right = (struct lath_item){ at, oracle_last(there) - at + 1, tape->serial };
	there->size = at - there->key;
	oracle_insert(&tape->oracle, right);
	return 0;
}

/* [key, last] becomes free in the oracle; whole: what sticks out leaves as well */
static void clear(struct tape *tape, uint64_t key, uint64_t last, bool whole)
{
	struct oracle *oracle = &tape->oracle;
	size_t i;

	while ((i = oracle_at(oracle, key)) < oracle->count && oracle->item[i].key <= last) {
		struct lath_item item = oracle->item[i];

		oracle_remove(oracle, i);
		if (!whole && item.key < key)
			oracle_insert(oracle,
				      (struct lath_item){ item.key, key - item.key, item.value });
		if (!whole && oracle_last(&item) > last)
			oracle_insert(oracle,
				      (struct lath_item){ last + 1, oracle_last(&item) - last,
							  item.value });
	}
}

static int play_erase_range(struct tape *tape)
{
	uint64_t key = next_key(tape), size = next_units(tape) * tape->space->unit;
	size_t before = tape->oracle.count;

	if (size - 1 > ~0ull - key)
		return 0;
	clear(tape, key, key + (size - 1), true);
	EXPECT(tape, lath_index_erase_range(&tape->list, key, size, NULL, NULL) ==
			     (int64_t)(before - tape->oracle.count));
	return 0;
}

static int play_store_range(struct tape *tape)
{
	struct lath_item item = { next_key(tape), next_units(tape) * tape->space->unit,
				  ++tape->serial };
	int ret;

	if (full(tape) || item.size - 1 > ~0ull - item.key)
		return 0;
	ret = lath_index_store_range(&tape->list, &item, NULL, NULL);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == 0);
	clear(tape, item.key, oracle_last(&item), false);
	oracle_insert(&tape->oracle, item);
	return 0;
}

static int play_stats(struct tape *tape)
{
	uint64_t low = tape->space->low, high = end_of_space(tape), a = next_key(tape),
		 b = next_key(tape);
	struct lath_hole_stats stats;
	struct oracle_holes holes;

	if (next_byte(tape) % 2) {
		low = a < b ? a : b;
		high = a < b ? b : a;
	}
	if (low == high) {
		EXPECT(tape, high == 0 || lath_index_hole_stats(&tape->list, low, high, 0,
								&stats) == -EINVAL);
		return 0;
	}
	if (low == 0 && high == 0 && !tape->oracle.count)
		return 0; /* 2^64 free keys */
	oracle_measure(&tape->oracle, low, high, &holes);
	EXPECT(tape, lath_index_hole_stats(&tape->list, low, high, 0, &stats) == 0);
	EXPECT(tape, stats.sampled == 0);
	EXPECT(tape, stats.largest == holes.largest);
	EXPECT(tape, stats.largest_order == holes.order);
	EXPECT(tape, stats.free == holes.free);
	EXPECT(tape, stats.holes == holes.holes);
	EXPECT(tape, memcmp(stats.histogram, holes.histogram, sizeof(holes.histogram)) == 0);
	EXPECT(tape, lath_index_hole_stats(&tape->list, low, high, 2, &stats) == 0);
	EXPECT(tape, stats.largest == holes.largest && stats.largest_order == holes.order);
	return 0;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	if (op < 90)
		PLAY("insert_hole", play_insert_hole(tape));
	if (op < 130)
		PLAY("find_hole", play_find(tape));
	if (op < 150)
		PLAY("fill", play_fill(tape));
	if (op < 200)
		PLAY("erase", play_erase(tape, op % 8 > 4 ? 0 : op % 8));
	if (op < 210)
		PLAY("insert", play_insert(tape));
	if (op < 220)
		PLAY("resize", play_resize(tape));
	if (op < 228)
		PLAY("split", play_split(tape));
	if (op < 236)
		PLAY("erase_range", play_erase_range(tape));
	if (op < 246)
		PLAY("store_range", play_store_range(tape));
	PLAY("hole_stats", play_stats(tape));
}

static int check(struct tape *tape)
{
	char report[200] = "";

	tape->call = report;
	EXPECT(tape, lath_index_verify(&tape->list, 6, report, sizeof(report)) == 0);
	EXPECT(tape, lath_index_count(&tape->list) == tape->oracle.count);
	return 0;
}

static int play_all(struct tape *tape)
{
	unsigned int turn = 0;

	while (tape->at < tape->end) {
		if (play_one(tape))
			return -1;
		if (tape->options->verify_every && !(++turn % tape->options->verify_every) &&
		    check(tape))
			return -1;
	}
	return check(tape);
}

/* With tiny nodes and memory gone for good the largest space takes minutes: long runs only. */
static unsigned long failing_spaces(void)
{
	return NODE_CAP < 64 && !getenv("LATH_LONG") ? 6 : 7;
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = failing ? 1 : (uint8_t)i; /* one allocation a node: many places to fail */
	bytes[1] = (uint8_t)(failing ? i % failing_spaces() : i / 2);
}

const struct tape_plan tape_plan = { 70, 6000, 7, 900, begin };

int tape_run(const uint8_t *bytes, size_t size, const struct tape_options *options)
{
	struct tape *tape = aligned_alloc(64, (sizeof(*tape) + 63) & ~(size_t)63);
	struct lath_config config = LATH_CONFIG_INIT;
	int ret;

	if (!tape)
		return 0;
	memset(tape, 0, sizeof(*tape));
	tape->at = bytes;
	tape->end = bytes + size;
	tape->options = options;
	config.flags = LATH_HOLES | (next_byte(tape) % 2 ? LATH_NODE_EACH : 0);
	tape->space = &spaces[next_byte(tape) % (sizeof(spaces) / sizeof(spaces[0]))];
	config.allocator = options->allocator;
	ret = lath_index_init(&tape->list, &config);
	if (!ret) {
		ret = play_all(tape);
		lath_index_fini(&tape->list, NULL, NULL);
	} else if (failed(tape, ret)) {
		ret = 0;
	}
	free(tape);
	return ret;
}
