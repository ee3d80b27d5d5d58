/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. Points and ranges, and every call but those about holes.
 */
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "lathwork/cursor.h"

static struct lath_cursor cursor; /* kept over calls */
static bool ranges, ranks;
static unsigned int shape;

#define ENDS 5 /* a shape: keys and sizes at the ends of the key space */

/* Small dense keys, pages, clusters far apart, the top of the key space, anything, ends. */
static uint64_t next_key(struct tape *tape)
{
	uint64_t n = next_number(tape);

	switch (shape) {
	case 0:
		return n % 512;
	case 1:
		return n * 4096;
	case 2:
		return (n % 7) << 60 | n / 7 % 128;
	case 3:
		return ~0ull - n % 512;
	case ENDS:
		if (n % 8 == 7)
			return (1ull << 63) - 1 + n / 8 % 3;
		return n % 2 ? ~0ull - n / 8 % 6 : n / 8 % 6;
	default:
		return n << 48 | n * 0x9e3779b97f4a7c15ull >> 16;
	}
}

static uint64_t next_size(struct tape *tape)
{
	uint64_t n = next_byte(tape);

	if (!ranges)
		return n == 255 ? 0 : 1;
	if (n < 200)
		return shape == 1 ? (n % 3 + 1) * 4096 : n % 6;
	if (n < 250)
		return n;
	return shape == 1 ? 4096ull * 600 : 5000ull << (n - 250);
}

/* Sizes that end at the last key of all, right before and behind it, and the largest ones. */
static uint64_t next_end(struct tape *tape, uint64_t key)
{
	uint8_t n = next_byte(tape);

	switch (n % 16) {
	case 0:
		return 0 - key;
	case 1:
		return ~0ull - key;
	case 2:
		return 1 - key;
	case 3:
		return 1ull << 63;
	case 4:
		return ~0ull - n / 16 % 4;
	default:
		return n / 16 % 4;
	}
}

static struct lath_item next_item(struct tape *tape)
{
	uint64_t key = next_key(tape), size;

	size = ranges && shape == ENDS ? next_end(tape, key) : next_size(tape);
	return (struct lath_item){ key, size, next_value() };
}

struct pins {
	int taken;
	bool refuse;
};

static int pin(void *arg, const struct lath_item *item)
{
	struct pins *pins = arg;

	(void)item;
	pins->taken += !pins->refuse;
	return !pins->refuse;
}

static void unpin(void *arg, const struct lath_item *item)
{
	struct pins *pins = arg;

	(void)item;
	pins->taken--;
}

static int play_pin(struct tape *tape)
{
	struct pins pins = { .refuse = next_byte(tape) % 8 == 0 };
	struct lath_pin how = { pin, unpin, &pins };
	uint64_t key = next_key(tape);
	struct lath_item found, *there = oracle_overlap(&oracle, key, key);
	int ret = lath_index_lookup_pin(&list, key, &how, &found);

	EXPECT(tape, ret == (!there ? -ENOENT : pins.refuse ? -EBUSY : 0));
	EXPECT(tape, pins.taken == !ret && (!there || oracle_same(there, &found)));
	return 0;
}

/* Most keys are no border of two items: take one that is. */
static int play_join(struct tape *tape)
{
	uint64_t key = next_key(tape);
	struct lath_item *right = oracle_ceiling(&oracle, key);

	if (right && next_byte(tape) % 4)
		key = right->key;
	return list_join(tape, key, next_byte(tape) % 8 != 0);
}

static int play_reads(struct tape *tape)
{
	struct lath_item probe = next_item(tape);
	uint64_t key = probe.key, size = probe.size, value;
	struct lath_item found, *there = oracle_overlap(&oracle, key, key);
	int ret = lath_index_lookup_item(&list, key, &found);

	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || oracle_same(there, &found)));
	ret = lath_index_get(&list, key, &value);
	EXPECT(tape, ret == !!there && (!ret || value == there->value));
	there = oracle_ceiling(&oracle, key);
	ret = lath_index_ceiling_item(&list, key, &found);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || oracle_same(there, &found)));
	there = oracle_floor(&oracle, key);
	ret = lath_index_floor_item(&list, key, &found);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || oracle_same(there, &found)));
	ret = lath_index_overlap_item(&list, key, size, &found);
	if (!size || size - 1 > ~0ull - key) {
		EXPECT(tape, ret == -EINVAL);
		return 0;
	}
	there = oracle_overlap(&oracle, key, key + size - 1);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || oracle_same(there, &found)));
	return 0;
}

static int play_replace(struct tape *tape)
{
	uint64_t key = next_key(tape), value = next_value();
	struct lath_item *there = oracle_exact(&oracle, key), old;
	int ret = lath_index_replace_item(&list, key, value, &old);

	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || oracle_same(there, &old)));
	if (there)
		there->value = value;
	return 0;
}

static int play_lookup_batch(struct tape *tape, size_t n, const uint64_t *keys)
{
	uint64_t values[LIST_BATCH];
	struct lath_item found[LIST_BATCH];
	uint8_t hit[LIST_BATCH];
	size_t done = lath_index_lookup_batch(&list, n, keys, found), want = 0, i;

	EXPECT(tape, lath_index_get_batch(&list, n, keys, values, hit) == done);
	for (i = 0; i < n; i++) {
		struct lath_item *there = oracle_overlap(&oracle, keys[i], keys[i]);

		EXPECT(tape,
		       !!found[i].size == !!there && (!there || oracle_same(there, &found[i])));
		EXPECT(tape, hit[i] == !!there && (!there || values[i] == there->value));
		want += !!there;
	}
	EXPECT(tape, done == want);
	return 0;
}

static int play_batch(struct tape *tape)
{
	uint64_t keys[LIST_BATCH];
	struct lath_item items[LIST_BATCH];
	int kind = next_byte(tape) % 3;
	size_t n = next_byte(tape) % LIST_BATCH + 1, i;

	for (i = 0; i < n; i++) {
		items[i] = next_item(tape);
		keys[i] = items[i].key;
	}
	if (kind == 0)
		return play_lookup_batch(tape, n, keys);
	return kind == 1 ? list_insert_batch(tape, n, items) : list_erase_batch(tape, n, keys);
}

/* The items that start in [from, last] by both calls that scan up. */
static int scan_up(struct tape *tape, uint64_t from, uint64_t last, size_t max)
{
	struct lath_item items[64], *there = oracle_ceiling(&oracle, from);
	uint64_t keys[64], values[64], next, again;
	size_t n = lath_index_scan(&list, from, last, items, max, &next), i;
	const struct lath_item *end = oracle.item + oracle.count;

	EXPECT(tape, lath_index_scan_values(&list, from, last, keys, values, max, &again) == n);
	for (i = 0; i < n; i++, there++) {
		EXPECT(tape, there && there < end && there->key <= last);
		EXPECT(tape, oracle_same(there, &items[i]));
		EXPECT(tape, keys[i] == there->key && values[i] == there->value);
	}
	EXPECT(tape, n == max || !there || there == end || there->key > last);
	EXPECT(tape, n < max || next == oracle_last(&items[n - 1]) + 1);
	EXPECT(tape, n < max || again == items[n - 1].key + 1);
	return 0;
}

static int scan_down(struct tape *tape, uint64_t from, uint64_t first, size_t max)
{
	struct lath_item items[64], *there = oracle_floor(&oracle, from);
	uint64_t next;
	size_t n = lath_index_scan_back(&list, from, first, items, max, &next), i;

	for (i = 0; i < n; i++, there--) {
		EXPECT(tape, there && there >= oracle.item && there->key >= first);
		EXPECT(tape, oracle_same(there, &items[i]));
	}
	EXPECT(tape, n == max || !there || there < oracle.item || there->key < first);
	EXPECT(tape, n < max || next == items[n - 1].key - 1);
	return 0;
}

static int play_scan(struct tape *tape)
{
	uint64_t from = next_key(tape), last = ~0ull, first = 0;
	uint8_t how = next_byte(tape);
	size_t max = how % 64 + 1;

	if (how & 64)
		last = first = next_key(tape);
	return scan_up(tape, from, last, max) || scan_down(tape, from, first, max) ? -1 : 0;
}

/* Rank, select and count_range against places in the oracle's array. */
static int play_ranks(struct tape *tape)
{
	uint64_t from = next_key(tape), last = next_key(tape), rank = next_number(tape);
	struct lath_item *at = oracle_ceiling(&oracle, from), *behind, found;
	int64_t low = at ? at - oracle.item : (int64_t)oracle.count, high;

	if (!ranks) {
		EXPECT(tape, lath_index_rank(&list, from) == -EINVAL);
		EXPECT(tape, lath_index_select(&list, 0, &found) == -EINVAL);
		EXPECT(tape, lath_index_count_range(&list, from, last) == -EINVAL);
		return 0;
	}
	behind = last < ~0ull ? oracle_ceiling(&oracle, last + 1) : NULL;
	high = behind ? behind - oracle.item : (int64_t)oracle.count;
	if (rank % 2) /* the first one asked refreshes the counts */
		EXPECT(tape, lath_index_count_range(&list, from, last) ==
				     (from <= last ? high - low : 0));
	EXPECT(tape, lath_index_rank(&list, from) == low);
	EXPECT(tape, lath_index_count_range(&list, from, last) == (from <= last ? high - low : 0));
	rank %= oracle.count + 2;
	EXPECT(tape, lath_index_select(&list, rank, &found) == (rank < oracle.count ? 0 : -ENOENT));
	EXPECT(tape, rank >= oracle.count || oracle_same(&oracle.item[rank], &found));
	return 0;
}

/* A copy has the same items. */
static int play_clone(struct tape *tape)
{
	static struct lath_index copy;
	struct lath_item items[32];
	int ret = lath_index_clone(&copy, &list, NULL);
	uint64_t from = 0;
	size_t i, n, seen = 0;

	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == 0 && lath_index_verify(&copy, 6, NULL, 0) == 0);
	EXPECT(tape, lath_index_count(&copy) == oracle.count);
	do {
		n = lath_index_scan(&copy, from, ~0ull, items, 32, &from);
		for (i = 0; i < n; i++)
			EXPECT(tape, oracle_same(&oracle.item[seen++], &items[i]));
	} while (n == 32 && from);
	lath_index_fini(&copy, NULL, NULL);
	return 0;
}

/* The cursor is kept over other calls: it must go on from its key whatever happened to its leaf. */
static int play_cursor(struct tape *tape)
{
	int kind = next_byte(tape) % 4, ret;
	uint64_t key = cursor.key;
	struct lath_item item, *there;

	if (kind == 0) {
		key = next_key(tape);
		ret = lath_cursor_seek(&cursor, key, &item);
		there = oracle_ceiling(&oracle, key);
	} else if (kind == 1) {
		key = next_key(tape);
		ret = lath_cursor_seek_floor(&cursor, key, &item);
		there = oracle_floor(&oracle, key);
	} else if (kind == 2) {
		there = cursor.entry < 0 ? oracle_ceiling(&oracle, 0)
			: key < ~0ull	 ? oracle_ceiling(&oracle, key + 1)
					 : NULL;
		ret = lath_cursor_next(&cursor, &item);
	} else {
		there = cursor.entry < 0 ? oracle_floor(&oracle, ~0ull)
			: key		 ? oracle_floor(&oracle, key - 1)
					 : NULL;
		ret = lath_cursor_prev(&cursor, &item);
	}
	EXPECT(tape, ret == !!there && (!there || oracle_same(there, &item)));
	return 0;
}

/* Load n sorted items; `want` is what the call should return. */
static int load_items(struct tape *tape, size_t n, const struct lath_item *items, int want)
{
	size_t bad = 0;
	int ret;

	tape->call = "load_sorted";
	ret = lath_index_load_sorted(&list, n, items, &bad);
	EXPECT(tape, ret == want || (!want && failed(tape, ret)));
	if (!ret) {
		memcpy(oracle.item, items, n * sizeof(*items));
		oracle.count = n;
	}
	return 0;
}

/* Erase all items, or all but one, from either end or at once, and load sorted items. */
static int play_refill(struct tape *tape)
{
	uint8_t how = next_byte(tape);
	size_t keep = how % 8 == 7 && oracle.count, i;
	struct lath_item items[8];

	if (how % 3 == 2 && !keep)
		while (oracle.count)
			if (list_erase_range(tape, (struct lath_item){ 0, ~0ull, 0 }) ||
			    (oracle.count && list_erase(tape, ~0ull, ERASE_ITEM)))
				return -1;
	while (oracle.count > keep)
		if (list_erase(tape, oracle.item[how % 3 ? oracle.count - 1 : 0].key, ERASE_ITEM))
			return -1;
	for (i = 0; i < 8; i++)
		items[i] = (struct lath_item){ 10 * i + how, 1, next_value() };
	return load_items(tape, how / 32u, items, keep ? -EBUSY : 0);
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	PLAY_BELOW(90, "insert", list_insert(tape, next_item(tape), INSERT_ITEM));
	PLAY_BELOW(96, "insert_preloaded", list_insert(tape, next_item(tape), INSERT_PRELOADED));
	PLAY_BELOW(102, "cursor_insert", list_insert(tape, next_item(tape), INSERT_CURSOR));
	PLAY_BELOW(132, "erase", list_erase(tape, next_key(tape), ERASE_ITEM));
	PLAY_BELOW(144, "erase_at", list_erase(tape, next_key(tape), ERASE_AT));
	PLAY_BELOW(146, "erase_if", list_erase(tape, next_key(tape), ERASE_IF));
	PLAY_BELOW(150, "cursor_erase", list_erase(tape, next_key(tape), ERASE_CURSOR));
	PLAY_BELOW(173, "reads", play_reads(tape));
	PLAY_BELOW(176, "lookup_pin", play_pin(tape));
	PLAY_BELOW(184, "replace", play_replace(tape));
	PLAY_BELOW(192, "resize", list_resize(tape, next_item(tape)));
	PLAY_BELOW(195, "erase_part", list_erase_part(tape, next_item(tape)));
	PLAY_BELOW(198, "split", list_split(tape, next_key(tape)));
	PLAY_BELOW(201, "join", play_join(tape));
	PLAY_BELOW(206, "erase_range", list_erase_range(tape, next_item(tape)));
	PLAY_BELOW(216, "store_range", list_store_range(tape, next_item(tape)));
	PLAY_BELOW(230, "batch", play_batch(tape));
	PLAY_BELOW(240, "scan", play_scan(tape));
	PLAY_BELOW(244, "ranks", play_ranks(tape));
	PLAY_BELOW(248, "trim", list_trim(tape));
	if (op == 248)
		PLAY("clone", play_clone(tape));
	if (op == 249)
		PLAY("refill", play_refill(tape));
	PLAY("cursor", play_cursor(tape));
}

/* Begin with some sorted items. */
static int load(struct tape *tape)
{
	size_t n = next_byte(tape) * 4u, i;
	uint64_t key = next_key(tape) / 2, step = ranges ? 3 : 1;
	struct lath_item *items = malloc((n + 1) * sizeof(*items));
	int ret;

	if (!items)
		return 0;
	for (i = 0; i < n && key < ~0ull - step; i++, key += step)
		items[i] = (struct lath_item){ key, ranges ? 2 : 1, next_value() };
	ret = load_items(tape, i, items, 0);
	free(items);
	lath_cursor_init(&cursor, &list);
	return ret ? ret : list_verify(tape);
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)i; /* every layout, shape and allocation in turn */
	bytes[1] = (uint8_t)(i / (failing ? 2 : 3) % 6);
	if (bytes[1] == ENDS)
		bytes[1] = 255;
	/* one allocation a node: many places to fail */
	bytes[2] = (uint8_t)(failing ? 1 + i / 36 * 2 + i % 2 * 4 : i / 18);
}

const struct tape_plan tape_plan = { 144, 12000, 12, 3000, begin, NULL };

int tape_run(struct tape *tape)
{
	struct lath_config config = LATH_CONFIG_INIT;
	uint8_t flags;

	ranges = next_byte(tape) % 3 != 0;
	shape = next_byte(tape);
	shape = shape < 250 ? shape % 5 : ENDS;
	config.layout = ranges ? LATH_RANGES : LATH_POINTS;
	flags = next_byte(tape);
	ranks = flags / 4 % 2;
	config.flags = (flags % 2 ? LATH_NODE_EACH : 0) | (flags / 2 % 2 ? LATH_GAPPED : 0) |
		       (ranks ? LATH_RANKS : 0);
	return list_run(tape, &config, load, play_one);
}
