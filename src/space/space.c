/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.c - magazines over arenas over the index (lathwork/space.h).
 *
 * A request that is small and naturally aligned goes down the layers: a block from a slot's magazine, else
 * bits of an arena that shows a sufficient grade, else a new arena, else a hole of the index. Everything
 * else is the index's. Keys below config.below are one set of arenas, the rest another, and the first is used up
 * before the second.
 *
 * Locks: a slot's, inside it an arena's; the index is called with neither held. An arena's struct is never
 * freed while the space lives: who found it by a key that is an arena's no more sees another block number
 * once he has the lock.
 */
#include "lathwork/space.h"
#include "space/arena.h"

#define GROUPS 1024 /* of 64 arenas, in each set */
#define SLOTS 32
#define ORDERS 9 /* magazines hold blocks of 1 .. 256 units */
#define RECENT 256
/* Blocks that leave a magazine at a time. */
#define FLUSH 32
/* Arenas serve up to a quarter of their size. */
#define ARENA_MOST (ARENA_UNITS / 4)

/* Blocks a slot keeps of each order: at most 256 units, 2,048 of the large ones. */
static const u16 magazine_size[ORDERS] = { 256, 128, 64, 32, 32, 32, 32, 32, 32 };
#define MAGAZINES 640 /* their sum */

struct group {
	u8 shown[64]; /* grades, 0: cannot serve anything */
	struct arena *arena[64];
};

struct set {
	u64 low, high; /* 0 is 2^64 */
	u64 count;     /* arenas that ever were */
	u64 stuck;     /* `freed` when there was no room for another arena */
	struct lath_spinlock lock;
	struct arena *unused; /* linked by next */
	struct group *group[GROUPS];
};

struct slot {
	struct lath_spinlock lock;
	u32 held; /* units in its magazines */
	u32 home[2];
	u16 count[ORDERS];
	u64 key[MAGAZINES];
} __attribute__((aligned(64)));

struct lath_space {
	struct lath_skiplist index;
	struct lath_skiplist arenas; /* block number -> struct arena */
	struct lath_allocator allocator;
	struct lath_space_config config;
	u64 arena_size; /* keys */
	unsigned int unit_shift;
	unsigned int sets;
	struct set set[2];
	struct slot *slots; /* SLOTS of them */
	bool magazines;
	struct arena *recent[RECENT]; /* by block number: saves the lookup */
	u64 index_keys;		      /* in ranges of the index that are no arenas */
	u64 ranges;
	u64 freed; /* grows with every range the index gets back */
	u64 bytes;
	u64 bad_frees;
};

/* ---- memory ---- */

static void *space_alloc(struct lath_space *space, size_t size)
{
	void *p = space->allocator.alloc ? space->allocator.alloc(space->allocator.ctx, size, 64)
					 : lath_block_alloc(size);

	if (p) {
		memset(p, 0, size);
		lath_fetch_add(&space->bytes, size);
	}
	return p;
}

static void space_free(struct lath_space *space, void *p, size_t size)
{
	if (!p)
		return;
	if (space->allocator.alloc)
		space->allocator.free(space->allocator.ctx, p, size);
	else
		lath_block_free(p);
}

static u64 units_of(const struct lath_space *space, u64 size)
{
	return size >> space->unit_shift;
}

/* ---- arenas ---- */

static struct arena *set_arena(struct set *set, u64 i)
{
	return set->group[i / 64]->arena[i % 64];
}

/* An arena struct that serves no block, or NULL. No lock held. */
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
	fresh = space_alloc(space, sizeof(*fresh)); /* perhaps needed */
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
		smp_store_release(&set->count, i + 1); /* pairs with take_from_set */
	}
	lath_spin_unlock(&set->lock);
	if (fresh) {
		space_free(space, fresh, sizeof(*fresh));
		lath_fetch_add(&space->bytes, -sizeof(*fresh));
	}
	if (i < 64ull * GROUPS)
		return arena;
fail:
	lath_fetch_add(&space->bytes, -sizeof(*arena) - (arena->owner ? ARENA_UNITS * sizeof(u64) : 0));
	space_free(space, arena->owner, ARENA_UNITS * sizeof(u64));
	space_free(space, arena, sizeof(*arena));
	return NULL;
}

static void arena_disuse(struct set *set, struct arena *arena)
{
	lath_spin_lock(&set->lock);
	arena->next = set->unused;
	set->unused = arena;
	lath_spin_unlock(&set->lock);
}

/* Get one more arena for the set from the index. */
static bool set_grow(struct lath_space *space, struct set *set)
{
	struct lath_hole_request want = {
		.size = space->arena_size, .align = space->arena_size, .low = set->low, .high = set->high
	};
	struct lath_item entry = { .size = 1 };
	u64 freed = READ_ONCE(space->freed), key;
	struct arena *arena;

	if (READ_ONCE(set->stuck) == freed + 1)
		return false; /* nothing came back since there was no room */
	arena = arena_obtain(space, set);
	if (!arena)
		return false;
	if (lath_skiplist_insert_hole(&space->index, &want, (u64)(uintptr_t)arena, &key)) {
		WRITE_ONCE(set->stuck, freed + 1);
		arena_disuse(set, arena);
		return false;
	}
	entry.key = key / space->arena_size;
	entry.value = (u64)(uintptr_t)arena;
	if (lath_skiplist_insert_item(&space->arenas, &entry, NULL)) {
		lath_skiplist_erase_item(&space->index, key, NULL);
		arena_disuse(set, arena);
		return false;
	}
	lath_spin_lock(&arena->lock);
	arena_open(arena, entry.key);
	lath_spin_unlock(&arena->lock);
	return true;
}

/* The arena that has key, its lock held, or NULL. */
static struct arena *arena_lock(struct lath_space *space, u64 key)
{
	u64 block = key >> space->unit_shift >> 12, value;
	struct arena **recent = &space->recent[block % RECENT], *arena = READ_ONCE(*recent);

	if (arena) {
		lath_spin_lock(&arena->lock);
		if (likely(arena->block == block))
			return arena;
		lath_spin_unlock(&arena->lock);
	}
	while (lath_skiplist_get(&space->arenas, block, &value)) {
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

static u64 arena_key(const struct lath_space *space, const struct arena *arena, u64 unit)
{
	return (arena->block * ARENA_UNITS + unit) << space->unit_shift;
}

static void set_owner(struct arena *arena, u64 unit, u64 n, u64 cookie)
{
	for (; arena->owner && n; n--)
		arena->owner[unit++] = cookie;
}

/* Take `most` blocks of n units from one arena: how many it had. */
static unsigned int take_locked(struct lath_space *space, struct arena *arena, u64 n, unsigned int most,
				u64 cookie, u64 *key)
{
	unsigned int got = 0, i;

	if (arena->block == NO_BLOCK)
		return 0;
	if (most > 1 && n <= 64)
		got = arena_take_blocks(arena, log2_up(n), most, key);
	else
		while (got < most && arena_take(arena, n, &key[got]))
			got++;
	for (i = 0; i < got; i++) {
		set_owner(arena, key[i], n, cookie);
		key[i] = arena_key(space, arena, key[i]);
	}
	return got;
}

/* From some arena of the set: the one used last if it can, else one with just the grade needed. */
static unsigned int take_from_set(struct lath_space *space, struct set *set, struct slot *slot, u64 n,
				  unsigned int most, u64 cookie, u64 *key)
{
	u64 count = smp_load_acquire(&set->count), g,
	    groups = (count + 63) / 64; /* pairs with arena_obtain */
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

/* Return units of one block to their arena. 1: it is none of an arena; 0 | -EINVAL */
static int give_to_arena(struct lath_space *space, u64 key, u64 n)
{
	struct arena *arena = arena_lock(space, key);
	bool right;

	if (!arena)
		return 1;
	right = arena_give(arena, units_of(space, key) % ARENA_UNITS, n);
	lath_spin_unlock(&arena->lock);
	return right ? 0 : -EINVAL;
}

/* Empty arenas go back to the index. True: there was one. */
static bool release_arenas(struct lath_space *space, struct set *set)
{
	u64 count = smp_load_acquire(&set->count), i; /* pairs with arena_obtain */
	bool any = false;

	for (i = 0; i < count; i++) {
		struct arena *arena = set_arena(set, i);
		u64 block;

		lath_spin_lock(&arena->lock);
		block = arena->free == ARENA_UNITS ? arena->block : NO_BLOCK;
		if (block != NO_BLOCK) {
			arena->block = NO_BLOCK;
			arena->free = 0;
			WRITE_ONCE(*arena->shown, 0);
		}
		lath_spin_unlock(&arena->lock);
		if (block == NO_BLOCK)
			continue;
		lath_skiplist_erase_item(&space->arenas, block, NULL);
		lath_skiplist_erase_item(&space->index, block * space->arena_size, NULL);
		lath_fetch_add(&space->freed, 1);
		arena_disuse(set, arena);
		any = true;
	}
	return any;
}

/* ---- the index ---- */

static int index_take(struct lath_space *space, const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	int ret = lath_skiplist_insert_hole(&space->index, want, cookie, key);

	if (!ret) {
		lath_fetch_add(&space->index_keys, want->size);
		lath_fetch_add(&space->ranges, 1);
	}
	return ret;
}

/* Is [key, key + size) covered by items, without a gap? */
static bool index_covers(struct lath_space *space, u64 key, u64 size)
{
	u64 last = key + size - 1;
	struct lath_item item;

	while (!lath_skiplist_lookup_item(&space->index, key, &item)) {
		if (item.key + (item.size - 1) >= last)
			return true;
		key = item.key + item.size;
	}
	return false;
}

/* Free what the item that covers key has of [key, key + size). *freed: how much. */
static int index_free_one(struct lath_space *space, u64 key, u64 size, u64 *freed)
{
	struct lath_item item;
	int ret;

	if (lath_skiplist_lookup_item(&space->index, key, &item))
		return -EINVAL;
	*freed = min(size, item.size - (key - item.key));
	if (item.key < key) {
		ret = lath_skiplist_split(&space->index, key, item.value);
		if (ret)
			return ret;
		lath_fetch_add(&space->ranges, 1);
	}
	if (key - item.key + *freed < item.size) {
		ret = lath_skiplist_split(&space->index, key + *freed, item.value);
		if (ret)
			return ret;
		lath_fetch_add(&space->ranges, 1);
	}
	if (lath_skiplist_erase_item(&space->index, key, NULL))
		return -EINVAL;
	lath_fetch_add(&space->index_keys, -*freed);
	lath_fetch_add(&space->ranges, -1ull);
	lath_fetch_add(&space->freed, 1);
	return 0;
}

static int index_free(struct lath_space *space, u64 key, u64 size)
{
	u64 freed;
	int ret;

	if (!index_covers(space, key, size))
		return -EINVAL;
	for (; size; key += freed, size -= freed) {
		ret = index_free_one(space, key, size, &freed);
		if (ret)
			return ret;
	}
	return 0;
}

/* How much of [key, key + size) lies in key's block. */
static u64 piece_of(const struct lath_space *space, u64 key, u64 size)
{
	return min(size, space->arena_size - (key & (space->arena_size - 1)));
}

/* Free what is not in a magazine: block by block where arenas are, else as it comes. */
static int free_range(struct lath_space *space, u64 key, u64 size)
{
	u64 piece;
	int ret;

	if (space->config.flags & LATH_SPACE_NO_ARENAS)
		return index_free(space, key, size);
	for (; size; key += piece, size -= piece) {
		piece = piece_of(space, key, size);
		ret = give_to_arena(space, key, units_of(space, piece));
		if (ret == 1)
			ret = index_free(space, key, piece);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- magazines ---- */

static u64 *magazine(struct slot *slot, unsigned int order)
{
	static const u16 begin[ORDERS] = { 0, 256, 384, 448, 480, 512, 544, 576, 608 };

	return slot->key + begin[order];
}

static struct slot *slot_of(struct lath_space *space)
{
	return &space->slots[lath_stripe() % SLOTS];
}

/* The thread's slot, or a neighbour that nobody is in, locked. */
static struct slot *slot_lock(struct lath_space *space)
{
	struct slot *slot = slot_of(space), *next = slot == space->slots ? slot + 1 : slot - 1;

	if (likely(lath_spin_trylock(&slot->lock)))
		return slot;
	if (lath_spin_trylock(&next->lock))
		return next;
	lath_spin_lock(&slot->lock);
	return slot;
}

static bool magazine_take(struct lath_space *space, unsigned int order, u64 *key)
{
	struct slot *slot = slot_lock(space);
	unsigned int n = slot->count[order];
	u64 *keys = magazine(slot, order);

	if (!n) {
		n = take_from_set(space, &space->set[0], slot, 1ull << order, magazine_size[order] / 4, 0,
				  keys);
		WRITE_ONCE(slot->held, slot->held + (u32)(n << order));
	}
	if (n) {
		slot->count[order] = (u16)(n - 1);
		WRITE_ONCE(slot->held, slot->held - (u32)(1u << order));
		*key = keys[n - 1];
	}
	lath_spin_unlock(&slot->lock);
	return n;
}

static void give_all(struct lath_space *space, const u64 *key, unsigned int n, u64 size)
{
	while (n--)
		if (free_range(space, key[n], size))
			lath_fetch_add(&space->bad_frees, 1);
}

/* Take the n oldest out of a locked slot's magazine. */
static void magazine_shift(struct slot *slot, unsigned int order, u64 *out, unsigned int n)
{
	u64 *keys = magazine(slot, order);

	memcpy(out, keys, n * sizeof(u64));
	slot->count[order] = (u16)(slot->count[order] - n);
	memmove(keys, keys + n, slot->count[order] * sizeof(u64));
	WRITE_ONCE(slot->held, slot->held - (n << order));
}

static void magazine_give(struct lath_space *space, unsigned int order, u64 key)
{
	struct slot *slot = slot_lock(space);
	unsigned int flushed = 0;
	u64 out[FLUSH];

	if (unlikely(slot->count[order] == magazine_size[order])) {
		flushed = min((unsigned int)FLUSH, magazine_size[order] / 2u);
		magazine_shift(slot, order, out, flushed);
	}
	magazine(slot, order)[slot->count[order]++] = key;
	WRITE_ONCE(slot->held, slot->held + (1u << order));
	lath_spin_unlock(&slot->lock);
	give_all(space, out, flushed, space->config.unit << order);
}

/* Empty the magazines of all slots. True: there was something. */
static bool drain_slots(struct lath_space *space)
{
	unsigned int i, order, n;
	bool any = false;
	u64 out[FLUSH];

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = &space->slots[i];

		for (order = 0; READ_ONCE(slot->held) && order < ORDERS;) {
			lath_spin_lock(&slot->lock);
			n = min((unsigned int)FLUSH, (unsigned int)slot->count[order]);
			magazine_shift(slot, order, out, n);
			lath_spin_unlock(&slot->lock);
			give_all(space, out, n, space->config.unit << order);
			any |= n;
			order += n < FLUSH;
		}
	}
	return any;
}

/* ---- calls ---- */

static bool press(struct lath_space *space)
{
	bool any = drain_slots(space);
	unsigned int i;

	for (i = 0; i < space->sets; i++)
		any |= release_arenas(space, &space->set[i]);
	return any;
}

void lath_space_trim(struct lath_space *space)
{
	press(space);
}

/* From the arenas of a set, making room for it. */
static bool take_from_arenas(struct lath_space *space, struct set *set, u64 n, u64 cookie, u64 *key)
{
	struct slot *slot = slot_of(space);

	while (!take_from_set(space, set, slot, n, 1, cookie, key))
		if (!set_grow(space, set) && !drain_slots(space))
			return false;
	return true;
}

/* A small request, naturally aligned. False: only the index, and pressure, can help. */
static bool take_small(struct lath_space *space, u64 size, u64 cookie, u64 *key)
{
	u64 n = units_of(space, size);
	unsigned int order = log2_up(n), i;
	struct lath_hole_request want = { .size = size, .align = space->config.unit << order };

	if (space->magazines && order < ORDERS && n == 1ull << order && magazine_take(space, order, key))
		return true;
	for (i = 0; i < space->sets; i++) {
		if (take_from_arenas(space, &space->set[i], n, cookie, key))
			return true;
		want.low = space->set[i].low; /* between arenas */
		want.high = space->set[i].high;
		if (!index_take(space, &want, cookie, key))
			return true;
	}
	return false;
}

/* Within the limits, in any arena, by looking at every place: for what found no room otherwise. */
static bool take_anywhere(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
			  u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull),
	    last = want->high - 1;
	u64 count, i;
	unsigned int k;

	if (n > ARENA_UNITS || align > ARENA_UNITS || want->policy == LATH_HOLE_EXACT)
		return false;
	for (k = 0; k < space->sets; k++) {
		count = smp_load_acquire(&space->set[k].count); /* pairs with arena_obtain */
		for (i = 0; i < count; i++) {
			struct arena *arena = set_arena(&space->set[k], i);
			u64 first, end, unit;
			bool taken = false;

			lath_spin_lock(&arena->lock);
			first = arena_key(space, arena, 0);
			end = first + (space->arena_size - 1);
			if (arena->block != NO_BLOCK && first <= last && end >= want->low) {
				first = max(first, want->low) - first;
				end = min(end, last) - arena_key(space, arena, 0);
				taken = arena_take_within(arena, n, align, units_of(space, first),
							  units_of(space, end), &unit);
			}
			if (taken) {
				set_owner(arena, unit, n, cookie);
				*key = arena_key(space, arena, unit);
			}
			lath_spin_unlock(&arena->lock);
			if (taken)
				return true;
		}
	}
	return false;
}

static bool whole_units(const struct lath_space *space, u64 key, u64 size)
{
	return size && !((key | size) & (space->config.unit - 1));
}

static int take_request(struct lath_space *space, const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	int ret = index_take(space, want, cookie, key);

	if (ret == -ENOSPC && press(space))
		ret = index_take(space, want, cookie, key);
	if (ret == -ENOSPC && take_anywhere(space, want, cookie, key))
		ret = 0;
	return ret;
}

int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align, uint64_t cookie, uint64_t *key)
{
	struct lath_hole_request want = { .size = size,
					  .align = max((u64)align, space->config.unit),
					  .low = space->config.low,
					  .high = space->config.high,
					  .below = space->config.below };

	if (!whole_units(space, 0, size) || align & (align - 1))
		return -EINVAL;
	if (!(space->config.flags & LATH_SPACE_NO_ARENAS) && units_of(space, size) <= ARENA_MOST &&
	    units_of(space, want.align) <= 1ull << log2_up(units_of(space, size)) &&
	    take_small(space, size, cookie, key))
		return 0;
	return take_request(space, &want, cookie, key);
}

int lath_space_alloc_request(struct lath_space *space, const struct lath_hole_request *request,
			     uint64_t cookie, uint64_t *key)
{
	struct lath_hole_request want = *request;

	want.align = max((u64)want.align, space->config.unit);
	want.low = max((u64)want.low, space->config.low);
	want.high = min(want.high - 1, space->config.high - 1) + 1; /* 0 is 2^64 */
	if (!whole_units(space, want.low | want.high, want.size) || request->align & (request->align - 1))
		return -EINVAL;
	return take_request(space, &want, cookie, key);
}

/* Take one piece of a block, in its arena or from the index. */
static int reserve_piece(struct lath_space *space, u64 key, u64 size, u64 cookie)
{
	struct lath_hole_request want = {
		.size = size, .low = key, .high = key + size, .hint = key, .policy = LATH_HOLE_EXACT
	};

	for (;;) {
		struct arena *arena =
			space->config.flags & LATH_SPACE_NO_ARENAS ? NULL : arena_lock(space, key);
		u64 unit = units_of(space, key) % ARENA_UNITS, block, value;
		bool taken;
		int ret;

		if (arena) {
			taken = arena_take_at(arena, unit, units_of(space, size));
			if (taken)
				set_owner(arena, unit, units_of(space, size), cookie);
			lath_spin_unlock(&arena->lock);
			return taken ? 0 : -EBUSY;
		}
		ret = index_take(space, &want, cookie, &key);
		if (ret != -ENOSPC)
			return ret;
		/* taken; or it has become an arena's just now */
		block = key / space->arena_size;
		if (!lath_skiplist_get(&space->arenas, block, &value))
			return -EBUSY;
	}
}

int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size, uint64_t cookie)
{
	u64 at = key, left = size, piece;
	int ret;

	if (!whole_units(space, key, size) || key < space->config.low || size - 1 > KEY_MAX - key ||
	    key + (size - 1) > space->config.high - 1)
		return -EINVAL;
	drain_slots(space);
	for (; left; at += piece, left -= piece) {
		piece = space->config.flags & LATH_SPACE_NO_ARENAS ? left : piece_of(space, at, left);
		ret = reserve_piece(space, at, piece, cookie);
		if (ret) {
			if (at > key)
				free_range(space, key, at - key);
			return ret;
		}
	}
	return 0;
}

int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size)
{
	u64 n = units_of(space, size);
	unsigned int order;

	if (!whole_units(space, key, size) || size - 1 > KEY_MAX - key)
		return -EINVAL;
	order = log2_up(n);
	if (space->magazines && order < ORDERS && n == 1ull << order && !(units_of(space, key) & (n - 1)) &&
	    (!space->config.below || key < space->config.below)) {
		magazine_give(space, order, key);
		return 0;
	}
	return free_range(space, key, size);
}

int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item)
{
	struct arena *arena = space->config.flags & LATH_SPACE_NO_ARENAS ? NULL : arena_lock(space, key);
	u64 unit = units_of(space, key) % ARENA_UNITS;
	bool taken;

	if (!arena)
		return lath_skiplist_lookup_item(&space->index, key, item);
	taken = arena->owner && !(arena->map[unit / 64] >> unit % 64 & 1);
	if (taken) {
		item->key = arena_key(space, arena, unit);
		item->size = space->config.unit;
		item->value = arena->owner[unit];
	}
	lath_spin_unlock(&arena->lock);
	return taken ? 0 : -ENOENT;
}

/* ---- beginning and end ---- */

static int read_config(struct lath_space_config *to, const struct lath_space_config *from)
{
	const struct lath_space_config defaults = LATH_SPACE_CONFIG_INIT;

	*to = defaults;
	if (from && (from->size < offsetof(struct lath_space_config, rcu) || from->size > sizeof(*from)))
		return -EINVAL;
	if (from)
		memcpy(to, from, from->size);
	if (to->flags & ~(unsigned int)(LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES | LATH_SPACE_OWNERS))
		return -EINVAL;
	if (!to->unit || to->unit & (to->unit - 1) || to->unit > 1ull << 51 ||
	    (to->low | to->high | to->below) & (to->unit - 1) || to->low > to->high - 1)
		return -EINVAL;
	if (to->below <= to->low || to->below - 1 >= to->high - 1)
		to->below = 0;
	return 0;
}

static int open_indexes(struct lath_space *space)
{
	struct lath_config config = LATH_CONFIG_INIT;
	int ret;

	config.rcu = space->config.rcu;
	config.allocator = space->config.allocator;
	config.flags = LATH_HOLES;
	ret = lath_skiplist_init(&space->index, &config);
	if (ret)
		return ret;
	config.flags = 0;
	config.layout = LATH_POINTS;
	ret = lath_skiplist_init(&space->arenas, &config);
	if (ret)
		lath_skiplist_fini(&space->index, NULL, NULL);
	return ret;
}

int lath_space_create(struct lath_space **out, const struct lath_space_config *config)
{
	struct lath_space_config cfg;
	struct lath_space *space;
	unsigned int i;
	int ret = read_config(&cfg, config);

	if (ret)
		return ret;
	space = lath_block_alloc(sizeof(*space));
	if (!space)
		return -ENOMEM;
	memset(space, 0, sizeof(*space));
	space->config = cfg;
	if (cfg.allocator)
		space->allocator = *cfg.allocator;
	space->unit_shift = __ffs64(cfg.unit);
	space->arena_size = cfg.unit * ARENA_UNITS;
	space->sets = cfg.below ? 2 : 1;
	for (i = 0; i < space->sets; i++) {
		lath_spin_init(&space->set[i].lock);
		space->set[i].low = i ? cfg.below : cfg.low;
		space->set[i].high = i || !cfg.below ? cfg.high : cfg.below;
	}
	ret = open_indexes(space);
	if (ret)
		goto fail;
	space->slots = space_alloc(space, SLOTS * sizeof(*space->slots));
	if (!space->slots) {
		lath_skiplist_fini(&space->arenas, NULL, NULL);
		lath_skiplist_fini(&space->index, NULL, NULL);
		ret = -ENOMEM;
		goto fail;
	}
	for (i = 0; i < SLOTS; i++)
		lath_spin_init(&space->slots[i].lock);
	space->magazines =
		!(cfg.flags & (LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES | LATH_SPACE_OWNERS));
	*out = space;
	return 0;

fail:
	lath_block_free(space);
	return ret;
}

void lath_space_destroy(struct lath_space *space)
{
	unsigned int k, i;
	u64 j;

	if (!space)
		return;
	for (k = 0; k < space->sets; k++) {
		struct set *set = &space->set[k];

		for (j = 0; j < set->count; j++) {
			struct arena *arena = set_arena(set, j);

			space_free(space, arena->owner, ARENA_UNITS * sizeof(u64));
			space_free(space, arena, sizeof(*arena));
		}
		for (i = 0; i < GROUPS; i++)
			space_free(space, set->group[i], sizeof(*set->group[i]));
	}
	space_free(space, space->slots, SLOTS * sizeof(*space->slots));
	lath_skiplist_fini(&space->arenas, NULL, NULL);
	lath_skiplist_fini(&space->index, NULL, NULL);
	lath_block_free(space);
}

/* ---- what there is ---- */

void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats)
{
	struct lath_skiplist_stats list;
	u64 i, units = 0, held = 0;
	unsigned int k;

	memset(stats, 0, sizeof(*stats));
	for (k = 0; k < space->sets; k++) {
		u64 count = smp_load_acquire(&space->set[k].count); /* pairs with arena_obtain */

		for (i = 0; i < count; i++) {
			struct arena *arena = set_arena(&space->set[k], i);

			lath_spin_lock(&arena->lock);
			if (arena->block != NO_BLOCK) {
				stats->arenas++;
				units += arena->free;
			}
			lath_spin_unlock(&arena->lock);
		}
	}
	for (i = 0; i < SLOTS; i++)
		held += READ_ONCE(space->slots[i].held);
	stats->cached = held << space->unit_shift;
	stats->arena_free = units << space->unit_shift;
	stats->ranges = READ_ONCE(space->ranges);
	stats->bad_frees = READ_ONCE(space->bad_frees);
	stats->allocated = READ_ONCE(space->index_keys) + stats->arenas * space->arena_size -
			   stats->arena_free - stats->cached;
	stats->bytes = READ_ONCE(space->bytes) + sizeof(*space);
	lath_skiplist_get_stats(&space->index, &list);
	stats->bytes += list.bytes;
	lath_skiplist_get_stats(&space->arenas, &list);
	stats->bytes += list.bytes;
	lath_skiplist_hole_stats(&space->index, space->config.low, space->config.high, 1024, &stats->holes);
}

int lath_space_verify(struct lath_space *space, char *report, size_t report_size)
{
	unsigned int k;
	u64 i, value;
	int ret = lath_skiplist_verify(&space->index, 5, report, report_size);

	if (!ret)
		ret = lath_skiplist_verify(&space->arenas, 5, report, report_size);
	for (k = 0; k < space->sets && !ret; k++)
		for (i = 0; i < space->set[k].count && !ret; i++) {
			struct arena *arena = set_arena(&space->set[k], i);

			if (arena->block == NO_BLOCK)
				ret = *arena->shown ? 20 : 0;
			else if (!arena_sound(arena))
				ret = 21;
			else if (!lath_skiplist_get(&space->arenas, arena->block, &value) ||
				 value != (u64)(uintptr_t)arena)
				ret = 22;
			if (ret && report_size)
				snprintf(report, report_size, "arena %llu of set %u: rule %d",
					 (unsigned long long)i, k, ret);
		}
	return ret;
}
