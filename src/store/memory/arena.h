/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.h - the memory of a store: a reserved range of addresses, backed in blocks of 2 MiB. It is
 * divided into units of 16 KiB, runs of units, and slabs of slots of one size.
 *
 *   base | unit table ....... | block | block | block | ... reserved, no memory yet ... |
 *                             | run of units: a slab, a large value, a chunk of index nodes |
 *
 * A place is an offset from base in bytes: a multiple of 8, never 0, below 2^43. It means the same
 * wherever the arena is mapped. Shards, one per group of threads, hand out slots. A slot may be
 * freed by any thread and returns to the shard that its slab belongs to. Memory that readers may
 * still see is given to lath_arena_retire() and freed after a grace period, some hundred slots at
 * once.
 *
 * Locks: a shard's lock for its slabs, arena->lock for runs. Order: arena->lock, then a shard's.
 */
#ifndef LATH_STORE_ARENA_H
#define LATH_STORE_ARENA_H

#include "lathwork/store.h"
#include "sys/sys.h"

#include <pthread.h>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
/* Nothing, but with AddressSanitizer. In shared memory nothing is poisoned: other processes would
 * not know of it. */
#define poison(a, p, n) ((a)->backing ? (void)0 : ASAN_POISON_MEMORY_REGION(p, n))
#define unpoison(a, p, n) ((a)->backing ? (void)0 : ASAN_UNPOISON_MEMORY_REGION(p, n))
#else
#define poison(a, p, n) ((void)0)
#define unpoison(a, p, n) ((void)0)
#endif

#define UNIT_SHIFT 14
#define UNIT (1ul << UNIT_SHIFT)
#define BLOCK (2ul << 20)
#define UNITS_A_BLOCK (BLOCK / UNIT)
#define SLOT_MAX (64ul << 10)
#define SLAB_CLASSES 88
#define SHARDS 32
#define RUN_BUCKETS 32
#define NO_UNIT 0u /* unit 0 is part of the unit table */

enum unit_kind {
	UNIT_NONE = 0, /* never used */
	UNIT_FREE,     /* first of a free run */
	UNIT_RUN,      /* first of a large allocation */
	UNIT_SLAB,     /* first of a slab */
	UNIT_BODY,     /* in a slab, `back` units behind its first */
	UNIT_END,      /* last of a free run, `back` units behind its first */
};

struct unit {
	u8 kind;
	u8 class;
	u8 shard;
	u8 flags;
	u32 len;	/* length of the run */
	u32 used;	/* slots handed out */
	u32 fresh;	/* slots that have been handed out at least once; the others follow them */
	u32 free;	/* first free slot + 1; its first bytes hold the next one's */
	u32 prev, next; /* in the list of free runs of a size, or of slabs of a class with free
			   slots */
	u32 back;
};

enum {
	SLAB_LINKED = 1,   /* in its shard's list of slabs with free slots */
	SLAB_DRAINING = 2, /* compaction empties it: none of its slots is handed out */
	SLAB_GONE = 4,	   /* empty, about to become a free run */
};

_Static_assert(sizeof(struct unit) == 32, "two units a line");

struct arena_shard {
	struct lath_spinlock lock;
	u32 partial[SLAB_CLASSES]; /* slabs with free slots, by class */
	u32 slots[SLAB_CLASSES];   /* slots handed out, by class */
	struct retire_batch *batch;
	s64 items;	  /* records added minus removed, for the count of a store of byte keys */
	u64 next_version; /* made unique by the shard's number in the low bits */
} __attribute__((aligned(64)));

struct arena;

/* Functions for memory that several processes share. Each process has its own copy of this struct,
 * at one address. */
struct arena_backing {
	/* take: gets all memory that block b needs: 0 | -ENOMEM. give_back: returns it: 0 |
	 * -errno */
	int (*take)(struct arena *arena, u64 b);
	int (*give_back)(struct arena *arena, u64 b);
};

struct arena {
	char *base;
	u64 reserved;
	struct unit *unit;
	u32 units;			     /* number of units in the reservation */
	u32 first_unit;			     /* first unit behind the unit table */
	u32 fresh_unit;			     /* units from here on have never been used */
	u8 *block;			     /* one byte per block: BLOCK_COMMITTED, ... */
	const struct arena_backing *backing; /* NULL: private memory of this process */
	u64 limit; /* on what all arenas of the store have committed; 0: none */
	u64 *all_committed;
	const struct lath_rcu *rcu;
	bool hugetlb, small_pages;
	pthread_mutex_t lock; /* protects runs, units outside slabs, blocks */
	u32 run[RUN_BUCKETS]; /* heads of lists of free runs, by the logarithm of their length */
	u64 committed, large_bytes, pending, lost;
	struct arena *next, **link; /* of the arenas with `hugetlb` */
	struct arena_shard shard[SHARDS];
};

enum { BLOCK_NONE, BLOCK_COMMITTED, BLOCK_HUGETLB /* committed, on a reserved huge page */ };

static inline u64 round_up(u64 n, u64 to)
{
	return (n + to - 1) / to * to;
}

/* The memory at a place. */
static inline void *arena_at(const struct arena *arena, u64 place)
{
	return arena->base + place;
}

/* The first unit of the slab or run that a place is in. */
static inline struct unit *unit_of(const struct arena *arena, u64 place)
{
	struct unit *u = &arena->unit[place >> UNIT_SHIFT];

	LATH_ASSERT(place < arena->reserved);
	return u->kind == UNIT_BODY ? u - u->back : u;
}

/* Marks tell which places hold a valid record: one bit per 8 bytes. Returns that of a place. */
#define MARKS_A_BLOCK (BLOCK / 8 / 64)
static inline bool place_marked(const u64 *mark, u64 place)
{
	return READ_ONCE(mark[place >> 9]) >> (place >> 3 & 63) & 1;
}

/* ---- arena.c ---- */

/* Reserves the addresses of an arena in private memory of this process. 0 | as lath_pages_reserve()
 * */
int lath_arena_init(struct arena *arena, const struct lath_store_options *options,
		    const struct lath_rcu *rcu, u64 *all_committed);
/* As lath_arena_init() for memory that exists: what is at base is 0, and so are the bytes at
 * `block`, one per block. backing NULL: it is private to this process. */
int lath_arena_init_at(struct arena *arena, char *base, u64 reserved, u8 *block,
		       const struct arena_backing *backing,
		       const struct lath_store_options *options, const struct lath_rcu *rcu,
		       u64 *all_committed);
/* After the death of a process: resets locks, lists and counts. No unit from `fresh` on has ever
 * been used. */
void lath_arena_restart(struct arena *arena, u32 fresh);
/* Frees all memory of the arena, after retired slots have been freed. No reader may be active. */
void lath_arena_fini(struct arena *arena);

/* Allocates `size` bytes. 0 (*place) | -ENOMEM | -ENOSPC (the limit) */
int lath_arena_alloc(struct arena *arena, u64 size, u64 *place);
/* Frees a place at once. */
void lath_arena_free(struct arena *arena, u64 place);
/* The functions of lath_allocator, for the index. ctx is the arena. */
void *lath_arena_node_alloc(void *ctx, size_t size, size_t align);
void lath_arena_node_free(void *ctx, void *block, size_t size);

/* Returns the size of a slot or run in bytes, as allocated. */
u64 lath_arena_size(const struct arena *arena, u64 place);
/* Adds the arena's memory to the statistics, and to *used what is handed out. Takes the lock of the
 * runs and, in it, those of the shards. */
void lath_arena_figures(struct arena *arena, struct lath_store_stats *stats, uint64_t *used);

/* ---- retired memory ---- */

/* Slots that wait for a grace period. */
#define RETIRE_MAX 500
#define RETIRE_BYTES (256u << 10)
struct retire_batch {
	struct lath_rcu_head rcu;
	struct arena *arena;
	u32 count;
	u64 bytes;
	u64 place[RETIRE_MAX];
};

/* Frees a place after a grace period. */
void lath_arena_retire(struct arena *arena, u64 place);
/* Starts the grace period of what has been retired so far. */
void lath_arena_flush(struct arena *arena);

/* ---- slab.c ---- */

/* Returns the slot size of a class in bytes. */
u32 lath_slab_slot_size(unsigned int class);
/* Allocates a slot from the calling thread's shard, in a call. 0 (*place) | -ENOMEM | -ENOSPC */
int lath_slot_alloc(struct arena *arena, u64 size, u64 *place);
/* Frees a slot of the slab that begins at unit `first`, in a call. */
void lath_slot_free(struct arena *arena, u32 first, u64 place);
/* After the death of a process: the marked slots are handed out, the others free. */
void lath_slab_restore(struct arena *arena, u32 first, const u64 *mark);

/* Returns the shard of the calling thread. */
struct arena_shard *lath_arena_shard(struct arena *arena);
/* Makes the calling thread take slots from this shard. Returns the number of the shard it used
 * before. */
unsigned int lath_arena_borrow_shard(unsigned int number);
/* Returns a version that was never returned before. */
u64 lath_arena_version(struct arena *arena);
/* Compaction. arena_mark_sparse: marks the slabs that would not be needed if the others were full;
 * returns their number. arena_draining: returns whether a place is in a marked slab. arena_unmark:
 * ends the marking and frees all slabs without a used slot. */
u64 lath_arena_mark_sparse(struct arena *arena);
bool lath_arena_draining(const struct arena *arena, u64 place);
void lath_arena_unmark(struct arena *arena);

/* Put a unit at the head of a list, and take it out. */
static inline void unit_link(struct arena *arena, u32 *head, u32 first)
{
	arena->unit[first].prev = NO_UNIT;
	arena->unit[first].next = *head;
	if (*head)
		arena->unit[*head].prev = first;
	*head = first;
}

static inline void unit_unlink(struct arena *arena, u32 *head, u32 first)
{
	const struct unit *u = &arena->unit[first];

	LATH_ASSERT(!u->prev || arena->unit[u->prev].next == first);
	LATH_ASSERT(!u->next || arena->unit[u->next].prev == first);
	*(u->prev ? &arena->unit[u->prev].next : head) = u->next;
	if (u->next)
		arena->unit[u->next].prev = u->prev;
}

/* For assertions: returns whether a thread holds the lock of the runs. */
static inline bool runs_locked(struct arena *arena)
{
	return pthread_mutex_trylock(&arena->lock) == EBUSY;
}

/* Take and release the lock of the runs, in a call. */
static inline void runs_lock(struct arena *arena)
{
	lath_call_enter();
	pthread_mutex_lock(&arena->lock);
}

static inline void runs_unlock(struct arena *arena)
{
	LATH_ASSERT(runs_locked(arena));
	pthread_mutex_unlock(&arena->lock);
	lath_call_exit();
}

/* Allocates a run of len units, the first of which becomes *as. No lock held. 0 (*first) | -ENOMEM
 * | -ENOSPC */
int lath_run_alloc(struct arena *arena, u32 len, const struct unit *as, u32 *first);
/* Frees a run that is large memory or a slab without used slots; joins it with free neighbours. No
 * lock held. */
void lath_run_free(struct arena *arena, u32 first);
/* Makes len units a free run. arena->lock held; the neighbours are not free. */
void lath_run_link(struct arena *arena, u32 first, u32 len);
/* How many bytes above the limit the calling thread may take: 0, but while it loads a snapshot. */
extern __thread u64 lath_arena_allowance;
/* Returns whether the limit does not permit another block. */
bool lath_arena_is_full(struct arena *arena);

/* Returns whole free blocks to the machine. Returns the number of bytes. */
u64 lath_arena_release(struct arena *arena);
/* Commits this many more bytes, not 0, and touches them. 0 | -ENOMEM | -ENOSPC (the limit) */
int lath_arena_prefault(struct arena *arena, u64 bytes);

/* ---- pages.c: memory of the machine ---- */

/* Reserves addresses, without memory, aligned to 2 MiB. If the machine refuses so much, *size
 * becomes smaller, but not below options->limit. Stores a reason. 0 | -ENOMEM | -EINVAL (NUMA text)
 * | -EOPNOTSUPP (no NUMA) */
int lath_pages_reserve(char **base, u64 *size, const struct lath_store_options *options);
/* Sets the NUMA policy of an address range; text: as lath_store_options.numa. 0 | as above */
int lath_pages_numa(char *base, u64 size, const char *text);
/* Returns how many bytes this process could take without swapping or reclaim from other programs:
 * what is available on the machine and within the limits of its control groups. ~0: unknown. root:
 * prefix of the paths that are read, "" (tests have others). */
u64 lath_pages_available(const char *root);
/* Maps one reserved huge page at a block that nobody has touched, and returns whether one was left;
 * else the block keeps its pages. */
bool lath_pages_try_hugetlb(char *block);
/* Moves such a block to ordinary pages, at its address, while threads read it. Returns false if
 * there is no memory. */
bool lath_pages_leave_hugetlb(char *block);
/* Touches all pages. 0 | -ENOMEM */
int lath_pages_populate(char *from, u64 size, bool huge);
/* Returns the memory to the machine; its content is lost. 0 | -errno */
int lath_pages_give_back(char *from, u64 size);

/* Adds the resident bytes of the mappings that two arenas lie in, and those on pages of 2 MiB or
 * more, to the statistics, from /proc/self/smaps. 0 | -errno */
int lath_pages_coverage(const struct arena *values, const struct arena *index,
			struct lath_store_stats *stats);

#endif /* LATH_STORE_ARENA_H */
