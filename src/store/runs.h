/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runs.h - runs of units, the blocks under them, and the limit.
 */
#ifndef LATH_STORE_RUNS_H
#define LATH_STORE_RUNS_H

#include "store/arena.h"

/* For assertions: returns whether a thread holds the lock of the runs. */
static inline bool runs_locked(struct arena *arena)
{
	return pthread_mutex_trylock(&arena->lock) == EBUSY;
}

/* Take and release the lock of the runs, in a call. */
static inline void runs_lock(struct arena *arena)
{
	lath_call_enter();
	pthread_mutex_lock(&arena->lock);
}

static inline void runs_unlock(struct arena *arena)
{
	LATH_ASSERT(runs_locked(arena));
	pthread_mutex_unlock(&arena->lock);
	lath_call_exit();
}

/* Allocates a run of len units, the first of which becomes *as. No lock held. 0 (*first) | -ENOMEM
 * | -ENOSPC */
int run_alloc(struct arena *arena, u32 len, const struct unit *as, u32 *first);
/* Frees a run that is large memory or a slab without used slots; joins it with free neighbours. No
 * lock held. */
void run_free(struct arena *arena, u32 first);
/* Makes len units a free run. arena->lock held; the neighbours are not free. */
void run_link(struct arena *arena, u32 first, u32 len);
/* Sets how many bytes above the limit the calling thread may take. */
void arena_allow(u64 bytes);
/* Returns whether the limit does not permit another block. */
bool arena_is_full(struct arena *arena);

/* Returns whole free blocks to the machine. Returns the number of bytes. */
u64 arena_release(struct arena *arena);
/* Commits this many more bytes and touches them. 0 | -ENOMEM | -ENOSPC (the limit) */
int arena_prefault(struct arena *arena, u64 bytes);

#endif /* LATH_STORE_RUNS_H */
