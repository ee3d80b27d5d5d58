/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * key.h - keys as sequences of slices; comparisons of keys; the key of a record.
 */
#ifndef LATH_INDEX_BYTES_KEY_H
#define LATH_INDEX_BYTES_KEY_H

#include "set/bytes/bytes.h"

/* The rank of the step BYTES at a depth, and the depth of a step of BYTES or LENGTH. */
static inline u64 rank_of_bytes(u64 depth)
{
	LATH_ASSERT(!(depth % STEP));
	return depth * 2;
}

static inline u64 depth_of(u64 rank)
{
	return rank / 2;
}

/* The 8 bytes at p as a big-endian number. */
static inline u64 load_bytes(const u8 *p)
{
	u64 bytes;

	memcpy(&bytes, p, STEP);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	return bytes;
}

/* The `size` < 8 bytes at p in the highest bytes of a number, with zeros behind them. Loads that
 * overlap: no branch for each length. */
static inline u64 load_few(const u8 *p, u64 size)
{
	u32 first, last;

	LATH_ASSERT(size < STEP);
	if (size < 4)
		return size ? (u64)p[0] << 56 | (u64)p[size / 2] << (56 - size / 2 * 8) |
				       (u64)p[size - 1] << (64 - size * 8)
			    : 0;
	memcpy(&first, p, 4);
	memcpy(&last, p + size - 4, 4);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	first = __builtin_bswap32(first);
	last = __builtin_bswap32(last);
#endif
	return (u64)first << 32 | (u64)last << (64 - size * 8);
}

/* 8 bytes of a key from `depth` on; behind its end zeros, or ones if it is beyond all others. */
static inline u64 bytes_at(const struct want *want, u64 depth)
{
	u64 left = want->size > depth ? want->size - depth : 0, bytes = 0;

	if (likely(left >= STEP))
		return load_bytes(want->data + depth);
	if (want->size < STEP)
		bytes = depth ? 0 : load_few(want->data, left);
	else if (left) /* the last 8 contain them: no length to predict */
		bytes = load_bytes(want->data + want->size - STEP) << (STEP - left) * 8;
	if (unlikely(want->beyond))
		bytes |= ~0ull >> left * 8;
	return bytes;
}

/* Returns the slice of a key in the step of a rank. A key that is `beyond` has the largest one. */
static inline u64 slice_of(const struct want *want, u64 rank)
{
	u64 depth = depth_of(rank);

	if (likely(!(rank & 1)))
		return bytes_at(want, depth);
	if (rank == TAG)
		return want->beyond ? ~0ull : want->order;
	if (want->beyond)
		return STEP;
	return want->size > depth ? min(want->size - depth, (u64)STEP) : 0;
}

/* Returns in how many bytes, at most `most`, a and b agree. */
u64 lath_bytes_agree(const u8 *a, const u8 *b, u64 most);

/* Returns in how many bytes two keys agree. */
static inline u64 bytes_common(const struct want *a, const struct want *b)
{
	return lath_bytes_agree(a->data, b->data, min(a->size, b->size));
}

/* Returns the rank of the first step in which two keys differ; TAG: their bytes are equal. */
u64 lath_bytes_fork(const struct want *a, const struct want *b);
/* Returns whether a is before (-1), equal to (0) or behind (1) b, a key of a record. */
int lath_bytes_compare(const struct want *a, const struct want *b);

/* Returns whether a key that is looked for is that of a record. `agree`: 0, or STEP if their first
 * slices are known to be equal. Nearly always it is: keys of up to 32 bytes are compared by words,
 * without a call. */
static inline bool bytes_equal(const struct want *a, const struct want *b, u64 agree)
{
	u64 size = a->size, i;

	LATH_ASSERT(agree == 0 || agree == STEP);
	LATH_ASSERT(!a->beyond && !b->beyond); /* no record has such a key */
	if (size != b->size || a->order != b->order)
		return false;
	if (size <= agree)
		return true;
	if (size < STEP)
		return load_few(a->data, size) == load_few(b->data, size);
	if (size > 4 * STEP)
		return !memcmp(a->data + agree, b->data + agree, size - agree);
	for (i = agree; i + STEP < size; i += STEP)
		if (load_bytes(a->data + i) != load_bytes(b->data + i))
			return false;
	return load_bytes(a->data + size - STEP) == load_bytes(b->data + size - STEP);
}

/* Prefetch a record, or a row, by its value. In user space addresses leave the two highest bits
 * free, and records that are not aligned have the lowest bits of their addresses there. */
static inline void prefetch_record(u64 value)
{
#ifndef __KERNEL__
	value = value << 2 >> 2;
#endif
	prefetch((const void *)(uintptr_t)value);
}

/* The key of a record. */
static inline struct want key_of(const struct bytes_set *set, u64 value)
{
	struct lath_bytes_key key = { NULL, 0, 0 };

	/* the word of an array or a layer is nothing for the user's function */
	LATH_ASSERT(value && form_of(value) == FORM_RECORD);
	set->records->key_of(set->records->ctx, value, &key);
	return (struct want){ key.data, key.size, key.tag ^ set->flip, false };
}

/* A key that a caller looks for. */
static inline struct want want_key(const struct bytes_set *set, const struct lath_bytes_key *key)
{
	return (struct want){ key->data, key->size, key->tag ^ set->flip, false };
}

#endif /* LATH_INDEX_BYTES_KEY_H */
