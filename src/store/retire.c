/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * retire.c - memory that readers may still see: it is freed after a grace period, some hundred
 * places at once.
 */
#include "store/retire.h"

#include "store/reason.h"
#include "store/slab.h"

/* Batches that a shard keeps for reuse. */
#define SPARE_MAX 4

static struct retire_batch *batch_pop(struct arena_shard *shard)
{
	struct retire_batch *batch = shard->spare;

	LATH_ASSERT(lath_spin_mine(&shard->lock) && !batch == !shard->spares);
	/* one of those that batch_done() kept: no allocation */
	if (batch) {
		shard->spare = batch->next;
		shard->spares--;
	}
	return batch;
}

static void batch_push(struct arena_shard *shard, struct retire_batch *batch)
{
	LATH_ASSERT(lath_spin_mine(&shard->lock));
	batch->next = shard->spare;
	shard->spare = batch;
	shard->spares++;
}

/* A grace period after a batch was retired: frees its slots. */
static void batch_done(struct lath_rcu_head *head)
{
	struct retire_batch *batch = container_of(head, struct retire_batch, rcu);
	struct arena_shard *shard;
	struct arena *arena;
	bool keep;
	u32 i;

	lath_retired(); /* before anything of the batch is read */
	lath_call_enter();
	arena = batch->arena;
	shard = batch->shard;
	LATH_ASSERT(batch->count && batch->count <= RETIRE_MAX);
	LATH_ASSERT(shard >= arena->shard && shard < arena->shard + SHARDS);
	for (i = 0; i < batch->count; i++)
		arena_free(arena, batch->place[i]);
	__atomic_fetch_sub(&arena->pending, batch->bytes, __ATOMIC_RELAXED);
	lath_spin_lock(&shard->lock);
	keep = shard->spares < SPARE_MAX &&
	       !arena->backing; /* a batch is private memory of this process */
	if (keep)
		batch_push(shard, batch);
	lath_spin_unlock(&shard->lock);
	if (!keep)
		lath_block_free(batch);
	lath_call_exit();
	lath_retired_end();
}

/* Returns the open batch of a shard, or NULL: no memory. The shard is locked, on return too; it may
 * be unlocked in between. */
static struct retire_batch *batch_open(struct arena *arena, struct arena_shard *shard)
{
	struct retire_batch *batch;

	LATH_ASSERT(lath_spin_mine(&shard->lock));
	if (likely(shard->batch))
		return shard->batch;
	batch = batch_pop(shard);
	if (!batch) {
		lath_spin_unlock(&shard->lock);
		/* not from the arena: a full one must be able to retire */
		batch = memory_refused() ? NULL : lath_block_alloc(sizeof(*batch));
		lath_spin_lock(&shard->lock);
		if (!batch)
			return shard->batch;
		if (shard->batch) { /* another thread of the shard has opened one */
			batch_push(shard, batch);
			return shard->batch;
		}
	}
	batch->arena = arena;
	batch->shard = shard;
	batch->count = 0;
	batch->bytes = 0;
	shard->batch = batch;
	return batch;
}

void arena_retire(struct arena *arena, u64 place)
{
	struct arena_shard *shard = arena_shard(arena);
	u64 bytes = arena_size(arena, place);
	struct retire_batch *batch;

	lath_spin_lock(&shard->lock);
	batch = batch_open(arena, shard);
	if (unlikely(!batch)) { /* lost rather than freed under a reader */
		lath_spin_unlock(&shard->lock);
		__atomic_fetch_add(&arena->lost, bytes, __ATOMIC_RELAXED);
		return;
	}
	LATH_ASSERT(lath_spin_mine(&shard->lock) && batch->shard == shard);
	LATH_ASSERT(batch->arena == arena && batch->count < RETIRE_MAX);
	batch->place[batch->count++] = place;
	batch->bytes += bytes;
	/* a full batch is closed under the lock, and begins its grace period after it */
	if (batch->count == RETIRE_MAX || batch->bytes >= RETIRE_BYTES)
		shard->batch = NULL;
	else
		batch = NULL;
	lath_spin_unlock(&shard->lock);
	/* what waits, for those that wait for it (evict.c) and for the statistics */
	__atomic_fetch_add(&arena->pending, bytes, __ATOMIC_RELAXED);
	if (batch)
		lath_retire(arena->rcu, &batch->rcu, batch_done);
}

void arena_flush(struct arena *arena)
{
	unsigned int i;

	for (i = 0; i < SHARDS; i++) {
		struct arena_shard *shard = &arena->shard[i];
		struct retire_batch *batch;

		lath_call_enter();
		lath_spin_lock(&shard->lock);
		batch = shard->batch;
		shard->batch = NULL;
		lath_spin_unlock(&shard->lock);
		LATH_ASSERT(!batch || batch->count);
		if (batch)
			lath_retire(arena->rcu, &batch->rcu, batch_done);
		lath_call_exit();
	}
}
