/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. Erases, cuts and stores of every kind must raise the bounds that
 * searches go by.
 */
#include "base/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree/node/node.h"
#include "set/hole/lengths.h"

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

static const struct space *space;
static struct lath_hole_request last_request;

static uint64_t next_key(struct tape *tape)
{
	uint64_t n = next_number(tape);

	return space->low + n % space->units * space->unit;
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

static struct lath_item next_item(struct tape *tape)
{
	uint64_t key = next_key(tape);

	return (struct lath_item){ key, next_units(tape) * space->unit, next_value() };
}

static uint64_t end_of_space(void)
{
	return space->low + space->units * space->unit; /* 0 is 2^64 */
}

static struct lath_hole_request next_request(struct tape *tape)
{
	uint64_t kind = next_byte(tape), end = end_of_space(), a, b;
	struct lath_hole_request want = { .size = next_units(tape) * space->unit,
					  .low = space->low };

	want.high = end;
	want.policy = (enum lath_hole_policy)(next_byte(tape) % 6);
	want.hint = next_key(tape);
	if (kind % 4 == 1) /* size aligned, as DMA asks for */
		for (want.align = 1; want.align < want.size; want.align *= 2)
			;
	else if (kind % 4 == 2)
		want.align = space->unit * (1ull << next_byte(tape) % 10);
	if (want.align & (want.align - 1))
		want.align = 1ull << next_byte(tape) % 10;
	if (want.policy == LATH_HOLE_EXACT && want.align && kind % 8 != 1)
		want.hint &= ~(want.align - 1);
	if (kind % 16 >= 12) { /* its own limits */
		a = next_key(tape);
		b = next_key(tape);
		want.low = a < b ? a : b;
		want.high = (a < b ? b : a) + space->unit * (kind / 16 % 2);
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
	last_request = want;
	return want;
}

static int play_find(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);
	uint64_t key = 0, best = 0;
	int ret = lath_index_find_hole(&list, &want, &key);

	EXPECT(tape, ret == oracle_find(&oracle, &want, &best));
	EXPECT(tape, ret || oracle_accepts(&oracle, &want, key));
	return 0;
}

static int insert_hole(struct tape *tape, const struct lath_hole_request *want)
{
	struct lath_item item = { 0, want->size, next_value() };
	uint64_t best = 0;
	int expected = oracle_find(&oracle, want, &best);
	int ret = lath_index_insert_hole(&list, want, item.value, &item.key);

	if (failed(tape, ret))
		return ret;
	EXPECT(tape, ret == expected);
	if (ret)
		return ret;
	EXPECT(tape, oracle_accepts(&oracle, want, item.key));
	oracle_insert(&oracle, item);
	return 0;
}

static int play_insert_hole(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);

	return !list_full() && insert_hole(tape, &want) == -1 ? -1 : 0;
}

/* One request again and again, until there is no more room for it. */
static int play_fill(struct tape *tape)
{
	struct lath_hole_request want = next_request(tape);
	int ret = 0;

	if (want.policy == LATH_HOLE_EXACT || want.size < space->unit)
		return 0;
	want.low = space->low;
	want.high = end_of_space();
	while (!list_full() && !ret)
		ret = insert_hole(tape, &want);
	return ret == -1 ? -1 : 0;
}

static struct lath_item *some_item(struct tape *tape)
{
	return &oracle.item[next_number(tape) * 0x9e3779b9u % oracle.count];
}

/* Of a list that is not empty. */
static int play_erase(struct tape *tape, enum erase_how how)
{
	struct lath_item *item = some_item(tape);

	return list_erase(tape, how == ERASE_AT ? oracle_last(item) : item->key, how);
}

static int play_erase_batch(struct tape *tape)
{
	struct lath_item *item = some_item(tape);
	uint64_t keys[LIST_BATCH];
	size_t n = next_byte(tape) % LIST_BATCH + 1u, i;

	for (i = 0; i < n && &item[i] < &oracle.item[oracle.count]; i++)
		keys[i] = item[i].key;
	return list_erase_batch(tape, i, keys);
}

static int play_resize(struct tape *tape)
{
	struct lath_item item = *some_item(tape);

	item.size = next_units(tape) * space->unit;
	return list_resize(tape, item);
}

/* While no other call runs, the index by length has one entry per free run. */
static int check_lengths(struct tape *tape)
{
	struct tree *tree = tree_of(&list);
	struct oracle_holes holes;

	if (!oracle.count || !lath_lengths_ready(tree))
		return 0;
	oracle_measure(&oracle, 0, 0, &holes);
	EXPECT(tape,
	       lath_index_count(&container_of(watcher_of(tree), struct lengths, watcher)->runs) ==
		       holes.holes);
	return 0;
}

static int play_stats(struct tape *tape)
{
	uint64_t low = space->low, high = end_of_space(), a = next_key(tape), b = next_key(tape);
	struct lath_hole_stats stats;
	struct oracle_holes holes;

	if (next_byte(tape) % 2) {
		low = a < b ? a : b;
		high = a < b ? b : a;
	}
	if (low == high) {
		EXPECT(tape,
		       high == 0 || lath_index_hole_stats(&list, low, high, 0, &stats) == -EINVAL);
		return 0;
	}
	if (low == 0 && high == 0 && !oracle.count)
		return 0; /* 2^64 free keys */
	oracle_measure(&oracle, low, high, &holes);
	EXPECT(tape, lath_index_hole_stats(&list, low, high, 0, &stats) == 0);
	EXPECT(tape, stats.sampled == 0);
	EXPECT(tape, stats.largest == holes.largest);
	EXPECT(tape, stats.largest_order == holes.order);
	EXPECT(tape, stats.free == holes.free);
	EXPECT(tape, oracle_permille(&holes, stats.fragmentation_permille));
	EXPECT(tape, stats.holes == holes.holes);
	EXPECT(tape, memcmp(stats.histogram, holes.histogram, sizeof(holes.histogram)) == 0);
	EXPECT(tape, lath_index_hole_stats(&list, low, high, 2, &stats) == 0);
	EXPECT(tape, stats.largest == holes.largest && stats.largest_order == holes.order);
	return 0;
}

/* Most keys are no border of two items: take the next one that an item begins at. */
static int play_join(struct tape *tape)
{
	uint64_t key = next_key(tape);
	struct lath_item *right = oracle_ceiling(&oracle, key);

	return list_join(tape, right ? right->key : key, next_byte(tape) % 8 != 0);
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	PLAY_BELOW(90, "insert_hole", play_insert_hole(tape));
	PLAY_BELOW(130, "find_hole", play_find(tape));
	PLAY_BELOW(150, "fill", play_fill(tape));
	if (op < 210 && !oracle.count)
		return 0;
	PLAY_BELOW(193, "erase", play_erase(tape, (enum erase_how)(op % 4)));
	PLAY_BELOW(200, "erase_batch", play_erase_batch(tape));
	PLAY_BELOW(210, "resize", play_resize(tape));
	PLAY_BELOW(220, "insert", list_insert(tape, next_item(tape), INSERT_ITEM));
	PLAY_BELOW(226, "split", list_split(tape, next_key(tape)));
	PLAY_BELOW(229, "join", play_join(tape));
	PLAY_BELOW(236, "erase_range", list_erase_range(tape, next_item(tape)));
	PLAY_BELOW(246, "store_range", list_store_range(tape, next_item(tape)));
	PLAY_BELOW(250, "the index by length", check_lengths(tape));
	PLAY_BELOW(252, "hole_stats", play_stats(tape));
	PLAY("trim", list_trim(tape));
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

static void describe(void)
{
	const struct lath_hole_request *w = &last_request;

	fprintf(stderr,
		"  last request: size %#" PRIx64 " align %#" PRIx64 " in [%#" PRIx64 ", %#" PRIx64
		") below %#" PRIx64 " hint %#" PRIx64 " policy %d, %zu items\n",
		w->size, w->align, w->low, w->high, w->below, w->hint, (int)w->policy,
		oracle.count);
}

const struct tape_plan tape_plan = { 70, 6000, 7, 900, begin, describe };

int tape_run(struct tape *tape)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.flags = LATH_HOLES | (next_byte(tape) % 2 ? LATH_NODE_EACH : 0);
	space = &spaces[next_byte(tape) % (sizeof(spaces) / sizeof(spaces[0]))];
	lath_lengths_least = next_byte(tape) % 4 ? 0 : 64;
	return list_run(tape, &config, NULL, play_one);
}
