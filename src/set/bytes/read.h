/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.h - what changes need of reads.
 */
#ifndef LATH_INDEX_BYTES_READ_H
#define LATH_INDEX_BYTES_READ_H

#include "set/bytes/bytes.h"

/* The record that a place leads to, if it has the key; 0: there is none; or LOOK_AGAIN. In a
 * section. */
u64 lath_record_of(struct bytes_set *set, const struct want *want, const struct place *place);
/* As lath_bytes_search() for n keys, from where each of them begins, with overlapped cache misses,
 * of what is there too. In a section. */
void lath_bytes_search_batch(struct bytes_set *set, size_t n, const struct want *want,
			     struct place *place);

#endif /* LATH_INDEX_BYTES_READ_H */
