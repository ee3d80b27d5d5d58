/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* space_cases.c - memory, segments, arenas, magazines, sets, the index, and the calls above them.
 */
#include "cases.h"

#include <stdlib.h>

#include "space/free.h"
#include "space/large.h"
#include "space/memory.h"
#include "space/reserve.h"
#include "space/segment.h"
#include "space/source/index.h"
#include "space/source/magazine.h"
#include "space/source/set.h"
#include "space/walk.h"

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
	set_grow(space, set, 0);
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

static void memory_of_no_size(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	space_alloc(space, 0);
}

static void memory_freed_twice(void)
{
	u64 word;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->bytes = 0;
	space_free(space, &word, sizeof(word));
}

static void foreign_index(void)
{
	struct lath_index *index = NULL;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space_index(space, &index);
}

static void memory_left(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	lath_call_exit();
	space->bytes++;
	lath_space_destroy(space);
}

static void segment_number_out_of_bounds(void)
{
	static struct segment segment;

	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_init(&segment, LATH_SPACE_SEGMENTS, false);
}

static void segment_of_half_units(void)
{
	static struct segment segment;

	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_init(&segment, 1, false);
	space->config.unit = 4;
	segment_open(space, &segment, 0, 6, 0);
}

static void segment_opened_in_use(void)
{
	static struct segment segment;

	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_init(&segment, 1, false);
	segment.draining = DRAINING;
	segment_open(space, &segment, 0, 4, 0);
}

static void segment_bounds_exchanged(void)
{
	u64 low, last;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->first.low = space->first.high;
	segment_bounds(&space->first, &low, &last);
}

static void segments_out_of_order(void)
{
	static struct segment segment;

	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_init(&segment, 2, false);
	space->first.next = &segment;
	segment_next(&space->first);
}

static void foreign_charge(void)
{
	u64 count = 1;

	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_uncharge(&space->first, &count, 1);
}

static void charge_of_nothing(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_charge(&space->first, 0);
}

static void charge_without_limit(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	segment_charge_limited(&space->first, 0, 1);
}

static void log2_of_nothing(void)
{
	log2_up(0);
}

static void grade_of_nothing(void)
{
	grade_of_run(0);
}

static void grade_out_of_bounds(void)
{
	grade_needed(ARENA_UNITS + 1);
}

static void block_in_nothing(void)
{
	block_within(0, 1);
}

static void reserve_unlocked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_reserve(arena, 8, 1);
}

static void within_unlocked(void)
{
	u64 unit;

	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_alloc_within(arena, 1, 1, 0, 9, &unit);
}

static void within_no_limits(void)
{
	u64 unit;

	prepare_locked();
	arena_alloc_within(arena, 1, 1, 9, 8, &unit);
}

static void blocks_of_dense_arena(void)
{
	u64 unit[4];

	prepare(LATH_SPACE_FILL | LATH_SPACE_NO_MAGAZINES);
	lath_spin_lock(&arena->lock);
	arena_alloc_blocks(arena, 2, 4, unit);
}

static void nothing_wanted(void)
{
	struct small_request want;
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	small_request_init(space, 1, 1, 0, &want);
	want.most = 0;
	set_alloc_small(space, &space->first.set[0], NULL, &want, &key);
}

static void most_out_of_bounds(void)
{
	u64 unit;

	prepare_locked();
	arena_alloc_units(arena, 3, 2, &unit);
}

static void request_of_nothing(void)
{
	struct small_request want;

	prepare(LATH_SPACE_NO_MAGAZINES);
	small_request_init(space, 0, 1, 0, &want);
}

static void group_out_of_bounds(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	set_group(&space->first.set[0], FEW);
}

static void arena_out_of_bounds(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	set_arena(&space->first.set[0], 1);
}

static void key_unlocked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_key(space, arena, 0);
}

static void key_out_of_bounds(void)
{
	prepare_locked();
	arena_key(space, arena, ARENA_UNITS);
}

static void empty_unlocked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	arena_count_empty(space, arena, 1);
}

static void home_out_of_bounds(void)
{
	struct small_request want;
	u64 key;

	prepare(0);
	small_request_init(space, 1, 1, 0, &want);
	slot_of(space)->home[0] = 1u << 20;
	set_alloc_small(space, &space->first.set[0], slot_of(space), &want, &key);
}

static void grade_of_request_wrong(void)
{
	struct small_request want;
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	small_request_init(space, 1, 1, 0, &want);
	want.grade = 0;
	set_alloc_small(space, &space->first.set[0], NULL, &want, &key);
}

static void arena_of_another_set(void)
{
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	arena->set = &space->first.set[1];
	lath_call_exit();
	lath_space_alloc(space, 1, 1, 0, &key);
}

static void anywhere_in_halves(void)
{
	struct lath_hole_request want = { .size = 3 };
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->config.unit = 2;
	set_alloc_anywhere(space, &space->first, &want, 0, false, &key);
}

static void empty_set_grows(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	set_grow(space, &space->first.set[1], 0);
}

static void set_grows_askew(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	set_grow_at(space, &space->first.set[0], ARENA_UNITS + 1);
}

static void arenas_counted_wrong(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	NEED(!lath_space_free(space, 0, 1));
	space->in_use = 0;
	set_release(space, &space->first.set[0]);
}

static void too_many_arenas(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	space->first.set[0].count = 1ull << 40;
	set_fini(space, &space->first.set[0]);
}

static void capacity_shifted(void)
{
	prepare(0);
	slot_of(space)->tight = 9;
	magazine_free(space, 0, 0);
}

static void foreign_slot(void)
{
	struct slot *slot = NULL;

	prepare(LATH_SPACE_NO_MAGAZINES);
	slot_make(space, &slot);
}

static void cached_askew(void)
{
	prepare(0);
	magazine_free(space, 2, 2);
}

static void held_askew(void)
{
	u64 key;

	prepare(0);
	lath_call_exit();
	NEED(!lath_space_alloc(space, 2, 1, 0, &key)); /* fills the magazine */
	lath_call_enter();
	NEED(slot_of(space)->count[1]);
	slot_of(space)->key[256 + slot_of(space)->count[1] - 1] |= 1;
	magazine_alloc(space, 1, &key);
}

static void slots_not_locked(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	slots_unlock(space);
}

static void marked_unlocked(void)
{
	u64 map[ARENA_WORDS] = { 0 };

	prepare(LATH_SPACE_NO_MAGAZINES);
	slots_mark(space, 0, map);
}

static void marked_askew(void)
{
	u64 map[ARENA_WORDS] = { 0 }, key;

	prepare(0);
	lath_call_exit();
	NEED(!lath_space_alloc(space, 2, 1, 0, &key)); /* fills the magazine */
	lath_call_enter();
	slot_of(space)->key[256] |= 1;
	slots_lock(space);
	slots_mark(space, slot_of(space)->key[256] / ARENA_UNITS, map);
}

static void held_out_of_bounds(void)
{
	prepare(0);
	slot_of(space)->held = 1u << 20;
	slots_held(space);
}

static void arena_as_cookie(void)
{
	struct lath_hole_request want = { .size = 1 };
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	index_alloc(space, &want, arena_mark(space), &key);
}

static void index_of_halves(void)
{
	u64 freed;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->config.unit = 2;
	index_free(space, 0, 3, &freed);
}

static void segment_gone(void)
{
	u64 key, freed;

	prepare(LATH_SPACE_NO_MAGAZINES);
	lath_call_exit();
	NEED(!lath_space_alloc(space, 3 * ARENA_UNITS, 1, 0, &key));
	lath_call_enter();
	space->first.version++; /* as if it were not in use */
	index_free(space, key, 3 * ARENA_UNITS, &freed);
}

static void halves_freed(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	space->config.unit = 2;
	free_range(space, 0, 3);
}

static void piece_of_nothing(void)
{
	prepare(LATH_SPACE_NO_MAGAZINES);
	piece_of(space, 0, 0);
}

static void filling_out_of_bounds(void)
{
	u64 key;

	prepare(LATH_SPACE_FILL);
	space->filling = 70;
	alloc_large(space, 1, 8, 1, 0, false, false, &key);
}

static void large_of_halves(void)
{
	u64 key;

	prepare(LATH_SPACE_NO_MAGAZINES);
	space->config.unit = 2;
	alloc_large(space, 1, 3, 2, 0, false, false, &key);
}

static void reserved_halves(void)
{
	u64 *count;

	prepare(LATH_SPACE_NO_MAGAZINES);
	count = segment_charge(&space->first, 3);
	space->config.unit = 2;
	reserve_range(space, &space->first, count, 0, 3, 0);
}

static void reserved_outside(void)
{
	u64 *count;

	prepare(LATH_SPACE_NO_MAGAZINES);
	count = segment_charge(&space->first, 1);
	reserve_range(space, &space->first, count, 1u << 20, 1, 0);
}

static void map_out_of_bounds(void)
{
	u64 map[ARENA_WORDS] = { 0 };

	map_run(map, ARENA_UNITS);
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
	{ "space: alignment that is not a power of two", odd_alignment, "space/source/arena.c",
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
	  "slot->count[order] <= shape_of(slot)->size[order]" },
	{ "space: magazines hold less than is taken", magazine_held_too_little,
	  "space/source/magazine.c", "slot->held >= n << order" },
	{ "space: order out of bounds", order_out_of_bounds, "space/source/magazine.c",
	  "order < ORDERS" },
	{ "space: segment opened twice", segment_opened_twice, "space/segment.c",
	  "segment->version & 1" },
	{ "space: memory of no size", memory_of_no_size, "space/memory.c", "failed: size" },
	{ "space: more memory freed than allocated", memory_freed_twice, "space/memory.c",
	  "space->bytes) >= size" },
	{ "space: index of another struct", foreign_index, "space/memory.c",
	  "at == &space->index" },
	{ "space: memory left at the end", memory_left, "space/create.c",
	  "space->bytes == SPACE_SIZE" },
	{ "space: segment number out of bounds", segment_number_out_of_bounds, "space/segment.c",
	  "number < LATH_SPACE_SEGMENTS" },
	{ "space: segment that ends within a unit", segment_of_half_units, "space/segment.c",
	  "space->config.unit - 1" },
	{ "space: segment opened that may be charged", segment_opened_in_use, "space/segment.c",
	  "segment->draining == REMOVING" },
	{ "space: segment with its bounds exchanged", segment_bounds_exchanged, "space/segment.c",
	  "*low <= *last" },
	{ "space: segments out of order", segments_out_of_order, "space/segment.h",
	  "segment->number + 1" },
	{ "space: charge of another segment", foreign_charge, "space/segment.c",
	  "at == &segment->used" },
	{ "space: charge of no keys", charge_of_nothing, "space/segment.h", "failed: size" },
	{ "space: charge compared with no limit", charge_without_limit, "space/segment.c",
	  "limit && size" },
	{ "space: logarithm of 0", log2_of_nothing, "space/source/arena.h", "n <= 1ull << 63" },
	{ "space: grade of no unit", grade_of_nothing, "space/source/arena.h",
	  "n && n <= ARENA_UNITS" },
	{ "space: grade of more units than there are", grade_out_of_bounds, "space/source/arena.h",
	  "failed: n <= ARENA_UNITS" },
	{ "space: block within no unit", block_in_nothing, "space/source/arena.c", "n && align" },
	{ "space: units reserved, not locked", reserve_unlocked, "space/source/arena.c",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: units searched, not locked", within_unlocked, "space/source/arena.c",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: units searched between exchanged limits", within_no_limits,
	  "space/source/arena.c", "first <= last" },
	{ "space: aligned blocks of a dense arena", blocks_of_dense_arena, "space/source/arena.c",
	  "arena->dense || !order" },
	{ "space: no range wanted of an arena", nothing_wanted, "space/source/set.c",
	  "want->most" },
	{ "space: range wider than its block", most_out_of_bounds, "space/source/arena.c",
	  "n <= block" },
	{ "space: small request of no unit", request_of_nothing, "space/source/set.h",
	  "n && n <= ARENA_UNITS" },
	{ "space: group that a set has not", group_out_of_bounds, "space/source/set.h", "g < FEW" },
	{ "space: arena that a set has not", arena_out_of_bounds, "space/source/set.h",
	  "i < READ_ONCE(set->count)" },
	{ "space: key of an arena that is not locked", key_unlocked, "space/source/set.h",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: key of a unit out of bounds", key_out_of_bounds, "space/source/set.h",
	  "unit < ARENA_UNITS" },
	{ "space: empty arenas counted, not locked", empty_unlocked, "space/source/set.h",
	  "lath_spin_mine(&arena->lock)" },
	{ "space: last arena out of bounds", home_out_of_bounds, "space/source/set.c",
	  "from < groups" },
	{ "space: small request without a grade", grade_of_request_wrong, "space/source/set.c",
	  "want->grade" },
	{ "space: arena in the groups of another set", arena_of_another_set, "space/source/set.c",
	  "arena->set == set" },
	{ "space: request for less than a unit, anywhere", anywhere_in_halves, "space/source/set.c",
	  "whole_units(space, 0, want->size)" },
	{ "space: set without keys that grows", empty_set_grows, "space/source/set.c",
	  "!set->empty" },
	{ "space: set that grows at half a block", set_grows_askew, "space/source/set.c",
	  "failed: !(key & (space->arena_size - 1))" },
	{ "space: more arenas returned than in use", arenas_counted_wrong, "space/source/set.c",
	  "READ_ONCE(space->in_use)" },
	{ "space: more arenas than a set has room for", too_many_arenas, "space/source/set.c",
	  "set->count <= 64ull * GROUPS" },
	{ "space: magazine capacity out of bounds", capacity_shifted, "space/source/magazine.c",
	  "slot->tight <= TIGHT" },
	{ "space: slot of another struct", foreign_slot, "space/source/magazine.c",
	  "at < space->slot + SLOTS" },
	{ "space: block put askew into a magazine", cached_askew, "space/source/magazine.c",
	  "units_of(space, key)" },
	{ "space: block askew in a magazine", held_askew, "space/source/magazine.c",
	  "units_of(space, *key)" },
	{ "space: slots unlocked, not locked", slots_not_locked, "space/source/magazine.c",
	  "lath_spin_mine(&space->lock)" },
	{ "space: magazines read, not locked", marked_unlocked, "space/source/magazine.c",
	  "lath_spin_mine(&space->lock)" },
	{ "space: magazine with a block askew, read", marked_askew, "space/source/magazine.c",
	  "unit < ARENA_UNITS" },
	{ "space: slot that holds more than it can", held_out_of_bounds, "space/source/magazine.c",
	  "slot->held) <= SLOT_MOST" },
	{ "space: cookie that marks arenas", arena_as_cookie, "space/source/index.c",
	  "cookie != arena_mark(space)" },
	{ "space: half a unit freed from the index", index_of_halves, "space/source/index.c",
	  "whole_units(space, key, size)" },
	{ "space: range in no segment", segment_gone, "space/source/index.c", "failed: segment" },
	{ "space: half a unit freed", halves_freed, "space/free.c",
	  "whole_units(space, key, size)" },
	{ "space: piece of no keys", piece_of_nothing, "space/space.h", "failed: size" },
	{ "space: segment to fill out of bounds", filling_out_of_bounds, "space/large.c",
	  "filling < LATH_SPACE_SEGMENTS" },
	{ "space: large request for half a unit", large_of_halves, "space/large.c",
	  "whole_units(space, 0, size)" },
	{ "space: half a unit reserved", reserved_halves, "space/reserve.c",
	  "whole_units(space, key, size)" },
	{ "space: range reserved outside of its segment", reserved_outside, "space/reserve.c",
	  "lies_within(key, size, segment->low, segment->high)" },
	{ "space: unit outside of a bitmap", map_out_of_bounds, "space/walk.c",
	  "unit < ARENA_UNITS" },
	{ 0 },
};
