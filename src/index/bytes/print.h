/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * print.h - the prints of a bucket: one byte per record, a hash of what its key has behind the
 * bytes in which the records agree.
 *
 * A lookup compares prints, eight at a time, and looks only at records with the print of its key.
 * Print i is byte i % 8 of word i / 8, counted from the lowest one. Words are read and written as a
 * whole: readers are concurrent, and what they find counts if the bucket's version is the same.
 */
#ifndef LATH_INDEX_BYTES_PRINT_H
#define LATH_INDEX_BYTES_PRINT_H

#include "index/bytes/bytes.h"

#define PRINT_MIX 0x9e3779b97f4a7c15ull
#define EACH_PRINT 0x0101010101010101ull

/* The print of a key, from `offset` on, with its tag. */
static inline u64 print_of(const struct want *want, u64 offset)
{
	u64 mix = (want->size ^ want->order) * PRINT_MIX, depth;

	for (depth = offset; depth < want->size; depth += STEP)
		mix = (mix ^ mix >> 32 ^ bytes_at(want, depth)) * PRINT_MIX;
	return (mix ^ mix >> 32) * PRINT_MIX >> 56;
}

/* Which of the eight prints of a word are this one: a bit each. */
static inline u64 prints_equal(u64 word, u64 print)
{
	u64 other = word ^ print * EACH_PRINT, low = 0x7f * EACH_PRINT;
	u64 equal = ~(((other & low) + low) | other | low); /* the top bit of each byte */

	return (equal >> 7) * 0x0102040810204080ull >> 56;
}

/* Which of the prints [from, used), at most 64 of them, are this one: a bit each. No branch depends
 * on them. */
static inline u64 print_match(const u64 *prints, u32 from, u32 used, u64 print)
{
	u32 n = min(used - from, 64u), i;
	u64 match = 0;

	for (i = 0; i < n; i += 8)
		match |= prints_equal(READ_ONCE(prints[(from + i) / 8]), print) << i;
	return match & ~0ull >> (64 - n);
}

static inline u64 print_get(const u64 *prints, u32 i)
{
	return READ_ONCE(prints[i / 8]) >> i % 8 * 8 & 0xff;
}

/* Put a print in front of entry i of `used`; there is room. */
static inline void print_insert(u64 *prints, u32 used, u32 i, u64 print)
{
	u32 at = i / 8, shift = i % 8 * 8;
	u64 word = READ_ONCE(prints[at]), low = word & ((1ull << shift) - 1), next;

	next = word >> 56;
	WRITE_ONCE(prints[at], low | print << shift | (word ^ low) << 8);
	while (++at <= used / 8) {
		word = READ_ONCE(prints[at]);
		WRITE_ONCE(prints[at], word << 8 | next);
		next = word >> 56;
	}
}

/* Take out the print of entry i of `used`. */
static inline void print_erase(u64 *prints, u32 used, u32 i)
{
	u32 at = i / 8, shift = i % 8 * 8, end = (used - 1) / 8;
	u64 word = READ_ONCE(prints[at]), keep = (1ull << shift) - 1;

	word = (word & keep) | (word >> 8 & ~keep);
	for (; at < end; at++) {
		u64 next = READ_ONCE(prints[at + 1]);

		WRITE_ONCE(prints[at], (word & ~0ull >> 8) | next << 56);
		word = next >> 8;
	}
	WRITE_ONCE(prints[at], word);
}

#endif /* LATH_INDEX_BYTES_PRINT_H */
