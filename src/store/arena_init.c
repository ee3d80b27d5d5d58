/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena_init.c - the beginning and the end of an arena, and its new beginning after the death of a
 * process.
 */
#include "store/arena.h"
#include "store/pages.h"
#include "store/reason.h"
#include "store/retire.h"

#include <stdlib.h>

#define RESERVE_DEFAULT_MIN (16ull << 30)
#define RESERVE_MAX (8ull << 40) /* a place has 43 bits */

/* Returns how many bytes of addresses to reserve: of a limited store twice the limit, of an
 * unlimited one twice the machine's memory. */
static u64 wanted_reserve(const struct lath_store_options *options)
{
	u64 want = min(options->reserve, RESERVE_MAX), limit = min(options->limit, RESERVE_MAX);

	if (!want)
		want = limit ? limit * 2 : max(RESERVE_DEFAULT_MIN, pages_physical() * 2);
	want = round_up(max(want, limit), BLOCK) + 2 * BLOCK;
	LATH_ASSERT(!(want % BLOCK) && want >= 2 * BLOCK);
	return min(want, RESERVE_MAX);
}

/* Initialises the fields that need no memory. */
static void arena_setup(struct arena *arena, const struct lath_store_options *options,
			const struct lath_rcu *rcu, u64 *all_committed)
{
	memset(arena, 0, sizeof(*arena));
	arena->limit = options->limit;
	arena->rcu = rcu;
	arena->all_committed = all_committed;
	arena->small_pages = options->pages == LATH_PAGES_SMALL;
	arena->hugetlb = options->pages == LATH_PAGES_HUGETLB;
}

/* ---- reserved huge pages and fork ----
 *
 * They are private memory, so whoever writes first after a fork, parent or child, needs one more
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
			    pages_leave_hugetlb(arena->base + b * BLOCK))
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

static void arena_layout(struct arena *arena)
{
	u64 table;

	LATH_ASSERT(!(arena->reserved % BLOCK) && arena->reserved <= RESERVE_MAX);
	arena->units = (u32)(arena->reserved >> UNIT_SHIFT);
	table = round_up((u64)arena->units * sizeof(struct unit), BLOCK);
	arena->first_unit = arena->fresh_unit = (u32)(table >> UNIT_SHIFT);
	/* the table is at the begin of what it describes: its own units are never handed out */
	LATH_ASSERT(arena->first_unit > NO_UNIT);
	arena->unit = (struct unit *)(void *)arena->base;
}

static void locks_init(struct arena *arena)
{
	int i;

	pthread_mutex_init(&arena->lock, NULL);
	for (i = 0; i < SHARDS; i++)
		lath_spin_init(&arena->shard[i].lock);
}

int arena_init(struct arena *arena, const struct lath_store_options *options,
	       const struct lath_rcu *rcu, u64 *all_committed)
{
	int ret;

	arena_setup(arena, options, rcu, all_committed);
	arena->reserved = wanted_reserve(options);
	ret = pages_reserve(&arena->base, &arena->reserved, options);
	if (ret)
		return ret;
	LATH_ASSERT(!((uintptr_t)arena->base % BLOCK));
	arena_layout(arena);
	arena->block = memory_refused() ? NULL : calloc(arena->reserved / BLOCK, 1);
	if (!arena->block || arena->first_unit >= arena->units) {
		/* no memory, or so few addresses that the table takes all of them */
		free(arena->block);
		pages_release(arena->base, arena->reserved);
		return arena->block ? -EINVAL : -ENOMEM;
	}
	locks_init(arena);
	if (arena->hugetlb)
		hugetlb_list(arena, true);
	return 0;
}

int arena_init_shared(struct arena *arena, char *base, u64 reserved, u8 *block,
		      const struct arena_backing *backing, const struct lath_store_options *options,
		      const struct lath_rcu *rcu, u64 *all_committed)
{
	LATH_ASSERT(!((uintptr_t)base % BLOCK) && !(reserved % BLOCK));
	arena_setup(arena, options, rcu, all_committed);
	arena->hugetlb = false;
	arena->base = base;
	arena->reserved = reserved;
	arena->block = block;
	arena->backing = backing;
	arena_layout(arena);
	locks_init(arena);
	return arena->first_unit < arena->units ? 0 : -EINVAL;
}

void arena_restart(struct arena *arena, u32 fresh)
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
		shard->batch = shard->spare = NULL;
		shard->spares = 0;
		shard->items = 0;
	}
}

void arena_fini(struct arena *arena)
{
	struct retire_batch *batch;
	unsigned int i;

	/* the batches that are not full too; then all callbacks, while the memory is still there */
	arena_flush(arena);
	lath_retire_drain(arena->rcu);
	/* nothing waits for a grace period any more: the batches that are left are spare ones */
	LATH_ASSERT(!__atomic_load_n(&arena->pending, __ATOMIC_RELAXED) || lath_retire_ended());
	for (i = 0; i < SHARDS; i++) {
		LATH_ASSERT(!arena->shard[i].batch);
		while ((batch = arena->shard[i].spare)) {
			arena->shard[i].spare = batch->next;
			lath_block_free(batch);
		}
	}
	if (arena->hugetlb)
		hugetlb_list(arena, false);
	pthread_mutex_destroy(&arena->lock);
	free(arena->block);
	pages_release(arena->base, arena->reserved);
}
