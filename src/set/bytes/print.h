/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * print.h - the groups of a bucket: where the values of its records are.
 *
 * A group is a line of eight words: the prints of up to seven records, a byte each, and their
 * values. The print is a byte of a hash of the record's key; 0: the place is free. Another byte of
 * the hash chooses the group in which a record is, or if that is full, the next one that is not.
 * Byte 7 of the prints says that a record went on to the next group. So a lookup, which has the
 * number of groups from the bucket's word, reads the line of its record at once, and no line of the
 * bucket before. A bucket of at most seven records is one group, with as many words as it needs.
 *
 * The prints are read and written as a whole: readers are concurrent. A print is stored behind its
 * value, so what a reader finds was the value of a record of this bucket.
 */
#ifndef LATH_INDEX_BYTES_PRINT_H
#define LATH_INDEX_BYTES_PRINT_H

#include "set/bytes/key.h"

#define PRINT_MIX 0x9e3779b97f4a7c15ull
#define EACH_PRINT 0x0101010101010101ull
#define PASSED (1ull << 56)

/* A hash of a key of a layer: its print, and above that the byte that chooses its group. */
static inline u32 hash_of(const struct want *want, const struct layer *layer)
{
	u64 mix = (want->size ^ want->order) * PRINT_MIX, depth;

	for (depth = depth_of(layer->rank); depth + STEP <= want->size; depth += STEP)
		mix = (mix ^ mix >> 32 ^ load_bytes(want->data + depth)) * PRINT_MIX;
	if (depth < want->size)
		mix = (mix ^ mix >> 32 ^ bytes_at(want, depth)) * PRINT_MIX;
	mix = (mix ^ mix >> 32) * PRINT_MIX >> 48;
	return (u32)(mix & 0xfe ? mix : mix | 2);
}

/* The first word of the group that a hash chooses; of the next one. */
static inline u32 group_of(u32 hash, u32 groups)
{
	return ((hash >> 8) * groups >> 8) * GROUP_WORDS;
}

static inline u32 group_after(u32 group, u32 groups)
{
	return group + GROUP_WORDS < groups * GROUP_WORDS ? group + GROUP_WORDS : 0;
}

/* Which of the seven prints are this one: the top bit of each byte. The lowest of them is right;
 * above it may be one that differs in its lowest bit, so no print is 1: no free place is among
 * them. */
static inline u64 prints_equal(u64 prints, u64 print)
{
	u64 other = prints ^ print * EACH_PRINT;

	return (other - EACH_PRINT) & ~other & 0x80 * EACH_PRINT & ~(0xffull << 56);
}

/* Put a value into the first free place from its group on, of which there is one. Returns its
 * word. */
static inline u32 place_insert(u64 *entry, u32 groups, u32 room, u32 hash, u64 value)
{
	u32 group = group_of(hash, groups), most = min(room, GROUP_SLOTS), i;
	u64 prints;

	for (;;) {
		prints = READ_ONCE(entry[group]);
		i = (u32)__ffs64(prints_equal(prints, 0) | 1ull << 63) / 8;
		if (likely(i < most))
			break;
		/* before the record is there: a lookup without the mark misses the record too */
		WRITE_ONCE(entry[group], prints | PASSED);
		group = group_after(group, groups);
		LATH_ASSERT(group != group_of(hash, groups)); /* all groups are full */
	}
	WRITE_ONCE(entry[group + 1 + i], value);
	/* pairs with find_place */
	smp_store_release(&entry[group], prints | (u64)(hash & 0xff) << i * 8);
	return group + 1 + i;
}

/* The print of the record whose value is in this word. */
static inline u64 place_print(const u64 *entry, u32 word)
{
	LATH_ASSERT(word % GROUP_WORDS); /* word 0 of a group has the prints */
	return READ_ONCE(entry[word & ~(GROUP_WORDS - 1)]) >> (word % GROUP_WORDS - 1) * 8 & 0xff;
}

/* Free the word of a record. Its value stays for readers that have found it. */
static inline void place_erase(u64 *entry, u32 word)
{
	u64 *prints = &entry[word & ~(GROUP_WORDS - 1)];

	LATH_ASSERT(place_print(entry, word)); /* not free yet */
	WRITE_ONCE(*prints, *prints & ~(0xffull << (word % GROUP_WORDS - 1) * 8));
}

#endif /* LATH_INDEX_BYTES_PRINT_H */
