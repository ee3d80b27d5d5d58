/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.h - the library's containers in the server's memory, reclaimed by the server's main thread.
 */
#ifndef LATH_VALKEY_INDEX_H
#define LATH_VALKEY_INDEX_H

#include "lathwork/small.h"

/* Entries up to which the nodes of an index are allocated one by one. */
#define MIDDLE 4096

/* Of maps: points that count. Of pools: ranges between which there are holes. */
extern struct lath_small_kind number_kind, range_kind;
/* Of owners and leases of pools: points, with nodes one by one. */
extern struct lath_small_kind record_kind;

/* Entries up to which a new entry leaves a key packed: CONFIG SET lathwork.packed-entries. */
#define PACKED_MOST 32
extern unsigned int packed_entries;
/* Sets it, for all kinds too. At most PACKED_MOST. */
void set_packed_entries(unsigned int entries);

#endif /* LATH_VALKEY_INDEX_H */
