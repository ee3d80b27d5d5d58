/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tape.c - see base/tape.h. Below, all figures but keys are in units. */
#include "base/tape.h"

#include <stdlib.h>
#include <string.h>

#include "lathwork/space.h"

#define ARENA 4096u
#define UNITS (3u * ARENA + 700u)
#define HELD 4000u

static const struct shape {
	uint64_t low, unit, below;
} shapes[] = {
	{ 0, 1, 0 },
	{ 4096, 4096, (2ull * ARENA + 50) * 4096 },
	{ 0ull - UNITS * 16ull, 16, 0 }, /* up to the last key */
	{ 3, 1, ARENA },		 /* arenas fit neither at the beginning nor at the end */
};

struct held {
	uint32_t at, units;
};

static const struct shape *shape;
static struct lath_space *space;
static unsigned int flags;
static uint64_t used;
static bool lost;
static size_t count;
static struct held held[HELD];
static uint8_t mark[UNITS];

static uint32_t next_size(struct tape *tape)
{
	uint32_t n = next_byte(tape);

	if (n < 140)
		return n % 9 + 1;
	if (n < 230)
		return 1u << n % 9;
	return (n - 229) * 97;
}

static uint64_t key_of(uint32_t at)
{
	return shape->low + at * shape->unit;
}

static bool is_free(uint32_t at, uint32_t units)
{
	return at <= UNITS && units <= UNITS - at && !memchr(&mark[at], 1, units);
}

/* Is there an aligned place in [from, to) that must be found? */
static bool has_room(uint32_t units, uint64_t align, uint32_t from, uint32_t to)
{
	uint64_t mask = align ? align - 1 : 0, block = ARENA * shape->unit;
	uint32_t at, free = 0;

	for (at = from; at < to; at++) {
		uint64_t key;

		free = mark[at] ? 0 : free + 1;
		if (free < units)
			continue;
		key = key_of(at + 1 - units);
		if (key & mask)
			continue;
		if ((flags & LATH_SPACE_NO_ARENAS) || key / block == key_of(at) / block)
			return true;
	}
	return false;
}

static void set_marks(uint32_t at, uint32_t units, uint8_t to)
{
	memset(&mark[at], to, units);
	used += to ? units : 0ull - units;
}

static int take(struct tape *tape, uint64_t key, uint32_t units, uint64_t align)
{
	uint64_t at = (key - shape->low) / shape->unit;

	EXPECT(tape, (key - shape->low) % shape->unit == 0);
	EXPECT(tape, !align || key % align == 0);
	EXPECT(tape, at < UNITS && is_free((uint32_t)at, units));
	set_marks((uint32_t)at, units, 1);
	held[count++] = (struct held){ (uint32_t)at, units };
	return 0;
}

static int play_alloc(struct tape *tape)
{
	uint32_t units = next_size(tape), kind = next_byte(tape);
	uint64_t align = kind % 3 ? 0 : shape->unit << kind / 3 % 13, key;
	int ret;

	if (count == HELD)
		return 0;
	ret = lath_space_alloc(space, units * shape->unit, align, count, &key);
	if (failed(tape, ret))
		return 0;
	if (ret == -ENOSPC) {
		EXPECT(tape, tape->may_fail || !has_room(units, align, 0, UNITS));
		return 0;
	}
	EXPECT(tape, ret == 0);
	return take(tape, key, units, align);
}

static int play_request(struct tape *tape)
{
	uint32_t units = next_size(tape), kind = next_byte(tape), a = next_number(tape) % UNITS,
		 b = next_number(tape) % UNITS;
	struct lath_hole_request want = { .size = units * shape->unit };
	uint64_t key;
	int ret;

	if (count == HELD || a == b)
		return 0;
	want.low = key_of(a < b ? a : b);
	want.high = key_of(a < b ? b : a);
	want.align = kind & 1 ? shape->unit << kind / 2 % 8 : 0;
	want.policy = (enum lath_hole_policy)(kind / 16 % 5);
	want.hint = want.low;
	ret = lath_space_alloc_request(space, &want, 1, &key);
	if (failed(tape, ret))
		return 0;
	if (ret == -ENOSPC) /* what lies in a used arena is not for requests with limits */
		return 0;
	EXPECT(tape, ret == 0 && key >= want.low && key + (want.size - 1) < want.high);
	return take(tape, key, units, want.align);
}

static int play_reserve(struct tape *tape)
{
	uint32_t at = next_number(tape) % UNITS, units = next_size(tape);
	int ret;

	if (count == HELD || units > UNITS - at)
		return 0;
	ret = lath_space_reserve(space, key_of(at), units * shape->unit, 2);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (is_free(at, units) ? 0 : -EBUSY) || (ret == -EBUSY && tape->may_fail));
	return ret ? 0 : take(tape, key_of(at), units, 0);
}

static int free_part(struct tape *tape, uint32_t at, uint32_t units)
{
	int ret = lath_space_free(space, key_of(at), units * shape->unit);

	EXPECT(tape, ret == 0 || failed(tape, ret));
	if (ret)
		tape->at = tape->end; /* which items of the range are gone is not told: the tape
					   ends */
	else
		set_marks(at, units, 0);
	lost = ret != 0;
	return ret;
}

/* Whole, or a part of it; what stays is held as one range or two. */
static int play_free(struct tape *tape)
{
	uint32_t kind = next_byte(tape), from = 0, units;
	struct held *h, old;
	int ret;

	if (!count)
		return 0;
	h = &held[next_number(tape) * 2654435761u % count];
	old = *h;
	units = old.units;
	if (kind < 60 && old.units > 1) {
		from = kind % old.units;
		units = 1 + kind / 7 % (old.units - from);
	}
	if (from && from + units < old.units && count == HELD)
		return 0;
	ret = free_part(tape, old.at + from, units);
	if (ret)
		return ret == -1 ? -1 : 0;
	if (from) {
		h->units = from;
		if (from + units < old.units)
			held[count++] =
				(struct held){ old.at + from + units, old.units - from - units };
	} else if (units < old.units) {
		*h = (struct held){ old.at + units, old.units - units };
	} else {
		*h = held[--count];
	}
	return 0;
}

/* One size until nothing more fits. */
static int play_fill(struct tape *tape)
{
	uint32_t units = next_size(tape);
	uint64_t key;
	int ret = 0;

	while (count < HELD) {
		ret = lath_space_alloc(space, units * shape->unit, 0, 0, &key);
		if (ret)
			break;
		if (take(tape, key, units, 0))
			return -1;
	}
	EXPECT(tape, ret == 0 || ret == -ENOSPC || failed(tape, ret));
	EXPECT(tape, ret != -ENOSPC || tape->may_fail || !has_room(units, 0, 0, UNITS));
	return 0;
}

static int check(struct tape *tape)
{
	struct lath_space_stats stats;
	char report[200] = "";

	tape->call = report;
	EXPECT(tape, lath_space_verify(space, report, sizeof(report)) == 0);
	lath_space_get_stats(space, &stats);
	/* without memory a part of a range that a magazine held may not find its way back */
	if (tape->may_fail) {
		EXPECT(tape, stats.allocated >= used * shape->unit);
		return 0;
	}
	EXPECT(tape, stats.allocated == used * shape->unit);
	EXPECT(tape, stats.bad_frees == 0);
	return 0;
}

static int play_one(struct tape *tape)
{
	uint32_t op = next_byte(tape);

	if (op < 90)
		PLAY("alloc", play_alloc(tape));
	if (op < 200)
		PLAY("free", play_free(tape));
	if (op < 215)
		PLAY("alloc_request", play_request(tape));
	if (op < 230)
		PLAY("reserve", play_reserve(tape));
	if (op < 240)
		PLAY("fill", play_fill(tape));
	if (op < 244)
		lath_space_trim(space);
	return op < 252 ? 0 : check(tape);
}

static int play_all(struct tape *tape)
{
	while (tape->at < tape->end)
		if (play_one(tape))
			return -1;
	if (lost)
		return 0;
	if (check(tape))
		return -1;
	/* all goes back, and it is one space again */
	tape->call = "free all";
	while (count) {
		struct held h = held[count - 1];
		int ret = free_part(tape, h.at, h.units);

		if (ret == -1)
			return -1;
		if (ret)
			return 0; /* no memory: what is left is forgotten by destroy */
		count--;
	}
	lath_space_trim(space);
	return check(tape);
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	(void)failing;
	bytes[0] = (uint8_t)i; /* every form of the space in turn */
	bytes[1] = (uint8_t)(i / 8);
}

static void describe(void)
{
	fprintf(stderr, "  flags %u\n", flags);
}

const struct tape_plan tape_plan = { 64, 12000, 32, 500, begin, describe };

int tape_run(struct tape *tape)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	int ret;

	flags = next_byte(tape) % 8;
	shape = &shapes[next_byte(tape) % (sizeof(shapes) / sizeof(shapes[0]))];
	used = 0;
	lost = false;
	count = 0;
	memset(mark, 0, sizeof(mark));
	config.low = shape->low;
	config.high = key_of(UNITS);
	config.unit = shape->unit;
	config.below = shape->below;
	config.flags = flags;
	config.allocator = tape->allocator;
	tape->call = "create";
	ret = lath_space_create(&space, &config);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == 0);
	ret = play_all(tape);
	lath_space_destroy(space);
	return ret;
}
