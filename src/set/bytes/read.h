/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.h - what changes need of reads.
 */
#ifndef LATH_INDEX_BYTES_READ_H
#define LATH_INDEX_BYTES_READ_H

#include "set/bytes/bytes.h"

/* The record that a place leads to, if it has the key; 0: there is none; or LOOK_AGAIN. In a
 * section. */
u64 record_of(struct bytes_set *set, const struct want *want, const struct place *place);
/* Find the places of n keys and prefetch what is there, with overlapped cache misses. In a section.
 */
void bytes_warm(struct bytes_set *set, size_t n, const struct lath_bytes_key *keys);

#endif /* LATH_INDEX_BYTES_READ_H */
