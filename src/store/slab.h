/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slab.h - slots of one size in slabs, the shards that hand them out, compaction.
 */
#ifndef LATH_STORE_SLAB_H
#define LATH_STORE_SLAB_H

#include "store/arena.h"

/* Returns the slot size of a class in bytes. */
u32 slab_slot_size(unsigned int class);
/* Allocates a slot from the calling thread's shard, in a call. 0 (*place) | -ENOMEM | -ENOSPC */
int slot_alloc(struct arena *arena, u64 size, u64 *place);
/* Frees a slot of the slab that begins at unit `first`, in a call. */
void slot_free(struct arena *arena, u32 first, u64 place);
/* Returns the number of slots of a slab. */
u32 slab_slots(const struct unit *slab);
/* After the death of a process: the marked slots are handed out, the others free. */
void slab_restore(struct arena *arena, u32 first, const u64 *mark);

/* Returns the shard of the calling thread. */
struct arena_shard *arena_shard(struct arena *arena);
/* Makes the calling thread take slots from this shard. Returns the number of the shard it used
 * before. */
unsigned int arena_borrow_shard(unsigned int number);
/* Returns the number of the shard that a place belongs to. */
unsigned int arena_shard_of(const struct arena *arena, u64 place);
/* Returns a version that was never returned before. */
u64 arena_version(struct arena *arena);
/* Compaction. arena_mark_sparse: marks the slabs that would not be needed if the others were full;
 * returns their number. arena_draining: returns whether a place is in a marked slab. arena_unmark:
 * ends the marking and frees all slabs without a used slot. */
u64 arena_mark_sparse(struct arena *arena);
bool arena_draining(const struct arena *arena, u64 place);
void arena_unmark(struct arena *arena);

#endif /* LATH_STORE_SLAB_H */
