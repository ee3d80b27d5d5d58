/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runs.c - runs of units, and the blocks of 2 MiB under them, up to the limit.
 *
 * Free runs are in lists by the logarithm of their length. They have their length at both ends, so
 * neighbours are joined in constant time (Knuth, boundary tags).
 */
#include "store/memory/arena.h"
#include "store/memory/reason.h"

/* ---- the limit ---- */

__thread u64 lath_arena_allowance;

bool lath_arena_is_full(struct arena *arena)
{
	u64 more = __atomic_load_n(arena->all_committed, __ATOMIC_RELAXED) + BLOCK;

	/* both arenas of a store count in one number: either may use up the limit */
	LATH_ASSERT(arena->all_committed && !(more % BLOCK));
	return arena->limit && more > arena->limit + lath_arena_allowance;
}

/* ---- runs; arena->lock held ---- */

static void run_unlink(struct arena *arena, u32 first)
{
	const struct unit *u = &arena->unit[first];

	LATH_ASSERT(runs_locked(arena) && u->kind == UNIT_FREE && u->len);
	unit_unlink(arena, &arena->run[__fls64(u->len)], first);
}

void lath_run_link(struct arena *arena, u32 first, u32 len)
{
	struct unit *u = &arena->unit[first], *end = u + len - 1;

	LATH_ASSERT(runs_locked(arena) && len && first >= arena->first_unit &&
		    len <= arena->fresh_unit - first);
	/* its length at both ends, so that a thread that frees a neighbour finds the other end; a run of
	 * one unit has only one, whose kind is FREE */
	end->kind = UNIT_END;
	end->back = len - 1;
	u->kind = UNIT_FREE;
	u->len = len;
	u->back = 0;
	unit_link(arena, &arena->run[__fls64(len)], first);
}

/* Returns a free run of at least len units, or NO_UNIT: the first that fits among 64 of its own
 * size class, else any of a larger class. arena->lock held. */
static u32 run_find(const struct arena *arena, u32 len)
{
	unsigned int bucket = __fls64(len);
	unsigned int looked = 0;
	u32 first;

	/* runs of this list may be too short; some are looked at before a longer one is cut */
	for (first = arena->run[bucket]; first && looked < 64;
	     first = arena->unit[first].next, looked++)
		if (arena->unit[first].len >= len)
			return first;
	/* each run of these lists is long enough */
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
	if (memory_refused())
		return -ENOMEM;
	/* count first, ask the machine then: two threads do not exceed the limit together */
	if (__atomic_add_fetch(arena->all_committed, need * BLOCK, __ATOMIC_RELAXED) >
		    arena->limit + lath_arena_allowance &&
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
		arena->block[i] = arena->hugetlb && lath_pages_try_hugetlb(arena->base + i * BLOCK)
					  ? BLOCK_HUGETLB
					  : BLOCK_COMMITTED;
		arena->committed += BLOCK;
		LATH_ASSERT(need && arena->committed <= arena->reserved);
		need--;
	}
	/* those that the machine refused; the others stay, for the next call */
	__atomic_fetch_sub(arena->all_committed, need * BLOCK, __ATOMIC_RELAXED);
	return need ? -ENOMEM : 0;
}

/* Takes len units from a free run, or from those never used. arena->lock held. 0 (*out) | -ENOMEM |
 * -ENOSPC */
static int run_take(struct arena *arena, u32 len, u32 *out)
{
	u32 run = run_find(arena, len), first = run ? run : arena->fresh_unit, have;
	int ret;

	LATH_ASSERT(runs_locked(arena) && len);
	/* no free run fits: units that were never used */
	if (!run && len > arena->units - first)
		return arena->limit ? -ENOSPC : -ENOMEM;
	ret = commit(arena, first, len);
	if (ret)
		return ret;
	*out = first;
	if (!run) {
		arena->fresh_unit += len;
		return 0;
	}
	have = arena->unit[first].len;
	LATH_ASSERT(have >= len && first + (u64)have <= arena->fresh_unit);
	run_unlink(arena, first);
	if (have > len) /* what is left over is a free run again */
		lath_run_link(arena, first + len, have - len);
	return 0;
}

int lath_run_alloc(struct arena *arena, u32 len, const struct unit *as, u32 *out)
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
		if (as->kind == UNIT_SLAB) { /* a place in any unit leads to the slab */
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

void lath_run_free(struct arena *arena, u32 first)
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
	next = first + len; /* join with the free run behind, then with the one before */
	if (next < arena->fresh_unit && arena->unit[next].kind == UNIT_FREE) {
		len += arena->unit[next].len;
		run_unlink(arena, next);
	}
	if (first > arena->first_unit &&
	    (u[-1].kind == UNIT_END || (u[-1].kind == UNIT_FREE && u[-1].len == 1))) {
		u32 before = first - 1 - u[-1].back;

		len += arena->unit[before].len;
		run_unlink(arena, before);
		u->kind = UNIT_NONE;
		first = before;
	}
	LATH_ASSERT(len <= arena->fresh_unit - first);
	lath_run_link(arena, first, len);
	runs_unlock(arena);
}

/* ---- memory of the machine ---- */

u64 lath_arena_release(struct arena *arena)
{
	u64 given = 0, b;
	unsigned int i;
	u32 first;

	runs_lock(arena);
	for (i = __fls64(UNITS_A_BLOCK); i < RUN_BUCKETS; i++) {
		/* a run shorter than a block has none to give */
		for (first = arena->run[i]; first; first = arena->unit[first].next) {
			u64 from = (first + UNITS_A_BLOCK - 1) / UNITS_A_BLOCK;
			u64 to = (first + (u64)arena->unit[first].len) / UNITS_A_BLOCK;

			for (b = from; b < to; b++) {
				if (!arena->block[b] ||
				    (arena->backing ? arena->backing->give_back(arena, b)
						    : lath_pages_give_back(arena->base + b * BLOCK,
									   BLOCK)))
					continue;
				/* not the block under the unit table */
				LATH_ASSERT(b * UNITS_A_BLOCK >= arena->first_unit);
				LATH_ASSERT(arena->committed >= BLOCK);
				arena->block[b] = BLOCK_NONE;
				arena->committed -= BLOCK;
				__atomic_fetch_sub(arena->all_committed, BLOCK, __ATOMIC_RELAXED);
				given += BLOCK;
			}
		}
	}
	runs_unlock(arena);
	return given;
}

int lath_arena_prefault(struct arena *arena, u64 bytes)
{
	u64 len = round_up(bytes, BLOCK), from, table, table_end;
	int ret;

	runs_lock(arena);
	from = (u64)arena->fresh_unit << UNIT_SHIFT;
	ret = bytes > (arena->reserved - from) / BLOCK * BLOCK
		      ? -ENOMEM
		      : commit(arena, arena->fresh_unit, (u32)(len >> UNIT_SHIFT));
	runs_unlock(arena);
	if (ret)
		return ret;
	LATH_ASSERT(len <= arena->reserved - from);
	/* not locked: to touch pages takes long, and harms nobody who uses them in the meantime */
	ret = lath_pages_populate(arena->base + from, len, !arena->small_pages);
	if (ret)
		return ret;
	/* and the part of the unit table that will describe them */
	table = (from >> UNIT_SHIFT) * sizeof(struct unit) / BLOCK * BLOCK;
	table_end = round_up(((from + len) >> UNIT_SHIFT) * sizeof(struct unit), BLOCK);
	return lath_pages_populate(arena->base + table, table_end - table, !arena->small_pages);
}
