/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.c - the calls of lathwork/space.h: magazines above arenas above the index.
 *
 * A small, naturally aligned request tries in this order: a block from a slot's magazine; bits of
 * an arena whose grade suffices; a new arena; a hole of the index. All other requests go to the
 * index. Keys below config.below are one set of arenas, all others another; the first set is used
 * up before the second.
 */
#include "space/space.h"

void *space_alloc(struct lath_space *space, size_t size)
{
	void *p = space->allocator.alloc ? space->allocator.alloc(space->allocator.ctx, size, 64)
					 : lath_block_alloc(size);

	if (p) {
		memset(p, 0, size);
		lath_fetch_add(&space->bytes, size);
	}
	return p;
}

void space_free(struct lath_space *space, void *p, size_t size)
{
	if (!p)
		return;
	if (space->allocator.alloc)
		space->allocator.free(space->allocator.ctx, p, size);
	else
		lath_block_free(p);
}

/* ---- the index ---- */

static int index_take(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
		      u64 *key)
{
	int ret = lath_index_insert_hole(&space->index, want, cookie, key);

	if (!ret) {
		LATH_ASSERT(*key >= want->low && *key - 1 + want->size <= want->high - 1);
		lath_fetch_add(&space->index_keys, want->size);
		lath_fetch_add(&space->ranges, 1);
	}
	return ret;
}

/* Returns whether items cover [key, key + size) without a gap. */
static bool index_covers(struct lath_space *space, u64 key, u64 size)
{
	u64 last = key + size - 1;
	struct lath_item item;

	while (!lath_index_lookup_item(&space->index, key, &item)) {
		if (item.key + (item.size - 1) >= last)
			return true;
		key = item.key + item.size;
	}
	return false;
}

/* Frees the part of [key, key + size) that lies in the item which covers key; *freed: its size.
 * Memory is needed only if a tail of the item remains: the tail is split off first. 0 | -EINVAL (no
 * item) | -ENOMEM */
static int index_free_one(struct lath_space *space, u64 key, u64 size, u64 *freed)
{
	struct lath_item item;
	int ret;

	if (lath_index_lookup_item(&space->index, key, &item))
		return -EINVAL;
	*freed = min(size, item.size - (key - item.key));
	LATH_ASSERT(*freed);
	if (key - item.key + *freed < item.size) {
		ret = lath_index_split(&space->index, key + *freed, item.value);
		if (ret)
			return ret;
		lath_fetch_add(&space->ranges, 1);
	}
	if (item.key < key) {
		ret = lath_index_resize(&space->index, item.key, key - item.key);
	} else {
		ret = lath_index_erase_item(&space->index, key, NULL);
		lath_fetch_add(&space->ranges, -1ull);
	}
	if (ret)
		return -EINVAL;
	lath_fetch_add(&space->index_keys, -*freed);
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

/* Returns how much of [key, key + size) lies in key's block. */
static u64 piece_of(const struct lath_space *space, u64 key, u64 size)
{
	return min(size, space->arena_size - (key & (space->arena_size - 1)));
}

int free_range(struct lath_space *space, u64 key, u64 size)
{
	u64 piece;
	int ret;

	if (space->config.flags & LATH_SPACE_NO_ARENAS)
		return index_free(space, key, size);
	for (; size; key += piece, size -= piece) {
		piece = piece_of(space, key, size);
		ret = arena_return(space, key, units_of(space, piece));
		if (ret == 1)
			ret = index_free(space, key, piece);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- calls ---- */

/* Returns the blocks of all magazines to the arenas, and empty arenas to the index. Returns whether
 * there was one. */
static bool press(struct lath_space *space)
{
	bool any = magazines_drain(space);
	unsigned int i;

	for (i = 0; i < space->sets && READ_ONCE(space->empty); i++)
		any |= set_release(space, &space->set[i]);
	return any;
}

void lath_space_trim(struct lath_space *space)
{
	lath_call_enter();
	press(space);
	lath_call_exit();
}

/* Takes n units from the arenas of a set; adds arenas, then empties magazines, if there is no
 * room. */
static bool take_from_arenas(struct lath_space *space, struct set *set, u64 n, u64 cookie, u64 *key)
{
	struct slot *slot = slot_of(space);

	while (!set_take(space, set, slot, n, 1, cookie, key))
		if (!set_grow(space, set) && !magazines_drain(space))
			return false;
	return true;
}

/* Serves a small, naturally aligned request. -ENOSPC: no room, unless magazines and empty arenas
 * are returned to the index or the range crosses the boundary of the sets. */
static int take_small(struct lath_space *space, u64 size, u64 cookie, u64 *key)
{
	u64 n = units_of(space, size);
	unsigned int order = log2_up(n), i;
	struct lath_hole_request want = { .size = size, .align = space->config.unit << order };
	int ret = -ENOSPC;

	if (space->magazines && order < ORDERS && n == 1ull << order &&
	    magazine_take(space, order, key))
		return 0;
	for (i = 0; i < space->sets && ret == -ENOSPC; i++) {
		if (take_from_arenas(space, &space->set[i], n, cookie, key))
			return 0;
		want.low = space->set[i].low; /* space of the index between arenas */
		want.high = space->set[i].high;
		ret = index_take(space, &want, cookie, key);
	}
	return ret;
}

/* Takes the request from this arena, if it serves a block with keys of [low, high). */
static bool take_within(struct lath_space *space, struct arena *arena,
			const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull);
	u64 first, end, last = want->high - 1, unit, free;
	bool taken = false;

	lath_spin_lock(&arena->lock);
	first = arena_key(space, arena, 0);
	end = first + (space->arena_size - 1);
	if (arena->block != NO_BLOCK && first <= last && end >= want->low) {
		first = max(first, want->low) - first;
		end = min(end, last) - arena_key(space, arena, 0);
		free = arena->free;
		taken = arena_take_within(arena, n, align, units_of(space, first),
					  units_of(space, end), &unit);
		arena_count_empty(space, arena, free);
	}
	if (taken) {
		arena_set_owner(arena, unit, n, cookie);
		*key = arena_key(space, arena, unit);
	}
	lath_spin_unlock(&arena->lock);
	return taken;
}

/* Returns the size of the largest naturally aligned block that n units at a multiple of align
 * contain. */
static u64 block_within(u64 n, u64 align)
{
	u64 whole = n / align;

	return whole ? align << (fls64(whole + 1) - 2) : 1ull << (fls64(n) - 1);
}

/* Takes the request from any arena, looking at every place in it: for requests that found no room
 * otherwise. Returns whether it did. */
static bool take_anywhere(struct lath_space *space, const struct lath_hole_request *want,
			  u64 cookie, u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull), count,
	    i;
	unsigned int k, order = log2_up(align);
	u8 need;

	if (n > ARENA_UNITS || align > ARENA_UNITS || want->policy == LATH_HOLE_EXACT)
		return false;
	/* naturally aligned, and its grade is exact: the grades have excluded all arenas */
	if (order == log2_up(n) && (n <= 32 || n == align) && want->low == space->config.low &&
	    want->high == space->config.high)
		return false;
	need = grade_needed(block_within(n, align));
	for (k = 0; k < space->sets; k++) {
		count = smp_load_acquire(&space->set[k].count); /* pairs with arena_obtain */
		for (i = 0; i < count; i += 64) {
			struct group *group = space->set[k].group[i / 64];
			u64 good = ~lath_bytes_match(group->shown, need).lt;

			for (; good; good &= good - 1) {
				unsigned int at = __ffs64(good);

				if (READ_ONCE(group->most[at][order]) >= n &&
				    take_within(space, group->arena[at], want, cookie, key))
					return true;
			}
		}
	}
	return false;
}

static bool whole_units(const struct lath_space *space, u64 key, u64 size)
{
	return size && !((key | size) & (space->config.unit - 1));
}

/* The index has no room: returns magazines and empty arenas to it and tries again, then tries the
 * arenas. */
static int take_pressed(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
			u64 *key)
{
	int ret = -ENOSPC;

	if (press(space))
		ret = index_take(space, want, cookie, key);
	if (ret == -ENOSPC && take_anywhere(space, want, cookie, key))
		ret = 0;
	return ret;
}

static int take_request(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
			u64 *key)
{
	int ret = index_take(space, want, cookie, key);

	return ret == -ENOSPC ? take_pressed(space, want, cookie, key) : ret;
}

static int take(struct lath_space *space, u64 size, u64 align, u64 cookie, u64 *key)
{
	struct lath_hole_request want = { .size = size,
					  .align = max(align, space->config.unit),
					  .low = space->config.low,
					  .high = space->config.high,
					  .below = space->config.below };
	u64 n = units_of(space, size), natural;
	int ret;

	if (space->config.flags & LATH_SPACE_NO_ARENAS || n > ARENA_MOST)
		return take_request(space, &want, cookie, key);
	natural = space->config.unit << log2_up(n);
	if (want.align > natural)
		return take_request(space, &want, cookie, key);
	ret = take_small(space, size, cookie, key);
	if (ret == -ENOSPC && want.align == natural &&
	    space->sets == 1) /* take_small() has asked the index for just that */
		return take_pressed(space, &want, cookie, key);
	return ret == -ENOSPC ? take_request(space, &want, cookie, key) : ret;
}

int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align, uint64_t cookie,
		     uint64_t *key)
{
	int ret;

	if (!whole_units(space, 0, size) || align & (align - 1))
		return -EINVAL;
	lath_call_enter();
	ret = take(space, size, align, cookie, key);
	lath_call_exit();
	LATH_ASSERT(ret ||
		    (whole_units(space, *key, size) && !(align && *key & (align - 1)) &&
		     *key >= space->config.low && *key + (size - 1) <= space->config.high - 1));
	return ret;
}

int lath_space_alloc_request(struct lath_space *space, const struct lath_hole_request *request,
			     uint64_t cookie, uint64_t *key)
{
	struct lath_hole_request want = *request;
	int ret;

	want.align = max((u64)want.align, space->config.unit);
	want.low = max((u64)want.low, space->config.low);
	want.high = min(want.high - 1, space->config.high - 1) + 1; /* 0 is 2^64 */
	if (!whole_units(space, want.low | want.high, want.size) ||
	    request->align & (request->align - 1))
		return -EINVAL;
	lath_call_enter();
	ret = take_request(space, &want, cookie, key);
	lath_call_exit();
	return ret;
}

/* Takes exactly [key, key + size), which lies in one block, from its arena or from the index. 0 |
 * -EBUSY | -ENOMEM */
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
			u64 free = arena->free;

			taken = arena_take_at(arena, unit, units_of(space, size));
			arena_count_empty(space, arena, free);
			if (taken)
				arena_set_owner(arena, unit, units_of(space, size), cookie);
			lath_spin_unlock(&arena->lock);
			return taken ? 0 : -EBUSY;
		}
		ret = index_take(space, &want, cookie, &key);
		if (ret != -ENOSPC)
			return ret;
		/* taken; or the block has become an arena's meanwhile */
		block = key / space->arena_size;
		if (!lath_index_get(&space->arenas, block, &value))
			return -EBUSY;
	}
}

static int reserve(struct lath_space *space, u64 key, u64 size, u64 cookie)
{
	u64 at = key, left = size, piece;
	int ret;

	magazines_drain(space);
	for (; left; at += piece, left -= piece) {
		piece = space->config.flags & LATH_SPACE_NO_ARENAS ? left
								   : piece_of(space, at, left);
		ret = reserve_piece(space, at, piece, cookie);
		if (ret) {
			if (at > key)
				free_range(space, key, at - key);
			return ret;
		}
	}
	return 0;
}

int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size, uint64_t cookie)
{
	int ret;

	if (!whole_units(space, key, size) || key < space->config.low || size - 1 > KEY_MAX - key ||
	    key + (size - 1) > space->config.high - 1)
		return -EINVAL;
	lath_call_enter();
	ret = reserve(space, key, size, cookie);
	lath_call_exit();
	return ret;
}

static int give(struct lath_space *space, u64 key, u64 size)
{
	u64 n = units_of(space, size);
	unsigned int order = log2_up(n);

	if (space->magazines && order < ORDERS && n == 1ull << order &&
	    !(units_of(space, key) & (n - 1)) &&
	    (!space->config.below || key < space->config.below) && arena_known(space, key)) {
		magazine_give(space, order, key);
		return 0;
	}
	return free_range(space, key, size);
}

int lath_space_free(struct lath_space *space, uint64_t key, uint64_t size)
{
	int ret;

	if (!whole_units(space, key, size) || size - 1 > KEY_MAX - key)
		return -EINVAL;
	lath_call_enter();
	ret = give(space, key, size);
	lath_call_exit();
	return ret;
}

static int owner(struct lath_space *space, u64 key, struct lath_item *item)
{
	struct arena *arena =
		space->config.flags & LATH_SPACE_NO_ARENAS ? NULL : arena_lock(space, key);
	u64 unit = units_of(space, key) % ARENA_UNITS;
	bool taken;

	if (!arena)
		return lath_index_lookup_item(&space->index, key, item);
	taken = arena->owner && !(arena->map[unit / 64] >> unit % 64 & 1);
	if (taken) {
		item->key = arena_key(space, arena, unit);
		item->size = space->config.unit;
		item->value = arena->owner[unit];
	}
	lath_spin_unlock(&arena->lock);
	return taken ? 0 : -ENOENT;
}

int lath_space_owner(struct lath_space *space, uint64_t key, struct lath_item *item)
{
	int ret;

	lath_call_enter();
	ret = owner(space, key, item);
	lath_call_exit();
	return ret;
}

/* ---- create and destroy ---- */

static int read_config(struct lath_space_config *to, const struct lath_space_config *from)
{
	const struct lath_space_config defaults = LATH_SPACE_CONFIG_INIT;

	*to = defaults;
	if (from &&
	    (from->size < offsetof(struct lath_space_config, rcu) || from->size > sizeof(*from)))
		return -EINVAL;
	if (from)
		memcpy(to, from, from->size);
	if (to->flags &
	    ~(unsigned int)(LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES | LATH_SPACE_OWNERS))
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
	ret = lath_index_init(&space->index, &config);
	if (ret)
		return ret;
	config.flags = 0;
	config.layout = LATH_POINTS;
	ret = lath_index_init(&space->arenas, &config);
	if (ret)
		lath_index_fini(&space->index, NULL, NULL);
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
		lath_index_fini(&space->arenas, NULL, NULL);
		lath_index_fini(&space->index, NULL, NULL);
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
	lath_index_fini(&space->arenas, NULL, NULL);
	lath_index_fini(&space->index, NULL, NULL);
	lath_block_free(space);
}

/* ---- statistics and checks ---- */

void lath_space_get_stats(struct lath_space *space, struct lath_space_stats *stats)
{
	struct lath_index_stats list;
	u64 i, units = 0, held = 0;
	unsigned int k;

	memset(stats, 0, sizeof(*stats));
	for (k = 0; k < space->sets; k++) {
		u64 count = smp_load_acquire(&space->set[k].count); /* pairs with arena_obtain */

		for (i = 0; i < count; i++) {
			struct arena *arena = set_arena(&space->set[k], i);

			lath_call_enter();
			lath_spin_lock(&arena->lock);
			if (arena->block != NO_BLOCK) {
				stats->arenas++;
				units += arena->free;
			}
			lath_spin_unlock(&arena->lock);
			lath_call_exit();
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
	lath_index_get_stats(&space->index, &list);
	stats->bytes += list.bytes;
	lath_index_get_stats(&space->arenas, &list);
	stats->bytes += list.bytes;
	lath_index_hole_stats(&space->index, space->config.low, space->config.high, 1024,
			      &stats->holes);
}

int lath_space_verify(struct lath_space *space, char *report, size_t report_size)
{
	unsigned int k;
	u64 i, value;
	int ret = lath_index_verify(&space->index, 5, report, report_size);

	if (!ret)
		ret = lath_index_verify(&space->arenas, 5, report, report_size);
	for (k = 0; k < space->sets && !ret; k++)
		for (i = 0; i < space->set[k].count && !ret; i++) {
			struct arena *arena = set_arena(&space->set[k], i);

			if (arena->block == NO_BLOCK)
				ret = *arena->shown ? 20 : 0;
			else if (!arena_sound(arena))
				ret = 21;
			else if (!lath_index_get(&space->arenas, arena->block, &value) ||
				 value != (u64)(uintptr_t)arena)
				ret = 22;
			if (ret && report_size)
				snprintf(report, report_size, "arena %llu of set %u: rule %d",
					 (unsigned long long)i, k, ret);
		}
	return ret;
}
