/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq.c - the calls of lathwork/sortq.h: the hybrid or the FIFO, and what a scheduler needs
 * besides the order: ages, merges by end, barriers, the head.
 *
 * The inline calls of a hybrid without any of these (gate.quick_in) go straight to it.
 */
#include "queue/queue.h"

_Static_assert(sizeof(struct sortq) <= sizeof(struct lath_sortq), "struct lath_sortq is too small");
_Static_assert(sizeof(struct arrival) <= sizeof(((struct lath_request *)0)->node),
	       "lath_request.node is too small");
_Static_assert(LATH_TAG_BITS + LATH_SORTQ_SECTOR_BITS == 64, "an entry is one word");

/* in larger pools a request has left the nearer caches by the time it is dispatched */
#define FAR 2048
/* in such pools more fresh entries gain nothing and make the worst insert slower */
#define FAR_FRESH 8
#define SECTOR_LIMIT (1ull << LATH_SORTQ_SECTOR_BITS)

/* ---- notes: what a queue with ages or merges keeps per request: its place in the order of
 * arrival, and its start and end in two hash tables */

/* no request ends at this sector */
#define NO_END (~0ull)

/* ---- ages: a ring of notes in order of arrival */

/*
 * Returns whether the request is in the ring, i.e. in the queue: age_add() makes the note before it
 * name it as `newer`, age_unlink() undoes that. The first comparison is for the oldest request: it
 * does not wait for the load of the request's own note.
 */
static inline bool age_known(const struct sortq *q, u32 tag)
{
	return q->notes->newer == tag + 1 || q->notes[note_of(q, tag)->older].newer == tag + 1;
}

static inline void age_add(struct sortq *q, u32 tag)
{
	struct lath_note *n = q->notes;
	u32 i = tag + 1;

	LATH_ASSERT(tag < q->requests_max && !age_known(q, tag));
	n[i].older = n->older;
	n[i].newer = 0;
	n[n->older].newer = i;
	n->older = i;
}

/* Takes note i, which follows note `older`, out of the ring. */
static inline void age_unlink(struct sortq *q, u32 i, u32 older)
{
	struct lath_note *n = q->notes;
	u32 newer = n[i].newer;

	LATH_ASSERT(i && i <= q->requests_max && n[i].older == older && n[older].newer == i);
	n[older].newer = newer;
	n[newer].older = older;
}

/* ---- edges: requests hashed by the sectors where they start and end: lookups need no search. Each
 * note knows the word that names it, in a table or in another note: it leaves its chain without a
 * hash and without a branch. */

static inline u32 *edge_head(const struct sortq *q, int side, u64 sector)
{
	return &q->edges[side][(sector * 0x9e3779b97f4a7c15ull) >> q->edges_shift];
}

/* The tables of edges lie behind the notes: all words that name a note are numbered from there. */
static inline u32 *edge_words(const struct sortq *q)
{
	return (u32 *)q->notes;
}

static inline void edge_add(struct sortq *q, int side, u64 sector, u32 tag)
{
	u32 *words = edge_words(q), *head = edge_head(q, side, sector), next = *head;
	struct lath_note *note = note_of(q, tag);

	LATH_ASSERT(next <= q->requests_max && next != tag + 1); /* not in the chain yet */
	note->next[side] = next;
	note->named_by[side] = (u32)(head - words);
	q->notes[next].named_by[side] = (u32)(&note->next[side] - words);
	*head = tag + 1;
}

static inline void edge_remove(struct sortq *q, int side, u32 tag)
{
	struct lath_note *note = note_of(q, tag);
	u32 word = note->named_by[side], next = note->next[side];

	LATH_ASSERT(edge_words(q)[word] == tag + 1);
	edge_words(q)[word] = next;
	q->notes[next].named_by[side] = word;
}

static inline struct lath_request *edge_find(const struct sortq *q, int side, u64 sector)
{
	u32 i;

	for (i = *edge_head(q, side, sector); i; i = q->notes[i].next[side]) {
		struct lath_request *rq = request_of(q, i - 1);

		LATH_ASSERT(i <= q->requests_max);
		if (rq->sector + (side == END ? q->notes[i].sectors : 0) == sector)
			return rq;
	}
	return NULL;
}

/* rq was inserted or grew: keeps its end in grown_end instead of a chain, since it will probably
 * grow again, and puts the previous such end into its chain. */
static __always_inline void grow(struct sortq *q, struct lath_request *rq)
{
	LATH_ASSERT(q->grown_end == NO_END || q->grown != rq->tag);
	if (q->grown_end != NO_END)
		edge_add(q, END, q->grown_end, q->grown);
	q->grown = rq->tag;
	q->grown_end = rq->sector + rq->sectors;
}

static inline void edges_remove(struct sortq *q, u32 tag)
{
	edge_remove(q, START, tag);
	if (unlikely(tag == q->grown))
		q->grown_end = NO_END;
	else
		edge_remove(q, END, tag);
}

/* Removes the dispatched requests from the edges. Runs before a lookup, and before an insert, which
 * may be of one of them. */
static noinline void see_off_all(struct sortq *q)
{
	u32 i;

	LATH_ASSERT(q->departure_count <= LATH_DEPARTURES);
	for (i = 0; i < q->departure_count; i++)
		edges_remove(q, q->departure[i]);
	q->departure_count = 0;
}

static inline void see_off(struct sortq *q)
{
	if (unlikely(q->departure_count))
		see_off_all(q);
}

/* Defers the removal of a request from the edges to the next submission, which has more time than
 * the interrupt that dispatches. */
static inline void depart_edges(struct sortq *q, u32 tag)
{
	if (!q->edges[START])
		return;
	if (unlikely(q->departure_count == LATH_DEPARTURES))
		see_off_all(q);
	q->departure[q->departure_count++] = tag;
}

/* A request leaves the queue. */
static inline void depart(struct sortq *q, u32 tag)
{
	if (!q->notes)
		return;
	age_unlink(q, tag + 1, note_of(q, tag)->older);
	depart_edges(q, tag);
}

static inline void arrive(struct sortq *q, struct lath_request *rq)
{
	if (!q->notes)
		return;
	see_off(q);
	age_add(q, rq->tag);
	if (q->edges[START]) {
		note_of(q, rq->tag)->sectors = rq->sectors;
		edge_add(q, START, rq->sector, rq->tag);
		grow(q, rq);
	}
}

/* ---- pools, options */

/* Returns whether all requests of the pool can have their own addresses. */
static bool pool_valid(const struct lath_request_pool *pool)
{
	const uintptr_t size = sizeof(struct lath_request), base = (uintptr_t)pool->base;

	if (!base || !pool->count || pool->count > LATH_SORTQ_MAX_REQUESTS || pool->stride < size ||
	    (pool->stride | base) % _Alignof(struct lath_request))
		return false;
	/* the last one ends below the last address */
	return base <= UINTPTR_MAX - size &&
	       pool->count - 1 <= (UINTPTR_MAX - size - base) / pool->stride;
}

int lath_request_pool_init(struct lath_request_pool *pool, void *first_hook, uint64_t stride,
			   uint32_t count)
{
	const struct lath_request_pool made = { first_hook, stride, count };
	u32 i;

	if (!pool_valid(&made))
		return -EINVAL;
	*pool = made;
	for (i = 0; i < count; i++) {
		struct lath_request *rq = (struct lath_request *)((char *)first_hook + i * stride);

		rq->tag = i;
		rq->where = 0;
	}
	return 0;
}

static const struct lath_sortq_config defaults = LATH_SORTQ_CONFIG_INIT;

/* Copies *given, with defaults for fields that an older caller does not have. Returns false if it
 * is invalid. */
static bool read_config(const struct lath_sortq_config *given, struct lath_sortq_config *config)
{
	*config = defaults;
	if (given && (given->size < offsetof(struct lath_sortq_config, simd) ||
		      given->size > sizeof(*config)))
		return false;
	if (given)
		memcpy(config, given, given->size);
	return (config->engine == LATH_SORTQ_HYBRID || config->engine == LATH_SORTQ_FIFO) &&
	       (u32)config->simd <= LATH_SIMD_AVX2 &&
	       !(config->flags &
		 ~(LATH_SORTQ_LOWEST | LATH_SORTQ_AGES | LATH_SORTQ_MERGES | LATH_SORTQ_CHECKED));
}

/* log2 of the number of hash chains: four to eight per request */
static u32 edges_bits(u32 requests)
{
	return fls64(requests) + 2;
}

static size_t notes_memsize(const struct lath_sortq_config *config, u32 requests)
{
	size_t bytes = (requests + 1) * sizeof(struct lath_note);

	if (config->engine == LATH_SORTQ_HYBRID && config->flags & LATH_SORTQ_CHECKED)
		return (bytes + 63) & ~(size_t)63;
	return config->flags & (LATH_SORTQ_AGES | LATH_SORTQ_MERGES) ? (bytes + 63) & ~(size_t)63
								     : 0;
}

static size_t order_memsize(const struct lath_sortq_config *config, u32 requests)
{
	if (config->engine == LATH_SORTQ_FIFO)
		return 64; /* it needs none, but 0 says that the config is invalid */
	return (lath_blocks_memsize(requests) + 63) & ~(size_t)63;
}

size_t lath_sortq_memsize(const struct lath_sortq_config *given,
			  const struct lath_request_pool *pool)
{
	struct lath_sortq_config config;
	size_t edges;

	if (!pool || !pool_valid(pool) || !read_config(given, &config))
		return 0;
	edges = config.flags & LATH_SORTQ_MERGES ? 2 * sizeof(u32) << edges_bits(pool->count) : 0;
	return order_memsize(&config, pool->count) + notes_memsize(&config, pool->count) +
	       ((edges + 63) & ~(size_t)63);
}

static const struct lath_block_ops *choose_ops(enum lath_simd simd)
{
	static const enum lath_isa isa[] = {
		[LATH_SIMD_NONE] = LATH_ISA_SCALAR, [LATH_SIMD_AVX2] = LATH_ISA_AVX2
	};

	return lath_block_ops(simd == LATH_SIMD_BEST ? lath_isa_chosen : isa[simd]);
}

/* ---- init */

static void update_quick(struct sortq *q)
{
	q->plain = !q->checked && !q->parked_count && !q->barriers;
	q->b.gate.quick_in = q->plain && !q->notes;
	q->b.gate.quick_out = q->b.gate.quick_in && !q->far;
}

int lath_sortq_init(struct lath_sortq *queue, const struct lath_sortq_config *given,
		    struct lath_request_pool *pool, void *memory)
{
	struct lath_sortq_config config;
	struct sortq *q = queue_of(queue);
	char *at = memory;

	if (!queue || !pool || !memory || ((uintptr_t)queue | (uintptr_t)memory) % 64 ||
	    !pool_valid(pool) || !read_config(given, &config))
		return -EINVAL;
	memset(q, 0, sizeof(*q));
	q->b.ops = choose_ops(config.simd);
	if (!q->b.ops)
		return -EOPNOTSUPP;
	q->b.gate.next = q->b.opened = q->b.gate.fresh;
	q->b.gate.requests = pool->base;
	q->b.gate.stride = pool->stride;
	q->requests_max = pool->count;
	q->flags = (u16)config.flags;
	q->far = pool->count > FAR;
	q->checked = config.engine != LATH_SORTQ_HYBRID || (config.flags & LATH_SORTQ_CHECKED);
	q->b.gate.fresh_cap = q->far ? FAR_FRESH : LATH_SORTQ_FRESH;
	q->fifo = config.engine == LATH_SORTQ_FIFO;
	if (!q->fifo)
		lath_hybrid_init(q, memory);
	q->grown_end = NO_END;
	at += order_memsize(&config, pool->count);
	if (notes_memsize(&config, pool->count)) {
		q->notes = (struct lath_note *)at;
		/* no request is in the ring */
		memset(q->notes, 0, notes_memsize(&config, pool->count));
		at += notes_memsize(&config, pool->count);
	}
	if (q->flags & LATH_SORTQ_MERGES) {
		q->edges[START] = (u32 *)at;
		q->edges[END] = q->edges[START] + (1ull << edges_bits(pool->count));
		q->edges_shift = 64 - edges_bits(pool->count);
		memset(at, 0, 2 * sizeof(u32) << edges_bits(pool->count));
	}
	update_quick(q);
	return 0;
}

const char *lath_sortq_simd_name(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return q->fifo ? "none" : q->b.ops->name;
}

/* ---- the order: the hybrid's blocks, or the FIFO's list */

static void order_insert(struct sortq *q, struct lath_request *rq)
{
	if (!q->fifo) {
		lath_sortq_gather(public_of(q), rq);
		return;
	}
	LATH_ASSERT(!rq->where && q->b.count < q->requests_max);
	arrivals_add(&q->fifo_list, arrival_of(rq));
	rq->where = (uintptr_t)q;
	q->b.count++;
}

/* Removes rq from the order. 0 | -ENOENT: not there (the hybrid without notes only). */
static int order_remove(struct sortq *q, struct lath_request *rq)
{
	if (!q->fifo)
		return lath_hybrid_remove(q, rq);
	LATH_ASSERT(rq->where == (uintptr_t)q && q->b.count);
	arrivals_remove(&q->fifo_list, arrival_of(rq));
	rq->where = 0;
	q->b.count--;
	return 0;
}

/* Returns whether rq is in this queue; true also if only a search of the blocks can tell. */
static bool holds(const struct sortq *q, const struct lath_request *rq)
{
	if (q->fifo || rq->where)
		return (rq->where & ~LATH_PARKED) == (uintptr_t)q;
	return !q->notes || age_known(q, rq->tag);
}

void lath_sortq_settle(struct lath_sortq *queue)
{
	lath_hybrid_open(queue_of(queue));
}

/* Removes and returns the next request and moves the head. NULL if there is none in the order. */
static inline struct lath_request *order_pop(struct sortq *q)
{
	struct lath_request *rq;

	if (!q->fifo)
		return lath_hybrid_pop(q);
	rq = request_at(q->fifo_list.first);
	if (!rq)
		return NULL;
	order_remove(q, rq);
	if (!(q->flags & LATH_SORTQ_LOWEST))
		q->fifo_head = rq->sector;
	return rq;
}

/* ---- barriers: requests behind one wait in a list until the order is empty */

static inline bool parked(const struct lath_request *rq)
{
	return rq->where & LATH_PARKED;
}

static void park(struct sortq *q, struct lath_request *rq)
{
	LATH_ASSERT(!rq->where && q->barriers);
	arrival_of(rq)->barrier = q->barriers;
	arrivals_add(&q->parked, arrival_of(rq));
	rq->where = (uintptr_t)q | LATH_PARKED;
	q->parked_count++;
	update_quick(q);
}

static void unpark(struct sortq *q, struct lath_request *rq)
{
	LATH_ASSERT(rq->where == ((uintptr_t)q | LATH_PARKED) && q->parked_count);
	arrivals_remove(&q->parked, arrival_of(rq));
	rq->where = 0;
	q->parked_count--;
	update_quick(q);
}

/* If the order is empty, inserts the waiting requests up to the next barrier. */
static void pass_barrier(struct sortq *q)
{
	u64 passed;

	if (held(q) || !q->parked_count)
		return;
	passed = q->parked.first->barrier;
	LATH_ASSERT(passed && passed <= q->barriers);
	while (q->parked.first && q->parked.first->barrier == passed) {
		struct lath_request *rq = request_at(q->parked.first);

		unpark(q, rq);
		order_insert(q, rq);
	}
	LATH_ASSERT(!q->parked.first == !q->parked_count);
	if (q->barriers == passed)
		q->barriers = 0;
	update_quick(q);
}

/* Returns whether a new request must wait. Drops a barrier with no request before it. */
static bool behind_barrier(struct sortq *q)
{
	if (likely(!q->barriers))
		return false;
	if (held(q) || q->parked_count)
		return true;
	q->barriers = 0;
	update_quick(q);
	return false;
}

void lath_sortq_barrier(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	if (!held(q) && !q->parked_count)
		return;
	q->barriers++;
	update_quick(q);
}

/* ---- insert and merge */

/* 0, or why a queue that checks its inserts refuses rq: -EINVAL (the sector) | -EEXIST (rq is
 * queued). */
static inline int refuse_insert(const struct sortq *q, const struct lath_request *rq)
{
	if (unlikely(rq->sector >= SECTOR_LIMIT))
		return -EINVAL;
	if (unlikely(rq->where || (q->notes && age_known(q, rq->tag))))
		return -EEXIST;
	return 0;
}

/* An insert into a queue that is not plain. 0 | -EINVAL, -EEXIST as refuse_insert(). */
static noinline int insert_full(struct sortq *q, struct lath_request *rq, u64 place)
{
	int ret = q->checked ? refuse_insert(q, rq) : 0;

	if (ret)
		return ret;
	arrive(q, rq);
	if (unlikely(behind_barrier(q)))
		park(q, rq);
	else if (place == LATH_NO_SLOT || q->fifo)
		order_insert(q, rq);
	else
		return lath_hybrid_insert_at(q, place, rq);
	return 0;
}

/* Inserts rq at a place that a lookup found, or anywhere for LATH_NO_SLOT. 0 | -EEXIST, -EINVAL */
static __always_inline int insert(struct sortq *q, struct lath_request *rq, u64 place)
{
	if (unlikely(!q->plain))
		return insert_full(q, rq, place);
	arrive(q, rq);
	if (unlikely(place != LATH_NO_SLOT))
		return lath_hybrid_insert_at(q, place, rq);
	lath_sortq_gather(public_of(q), rq);
	return 0;
}

int lath_sortq_insert_slow(struct lath_sortq *queue, struct lath_request *rq)
{
	return insert(queue_of(queue), rq, LATH_NO_SLOT);
}

size_t lath_sortq_insert_batch(struct lath_sortq *queue, struct lath_request **requests, size_t n)
{
	size_t i;

	for (i = 0; i < n && !lath_sortq_insert(queue, requests[i]); i++)
		;
	return i;
}

int lath_sortq_insert_at(struct lath_sortq *queue, const struct lath_sortq_merge *found,
			 struct lath_request *rq)
{
	return insert(queue_of(queue), rq, found->slot);
}

/* Returns whether the head lies between start and end, so that a request of [start, end) followed
 * by one at end would not be served in one pass. */
static bool passes_head(struct sortq *q, u64 start, u64 end)
{
	u64 head = lath_sortq_head(public_of(q)), mask = SECTOR_LIMIT - 1;

	return ((start - head) & mask) > ((end - head) & mask);
}

static void search_neighbours(struct sortq *q, u64 start, u64 end, unsigned int flags,
			      struct lath_sortq_merge *found)
{
	struct lath_request *back, *front;

	if (!held(q) || q->fifo)
		return;
	found->slot = lath_hybrid_seek(q, start << LATH_TAG_BITS | LATH_TAG_MASK);
	back = lath_hybrid_before(q, found->slot);
	front = lath_hybrid_behind(q, found->slot);
	if (back && back->sector + back->sectors == start && !(flags & LATH_SORTQ_LOOK_FRONT))
		found->back = back;
	if (front && front->sector == end && !passes_head(q, start, end))
		found->front = front;
}

/* Returns the request that starts at end, or NULL if there is none or it is across the head. */
static noinline struct lath_request *front_edge(struct sortq *q, u64 start, u64 end)
{
	struct lath_request *front = edge_find(q, START, end);

	return front && unlikely(passes_head(q, start, end)) ? NULL : front;
}

/* The lookup in the tables of starts and of ends, which are up to date. */
static noinline void lookup_edges(struct sortq *q, u64 start, u64 end, unsigned int flags,
				  struct lath_sortq_merge *found)
{
	struct lath_request *back = NULL;

	if (!(flags & LATH_SORTQ_LOOK_FRONT))
		back = start == q->grown_end ? request_of(q, q->grown) : edge_find(q, END, start);
	found->back = back;
	found->slot = LATH_NO_SLOT;
	found->front = NULL;
	if (!back || flags & LATH_SORTQ_LOOK_ALL)
		found->front = front_edge(q, start, end);
}

/* The lookup in any queue; takes the dispatched requests out of the tables first. */
static noinline void lookup_full(struct sortq *q, u64 start, u64 end, unsigned int flags,
				 struct lath_sortq_merge *found)
{
	bool waits = behind_barrier(q);

	found->back = found->front = NULL;
	found->slot = LATH_NO_SLOT;
	see_off(q);
	if (q->edges[START])
		lookup_edges(q, start, end, flags, found);
	else if (!waits)
		search_neighbours(q, start, end, flags, found);
	if (unlikely(waits)) {
		/* no merge across a barrier */
		found->front = NULL;
		if (found->back &&
		    (!parked(found->back) || arrival_of(found->back)->barrier != q->barriers))
			found->back = NULL;
	}
}

void lath_sortq_lookup(struct lath_sortq *queue, uint64_t start, uint64_t end, unsigned int flags,
		       struct lath_sortq_merge *found)
{
	struct sortq *q = queue_of(queue);

	if (unlikely(q->departure_count || q->barriers)) {
		lookup_full(q, start, end, flags, found);
	} else if (start == q->grown_end && !flags) {
		found->back = request_of(q, q->grown);
		found->front = NULL;
		found->slot = LATH_NO_SLOT;
	} else if (q->edges[START]) {
		lookup_edges(q, start, end, flags, found);
	} else {
		lookup_full(q, start, end, flags, found);
	}
}

/* rq->sectors was raised: brings its end up to date. */
static __always_inline void note_growth(struct sortq *q, struct lath_request *rq)
{
	if (rq->tag == q->grown) {
		q->grown_end = rq->sector + rq->sectors;
	} else {
		edge_remove(q, END, rq->tag);
		grow(q, rq);
	}
	note_of(q, rq->tag)->sectors = rq->sectors;
}

static noinline int back_merged_checked(struct sortq *q, struct lath_request *rq)
{
	if (!holds(q, rq))
		return -ENOENT;
	note_growth(q, rq);
	return 0;
}

int lath_sortq_back_merged(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	if (!q->edges[START])
		return 0;
	if (unlikely(q->checked))
		return back_merged_checked(q, rq);
	note_growth(q, rq);
	return 0;
}

int lath_sortq_front_merged(struct lath_sortq *queue, struct lath_request *rq, uint64_t new_sector)
{
	struct sortq *q = queue_of(queue);
	u64 by = rq->sector - new_sector;
	u32 grown = (u32)by;

	if (unlikely(!holds(q, rq)))
		return -ENOENT;
	/* the length must not pass 32 bits: `sectors` would be short of what was merged */
	if (unlikely(new_sector > rq->sector || by > (u32)~rq->sectors))
		return -EINVAL;
	if (q->edges[START]) {
		edge_remove(q, START, rq->tag);
		edge_add(q, START, new_sector, rq->tag);
		note_of(q, rq->tag)->sectors += grown;
	}
	/* among arrivals its place is the same */
	if (!parked(rq) && !q->fifo && !lath_hybrid_move(q, rq, new_sector)) {
		if (unlikely(order_remove(q, rq)))
			return -ENOENT;
		rq->sector = new_sector;
		order_insert(q, rq);
	}
	rq->sector = new_sector;
	rq->sectors += grown;
	return 0;
}

/* ---- removal and dispatch */

static noinline int remove_full(struct sortq *q, struct lath_request *rq)
{
	if (!holds(q, rq))
		return -ENOENT;
	depart(q, rq->tag);
	if (!parked(rq))
		return order_remove(q, rq);
	unpark(q, rq);
	return 0;
}

int lath_sortq_remove(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);

	u32 oldest;

	if (unlikely(!q->plain || !q->notes))
		return remove_full(q, rq);
	/* the tag of the oldest one is known without a load from the request, which may be cold */
	oldest = q->notes->newer;
	if (likely(rq == request_of(q, oldest - 1))) {
		age_unlink(q, oldest, 0);
		depart_edges(q, oldest - 1);
	} else if (likely(age_known(q, rq->tag))) {
		depart(q, rq->tag);
	} else {
		return -ENOENT;
	}
	if (unlikely(q->b.gate.fresh_count || q->removed_count == LATH_REMOVED_CAP))
		return lath_hybrid_remove(q, rq);
	lath_hybrid_note_removal(q, entry_of(rq));
	return 0;
}

struct lath_request *lath_sortq_first(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);

	if (unlikely(!held(q))) {
		pass_barrier(q);
		if (!held(q))
			return NULL;
	}
	return q->fifo ? request_at(q->fifo_list.first) : lath_hybrid_first(q);
}

struct lath_request *lath_sortq_dispatch_slow(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);
	struct lath_request *rq;
	u64 entry;

	if (likely(lath_window_has_next(&q->b))) {
		entry = *q->b.gate.next++;
		if (q->far)
			prefetch(request_of(q, q->b.gate.next[2]));
		depart(q, entry & LATH_TAG_MASK);
		return request_of(q, entry);
	}
	rq = order_pop(q);
	if (unlikely(!rq)) {
		pass_barrier(q);
		rq = order_pop(q);
		if (!rq)
			return NULL;
	}
	depart(q, rq->tag);
	return rq;
}

size_t lath_sortq_dispatch_batch(struct lath_sortq *queue, struct lath_request **out, size_t n)
{
	struct sortq *q = queue_of(queue);
	size_t done;

	if (likely(q->b.gate.quick_in))
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
	struct lath_request *rq;

	pass_barrier(q);
	if (!held(q) || sector >= SECTOR_LIMIT || q->fifo)
		return NULL;
	rq = hybrid_from(q, sector);
	/* in sweep order the requests behind `sector` may belong to the next sweep */
	if (!rq && sector < lath_sortq_head(queue))
		rq = lath_sortq_first(queue);
	return rq && rq->sector >= sector ? rq : NULL;
}

/* Returns the place of rq in the order, or LATH_NO_SLOT: it has none. */
static u64 place_in_order(struct sortq *q, struct lath_request *rq)
{
	return q->fifo || !holds(q, rq) || parked(rq) ? LATH_NO_SLOT : lath_hybrid_place_of(q, rq);
}

struct lath_request *lath_sortq_next(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);
	u64 place = place_in_order(q, rq);

	return place == LATH_NO_SLOT ? NULL : lath_hybrid_behind(q, place + LATH_PLACE(0, 1, 0));
}

struct lath_request *lath_sortq_prev(struct lath_sortq *queue, struct lath_request *rq)
{
	struct sortq *q = queue_of(queue);
	u64 place = place_in_order(q, rq);

	return place == LATH_NO_SLOT ? NULL : lath_hybrid_before(q, place);
}

/* ---- the head */

int lath_sortq_set_head(struct lath_sortq *queue, uint64_t sector)
{
	struct sortq *q = queue_of(queue);

	if ((q->flags & LATH_SORTQ_LOWEST) || sector >= SECTOR_LIMIT)
		return -EINVAL;
	if (q->fifo)
		q->fifo_head = sector;
	else
		lath_hybrid_set_head(q, sector);
	return 0;
}

uint64_t lath_sortq_head(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return q->fifo ? q->fifo_head : lath_hybrid_head(q);
}

/* ---- ages, counts */

struct lath_request *lath_sortq_oldest(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);
	u32 oldest = q->notes ? q->notes->newer : 0;
	return oldest ? request_of(q, oldest - 1) : NULL;
}

uint32_t lath_sortq_count(const struct lath_sortq *queue)
{
	const struct sortq *q = queue_of(queue);

	return held(q) + q->parked_count;
}

static u32 arrivals_count(const struct arrivals *list)
{
	const struct arrival *node;
	u32 n = 0;

	for (node = list->first; node; node = node->next)
		n++;
	return n;
}

int lath_sortq_verify(struct lath_sortq *queue)
{
	struct sortq *q = queue_of(queue);
	u32 ages = 0, i;

	if (arrivals_count(&q->parked) != q->parked_count)
		return 4;
	if (q->notes) {
		for (i = q->notes->newer; i; i = q->notes[i].newer)
			ages++;
		if (ages != lath_sortq_count(queue))
			return 4;
	}
	if (q->fifo)
		return arrivals_count(&q->fifo_list) == q->b.count ? 0 : 4;
	return lath_hybrid_verify(q);
}
