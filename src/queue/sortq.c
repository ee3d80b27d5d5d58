/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq.c - the calls of lathwork/sortq.h: the engine of the queue's choice, and around it what a
 * scheduler needs besides the order - ages, merges by end, barriers, the head.
 *
 * A queue of the hybrid without any of these is `plain` and goes straight to it.
 */
#include "queue/queue.h"

_Static_assert(sizeof(struct sortq) <= sizeof(struct lath_sortq), "struct lath_sortq is too small");
_Static_assert(LATH_TAG_BITS + LATH_SORTQ_SECTOR_BITS == 64, "an entry is one word");

/* beyond this many requests their lines have left the nearer caches by the time they are dispatched */
#define FAR 2048
/* the table of ends: two slots a request, up to 16 KiB */
#define ENDS_MAX_BITS 12
#define SECTOR_LIMIT (1ull << LATH_SORTQ_SECTOR_BITS)

int lath_request_pool_init(struct lath_request_pool *pool, void *first_hook, uint64_t stride, uint32_t count)
{
	u32 i;

	if (!first_hook || !count || count > LATH_SORTQ_MAX_REQUESTS ||
	    stride < sizeof(struct lath_request) || stride % _Alignof(struct lath_request))
		return -EINVAL;
	pool->base = first_hook;
	pool->stride = stride;
	pool->count = count;
	pool->queues = 0;
	for (i = 0; i < count; i++) {
		struct lath_request *rq = (struct lath_request *)((char *)first_hook + i * stride);

		rq->tag = i;
		rq->where = rq->owner = rq->older = rq->newer = 0;
	}
	return 0;
}

static const struct lath_sortq_config defaults = LATH_SORTQ_CONFIG_INIT;

/* Fields a caller of an older version did not know have their defaults. */
static bool read_config(const struct lath_sortq_config *given, struct lath_sortq_config *config)
{
	*config = defaults;
	if (given)
		memcpy(config, given, min(given->size, sizeof(*config)));
	return (u32)config->engine < LATH_SORTQ_ENGINES && (u32)config->simd <= LATH_SIMD_AVX512 &&
	       !(config->flags & ~(LATH_SORTQ_LOWEST | LATH_SORTQ_AGES | LATH_SORTQ_MERGES));
}

static u32 ends_bits(u32 requests)
{
	u32 bits = fls64(requests) + 1;

	return min(bits, (u32)ENDS_MAX_BITS);
}

static size_t engine_memsize(const struct lath_sortq_config *config, u32 requests)
{
	size_t bytes = config->engine == LATH_SORTQ_HYBRID ? lath_hybrid_memsize(requests)
							   : lath_engines[config->engine]->memsize(requests);

	return (bytes + 63) & ~(size_t)63;
}

size_t lath_sortq_memsize(const struct lath_sortq_config *given, const struct lath_request_pool *pool)
{
	struct lath_sortq_config config;
	size_t ends;

	if (!pool || !read_config(given, &config))
		return 0;
	ends = config.flags & LATH_SORTQ_MERGES ? sizeof(u32) << ends_bits(pool->count) : 0;
	return engine_memsize(&config, pool->count) + ((ends + 63) & ~(size_t)63);
}

static const struct lath_block_ops *choose_ops(enum lath_simd simd)
{
	const struct lath_block_ops *ops = NULL;
	unsigned int level;

	if (simd != LATH_SIMD_BEST)
		return lath_block_ops(simd - LATH_SIMD_NONE);
	for (level = 3; level-- && !ops;)
		ops = lath_block_ops(level);
	return ops;
}

static void update_plain(struct sortq *q)
{
	q->plain = !q->engine && !(q->flags & (LATH_SORTQ_AGES | LATH_SORTQ_MERGES)) && !q->parked_count &&
		   !q->barriers;
	q->quick = q->plain && !q->far;
}

int lath_sortq_init(struct lath_sortq *queue, const struct lath_sortq_config *given,
		    struct lath_request_pool *pool, void *memory)
{
	struct lath_sortq_config config;
	struct sortq *q = queue_of(queue);

	if (!queue || !pool || !memory || (uintptr_t)memory % 64 || !read_config(given, &config))
		return -EINVAL;
	memset(q, 0, sizeof(*q));
	q->b.ops = choose_ops(config.simd);
	if (!q->b.ops)
		return -EOPNOTSUPP;
	q->requests = pool->base;
	q->stride = pool->stride;
	q->requests_max = pool->count;
	q->owner = ++pool->queues;
	q->flags = (u16)config.flags;
	q->far = pool->count > FAR;
	q->state = memory;
	if (config.engine == LATH_SORTQ_HYBRID) {
		lath_hybrid_init(q, memory);
	} else {
		q->engine = lath_engines[config.engine];
		q->engine->init(q, pool->count);
	}
	lath_list_init(&q->parked);
	if (q->flags & LATH_SORTQ_MERGES) {
		q->ends = (u32 *)((char *)memory + engine_memsize(&config, pool->count));
		q->ends_shift = 64 - ends_bits(pool->count);
		memset(q->ends, 0, sizeof(u32) << ends_bits(pool->count));
	}
	update_plain(q);
	return 0;
}

const char *lath_sortq_engine_name(enum lath_sortq_engine engine)
{
	if (engine == LATH_SORTQ_HYBRID)
		return "hybrid";
	return (u32)engine < LATH_SORTQ_ENGINES ? lath_engines[engine]->name : "?";
}

const char *lath_sortq_simd_name(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return q->engine ? "none" : q->b.ops->name;
}

/* ---- ages: a list by tags, so that it costs the hook eight bytes */

static void age_add(struct sortq *q, struct lath_request *rq)
{
	rq->older = q->newest;
	rq->newer = 0;
	if (q->newest)
		request_of(q, q->newest - 1)->newer = rq->tag + 1;
	else
		q->oldest = rq->tag + 1;
	q->newest = rq->tag + 1;
}

static void age_remove(struct sortq *q, struct lath_request *rq)
{
	if (rq->older)
		request_of(q, rq->older - 1)->newer = rq->newer;
	else
		q->oldest = rq->newer;
	if (rq->newer)
		request_of(q, rq->newer - 1)->older = rq->older;
	else
		q->newest = rq->older;
}

/* ---- ends: the last request seen to end at a sector, by hash; checked when used, never cleaned */

static inline u32 *end_slot(const struct sortq *q, u64 sector)
{
	return &q->ends[(sector * 0x9e3779b97f4a7c15ull) >> q->ends_shift];
}

static inline void remember_end(struct sortq *q, struct lath_request *rq)
{
	*end_slot(q, rq->sector + rq->sectors) = rq->tag;
	q->recent = rq;
}

static inline bool grows_at(const struct sortq *q, const struct lath_request *rq, u64 sector)
{
	return rq->sector + rq->sectors == sector && rq->where && rq->owner == q->owner;
}

static inline struct lath_request *recall_end(const struct sortq *q, u64 sector)
{
	struct lath_request *rq = q->recent;

	if (rq && grows_at(q, rq, sector))
		return rq;
	rq = request_of(q, *end_slot(q, sector));
	return grows_at(q, rq, sector) ? rq : NULL;
}

/* ---- the engine's own calls */

static inline u64 key_of(const struct sortq *q, u64 sector)
{
	return ((q->sweep + (sector < q->head)) << LATH_SORTQ_SECTOR_BITS) + sector;
}

static void engine_insert(struct sortq *q, struct lath_request *rq)
{
	rq->where = LATH_QUEUED;
	if (!q->engine) {
		lath_hybrid_insert(q, rq);
		return;
	}
	q->engine->insert(q, rq, key_of(q, rq->sector));
	q->b.count++;
}

static void engine_remove(struct sortq *q, struct lath_request *rq)
{
	if (!q->engine) {
		lath_hybrid_remove(q, rq);
	} else {
		q->engine->remove(q, rq);
		q->b.count--;
	}
	rq->where = 0;
}

/* The queue is not empty. */
static struct lath_request *engine_pop(struct sortq *q)
{
	struct lath_request *rq;

	if (!q->engine) {
		if (q->far && q->b.next)
			prefetch(request_of(q, q->b.next[3]));
		rq = lath_hybrid_pop(q);
	} else {
		rq = q->engine->pop(q);
		q->b.count--;
		if (!(q->flags & LATH_SORTQ_LOWEST)) {
			q->sweep = q->engine->key(q, rq) >> LATH_SORTQ_SECTOR_BITS;
			q->head = rq->sector;
		}
	}
	rq->where = 0; /* a stale hint must see that it left */
	if (q->flags & LATH_SORTQ_AGES)
		age_remove(q, rq);
	return rq;
}

/* ---- barriers: what comes behind one waits in a list until the engine has run empty */

static void park(struct sortq *q, struct lath_request *rq)
{
	rq->node.list.key = q->barriers;
	lath_list_insert_after(&q->parked, &rq->node.list, q->parked.last);
	rq->where = LATH_PARKED;
	q->parked_count++;
	update_plain(q);
}

static void unpark(struct sortq *q, struct lath_request *rq)
{
	lath_list_remove(&q->parked, &rq->node.list);
	q->parked_count--;
	update_plain(q);
}

/* If the engine is empty the requests up to the next barrier move in. */
static void pass_barrier(struct sortq *q)
{
	u64 passed;

	if (held(q) || !q->parked_count)
		return;
	passed = q->parked.first->key;
	while (q->parked.first && q->parked.first->key == passed) {
		struct lath_request *rq = container_of(q->parked.first, struct lath_request, node.list);

		unpark(q, rq);
		engine_insert(q, rq);
	}
	if (q->barriers == passed)
		q->barriers = 0;
	update_plain(q);
}

/* Must what comes now wait? A barrier with nothing left before it is gone. */
static bool behind_barrier(struct sortq *q)
{
	if (likely(!q->barriers))
		return false;
	if (held(q) || q->parked_count)
		return true;
	q->barriers = 0;
	update_plain(q);
	return false;
}

void lath_sortq_barrier(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	if (!held(q) && !q->parked_count)
		return;
	q->barriers++;
	update_plain(q);
}

/* ---- insert and merge */

static noinline void insert_full(struct sortq *q, struct lath_request *rq, u64 place)
{
	rq->owner = q->owner;
	if (q->flags & LATH_SORTQ_AGES)
		age_add(q, rq);
	if (q->flags & LATH_SORTQ_MERGES)
		remember_end(q, rq);
	if (unlikely(behind_barrier(q)))
		park(q, rq);
	else if (place == LATH_NO_SLOT || q->engine)
		engine_insert(q, rq);
	else {
		rq->where = LATH_QUEUED;
		lath_hybrid_insert_at(q, place, rq);
	}
}

void lath_sortq_insert(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (likely(q->plain))
		lath_hybrid_insert(q, rq);
	else
		insert_full(q, rq, LATH_NO_SLOT);
}

void lath_sortq_insert_batch(struct lath_sortq *queue, struct lath_request **requests, size_t n)
{
	struct sortq *q = queue_of(queue);
	size_t i;

	for (i = 0; i < n; i++) {
		if (likely(q->plain))
			lath_hybrid_insert(q, requests[i]);
		else
			insert_full(q, requests[i], LATH_NO_SLOT);
	}
}

void lath_sortq_insert_at(struct lath_sortq *queue, const struct lath_sortq_merge *found,
			  struct lath_request *rq)
{
	insert_full(queue_of(queue), rq, found->slot);
}

static inline bool ends_at(const struct lath_request *rq, u64 sector)
{
	return rq && rq->sector + rq->sectors == sector;
}

void lath_sortq_lookup(struct lath_sortq *queue, uint64_t start, uint64_t end, unsigned int flags,
		       struct lath_sortq_merge *found)
{
	struct sortq *q = queue_of(queue);
	struct lath_request *back = NULL, *front = NULL;

	found->slot = LATH_NO_SLOT;
	found->back = q->flags & LATH_SORTQ_MERGES ? recall_end(q, start) : NULL;
	found->front = NULL;
	if (unlikely(behind_barrier(q))) {
		/* nothing may merge across the barrier */
		if (found->back &&
		    (found->back->where != LATH_PARKED || found->back->node.list.key != q->barriers))
			found->back = NULL;
		return;
	}
	if ((found->back && !(flags & LATH_SORTQ_LOOK_ALL)) || !held(q))
		return;
	if (!q->engine) {
		found->slot = lath_hybrid_seek(q, start << LATH_TAG_BITS | LATH_TAG_MASK);
		back = lath_hybrid_before(q, found->slot);
		front = lath_hybrid_behind(q, found->slot);
	} else if (q->engine->ceiling) {
		front = q->engine->ceiling(q, key_of(q, start) + 1);
		back = front ? q->engine->prev(q, front) : q->engine->last(q);
	}
	if (!found->back && ends_at(back, start))
		found->back = back;
	if (front && front->sector == end)
		found->front = front;
}

void lath_sortq_back_merged(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (q->flags & LATH_SORTQ_MERGES)
		remember_end(q, rq);
}

void lath_sortq_front_merged(struct lath_sortq *queue, struct lath_request *rq, uint64_t new_sector)
{
	struct sortq *q = queue_of(queue);
	u32 grown = (u32)(rq->sector - new_sector);

	if (rq->where != LATH_PARKED && (q->engine || !lath_hybrid_move(q, rq, new_sector))) {
		engine_remove(q, rq);
		rq->sector = new_sector;
		engine_insert(q, rq);
	}
	rq->sector = new_sector;
	rq->sectors += grown;
}

/* ---- removal and dispatch */

void lath_sortq_remove(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (q->flags & LATH_SORTQ_AGES)
		age_remove(q, rq);
	if (unlikely(rq->where == LATH_PARKED)) {
		unpark(q, rq);
		rq->where = 0;
		return;
	}
	engine_remove(q, rq);
}

struct lath_request *lath_sortq_first(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	if (unlikely(!held(q))) {
		pass_barrier(q);
		if (!held(q))
			return NULL;
	}
	return q->engine ? q->engine->first(q) : lath_hybrid_first(q);
}

static noinline struct lath_request *dispatch_full(struct sortq *q)
{
	if (!held(q)) {
		pass_barrier(q);
		if (!held(q))
			return NULL;
	}
	return engine_pop(q);
}

struct lath_request *lath_sortq_dispatch(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	return likely(q->quick) ? lath_hybrid_pop(q) : dispatch_full(q);
}

size_t lath_sortq_dispatch_batch(struct lath_sortq *queue, struct lath_request **out, size_t n)
{
	struct sortq *q = queue_of(queue);
	size_t done;

	if (likely(q->plain))
		return lath_hybrid_pop_batch(q, out, n);
	for (done = 0; done < n; done++) {
		out[done] = lath_sortq_dispatch(queue);
		if (!out[done])
			break;
	}
	return done;
}

/* ---- search */

static struct lath_request *hybrid_from(struct sortq *q, u64 sector)
{
	u64 key = sector << LATH_TAG_BITS;

	if (sector == lath_hybrid_head(q))
		return lath_hybrid_first(q);
	return lath_hybrid_behind(q, lath_hybrid_seek(q, key - 1));
}

struct lath_request *lath_sortq_first_from(struct lath_sortq *queue, uint64_t sector)
{
	struct sortq *q = queue_of(queue);
	struct lath_request *rq = NULL;

	pass_barrier(q);
	if (!held(q) || sector >= SECTOR_LIMIT)
		return NULL;
	if (!q->engine)
		rq = hybrid_from(q, sector);
	else if (q->engine->ceiling)
		rq = q->engine->ceiling(q, key_of(q, sector));
	else
		return NULL;
	/* behind the sector, in sweep order, come the end of this sweep and the start of the next */
	if (!rq && sector < lath_sortq_head(queue))
		rq = lath_sortq_first(queue);
	return rq && rq->sector >= sector ? rq : NULL;
}

struct lath_request *lath_sortq_first_in_zone(struct lath_sortq *queue, uint64_t zone, uint64_t zone_sectors)
{
	struct lath_request *rq = lath_sortq_first_from(queue, zone);

	return rq && rq->sector - zone < zone_sectors ? rq : NULL;
}

struct lath_request *lath_sortq_next(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (rq->where == LATH_PARKED)
		return NULL;
	if (q->engine)
		return q->engine->next ? q->engine->next(q, rq) : NULL;
	return lath_hybrid_behind(q, lath_hybrid_place_of(q, rq) + LATH_PLACE(0, 1, 0));
}

struct lath_request *lath_sortq_prev(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (rq->where == LATH_PARKED)
		return NULL;
	if (q->engine)
		return q->engine->prev ? q->engine->prev(q, rq) : NULL;
	return lath_hybrid_before(q, lath_hybrid_place_of(q, rq));
}

/* ---- the head */

/*
 * Other engines: all requests out and in again with their new keys. They leave in the old order, which
 * keeps equal sectors in order of arrival; `where` chains them meanwhile.
 */
static void engine_set_head(struct sortq *q, u64 sector)
{
	u32 n = q->b.count, i, next = 0, *end = &next;
	struct lath_request *rq;

	for (i = 0; i < n; i++) {
		rq = q->engine->pop(q);
		*end = rq->tag;
		end = &rq->where;
	}
	q->engine->init(q, q->requests_max);
	q->head = sector;
	for (i = 0; i < n; i++) {
		rq = request_of(q, next);
		next = rq->where;
		q->engine->insert(q, rq, key_of(q, rq->sector));
		rq->where = LATH_QUEUED;
	}
}

int lath_sortq_set_head(struct lath_sortq *queue, uint64_t sector)
{
	struct sortq *q = queue_of(queue);

	if ((q->flags & LATH_SORTQ_LOWEST) || sector >= SECTOR_LIMIT)
		return -EINVAL;
	if (q->engine)
		engine_set_head(q, sector);
	else
		lath_hybrid_set_head(q, sector);
	return 0;
}

uint64_t lath_sortq_head(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return q->engine ? q->head : lath_hybrid_head(q);
}

/* ---- ages, counts */

struct lath_request *lath_sortq_oldest(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	return q->oldest ? request_of(q, q->oldest - 1) : NULL;
}

struct lath_request *lath_sortq_expired(struct lath_sortq *queue, uint64_t now)
{
	struct lath_request *rq = lath_sortq_oldest(queue);

	return rq && (int64_t)(now - rq->time) >= 0 ? rq : NULL;
}

uint32_t lath_sortq_count(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return held(q) + q->parked_count;
}

int lath_sortq_verify(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);
	const struct lath_list_node *n;
	u32 parked = 0, ages = 0, tag;

	for (n = q->parked.first; n; n = n->next)
		parked++;
	if (parked != q->parked_count)
		return 4;
	if (q->flags & LATH_SORTQ_AGES) {
		for (tag = q->oldest; tag; tag = request_of(q, tag - 1)->newer)
			ages++;
		if (ages != lath_sortq_count(queue))
			return 4;
	}
	return q->engine ? q->engine->verify(q) : lath_hybrid_verify(q);
}
