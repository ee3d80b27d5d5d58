/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * retire.h - memory that is freed after a grace period.
 */
#ifndef LATH_STORE_RETIRE_H
#define LATH_STORE_RETIRE_H

#include "store/arena.h"

/* Slots that wait for a grace period. */
#define RETIRE_MAX 500
#define RETIRE_BYTES (256u << 10)
struct retire_batch {
	struct lath_rcu_head rcu;
	struct arena *arena;
	struct arena_shard *shard;
	struct retire_batch *next;
	u32 count;
	u64 bytes;
	u64 place[RETIRE_MAX];
};

/* Frees a place after a grace period. */
void arena_retire(struct arena *arena, u64 place);
/* Starts the grace period of what has been retired so far. */
void arena_flush(struct arena *arena);

#endif /* LATH_STORE_RETIRE_H */
