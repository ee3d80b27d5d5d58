/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.c - memory by its place: small pieces are slots of slabs, large ones runs of units
 * (slab.c). The unit table tells which of both a place is. Memory that readers may still see is
 * freed after a grace period, some hundred places at once. The beginning and the end of an arena,
 * and its new beginning after the death of a process.
 */
#include "store/memory/arena.h"
#include "store/memory/reason.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int lath_arena_alloc(struct arena *arena, u64 size, u64 *place)
{
	static const struct unit as = { .kind = UNIT_RUN };
	u32 first;
	int ret;

	if (unlikely(memory_refused()))
		return -ENOMEM;
	if (likely(size <= SLOT_MAX)) { /* a slot of a slab */
		lath_call_enter();
		ret = lath_slot_alloc(arena, size, place);
		lath_call_exit();
		return ret;
	}
	/* else its own run; the size in units must not wrap */
	if (size > arena->reserved)
		return arena->limit ? -ENOSPC : -ENOMEM;
	ret = lath_run_alloc(arena, (u32)((size + UNIT - 1) >> UNIT_SHIFT), &as, &first);
	if (ret)
		return ret;
	LATH_ASSERT(arena->unit[first].kind == UNIT_RUN);
	*place = (u64)first << UNIT_SHIFT;
	return 0;
}

void lath_arena_free(struct arena *arena, u64 place)
{
	const struct unit *u = unit_of(arena, place);
	u32 first = (u32)(u - arena->unit);

	LATH_ASSERT(first >= arena->first_unit && !(place & 7));
	/* the kind was written when the place was handed out, and nobody else frees it: no lock */
	lath_call_enter();
	if (u->kind == UNIT_RUN)
		lath_run_free(arena, first);
	else
		lath_slot_free(arena, first, place);
	lath_call_exit();
}

u64 lath_arena_size(const struct arena *arena, u64 place)
{
	const struct unit *u = unit_of(arena, place);

	LATH_ASSERT(u->kind == UNIT_RUN || u->kind == UNIT_SLAB);
	return u->kind == UNIT_RUN ? (u64)u->len << UNIT_SHIFT : lath_slab_slot_size(u->class);
}

void *lath_arena_node_alloc(void *ctx, size_t size, size_t align)
{
	struct arena *arena = ctx;
	u64 place;

	LATH_ASSERT(align && !(align & (align - 1)));
	/* slots whose size is a multiple of 64 are aligned to 64 */
	size = round_up(size, align);
	if (lath_arena_alloc(arena, size, &place))
		return NULL;
	LATH_ASSERT(!((uintptr_t)arena_at(arena, place) & (align - 1)));
	return arena_at(arena, place);
}

void lath_arena_node_free(void *ctx, void *block, size_t size)
{
	struct arena *arena = ctx;
	u64 place = (u64)((char *)block - arena->base);

	LATH_ASSERT((char *)block > arena->base && place < arena->reserved);
	LATH_ASSERT(size <= lath_arena_size(arena, place));
	lath_arena_free(arena, place);
}

void lath_arena_figures(struct arena *arena, struct lath_store_stats *stats, uint64_t *used)
{
	unsigned int i, c;
	u64 bytes;

	runs_lock(arena);
	bytes = arena->large_bytes;
	for (i = 0; i < SHARDS; i++) {
		lath_spin_lock(&arena->shard[i].lock);
		for (c = 0; c < SLAB_CLASSES; c++)
			bytes += (u64)arena->shard[i].slots[c] * lath_slab_slot_size(c);
		lath_spin_unlock(&arena->shard[i].lock);
	}
	*used += bytes;
	stats->committed += arena->committed;
	stats->pending_bytes += __atomic_load_n(&arena->pending, __ATOMIC_RELAXED);
	stats->lost_bytes += __atomic_load_n(&arena->lost, __ATOMIC_RELAXED);
	/* min: slots that are handed out meanwhile are in the first number only */
	stats->free_bytes += arena->committed - min(arena->committed, bytes);
	runs_unlock(arena);
}

/* ---- retired memory ---- */

/* A grace period after a batch was retired: frees its slots. */
static void batch_done(struct lath_rcu_head *head)
{
	struct retire_batch *batch = container_of(head, struct retire_batch, rcu);
	struct arena *arena;
	u32 i;

	lath_retired(); /* before anything of the batch is read */
	lath_call_enter();
	arena = batch->arena;
	LATH_ASSERT(batch->count && batch->count <= RETIRE_MAX);
	for (i = 0; i < batch->count; i++)
		lath_arena_free(arena, batch->place[i]);
	__atomic_fetch_sub(&arena->pending, batch->bytes, __ATOMIC_RELAXED);
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
	lath_spin_unlock(&shard->lock);
	/* not from the arena: a full one must be able to retire */
	batch = memory_refused() ? NULL : lath_block_alloc(sizeof(*batch));
	lath_spin_lock(&shard->lock);
	if (!batch || shard->batch) { /* another thread of the shard has opened one */
		lath_block_free(batch);
		return shard->batch;
	}
	batch->arena = arena;
	batch->count = 0;
	batch->bytes = 0;
	WRITE_ONCE(shard->batch, batch);
	return batch;
}

void lath_arena_retire(struct arena *arena, u64 place)
{
	struct arena_shard *shard = lath_arena_shard(arena);
	u64 bytes = lath_arena_size(arena, place);
	struct retire_batch *batch;

	lath_spin_lock(&shard->lock);
	batch = batch_open(arena, shard);
	if (unlikely(!batch)) { /* lost rather than freed under a reader */
		lath_spin_unlock(&shard->lock);
		__atomic_fetch_add(&arena->lost, bytes, __ATOMIC_RELAXED);
		return;
	}
	LATH_ASSERT(lath_spin_mine(&shard->lock));
	LATH_ASSERT(batch->arena == arena && batch->count < RETIRE_MAX);
	batch->place[batch->count++] = place;
	batch->bytes += bytes;
	/* a full batch is closed under the lock, and begins its grace period after it */
	if (batch->count == RETIRE_MAX || batch->bytes >= RETIRE_BYTES)
		WRITE_ONCE(shard->batch, NULL);
	else
		batch = NULL;
	/* under the lock: before the batch can end, which subtracts it */
	__atomic_fetch_add(&arena->pending, bytes, __ATOMIC_RELAXED);
	lath_spin_unlock(&shard->lock);
	if (batch)
		lath_retire(arena->rcu, &batch->rcu, batch_done);
}

void lath_arena_flush(struct arena *arena)
{
	unsigned int i;

	for (i = 0; i < SHARDS; i++) {
		struct arena_shard *shard = &arena->shard[i];
		struct retire_batch *batch;

		if (!READ_ONCE(shard->batch)) /* shards of other threads, most often */
			continue;
		lath_call_enter();
		lath_spin_lock(&shard->lock);
		batch = shard->batch;
		WRITE_ONCE(shard->batch, NULL);
		lath_spin_unlock(&shard->lock);
		LATH_ASSERT(!batch || batch->count);
		if (batch)
			lath_retire(arena->rcu, &batch->rcu, batch_done);
		lath_call_exit();
	}
}

/* ---- begin and end ---- */

#define RESERVE_DEFAULT_MIN (16ull << 30)
#define RESERVE_MAX (8ull << 40) /* a place has 43 bits */

/* Returns how many bytes of addresses to reserve: of a limited store twice the limit, of an
 * unlimited one twice the machine's memory. */
static u64 wanted_reserve(const struct lath_store_options *options)
{
	u64 want = min(options->reserve, RESERVE_MAX), limit = min(options->limit, RESERVE_MAX);
	long pages = sysconf(_SC_PHYS_PAGES);

	if (!want)
		want = limit ? limit * 2
			     : max(RESERVE_DEFAULT_MIN,
				   pages > 0 ? (u64)pages * lath_page_size() * 2 : 0);
	want = round_up(max(want, limit), BLOCK) + 2 * BLOCK;
	LATH_ASSERT(!(want % BLOCK) && want >= 2 * BLOCK);
	return min(want, RESERVE_MAX);
}

/* ---- reserved huge pages and fork ----
 *
 * They are private memory, so the first of parent and child to write after a fork needs one more
 * for each: where none is left the kernel kills the child. So the thread that forks moves what is
 * on them to ordinary pages. */

static struct arena *hugetlb_arenas; /* changed in a call, under the lock */
static struct lath_spinlock hugetlb_lock;

static void hugetlb_leave(void)
{
	struct arena *arena;
	u64 b;

	for (arena = hugetlb_arenas; arena; arena = arena->next)
		for (b = 0; b < arena->reserved / BLOCK; b++)
			if (arena->block[b] == BLOCK_HUGETLB &&
			    lath_pages_leave_hugetlb(arena->base + b * BLOCK))
				arena->block[b] = BLOCK_COMMITTED;
}

static void hugetlb_list(struct arena *arena, bool add)
{
	lath_call_enter();
	lath_spin_lock(&hugetlb_lock);
	if (add) {
		WRITE_ONCE(lath_fork_hook, hugetlb_leave);
		arena->next = hugetlb_arenas;
		arena->link = &hugetlb_arenas;
	}
	*arena->link = add ? arena : arena->next;
	if (arena->next)
		arena->next->link = add ? &arena->next : arena->link;
	lath_spin_unlock(&hugetlb_lock);
	lath_call_exit();
}

static void locks_init(struct arena *arena)
{
	int i;

	pthread_mutex_init(&arena->lock, NULL);
	for (i = 0; i < SHARDS; i++)
		lath_spin_init(&arena->shard[i].lock);
}

int lath_arena_init_at(struct arena *arena, char *base, u64 reserved, u8 *block,
		       const struct arena_backing *backing,
		       const struct lath_store_options *options, const struct lath_rcu *rcu,
		       u64 *all_committed)
{
	u64 table;

	LATH_ASSERT(!((uintptr_t)base % BLOCK) && !(reserved % BLOCK) && reserved <= RESERVE_MAX);
	memset(arena, 0, sizeof(*arena));
	arena->base = base;
	arena->reserved = reserved;
	arena->block = block;
	arena->backing = backing;
	arena->limit = options->limit;
	arena->rcu = rcu;
	arena->all_committed = all_committed;
	arena->small_pages = options->pages == LATH_PAGES_SMALL;
	arena->hugetlb = options->pages == LATH_PAGES_HUGETLB;
	/* the table is at the begin of what it describes: its own units are never handed out */
	arena->unit = (struct unit *)(void *)base;
	arena->units = (u32)(reserved >> UNIT_SHIFT);
	table = round_up((u64)arena->units * sizeof(struct unit), BLOCK);
	arena->first_unit = arena->fresh_unit = (u32)(table >> UNIT_SHIFT);
	LATH_ASSERT(arena->first_unit > NO_UNIT);
	locks_init(arena);
	return arena->first_unit < arena->units ? 0 : -EINVAL;
}

int lath_arena_init(struct arena *arena, const struct lath_store_options *options,
		    const struct lath_rcu *rcu, u64 *all_committed)
{
	u64 reserved = wanted_reserve(options);
	char *base;
	u8 *block;
	int ret = lath_pages_reserve(&base, &reserved, options);

	if (ret)
		return ret;
	block = memory_refused() ? NULL : calloc(reserved / BLOCK, 1);
	ret = block ? lath_arena_init_at(arena, base, reserved, block, NULL, options, rcu,
					 all_committed)
		    : -ENOMEM;
	if (ret) { /* no memory, or so few addresses that the table takes all of them */
		free(block);
		munmap(base, reserved);
	} else if (arena->hugetlb) {
		hugetlb_list(arena, true);
	}
	return ret;
}

void lath_arena_restart(struct arena *arena, u32 fresh)
{
	unsigned int i;
	u64 b;

	LATH_ASSERT(fresh >= arena->first_unit && fresh <= arena->units);
	/* the process that died may have held any lock, and have left any list half changed */
	locks_init(arena);
	memset(arena->run, 0, sizeof(arena->run));
	arena->fresh_unit = fresh;
	arena->large_bytes = arena->pending = arena->lost = arena->committed = 0;
	for (b = 0; b < arena->reserved / BLOCK; b++)
		arena->committed += arena->block[b] ? BLOCK : 0;
	for (i = 0; i < SHARDS; i++) {
		struct arena_shard *shard = &arena->shard[i];
		/* next_version continues: no version is used twice */
		memset(shard->partial, 0, sizeof(shard->partial));
		memset(shard->slots, 0, sizeof(shard->slots));
		/* batches were private memory of the process that died */
		shard->batch = NULL;
		shard->items = 0;
	}
}

void lath_arena_fini(struct arena *arena)
{
	/* the batches that are not full too; then all callbacks, while the memory is still there */
	lath_arena_flush(arena);
	lath_retire_drain(arena->rcu);
	LATH_ASSERT(!__atomic_load_n(&arena->pending, __ATOMIC_RELAXED) || lath_retire_ended());
	if (arena->hugetlb)
		hugetlb_list(arena, false);
	pthread_mutex_destroy(&arena->lock);
	/* for whoever maps these addresses next */
	for (u64 b = 0; b < arena->reserved / BLOCK; b++)
		if (arena->block[b])
			unpoison(arena, arena->base + b * BLOCK, BLOCK);
	free(arena->block);
	munmap(arena->base, arena->reserved);
}
