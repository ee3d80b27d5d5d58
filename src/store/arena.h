/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.h - the memory of a store: one reserved stretch of addresses, taken from the machine in
 * blocks of 2 MiB, cut into units of 16 KiB, runs of units, and slabs of equal slots.
 *
 *   base | unit table ....... | block | block | block | ... reserved, not yet taken ... |
 *                             | run of units: a slab, a large value, a chunk of index nodes |
 *
 * A place is its offset from base in bytes (a multiple of 8, never 0), so that it fits 43 bits and
 * means the same wherever the arena is mapped. Slots are handed out by shards, one a group of
 * threads; a slot goes back to the shard its slab belongs to, from any thread. What readers may
 * still see is given to arena_retire() and freed after a grace period, some hundreds at once.
 */
#ifndef LATH_STORE_ARENA_H
#define LATH_STORE_ARENA_H

#include "lathwork/store.h"
#include "sys/sys.h"

#include <pthread.h>

#define UNIT_SHIFT 14
#define UNIT (1ul << UNIT_SHIFT)
#define BLOCK (2ul << 20)
#define UNITS_A_BLOCK (BLOCK / UNIT)
#define SLOT_MAX (64ul << 10)
#define CLASSES 88
#define SHARDS 32
#define RUN_BUCKETS 32
#define NO_UNIT 0u /* unit 0 holds the unit table */

enum unit_kind {
	UNIT_NONE = 0, /* never used */
	UNIT_FREE,     /* first of a free run */
	UNIT_RUN,      /* first of a large allocation */
	UNIT_SLAB,     /* first of a slab */
	UNIT_BODY,     /* inside a slab: `back` units behind its first */
	UNIT_END,      /* last of a free run: `back` units behind its first */
};

struct unit {
	u8 kind;
	u8 class;
	u8 shard;
	u8 flags;
	u32 len;	/* units in the run */
	u32 used;	/* slots handed out */
	u32 fresh;	/* slots that were handed out at least once */
	u32 free;	/* first free slot + 1; each holds the next in its first bytes */
	u32 prev, next; /* of the free runs of a size, or the slabs of a class with room */
	u32 back;
};

enum {
	SLAB_LINKED = 1,   /* in its shard's list of slabs with room */
	SLAB_DRAINING = 2, /* compaction empties it: no slot is handed out */
	SLAB_GONE = 4,	   /* empty, on its way back to the runs */
};

_Static_assert(sizeof(struct unit) == 32, "two units a line");

/* Slots waiting for a grace period. */
#define RETIRE_MAX 500
#define RETIRE_BYTES (256u << 10)
struct retire_batch {
	struct lath_rcu_head rcu;
	struct arena *arena;
	struct arena_shard *shard;
	struct retire_batch *next;
	u32 count;
	u64 bytes;
	u64 place[RETIRE_MAX];
};

struct arena_shard {
	struct lath_spinlock lock;
	u32 partial[CLASSES]; /* slabs with room */
	u32 slots[CLASSES];   /* handed out */
	struct retire_batch *batch, *spare;
	u32 spares;
	s64 items;	  /* records, for the count of a store of byte keys */
	u64 next_version; /* unique with the shard's number in its low bits */
} __attribute__((aligned(64)));

struct arena_numbers {
	u64 committed;	  /* taken from the machine */
	u64 record_bytes; /* slots handed out, by their size */
	u64 large_bytes;  /* runs handed out */
	u64 pending;	  /* of both: retired, waiting for readers */
	u64 lost;	  /* retired while memory for the waiting list was missing */
	u64 free_bytes;	  /* committed, neither handed out nor table */
};

struct arena;

/* Memory that several processes share. Each has its own copy of this, at one address. */
struct arena_backing {
	/* all that block b needs, from the machine: 0 | -ENOMEM; and back to it: 0 | -errno */
	int (*take)(struct arena *arena, u64 b);
	int (*give_back)(struct arena *arena, u64 b);
};

struct arena {
	char *base;
	u64 reserved;
	struct unit *unit;
	u32 units;			     /* in the reservation */
	u32 first_unit;			     /* behind the table */
	u32 fresh_unit;			     /* from here on never used */
	u8 *block;			     /* one a block: committed */
	const struct arena_backing *backing; /* NULL: this process' own memory */
	u64 limit; /* of all that the store's arenas have committed; 0: none */
	u64 *all_committed;
	const struct lath_rcu *rcu;
	bool hugetlb, small_pages;
	pthread_mutex_t lock; /* the runs and all above */
	u32 run[RUN_BUCKETS]; /* free runs by the logarithm of their length */
	u64 committed, large_bytes, pending, lost;
	struct arena_shard shard[SHARDS];
};

/* Memory the tests refuse: called before anything is asked of the machine. NULL: nothing is
 * refused. */
extern bool (*lath_store_refuse)(void);

int arena_init(struct arena *arena, const struct lath_store_options *options,
	       const struct lath_rcu *rcu, u64 *all_committed);
/* The same in memory that is there: what is at base is 0, and so are the bytes at block, one a
 * block. */
int arena_init_shared(struct arena *arena, char *base, u64 reserved, u8 *block,
		      const struct arena_backing *backing, const struct lath_store_options *options,
		      const struct lath_rcu *rcu, u64 *all_committed);
/* After a death: locks are free, lists and counts empty, no unit was ever used but those before
 * `fresh`. */
void arena_restart(struct arena *arena, u32 fresh);
/* Waits for retired slots; no reader may be active. */
void arena_fini(struct arena *arena);

/* Runs (arena.c) and slots (slab.c), for one another. */
int run_alloc(struct arena *arena, u32 len, const struct unit *as, u32 *first);
void run_free(struct arena *arena, u32 first);
void run_link(struct arena *arena, u32 first, u32 len);
u32 slot_size(unsigned int class);
int slot_alloc(struct arena *arena, u64 size, u64 *place);
void slot_free(struct arena *arena, u32 first, u64 place);
u32 slab_slots(const struct unit *slab);
void slab_restore(struct arena *arena, u32 first, const u64 *mark);
static inline bool store_refused(void)
{
	return unlikely(lath_store_refuse) && lath_store_refuse();
}

/* 0 and a place | -ENOMEM | -ENOSPC (the limit) */
int arena_alloc(struct arena *arena, u64 size, u64 *place);
void arena_free(struct arena *arena, u64 place);
void arena_retire(struct arena *arena, u64 place);
/* Start the grace period of what has been retired so far. */
void arena_flush(struct arena *arena);
/* As lath_allocator, for the index. ctx is the arena. */
void *arena_node_alloc(void *ctx, size_t size, size_t align);
void arena_node_free(void *ctx, void *block, size_t size);

/* The lock of the runs, in a call. */
static inline void runs_lock(struct arena *arena)
{
	lath_call_enter();
	pthread_mutex_lock(&arena->lock);
}

static inline void runs_unlock(struct arena *arena)
{
	pthread_mutex_unlock(&arena->lock);
	lath_call_exit();
}

/* For assertions: returns whether a thread holds the lock of the runs. */
static inline bool runs_locked(struct arena *arena)
{
	return pthread_mutex_trylock(&arena->lock) == EBUSY;
}

struct arena_shard *arena_shard(struct arena *arena);
/* The calling thread takes slots from this shard now: the number of its own. */
unsigned int arena_borrow_shard(unsigned int number);
unsigned int arena_shard_of(const struct arena *arena, u64 place);
u64 arena_version(struct arena *arena);
/* Bytes a slot or run really has. */
u64 arena_size(const struct arena *arena, u64 place);
/* So much above limits the calling thread may take. */
void arena_allow(u64 bytes);
/* The limit is why the last allocation of this size failed, or would fail. */
bool arena_is_full(struct arena *arena);

/* Compaction: mark the slabs that would not be needed if the others were full; is this place in one
 * of them; end of the marking, and no slab without a used slot is kept. */
u64 arena_mark_sparse(struct arena *arena);
bool arena_draining(const struct arena *arena, u64 place);
void arena_unmark(struct arena *arena);
/* Give whole free blocks back to the machine: bytes given back. */
u64 arena_release(struct arena *arena);
/* Take this much more from the machine at once and touch it: 0 | -ENOMEM | -ENOSPC (the limit) */
int arena_prefault(struct arena *arena, u64 bytes);
void arena_numbers(struct arena *arena, struct arena_numbers *numbers);

/* Which places hold a record that is there: a bit each 8 bytes. */
#define MARKS_A_BLOCK (BLOCK / 8 / 64)
static inline bool place_marked(const u64 *mark, u64 place)
{
	return READ_ONCE(mark[place >> 9]) >> (place >> 3 & 63) & 1;
}

static inline void *arena_at(const struct arena *arena, u64 place)
{
	return arena->base + place;
}

#endif /* LATH_STORE_ARENA_H */
