/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bucket.h - sorted arrays of records: their words, their parts, one bucket's calls.
 */
#ifndef LATH_INDEX_BYTES_BUCKET_H
#define LATH_INDEX_BYTES_BUCKET_H

#include "set/bytes/layer.h"

/* The groups of the bucket that a word leads to, and how many they are. */
static inline u64 *word_entry(u64 word)
{
	LATH_ASSERT(form_of(word) == FORM_BUCKET);
	return (u64 *)(uintptr_t)(word & ~(word & 2 ? 3ull : 63ull));
}

static inline u32 word_groups(u64 word)
{
	u32 code = word >> 2 & 15;

	return word & 2 ? 1 : code < 5 ? code + 2 : 2 * code - 2;
}

/* The bucket that a word leads to. */
static inline struct bucket *bucket_of(u64 word)
{
	return container_of(word_entry(word), struct bucket, entry[0]);
}

/* The word that leads to a bucket. */
static inline u64 bucket_word(const struct bucket *bucket)
{
	u32 groups = bucket->groups, code = groups < 7 ? groups - 2 : (groups + 2) / 2;

	/* the bits of the number of groups are free only if several groups are aligned */
	LATH_ASSERT(groups == 1 || !((uintptr_t)bucket->entry & 63));
	return (u64)(uintptr_t)bucket->entry | (groups == 1 ? 3 : code << 2 | 1);
}

/* The number of records that a reader may look at: their entries were filled in before. */
static inline u32 bucket_used(struct bucket *bucket)
{
	u32 used = smp_load_acquire(&bucket->used); /* pairs with lath_bucket_insert */

	return min(used, (u32)bucket->room);
}

/* The parts of a bucket: the copy of its base; of record i the slice, the word of its value, the
 * byte of its hash that chooses a group, and its value. */
static inline u8 *bucket_base(struct bucket *bucket)
{
	return (u8 *)&bucket->entry[bucket->front - bucket->kept];
}

static inline u64 *bucket_slice(struct bucket *bucket, u32 i)
{
	LATH_ASSERT(i <= bucket->room); /* the end of the array too: to move entries */
	return &bucket->entry[bucket->front + i];
}

static inline u8 *bucket_order(struct bucket *bucket, u32 i)
{
	return (u8 *)bucket_slice(bucket, bucket->room) + i;
}

static inline u8 *bucket_choice(struct bucket *bucket, u32 i)
{
	LATH_ASSERT(i <= bucket->room);
	return bucket_order(bucket, bucket->room + i);
}

static inline u64 *bucket_value(struct bucket *bucket, u32 i)
{
	u32 word = smp_load_acquire(bucket_order(bucket, i)); /* pairs with put_entry */

	/* also while entries move: each byte of the order is a word of the groups, never that of
	 * the prints */
	LATH_ASSERT(word % GROUP_WORDS && word < bucket->front);
	return &bucket->entry[word];
}

/* A position in a bucket: of the first record at or behind a key. */
struct spot {
	u32 i;
	bool equal; /* that record has the key */
	bool other; /* the key leaves what the bucket's records agree in */
};

/* Returns the version of a bucket that no writer is changing / whether it is still the same one. */
u32 lath_bucket_read(struct bucket *bucket);
bool lath_bucket_same(struct bucket *bucket, u32 version);
/* Find a spot. In a section; the result counts if lath_bucket_same() says so, or with the bucket
 * locked. */
struct spot lath_bucket_seek(struct bytes_set *set, struct bucket *bucket, const struct want *want);
/* Find the record with this key. Returns its value or 0. In a section. */
u64 lath_bucket_get(struct bytes_set *set, const struct place *place, const struct want *want);
/* Prefetch what lath_bucket_get() will read of the bucket / the record that it will look at first.
 * In a section. */
void lath_bucket_prefetch(const struct place *place, const struct want *want);
/* Prefetch all of a bucket, for reading / for a change, but not its groups. */
void lath_bucket_prefetch_all(u64 word);
void lath_bucket_prefetch_change(u64 word);
void lath_bucket_prefetch_record(const struct place *place, const struct want *want);
/* Make a bucket with room for `count` records, and some more, that agree in at most `base` bytes.
 * NULL: no memory. */
struct bucket *lath_bucket_new(struct bytes_set *set, u32 count, u64 base);
/* For a bucket of the layer that no other thread has seen: append a record; when it has all of
 * them, in order, fill in base and slices. */
void lath_bucket_append(struct bytes_set *set, struct bucket *bucket, const struct layer *layer,
			u64 value);
void lath_bucket_sort_out(struct bytes_set *set, struct bucket *bucket);
/* Free a bucket that no other thread has seen. */
void lath_bucket_drop(struct bucket *bucket);
/* Insert into the bucket at a place: 0 | LOOK_AGAIN | -EEXIST (*there) | -ENOSPC: it must be
 * replaced by another one. In a call, in a section. */
int lath_bucket_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 value, u64 *there);
/* Replace the record with this key by `value`, or erase it if that is 0. expected: 0 or what it
 * must be. *there: what was there. 0 | LOOK_AGAIN | -ENOENT | -EAGAIN. In a call, in a section. */
int lath_bucket_change(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 expected, u64 value, u64 *there);
/* Copy the bucket at the place, whose version was `version`, with the record added: for a bucket
 * without room. NULL: *ret is -ENOMEM, LOOK_AGAIN or -EEXIST (*there). */
struct bucket *lath_bucket_copy_with(struct bytes_set *set, const struct place *place, u32 version,
				     const struct want *want, u64 value, int *ret, u64 *there);
/* Put a word in the place of a bucket if that still has this version, and retire the bucket. 0 |
 * LOOK_AGAIN. In a call, in a section. */
int lath_bucket_replace(const struct place *place, u32 version, u64 word);
/* Is the bucket sound? Nobody writes. */
bool lath_bucket_true(struct bytes_set *set, struct bucket *bucket, const struct place *place);

#endif /* LATH_INDEX_BYTES_BUCKET_H */
