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

/* The units are cut into this many segments, adjacent ones. */
#define PIECES 4

struct piece {
	uint32_t at, end;
	int number; /* of the segment; -1: not in use */
	bool draining;
	uint32_t limit, used; /* limit 0: none */
};

static const struct shape *shape;
static struct lath_space *space;
static unsigned int flags;
static uint64_t used;
static bool lost;
static size_t count;
static struct held held[HELD];
static uint8_t mark[UNITS];
static struct piece piece[PIECES];
static unsigned int pieces;

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

/* Returns the piece in use that contains all these units, or NULL. */
static struct piece *piece_of(uint32_t at, uint32_t units)
{
	unsigned int i;

	for (i = 0; i < pieces; i++)
		if (piece[i].number >= 0 && at >= piece[i].at && at < piece[i].end)
			return units <= piece[i].end - at ? &piece[i] : NULL;
	return NULL;
}

static bool takes(const struct piece *p, uint32_t units, uint64_t segments)
{
	return p->number >= 0 && !p->draining && segments >> p->number & 1 &&
	       (!p->limit || (p->used <= p->limit && units <= p->limit - p->used));
}

/* Is there an aligned place in a segment, in the units below `end`, that must be found? */
static bool has_room(uint32_t units, uint64_t align, uint64_t segments, uint32_t end)
{
	uint64_t mask = align ? align - 1 : 0, block = ARENA * shape->unit;
	unsigned int i;
	uint32_t at, free;

	for (i = 0; i < pieces; i++) {
		if (!takes(&piece[i], units, segments))
			continue;
		for (free = 0, at = piece[i].at; at < piece[i].end && at < end; at++) {
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
	}
	return false;
}

/* The units are within one segment. */
static void set_marks(uint32_t at, uint32_t units, uint8_t to)
{
	uint32_t by = to ? units : 0u - units;

	memset(&mark[at], to, units);
	used += to ? units : 0ull - units;
	piece_of(at, units)->used += by;
}

static int take(struct tape *tape, uint64_t key, uint32_t units, uint64_t align, uint64_t segments)
{
	uint64_t at = (key - shape->low) / shape->unit;
	const struct piece *in;

	EXPECT(tape, (key - shape->low) % shape->unit == 0);
	EXPECT(tape, !align || key % align == 0);
	EXPECT(tape, at < UNITS && is_free((uint32_t)at, units));
	in = piece_of((uint32_t)at, units);
	EXPECT(tape, in && takes(in, units, segments));
	EXPECT(tape, lath_space_segment_of(space, key) == in->number);
	set_marks((uint32_t)at, units, 1);
	held[count++] = (struct held){ (uint32_t)at, units };
	return 0;
}

static int play_alloc(struct tape *tape)
{
	uint32_t units = next_size(tape), kind = next_byte(tape);
	uint64_t align = kind % 3 ? 0 : shape->unit << kind / 3 % 13, segments = ~0ull, key;
	uint32_t end = UNITS;
	int ret;

	if (count == HELD)
		return 0;
	if (kind & 0x80 && pieces > 1) {
		segments = next_byte(tape);
		ret = lath_space_alloc_in(space, segments, units * shape->unit, align, count, &key);
	} else if (kind & 0x40) {
		end -= next_number(tape) % UNITS;
		ret = lath_space_alloc_below(space, key_of(end), units * shape->unit, align, count,
					     &key);
		EXPECT(tape, ret || key + (units * shape->unit - 1) <= key_of(end) - 1);
	} else {
		ret = lath_space_alloc(space, units * shape->unit, align, count, &key);
	}
	if (failed(tape, ret))
		return 0;
	if (ret == -ENOSPC) {
		EXPECT(tape, tape->may_fail || !has_room(units, align, segments, end));
		return 0;
	}
	EXPECT(tape, ret == 0);
	return take(tape, key, units, align, segments);
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
	return take(tape, key, units, want.align, ~0ull);
}

static int play_reserve(struct tape *tape)
{
	uint32_t at = next_number(tape) % UNITS, units = next_size(tape);
	const struct piece *in = piece_of(at, units);
	int ret;

	if (count == HELD)
		return 0;
	ret = lath_space_reserve(space, key_of(at), units * shape->unit, 2);
	if (failed(tape, ret))
		return 0;
	if (!in || !takes(in, units, ~0ull)) {
		EXPECT(tape, ret == (in ? -ENOSPC : -EINVAL));
		return 0;
	}
	EXPECT(tape, ret == (is_free(at, units) ? 0 : -EBUSY) || (ret == -EBUSY && tape->may_fail));
	return ret ? 0 : take(tape, key_of(at), units, 0, ~0ull);
}

/* The first run from `at` on that is marked so, within one piece in use. Returns whether there is
 * one. */
static bool run_from(uint32_t at, uint8_t marked, struct held *run)
{
	for (; at < UNITS; at++) {
		const struct piece *in = piece_of(at, 1);

		if (!in || mark[at] != marked)
			continue;
		*run = (struct held){ at, 0 };
		while (at < in->end && mark[at] == marked)
			at++;
		run->units = at - run->at;
		return true;
	}
	return false;
}

static int expect_run(struct tape *tape, struct lath_space *in, uint32_t at, uint8_t marked,
		      struct held *run)
{
	struct lath_item found = { .size = 1 };
	bool is = run_from(at, marked, run);
	int ret = marked ? lath_space_next(in, key_of(at), &found)
			 : lath_space_next_free(in, key_of(at), &found);

	EXPECT(tape, ret == (is ? 0 : -ENOENT));
	if (is)
		EXPECT(tape, found.key == key_of(run->at) &&
				     found.size == run->units * shape->unit && !found.value);
	return 0;
}

/* Some runs, one behind the other. Without memory a wrongly kept part may not be known. */
static int play_next(struct tape *tape)
{
	uint32_t at = next_number(tape) % UNITS, n = next_byte(tape) % 16;
	struct held run;

	for (; n && at < UNITS && !tape->may_fail; n--, at = run.at + run.units) {
		if (expect_run(tape, space, at, n & 1, &run))
			return -1;
		if (!run_from(at, n & 1, &run))
			return 0;
	}
	return 0;
}

static uint8_t stream[1u << 16];
static size_t streamed, taken;

static int write_stream(void *arg, const void *data, size_t size)
{
	if (size > (size_t)(*(uint8_t *)arg + 1) << 8 || size > sizeof(stream) - streamed)
		return -EIO;
	memcpy(stream + streamed, data, size);
	streamed += size;
	return 0;
}

/* In pieces, as a pipe does. */
static int64_t read_stream(void *arg, void *data, size_t size)
{
	size_t most = *(uint8_t *)arg * 4u + 1;

	size = size < most ? size : most;
	size = size < streamed - taken ? size : streamed - taken;
	memcpy(data, stream + taken, size);
	taken += size;
	return (int64_t)size;
}

/* Opens a space with the segments of this one, but other flags. */
static int open_other(struct tape *tape, unsigned int other_flags, struct lath_space **other)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	unsigned int i;
	int ret;

	config.unit = shape->unit;
	config.flags = other_flags;
	config.allocator = tape->allocator;
	for (i = 0, *other = NULL; i < pieces; i++) {
		if (piece[i].number < 0)
			continue;
		config.low = key_of(piece[i].at);
		config.high = key_of(piece[i].end);
		ret = *other ? lath_space_add_segment(*other, config.low, config.high - config.low,
						      piece[i].used * shape->unit)
			     : lath_space_create(other, &config);
		if (failed(tape, ret)) {
			lath_space_destroy(*other);
			*other = NULL;
			return 0;
		}
		EXPECT(tape, ret >= 0);
	}
	return 0;
}

/* Loads the stream, perhaps with a byte changed or the end missing, and compares. */
static int play_load(struct tape *tape, struct lath_space *other)
{
	uint8_t chunk = next_byte(tape), damage = next_byte(tape);
	size_t at = streamed * next_byte(tape) / 256;
	struct lath_space_stats stats;
	struct lath_item all;
	char report[100];
	struct held run;
	int ret;

	taken = 0;
	if (damage % 4 == 1)
		stream[at] ^= (uint8_t)(1 | damage);
	if (damage % 4 == 2)
		streamed = at;
	ret = lath_space_load(other, read_stream, &chunk, 9, report, sizeof(report));
	if (failed(tape, ret))
		return 0;
	lath_space_get_stats(other, &stats);
	EXPECT(tape, lath_space_verify(other, NULL, 0) == 0);
	if (damage % 4 == 1 || damage % 4 == 2) {
		EXPECT(tape, ret == -EBADMSG && *report && (!stats.allocated || tape->may_fail));
		return 0;
	}
	EXPECT(tape, ret == 0 && !*report && taken == streamed);
	EXPECT(tape, stats.allocated == used * shape->unit);
	for (run.at = run.units = 0; run_from(run.at + run.units, 1, &run);)
		if (expect_run(tape, other, run.at, 1, &run))
			return -1;
	ret = lath_space_load(other, read_stream, &chunk, 9, NULL, 0);
	EXPECT(tape, ret == (used ? -EBUSY : -EBADMSG) || failed(tape, ret));
	while (lath_space_next(other, 0, &all) == 0) {
		ret = lath_space_free(other, all.key, all.size);
		EXPECT(tape, ret == 0 || failed(tape, ret));
		if (ret)
			return 0;
	}
	return 0;
}

static int play_save(struct tape *tape)
{
	uint8_t kind = next_byte(tape);
	struct lath_space *other;
	int ret;

	streamed = 0;
	if (tape->may_fail && lost)
		return 0;
	ret = lath_space_save(space, write_stream, &kind);
	if (failed(tape, ret))
		return 0;
	if (ret == -EIO) /* the stream takes no more */
		return 0;
	EXPECT(tape, ret == 0);
	if (open_other(tape, next_byte(tape) % 16, &other))
		return -1;
	ret = other ? play_load(tape, other) : 0;
	lath_space_destroy(other);
	return ret;
}

static int expect_piece(struct tape *tape, const struct piece *p)
{
	struct lath_space_segment stats;

	EXPECT(tape, lath_space_segment_stats(space, (unsigned int)p->number, &stats) == 0);
	EXPECT(tape, stats.low == key_of(p->at) && stats.high == key_of(p->end));
	EXPECT(tape, stats.limit == p->limit * shape->unit && stats.draining == p->draining);
	EXPECT(tape, stats.allocated == p->used * shape->unit || tape->may_fail);
	EXPECT(tape, stats.keys == (p->end - p->at) * shape->unit);
	return 0;
}

/* Adds, removes, drains or limits a segment. */
static int play_segment(struct tape *tape)
{
	uint32_t kind = next_byte(tape);
	struct piece *p = &piece[kind / 4 % PIECES];
	int ret;

	if (p >= piece + pieces)
		return 0;
	if (p->number < 0) {
		ret = lath_space_add_segment(space, key_of(p->at), (p->end - p->at) * shape->unit,
					     0);
		if (failed(tape, ret))
			return 0;
		EXPECT(tape, ret >= 0 && ret < PIECES);
		p->number = ret;
		p->limit = 0;
		p->draining = false;
	} else if (kind % 4 == 0) {
		p->limit = next_number(tape) % 8192 / 2;
		EXPECT(tape, lath_space_limit_segment(space, (unsigned int)p->number,
						      p->limit * shape->unit) == 0);
	} else if (kind % 4 == 1) {
		p->draining = !p->draining;
		EXPECT(tape,
		       lath_space_drain_segment(space, (unsigned int)p->number, p->draining) == 0);
	} else if (kind % 4 == 2) {
		EXPECT(tape,
		       lath_space_add_segment(space, key_of(p->at), shape->unit, 0) == -EEXIST ||
			       tape->may_fail);
	} else {
		ret = lath_space_remove_segment(space, (unsigned int)p->number);
		EXPECT(tape, ret == (p->draining && !p->used ? 0 : -EBUSY) || tape->may_fail);
		if (!ret)
			p->number = -1;
	}
	return p->number < 0 ? 0 : expect_piece(tape, p);
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
		if (take(tape, key, units, 0, ~0ull))
			return -1;
	}
	EXPECT(tape, ret == 0 || ret == -ENOSPC || failed(tape, ret));
	EXPECT(tape, ret != -ENOSPC || tape->may_fail || !has_room(units, 0, ~0ull, UNITS));
	return 0;
}

static int check(struct tape *tape)
{
	struct lath_space_stats stats;
	uint64_t units = 0, in_use = 0;
	char report[200] = "";
	unsigned int i;

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
	for (i = 0; i < pieces; i++) {
		if (piece[i].number < 0)
			continue;
		in_use++;
		units += piece[i].end - piece[i].at;
		if (expect_piece(tape, &piece[i]))
			return -1;
	}
	EXPECT(tape, stats.segments == in_use && stats.free == (units - used) * shape->unit);
	return 0;
}

static int play_one(struct tape *tape)
{
	uint32_t op = next_byte(tape);

	PLAY_BELOW(85, "alloc", play_alloc(tape));
	PLAY_BELOW(185, "free", play_free(tape));
	PLAY_BELOW(198, "alloc_request", play_request(tape));
	PLAY_BELOW(212, "reserve", play_reserve(tape));
	PLAY_BELOW(220, "fill", play_fill(tape));
	PLAY_BELOW(232, "next", play_next(tape));
	PLAY_BELOW(242, "segment", play_segment(tape));
	PLAY_BELOW(246, "save", play_save(tape));
	if (op < 248)
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
	bytes[1] = (uint8_t)(i / 16);
	bytes[2] = (uint8_t)(i / 2);
}

static void describe(void)
{
	fprintf(stderr, "  flags %u\n", flags);
}

const struct tape_plan tape_plan = { 64, 12000, 20, 500, begin, describe, NULL };

/* Cuts the units into adjacent segments; the first is the one that the space begins with. Returns
 * -1 if the tape ends here. */
static int open_segments(struct tape *tape, unsigned int n)
{
	static const uint32_t cut[PIECES] = { ARENA + 300, 2 * ARENA, 2 * ARENA + 900, UNITS };
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	int ret;

	memset(piece, 0, sizeof(piece));
	for (pieces = 0; pieces < n; pieces++)
		piece[pieces] = (struct piece){ .at = pieces ? cut[pieces - 1] : 0,
						.end = pieces == n - 1 ? UNITS : cut[pieces],
						.number = pieces ? -1 : 0 };
	config.low = shape->low;
	config.high = key_of(piece[0].end);
	config.unit = shape->unit;
	config.below = shape->below;
	config.flags = flags;
	config.allocator = tape->allocator;
	tape->call = "create";
	ret = lath_space_create(&space, &config);
	if (failed(tape, ret)) {
		tape->at = tape->end;
		return 0;
	}
	EXPECT(tape, ret == 0);
	for (n = 1; n < pieces; n++) {
		ret = lath_space_add_segment(space, key_of(piece[n].at),
					     (piece[n].end - piece[n].at) * shape->unit, 0);
		if (failed(tape, ret))
			continue;
		EXPECT(tape, ret > 0 && ret <= (int)n);
		piece[n].number = ret;
	}
	return 0;
}

int tape_run(struct tape *tape)
{
	int ret;

	flags = next_byte(tape) % 32;
	shape = &shapes[next_byte(tape) % (sizeof(shapes) / sizeof(shapes[0]))];
	used = 0;
	lost = false;
	count = 0;
	memset(mark, 0, sizeof(mark));
	space = NULL;
	ret = open_segments(tape, 1 + next_byte(tape) % PIECES);
	if (!ret && space)
		ret = play_all(tape);
	lath_space_destroy(space);
	return ret;
}
