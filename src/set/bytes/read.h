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

#endif /* LATH_INDEX_BYTES_READ_H */
