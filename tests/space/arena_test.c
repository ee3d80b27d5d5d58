/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena_test.c - one arena, random calls: after each of them its grades and bounds agree with its
 * bitmap, and what it serves or refuses is what a search unit by unit finds.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "space/source/arena.h"

static struct {
	struct arena arena;
	u8 shown;
	u16 most[ARENA_ORDERS];
	bool taken[ARENA_UNITS];
	struct {
		u64 unit, n;
	} held[ARENA_UNITS];
	unsigned int count;
	u64 random;
} t;

static void begin(bool dense, u64 seed)
{
	memset(&t, 0, sizeof(t));
	t.random = seed * 0x9e3779b97f4a7c15ull | 1;
	lath_spin_init(&t.arena.lock);
	t.arena.block = NO_BLOCK;
	t.arena.dense = dense;
	t.arena.shown = &t.shown;
	t.arena.most = t.most;
	lath_spin_lock(&t.arena.lock);
	lath_arena_open(&t.arena, 7);
}

/* Returns whether n units from `unit` on are all taken (`taken`), or all free. */
static bool all(u64 unit, u64 n, bool taken)
{
	for (; n; n--)
		if (t.taken[unit++] != taken)
			return false;
	return true;
}

static void hold(u64 unit, u64 n)
{
	assert(n && unit + n <= ARENA_UNITS && all(unit, n, false));
	memset(&t.taken[unit], true, n);
	t.held[t.count].unit = unit;
	t.held[t.count++].n = n;
}

/* Returns the first place for n units at a multiple of align within [first, last], or -1. */
static long place(u64 n, u64 align, u64 first, u64 last)
{
	for (first = (first + align - 1) & ~(align - 1); first + n - 1 <= last; first += align)
		if (all(first, n, false))
			return (long)first;
	return -1;
}

static u64 size(void)
{
	return 1 + draw(&t.random, 1ull << draw(&t.random, 11));
}

/* By grades: above 32 units a search may miss a fit that is less than a sixteenth longer. */
static void take(u64 n)
{
	u64 natural = 1ull << log2_up(n), unit;

	if (lath_arena_alloc_units(&t.arena, n, n, &unit)) {
		assert(t.arena.dense || !(unit & (natural - 1)));
		hold(unit, n);
	} else if (!t.arena.dense && (n <= 32 || n == natural)) {
		assert(place(n, natural, 0, ARENA_UNITS - 1) < 0);
	}
}

static void take_within(u64 n)
{
	u64 align = 1ull << draw(&t.random, ARENA_ORDERS), first = 0, last = ARENA_UNITS - 1, unit;
	long expected;

	if (draw(&t.random, 4) == 0) {
		first = draw(&t.random, ARENA_UNITS);
		last = first + draw(&t.random, ARENA_UNITS - first);
	}
	expected = place(n, align, first, last);
	if (lath_arena_alloc_within(&t.arena, n, align, first, last, &unit)) {
		assert((long)unit == expected);
		hold(unit, n);
	} else {
		assert(expected < 0);
	}
}

static void take_blocks(void)
{
	unsigned int order = t.arena.dense ? 0 : draw(&t.random, 7), got, i;
	u64 unit[8];

	got = lath_arena_alloc_blocks(&t.arena, order, 8, unit);
	for (i = 0; i < got; i++)
		hold(unit[i], 1ull << order);
	if (got < 8)
		assert(place(1ull << order, 1ull << order, 0, ARENA_UNITS - 1) < 0);
}

/* Exactly these units, free or not. */
static void take_at(u64 n)
{
	u64 unit = draw(&t.random, ARENA_UNITS - n + 1);
	bool free = all(unit, n, false);

	assert(lath_arena_reserve(&t.arena, unit, n) == free);
	if (free)
		hold(unit, n);
}

/* Frees a held run, or only the front or the back of it, or more than that, which is refused. */
static void give(void)
{
	unsigned int i = draw(&t.random, t.count), how = draw(&t.random, 4);
	u64 unit = t.held[i].unit, n = t.held[i].n, part = 1 + draw(&t.random, n);

	if (unit + n < ARENA_UNITS && !t.taken[unit + n])
		assert(!lath_arena_free_units(&t.arena, unit, n + 1));
	if (how == 0 && part < n) {
		assert(lath_arena_free_units(&t.arena, unit, part));
		memset(&t.taken[unit], false, part);
		t.held[i].unit += part;
		t.held[i].n -= part;
		return;
	}
	if (how == 1 && part < n) {
		assert(lath_arena_free_units(&t.arena, unit + n - part, part));
		memset(&t.taken[unit + n - part], false, part);
		t.held[i].n -= part;
		return;
	}
	assert(lath_arena_free_units(&t.arena, unit, n));
	memset(&t.taken[unit], false, n);
	t.held[i] = t.held[--t.count];
}

static void run(bool dense, u64 seed)
{
	unsigned int i, fill = 1;

	begin(dense, seed);
	for (i = 0; i < 4000; i++) {
		unsigned int call = draw(&t.random, 6);

		if (i % 500 == 0)
			fill = draw(&t.random, 3); /* the arena empties, stays, or fills */
		if (t.count && draw(&t.random, 3) >= fill)
			give();
		if (call < 2)
			take(size());
		else if (call < 4)
			take_within(size());
		else if (call == 4)
			take_blocks();
		else
			take_at(size());
		assert(lath_arena_sound(&t.arena));
	}
	while (t.count)
		give();
	assert(lath_arena_sound(&t.arena) && t.arena.free == ARENA_UNITS);
	lath_spin_unlock(&t.arena.lock);
}

/* Whole words are free; then what lies behind them, or in front, is freed too. */
static void run_grows(void)
{
	begin(false, 1);
	assert(lath_arena_reserve(&t.arena, 0, ARENA_UNITS) && lath_arena_sound(&t.arena));
	assert(lath_arena_free_units(&t.arena, 256, 128) && lath_arena_sound(&t.arena));
	assert(lath_arena_free_units(&t.arena, 384, 32) && lath_arena_sound(&t.arena) &&
	       t.shown == grade_needed(160));
	assert(lath_arena_free_units(&t.arena, 248, 8) && lath_arena_sound(&t.arena));
	lath_spin_unlock(&t.arena.lock);
}

int main(void)
{
	u64 seed;

	lath_call_enter();
	run_grows();

	for (seed = 1; seed <= 12; seed++)
		run(seed % 3 == 0, seed);
	lath_call_exit();
	return 0;
}
