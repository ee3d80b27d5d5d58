/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tape.c - see tape.h. Below, all figures but keys are in units. */
#include "base/tape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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

struct tape {
	const uint8_t *next, *end;
	const struct tape_options *options;
	const struct shape *shape;
	struct lath_space *space;
	unsigned int flags;
	const char *call;
	uint64_t used;
	bool lost;
	size_t count;
	struct held held[HELD];
	uint8_t mark[UNITS];
};

#define EXPECT(tape, condition)                                                               \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "space tape: %s: not so: %s (tape.c:%d, flags %u)\n", \
				(tape)->call, #condition, __LINE__, (tape)->flags);           \
			return -1;                                                            \
		}                                                                             \
	} while (0)

static uint32_t next_byte(struct tape *tape)
{
	return tape->next < tape->end ? *tape->next++ : 0;
}

static uint32_t next_number(struct tape *tape)
{
	uint32_t low = next_byte(tape);

	return low | next_byte(tape) << 8;
}

static uint32_t next_size(struct tape *tape)
{
	uint32_t n = next_byte(tape);

	if (n < 140)
		return n % 9 + 1;
	if (n < 230)
		return 1u << n % 9;
	return (n - 229) * 97;
}

static uint64_t key_of(const struct tape *tape, uint32_t at)
{
	return tape->shape->low + at * tape->shape->unit;
}

static bool failed(const struct tape *tape, int ret)
{
	return ret == -ENOMEM && tape->options->may_fail;
}

static bool is_free(const struct tape *tape, uint32_t at, uint32_t units)
{
	return at <= UNITS && units <= UNITS - at && !memchr(&tape->mark[at], 1, units);
}

/* Is there an aligned place in [from, to) that must be found? */
static bool has_room(const struct tape *tape, uint32_t units, uint64_t align, uint32_t from,
		     uint32_t to)
{
	uint64_t mask = align ? align - 1 : 0, block = ARENA * tape->shape->unit;
	uint32_t at, free = 0;

	for (at = from; at < to; at++) {
		uint64_t key;

		free = tape->mark[at] ? 0 : free + 1;
		if (free < units)
			continue;
		key = key_of(tape, at + 1 - units);
		if (key & mask)
			continue;
		if ((tape->flags & LATH_SPACE_NO_ARENAS) || key / block == key_of(tape, at) / block)
			return true;
	}
	return false;
}

static void set_marks(struct tape *tape, uint32_t at, uint32_t units, uint8_t to)
{
	memset(&tape->mark[at], to, units);
	tape->used += to ? units : 0ull - units;
}

static int take(struct tape *tape, uint64_t key, uint32_t units, uint64_t align)
{
	uint64_t at = (key - tape->shape->low) / tape->shape->unit;

	EXPECT(tape, (key - tape->shape->low) % tape->shape->unit == 0);
	EXPECT(tape, !align || key % align == 0);
	EXPECT(tape, at < UNITS && is_free(tape, (uint32_t)at, units));
	set_marks(tape, (uint32_t)at, units, 1);
	tape->held[tape->count++] = (struct held){ (uint32_t)at, units };
	return 0;
}

static int play_alloc(struct tape *tape)
{
	uint32_t units = next_size(tape), kind = next_byte(tape);
	uint64_t align = kind % 3 ? 0 : tape->shape->unit << kind / 3 % 13, key;
	int ret;

	if (tape->count == HELD)
		return 0;
	ret = lath_space_alloc(tape->space, units * tape->shape->unit, align, tape->count, &key);
	if (failed(tape, ret))
		return 0;
	if (ret == -ENOSPC) {
		EXPECT(tape, tape->options->may_fail || !has_room(tape, units, align, 0, UNITS));
		return 0;
	}
	EXPECT(tape, ret == 0);
	return take(tape, key, units, align);
}

static int play_request(struct tape *tape)
{
	uint32_t units = next_size(tape), kind = next_byte(tape), a = next_number(tape) % UNITS,
		 b = next_number(tape) % UNITS;
	struct lath_hole_request want = { .size = units * tape->shape->unit };
	uint64_t key;
	int ret;

	if (tape->count == HELD || a == b)
		return 0;
	want.low = key_of(tape, a < b ? a : b);
	want.high = key_of(tape, a < b ? b : a);
	want.align = kind & 1 ? tape->shape->unit << kind / 2 % 8 : 0;
	want.policy = (enum lath_hole_policy)(kind / 16 % 5);
	want.hint = want.low;
	ret = lath_space_alloc_request(tape->space, &want, 1, &key);
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

	if (tape->count == HELD || units > UNITS - at)
		return 0;
	ret = lath_space_reserve(tape->space, key_of(tape, at), units * tape->shape->unit, 2);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == (is_free(tape, at, units) ? 0 : -EBUSY) ||
			     (ret == -EBUSY && tape->options->may_fail));
	return ret ? 0 : take(tape, key_of(tape, at), units, 0);
}

static int free_part(struct tape *tape, uint32_t at, uint32_t units)
{
	int ret = lath_space_free(tape->space, key_of(tape, at), units * tape->shape->unit);

	EXPECT(tape, ret == 0 || failed(tape, ret));
	if (ret)
		tape->next = tape->end; /* which items of the range are gone is not told: the tape
					   ends */
	else
		set_marks(tape, at, units, 0);
	tape->lost = ret != 0;
	return ret;
}

/* Whole, or a part of it; what stays is held as one range or two. */
static int play_free(struct tape *tape)
{
	uint32_t kind = next_byte(tape), from = 0, units;
	struct held *h, old;
	int ret;

	if (!tape->count)
		return 0;
	h = &tape->held[next_number(tape) * 2654435761u % tape->count];
	old = *h;
	units = old.units;
	if (kind < 60 && old.units > 1) {
		from = kind % old.units;
		units = 1 + kind / 7 % (old.units - from);
	}
	if (from && from + units < old.units && tape->count == HELD)
		return 0;
	ret = free_part(tape, old.at + from, units);
	if (ret)
		return ret == -1 ? -1 : 0;
	if (from) {
		h->units = from;
		if (from + units < old.units)
			tape->held[tape->count++] =
				(struct held){ old.at + from + units, old.units - from - units };
	} else if (units < old.units) {
		*h = (struct held){ old.at + units, old.units - units };
	} else {
		*h = tape->held[--tape->count];
	}
	return 0;
}

/* One size until nothing more fits. */
static int play_fill(struct tape *tape)
{
	uint32_t units = next_size(tape);
	uint64_t key;
	int ret = 0;

	while (tape->count < HELD) {
		ret = lath_space_alloc(tape->space, units * tape->shape->unit, 0, 0, &key);
		if (ret)
			break;
		if (take(tape, key, units, 0))
			return -1;
	}
	EXPECT(tape, ret == 0 || ret == -ENOSPC || failed(tape, ret));
	EXPECT(tape,
	       ret != -ENOSPC || tape->options->may_fail || !has_room(tape, units, 0, 0, UNITS));
	return 0;
}

static int check(struct tape *tape)
{
	struct lath_space_stats stats;
	char report[200] = "";

	tape->call = report;
	EXPECT(tape, lath_space_verify(tape->space, report, sizeof(report)) == 0);
	lath_space_get_stats(tape->space, &stats);
	/* without memory a part of a range that a magazine held may not find its way back */
	if (tape->options->may_fail) {
		EXPECT(tape, stats.allocated >= tape->used * tape->shape->unit);
		return 0;
	}
	EXPECT(tape, stats.allocated == tape->used * tape->shape->unit);
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
		lath_space_trim(tape->space);
	return op < 252 ? 0 : check(tape);
}

static int play_all(struct tape *tape)
{
	while (tape->next < tape->end)
		if (play_one(tape))
			return -1;
	if (tape->lost)
		return 0;
	if (check(tape))
		return -1;
	/* all goes back, and it is one space again */
	tape->call = "free all";
	while (tape->count) {
		struct held h = tape->held[tape->count - 1];
		int ret = free_part(tape, h.at, h.units);

		if (ret == -1)
			return -1;
		if (ret)
			return 0; /* no memory: what is left is forgotten by destroy */
		tape->count--;
	}
	lath_space_trim(tape->space);
	return check(tape);
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	(void)failing;
	bytes[0] = (uint8_t)i; /* every form of the space in turn */
	bytes[1] = (uint8_t)(i / 8);
}

const struct tape_plan tape_plan = { 64, 12000, 32, 500, begin };

int tape_run(const uint8_t *bytes, size_t size, const struct tape_options *options)
{
	struct tape *tape = calloc(1, sizeof(*tape));
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	int ret;

	if (!tape)
		return 0;
	tape->next = bytes;
	tape->end = bytes + size;
	tape->options = options;
	tape->flags = next_byte(tape) % 8;
	tape->shape = &shapes[next_byte(tape) % (sizeof(shapes) / sizeof(shapes[0]))];
	config.low = tape->shape->low;
	config.high = key_of(tape, UNITS);
	config.unit = tape->shape->unit;
	config.below = tape->shape->below;
	config.flags = tape->flags;
	config.allocator = options->allocator;
	tape->call = "create";
	ret = lath_space_create(&tape->space, &config);
	if (!ret) {
		ret = play_all(tape);
		lath_space_destroy(tape->space);
	} else if (failed(tape, ret)) {
		ret = 0;
	}
	free(tape);
	return ret;
}
