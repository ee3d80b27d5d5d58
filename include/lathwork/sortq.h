/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/sortq.h - the sorted request queue of an IO scheduler.
 *
 * A bounded pool of requests, each with a start sector; the queue gives them back in the order of a
 * one-way sweep over the device: ascending from the head, then from the lowest again. One interface,
 * several engines:
 *
 *   engine             insert     dispatch    remove     search   equal sectors
 *   HYBRID (default)   O(1) a     O(1) a      O(log n)   yes      first come, first out
 *   LIST               O(n)       O(1)        O(1)       O(n)     first come, first out
 *   RBTREE, AVL        O(log n)   O(1)..      O(log n)   yes      first come, first out
 *   SKIPLIST           O(log n)   O(1)        O(log n)   yes      first come, first out
 *   FIBHEAP, PAIRING   O(1)       O(log n) a  O(log n) a no       first come, first out
 *   RADIX              O(1)       O(64) a     O(1)       no       first come, first out
 *   FIFO               O(1)       O(1)        O(1)       no       order of arrival: for flash
 *
 * (a: amortised.) "search" is what lath_sortq_lookup, _first_from, _first_in_zone, _next and _prev need;
 * an engine without it answers NULL. With LATH_SORTQ_MERGES lath_sortq_lookup needs no search.
 *
 * The hybrid: blocks of 64 one-word entries under a directory. Arrivals are noted unsorted; when there
 * are 32, or when the order is asked for, they are ranked against each other all at once and merged
 * into the blocks a run at a time, with work that depends on counts alone and not on what is sorted.
 * (Then O(log n) for each, thus "amortised" above.)
 *
 * Invariants (lath_sortq_verify returns the number of a broken one):
 *   S1 entries are in order from the head, equal ones in order of arrival;
 *   S2 every entry of a block lies between the block's separator and the next block's;
 *   S3 an entry names its request and that request's sector;
 *   S4 counts agree; S5 chains and directory name the same blocks in the same order;
 *   S6 no request is in the queue twice.
 *
 * Memory: nothing is allocated after lath_sortq_init. The caller gives lath_sortq_memsize() bytes,
 * about 25 a request and 6 KiB for the hybrid, 32 a request for ages or checks, up to 64 for merges, and embeds a
 * struct lath_request in each request. Requests come from a pool (an array, any stride); several queues -
 * two directions, priorities - may share one pool, a request being in one queue at a time.
 *
 * Synchronisation: none. Calls on one queue exclude each other (the scheduler's lock); queues that
 * share a pool need no common lock. No call sleeps; all may run in interrupt context. In the kernel the
 * vector forms are not built.
 *
 * Bounds: of 32 inserts (8 in pools of more than 2048) all but one store a word, and one sorts and merges
 * them: at most so many searches, each with one block and at times a directory page moved; but for an
 * adversary's patterns of removal, after which one insert in n/24 repacks the blocks in O(n). The first
 * dispatch, search or removal after an insert may do that work for the fewer entries there are. With
 * LATH_SORTQ_MERGES a lookup or insert may take up to 64 dispatched requests out of the tables. Removal is
 * noted, and 16 at once cut out of their blocks, in queues with LATH_SORTQ_AGES or LATH_SORTQ_MERGES; in
 * others it walks along requests of the same sector.
 * lath_sortq_set_head is O(n/32); passing a barrier costs O(requests behind it).
 *
 * Limits: 2^20 - 1 requests a pool, sectors below 2^44.
 *
 * Misuse. What is refused, with nothing changed:
 *
 *   insert of a request that is queued, or of a sector    -EEXIST, -EINVAL, -ENOENT: all engines but the
 *   of 2^44 or more; back merge of one not in this queue  hybrid; the hybrid with LATH_SORTQ_CHECKED. O(1)
 *   removal, front merge, next and prev of one that is    -ENOENT, NULL: all. O(1); in a hybrid without AGES,
 *   not in this queue                                     MERGES and CHECKED by the search that the call makes
 *
 * The hybrid's insert is a few stores that touch nothing of the request. LATH_SORTQ_CHECKED, for tests and the
 * search for a mistake, makes it look; lath_sortq_verify reports a second insert without it (S6). Not noticed: the
 * insert into a hybrid of a request that another hybrid holds; a sector that the caller changed while the request was
 * queued (lath_sortq_verify: S3); a request that lath_request_pool_init never saw or saw for another pool; a
 * lookup's slot used after another change of the queue.
 *
 * Example:
 *	struct lath_request_pool pool;
 *	lath_request_pool_init(&pool, &rqs[0].hook, sizeof(rqs[0]), 256);
 *	struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
 *	void *memory = aligned_alloc(64, lath_sortq_memsize(&config, &pool));
 *	lath_sortq_init(&queue, &config, &pool, memory);
 *	rqs[7].hook.sector = 4096;
 *	lath_sortq_insert(&queue, &rqs[7].hook);
 *	struct lath_request *next = lath_sortq_dispatch(&queue);
 */
#ifndef LATHWORK_SORTQ_H
#define LATHWORK_SORTQ_H

#include "lathwork/avl.h"
#include "lathwork/config.h"
#include "lathwork/fibheap.h"
#include "lathwork/pairing_heap.h"
#include "lathwork/radix_heap.h"
#include "lathwork/rbtree.h"
#include "lathwork/sorted_list.h"

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

/* The hook. sector and sectors are the caller's and stay as they are while the request is queued,
 * except through the calls below; the rest is the queue's. */
struct lath_request {
	uint64_t sector;
	uint32_t sectors; /* length; for the merge calls */
	uint32_t tag;	  /* index in the pool */
	uintptr_t where;  /* the queue's: which one holds it, where the hybrid's blocks do not say so */
	uint64_t time;	  /* the caller's, e.g. the deadline; read by lath_sortq_expired */
	union {		  /* not touched by the hybrid, but for requests behind a barrier */
		struct lath_list_node list;
		struct lath_rb_node rb;
		struct lath_avl_node avl;
		struct lath_fib_node fib;
		struct lath_pairing_node pairing;
		struct lath_radix_node radix;
	} node;
};

struct lath_request_pool {
	void *base;	 /* hook of request 0 */
	uint64_t stride; /* bytes from hook to hook */
	uint32_t count;
};

enum lath_sortq_engine {
	LATH_SORTQ_HYBRID = 0,
	LATH_SORTQ_LIST,
	LATH_SORTQ_RBTREE,
	LATH_SORTQ_AVL,
	LATH_SORTQ_SKIPLIST,
	LATH_SORTQ_FIBHEAP,
	LATH_SORTQ_PAIRING,
	LATH_SORTQ_RADIX,
	LATH_SORTQ_FIFO,
	LATH_SORTQ_ENGINES,
};

/* lath_sortq_config.flags */
enum {
	LATH_SORTQ_LOWEST = 1u << 0,  /* lowest sector first: the head stays at 0 */
	LATH_SORTQ_AGES = 1u << 1,    /* keep the order of arrival: oldest, expired */
	LATH_SORTQ_MERGES = 1u << 2,  /* hash starts and ends: lookups without a search */
	LATH_SORTQ_CHECKED = 1u << 3, /* the hybrid, too, refuses a request that is queued already */
};

/* Which form of the hybrid's inner steps. All give the same order. */
enum lath_simd {
	LATH_SIMD_BEST = 0,
	LATH_SIMD_NONE,
	LATH_SIMD_AVX2,
	LATH_SIMD_AVX512,
};

struct lath_sortq_config {
	size_t size; /* sizeof(struct lath_sortq_config) */
	enum lath_sortq_engine engine;
	unsigned int flags;
	enum lath_simd simd;
};

#define LATH_SORTQ_CONFIG_INIT { sizeof(struct lath_sortq_config), LATH_SORTQ_HYBRID, 0, LATH_SIMD_BEST }

#define LATH_SORTQ_FRESH 32 /* arrivals gathered before they are sorted */

/*
 * The near end of the hybrid, where a request comes and goes with a few instructions: private to the inline
 * calls below. An entry is one word, sector << 20 | tag, and its distance is entry - base.
 */
struct lath_sortq_gate {
	uint64_t *next; /* the sweep's next entry; behind the last of its block a word that no limit admits */
	uint64_t limit; /* an entry at a smaller distance leaves without a look at anything else */
	uint64_t base;	/* entries are ordered by their distance from it */
	char *requests; /* the pool */
	uint64_t stride;
	uint32_t fresh_count, fresh_cap;
	uint8_t quick_in, quick_out; /* the hybrid, and nothing but the order is asked for */
	uint64_t fresh[LATH_SORTQ_FRESH] LATH_ALIGNED64; /* in order of arrival, not yet sorted */
};

/* Embeddable, not to be moved once it is initialised; opaque but to the calls below. */
struct lath_sortq {
	struct lath_sortq_gate gate;
	uint64_t opaque[120];
} LATH_ALIGNED64;

/* Numbers the requests and marks them as not queued; no queue may hold one of them. first_hook is aligned as a
 * struct lath_request is. 0 | -EINVAL. */
LATH_API int lath_request_pool_init(struct lath_request_pool *pool, void *first_hook, uint64_t stride,
				    uint32_t count);

/* Bytes that lath_sortq_init wants, aligned to 64; 0 when config or pool is invalid. */
LATH_API size_t lath_sortq_memsize(const struct lath_sortq_config *config,
				   const struct lath_request_pool *pool);
/*
 * An empty queue in *queue, which is aligned to 64 bytes, with memory of lath_sortq_memsize() bytes, aligned
 * likewise. NULL config: the defaults. A queue needs no end; it may be initialised anew once it is empty, or
 * before lath_request_pool_init has marked its requests as free again.
 * 0 | -EINVAL: config, a NULL or misaligned pointer | -EOPNOTSUPP: the processor or build lacks config->simd
 */
LATH_API int lath_sortq_init(struct lath_sortq *queue, const struct lath_sortq_config *config,
			     struct lath_request_pool *pool, void *memory);
/* "hybrid", "rbtree", ...; "?" for an unknown number. Never NULL. */
LATH_API const char *lath_sortq_engine_name(enum lath_sortq_engine engine);
/* "scalar", "avx2" or "avx512" for the hybrid, "none" for the others. */
LATH_API const char *lath_sortq_simd_name(const struct lath_sortq *queue);

/* What the inline calls leave to others: what happens seldom, and queues that keep more than the order. */
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

/* The request in no queue, its sector below 2^44. 0 | -EEXIST, -EINVAL: see Misuse above; always 0 from a hybrid
 * without LATH_SORTQ_CHECKED. */
static inline int lath_sortq_insert(struct lath_sortq *queue, struct lath_request *request)
{
	if (!queue->gate.quick_in)
		return lath_sortq_insert_slow(queue, request);
	lath_sortq_gather(queue, request);
	return 0;
}

/* A plug flush: n requests, as if inserted one by one, in order of arrival. The number inserted: if it is
 * less than n, lath_sortq_insert refuses requests[number], and those behind it have not been tried. */
LATH_API size_t lath_sortq_insert_batch(struct lath_sortq *queue, struct lath_request **requests, size_t n);

/* What lath_sortq_lookup found for [start, end). */
struct lath_sortq_merge {
	struct lath_request *back;  /* ends at start: may grow at its end */
	struct lath_request *front; /* starts at end: may grow at its start */
	uint64_t slot;		    /* the queue's: where start belongs, or ~0 */
};

/*
 * With LATH_SORTQ_MERGES any request that ends at start, or starts at end without being in the sweep before
 * start; when there is a back merge, a front merge is looked for with LATH_SORTQ_LOOK_ALL only. Without it
 * one search, which looks at the two neighbours of start.
 */
enum {
	LATH_SORTQ_LOOK_ALL = 1u << 0,
};
LATH_API void lath_sortq_lookup(struct lath_sortq *queue, uint64_t start, uint64_t end, unsigned int flags,
				struct lath_sortq_merge *found);
/* Insert with what a lookup of [request->sector, ...) found; the queue unchanged since. As lath_sortq_insert. */
LATH_API int lath_sortq_insert_at(struct lath_sortq *queue, const struct lath_sortq_merge *found,
				  struct lath_request *request);
/* request->sectors grew at the end. 0 | -ENOENT: not in this queue (see Misuse above; without LATH_SORTQ_MERGES
 * there is nothing to do, and always 0). */
LATH_API int lath_sortq_back_merged(struct lath_sortq *queue, struct lath_request *request);
/* request grows at its start: sets sector and sectors; the order is kept without a new search if it can be.
 * 0 | -ENOENT: not in this queue | -EINVAL: new_sector is behind request->sector */
LATH_API int lath_sortq_front_merged(struct lath_sortq *queue, struct lath_request *request,
				     uint64_t new_sector);

/* Take a queued request out: cancelled, expired, merged away. 0 | -ENOENT: not in this queue. */
LATH_API int lath_sortq_remove(struct lath_sortq *queue, struct lath_request *request);

/* The next request of the sweep, or NULL; stays queued. */
LATH_API struct lath_request *lath_sortq_first(struct lath_sortq *queue);
/* Removes and returns it; the head moves to its sector. NULL when empty. */
static inline struct lath_request *lath_sortq_dispatch(struct lath_sortq *queue)
{
	struct lath_sortq_gate *gate = &queue->gate;
	uint64_t entry = *gate->next;

	if (!gate->quick_out || entry - gate->base >= gate->limit)
		return lath_sortq_dispatch_slow(queue);
	gate->next++;
	return (struct lath_request *)(void *)(gate->requests + (entry & LATH_TAG_MASK) * gate->stride);
}

/* Up to n of them; the number dispatched. */
LATH_API size_t lath_sortq_dispatch_batch(struct lath_sortq *queue, struct lath_request **out, size_t n);
/* The queued request with the least sector >= sector, or NULL; does not go round. */
LATH_API struct lath_request *lath_sortq_first_from(struct lath_sortq *queue, uint64_t sector);
/* As first_from, but NULL unless it starts before zone + zone_sectors. zone is the zone's first sector. */
LATH_API struct lath_request *lath_sortq_first_in_zone(struct lath_sortq *queue, uint64_t zone,
						       uint64_t zone_sectors);
/* In sweep order, not past a barrier; NULL at the end, and for a request that is not in this queue. */
LATH_API struct lath_request *lath_sortq_next(struct lath_sortq *queue, struct lath_request *request);
LATH_API struct lath_request *lath_sortq_prev(struct lath_sortq *queue, struct lath_request *request);

/* The sweep goes on from sector. 0 | -EINVAL (LATH_SORTQ_LOWEST, or sector too large). O(n / 32). */
LATH_API int lath_sortq_set_head(struct lath_sortq *queue, uint64_t sector);
LATH_API uint64_t lath_sortq_head(const struct lath_sortq *queue);

/* With LATH_SORTQ_AGES: the request queued longest; the same if its time is not after now. Else NULL. */
LATH_API struct lath_request *lath_sortq_oldest(struct lath_sortq *queue);
LATH_API struct lath_request *lath_sortq_expired(struct lath_sortq *queue, uint64_t now);

/* What is inserted from now on leaves after all that is queued now. */
LATH_API void lath_sortq_barrier(struct lath_sortq *queue);

LATH_API uint32_t lath_sortq_count(const struct lath_sortq *queue);
/* 0, or the number of the broken invariant. O(n). */
LATH_API int lath_sortq_verify(struct lath_sortq *queue);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SORTQ_H */
