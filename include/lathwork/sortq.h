/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/sortq.h - the sorted request queue of an IO scheduler.
 *
 *     struct my_request { struct lath_request hook; void *data; } rqs[256];
 *     struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
 *     struct lath_request_pool pool;
 *     struct lath_sortq queue;
 *     struct lath_request *next;
 *
 *     lath_request_pool_init(&pool, &rqs[0].hook, sizeof(rqs[0]), 256);
 *     lath_sortq_init(&queue, &config, &pool,
 *                     aligned_alloc(64, lath_sortq_memsize(&config, &pool)));
 *     rqs[7].hook.sector = 4096;
 *     lath_sortq_insert(&queue, &rqs[7].hook);
 *     next = lath_sortq_dispatch(&queue);
 *
 * A bounded pool of requests, each with a start sector. The queue returns them in the order of a
 * one-way sweep over the device: ascending from the head, then again from the lowest sector. Use
 * the default engine, HYBRID, or FIFO for a device that needs no order:
 *
 *   engine             insert     dispatch   remove      search   equal sectors
 *   HYBRID (default)   O(1) *     O(1) *     O(log n)**  yes      in order of arrival
 *   FIFO               O(1)       O(1)       O(1)        no       all by arrival: for flash
 *
 * (*: amortised; **: and the requests of the same sector, see Bounds.) lath_sortq_lookup,
 * _first_from, _next and _prev need "search"; a FIFO returns NULL. With
 * LATH_SORTQ_MERGES lath_sortq_lookup needs no search.
 *
 * The hybrid keeps sorted blocks of 64 one-word entries under a directory. It gathers arrivals
 * unsorted. When there are 32, or when a call asks for the order, it ranks them against each other
 * and merges them into the blocks in runs. The number of steps depends on counts alone, not on the
 * data, so that the processor mispredicts few branches.
 *
 * Invariants (lath_sortq_verify returns the number of a broken one):
 *   S1 entries are in order from the head, equal ones in order of arrival;
 *   S2 every entry of a block lies between the block's separator and the next block's;
 *   S3 an entry names its request and that request's sector;
 *   S4 counts agree; S5 chains and directory name the same blocks in the same order;
 *   S6 no request is in the queue twice.
 *
 * Memory: no call allocates. The caller provides lath_sortq_memsize() bytes: for the hybrid about
 * 25 per request plus 6 KiB; 32 per request more for ages or checks, up to 64 more for merges. The
 * caller embeds a struct lath_request in each request. Requests come from a pool (an array with any
 * stride). Several queues, e.g. for two directions or for priorities, may share one pool; a request
 * is in one queue at a time.
 *
 * Synchronisation: none. The caller excludes concurrent calls on one queue (the scheduler's lock).
 * Queues that share a pool need no common lock. No call sleeps; all may run in interrupt context,
 * and in a signal handler that interrupts no other call on the queue. The kernel build has no
 * vector forms.
 *
 * Bounds: 31 of 32 inserts (7 of 8 in pools above 2048) only store a word. The remaining one sorts
 * and merges the batch: at most 32 (8) searches, each moving one block and occasionally a directory
 * page. Exception: adversarial removals can force one O(n) repack per n/24 inserts. The first
 * dispatch, search or removal after an insert may do that work for the entries gathered so far.
 * With LATH_SORTQ_MERGES a lookup or insert may also clear up to 64 dispatched requests from the
 * hash tables. With LATH_SORTQ_AGES or LATH_SORTQ_MERGES a removal is only noted, and 16 at once
 * are cut out of their blocks; without them it searches the requests of the same sector.
 * lath_sortq_set_head is O(n/32); passing a barrier is O(requests behind it).
 *
 * Limits: 2^20 - 1 requests per pool, sectors below 2^44.
 *
 * Misuse. These calls are refused and change nothing:
 *
 *   insert of a queued request or of a sector  -EEXIST, -EINVAL, -ENOENT: the FIFO, and the hybrid
 *   >= 2^44; back merge of one not queued here  with LATH_SORTQ_CHECKED. O(1)
 *   remove, front merge, next, prev of a        -ENOENT, NULL: both. O(1); a hybrid without AGES,
 *   request not in this queue                   MERGES and CHECKED finds it by the call's search
 *
 * The hybrid's insert is a few stores that do not touch the request. LATH_SORTQ_CHECKED, for tests
 * and for finding a defect, makes it check; without it lath_sortq_verify reports a second insert
 * (S6). Not detected: an insert into a hybrid of a request that another hybrid holds; a sector that
 * the caller changed while the request was queued (lath_sortq_verify: S3); a request that
 * lath_request_pool_init never saw or saw for another pool; a lookup's slot used after another
 * change of the queue.
 */
#ifndef LATHWORK_SORTQ_H
#define LATHWORK_SORTQ_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LATH_SORTQ_MAX_REQUESTS ((1u << 20) - 1)
#define LATH_SORTQ_SECTOR_BITS 44
#define LATH_TAG_BITS (64 - LATH_SORTQ_SECTOR_BITS)
#define LATH_TAG_MASK ((1ull << LATH_TAG_BITS) - 1)

#ifdef __GNUC__
#define LATH_ALIGNED64 __attribute__((aligned(64)))
#else
#define LATH_ALIGNED64
#endif

/* The hook. The caller sets sector and sectors, and changes them while the request is queued only
 * through the calls below. The other fields but time are the queue's. */
struct lath_request {
	uint64_t sector;
	uint32_t sectors; /* length; for the merge calls */
	uint32_t tag;	  /* index in the pool */
	uintptr_t where;  /* the queue that holds it; 0 in the hybrid but behind a barrier */
	uint64_t time;	  /* the caller's, e.g. the deadline; read by lath_sortq_expired */
	uint64_t node[6]; /* the FIFO's; the hybrid uses it for requests behind a barrier only */
};

struct lath_request_pool {
	void *base;	 /* hook of request 0 */
	uint64_t stride; /* bytes from hook to hook */
	uint32_t count;
};

enum lath_sortq_engine {
	LATH_SORTQ_HYBRID = 0,
	LATH_SORTQ_FIFO = 6, /* 1 to 5 were trees and heaps until 0.2: -EINVAL */
};

/* lath_sortq_config.flags */
enum {
	LATH_SORTQ_LOWEST = 1u << 0,  /* lowest sector first: the head stays at 0 */
	LATH_SORTQ_AGES = 1u << 1,    /* keep the order of arrival, for oldest and expired */
	LATH_SORTQ_MERGES = 1u << 2,  /* hash starts and ends, so that lookups need no search */
	LATH_SORTQ_CHECKED = 1u << 3, /* the hybrid refuses a queued request, as the others do */
};

/* The form of the hybrid's inner steps. All give the same order. */
enum lath_simd {
	LATH_SIMD_BEST = 0,
	LATH_SIMD_NONE,
	LATH_SIMD_AVX2,
};

struct lath_sortq_config {
	size_t size; /* sizeof(struct lath_sortq_config) */
	enum lath_sortq_engine engine;
	unsigned int flags;
	enum lath_simd simd;
};

#define LATH_SORTQ_CONFIG_INIT \
	{ sizeof(struct lath_sortq_config), LATH_SORTQ_HYBRID, 0, LATH_SIMD_BEST }

#define LATH_SORTQ_FRESH 32 /* arrivals gathered before they are sorted */

/*
 * The part of the hybrid that the inline calls below use; private to them. An entry is one word,
 * sector << 20 | tag; its distance is entry - base.
 */
struct lath_sortq_gate {
	uint64_t *next; /* the sweep's next entry; behind the last one a word above any limit */
	uint64_t limit; /* an entry at a smaller distance may leave without further checks */
	uint64_t base;	/* entries are ordered by their distance from it */
	char *requests; /* the pool */
	uint64_t stride;
	uint32_t fresh_count, fresh_cap;
	uint8_t quick_in, quick_out; /* insert, dispatch use this struct alone: no flags */
	uint64_t fresh[LATH_SORTQ_FRESH] LATH_ALIGNED64; /* not yet sorted, in order of arrival */
};

/* To be embedded. It must not be moved after lath_sortq_init; its fields are private. */
struct lath_sortq {
	struct lath_sortq_gate gate;
	uint64_t opaque[120];
} LATH_ALIGNED64;

/* Numbers the requests and marks them as not queued; no queue may hold one of them. 0 | -EINVAL:
 * first_hook is NULL or not aligned as a struct lath_request is; count is 0 or above
 * LATH_SORTQ_MAX_REQUESTS; stride is below sizeof(struct lath_request) or no multiple of its
 * alignment; the last request would end behind the last address. *pool is unchanged then. */
LATH_API int lath_request_pool_init(struct lath_request_pool *pool, void *first_hook,
				    uint64_t stride, uint32_t count);

/* Returns the bytes that lath_sortq_init needs, to be aligned to 64; 0 if config or pool is
 * invalid. */
LATH_API size_t lath_sortq_memsize(const struct lath_sortq_config *config,
				   const struct lath_request_pool *pool);
/*
 * Makes an empty queue in *queue, with `memory` of lath_sortq_memsize() bytes; both aligned to 64
 * bytes. config may be NULL: the defaults. A queue needs no end. It may be initialised again when
 * it is empty, or after lath_request_pool_init has marked its requests as not queued. 0 | -EINVAL:
 * config, pool, a NULL or misaligned pointer | -EOPNOTSUPP: this processor or build lacks
 * config->simd
 */
LATH_API int lath_sortq_init(struct lath_sortq *queue, const struct lath_sortq_config *config,
			     struct lath_request_pool *pool, void *memory);
/* Returns "hybrid" or "fifo"; "?" for another number. */
static inline const char *lath_sortq_engine_name(enum lath_sortq_engine engine)
{
	if (engine == LATH_SORTQ_HYBRID)
		return "hybrid";
	return engine == LATH_SORTQ_FIFO ? "fifo" : "?";
}

/* Returns "scalar" or "avx2" for the hybrid, "none" for the FIFO. */
LATH_API const char *lath_sortq_simd_name(const struct lath_sortq *queue);

/* For the inline calls below: their rare cases, and queues that keep more than the order. */
LATH_API void lath_sortq_settle(struct lath_sortq *queue);
LATH_API int lath_sortq_insert_slow(struct lath_sortq *queue, struct lath_request *request);
LATH_API struct lath_request *lath_sortq_dispatch_slow(struct lath_sortq *queue);

static inline void lath_sortq_gather(struct lath_sortq *queue, const struct lath_request *request)
{
	struct lath_sortq_gate *gate = &queue->gate;
	uint64_t entry = request->sector << LATH_TAG_BITS | request->tag;
	uint64_t distance = (entry | LATH_TAG_MASK) - gate->base;
	uint32_t n = gate->fresh_count;

	gate->fresh[n++] = entry;
	gate->fresh_count = n;
	gate->limit = distance < gate->limit ? distance : gate->limit;
	if (n == gate->fresh_cap)
		lath_sortq_settle(queue);
}

/* Inserts a request that is in no queue, with a sector below 2^44. 0 | -EEXIST, -EINVAL (see Misuse
 * above; a hybrid without LATH_SORTQ_CHECKED always returns 0). */
static inline int lath_sortq_insert(struct lath_sortq *queue, struct lath_request *request)
{
	if (!queue->gate.quick_in)
		return lath_sortq_insert_slow(queue, request);
	lath_sortq_gather(queue, request);
	return 0;
}

/* Inserts n requests in order of arrival, e.g. when a plug is flushed. Returns the number inserted:
 * if it is less than n, lath_sortq_insert refused requests[number]; those behind were not tried. */
LATH_API size_t lath_sortq_insert_batch(struct lath_sortq *queue, struct lath_request **requests,
					size_t n);

/* The result of lath_sortq_lookup for [start, end). */
struct lath_sortq_merge {
	struct lath_request *back;  /* ends at start: may grow at its end; or NULL */
	struct lath_request *front; /* starts at end: may grow at its start; or NULL */
	uint64_t slot;		    /* the queue's: the place of start, or ~0 */
};

/*
 * Finds the requests that one of [start, end) could be merged with. With LATH_SORTQ_MERGES: any
 * request that ends at start, and any that starts at end unless the head lies between them; if
 * there is a back merge, a front merge is searched for with LATH_SORTQ_LOOK_ALL only. Without
 * LATH_SORTQ_MERGES: one search, which checks the two neighbours of start.
 */
enum {
	LATH_SORTQ_LOOK_ALL = 1u << 0,
	LATH_SORTQ_LOOK_FRONT = 1u << 1, /* the back merge is refused: back is NULL */
};
LATH_API void lath_sortq_lookup(struct lath_sortq *queue, uint64_t start, uint64_t end,
				unsigned int flags, struct lath_sortq_merge *found);
/* As lath_sortq_insert(), with what a lookup from request->sector found in the unchanged queue. */
LATH_API int lath_sortq_insert_at(struct lath_sortq *queue, const struct lath_sortq_merge *found,
				  struct lath_request *request);
/* Tells the queue that the caller raised request->sectors. 0 | -ENOENT: not in this queue (where it
 * is found: see Misuse above). */
LATH_API int lath_sortq_back_merged(struct lath_sortq *queue, struct lath_request *request);
/* Moves the start of a request down to new_sector: sets sector and sectors, and searches a new
 * place only if the order changes, never in a FIFO. 0 | -ENOENT: not in this queue | -EINVAL:
 * new_sector is above request->sector, or so far below it that `sectors` would exceed 32 bits */
LATH_API int lath_sortq_front_merged(struct lath_sortq *queue, struct lath_request *request,
				     uint64_t new_sector);

/* Removes a queued request, e.g. one cancelled, expired or merged into another.
 * 0 | -ENOENT: not in this queue */
LATH_API int lath_sortq_remove(struct lath_sortq *queue, struct lath_request *request);

/* Returns the next request of the sweep, which stays queued, or NULL if the queue is empty. */
LATH_API struct lath_request *lath_sortq_first(struct lath_sortq *queue);
/* Removes and returns it; the head moves to its sector. NULL if the queue is empty. */
static inline struct lath_request *lath_sortq_dispatch(struct lath_sortq *queue)
{
	struct lath_sortq_gate *gate = &queue->gate;
	uint64_t entry = *gate->next;
	void *at;

	if (!gate->quick_out || entry - gate->base >= gate->limit)
		return lath_sortq_dispatch_slow(queue);
	gate->next++;
	at = gate->requests + (entry & LATH_TAG_MASK) * gate->stride;
	return LATH_CAST(struct lath_request *, at);
}

/* Dispatches up to n requests to out[]. Returns their number. */
LATH_API size_t lath_sortq_dispatch_batch(struct lath_sortq *queue, struct lath_request **out,
					  size_t n);
/* Returns the queued request with the lowest sector >= sector, or NULL; does not wrap around. */
LATH_API struct lath_request *lath_sortq_first_from(struct lath_sortq *queue, uint64_t sector);

/* Return the neighbour in sweep order, not across a barrier; NULL at the end, for a request that
 * waits behind a barrier, and for one that is not in this queue. */
LATH_API struct lath_request *lath_sortq_next(struct lath_sortq *queue,
					      struct lath_request *request);
LATH_API struct lath_request *lath_sortq_prev(struct lath_sortq *queue,
					      struct lath_request *request);

/* Sets the sector from which the sweep continues. 0 | -EINVAL (LATH_SORTQ_LOWEST, or sector too
 * large). O(n / 32). */
LATH_API int lath_sortq_set_head(struct lath_sortq *queue, uint64_t sector);
LATH_API uint64_t lath_sortq_head(const struct lath_sortq *queue);

/* With LATH_SORTQ_AGES. oldest: the request queued for the longest time, or NULL. expired: the same
 * if its time is not after now, else NULL. Times may wrap around, as jiffies do: `time` is not
 * after `now` if now - time, modulo 2^64, is below 2^63. */
LATH_API struct lath_request *lath_sortq_oldest(struct lath_sortq *queue);
static inline struct lath_request *lath_sortq_expired(struct lath_sortq *queue, uint64_t now)
{
	struct lath_request *request = lath_sortq_oldest(queue);

	return request && now - request->time < 1ull << 63 ? request : NULL;
}

/* Requests inserted after this call leave after all those that are queued now. */
LATH_API void lath_sortq_barrier(struct lath_sortq *queue);

LATH_API uint32_t lath_sortq_count(const struct lath_sortq *queue);
/* Returns 0 or the number of the broken invariant. O(n). */
LATH_API int lath_sortq_verify(struct lath_sortq *queue);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SORTQ_H */
