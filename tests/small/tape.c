/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. A small container against a sorted array, with limits that change on
 * the way, so that it is a block, an index of single nodes or one of chunks; and against an index
 * of the same items, whose holes a block must choose as well.
 */
#include "base/oracle.h"
#include "base/tape.h"

#include <stdlib.h>
#include <string.h>

#include "set/small/block.h"

struct space {
	uint64_t low, unit, units;
};

static const struct space spaces[] = {
	{ 0, 1, 60 },			 /* from the first key on, crowded */
	{ 0, 1, 1200 },			 /* keys of two bytes */
	{ ~0ull - 1499, 1, 1500 },	 /* up to the last */
	{ 4096, 4096, 1000 },		 /* pages, page 0 left out */
	{ (1ull << 32) - 700, 1, 1400 }, /* about the 32-bit line */
	{ 0, 1ull << 54, 1024 },	 /* all keys, all of them wide */
	{ 12345, 3, 900 },		 /* nothing is aligned */
};

#define BATCH 40u

static struct lath_small_kind kind;
static struct lath_small small;
static struct oracle oracle;
static struct lath_index twin; /* of the same ranges */
static const struct space *space;
static bool points, ranks;

/* Memory as the tape has it, counted. */
static const struct lath_allocator *below;
static size_t held;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
	void *block = below ? below->alloc(below->ctx, size, align) : lath_block_alloc(size);

	(void)ctx;
	if (block)
		__atomic_fetch_add(&held, size, __ATOMIC_RELAXED);
	return block;
}

static void counting_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	__atomic_fetch_sub(&held, size, __ATOMIC_RELAXED);
	if (below)
		below->free(below->ctx, block, size);
	else
		lath_block_free(block);
}

static const struct lath_allocator counting = { counting_alloc, counting_free, NULL };

/* ---- what comes next ---- */

static uint64_t next_key(struct tape *tape)
{
	return space->low + next_number(tape) % space->units * space->unit;
}

/* Values of each width. */
static uint64_t next_any_value(struct tape *tape)
{
	static const unsigned int shifts[] = { 64, 60, 58, 56, 48, 40, 17, 0 };
	unsigned int shift = shifts[next_byte(tape) % 8];

	return shift == 64 ? 0 : (next_number(tape) + 1) * 0x9e3779b97f4a7c15ull >> shift;
}

static uint64_t next_size(struct tape *tape)
{
	uint64_t n = next_byte(tape);

	if (points)
		return n == 255 ? 2 : 1;
	if (n == 255)
		return 0;
	if (n == 254)
		return ~0ull - next_byte(tape);
	return (n < 200 ? n % 4 + 1 : 1ull << n % 10) * space->unit;
}

static struct lath_item next_item(struct tape *tape)
{
	uint64_t key = next_key(tape);

	return (struct lath_item){ key, next_size(tape), next_any_value(tape) };
}

/* The key of an item, or any. */
static uint64_t some_key(struct tape *tape)
{
	uint64_t n = next_number(tape);

	return oracle.count && n % 4 ? oracle.item[n * 0x9e3779b9u % oracle.count].key
				     : next_key(tape);
}

static struct lath_hole_request next_request(struct tape *tape)
{
	uint64_t how = next_byte(tape), a = next_key(tape), b = next_key(tape);
	struct lath_hole_request want = { .size = (next_byte(tape) % 5 + 1) * space->unit,
					  .low = space->low,
					  .high = space->low + space->units * space->unit };

	want.policy = (enum lath_hole_policy)(next_byte(tape) % 6);
	want.hint = next_key(tape);
	want.align = how % 2 ? 1ull << next_byte(tape) % 16 : 0;
	if (how % 4 == 3)
		want.align = space->unit & (space->unit - 1) ? 4 : space->unit;
	if (want.policy == LATH_HOLE_EXACT && want.align && how % 8 < 7)
		want.hint &= ~(want.align - 1);
	if (how % 16 >= 12) {
		want.low = a < b ? a : b;
		want.high = a < b ? b : a;
	}
	if (how % 32 == 8)
		want.low = want.high = 0;
	if (how % 8 == 6)
		want.below = a;
	if (how == 255)
		want.size = 0;
	if (how == 253)
		want.align = 6;
	if (how == 251)
		want.size = ~0ull - next_byte(tape);
	return want;
}

/* ---- both at once ---- */

static void note_insert(struct lath_item item)
{
	oracle_insert(&oracle, item);
	if (!points && lath_index_insert_item(&twin, &item, NULL))
		abort();
}

static int play_insert(struct tape *tape)
{
	struct lath_item item = next_item(tape), conflict, *there = NULL;
	bool valid = item.size && item.size - 1 <= ~0ull - item.key && (!points || item.size == 1);
	int expected = -EINVAL, ret;

	if (oracle.count == ORACLE_MAX)
		return 0;
	if (valid) {
		there = oracle_overlap(&oracle, item.key, oracle_last(&item));
		expected = there ? -EEXIST : 0;
	}
	ret = lath_small_insert_item(&small, &item, &conflict);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == expected);
	if (ret == -EEXIST) {
		there = oracle_exact(&oracle, conflict.key);
		EXPECT(tape, there && oracle_same(there, &conflict));
		EXPECT(tape, conflict.key <= oracle_last(&item));
		EXPECT(tape, oracle_last(&conflict) >= item.key);
	}
	if (!ret)
		note_insert(item);
	return 0;
}

static int play_erase(struct tape *tape)
{
	uint64_t key = some_key(tape);
	struct lath_item *there = oracle_exact(&oracle, key), old;
	int ret = lath_small_erase_item(&small, key, &old);

	EXPECT(tape, ret == (there ? 0 : -ENOENT));
	if (ret)
		return 0;
	EXPECT(tape, oracle_same(there, &old));
	oracle_remove(&oracle, there);
	EXPECT(tape, points || !lath_index_erase_item(&twin, key, NULL));
	return 0;
}

static int play_replace(struct tape *tape)
{
	uint64_t key = some_key(tape), value = next_any_value(tape);
	struct lath_item *there = oracle_exact(&oracle, key), old;
	bool room = width_of(value) <= lath_small_value_bytes(&small);
	int ret = lath_small_replace_item(&small, key, value, &old);

	if (failed(tape, ret)) {
		EXPECT(tape, !room && !lath_small_index(&small));
		return 0;
	}
	EXPECT(tape, ret == (there ? 0 : -ENOENT));
	if (ret)
		return 0;
	EXPECT(tape, oracle_same(there, &old));
	there->value = value;
	return 0;
}

static int play_resize(struct tape *tape)
{
	struct lath_item to = { some_key(tape), next_size(tape), 0 };
	struct lath_item *there = oracle_exact(&oracle, to.key), *next;
	int ret = lath_small_resize(&small, to.key, to.size), expected = there ? 0 : -ENOENT;

	if (points || !to.size || to.size - 1 > ~0ull - to.key) {
		EXPECT(tape, ret == -EINVAL);
		return 0;
	}
	if (failed(tape, ret)) {
		EXPECT(tape, there && to.size > there->size);
		return 0;
	}
	next = there ? &there[1] : NULL;
	if (next && next < &oracle.item[oracle.count] && next->key <= oracle_last(&to))
		expected = -EEXIST;
	EXPECT(tape, ret == expected);
	if (ret)
		return 0;
	there->size = to.size;
	EXPECT(tape, !lath_index_resize(&twin, to.key, to.size));
	return 0;
}

static int play_split(struct tape *tape)
{
	uint64_t at = some_key(tape) + next_byte(tape) % 4, value = next_any_value(tape);
	struct lath_item *there = oracle_overlap(&oracle, at, at), right;
	int ret = lath_small_split(&small, at, value);

	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (!there ? -ENOENT : there->key == at ? -EEXIST : 0));
	if (ret)
		return 0;
	right = (struct lath_item){ at, oracle_last(there) - at + 1, value };
	there->size = at - there->key;
	oracle_insert(&oracle, right);
	EXPECT(tape, !lath_index_split(&twin, at, value));
	return 0;
}

static int expect_item(struct tape *tape, int ret, const struct lath_item *there,
		       const struct lath_item *found)
{
	EXPECT(tape, ret == (there ? 0 : -ENOENT));
	EXPECT(tape, ret || oracle_same(there, found));
	return 0;
}

static int play_look(struct tape *tape)
{
	uint64_t key = some_key(tape) + next_byte(tape) % 3 - 1, value = 0;
	struct lath_item *there = oracle_overlap(&oracle, key, key), found;
	int ret = lath_small_get(&small, key, &value);

	EXPECT(tape, ret == (there ? 1 : 0) && (!ret || value == there->value));
	ret = expect_item(tape, lath_small_lookup_item(&small, key, &found), there, &found);
	if (!ret)
		ret = expect_item(tape, lath_small_ceiling_item(&small, key, &found),
				  oracle_ceiling(&oracle, key), &found);
	return ret;
}

static int play_batch(struct tape *tape)
{
	uint64_t keys[BATCH], values[BATCH];
	size_t n = next_byte(tape) % BATCH + 1u, all = 0, i;
	uint8_t hits[BATCH];

	for (i = 0; i < n; i++) {
		keys[i] = some_key(tape);
		all += oracle_overlap(&oracle, keys[i], keys[i]) != NULL;
	}
	EXPECT(tape, lath_small_get_batch(&small, n, keys, values, hits) == all);
	for (i = 0; i < n; i++) {
		struct lath_item *there = oracle_overlap(&oracle, keys[i], keys[i]);

		EXPECT(tape, hits[i] == (there != NULL) && (!there || values[i] == there->value));
	}
	return 0;
}

/* The number of items in front of key. */
static size_t before(uint64_t key)
{
	struct lath_item *at = oracle_ceiling(&oracle, key);

	return at ? (size_t)(at - oracle.item) : oracle.count;
}

static int play_scan(struct tape *tape)
{
	uint64_t from = some_key(tape), last = some_key(tape), next = 1, keys[BATCH], values[BATCH];
	size_t max = next_byte(tape) % BATCH + 1u, first = before(from), i, n = 0;
	const struct lath_item *item = &oracle.item[first];

	while (n < max && first + n < oracle.count && item[n].key <= last)
		n++;
	EXPECT(tape, lath_small_scan_values(&small, from, last, keys, values, max, &next) == n);
	EXPECT(tape, n < max || next == keys[n - 1] + 1);
	for (i = 0; i < n; i++)
		EXPECT(tape, keys[i] == item[i].key && values[i] == item[i].value);
	return 0;
}

static int play_scan_back(struct tape *tape)
{
	uint64_t from = some_key(tape), first = some_key(tape), next = 1;
	size_t max = next_byte(tape) % BATCH + 1u, i, n = 0;
	struct lath_item items[BATCH], *item = oracle_floor(&oracle, from);

	while (item && n < max && &item[-(long)n] >= oracle.item && item[-(long)n].key >= first)
		n++;
	EXPECT(tape, lath_small_scan_back(&small, from, first, items, max, &next) == n);
	EXPECT(tape, n < max || next == items[n - 1].key - 1);
	for (i = 0; i < n; i++)
		EXPECT(tape, oracle_same(&items[i], &item[-(long)i]));
	return 0;
}

static int play_order(struct tape *tape)
{
	uint64_t from = some_key(tape), last = some_key(tape), rank = next_byte(tape);
	struct lath_item found, *there = oracle_floor(&oracle, last);
	size_t end = there ? (size_t)(there - oracle.item) + 1 : 0;

	if (!ranks) {
		EXPECT(tape, lath_small_count_range(&small, from, last) == -EINVAL);
		EXPECT(tape, lath_small_select(&small, rank, &found) == -EINVAL);
		return 0;
	}
	EXPECT(tape, lath_small_count_range(&small, from, last) ==
			     (from > last ? 0 : (int64_t)(end - before(from))));
	there = rank < oracle.count ? &oracle.item[rank] : NULL;
	return expect_item(tape, lath_small_select(&small, rank, &found), there, &found);
}

static int play_find(struct tape *tape, bool insert)
{
	struct lath_hole_request want = next_request(tape);
	uint64_t value = next_any_value(tape), key = 0, best = 0, same = 0;
	bool block = !lath_small_index(&small);
	int expected = points ? -EINVAL : lath_index_find_hole(&twin, &want, &same), ret;

	if (oracle.count == ORACLE_MAX)
		return 0;
	if (insert)
		ret = lath_small_insert_hole(&small, &want, value, &key);
	else
		ret = lath_small_find_hole(&small, &want, &key);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == expected);
	EXPECT(tape, points || ret == oracle_find(&oracle, &want, &best));
	EXPECT(tape, ret || oracle_accepts(&oracle, &want, key));
	EXPECT(tape, ret || !block || key == same);
	if (!ret && insert)
		note_insert((struct lath_item){ key, want.size, value });
	return 0;
}

static int play_stats(struct tape *tape)
{
	uint64_t low = next_key(tape), high = next_byte(tape) % 4 ? next_key(tape) : 0;
	struct lath_hole_stats stats, same;
	struct oracle_holes holes;
	int ret = lath_small_hole_stats(&small, low, high, 0, &stats);

	EXPECT(tape, ret == (points || low > high - 1 ? -EINVAL : 0));
	if (ret)
		return 0;
	/* all 2^64 keys are one too many for the oracle */
	EXPECT(tape, !lath_index_hole_stats(&twin, low, high, 0, &same));
	EXPECT(tape, !memcmp(&stats, &same, sizeof(same)));
	if (!low && !high && !oracle.count)
		return 0;
	oracle_measure(&oracle, low, high, &holes);
	EXPECT(tape, stats.largest == holes.largest && stats.free == holes.free);
	EXPECT(tape, stats.largest_order == holes.order && stats.holes == holes.holes);
	EXPECT(tape, oracle_permille(&holes, stats.fragmentation_permille));
	return 0;
}

/* ---- memory ---- */

static void *move_block(void *arg, void *block, size_t size)
{
	void *moved = counting_alloc(NULL, size, 8);

	++*(unsigned int *)arg;
	if (!moved)
		return block;
	memcpy(moved, block, size);
	counting_free(NULL, block, size);
	return moved;
}

/* The block and the struct move. */
static int play_move(struct tape *tape)
{
	struct lath_small elsewhere;
	unsigned int moves = 0;

	lath_small_move(&small, move_block, &moves);
	EXPECT(tape, moves == (!lath_small_index(&small) && oracle.count));
	elsewhere = small;
	memset(&small, 0x55, sizeof(small));
	small = elsewhere;
	return 0;
}

static int play_limit(struct tape *tape)
{
	unsigned int limit = next_byte(tape) % 80;
	int ret = lath_small_set_limit(&kind, limit);

	EXPECT(tape, ret == (limit > LATH_SMALL_MOST ? -EINVAL : 0));
	return 0;
}

static int check(struct tape *tape)
{
	char report[200] = "";

	if (lath_small_verify(&small, report, sizeof(report)))
		fprintf(stderr, "%s\n", report);
	EXPECT(tape, !*report);
	EXPECT(tape, lath_small_count(&small) == oracle.count);
	if (lath_small_index(&small))
		EXPECT(tape, lath_small_bytes(&small) > sizeof(struct lath_index));
	else
		EXPECT(tape, lath_small_bytes(&small) == held && held % 8 == 0);
	return 0;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	PLAY_BELOW(75, "insert", play_insert(tape));
	PLAY_BELOW(120, "erase", play_erase(tape));
	PLAY_BELOW(124, "resize", play_resize(tape));
	PLAY_BELOW(128, "split", play_split(tape));
	PLAY_BELOW(140, "replace", play_replace(tape));
	PLAY_BELOW(155, "look", play_look(tape));
	PLAY_BELOW(165, "batch", play_batch(tape));
	PLAY_BELOW(175, "scan", play_scan(tape));
	PLAY_BELOW(185, "scan back", play_scan_back(tape));
	PLAY_BELOW(195, "order", play_order(tape));
	PLAY_BELOW(215, "find", play_find(tape, false));
	PLAY_BELOW(235, "insert hole", play_find(tape, true));
	PLAY_BELOW(245, "stats", play_stats(tape));
	PLAY_BELOW(252, "move", play_move(tape));
	PLAY("limit", play_limit(tape));
}

/* Points that count, points, ranges; blocks all the time, or all forms. */
static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)(i % 3);
	bytes[1] = (uint8_t)(i / 3 % 7);
	bytes[2] = (uint8_t)(i % 2 ? 64 : bytes[2] % 40);
	if (failing)
		bytes[3] = (uint8_t)(i % 24);
}

const struct tape_plan tape_plan = { 700, 4000, 21, 700, begin, NULL };

/* fini() calls it for each item, in order. */
static void leave(void *arg, const struct lath_item *item)
{
	size_t *left = arg;

	if (*left < oracle.count && oracle_same(item, &oracle.item[*left]))
		++*left;
}

int tape_run(struct tape *tape)
{
	struct lath_config holes = LATH_CONFIG_INIT;
	uint8_t form = next_byte(tape) % 3;
	size_t left = 0;
	int ret;

	kind = (struct lath_small_kind)LATH_SMALL_KIND_INIT;
	points = form < 2;
	ranks = form == 0;
	space = &spaces[next_byte(tape) % (sizeof(spaces) / sizeof(spaces[0]))];
	kind.limit = next_byte(tape) % (LATH_SMALL_MOST + 1);
	kind.each = next_byte(tape);
	kind.index.layout = points ? LATH_POINTS : LATH_RANGES;
	kind.index.flags = ranks ? LATH_RANKS : points ? 0 : LATH_HOLES;
	kind.index.allocator = &counting;
	below = tape->allocator;
	held = 0;
	oracle.count = 0;
	holes.flags = LATH_HOLES;
	tape->call = "init";
	EXPECT(tape, !lath_index_init(&twin, &holes));
	EXPECT(tape, !lath_small_init(&small, &kind) && !lath_small_bytes(&small));
	ret = tape_play(tape, play_one, check);
	lath_small_fini(&small, leave, &left);
	lath_index_fini(&twin, NULL, NULL);
	tape->call = "fini";
	EXPECT(tape, ret || (left == oracle.count && !held));
	return ret;
}
