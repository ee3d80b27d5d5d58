/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see base/tape.h. A set of intervals against an array of them: every search is compared
 * as a bag, for the order is the set's.
 */
#include "base/tape.h"

#include <stdlib.h>
#include <string.h>

#include "lathwork/interval.h"

#define MOST 1500u

/* Where the intervals of a tape lie: units of `unit` keys from `low` on. */
struct space {
	uint64_t low, unit, units;
};

static const struct space spaces[] = {
	{ 0, 1, 64 },		  /* many equal ones */
	{ 0, 1, 2000 },		  /* from the first key on */
	{ ~0ull - 999, 1, 1000 }, /* up to the last one */
	{ 4096, 4096, 500 },	  /* pages */
	{ 0, 1ull << 54, 1024 },  /* all keys */
};

static struct lath_intervals set;
static struct lath_interval model[MOST], found[MOST + 8], expected[MOST];
static size_t count;
static const struct space *space;
static bool closed;

static uint64_t next_key(struct tape *tape)
{
	return space->low + next_number(tape) % space->units * space->unit;
}

/* The last key of an interval, from its end. */
static uint64_t last_of(const struct lath_interval *i)
{
	return closed ? i->end : i->end - 1;
}

/* Lengths of every class; few empty ones. */
static struct lath_interval next_interval(struct tape *tape)
{
	uint64_t first = next_key(tape), n = next_byte(tape), span = 0, room = ~0ull - first;
	struct lath_interval i = { .first = first, .value = next_byte(tape) % 4 };

	if (n < 150)
		span = n % 8 * space->unit;
	else if (n < 254)
		span = ((uint64_t)1 << n % 63) + next_byte(tape);
	else
		span = ~0ull;
	span = span < room ? span : room;
	i.end = first + span + !closed;
	if (n == 253) /* empty, unless it begins at 0 */
		i.end = first - closed;
	return i;
}

static bool empty(const struct lath_interval *i)
{
	return last_of(i) < i->first;
}

static int compare(const void *left, const void *right)
{
	const struct lath_interval *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

enum how { STAB, OVERLAP, WITHIN, ALL };

static bool matches(const struct lath_interval *i, enum how how, const struct lath_interval *with)
{
	if (how == ALL)
		return true;
	if (how == STAB)
		return i->first <= with->first && with->first <= last_of(i);
	if (empty(with))
		return false;
	if (how == OVERLAP)
		return i->first <= last_of(with) && with->first <= last_of(i);
	return with->first <= i->first && last_of(i) <= last_of(with);
}

/* Fill `expected`, sorted. Returns their number. */
static size_t expect(enum how how, const struct lath_interval *with)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (matches(&model[i], how, with))
			expected[n++] = model[i];
	qsort(expected, n, sizeof(*expected), compare);
	return n;
}

static int play_insert(struct tape *tape, struct lath_interval i)
{
	int ret;

	if (count == MOST)
		return 0;
	ret = lath_intervals_insert(&set, &i);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (empty(&i) ? -EINVAL : 0));
	if (!ret)
		model[count++] = i;
	return 0;
}

/* Several with one first key: most go into a list. */
static int play_many(struct tape *tape)
{
	struct lath_interval i = next_interval(tape);
	unsigned int n = next_byte(tape) % 32, ret = 0;

	for (; n && !ret; n--, i.value++) {
		if (n % 4 == 0 && !empty(&i) && last_of(&i) < ~0ull)
			i.end++;
		ret = (unsigned int)play_insert(tape, i);
	}
	return (int)ret;
}

static int play_erase(struct tape *tape, struct lath_interval i)
{
	int ret = lath_intervals_erase(&set, &i);
	size_t at;

	for (at = 0; at < count; at++)
		if (!compare(&model[at], &i))
			break;
	EXPECT(tape, ret == (at < count ? 0 : -ENOENT));
	if (!ret)
		model[at] = model[--count];
	return 0;
}

static void count_gone(void *arg, const struct lath_interval *interval)
{
	(void)interval;
	++*(size_t *)arg;
}

static int play_clear(struct tape *tape)
{
	size_t gone = 0;

	EXPECT(tape, lath_intervals_clear(&set, count_gone, &gone) == count && gone == count);
	EXPECT(tape, !lath_intervals_count(&set));
	count = 0;
	return 0;
}

static struct lath_interval some_interval(struct tape *tape)
{
	uint64_t n = next_number(tape);

	return count ? model[n * 0x9e3779b9u % count] : next_interval(tape);
}

static size_t search(enum how how, const struct lath_interval *with, size_t max)
{
	if (how == STAB)
		return lath_intervals_stab(&set, with->first, found, max);
	if (how == OVERLAP)
		return lath_intervals_overlap(&set, with->first, with->end, found, max);
	return lath_intervals_within(&set, with->first, with->end, found, max);
}

static int play_search(struct tape *tape)
{
	struct lath_interval with = next_interval(tape);
	enum how how = (enum how)(next_byte(tape) % 3);
	size_t n = expect(how, &with), few = next_byte(tape) % 8, i;

	EXPECT(tape, search(how, &with, MOST + 8) == n);
	qsort(found, n, sizeof(*found), compare);
	EXPECT(tape, !memcmp(found, expected, n * sizeof(*found)));
	EXPECT(tape,
	       how != OVERLAP || lath_intervals_count_overlap(&set, with.first, with.end) == n);
	EXPECT(tape, search(how, &with, few) == (n < few ? n : few));
	for (i = 0; i < few && i < n; i++)
		EXPECT(tape, matches(&found[i], how, &with));
	return 0;
}

/* Through an iterator: one by one, and in pieces of any size. */
static int play_iterate(struct tape *tape)
{
	struct lath_interval with = next_interval(tape);
	enum how how = (enum how)(next_byte(tape) % 4);
	size_t n = expect(how, &with), m = 0, got = 1;
	struct lath_interval_iter iter;

	if (how == STAB)
		lath_interval_iter_stab(&iter, &set, with.first);
	else if (how == OVERLAP)
		lath_interval_iter_overlap(&iter, &set, with.first, with.end);
	else if (how == WITHIN)
		lath_interval_iter_within(&iter, &set, with.first, with.end);
	else
		lath_interval_iter_all(&iter, &set);
	while (got && m <= n) {
		size_t piece = next_byte(tape) % 24;

		piece = piece < MOST + 8 - m ? piece : MOST + 8 - m;
		if (piece)
			got = lath_interval_next_batch(&iter, &found[m], piece);
		else
			got = (size_t)lath_interval_next(&iter, &found[m]);
		m += got;
	}
	EXPECT(tape, m == n);
	qsort(found, n, sizeof(*found), compare);
	EXPECT(tape, !memcmp(found, expected, n * sizeof(*found)));
	return 0;
}

/* How far it is; *behind: it begins behind the point. */
static uint64_t distance(const struct lath_interval *i, uint64_t point, bool *behind)
{
	*behind = i->first > point;
	if (*behind)
		return i->first - point;
	return last_of(i) < point ? point - last_of(i) : 0;
}

static int play_nearest(struct tape *tape)
{
	uint64_t point = next_key(tape) + next_byte(tape) % 3 - 1, best = ~0ull;
	bool best_behind = true, behind;
	struct lath_interval near;
	size_t i;
	int ret = lath_intervals_nearest(&set, point, &near);

	EXPECT(tape, ret == (count ? 0 : -ENOENT));
	if (ret)
		return 0;
	for (i = 0; i < count; i++) {
		uint64_t d = distance(&model[i], point, &behind);

		if (d < best || (d == best && best_behind)) {
			best = d;
			best_behind = behind;
		}
	}
	EXPECT(tape, distance(&near, point, &behind) == best && behind == best_behind);
	for (i = 0; i < count; i++)
		if (!compare(&model[i], &near))
			return 0;
	EXPECT(tape, !"the nearest one is in the set");
	return 0;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	PLAY_BELOW(90, "insert", play_insert(tape, next_interval(tape)));
	PLAY_BELOW(100, "insert many", play_many(tape));
	PLAY_BELOW(155, "erase", play_erase(tape, some_interval(tape)));
	PLAY_BELOW(165, "erase", play_erase(tape, next_interval(tape)));
	PLAY_BELOW(200, "search", play_search(tape));
	PLAY_BELOW(230, "iterate", play_iterate(tape));
	PLAY_BELOW(255, "nearest", play_nearest(tape));
	PLAY("clear", play_clear(tape));
}

static int check(struct tape *tape)
{
	struct lath_intervals_stats stats;
	char report[200] = "";

	if (lath_intervals_verify(&set, report, sizeof(report)))
		fprintf(stderr, "%s\n", report);
	EXPECT(tape, !*report);
	EXPECT(tape, lath_intervals_count(&set) == count);
	lath_intervals_get_stats(&set, &stats);
	EXPECT(tape, stats.items == count && stats.bytes >= sizeof(set));
	EXPECT(tape, stats.listed >= stats.lists);
	return 0;
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)((failing ? 1 : i % 2) | (i / 2 % 2) << 1);
	bytes[1] = (uint8_t)(i % 5);
}

const struct tape_plan tape_plan = { 300, 6000, 20, 1200, begin, NULL };

static void count_down(void *arg, const struct lath_interval *interval)
{
	(void)interval;
	--*(size_t *)arg;
}

int tape_run(struct tape *tape)
{
	struct lath_config config = LATH_CONFIG_INIT;
	uint8_t kind = next_byte(tape);
	size_t left;
	int ret;

	config.flags = kind % 2 ? LATH_NODE_EACH : 0;
	config.allocator = tape->allocator;
	closed = kind / 2 % 2;
	space = &spaces[next_byte(tape) % (sizeof(spaces) / sizeof(spaces[0]))];
	count = 0;
	tape->call = "init";
	EXPECT(tape, !lath_intervals_init(&set, closed ? LATH_CLOSED : LATH_HALF_OPEN, &config));
	ret = tape_play(tape, play_one, check);
	left = count;
	lath_intervals_fini(&set, count_down, &left);
	tape->call = "fini";
	EXPECT(tape, ret || !left);
	return ret;
}
