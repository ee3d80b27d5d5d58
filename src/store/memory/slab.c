/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slab.c - slots of 88 sizes, in slabs, which are runs; shards of threads. From 128 bytes on there
 * are 8 sizes per power of two, so at most 12 % of a slot is unused.
 */
#include "store/memory/arena.h"

/* ---- slots ---- */

static unsigned int class_of(u64 size)
{
	unsigned int bits;

	LATH_ASSERT(size <= SLOT_MAX);
	if (size <= 128) /* 16 classes, 8 bytes apart */
		return size ? (unsigned int)((size + 7) / 8 - 1) : 0;
	/* then 8 per power of two: the three bits below the highest one */
	bits = fls64(size - 1);
	return 16 + (bits - 8) * 8 + (unsigned int)(((size - 1) >> (bits - 4)) - 8);
}

u32 lath_slab_slot_size(unsigned int class)
{
	LATH_ASSERT(class < SLAB_CLASSES);
	if (class < 16)
		return (class + 1) * 8;
	class -= 16;
	return (class % 8 + 9) << (class / 8 + 4);
}

static u32 slab_units(u32 size)
{
	LATH_ASSERT(size && size <= SLOT_MAX);
	return size <= 2048 ? 1 : size <= 8192 ? 4 : 16;
}

static u32 slab_slots(const struct unit *slab)
{
	LATH_ASSERT(slab->kind == UNIT_SLAB && slab->len);
	return (u32)(((u64)slab->len << UNIT_SHIFT) / lath_slab_slot_size(slab->class));
}

static LATH_TLS unsigned int mine; /* number + 1 */

/* Returns the number of the thread's shard. Threads get shards in turn. */
static unsigned int shard_number(void)
{
	static unsigned int threads;

	if (unlikely(!mine))
		mine = 1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % SHARDS;
	return mine - 1;
}

unsigned int lath_arena_borrow_shard(unsigned int number)
{
	unsigned int own = shard_number();

	LATH_ASSERT(number < SHARDS);
	mine = number + 1;
	return own;
}

struct arena_shard *lath_arena_shard(struct arena *arena)
{
	return &arena->shard[shard_number()];
}

u64 lath_arena_version(struct arena *arena)
{
	unsigned int n = shard_number();

	LATH_ASSERT(n < SHARDS);
	return (__atomic_add_fetch(&arena->shard[n].next_version, 1, __ATOMIC_RELAXED) * SHARDS) +
	       n;
}

/* ---- slabs with free slots; the shard's lock held ---- */

static void partial_link(struct arena *arena, struct arena_shard *shard, u32 first)
{
	struct unit *slab = &arena->unit[first];

	LATH_ASSERT(lath_spin_mine(&shard->lock) && shard == &arena->shard[slab->shard]);
	LATH_ASSERT(slab->kind == UNIT_SLAB && !slab->flags && slab->used < slab_slots(slab));
	unit_link(arena, &shard->partial[slab->class], first);
	WRITE_ONCE(slab->flags, slab->flags | SLAB_LINKED);
}

static void partial_unlink(struct arena *arena, struct arena_shard *shard, u32 first)
{
	struct unit *slab = &arena->unit[first];

	LATH_ASSERT(lath_spin_mine(&shard->lock) && shard == &arena->shard[slab->shard]);
	LATH_ASSERT(slab->kind == UNIT_SLAB && slab->flags & SLAB_LINKED);
	unit_unlink(arena, &shard->partial[slab->class], first);
	WRITE_ONCE(slab->flags, (u8)(slab->flags & ~SLAB_LINKED));
}

/* Takes a slot from the first slab of the class with a free one; there is one. */
static u64 slot_take(struct arena *arena, struct arena_shard *shard, unsigned int class)
{
	u32 first = shard->partial[class], size = lath_slab_slot_size(class), i;
	struct unit *slab = &arena->unit[first];
	u64 place;

	LATH_ASSERT(lath_spin_mine(&shard->lock) && slab->kind == UNIT_SLAB &&
		    slab->flags == SLAB_LINKED && slab->class == class);
	LATH_ASSERT(slab->used < slab_slots(slab) && slab->free <= slab->fresh);
	/* a slot that was freed, before one that was never used: its memory is warm */
	if (slab->free) {
		i = slab->free - 1;
		place = ((u64)first << UNIT_SHIFT) + (u64)i * size;
		unpoison(arena, arena_at(arena, place), size);
		memcpy(&slab->free, arena_at(arena, place), sizeof(u32));
	} else {
		i = slab->fresh++;
		place = ((u64)first << UNIT_SHIFT) + (u64)i * size;
		unpoison(arena, arena_at(arena, place), size);
	}
	LATH_ASSERT(slab->fresh <= slab_slots(slab) && i < slab->fresh);
	slab->used++;
	shard->slots[class]++;
	/* full: not in the list until a slot of it is freed */
	if (!slab->free && slab->fresh == slab_slots(slab))
		partial_unlink(arena, shard, first);
	return place;
}

int lath_slot_alloc(struct arena *arena, u64 size, u64 *place)
{
	unsigned int class = class_of(size), n = shard_number();
	struct arena_shard *shard = &arena->shard[n];
	int ret;
	u32 first;

	LATH_ASSERT(lath_slab_slot_size(class) >= size);
	lath_spin_lock(&shard->lock);
	/* no slab of the class has a free slot: make one, and look again */
	while (unlikely(!shard->partial[class])) {
		struct unit as = { .kind = UNIT_SLAB, .class = (u8) class, .shard = (u8)n };

		/* arena->lock comes before the shard's; another thread of the shard may make a slab
		 * too, then there are two */
		lath_spin_unlock(&shard->lock);
		ret = lath_run_alloc(arena, slab_units(lath_slab_slot_size(class)), &as, &first);
		if (ret)
			return ret;
		poison(arena, arena_at(arena, (u64)first << UNIT_SHIFT),
		       (u64)arena->unit[first].len << UNIT_SHIFT);
		lath_spin_lock(&shard->lock);
		partial_link(arena, shard, first);
	}
	*place = slot_take(arena, shard, class);
	lath_spin_unlock(&shard->lock);
	return 0;
}

/* Frees the run of a slab that is GONE. No lock held. */
static void slab_give_back(struct arena *arena, u32 first)
{
	LATH_ASSERT(arena->unit[first].kind == UNIT_SLAB && arena->unit[first].flags == SLAB_GONE);
	unpoison(arena, arena_at(arena, (u64)first << UNIT_SHIFT),
		 (u64)arena->unit[first].len << UNIT_SHIFT);
	lath_run_free(arena, first);
}

void lath_slot_free(struct arena *arena, u32 first, u64 place)
{
	struct unit *slab = &arena->unit[first];
	struct arena_shard *shard = &arena->shard[slab->shard];
	u32 size = lath_slab_slot_size(slab->class);
	u64 offset = place - ((u64)first << UNIT_SHIFT);
	bool empty;

	lath_spin_lock(&shard->lock);
	LATH_ASSERT(slab->kind == UNIT_SLAB && !(slab->flags & SLAB_GONE));
	LATH_ASSERT(slab->used && slab->used <= shard->slots[slab->class]);
	LATH_ASSERT(!(offset % size) && offset / size < slab->fresh);
	/* the list of free slots goes through the slots themselves */
	memcpy(arena_at(arena, place), &slab->free, sizeof(u32));
	poison(arena, arena_at(arena, place), size);
	slab->free = (u32)(offset / size) + 1;
	slab->used--;
	shard->slots[slab->class]--;
	/* the last slab of a class with free slots stays, so that one slot in and out costs no
	 * run */
	empty = !slab->used && ((slab->flags & SLAB_DRAINING) || !(slab->flags & SLAB_LINKED) ||
				slab->prev || slab->next);
	if (empty) { /* GONE: nobody links it until lath_run_free() has it, without the shard's lock */
		if (slab->flags & SLAB_LINKED)
			partial_unlink(arena, shard, first);
		WRITE_ONCE(slab->flags, SLAB_GONE);
	} else if (!(slab->flags & (SLAB_LINKED | SLAB_DRAINING))) { /* it was full */
		partial_link(arena, shard, first);
	}
	lath_spin_unlock(&shard->lock);
	if (empty)
		slab_give_back(arena, first);
}

void lath_slab_restore(struct arena *arena, u32 first, const u64 *mark)
{
	struct unit *slab = &arena->unit[first];
	struct arena_shard *shard = &arena->shard[0];
	u32 size = lath_slab_slot_size(slab->class), slots = slab_slots(slab), i;
	u64 base = (u64)first << UNIT_SHIFT;

	LATH_ASSERT(slab->kind == UNIT_SLAB);
	lath_spin_lock(&shard->lock);
	slab->shard = slab->flags = 0;
	slab->used = slab->free = 0;
	for (i = slots; i && !place_marked(mark, base + (i - 1ull) * size); i--)
		;
	slab->fresh = i; /* no slot behind the last marked one needs a place in the list */
	/* from the last to the first, so that the list begins with the lowest slot */
	for (; i; i--) {
		if (place_marked(mark, base + (i - 1ull) * size)) {
			slab->used++;
			continue;
		}
		memcpy(arena_at(arena, base + (i - 1ull) * size), &slab->free, sizeof(u32));
		slab->free = i;
	}
	LATH_ASSERT(slab->used <= slab->fresh && slab->fresh <= slots && slab->free <= slab->fresh);
	shard->slots[slab->class] += slab->used;
	if (slab->free || slab->fresh < slots)
		partial_link(arena, shard, first);
	lath_spin_unlock(&shard->lock);
}

/* ---- compaction ---- */

struct slab_counts {
	u32 of[SHARDS][SLAB_CLASSES];
};

/* Fills in how many slabs of each class and shard stay: as many as hold all its slots, and one
 * more; all of them, if less than a quarter would go. arena->lock held. */
static void count_needed(struct arena *arena, struct slab_counts *stay)
{
	struct slab_counts slabs = { 0 };
	unsigned int s, c;
	u32 i;

	LATH_ASSERT(runs_locked(arena));
	for (i = arena->first_unit; i < arena->fresh_unit; i++)
		if (arena->unit[i].kind == UNIT_SLAB)
			slabs.of[arena->unit[i].shard][arena->unit[i].class]++;
	for (s = 0; s < SHARDS; s++) {
		lath_spin_lock(&arena->shard[s].lock);
		for (c = 0; c < SLAB_CLASSES; c++) {
			u32 size = lath_slab_slot_size(c),
			    slots = (slab_units(size) << UNIT_SHIFT) / size;

			/* one more: those that move must not need a new slab */
			stay->of[s][c] = (arena->shard[s].slots[c] + slots - 1) / slots + 1;
			/* to move records costs more than so few slabs are worth */
			if (stay->of[s][c] * 4 > slabs.of[s][c] * 3)
				stay->of[s][c] = slabs.of[s][c];
		}
		lath_spin_unlock(&arena->shard[s].lock);
	}
}

/* Of each class and shard the slabs at the lowest places stay; the others are emptied into them. */
u64 lath_arena_mark_sparse(struct arena *arena)
{
	struct slab_counts stay;
	u64 marked = 0;
	u32 i;

	runs_lock(arena);
	count_needed(arena, &stay);
	for (i = arena->first_unit; i < arena->fresh_unit; i++) {
		struct unit *slab = &arena->unit[i];
		struct arena_shard *shard;

		if (slab->kind != UNIT_SLAB)
			continue;
		LATH_ASSERT(slab->shard < SHARDS && slab->class < SLAB_CLASSES);
		if (stay.of[slab->shard][slab->class]) { /* the lowest places stay */
			stay.of[slab->shard][slab->class]--;
			continue;
		}
		shard = &arena->shard[slab->shard];
		lath_spin_lock(&shard->lock);
		/* a full one is not sparse; an empty one is freed by lath_arena_unmark() */
		if ((slab->flags & SLAB_LINKED) && slab->used) {
			partial_unlink(arena, shard, i);
			WRITE_ONCE(slab->flags, slab->flags | SLAB_DRAINING);
			marked++;
		}
		lath_spin_unlock(&shard->lock);
	}
	runs_unlock(arena);
	return marked;
}

bool lath_arena_draining(const struct arena *arena, u64 place)
{
	const struct unit *u = unit_of(arena, place);

	return u->kind == UNIT_SLAB && (READ_ONCE(u->flags) & SLAB_DRAINING);
}

/* Unmarks a slab. Returns whether it is empty; it is GONE then, because it would keep a whole
 * block. arena->lock held. */
static bool slab_idle(struct arena *arena, u32 first)
{
	struct unit *slab = &arena->unit[first];
	struct arena_shard *shard = &arena->shard[slab->shard];
	bool idle;

	LATH_ASSERT(runs_locked(arena));
	lath_spin_lock(&shard->lock);
	/* compaction ends, emptied or not: its free slots are handed out again */
	if (slab->flags & SLAB_DRAINING) {
		WRITE_ONCE(slab->flags, (u8)(slab->flags & ~SLAB_DRAINING));
		partial_link(arena, shard, first);
	}
	/* no slot of it can be taken once it has left the list, whose lock is held */
	idle = (slab->flags & SLAB_LINKED) && !slab->used;
	if (idle) {
		partial_unlink(arena, shard, first);
		WRITE_ONCE(slab->flags, SLAB_GONE);
	}
	lath_spin_unlock(&shard->lock);
	return idle;
}

void lath_arena_unmark(struct arena *arena)
{
	u32 idle[64], i = arena->first_unit, n;
	bool more;

	do {
		n = 0;
		/* some at a time, so that other threads get the lock in between */
		runs_lock(arena);
		for (; i < arena->fresh_unit && n < ARRAY_SIZE(idle); i++)
			if (arena->unit[i].kind == UNIT_SLAB && slab_idle(arena, i))
				idle[n++] = i;
		more = i < arena->fresh_unit;
		runs_unlock(arena);
		/* without the lock of the runs, which lath_run_free() takes */
		while (n--)
			slab_give_back(arena, idle[n]);
	} while (more);
}
