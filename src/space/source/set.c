/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - sets of arenas: one for the keys of a segment below config.below, one for the others.
 *
 * A set keeps the grades of its arenas in arrays of 64 bytes, so that a search touches only the
 * arena it selects. A grade read there is a hint; it is checked again under the arena's lock.
 */
#include "space/space.h"

/* Allocates an arena struct with what depends on the flags, or NULL. */
static struct arena *arena_make(struct lath_space *space, struct set *set)
{
	struct arena *arena = space_alloc(space, sizeof(*arena));

	if (!arena)
		return NULL;
	if (space->config.flags & LATH_SPACE_OWNERS) {
		arena->owner = space_alloc(space, ARENA_UNITS * sizeof(u64));
		if (!arena->owner) {
			space_free(space, arena, sizeof(*arena));
			return NULL;
		}
	}
	lath_spin_init(&arena->lock);
	arena->block = NO_BLOCK;
	arena->dense = space->config.flags & LATH_SPACE_FILL;
	arena->set = set;
	return arena;
}

static void arena_unmake(struct lath_space *space, struct arena *arena)
{
	space_free(space, arena->owner, ARENA_UNITS * sizeof(u64));
	space_free(space, arena, sizeof(*arena));
}

void set_fini(struct lath_space *space, struct set *set)
{
	u64 i;

	for (i = 0; i < set->count; i++)
		arena_unmake(space, set_arena(set, i));
	for (i = 0; i < FEW; i++)
		space_free(space, set->few[i], sizeof(*set->few[i]));
	for (i = 0; set->more && i < GROUPS - FEW; i++)
		space_free(space, set->more[i], sizeof(*set->more[i]));
	space_free(space, set->more, (GROUPS - FEW) * sizeof(*set->more));
}

/* What the next arena of a set may need: a group, and the table of all but the first groups. */
struct room {
	struct group *group;
	struct group **more;
};

/* Makes space->recent if there is none and memory for it: without it arenas are found too. */
static void recent_make(struct lath_space *space)
{
	struct arena **recent = READ_ONCE(space->recent), **there;

	if (recent)
		return;
	recent = space_alloc(space, RECENT * sizeof(*recent));
	lath_spin_lock(&space->lock);
	there = space->recent;
	if (!there)
		smp_store_release(&space->recent, recent); /* pairs with recent_of */
	lath_spin_unlock(&space->lock);
	if (there)
		space_free(space, recent, RECENT * sizeof(*recent));
}

/* Allocates what is missing; `more` only if `count` says so. Returns whether there is memory. */
static bool room_make(struct lath_space *space, struct set *set, struct room *room)
{
	memset(room, 0, sizeof(*room));
	room->group = space_alloc(space, sizeof(*room->group));
	if (!room->group)
		return false;
	if (READ_ONCE(set->count) >= 64ull * FEW - 1 && !READ_ONCE(set->more)) {
		room->more = space_alloc(space, (GROUPS - FEW) * sizeof(*room->more));
		if (!room->more)
			return false;
	}
	return true;
}

static void room_unmake(struct lath_space *space, struct room *room)
{
	space_free(space, room->group, sizeof(*room->group));
	space_free(space, room->more, (GROUPS - FEW) * sizeof(*room->more));
}

/* Adds the arena to the groups of the set, which may take what they need from `room`. Returns
 * whether it did. */
static bool set_add(struct set *set, struct arena *arena, struct room *room)
{
	struct group *group = NULL;
	u64 i;

	lath_spin_lock(&set->lock);
	i = set->count;
	if (!set->more) {
		WRITE_ONCE(set->more, room->more);
		room->more = NULL;
	}
	if (i < 64ull * (set->more ? GROUPS : FEW)) {
		struct group **at = i / 64 < FEW ? &set->few[i / 64] : &set->more[i / 64 - FEW];

		if (!*at) {
			*at = room->group;
			room->group = NULL;
		}
		group = *at;
		group->arena[i % 64] = arena;
		arena->shown = &group->shown[i % 64];
		arena->most = group->most[i % 64];
		smp_store_release(&set->count, i + 1); /* pairs with set_take */
	}
	lath_spin_unlock(&set->lock);
	return group;
}

/* Returns an arena struct that serves no block, or NULL (no memory). No lock held. */
static struct arena *arena_obtain(struct lath_space *space, struct set *set)
{
	struct arena *arena;
	struct room room;

	lath_spin_lock(&set->lock);
	arena = set->unused;
	if (arena)
		set->unused = arena->next;
	lath_spin_unlock(&set->lock);
	if (arena)
		return arena;
	recent_make(space);
	segment_stripes_make(space, set->segment);
	arena = arena_make(space, set);
	if (!arena)
		return NULL;
	if (!room_make(space, set, &room) || !set_add(set, arena, &room)) {
		arena_unmake(space, arena);
		arena = NULL;
	}
	room_unmake(space, &room);
	return arena;
}

static void arena_disuse(struct set *set, struct arena *arena)
{
	LATH_ASSERT(READ_ONCE(arena->block) == NO_BLOCK);
	lath_spin_lock(&set->lock);
	arena->next = set->unused;
	set->unused = arena;
	lath_spin_unlock(&set->lock);
}

/* Takes an aligned block that the request allows from the index, and opens an arena for it. 0 |
 * -ENOSPC | -ENOMEM */
static int set_open(struct lath_space *space, struct set *set, const struct lath_hole_request *want)
{
	struct lath_index *index = space_index(space, &space->index),
			  *arenas = space_index(space, &space->arenas);
	struct lath_item entry = { .size = 1 };
	struct arena *arena = index && arenas ? arena_obtain(space, set) : NULL;
	u64 key;
	int ret;

	if (!arena)
		return -ENOMEM;
	ret = lath_index_insert_hole(index, want, arena_mark(space), &key);
	if (ret) {
		arena_disuse(set, arena);
		return ret;
	}
	LATH_ASSERT(!(key & (space->arena_size - 1)) && key >= set->low &&
		    key <= set->high - space->arena_size);
	entry.key = key / space->arena_size;
	entry.value = (u64)(uintptr_t)arena;
	if (lath_index_insert_item(arenas, &entry, NULL)) {
		lath_index_erase_item(index, key, NULL);
		arena_disuse(set, arena);
		return -ENOMEM;
	}
	lath_fetch_add(&space->in_use, 1);
	lath_spin_lock(&arena->lock);
	arena_open(arena, entry.key);
	arena_count_empty(space, arena, 0);
	lath_spin_unlock(&arena->lock);
	return 0;
}

bool set_grow(struct lath_space *space, struct set *set)
{
	struct lath_hole_request want = { .size = space->arena_size,
					  .align = space->arena_size,
					  .low = set->low,
					  .high = set->high,
					  .policy = small_policy(space) };
	u64 freed = READ_ONCE(space->freed);
	int ret;

	if (READ_ONCE(set->stuck) == freed + 1)
		return false; /* nothing was freed to the index since it had no room */
	ret = set_open(space, set, &want);
	if (ret == -ENOSPC)
		WRITE_ONCE(set->stuck, freed + 1);
	return !ret;
}

void set_visit(struct set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with set_add */

	for (i = 0; i < count; i++) {
		lath_spin_lock(&set_arena(set, i)->lock);
		lath_spin_unlock(&set_arena(set, i)->lock);
	}
}

bool set_grow_at(struct lath_space *space, struct set *set, u64 key)
{
	struct lath_hole_request want = { .size = space->arena_size,
					  .align = space->arena_size,
					  .low = set->low,
					  .high = set->high,
					  .hint = key,
					  .policy = LATH_HOLE_EXACT };

	return !set->empty && lies_within(key, space->arena_size, set->low, set->high) &&
	       !set_open(space, set, &want);
}

/* Returns where an arena that serves this block may be known, or NULL. */
static inline struct arena **recent_of(struct lath_space *space, u64 block)
{
	struct arena **recent = smp_load_acquire(&space->recent); /* pairs with recent_make */

	return likely(recent) ? recent + block % RECENT : NULL;
}

/* Continues arena_lock(): looks for the block in the index of arenas. */
static noinline struct arena *arena_find(struct lath_space *space, u64 block)
{
	/* pairs with space_index */
	struct lath_index *arenas = smp_load_acquire(&space->arenas);
	struct arena **recent = recent_of(space, block), *arena;
	u64 value;

	while (arenas && lath_index_get(arenas, block, &value)) {
		arena = (struct arena *)(uintptr_t)value;
		lath_spin_lock(&arena->lock);
		if (arena->block == block) {
			if (recent)
				WRITE_ONCE(*recent, arena);
			return arena;
		}
		lath_spin_unlock(&arena->lock);
	}
	return NULL;
}

/* Locks and returns the arena that serves the block, or NULL. */
static inline struct arena *block_lock(struct lath_space *space, u64 block)
{
	struct arena **recent = recent_of(space, block),
		     *arena = recent ? READ_ONCE(*recent) : NULL;

	if (likely(arena)) {
		lath_spin_lock(&arena->lock);
		if (likely(arena->block == block))
			return arena;
		lath_spin_unlock(&arena->lock);
	}
	return arena_find(space, block);
}

struct arena *arena_lock(struct lath_space *space, u64 key)
{
	return block_lock(space, units_of(space, key) / ARENA_UNITS);
}

void arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && unit + n <= ARENA_UNITS);
	for (; arena->owner && n; n--)
		arena->owner[unit++] = cookie;
}

/* Takes a block from a locked arena. Returns whether it did. */
static inline bool take_block(struct arena *arena, const struct wanted *want, u64 *unit)
{
	if (arena->dense && want->align > 1) /* grades do not tell what is aligned */
		return arena_take_within(arena, want->n, want->align, 0, ARENA_UNITS - 1, unit);
	return arena_take(arena, want->n, want->block, unit);
}

/* Takes blocks from a locked arena; *unit: where. Returns how many. */
static inline unsigned int take_blocks(struct arena *arena, const struct wanted *want, u64 *unit)
{
	unsigned int got = 0;

	if (likely(want->most == 1))
		return take_block(arena, want, unit);
	if (want->n <= 64 && !(arena->dense && want->align > 1))
		return arena_take_blocks(arena, log2_up(want->n), want->most, unit);
	while (got < want->most && take_block(arena, want, &unit[got]))
		got++;
	return got;
}

/* Takes what is wanted from a locked arena; *key: the blocks' keys. Returns how many; 0 also if the
 * arena serves no block, or its segment drains. */
static __always_inline unsigned int take_locked(struct lath_space *space, struct set *set,
						struct arena *arena, const struct wanted *want,
						u64 *key)
{
	u64 free = arena->free;
	unsigned int got, i;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && want->most);
	if (unlikely(arena->block == NO_BLOCK || READ_ONCE(set->segment->draining) != NOT_DRAINING))
		return 0;
	got = take_blocks(arena, want, key);
	arena_count_empty(space, arena, free);
	for (i = 0; i < got; i++) {
		arena_set_owner(arena, key[i], want->n, want->cookie);
		key[i] = arena_key(space, arena, key[i]);
	}
	LATH_ASSERT(got <= want->most &&
		    (!got || (key[got - 1] >= set->low && key[got - 1] <= set->high - 1)));
	return got;
}

/* Takes from arena number `from`, which was used last, if its grade suffices and it is not locked:
 * most requests end here, without a look at the other grades. */
static inline unsigned int take_home(struct lath_space *space, struct set *set, u64 from,
				     const struct wanted *want, u64 *key)
{
	struct group *group = set_group(set, from / 64);
	struct arena *arena = group->arena[from % 64];
	unsigned int got;

	if (READ_ONCE(group->shown[from % 64]) < want->grade || !lath_spin_trylock(&arena->lock))
		return 0;
	got = take_locked(space, set, arena, want, key);
	lath_spin_unlock(&arena->lock);
	return got;
}

/* The same from all arenas. */
static noinline unsigned int set_search(struct lath_space *space, struct set *set,
					struct slot *slot, const struct wanted *want, u64 *key)
{
	u64 count = smp_load_acquire(&set->count); /* pairs with set_add */
	u64 groups = (count + 63) / 64, g;
	u32 none = 0, *home = slot ? &slot->home[set->number] : &none;
	u64 from = READ_ONCE(*home);
	u8 number = slot ? slot->number : 0;
	bool wait = false, busy;
	unsigned int got;

	do {
		busy = false;
		for (g = 0; g < groups; g++) {
			u64 at = from / 64 + g < groups ? from / 64 + g : from / 64 + g - groups;
			struct group *group = set_group(set, at);
			struct lath_match m = lath_bytes_match(group->shown, want->grade);
			u64 good = ~m.lt, own = lath_bytes_match(group->user, number).eq;

			while (good) {
				u64 best = good & own ? good & own : good;
				unsigned int i = __ffs64(best & m.eq ? best & m.eq : best);
				struct arena *arena = group->arena[i];

				good &= ~(1ull << i);
				m.eq &= ~(1ull << i);
				if (wait)
					lath_spin_lock(&arena->lock);
				else if (!lath_spin_trylock(&arena->lock)) {
					busy = true;
					continue;
				}
				got = take_locked(space, set, arena, want, key);
				lath_spin_unlock(&arena->lock);
				if (got) {
					if (READ_ONCE(group->user[i]) != number)
						WRITE_ONCE(group->user[i], number);
					WRITE_ONCE(*home, (u32)(64 * at + i));
					return got;
				}
			}
		}
		wait = true;
	} while (busy);
	return 0;
}

unsigned int set_take(struct lath_space *space, struct set *set, struct slot *slot,
		      const struct wanted *want, u64 *key)
{
	u64 from = slot ? READ_ONCE(slot->home[set->number]) : 0;
	unsigned int got = 0;

	if (likely(from < smp_load_acquire(&set->count))) /* pairs with set_add */
		got = take_home(space, set, from, want, key);
	return likely(got) ? got : set_search(space, set, slot, want, key);
}

int arena_return(struct lath_space *space, u64 key, u64 n, bool uncharge)
{
	u64 unit = units_of(space, key), free;
	struct arena *arena = block_lock(space, unit / ARENA_UNITS);
	struct segment *segment;
	bool right;

	if (!arena)
		return 1;
	free = arena->free;
	right = arena_give(arena, unit % ARENA_UNITS, n);
	arena_count_empty(space, arena, free);
	segment = arena->set->segment;
	lath_spin_unlock(&arena->lock);
	if (uncharge && right)
		segment_count(segment, -(n << space->unit_shift));
	return right ? 0 : -EINVAL;
}

bool set_release(struct lath_space *space, struct set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with set_add */
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
		lath_index_erase_item(space->arenas, block, NULL);
		lath_index_erase_item(space->index, block * space->arena_size, NULL);
		lath_fetch_add(&space->in_use, -1ull);
		lath_fetch_add(&space->freed, 1);
		arena_disuse(set, arena);
		any = true;
	}
	return any;
}
