/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space.c - the calls of lathwork/space.h that allocate and free: magazines above arenas above the
 * index.
 *
 * A small request, at a small alignment, tries in this order: a block from a slot's magazine; bits
 * of an arena whose grade suffices; a new arena; a hole of the index. All other requests go to the
 * index. The segments are tried in the order of their numbers or of their free keys, first their
 * parts below config.below, then the rest.
 */
#include "space/space.h"

/* ---- memory ---- */

/* Nodes of the indexes come in chunks of pages; all else is smaller. */
#define FROM_PAGES 4096ul
#define HUGE_CHUNK (2ul << 20)

static void *counted_alloc(void *arg, size_t size, size_t align)
{
	struct lath_space *space = arg;
	void *p;

	if (space->allocator.alloc)
		p = space->allocator.alloc(space->allocator.ctx, size, align);
	else if (size >= FROM_PAGES && !(size % FROM_PAGES))
		p = lath_pages_alloc(size, size >= HUGE_CHUNK);
	else
		p = lath_block_alloc(size);
	if (p)
		lath_fetch_add(&space->bytes, size);
	return p;
}

static void counted_free(void *arg, void *p, size_t size)
{
	struct lath_space *space = arg;

	lath_fetch_add(&space->bytes, -(u64)size);
	if (space->allocator.alloc)
		space->allocator.free(space->allocator.ctx, p, size);
	else if (size >= FROM_PAGES && !(size % FROM_PAGES))
		lath_pages_free(p, size);
	else
		lath_block_free(p);
}

void *space_alloc(struct lath_space *space, size_t size)
{
	void *p = counted_alloc(space, size, 64);

	if (p)
		memset(p, 0, size);
	return p;
}

void space_free(struct lath_space *space, void *p, size_t size)
{
	if (p)
		counted_free(space, p, size);
}

struct lath_index *space_index(struct lath_space *space, struct lath_index **at)
{
	struct lath_index *index = smp_load_acquire(at), *there; /* pairs with space_index */
	struct lath_allocator allocator = { counted_alloc, counted_free, space };
	struct lath_config config = LATH_CONFIG_INIT;

	if (index)
		return index;
	config.rcu = space->config.rcu;
	config.allocator = &allocator;
	if (at == &space->index)
		config.flags = LATH_HOLES;
	else
		config.layout = LATH_POINTS;
	index = space_alloc(space, sizeof(*index));
	if (!index || lath_index_init(index, &config)) {
		space_free(space, index, sizeof(*index));
		return NULL;
	}
	lath_spin_lock(&space->lock);
	there = *at;
	if (!there)
		smp_store_release(at, index); /* pairs with space_index */
	lath_spin_unlock(&space->lock);
	if (!there)
		return index;
	lath_index_fini(index, NULL, NULL);
	space_free(space, index, sizeof(*index));
	return there;
}

/* ---- the index ---- */

/* With arenas, the keys in items that are none are counted: what arenas hold is the rest. */
static void count_keys(struct lath_space *space, u64 size)
{
	if (!(space->config.flags & LATH_SPACE_NO_ARENAS))
		lath_fetch_add(&space->index_keys, size);
}

int index_take(struct lath_space *space, const struct lath_hole_request *want, u64 cookie, u64 *key)
{
	struct lath_index *index = space_index(space, &space->index);
	int ret = index ? lath_index_insert_hole(index, want, cookie, key) : -ENOMEM;

	if (!ret) {
		LATH_ASSERT(*key >= want->low && *key - 1 + want->size <= want->high - 1);
		count_keys(space, want->size);
		lath_fetch_add(&space->ranges, 1);
	}
	return ret;
}

/* Returns how much of [key, key + size) items cover from key on without a gap, up to the first
 * arena; 0 if a gap comes before that. */
static u64 index_span(struct lath_space *space, u64 key, u64 size)
{
	struct lath_index *index = smp_load_acquire(&space->index); /* pairs with space_index */
	u64 last = key + (size - 1), at = key;
	struct lath_item item;

	while (!lath_index_lookup_item(index, at, &item)) {
		if (item.value == arena_mark(space))
			return at - key;
		if (item.key + (item.size - 1) >= last)
			return size;
		at = item.key + item.size;
	}
	return 0;
}

/* [key, key + size) of this segment has left the index. */
static void count_freed(struct lath_space *space, struct segment *segment, u64 size)
{
	count_keys(space, -size);
	segment_count(segment, -size);
	lath_fetch_add(&space->freed, 1);
}

/* Frees [key, key + size), which lies in the item. Memory is needed only if a tail of the item
 * remains: the tail is split off first. 0 | -EINVAL (it changed meanwhile) | -ENOMEM */
static int index_free_part(struct lath_space *space, const struct lath_item *item, u64 key,
			   u64 size)
{
	struct segment *segment;
	int ret;

	LATH_ASSERT(size && lies_within(key, size, item->key, item->key + item->size));
	if (key - item->key + size < item->size) {
		ret = lath_index_split(space->index, key + size, item->value);
		if (ret)
			return ret;
		lath_fetch_add(&space->ranges, 1);
	}
	segment = segment_of(space, key);
	if (item->key < key) {
		ret = lath_index_resize(space->index, item->key, key - item->key);
	} else {
		/* not an arena that has taken its place */
		ret = lath_index_erase_if(space->index, key, item->value, NULL);
		lath_fetch_add(&space->ranges, ret ? 0 : -1ull);
	}
	if (ret)
		return -EINVAL;
	count_freed(space, segment, size);
	return 0;
}

/* Frees the item that is [key, key + size), and is no arena: all arenas have one size. Returns
 * whether it did: there may be another item, or several. */
static bool index_free_whole(struct lath_space *space, u64 key, u64 size)
{
	struct segment *segment = segment_of(space, key);

	if (size == space->arena_size || lath_index_erase_sized(space->index, key, size, NULL))
		return false;
	lath_fetch_add(&space->ranges, -1ull);
	count_freed(space, segment, size);
	return true;
}

/* Frees [key, key + size) up to the first arena; *freed: how much that is. 0 | -EINVAL (not all of
 * it is allocated; nothing changed) | -ENOMEM (only a part, from key on, is free) */
static noinline int index_free(struct lath_space *space, u64 key, u64 size, u64 *freed)
{
	struct lath_index *index = smp_load_acquire(&space->index); /* pairs with space_index */
	struct lath_item item;
	u64 part;
	int ret = 0;

	*freed = size;
	if (!index)
		return -EINVAL;
	if (index_free_whole(space, key, size))
		return 0;
	if (lath_index_lookup_item(index, key, &item) || item.value == arena_mark(space))
		return -EINVAL;
	if (size <= item.size - (key - item.key))
		return index_free_part(space, &item, key, size);
	*freed = index_span(space, key, size);
	for (size = *freed; size && !ret; key += part, size -= part) {
		if (lath_index_lookup_item(index, key, &item) || item.value == arena_mark(space))
			return -EINVAL;
		part = min(size, item.size - (key - item.key));
		ret = index_free_part(space, &item, key, part);
	}
	return *freed ? ret : -EINVAL;
}

/* Frees [key, key + *piece), the first part of [key, key + size): of one arena, or of the index up
 * to the first arena. 0 | -EINVAL | -ENOMEM */
static inline int free_piece(struct lath_space *space, u64 key, u64 size, u64 *piece)
{
	int ret = 1;

	*piece = piece_of(space, key, size);
	if (likely(!(space->config.flags & LATH_SPACE_NO_ARENAS)))
		ret = arena_return(space, key, units_of(space, *piece), true);
	return likely(ret != 1) ? ret : index_free(space, key, size, piece);
}

int free_range(struct lath_space *space, u64 key, u64 size)
{
	u64 piece;
	int ret = 0;

	for (; size && !ret; key += piece, size -= piece)
		ret = free_piece(space, key, size, &piece);
	return ret;
}

/* ---- calls ---- */

bool press(struct lath_space *space)
{
	bool any = magazines_drain(space);
	struct segment *segment;
	unsigned int i;

	for (segment = &space->first; segment; segment = segment_next(segment))
		for (i = 0; i < PARTS && READ_ONCE(space->empty); i++)
			any |= set_release(space, &segment->set[i]);
	return any;
}

void lath_space_trim(struct lath_space *space)
{
	lath_call_enter();
	press(space);
	lath_call_exit();
}

/* Returns the segment with the most free keys of those whose bits are set and that have a free run
 * of this size, in keys; 0: of any size. NULL: there is none. */
static struct segment *roomiest(struct lath_space *space, u64 segments, u64 run)
{
	struct segment *segment, *best = NULL;
	u64 most = 0;

	for (segment = &space->first; segment; segment = segment_next(segment)) {
		u64 room = segment_room(segment);

		if (segments >> segment->number & 1 && (!best || room > most) &&
		    (!run || segment_has_run(space, segment, run))) {
			best = segment;
			most = room;
		}
	}
	return best;
}

/* Returns the segment to try next of those whose bits are set, and clears its bit; NULL: none is
 * left. In the order of numbers, or (LATH_SPACE_SPREAD) of free keys, most first. */
static inline struct segment *choose(struct lath_space *space, u64 *segments)
{
	struct segment *segment = &space->first;

	if (unlikely(space->config.flags & LATH_SPACE_SPREAD))
		segment = roomiest(space, *segments, 0);
	else
		while (segment && !(*segments >> segment->number & 1))
			segment = segment_next(segment);
	if (segment)
		*segments &= ~(1ull << segment->number);
	return segment;
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

/* Takes the request from any arena of the segment, looking at every place in it: for requests that
 * found no room otherwise. graded: the arenas have refused it by their grades. Returns whether it
 * did. */
static bool take_anywhere(struct lath_space *space, struct segment *segment,
			  const struct lath_hole_request *want, u64 cookie, bool graded, u64 *key)
{
	u64 n = units_of(space, want->size), align = max(units_of(space, want->align), 1ull);
	u64 count, i;
	unsigned int k, order = log2_up(align);
	struct lath_hole_request within = *want;
	u8 need;

	if (n > ARENA_UNITS || align > ARENA_UNITS)
		return false;
	/* naturally aligned, and its grade is exact: the grades have excluded all arenas */
	if (graded && order == log2_up(n) && (n <= 32 || n == align) && want->low == segment->low &&
	    want->high == segment->high)
		return false;
	if (want->policy == LATH_HOLE_EXACT) {
		within.low = want->hint;
		within.high = want->hint + want->size;
	}
	need = grade_needed(block_within(n, align));
	for (k = 0; k < PARTS; k++) {
		struct set *set = &segment->set[k];

		count = smp_load_acquire(&set->count); /* pairs with set_add */
		for (i = 0; i < count; i += 64) {
			struct group *group = set_group(set, i / 64);
			u64 good = ~lath_bytes_match(group->shown, need).lt;

			for (; good; good &= good - 1) {
				unsigned int at = __ffs64(good);

				if (READ_ONCE(group->most[at][order]) >= n &&
				    take_within(space, group->arena[at], &within, cookie, key))
					return true;
			}
		}
	}
	return false;
}

/* Continues take_part() where the arenas have no room. */
static noinline int take_more(struct lath_space *space, struct set *set, const struct wanted *want,
			      u64 *count, u64 *key)
{
	struct lath_hole_request hole = { .size = want->n << space->unit_shift,
					  .align = want->align << space->unit_shift,
					  .policy = small_policy(space) };
	int ret = -ENOSPC;

	while (!set->empty && segment_confirm(set->segment)) {
		if (set_take(space, set, slot_of(space), want, key))
			return 0;
		hole.low = set->low;
		hole.high = set->high;
		if (space->config.flags & LATH_SPACE_FILL &&
		    take_anywhere(space, set->segment, &hole, want->cookie, true, key))
			return 0;
		if (set_grow(space, set) || magazines_drain(space))
			continue;
		ret = index_take(space, &hole, want->cookie, key);
		break;
	}
	if (ret)
		segment_uncharge(set->segment, count, hole.size);
	return ret;
}

/* Serves a small request whose alignment is a unit or more from a part of a segment: from its
 * arenas; after adding arenas, then emptying magazines; from the space of the index between arenas.
 * 0 | -ENOSPC | -ENOMEM */
static __always_inline int take_part(struct lath_space *space, struct set *set,
				     const struct wanted *want, u64 *key)
{
	u64 *count = segment_charge(set->segment, want->n << space->unit_shift);

	if (unlikely(!count))
		return -ENOSPC;
	if (likely(set_take(space, set, slot_of(space), want, key)))
		return 0;
	return take_more(space, set, want, count, key);
}

/* The same from all segments, but not from the first part of those whose bits in `first` are not
 * set. */
static noinline int take_parts(struct lath_space *space, u64 first, u64 segments,
			       const struct wanted *want, u64 *key)
{
	unsigned int part, parts = space->config.below ? PARTS : 1;
	struct segment *segment;
	int ret = -ENOSPC;
	u64 left;

	for (part = 0; part < parts; part++)
		for (left = part ? segments : first;
		     ret == -ENOSPC && (segment = choose(space, &left));)
			ret = take_part(space, &segment->set[part], want, key);
	return ret;
}

/* The same from all segments. -ENOSPC: no room, unless magazines and empty arenas are returned to
 * the index or the range crosses the boundary of the sets. */
static inline int take_small(struct lath_space *space, u64 segments, const struct wanted *want,
			     u64 *key)
{
	u64 left = segments;
	int ret = -ENOSPC;

	if (likely(left & 1 && !(space->config.flags & LATH_SPACE_SPREAD))) {
		ret = take_part(space, &space->first.set[0], want, key);
		left &= ~1ull;
	}
	return likely(ret != -ENOSPC) ? ret : take_parts(space, left, segments, want, key);
}

/* What an allocation asks for: want.low and want.high are the limits of the caller. */
struct request {
	struct lath_space *space;
	struct lath_hole_request want;
	u64 segments; /* bit i: it may be in segment i */
	u64 cookie;
	bool graded; /* take_small() has refused it: no arena's grade suffices */
};

enum place {
	IN_INDEX = 1,
	IN_ARENAS = 2,
};

/* Serves the request from one segment below `high`: from the index, the arenas, or both. It changes
 * r->want meanwhile. 0 | -ENOSPC | -ENOMEM */
static int take_segment(struct request *r, struct segment *segment, u64 high, unsigned int places,
			u64 *key)
{
	struct lath_hole_request *want = &r->want;
	u64 *count, low = want->low, end = want->high, below = want->below;
	int ret = -ENOSPC;

	segment_stripes_make(r->space, segment);
	count = segment_charge(segment, want->size);
	if (!count)
		return ret;
	if (!segment_confirm(segment))
		places = 0;
	want->low = max(low, segment->low);
	want->high = min(high - 1, segment->high - 1) + 1;
	want->below = 0;
	if (want->low > want->high - 1 ||
	    (want->policy == LATH_HOLE_EXACT &&
	     !lies_within(want->hint, want->size, want->low, want->high)))
		places = 0;
	if (places & IN_INDEX)
		ret = index_take(r->space, want, r->cookie, key);
	if (ret == -ENOSPC && places & IN_ARENAS &&
	    take_anywhere(r->space, segment, want, r->cookie, r->graded, key))
		ret = 0;
	if (ret)
		segment_uncharge(segment, count, want->size);
	want->low = low;
	want->high = end;
	want->below = below;
	return ret;
}

/* A segment that served so many requests may have a successor that is worth a search. */
#define ENOUGH 4

/* choose() for a request that arenas do not serve first. With LATH_SPACE_FILL the segment that
 * served the last one is tried first. If it had served more than a few, one with a free run for
 * four such requests follows, or for two. Then those with more free keys do. `tried` is the number
 * of segments tried so far. */
static struct segment *choose_large(const struct request *r, u64 *segments, unsigned int tried)
{
	struct lath_space *space = r->space;
	u64 last = *segments & (1ull << READ_ONCE(space->filling)), size = r->want.size;
	struct segment *segment = NULL;

	if (!(space->config.flags & LATH_SPACE_FILL))
		return choose(space, segments);
	if (last)
		segment = roomiest(space, last, 0);
	if (!segment && tried <= 1 && READ_ONCE(space->filled) == ENOUGH && size <= KEY_MAX / 4) {
		segment = roomiest(space, *segments, 4 * size);
		if (!segment)
			segment = roomiest(space, *segments, 2 * size);
	}
	if (!segment)
		segment = roomiest(space, *segments, 0);
	*segments &= segment ? ~(1ull << segment->number) : 0;
	return segment;
}

/* The segment has served a request that arenas do not serve first. */
static void note_filling(struct lath_space *space, const struct segment *segment)
{
	u8 filled = READ_ONCE(space->filled);

	if (!(space->config.flags & LATH_SPACE_FILL))
		return;
	if (READ_ONCE(space->filling) != segment->number) {
		WRITE_ONCE(space->filling, (u8)segment->number);
		WRITE_ONCE(space->filled, 0);
	} else if (filled < ENOUGH) {
		WRITE_ONCE(space->filled, (u8)(filled + 1));
	}
}

/* The same from all segments that the request may use, below want.below first. */
static int take_segments(struct request *r, unsigned int places, u64 *key)
{
	u64 high = r->want.high, below = r->want.below, left;
	bool prefer = below > r->want.low && below - 1 < high - 1;
	struct segment *segment;
	unsigned int tried;
	int ret = -ENOSPC, pass;

	for (pass = prefer ? 0 : 1; pass < 2; pass++) {
		left = r->segments;
		tried = 0;
		while (ret == -ENOSPC && (segment = choose_large(r, &left, tried++))) {
			ret = take_segment(r, segment, pass ? high : below, places, key);
			if (!ret)
				note_filling(r->space, segment);
		}
	}
	return ret;
}

/* Serves a request from the index, then, if there are arenas, under pressure from the index and the
 * arenas. asked: the index has just refused it. */
static int take_request(struct request *r, bool asked, u64 *key)
{
	int ret = asked ? -ENOSPC : take_segments(r, IN_INDEX, key);

	if (ret == -ENOSPC && !(r->space->config.flags & LATH_SPACE_NO_ARENAS))
		ret = take_segments(r, press(r->space) ? IN_INDEX | IN_ARENAS : IN_ARENAS, key);
	if (ret == -ENOSPC)
		lath_probe(refusal, r->space, r->want.size);
	return ret;
}

/* Serves a request that is large, or coarsely aligned, or refused by take_small(). */
static noinline int take_large(struct lath_space *space, u64 segments, u64 size, u64 align,
			       u64 cookie, bool graded, bool asked, u64 *key)
{
	struct request r = { space,
			     { .size = size, .align = align, .below = space->config.below },
			     segments,
			     cookie,
			     graded };

	return take_request(&r, asked, key);
}

/* 0 | -ENOSPC | -ENOMEM */
static int take(struct lath_space *space, u64 segments, u64 size, u64 align, u64 cookie, u64 *key)
{
	u64 n = units_of(space, size), units = max(units_of(space, align), 1ull), at = units;
	bool graded = false, asked = false;
	struct wanted want;
	int ret;

	align = max(align, space->config.unit);
	if (likely(!(space->config.flags & LATH_SPACE_NO_ARENAS) && n <= ARENA_MOST &&
		   units <= ARENA_MOST)) {
		if (!(space->config.flags & LATH_SPACE_FILL))
			at = max(units, 1ull << log2_up(n));
		want_units(space, n, at, cookie, &want);
		ret = take_small(space, segments, &want, key);
		if (likely(ret != -ENOSPC))
			return ret;
		graded = true;
		/* the index was asked for just that, unless it may cross a boundary of sets */
		asked = units == at && !space->config.below;
	}
	return take_large(space, segments, size, align, cookie, graded, asked, key);
}

/* Serves a request from a magazine. Returns whether it did. */
static bool take_cached(struct lath_space *space, u64 size, u64 align, u64 *key)
{
	u64 n = units_of(space, size);
	unsigned int order = log2_up(n);

	return READ_ONCE(space->magazines) && order < ORDERS && n == 1ull << order &&
	       align <= size && magazine_take(space, order, key);
}

int lath_space_alloc_in(struct lath_space *space, uint64_t segments, uint64_t size, uint64_t align,
			uint64_t cookie, uint64_t *key)
{
	int ret = 0;

	if (!whole_units(space, 0, size) || align & (align - 1) || cookie == arena_mark(space))
		return -EINVAL;
	lath_call_enter();
	if (!(segments & 1) || !take_cached(space, size, align, key))
		ret = take(space, segments, size, align, cookie, key);
	lath_call_exit();
	LATH_ASSERT(ret || (whole_units(space, *key, size) && !(align && *key & (align - 1))));
	return ret;
}

int lath_space_alloc(struct lath_space *space, uint64_t size, uint64_t align, uint64_t cookie,
		     uint64_t *key)
{
	return lath_space_alloc_in(space, ~0ull, size, align, cookie, key);
}

int lath_space_alloc_request(struct lath_space *space, const struct lath_hole_request *want,
			     uint64_t cookie, uint64_t *key)
{
	struct request r = { space, *want, ~0ull, cookie, false };
	int ret;

	r.want.align = max((u64)want->align, space->config.unit);
	if (!whole_units(space, want->low | want->high, want->size) ||
	    want->align & (want->align - 1) || want->low > want->high - 1 ||
	    (unsigned int)want->policy > LATH_HOLE_EXACT || cookie == arena_mark(space))
		return -EINVAL;
	if (want->policy == LATH_HOLE_EXACT &&
	    (want->hint & (r.want.align - 1) ||
	     !lies_within(want->hint, want->size, want->low, want->high)))
		return -EINVAL;
	lath_call_enter();
	ret = take_request(&r, false, key);
	lath_call_exit();
	return ret;
}

/* Takes units of one block from an arena at exactly this place. Unlocks the arena. Returns whether
 * they were free. */
static bool reserve_in_arena(struct lath_space *space, struct arena *arena, u64 key, u64 size,
			     u64 cookie)
{
	u64 unit = units_of(space, key) % ARENA_UNITS, free = arena->free;
	bool taken = arena_take_at(arena, unit, units_of(space, size));

	arena_count_empty(space, arena, free);
	if (taken)
		arena_set_owner(arena, unit, units_of(space, size), cookie);
	lath_spin_unlock(&arena->lock);
	return taken;
}

/* Takes [key, key + *piece), the first part of [key, key + size): what lies in one arena, or in the
 * index up to the next item. 0 | -EBUSY | -ENOMEM */
static int reserve_piece(struct lath_space *space, u64 key, u64 size, u64 cookie, u64 *piece)
{
	struct lath_hole_request want = { .low = key, .hint = key, .policy = LATH_HOLE_EXACT };
	unsigned int rounds = 0;

	for (;;) {
		struct arena *arena =
			space->config.flags & LATH_SPACE_NO_ARENAS ? NULL : arena_lock(space, key);
		struct lath_index *index;
		struct lath_item item;
		int ret;

		*piece = size;
		if (arena) {
			*piece = piece_of(space, key, size);
			return reserve_in_arena(space, arena, key, *piece, cookie) ? 0 : -EBUSY;
		}
		index = smp_load_acquire(&space->index); /* pairs with space_index */
		if (index && !lath_index_overlap_item(index, key, size, &item)) {
			if (item.key <= key && item.value != arena_mark(space))
				return -EBUSY;
			if (item.key <= key) { /* another thread opens or returns an arena */
				lath_spin_wait(&rounds);
				continue;
			}
			*piece = item.key - key;
		}
		want.size = *piece;
		want.high = key + *piece;
		ret = index_take(space, &want, cookie, &key);
		if (ret != -ENOSPC)
			return ret;
	}
}

int reserve_range(struct lath_space *space, struct segment *segment, u64 *count, u64 key, u64 size,
		  u64 cookie)
{
	u64 at = key, left = size, piece;
	int ret = 0;

	for (; left; at += piece, left -= piece) {
		ret = reserve_piece(space, at, left, cookie, &piece);
		if (ret)
			break;
	}
	if (!ret)
		return 0;
	segment_uncharge(segment, count, left);
	if (at > key)
		free_range(space, key, at - key);
	return ret;
}

static int reserve(struct lath_space *space, struct segment *segment, u64 key, u64 size, u64 cookie)
{
	u64 *count = segment_charge(segment, size);
	int ret = -ENOSPC;

	if (!count)
		return ret;
	if (segment_confirm(segment)) /* it may have been removed, and added elsewhere */
		ret = lies_within(key, size, segment->low, segment->high) ? 0 : -EINVAL;
	if (ret) {
		segment_uncharge(segment, count, size);
		return ret;
	}
	magazines_drain(space);
	return reserve_range(space, segment, count, key, size, cookie);
}

int lath_space_reserve(struct lath_space *space, uint64_t key, uint64_t size, uint64_t cookie)
{
	struct segment *segment = segment_of(space, key);
	int ret;

	if (!segment || !whole_units(space, key, size) || size - 1 > KEY_MAX - key ||
	    segment_of(space, key + (size - 1)) != segment || cookie == arena_mark(space))
		return -EINVAL;
	lath_call_enter();
	ret = reserve(space, segment, key, size, cookie);
	lath_call_exit();
	return ret;
}

static int give(struct lath_space *space, u64 key, u64 size)
{
	u64 n = units_of(space, size);
	unsigned int order = log2_up(n);
	u64 piece;
	int ret;

	if (READ_ONCE(space->magazines) && order < ORDERS && n == 1ull << order &&
	    !(units_of(space, key) & (n - 1)) && arena_cached(space, key) &&
	    magazine_give(space, order, key))
		return 0;
	ret = free_piece(space, key, size, &piece);
	return likely(ret || piece == size) ? ret : free_range(space, key + piece, size - piece);
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
		return smp_load_acquire(&space->index) && /* pairs with space_index */
				       !lath_index_lookup_item(space->index, key, item) &&
				       item->value != arena_mark(space)
			       ? 0
			       : -ENOENT;
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
	if (to->flags & ~(unsigned int)(LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES |
					LATH_SPACE_OWNERS | LATH_SPACE_SPREAD | LATH_SPACE_FILL))
		return -EINVAL;
	if (!to->unit || to->unit & (to->unit - 1) || to->unit > 1ull << 51 ||
	    (to->low | to->high | to->below) & (to->unit - 1) || to->low > to->high - 1)
		return -EINVAL;
	if (to->below <= to->low || to->below - 1 >= to->high - 1)
		to->below = 0;
	return 0;
}

int lath_space_create(struct lath_space **out, const struct lath_space_config *config)
{
	struct lath_space_config cfg;
	struct lath_space *space;
	int ret = read_config(&cfg, config);

	if (ret)
		return ret;
	space = cfg.allocator ? cfg.allocator->alloc(cfg.allocator->ctx, sizeof(*space), 64)
			      : lath_block_alloc(sizeof(*space));
	if (!space)
		return -ENOMEM;
	memset(space, 0, sizeof(*space));
	space->config = cfg;
	if (cfg.allocator)
		space->allocator = *cfg.allocator;
	space->bytes = sizeof(*space);
	space->unit_shift = __ffs64(cfg.unit);
	space->arena_size = cfg.unit * ARENA_UNITS;
	lath_spin_init(&space->lock);
	segment_init(&space->first, 0);
	segment_open(space, &space->first, cfg.low, cfg.high, 0);
	choose_magazines(space);
	*out = space;
	return 0;
}

static void index_destroy(struct lath_space *space, struct lath_index *index)
{
	if (index)
		lath_index_fini(index, NULL, NULL);
	space_free(space, index, sizeof(*index));
}

void lath_space_destroy(struct lath_space *space)
{
	struct segment *segment, *next;
	struct lath_allocator allocator;
	unsigned int i;

	if (!space)
		return;
	for (segment = &space->first; segment; segment = next) {
		next = segment->next;
		for (i = 0; i < PARTS; i++)
			set_fini(space, &segment->set[i]);
		space_free(space, segment->stripes, STRIPES * sizeof(*segment->stripes));
		if (segment != &space->first)
			space_free(space, segment, sizeof(*segment));
	}
	for (i = 0; i < SLOTS; i++)
		space_free(space, space->slot[i], sizeof(*space->slot[i]));
	space_free(space, space->recent, RECENT * sizeof(*space->recent));
	index_destroy(space, space->arenas);
	index_destroy(space, space->index);
	LATH_ASSERT(space->bytes == sizeof(*space));
	allocator = space->allocator;
	if (allocator.alloc)
		allocator.free(allocator.ctx, space, sizeof(*space));
	else
		lath_block_free(space);
}
