/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* space_cases.c - arenas, magazines and sets. */
#include "cases.h"

#include <stdlib.h>

#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

static struct lath_space *space;
static struct arena *arena; /* one with a unit taken */

static void prepare(unsigned int flags)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	u64 key;

	config.high = 1u << 20;
	config.flags = flags;
	NEED(!lath_space_create(&space, &config));
	NEED(!lath_space_alloc(space, 1, 1, 0, &key));
	NEED(space->first.set[0].count);
	arena = set_arena(&space->first.set[0], 0);
	lath_call_enter();
}

static void prepare_locked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	lath_spin_lock(&arena->lock);
}

static void give_unlocked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_free_units(arena, 0, 1);
}

static void take_unlocked(void)
{
	u64 unit;

	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_alloc_units(arena, 3, 3, &unit);
}

static void blocks_unlocked(void)
{
	u64 unit[4];

	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_alloc_blocks(arena, 2, 4, unit);
}

static void opened_twice(void)
{
	prepare_locked();
	arena_open(arena, 7);
}

static void units_out_of_bounds(void)
{
	prepare_locked();
	arena_reserve(arena, ARENA_UNITS - 1, 2);
}

static void odd_alignment(void)
{
	u64 unit;

	prepare_locked();
	arena_alloc_within(arena, 1, 3, 0, ARENA_UNITS - 1, &unit);
}

static void owners_out_of_bounds(void)
{
	prepare_locked();
	arena_set_owner(arena, ARENA_UNITS, 1, 0);
}

static void free_out_of_bounds(void)
{
	prepare_locked();
	arena->free = ARENA_UNITS;
	arena_free_units(arena, 0, 1);
}

static void free_against_bits(void)
{
	prepare_locked();
	arena->free -= 2;
	arena_free_units(arena, 0, 1);
}

static void unused_arena_in_use(void)
{
	struct arena_set *set;

	prepare(LATH_SPACE_NO_MAGAZINES);
	set = &space->first.set[0];
	set->unused = arena;
	set_grow(space, set);
}

static void arena_in_the_wrong_set(void)
{
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->first.set[0].low = space->first.set[0].high - 1;
	lath_space_alloc(space, 1, 1, 0, &key);
}

static void magazine_above_capacity(void)
{
	prepare(0);
	slot_of(space)->count[3] = 1000;
	magazine_free(space, 3, 0);
}

static void magazine_held_too_little(void)
{
	u64 key;

	prepare(0);
	lath_call_exit();
	NEED(!lath_space_alloc(space, 1, 1, 0, &key)); /* fills the magazine */
	lath_call_enter();
	slot_of(space)->held = 0;
	magazine_alloc(space, 0, &key);
}

static void order_out_of_bounds(void)
{
	prepare(0);
	magazine_free(space, ORDERS, 0);
}

static void segment_opened_twice(void)
{
	prepare(0);
	segment_open(space, &space->first, 0, 1, 0);
}

const struct assert_case space_cases[] = {
	{ "space: units given back, not locked", give_unlocked, "space/source/arena.c",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: units taken, not locked", take_unlocked, "space/source/arena.c",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: blocks taken, not locked", blocks_unlocked, "space/source/arena.c",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: arena opened twice", opened_twice, "space/source/arena.c",
	  "arena->block == NO_BLOCK" },
	{ "space: units out of bounds", units_out_of_bounds, "space/source/arena.c",
	  "unit <= ARENA_UNITS - n" },
	{ "space: alignment that is no power of two", odd_alignment, "space/source/arena.c",
	  "align & (align - 1)" },
	{ "space: owners out of bounds", owners_out_of_bounds, "space/source/set.c",
	  "unit + n <= ARENA_UNITS" },
	{ "space: more free units than there are", free_out_of_bounds, "space/source/arena.c",
	  "arena->free <= ARENA_UNITS" },
	{ "space: free units counted wrong", free_against_bits, "space/source/arena.c",
	  "!~arena->whole" },
	{ "space: unused arena that is in use", unused_arena_in_use, "space/source/set.c",
	  "READ_ONCE(arena->block) == NO_BLOCK" },
	{ "space: arena in the wrong set", arena_in_the_wrong_set, "space/source/set.c",
	  "key[got - 1] >= set->low" },
	{ "space: magazine above its capacity", magazine_above_capacity, "space/source/magazine.c",
	  "slot->count[order] <= magazine_size[order]" },
	{ "space: magazines hold less than is taken", magazine_held_too_little,
	  "space/source/magazine.c", "slot->held >= n << order" },
	{ "space: order out of bounds", order_out_of_bounds, "space/source/magazine.c",
	  "order < ORDERS" },
	{ "space: segment opened twice", segment_opened_twice, "space/segment.c",
	  "segment->version & 1" },
	{ 0 },
};
