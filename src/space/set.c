/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - sets of arenas: keys below config.below are one set, all others another.
 *
 * A set keeps the grades of its arenas in arrays of 64 bytes, so that a search touches only the
 * arena it selects. A grade read there is a hint; it is checked again under the arena's lock.
 */
#include "space/space.h"

/* Returns an arena struct that serves no block, or NULL (no memory). No lock held. */
static struct arena *arena_obtain(struct lath_space *space, struct set *set)
{
	struct arena *arena;
	struct group *fresh = NULL;
	u64 i;

	lath_spin_lock(&set->lock);
	arena = set->unused;
	if (arena)
		set->unused = arena->next;
	lath_spin_unlock(&set->lock);
	if (arena)
		return arena;
	arena = space_alloc(space, sizeof(*arena));
	if (!arena)
		return NULL;
	if (space->config.flags & LATH_SPACE_OWNERS) {
		arena->owner = space_alloc(space, ARENA_UNITS * sizeof(u64));
		if (!arena->owner)
			goto fail;
	}
	lath_spin_init(&arena->lock);
	arena->block = NO_BLOCK;
	fresh = space_alloc(space,
			    sizeof(*fresh)); /* needed if the arena is the first one of its group */
	if (!fresh)
		goto fail;
	lath_spin_lock(&set->lock);
	i = set->count;
	if (i < 64ull * GROUPS) {
		if (!set->group[i / 64]) {
			set->group[i / 64] = fresh;
			fresh = NULL;
		}
		set->group[i / 64]->arena[i % 64] = arena;
		arena->shown = &set->group[i / 64]->shown[i % 64];
		arena->most = set->group[i / 64]->most[i % 64];
		smp_store_release(&set->count, i + 1); /* pairs with set_take */
	}
	lath_spin_unlock(&set->lock);
	if (fresh) {
		space_free(space, fresh, sizeof(*fresh));
		lath_fetch_add(&space->bytes, -sizeof(*fresh));
	}
	if (i < 64ull * GROUPS)
		return arena;
fail:
	lath_fetch_add(&space->bytes,
		       -sizeof(*arena) - (arena->owner ? ARENA_UNITS * sizeof(u64) : 0));
	space_free(space, arena->owner, ARENA_UNITS * sizeof(u64));
	space_free(space, arena, sizeof(*arena));
	return NULL;
}

static void arena_disuse(struct set *set, struct arena *arena)
{
	LATH_ASSERT(READ_ONCE(arena->block) == NO_BLOCK);
	lath_spin_lock(&set->lock);
	arena->next = set->unused;
	set->unused = arena;
	lath_spin_unlock(&set->lock);
}

bool set_grow(struct lath_space *space, struct set *set)
{
	struct lath_hole_request want = { .size = space->arena_size,
					  .align = space->arena_size,
					  .low = set->low,
					  .high = set->high };
	struct lath_item entry = { .size = 1 };
	u64 freed = READ_ONCE(space->freed), key;
	struct arena *arena;

	if (READ_ONCE(set->stuck) == freed + 1)
		return false; /* nothing was freed to the index since it had no room */
	arena = arena_obtain(space, set);
	if (!arena)
		return false;
	if (lath_index_insert_hole(&space->index, &want, (u64)(uintptr_t)arena, &key)) {
		WRITE_ONCE(set->stuck, freed + 1);
		arena_disuse(set, arena);
		return false;
	}
	LATH_ASSERT(!(key & (space->arena_size - 1)) && key >= set->low &&
		    key <= set->high - space->arena_size);
	entry.key = key / space->arena_size;
	entry.value = (u64)(uintptr_t)arena;
	if (lath_index_insert_item(&space->arenas, &entry, NULL)) {
		lath_index_erase_item(&space->index, key, NULL);
		arena_disuse(set, arena);
		return false;
	}
	lath_spin_lock(&arena->lock);
	arena_open(arena, entry.key);
	arena_count_empty(space, arena, 0);
	lath_spin_unlock(&arena->lock);
	return true;
}

struct arena *arena_lock(struct lath_space *space, u64 key)
{
	u64 block = key >> space->unit_shift >> 12, value;
	struct arena **recent = &space->recent[block % RECENT], *arena = READ_ONCE(*recent);

	if (arena) {
		lath_spin_lock(&arena->lock);
		if (likely(arena->block == block))
			return arena;
		lath_spin_unlock(&arena->lock);
	}
	while (lath_index_get(&space->arenas, block, &value)) {
		arena = (struct arena *)(uintptr_t)value;
		lath_spin_lock(&arena->lock);
		if (arena->block == block) {
			WRITE_ONCE(*recent, arena);
			return arena;
		}
		lath_spin_unlock(&arena->lock);
	}
	return NULL;
}

void arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && unit + n <= ARENA_UNITS);
	for (; arena->owner && n; n--)
		arena->owner[unit++] = cookie;
}

/* Takes up to `most` blocks of n units from a locked arena; *key: their keys. Returns how many; 0
 * also if the arena serves no block. */
static unsigned int take_locked(struct lath_space *space, struct arena *arena, u64 n,
				unsigned int most, u64 cookie, u64 *key)
{
	unsigned int got = 0, i;
	u64 free = arena->free;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && most);
	if (arena->block == NO_BLOCK)
		return 0;
	if (most > 1 && n <= 64)
		got = arena_take_blocks(arena, log2_up(n), most, key);
	else
		while (got < most && arena_take(arena, n, &key[got]))
			got++;
	arena_count_empty(space, arena, free);
	for (i = 0; i < got; i++) {
		arena_set_owner(arena, key[i], n, cookie);
		key[i] = arena_key(space, arena, key[i]);
	}
	return got;
}

unsigned int set_take(struct lath_space *space, struct set *set, struct slot *slot, u64 n,
		      unsigned int most, u64 cookie, u64 *key)
{
	u64 count = smp_load_acquire(&set->count); /* pairs with arena_obtain */
	u64 groups = (count + 63) / 64, g;
	u32 *home = &slot->home[set - space->set];
	u64 from = READ_ONCE(*home);
	u8 need = grade_needed(n);
	bool wait = false, busy;
	unsigned int got;

	do {
		busy = false;
		for (g = 0; g < groups; g++) {
			u64 at = from / 64 + g < groups ? from / 64 + g : from / 64 + g - groups;
			struct group *group = set->group[at];
			struct lath_match m = lath_bytes_match(group->shown, need);
			u64 good = ~m.lt;

			if (!g && good >> from % 64 & 1)
				m.eq = 1ull << from % 64;
			while (good) {
				unsigned int i = __ffs64(m.eq ? m.eq : good);
				struct arena *arena = group->arena[i];

				good &= ~(1ull << i);
				m.eq &= ~(1ull << i);
				if (wait)
					lath_spin_lock(&arena->lock);
				else if (!lath_spin_trylock(&arena->lock)) {
					busy = true;
					continue;
				}
				got = take_locked(space, arena, n, most, cookie, key);
				lath_spin_unlock(&arena->lock);
				if (got) {
					LATH_ASSERT(got <= most && key[got - 1] >= set->low &&
						    key[got - 1] <= set->high - 1);
					if (from != 64 * at + i)
						WRITE_ONCE(*home, (u32)(64 * at + i));
					return got;
				}
			}
		}
		wait = true;
	} while (busy);
	return 0;
}

int arena_return(struct lath_space *space, u64 key, u64 n)
{
	struct arena *arena = arena_lock(space, key);
	u64 free;
	bool right;

	if (!arena)
		return 1;
	free = arena->free;
	right = arena_give(arena, units_of(space, key) % ARENA_UNITS, n);
	arena_count_empty(space, arena, free);
	lath_spin_unlock(&arena->lock);
	return right ? 0 : -EINVAL;
}

bool set_release(struct lath_space *space, struct set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with arena_obtain */
	bool any = false;

	for (i = 0; i < count; i++) {
		struct arena *arena = set_arena(set, i);
		u64 block;

		lath_spin_lock(&arena->lock);
		block = arena->free == ARENA_UNITS ? arena->block : NO_BLOCK;
		if (block != NO_BLOCK) {
			WRITE_ONCE(arena->block, NO_BLOCK);
			arena->free = 0;
			arena_count_empty(space, arena, ARENA_UNITS);
			WRITE_ONCE(*arena->shown, 0);
		}
		lath_spin_unlock(&arena->lock);
		if (block == NO_BLOCK)
			continue;
		lath_index_erase_item(&space->arenas, block, NULL);
		lath_index_erase_item(&space->index, block * space->arena_size, NULL);
		lath_fetch_add(&space->freed, 1);
		arena_disuse(set, arena);
		any = true;
	}
	return any;
}
