/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.h - 4096 units, a bit each.
 *
 * Requests of n units are placed at multiples of the next power of two, as IOMMUs, buddies and disks
 * want them. What a word of 64 bits can serve, and what an arena can, is one byte, its grade:
 *
 *   grade(n) = 1 + 16 log2(n)          for powers of two
 *              and 16 even steps between two of them
 *
 * The grade of a word is that of the longest run that begins at a multiple of the next power of two.
 * If a run of n units so placed fits, so does any of fewer; hence one number is enough. A request's
 * grade is rounded up, a word's down: above 32 units they may miss by a sixteenth, never overlap.
 */
#ifndef LATH_SPACE_ARENA_H
#define LATH_SPACE_ARENA_H

#include "arch/search.h"

#define ARENA_WORDS 64
#define ARENA_UNITS 4096
#define ARENA_ORDERS 13 /* multiples of 1 .. 4096 units */

struct arena {
	struct lath_spinlock lock;
	u64 block;  /* which of the space's blocks; NO_BLOCK: none at present */
	u64 *owner; /* a cookie a unit, or NULL */
	u8 *shown;  /* its grade, and the next, where others look for an arena */
	/* No more units than this have a place at a multiple of 2^k: exact after a search that failed, raised by
	 * what is given back. So they never ascend. */
	u16 *most;
	u64 whole;				   /* words that are all free */
	u64 free;				   /* units */
	struct arena *next;			   /* unused too */
	u8 grade[64] __attribute__((aligned(64))); /* of each word */
	u64 map[ARENA_WORDS];			   /* 1: free */
};
#define NO_BLOCK (~0ull)
#define KEY_MAX (~0ull)

/* log2, rounded up; n > 0 */
static inline unsigned int log2_up(u64 n)
{
	return fls64(n - 1);
}

/* The least grade that serves n units, 0 < n <= 4096. */
u8 grade_needed(u64 n);

/* All for an arena whose lock is held. */
void arena_open(struct arena *arena, u64 block);
/* Take n units at a multiple of the next power of two. False: no room. */
bool arena_take(struct arena *arena, u64 n, u64 *unit);
/* Take up to `most` blocks of 2^order units, order <= 6; the number taken. */
unsigned int arena_take_blocks(struct arena *arena, unsigned int order, unsigned int most, u64 *unit);
/* Take exactly these / give them back. False: not all are free / taken; nothing changed. */
bool arena_take_at(struct arena *arena, u64 unit, u64 n);
bool arena_give(struct arena *arena, u64 unit, u64 n);
/* Take the first n free units at a multiple of align within [first, last]. */
bool arena_take_within(struct arena *arena, u64 n, u64 align, u64 first, u64 last, u64 *unit);
/* Are the counters and grades what the map says? */
bool arena_sound(const struct arena *arena);

#endif /* LATH_SPACE_ARENA_H */
