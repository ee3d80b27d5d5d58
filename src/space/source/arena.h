/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.h - a bitmap of 4096 units.
 *
 * A request for n units is placed at a multiple of n rounded up to a power of two, as IOMMUs, buddy
 * allocators and disks require. One byte, the grade, tells what a word of 64 bits or an arena can
 * serve:
 *
 *   grade(n) = 1 + 16 log2(n)          for powers of two
 *              and 16 even steps between two of them
 *
 * The grade of a word is that of its longest free run that begins at a multiple of the run's length
 * rounded up to a power of two. If such a run of n units exists, shorter requests fit too, so one
 * number is enough. A request's grade is rounded up, a word's is rounded down. So above 32 units a
 * search may miss a fit by 1/16 of its length, but what it finds always fits.
 */
#ifndef LATH_SPACE_SOURCE_ARENA_H
#define LATH_SPACE_SOURCE_ARENA_H

#include "arch/search.h"

#define ARENA_WORDS 64
#define ARENA_UNITS 4096
#define SPARE 8		/* words behind the last one that may be read; always 0 */
#define ARENA_ORDERS 13 /* multiples of 1 .. 4096 units */

struct arena_set;

struct arena {
	struct lath_spinlock lock;
	u64 block; /* number of the block that it serves, or NO_BLOCK */
	struct arena_set *set;
	u64 *owner; /* one cookie per unit, or NULL */
	/* The grade of a word is that of its longest free run, wherever that begins. */
	bool dense;
	/* Not below its grade, in the set's array; read without the lock. Exact after a failed
	 * search, raised by frees: other threads' searches read its line all the time. */
	u8 *shown;
	/* Upper bounds on the length of a free run from a multiple of 2^k on: exact after a failed
	 * search, raised by frees. Non-increasing in k. */
	u16 *most;
	u64 whole;	    /* mask of the words with all units free */
	u64 free;	    /* number of free units */
	struct arena *next; /* in the set's list of unused arenas */
	/* of each word, and of the spare ones */
	u8 grade[ARENA_WORDS + SPARE] __attribute__((aligned(64)));
	u64 map[ARENA_WORDS + SPARE]; /* 1: free */
};
#define NO_BLOCK (~0ull)
#define KEY_MAX (~0ull)

/* log2, rounded up; 0 < n <= 2^63 */
static inline unsigned int log2_up(u64 n)
{
	LATH_ASSERT(n && n <= 1ull << 63);
	return (unsigned int)__fls64(2 * n - 1);
}

/* Returns the grade of a run of n units, 0 < n <= 4096, rounded down. */
static inline u8 grade_of_run(u64 n)
{
	unsigned int c;

	LATH_ASSERT(n && n <= ARENA_UNITS);
	c = (unsigned int)__fls64(n);
	return (u8)(1 + 16 * c + (((n << 4) >> c) & 15));
}

/* Returns the lowest grade that serves n units, 0 < n <= 4096. */
static inline u8 grade_needed(u64 n)
{
	unsigned int c = log2_up(n);

	LATH_ASSERT(n <= ARENA_UNITS);
	return (u8)(1 + 16 * c - ((((1ull << c) - n) << 5 >> c)));
}

/* Returns the size of the largest naturally aligned block that n units at a multiple of align
 * contain, wherever they begin. */
u64 lath_block_within(u64 n, u64 align);

/* The caller of the calls below holds the arena's lock, on entry and on return; of
 * lath_arena_sound() it excludes changes. None of them fails for want of memory. */

/* Begins to serve a block, with all units free. */
void lath_arena_open(struct arena *arena, u64 block);
/* Takes the first n of `block` >= n free units at a multiple of `block` rounded up to a power of
 * two; in a dense arena up to 64 at any place of one word. Returns whether it did. */
bool lath_arena_alloc_units(struct arena *arena, u64 n, u64 block, u64 *unit);
/* Takes up to `most` blocks of 2^order units, order <= 6; of a dense arena, order 0. Returns the
 * number taken. */
unsigned int lath_arena_alloc_blocks(struct arena *arena, unsigned int order, unsigned int most,
				     u64 *unit);
/* Takes the first n free units at a multiple of align within [first, last], wherever that is.
 * Returns whether it did. */
bool lath_arena_alloc_within(struct arena *arena, u64 n, u64 align, u64 first, u64 last, u64 *unit);
/* Take exactly these units, or free them. Return false, with nothing changed, if not all of them
 * are free (taken). */
bool lath_arena_reserve(struct arena *arena, u64 unit, u64 n);
/* Are all of these units taken? */
bool lath_arena_takes(struct arena *arena, u64 unit, u64 n);
bool lath_arena_free_units(struct arena *arena, u64 unit, u64 n);
/* Returns whether counters and grades agree with the bitmap. */
bool lath_arena_sound(const struct arena *arena);

#endif /* LATH_SPACE_SOURCE_ARENA_H */
