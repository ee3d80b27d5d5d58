/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.c - memory by its place: small pieces are slots of slabs (slab.c), large ones runs of units
 * (runs.c). The unit table tells which of both a place is.
 */
#include "store/arena.h"

#include "store/reason.h"
#include "store/runs.h"
#include "store/slab.h"

int arena_alloc(struct arena *arena, u64 size, u64 *place)
{
	static const struct unit as = { .kind = UNIT_RUN };
	u32 first;
	int ret;

	if (unlikely(memory_refused()))
		return -ENOMEM;
	if (likely(size <= SLOT_MAX)) { /* a slot of a slab */
		lath_call_enter();
		ret = slot_alloc(arena, size, place);
		lath_call_exit();
		return ret;
	}
	/* else its own run; the size in units must not wrap */
	if (size > arena->reserved)
		return arena->limit ? -ENOSPC : -ENOMEM;
	ret = run_alloc(arena, (u32)((size + UNIT - 1) >> UNIT_SHIFT), &as, &first);
	if (ret)
		return ret;
	LATH_ASSERT(arena->unit[first].kind == UNIT_RUN);
	*place = (u64)first << UNIT_SHIFT;
	return 0;
}

void arena_free(struct arena *arena, u64 place)
{
	u32 first = (u32)(place >> UNIT_SHIFT);
	const struct unit *u = &arena->unit[first];

	LATH_ASSERT(place < arena->reserved && first >= arena->first_unit && !(place & 7));
	LATH_ASSERT(u->kind == UNIT_RUN || u->kind == UNIT_SLAB || u->kind == UNIT_BODY);
	/* the kind was written when the place was handed out, and nobody else frees it: no lock */
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

	LATH_ASSERT(place < arena->reserved && place >> UNIT_SHIFT >= arena->first_unit);
	/* a unit in a slab leads to its first one, which has the class */
	if (u->kind == UNIT_BODY)
		u -= u->back;
	LATH_ASSERT(u->kind == UNIT_RUN || u->kind == UNIT_SLAB);
	return u->kind == UNIT_RUN ? (u64)u->len << UNIT_SHIFT : slab_slot_size(u->class);
}

void *arena_node_alloc(void *ctx, size_t size, size_t align)
{
	struct arena *arena = ctx;
	u64 place;

	LATH_ASSERT(align && !(align & (align - 1)));
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

	LATH_ASSERT((char *)block > arena->base && place < arena->reserved);
	LATH_ASSERT(size <= arena_size(arena, place));
	arena_free(arena, place);
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
		for (c = 0; c < SLAB_CLASSES; c++)
			n->record_bytes += (u64)arena->shard[i].slots[c] * slab_slot_size(c);
		lath_spin_unlock(&arena->shard[i].lock);
	}
	/* min: slots that are handed out meanwhile are in the first number only */
	n->free_bytes =
		arena->committed - min(arena->committed, n->record_bytes + arena->large_bytes);
	runs_unlock(arena);
}
