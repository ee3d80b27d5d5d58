/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.c - kinds of containers in the server's memory.
 */
#include "index.h"

#include "value.h"

#define KIND(layout, flags, each)                                                             \
	{ { sizeof(struct lath_config), layout, (flags) | LATH_SMALL_PAGES, &lath_rcu_single, \
	    &server_memory, 0, 0 },                                                           \
	  &server_blocks,                                                                     \
	  PACKED_MOST,                                                                        \
	  each }

struct lath_small_kind number_kind = KIND(LATH_POINTS, LATH_RANKS, MIDDLE);
struct lath_small_kind range_kind = KIND(LATH_RANGES, LATH_HOLES, MIDDLE);
struct lath_small_kind record_kind = KIND(LATH_POINTS, 0, UINT64_MAX);
unsigned int packed_entries = PACKED_MOST;

void set_packed_entries(unsigned int entries)
{
	LATH_ASSERT(entries <= PACKED_MOST);
	packed_entries = entries;
	lath_small_set_limit(&number_kind, entries);
	lath_small_set_limit(&range_kind, entries);
	lath_small_set_limit(&record_kind, entries);
}
