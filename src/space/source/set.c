/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - the arenas of a part of a segment (set.h): the memory of their structs; from a key to its
 * arena; allocations and frees; arenas added and released.
 */
#include "space/source/set.h"

#include "space/segment.h"

/* ---- structs of arenas ---- */

/* Allocates an arena struct with what depends on the flags, or NULL. */
static struct arena *arena_make(struct lath_space *space, struct arena_set *set)
{
	struct arena *arena = lath_space_memory_alloc(space, sizeof(*arena));

	if (!arena)
		return NULL;
	/* made here, so that an allocation never fails for want of a place for its cookie */
	if (space->config.flags & LATH_SPACE_OWNERS) {
		arena->owner = lath_space_memory_alloc(space, ARENA_UNITS * sizeof(u64));
		if (!arena->owner) {
			lath_space_memory_free(space, arena, sizeof(*arena));
			return NULL;
		}
	}
	lath_spin_init_any(&arena->lock, any_caller(space));
	arena->block = NO_BLOCK;
	arena->dense = space->config.flags & LATH_SPACE_FILL;
	arena->set = set;
	return arena;
}

/* Frees an arena struct that no set has. */
static void arena_unmake(struct lath_space *space, struct arena *arena)
{
	lath_space_memory_free(space, arena->owner, ARENA_UNITS * sizeof(u64));
	lath_space_memory_free(space, arena, sizeof(*arena));
}

/* What the next arena of a set may need: a group, and the table of all but the first groups. */
struct room {
	struct group *group;
	struct group **more;
};

/* Makes space->recent if there is none and memory for it: without it arenas are found too. No lock
 * held. */
static void recent_make(struct lath_space *space)
{
	struct recent *recent = READ_ONCE(space->recent), *there;

	if (recent)
		return;
	recent = lath_space_memory_alloc(space, RECENT * sizeof(*recent));
	/* another thread may have made it since: the first one stays */
	lath_spin_lock(&space->lock);
	there = space->recent;
	if (!there)
		smp_store_release(&space->recent, recent); /* pairs with recent_of */
	lath_spin_unlock(&space->lock);
	if (there)
		lath_space_memory_free(space, recent, RECENT * sizeof(*recent));
}

/* Allocates what set_add() may need; `more` only if `count` says so. Returns whether there is
 * memory; room_unmake() frees what is there in any case. No lock held. */
static bool room_make(struct lath_space *space, struct arena_set *set, struct room *room)
{
	memset(room, 0, sizeof(*room));
	room->group = lath_space_memory_alloc(space, sizeof(*room->group));
	if (!room->group)
		return false;
	if (READ_ONCE(set->count) >= 64ull * FEW - 1 && !READ_ONCE(set->more)) {
		room->more = lath_space_memory_alloc(space, (GROUPS - FEW) * sizeof(*room->more));
		if (!room->more)
			return false;
	}
	return true;
}

/* Frees what set_add() has left. */
static void room_unmake(struct lath_space *space, struct room *room)
{
	lath_space_memory_free(space, room->group, sizeof(*room->group));
	lath_space_memory_free(space, room->more, (GROUPS - FEW) * sizeof(*room->more));
}

/* Adds the arena to the groups of the set, which may take what they need from `room`. Returns
 * whether it did: a full set, or one whose table is missing, has no place. No lock held. */
static bool set_add(struct arena_set *set, struct arena *arena, struct room *room)
{
	struct group *group = NULL;
	u64 i;

	lath_spin_lock(&set->lock);
	i = set->count;
	/* the table is made one arena ahead, so that it is there when the first groups are full */
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
		/* last: a search reads the arena and its group without the lock */
		smp_store_release(&set->count, i + 1); /* pairs with lath_set_alloc_small */
	}
	lath_spin_unlock(&set->lock);
	return group;
}

/* Returns an arena struct that serves no block, or NULL: no memory, or the set is full. No lock
 * held. */
static struct arena *arena_obtain(struct lath_space *space, struct arena_set *set)
{
	struct arena *arena;
	struct room room;

	lath_spin_lock(&set->lock);
	arena = set->unused;
	if (arena)
		set->unused = arena->next;
	lath_spin_unlock(&set->lock);
	LATH_ASSERT(!arena || (arena->set == set && READ_ONCE(arena->block) == NO_BLOCK));
	if (arena)
		return arena;
	/* a set that grows is worth its helpers, which are optional: errors are not looked at */
	recent_make(space);
	lath_segment_stripes_make(space, set->segment);
	arena = arena_make(space, set);
	if (!arena)
		return NULL;
	if (!room_make(space, set, &room) || !set_add(set, arena, &room)) {
		arena_unmake(space, arena);
		arena = NULL;
	}
	/* frees what set_add() did not use: of 64 arenas one needs a new group */
	room_unmake(space, &room);
	return arena;
}

/* Keeps an arena struct that serves no block for the next arena_obtain(). No lock held. */
static void arena_disuse(struct arena_set *set, struct arena *arena)
{
	LATH_ASSERT(READ_ONCE(arena->block) == NO_BLOCK);
	lath_spin_lock(&set->lock);
	arena->next = set->unused;
	set->unused = arena;
	lath_spin_unlock(&set->lock);
}

/* ---- from a key to its arena ---- */

/* Returns where an arena that serves this block may be known, or NULL. */
static inline struct recent *recent_of(struct lath_space *space, u64 block)
{
	struct recent *recent = lath_load_pointer(&space->recent); /* pairs with recent_make */

	return likely(recent) ? recent + block % RECENT : NULL;
}

/* Notes the block that a locked arena serves. */
static void recent_note(struct lath_space *space, struct arena *arena)
{
	struct recent *recent = recent_of(space, arena->block);
	u64 cached = arena->set == &space->first.set[0] ? arena->block + 1 : 0;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->block != NO_BLOCK);
	if (recent && (READ_ONCE(recent->arena) != arena || READ_ONCE(recent->cached) != cached)) {
		WRITE_ONCE(recent->arena, arena);
		WRITE_ONCE(recent->cached, cached);
	}
}

/* A locked arena is about to serve its block no longer: no free finds it cached from now on. */
static void recent_forget(struct lath_space *space, struct arena *arena)
{
	struct recent *recent = recent_of(space, arena->block);

	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->block != NO_BLOCK);
	/* another block's number that comes meanwhile is lost: block_lock() notes it again */
	if (recent && READ_ONCE(recent->cached) == arena->block + 1)
		WRITE_ONCE(recent->cached, 0);
}

/* Continues block_lock(): looks for the block in the index of arenas. Returns the arena locked, or
 * NULL. */
static noinline struct arena *arena_find(struct lath_space *space, u64 block)
{
	/* pairs with lath_space_index */
	struct lath_index *arenas = smp_load_acquire(&space->arenas);
	struct arena *arena;
	u64 value;

	/* between the look and the lock the arena may have been returned, and another one opened
	 * for the block: look again */
	while (arenas && lath_index_get(arenas, block, &value)) {
		arena = (struct arena *)(uintptr_t)value;
		lath_spin_lock(&arena->lock);
		if (arena->block == block) {
			recent_note(space, arena);
			return arena;
		}
		lath_spin_unlock(&arena->lock);
	}
	return NULL;
}

/* Locks and returns the arena that serves the block, or NULL. No arena's lock held. */
static inline struct arena *block_lock(struct lath_space *space, u64 block)
{
	struct recent *recent = recent_of(space, block);
	struct arena *arena = recent ? READ_ONCE(recent->arena) : NULL;

	/* a struct is never freed, so an outdated pointer is safe to lock; the number decides */
	if (likely(arena)) {
		lath_spin_lock(&arena->lock);
		if (likely(arena->block == block)) {
			if (unlikely(READ_ONCE(recent->cached) != block + 1))
				recent_note(space, arena);
			return arena;
		}
		lath_spin_unlock(&arena->lock);
	}
	return arena_find(space, block);
}

struct arena *lath_arena_lock(struct lath_space *space, u64 key)
{
	return block_lock(space, units_of(space, key) / ARENA_UNITS);
}

void lath_arena_set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && unit + n <= ARENA_UNITS);
	for (; arena->owner && n; n--)
		arena->owner[unit++] = cookie;
}

/* ---- allocations ---- */

/* Takes one range from a locked arena. Returns whether it did. */
static inline bool alloc_one(struct arena *arena, const struct small_request *want, u64 *unit)
{
	/* grades of a dense arena do not tell what is aligned: look at the places */
	if (arena->dense && want->align > 1)
		return lath_arena_alloc_within(arena, want->n, want->align, 0, ARENA_UNITS - 1,
					       unit);
	return lath_arena_alloc_units(arena, want->n, want->block, unit);
}

/* Takes what is wanted from a locked arena, and leaves it locked; *key: the ranges' keys. Returns
 * how many; 0 also if the arena serves no block, or its segment drains. */
static __always_inline unsigned int alloc_in_arena(struct lath_space *space, struct arena_set *set,
						   struct arena *arena,
						   const struct small_request *want, u64 *key)
{
	u64 free = arena->free;
	unsigned int got = 0, i;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->set == set && want->most);
	/* this look, under the lock, confirms the charge: lath_set_visit() waits for the lock */
	if (unlikely(arena->block == NO_BLOCK || READ_ONCE(set->segment->draining) != NOT_DRAINING))
		return 0;
	/* most requests are for one range; a magazine's blocks are taken by words, if they are
	 * naturally aligned and shorter, else one by one */
	if (likely(want->most == 1))
		got = alloc_one(arena, want, key);
	else if (want->n <= 64 && !(arena->dense && want->align > 1))
		got = lath_arena_alloc_blocks(arena, log2_up(want->n), want->most, key);
	else
		while (got < want->most && alloc_one(arena, want, &key[got]))
			got++;
	arena_count_empty(space, arena, free);
	for (i = 0; i < got; i++) {
		lath_arena_set_owner(arena, key[i], want->n, want->cookie);
		key[i] = arena_key(space, arena, key[i]);
	}
	LATH_ASSERT(got <= want->most &&
		    (!got || (key[got - 1] >= set->low && key[got - 1] <= set->high - 1)));
	return got;
}

/* A search through the groups of a set for an arena that serves a request. */
struct search {
	struct lath_space *space;
	struct arena_set *set;
	const struct small_request *want;
	u64 *key;  /* where the keys go */
	u8 number; /* of the slot, or 0 */
	bool wait; /* for locks; else pass by */
	bool busy; /* an arena with room was locked, and passed by */
};

/* Takes what is wanted from the arenas of a group: first from those that the slot used, of these
 * first from one with exactly the grade. *at: the arena's place. Returns how many. No arena's lock
 * held. */
static unsigned int search_group(struct search *s, struct group *group, unsigned int *at)
{
	struct lath_match m = lath_bytes_match(group->shown, s->want->grade);
	u64 good = ~m.lt, own = lath_bytes_match(group->user, s->number).eq;
	unsigned int got;

	while (good) {
		/* with its own arenas a thread shares fewer cache lines; an exact grade keeps large
		 * runs whole */
		u64 best = good & own ? good & own : good;
		unsigned int i = __ffs64(best & m.eq ? best & m.eq : best);
		struct arena *arena = group->arena[i];

		good &= ~(1ull << i);
		m.eq &= ~(1ull << i);
		if (s->wait) {
			lath_spin_lock(&arena->lock);
		} else if (!lath_spin_trylock(&arena->lock)) {
			s->busy = true; /* another arena is sooner found than this one is free */
			continue;
		}
		got = alloc_in_arena(s->space, s->set, arena, s->want, s->key);
		lath_spin_unlock(&arena->lock);
		if (got) {
			*at = i;
			return got;
		}
		/* the grade was a hint; the arena has corrected it */
	}
	return 0;
}

/* Continues lath_set_alloc_small(): searches all groups from that of the last arena on; waits for
 * locks only when all others have been tried. Returns how many. No arena's lock held. */
static noinline unsigned int set_search(struct lath_space *space, struct arena_set *set,
					struct slot *slot, const struct small_request *want,
					u64 *key)
{
	u64 count = smp_load_acquire(&set->count); /* pairs with set_add */
	u64 groups = (count + 63) / 64, g;
	u32 none = 0, *home = slot ? &slot->home[set->number] : &none;
	struct search s = { space, set, want, key, slot ? slot->number : 0, false, false };
	u64 from = READ_ONCE(*home) / 64;
	unsigned int got, i;

	LATH_ASSERT(!from || from < groups);
	do {
		s.wait = s.busy;
		s.busy = false;
		for (g = 0; g < groups; g++) {
			u64 at = from + g < groups ? from + g : from + g - groups;
			struct group *group = set_group(set, at);

			got = search_group(&s, group, &i);
			if (!got)
				continue;
			/* the slot's next requests try this arena first */
			if (READ_ONCE(group->user[i]) != s.number)
				WRITE_ONCE(group->user[i], s.number);
			WRITE_ONCE(*home, (u32)(64 * at + i));
			return got;
		}
	} while (s.busy); /* never after a round that waits */
	return 0;
}

unsigned int lath_set_alloc_small(struct lath_space *space, struct arena_set *set,
				  struct slot *slot, const struct small_request *want, u64 *key)
{
	u64 home = slot ? READ_ONCE(slot->home[set->number]) : 0;
	struct group *group;
	struct arena *arena;
	unsigned int got = 0;

	LATH_ASSERT(want->n && want->n <= want->block && want->grade);
	/* the arena used last, if its grade suffices and it is not locked: most requests end here,
	 * without a look at the other grades */
	if (likely(home < smp_load_acquire(&set->count))) { /* pairs with set_add */
		group = set_group(set, home / 64);
		arena = group->arena[home % 64];
		if (READ_ONCE(group->shown[home % 64]) >= want->grade &&
		    lath_spin_trylock(&arena->lock)) {
			got = alloc_in_arena(space, set, arena, want, key);
			lath_spin_unlock(&arena->lock);
		}
	}
	return likely(got) ? got : set_search(space, set, slot, want, key);
}

/* Takes the request from a locked arena that serves a block, at any place within its limits, and
 * leaves it locked. Returns whether it did. */
static bool alloc_within_block(struct lath_space *space, struct arena *arena,
			       const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull);
	u64 base = arena_key(space, arena, 0), first = max(base, want->low), free = arena->free,
	    last = min(base + (space->arena_size - 1), want->high - 1), unit;

	if (first > last) /* the block lies outside of the limits */
		return false;
	if (!lath_arena_alloc_within(arena, n, align, units_of(space, first - base),
				     units_of(space, last - base), &unit))
		return false;
	arena_count_empty(space, arena, free);
	lath_arena_set_owner(arena, unit, n, cookie);
	*key = arena_key(space, arena, unit);
	LATH_ASSERT(lies_within(*key, want->size, want->low, want->high));
	return true;
}

/* Takes the request from an arena as alloc_within_block() does, if it serves a block. Returns
 * whether it did. No arena's lock held. */
static bool alloc_within_arena(struct lath_space *space, struct arena *arena,
			       const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	bool taken = false;

	lath_spin_lock(&arena->lock);
	/* another thread may have returned the arena since the look at its grade */
	if (arena->block != NO_BLOCK)
		taken = alloc_within_block(space, arena, want, cookie, key);
	lath_spin_unlock(&arena->lock);
	return taken;
}

/* Continues lath_set_alloc_anywhere() in one set: tries the arenas that have an aligned block of
 * grade `need` and, as far as is known, n units from a multiple of 2^order on. */
static bool set_search_anywhere(struct lath_space *space, struct arena_set *set,
				const struct lath_hole_request *want, u64 cookie, u8 need, u64 *key)
{
	u64 n = units_of(space, want->size), count, i;
	unsigned int order = log2_up(max(units_of(space, want->align), 1ull));

	count = smp_load_acquire(&set->count); /* pairs with set_add */
	for (i = 0; i < count; i += 64) {
		struct group *group = set_group(set, i / 64);
		u64 good = ~lath_bytes_match(group->shown, need).lt;

		for (; good; good &= good - 1) {
			unsigned int at = __ffs64(good);

			/* the bound was exact when a search last failed: skips most arenas */
			if (READ_ONCE(group->most[at][order]) >= n &&
			    alloc_within_arena(space, group->arena[at], want, cookie, key))
				return true;
		}
	}
	return false;
}

bool lath_set_alloc_anywhere(struct lath_space *space, struct segment *segment,
			     const struct lath_hole_request *want, u64 cookie, bool graded,
			     u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull);
	struct lath_hole_request within = *want;
	unsigned int k;
	u8 need;

	LATH_ASSERT(whole_units(space, 0, want->size));
	if (n > ARENA_UNITS || align > ARENA_UNITS)
		return false;
	/* naturally aligned, and its grade is exact: the grades have excluded all arenas */
	if (graded && log2_up(align) == log2_up(n) && (n <= 32 || n == align) &&
	    want->low == segment->low && want->high == segment->high)
		return false;
	/* of an exact place the limits are what the policy means */
	if (want->policy == LATH_HOLE_EXACT) {
		within.low = want->hint;
		within.high = want->hint + want->size;
	}
	need = grade_needed(lath_block_within(n, align));
	for (k = 0; k < PARTS; k++)
		if (set_search_anywhere(space, &segment->set[k], &within, cookie, need, key))
			return true;
	return false;
}

/* ---- frees ---- */

bool lath_arenas_take(struct lath_space *space, u64 key, u64 n)
{
	u64 unit = units_of(space, key);
	struct arena *arena = block_lock(space, unit / ARENA_UNITS);
	bool taken = arena && lath_arena_takes(arena, unit % ARENA_UNITS, n);

	if (arena)
		lath_spin_unlock(&arena->lock);
	return taken;
}

int lath_arenas_free(struct lath_space *space, u64 key, u64 n, bool uncharge)
{
	u64 unit = units_of(space, key), free;
	struct arena *arena = block_lock(space, unit / ARENA_UNITS);
	struct segment *segment;
	bool right;

	if (!arena)
		return 1;
	/* a wrong free changes nothing: the bits are compared before any is set */
	free = arena->free;
	right = lath_arena_free_units(arena, unit % ARENA_UNITS, n);
	arena_count_empty(space, arena, free);
	segment = arena->set->segment;
	lath_spin_unlock(&arena->lock);
	/* after the units are free, so that the sum is never below what is used */
	if (uncharge && right)
		segment_count(segment, -(n << space->unit_shift));
	return right ? 0 : -EINVAL;
}

/* ---- growth ---- */

/* Takes an aligned block that the request allows from the index, and lets the arena, which serves
 * none, serve it. 0 | -ENOSPC | -ENOMEM. The segment's charge is confirmed; no lock held. */
static int arena_serve(struct lath_space *space, struct arena_set *set, struct arena *arena,
		       const struct lath_hole_request *want)
{
	struct lath_index *index = space->index, *arenas = space->arenas;
	struct lath_item entry = { .size = 1 };
	u64 key;
	int ret;

	/* 1: the block becomes an item of the index, so no other thread takes it */
	ret = lath_index_insert_hole(index, want, arena_mark(space), &key);
	if (ret)
		return ret;
	LATH_ASSERT(!(key & (space->arena_size - 1)) && key >= set->low &&
		    key <= set->high - space->arena_size);
	/* 2: frees of its keys find the arena, which does not serve the block yet, and go on to
	 * look until 3 */
	entry.key = key / space->arena_size;
	entry.value = (u64)(uintptr_t)arena;
	/* without an entry no free would find the arena: give the block back */
	if (lath_index_insert_item(arenas, &entry, NULL)) {
		lath_index_erase_item(index, key, NULL);
		return -ENOMEM;
	}
	lath_fetch_add(&space->in_use, 1);
	/* 3: it serves the block, and shows its grade to searches */
	lath_spin_lock(&arena->lock);
	lath_arena_open(arena, entry.key);
	arena_count_empty(space, arena, 0);
	lath_spin_unlock(&arena->lock);
	return 0;
}

/* Opens an arena for a block that the request allows. Results as those of arena_serve(), and under
 * its conditions. */
static int set_open(struct lath_space *space, struct arena_set *set,
		    const struct lath_hole_request *want)
{
	/* all memory first: what is taken from the index has an arena then */
	struct arena *arena =
		lath_space_index(space, &space->index) && lath_space_index(space, &space->arenas)
			? arena_obtain(space, set)
			: NULL;
	int ret;

	if (!arena)
		return -ENOMEM;
	/* reserve_piece() waits for the last step when it has seen the first */
	lath_irqs_off(any_caller(space));
	ret = arena_serve(space, set, arena, want);
	lath_irqs_on(any_caller(space));
	if (ret)
		arena_disuse(set, arena);
	return ret;
}

#ifdef __KERNEL__
int set_preload(struct lath_space *space, struct arena_set *set, unsigned int n)
{
	struct arena *list = NULL, *arena;

	/* those that are there count: they are obtained first */
	for (; n && (arena = arena_obtain(space, set)); n--) {
		arena->next = list;
		list = arena;
	}
	while (list) {
		arena = list;
		list = arena->next;
		arena_disuse(set, arena);
	}
	return n ? -ENOMEM : 0;
}
#endif

bool lath_set_grow(struct lath_space *space, struct arena_set *set, u64 high)
{
	struct lath_hole_request want = { .size = space->arena_size,
					  .align = space->arena_size,
					  .low = set->low,
					  .high = min(set->high - 1, high - 1) + 1,
					  .policy = small_policy(space) };
	u64 freed = READ_ONCE(space->freed); /* before the search, which may miss later frees */
	int ret;

	LATH_ASSERT(!set->empty);
	if (want.low > want.high - 1)
		return false; /* all of it lies above */
	if (READ_ONCE(set->stuck) == freed + 1)
		return false; /* nothing was freed to the index since it had no room */
	ret = set_open(space, set, &want);
	/* not after -ENOMEM: that may pass without a free */
	if (ret == -ENOSPC && want.high == set->high)
		WRITE_ONCE(set->stuck, freed + 1);
	return !ret;
}

bool lath_set_grow_at(struct lath_space *space, struct arena_set *set, u64 key)
{
	struct lath_hole_request want = { .size = space->arena_size,
					  .align = space->arena_size,
					  .low = set->low,
					  .high = set->high,
					  .hint = key,
					  .policy = LATH_HOLE_EXACT };

	LATH_ASSERT(!(key & (space->arena_size - 1)));
	/* a block across a bound of the set stays in the index */
	return !set->empty && lies_within(key, space->arena_size, set->low, set->high) &&
	       !set_open(space, set, &want);
}

/* Returns an arena's block to the index if all of it is free. Returns whether it did. The struct
 * stays in the set. No lock held. */
static bool lath_arena_release(struct lath_space *space, struct arena_set *set, struct arena *arena)
{
	u64 block;

	/* under the lock it stops serving the block: searches and frees pass it by */
	lath_spin_lock(&arena->lock);
	block = arena->free == ARENA_UNITS ? arena->block : NO_BLOCK;
	if (block != NO_BLOCK) {
		recent_forget(space, arena);
		WRITE_ONCE(arena->block, NO_BLOCK);
		arena->free = 0;
		arena_count_empty(space, arena, ARENA_UNITS);
		WRITE_ONCE(*arena->shown, 0);
	}
	lath_spin_unlock(&arena->lock);
	if (block == NO_BLOCK) /* in use, or serving none before */
		return false;
	/* in the opposite order of arena_serve(): the keys are free for others last */
	lath_index_erase_item(space->arenas, block, NULL);
	lath_index_erase_item(space->index, block * space->arena_size, NULL);
	LATH_ASSERT(READ_ONCE(space->in_use));
	lath_fetch_add(&space->in_use, -1ull);
	lath_fetch_add(&space->freed, 1);
	arena_disuse(set, arena);
	return true;
}

bool lath_set_release(struct lath_space *space, struct arena_set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with set_add */
	bool any = false;

	for (i = 0; i < count; i++) {
		/* reserve_piece() waits for the last step when it has seen the first */
		lath_irqs_off(any_caller(space));
		any |= lath_arena_release(space, set, set_arena(set, i));
		lath_irqs_on(any_caller(space));
	}
	return any;
}

void lath_set_visit(struct arena_set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with set_add */

	for (i = 0; i < count; i++) {
		lath_spin_lock(&set_arena(set, i)->lock);
		lath_spin_unlock(&set_arena(set, i)->lock);
	}
}

void lath_set_fini(struct lath_space *space, struct arena_set *set)
{
	u64 i;

	LATH_ASSERT(set->count <= 64ull * GROUPS);
	for (i = 0; i < set->count; i++)
		arena_unmake(space, set_arena(set, i));
	for (i = 0; i < FEW; i++)
		lath_space_memory_free(space, set->few[i], sizeof(*set->few[i]));
	for (i = 0; set->more && i < GROUPS - FEW; i++)
		lath_space_memory_free(space, set->more[i], sizeof(*set->more[i]));
	lath_space_memory_free(space, set->more, (GROUPS - FEW) * sizeof(*set->more));
}
