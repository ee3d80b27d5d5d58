/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.c - runs of units, and the blocks under them. (Slots: slab.c. Pages: pages.c.)
 *
 * Free runs are in lists by the logarithm of their length. They have their length at both ends, so
 * neighbours are joined in constant time (Knuth, boundary tags).
 */
#include "store/arena.h"

#include <stdlib.h>

#include "store/pages.h"

bool (*lath_store_refuse)(void);

#define RESERVE_DEFAULT_MIN (16ull << 30)
#define RESERVE_MAX (8ull << 40) /* a place has 43 bits */

static __thread u64 allowance;

void arena_allow(u64 bytes)
{
	allowance = bytes;
}

static u64 round_up(u64 n, u64 to)
{
	return (n + to - 1) / to * to;
}

/* Returns how many bytes of addresses to reserve: of a limited store twice the limit, of an
 * unlimited one twice the machine's memory. */
static u64 wanted_reserve(const struct lath_store_options *options)
{
	u64 want = min(options->reserve, RESERVE_MAX), limit = min(options->limit, RESERVE_MAX);

	if (!want)
		want = limit ? limit * 2 : max(RESERVE_DEFAULT_MIN, pages_physical() * 2);
	want = round_up(max(want, limit), BLOCK) + 2 * BLOCK;
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

static void arena_layout(struct arena *arena)
{
	u64 table;

	arena->units = (u32)(arena->reserved >> UNIT_SHIFT);
	table = round_up((u64)arena->units * sizeof(struct unit), BLOCK);
	arena->first_unit = arena->fresh_unit = (u32)(table >> UNIT_SHIFT);
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
	arena_layout(arena);
	arena->block = store_refused() ? NULL : calloc(arena->reserved / BLOCK, 1);
	if (!arena->block || arena->first_unit >= arena->units) {
		free(arena->block);
		pages_release(arena->base, arena->reserved);
		return arena->block ? -EINVAL : -ENOMEM;
	}
	locks_init(arena);
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
		shard->batch = shard->spare = NULL;
		shard->spares = 0;
		shard->items = 0;
	}
}

void arena_fini(struct arena *arena)
{
	struct retire_batch *batch;
	unsigned int i;

	arena_flush(arena);
	lath_retire_drain(arena->rcu);
	for (i = 0; i < SHARDS; i++) {
		while ((batch = arena->shard[i].spare)) {
			arena->shard[i].spare = batch->next;
			lath_block_free(batch);
		}
	}
	pthread_mutex_destroy(&arena->lock);
	free(arena->block);
	pages_release(arena->base, arena->reserved);
}

static int block_give_back(struct arena *arena, u64 b)
{
	return arena->backing ? arena->backing->give_back(arena, b)
			      : pages_give_back(arena->base + b * BLOCK, BLOCK);
}

/* ---- runs; arena->lock held ---- */

static void run_unlink(struct arena *arena, u32 first)
{
	struct unit *u = &arena->unit[first];

	LATH_ASSERT(runs_locked(arena) && u->kind == UNIT_FREE && u->len);
	if (u->prev)
		arena->unit[u->prev].next = u->next;
	else
		arena->run[__fls64(u->len)] = u->next;
	if (u->next)
		arena->unit[u->next].prev = u->prev;
}

void run_link(struct arena *arena, u32 first, u32 len)
{
	struct unit *u = &arena->unit[first], *end = u + len - 1;
	u32 *head = &arena->run[__fls64(len)];

	LATH_ASSERT(runs_locked(arena) && len && first >= arena->first_unit &&
		    len <= arena->fresh_unit - first);
	end->kind = UNIT_END;
	end->back = len - 1;
	u->kind = UNIT_FREE;
	u->len = len;
	u->back = 0;
	u->prev = NO_UNIT;
	u->next = *head;
	if (*head)
		arena->unit[*head].prev = first;
	*head = first;
}

/* Returns a free run of at least len units, or NO_UNIT: the first that fits among 64 of its own
 * size class, else any of a larger class. arena->lock held. */
static u32 run_find(const struct arena *arena, u32 len)
{
	unsigned int bucket = __fls64(len);
	unsigned int looked = 0;
	u32 first;

	for (first = arena->run[bucket]; first && looked < 64;
	     first = arena->unit[first].next, looked++)
		if (arena->unit[first].len >= len)
			return first;
	while (++bucket < RUN_BUCKETS)
		if (arena->run[bucket])
			return arena->run[bucket];
	return NO_UNIT;
}

/* Commits those blocks under [first, first + len) that are not committed. arena->lock held. 0 |
 * -ENOMEM | -ENOSPC (the limit) */
static int commit(struct arena *arena, u32 first, u32 len)
{
	u64 b = first / UNITS_A_BLOCK, end = (first + len - 1ul) / UNITS_A_BLOCK + 1, need = 0, i;

	LATH_ASSERT(runs_locked(arena) && len && len <= arena->units - first);
	for (i = b; i < end; i++)
		need += !arena->block[i];
	if (!need)
		return 0;
	if (store_refused())
		return -ENOMEM;
	if (__atomic_add_fetch(arena->all_committed, need * BLOCK, __ATOMIC_RELAXED) >
		    arena->limit + allowance &&
	    arena->limit) {
		__atomic_fetch_sub(arena->all_committed, need * BLOCK, __ATOMIC_RELAXED);
		lath_probe(refusal, arena, need * BLOCK);
		return -ENOSPC;
	}
	for (i = b; i < end; i++) {
		if (arena->block[i])
			continue;
		if (arena->backing && arena->backing->take(arena, i))
			break;
		if (arena->hugetlb)
			pages_try_hugetlb(arena->base + i * BLOCK);
		arena->block[i] = 1;
		arena->committed += BLOCK;
		need--;
	}
	__atomic_fetch_sub(arena->all_committed, need * BLOCK, __ATOMIC_RELAXED);
	return need ? -ENOMEM : 0;
}

/* Takes len units from a free run, or from those never used. arena->lock held. 0 (*out) | -ENOMEM |
 * -ENOSPC */
static int run_take(struct arena *arena, u32 len, u32 *out)
{
	u32 first = run_find(arena, len), have;
	int ret;

	if (!first) {
		if (len > arena->units - arena->fresh_unit)
			return arena->limit ? -ENOSPC : -ENOMEM;
		ret = commit(arena, arena->fresh_unit, len);
		if (ret)
			return ret;
		*out = arena->fresh_unit;
		arena->fresh_unit += len;
		return 0;
	}
	ret = commit(arena, first, len);
	if (ret)
		return ret;
	have = arena->unit[first].len;
	run_unlink(arena, first);
	if (have > len)
		run_link(arena, first + len, have - len);
	*out = first;
	return 0;
}

int run_alloc(struct arena *arena, u32 len, const struct unit *as, u32 *out)
{
	struct unit *u;
	u32 i;
	int ret;

	LATH_ASSERT(len && (as->kind == UNIT_RUN || as->kind == UNIT_SLAB));
	runs_lock(arena);
	ret = run_take(arena, len, out);
	if (!ret) {
		LATH_ASSERT(*out >= arena->first_unit && len <= arena->fresh_unit - *out);
		u = &arena->unit[*out];
		*u = *as;
		u->len = len;
		if (as->kind == UNIT_SLAB) {
			for (i = 1; i < len; i++) {
				u[i].kind = UNIT_BODY;
				u[i].back = i;
			}
		} else {
			if (len > 1)
				u[len - 1].kind = UNIT_NONE; /* no free run ends here */
			arena->large_bytes += (u64)len << UNIT_SHIFT;
		}
	}
	runs_unlock(arena);
	return ret;
}

void run_free(struct arena *arena, u32 first)
{
	struct unit *u = &arena->unit[first];
	u32 len, next;

	runs_lock(arena);
	len = u->len;
	LATH_ASSERT(first >= arena->first_unit && len <= arena->fresh_unit - first);
	LATH_ASSERT(u->kind == UNIT_RUN
			    ? arena->large_bytes >= (u64)len << UNIT_SHIFT
			    : u->kind == UNIT_SLAB && u->flags == SLAB_GONE && !u->used);
	if (u->kind == UNIT_RUN)
		arena->large_bytes -= (u64)len << UNIT_SHIFT;
	next = first + len;
	if (next < arena->fresh_unit && arena->unit[next].kind == UNIT_FREE) {
		len += arena->unit[next].len;
		run_unlink(arena, next);
	}
	if (first > arena->first_unit &&
	    (arena->unit[first - 1].kind == UNIT_END ||
	     (arena->unit[first - 1].kind == UNIT_FREE && arena->unit[first - 1].len == 1))) {
		u32 before =
			first - 1 -
			(arena->unit[first - 1].kind == UNIT_END ? arena->unit[first - 1].back : 0);

		len += arena->unit[before].len;
		run_unlink(arena, before);
		u->kind = UNIT_NONE;
		first = before;
	}
	run_link(arena, first, len);
	runs_unlock(arena);
}

/* ---- large values and index nodes ---- */

int arena_alloc(struct arena *arena, u64 size, u64 *place)
{
	static const struct unit as = { .kind = UNIT_RUN };
	u32 first;
	int ret;

	if (unlikely(store_refused()))
		return -ENOMEM;
	if (likely(size <= SLOT_MAX)) {
		lath_call_enter();
		ret = slot_alloc(arena, size, place);
		lath_call_exit();
		return ret;
	}
	if (size > arena->reserved)
		return arena->limit ? -ENOSPC : -ENOMEM;
	ret = run_alloc(arena, (u32)((size + UNIT - 1) >> UNIT_SHIFT), &as, &first);
	if (!ret)
		*place = (u64)first << UNIT_SHIFT;
	return ret;
}

void arena_free(struct arena *arena, u64 place)
{
	u32 first = (u32)(place >> UNIT_SHIFT);
	const struct unit *u = &arena->unit[first];

	LATH_ASSERT(place < arena->reserved && first >= arena->first_unit && !(place & 7));
	LATH_ASSERT(u->kind == UNIT_RUN || u->kind == UNIT_SLAB || u->kind == UNIT_BODY);
	lath_call_enter();
	if (u->kind == UNIT_RUN)
		run_free(arena, first);
	else
		slot_free(arena, first - (u->kind == UNIT_BODY ? u->back : 0), place);
	lath_call_exit();
}

u64 arena_size(const struct arena *arena, u64 place)
{
	const struct unit *u = &arena->unit[place >> UNIT_SHIFT];

	if (u->kind == UNIT_BODY)
		u -= u->back;
	return u->kind == UNIT_RUN ? (u64)u->len << UNIT_SHIFT : slot_size(u->class);
}

void *arena_node_alloc(void *ctx, size_t size, size_t align)
{
	struct arena *arena = ctx;
	u64 place;

	/* slots whose size is a multiple of 64 are aligned to 64 */
	size = round_up(size, align);
	if (arena_alloc(arena, size, &place))
		return NULL;
	LATH_ASSERT(!((uintptr_t)arena_at(arena, place) & (align - 1)));
	return arena_at(arena, place);
}

void arena_node_free(void *ctx, void *block, size_t size)
{
	struct arena *arena = ctx;
	u64 place = (u64)((char *)block - arena->base);

	LATH_ASSERT(size <= arena_size(arena, place));
	arena_free(arena, place);
}

bool arena_is_full(struct arena *arena)
{
	u64 more = __atomic_load_n(arena->all_committed, __ATOMIC_RELAXED) + BLOCK;

	return arena->limit && more > arena->limit + allowance;
}

/* ---- memory of the machine ---- */

u64 arena_release(struct arena *arena)
{
	u64 given = 0, b;
	unsigned int i;
	u32 first;

	runs_lock(arena);
	for (i = __fls64(UNITS_A_BLOCK); i < RUN_BUCKETS; i++) {
		for (first = arena->run[i]; first; first = arena->unit[first].next) {
			u64 from = (first + UNITS_A_BLOCK - 1) / UNITS_A_BLOCK;
			u64 to = (first + (u64)arena->unit[first].len) / UNITS_A_BLOCK;

			for (b = from; b < to; b++) {
				if (!arena->block[b] || block_give_back(arena, b))
					continue;
				arena->block[b] = 0;
				arena->committed -= BLOCK;
				__atomic_fetch_sub(arena->all_committed, BLOCK, __ATOMIC_RELAXED);
				given += BLOCK;
			}
		}
	}
	runs_unlock(arena);
	return given;
}

int arena_prefault(struct arena *arena, u64 bytes)
{
	u64 from, len = 0;
	int ret;

	runs_lock(arena);
	from = (u64)arena->fresh_unit << UNIT_SHIFT;
	ret = bytes > (arena->reserved - from) / BLOCK * BLOCK ? -ENOMEM : 0;
	if (!ret)
		len = round_up(bytes, BLOCK);
	if (len)
		ret = commit(arena, arena->fresh_unit, (u32)(len >> UNIT_SHIFT));
	runs_unlock(arena);
	if (!ret && len) {
		/* and the part of the unit table that will describe them */
		u64 table = (from >> UNIT_SHIFT) * sizeof(struct unit) / BLOCK * BLOCK;
		u64 table_end = round_up(((from + len) >> UNIT_SHIFT) * sizeof(struct unit), BLOCK);

		ret = pages_populate(arena->base + from, len, !arena->small_pages);
		if (!ret)
			ret = pages_populate(arena->base + table, table_end - table,
					     !arena->small_pages);
	}
	return ret;
}

void arena_numbers(struct arena *arena, struct arena_numbers *n)
{
	unsigned int i, c;

	memset(n, 0, sizeof(*n));
	runs_lock(arena);
	n->committed = arena->committed;
	n->large_bytes = arena->large_bytes;
	n->pending = __atomic_load_n(&arena->pending, __ATOMIC_RELAXED);
	n->lost = __atomic_load_n(&arena->lost, __ATOMIC_RELAXED);
	n->record_bytes = 0;
	for (i = 0; i < SHARDS; i++) {
		lath_spin_lock(&arena->shard[i].lock);
		for (c = 0; c < CLASSES; c++)
			n->record_bytes += (u64)arena->shard[i].slots[c] * slot_size(c);
		lath_spin_unlock(&arena->shard[i].lock);
	}
	n->free_bytes =
		arena->committed - min(arena->committed, n->record_bytes + arena->large_bytes);
	runs_unlock(arena);
}
