/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * row.h - rows: a few versions of one key.
 */
#ifndef LATH_INDEX_BYTES_ROW_H
#define LATH_INDEX_BYTES_ROW_H

#include "set/bytes/bytes.h"

/* The values of the row that a word leads to. */
static inline u64 *row_places(u64 word)
{
	LATH_ASSERT(form_of(word) == FORM_ROW);
	return (u64 *)(uintptr_t)(word & ~7ull);
}

/* Free the row or the bucket of a word that no other thread has seen. */
void lath_array_drop(struct bytes_set *set, u64 word);
/* Copy the records of a row, in order. Returns their number; 0: it was left for good. In a
 * section. */
u32 lath_row_read(u64 word, u64 *value);
/* Find the record with this key. Returns its value, 0, or LOOK_AGAIN. In a section. */
u64 lath_row_get(struct bytes_set *set, u64 word, const struct want *want);
/* Prefetch the records of a row. In a section. */
void lath_row_prefetch_records(u64 word);
/* The word at the place is a record or a row: put one record more there. Results as
 * lath_bucket_insert(), and -ENOMEM. In a call, in a section. */
int lath_row_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		    u64 value, u64 *there);
/* As lath_bucket_change(). */
int lath_row_change(struct bytes_set *set, const struct place *place, const struct want *want,
		    u64 expected, u64 value, u64 *there);
/* Do rows that were left wait for a grace period? Until they do not, a callback uses the set. Not
 * in a call. */
bool lath_rows_wait(struct bytes_set *set);
/* Is the row sound? Nobody writes. */
bool lath_row_true(struct bytes_set *set, const struct place *place);

#endif /* LATH_INDEX_BYTES_ROW_H */
