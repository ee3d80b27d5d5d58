/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * queue.h - the contents of a struct lath_sortq, and the calls between its files.
 */
#ifndef LATH_QUEUE_QUEUE_H
#define LATH_QUEUE_QUEUE_H

#include "lathwork/sortq.h"
#include "arch/sortq_block.h"

/*
 * lath_request.where: 0, or the queue that holds the request, | LATH_PARKED if it is behind a
 * barrier. The hybrid sets it for requests behind a barrier only; its notes or blocks tell which
 * others it holds.
 */
#define LATH_PARKED 1ul
#define LATH_NO_SLOT (~0ull)

enum { START, END };

/* ---- a doubly linked list of embedded nodes in order of arrival: the requests of a FIFO, and
 * those behind a barrier. All calls are O(1). ---- */

struct arrival {
	u64 barrier; /* behind which barrier it waits; 0 in a FIFO */
	struct arrival *prev, *next;
} __attribute__((may_alias));

struct arrivals {
	struct arrival *first, *last;
};

/* Adds a node that is in no list at the end. */
static inline void arrivals_add(struct arrivals *list, struct arrival *node)
{
	LATH_ASSERT(list->last ? !list->last->next : !list->first);
	node->prev = list->last;
	node->next = NULL;
	*(node->prev ? &node->prev->next : &list->first) = node;
	list->last = node;
}

/* Removes a node of this list. */
static inline void arrivals_remove(struct arrivals *list, struct arrival *node)
{
	LATH_ASSERT((node->prev ? node->prev->next : list->first) == node);
	LATH_ASSERT((node->next ? node->next->prev : list->last) == node);
	*(node->prev ? &node->prev->next : &list->first) = node->next;
	*(node->next ? &node->next->prev : &list->last) = node->prev;
}

/*
 * A queue with ages or merges has a note per request, numbered tag + 1. Number 0 ends every chain;
 * note 0 closes the ring of ages and absorbs stores past the end of a chain.
 */
struct lath_note {
	u32 older, newer;
	u32 next[2], named_by[2]; /* hash chains of the start and of the end */
	u32 sectors;		  /* the length last reported by the caller */
	u32 block;		  /* the hybrid's block that holds it: a hint */
};

#define LATH_DEPARTURES 64
#define LATH_REMOVED_CAP 16

struct sortq {
	struct lath_blocks b; /* the hybrid; a FIFO uses the count alone */
	bool far;	      /* a large pool: requests are cold, prefetch them */
	u8 checked : 1;	      /* inserts and back merges are checked */
	u8 plain : 1;	      /* the hybrid, unchecked and without a barrier */
	u8 fifo : 1;	      /* the requests are in `fifo_list`, not in blocks */
	u16 flags;
	u32 requests_max;
	struct arrivals fifo_list;
	u64 fifo_head; /* sector */
	struct lath_note *notes;
	u32 *edges[2]; /* hash tables of starts and of ends: first notes */
	u64 grown_end; /* where the request `grown` ends; not in the table of ends */
	u32 grown;
	u32 edges_shift;
	u32 parked_count;
	u32 departure_count, removed_count;
	struct arrivals parked;
	u64 barriers;
	u64 removed[LATH_REMOVED_CAP];	/* removed from the hybrid, but still in their blocks */
	u32 departure[LATH_DEPARTURES]; /* tags: dispatched, but still in the tables of edges */
};

static inline struct sortq *queue_of(const struct lath_sortq *queue)
{
	return (struct sortq *)queue;
}

static inline struct lath_sortq *public_of(struct sortq *q)
{
	return (struct lath_sortq *)q;
}

static inline struct lath_request *request_of(const struct sortq *q, u64 entry)
{
	return (struct lath_request *)(q->b.gate.requests +
				       (entry & LATH_TAG_MASK) * q->b.gate.stride);
}

/* The place of a request in the list that it is in: of a FIFO, or of those behind a barrier. */
static inline struct arrival *arrival_of(struct lath_request *rq)
{
	return (struct arrival *)rq->node;
}

/* Returns the request that a place lies in, or NULL for NULL. */
static inline struct lath_request *request_at(const struct arrival *place)
{
	return place ? container_of((const void *)place, struct lath_request, node) : NULL;
}

static inline u64 entry_of(const struct lath_request *rq)
{
	return rq->sector << LATH_TAG_BITS | rq->tag;
}

static inline struct lath_note *note_of(const struct sortq *q, u32 tag)
{
	LATH_ASSERT(tag < q->requests_max);
	return &q->notes[tag + 1];
}

static inline bool lath_window_has_next(const struct lath_blocks *b)
{
	return *b->gate.next - b->gate.base < b->gate.limit;
}

/* The number of requests that are not behind a barrier. */
static inline u32 held(const struct sortq *q)
{
	return q->b.count - (u32)(q->b.gate.next - q->b.opened) + q->b.gate.fresh_count;
}

void lath_hybrid_init(struct sortq *q, void *memory);
bool lath_hybrid_open(struct sortq *q);
/* Returns 0, so that an insert can end with this call. */
int lath_hybrid_insert_at(struct sortq *q, u64 place, struct lath_request *rq);
/* These return NULL, or 0, if the hybrid is empty. */
struct lath_request *lath_hybrid_first(struct sortq *q);
struct lath_request *lath_hybrid_pop(struct sortq *q);
size_t lath_hybrid_pop_batch(struct sortq *q, struct lath_request **out, size_t n);
/* Takes rq out. 0 | -ENOENT: not there (in a queue without notes; with notes the caller has
 * checked). */
int lath_hybrid_remove(struct sortq *q, struct lath_request *rq);
/* Removes an entry that is in a block, which its note names: the next settle() cuts it out. */
static inline void lath_hybrid_note_removal(struct sortq *q, u64 entry)
{
	LATH_ASSERT(q->b.count && q->removed_count < LATH_REMOVED_CAP);
	q->removed[q->removed_count++] = entry;
	q->b.count--;
	q->b.gate.limit = min(q->b.gate.limit, entry - q->b.gate.base);
}
/* Changes the sector in place. Returns false, with nothing changed, if the order would change. */
bool lath_hybrid_move(struct sortq *q, struct lath_request *rq, u64 sector);
/* Returns the place behind all entries up to key; valid until the queue changes. Not empty. */
u64 lath_hybrid_seek(struct sortq *q, u64 key);
/* Returns the place of a request, or LATH_NO_SLOT if it is not there. */
u64 lath_hybrid_place_of(struct sortq *q, const struct lath_request *rq);
/* The requests on both sides of a place; NULL at the ends. */
struct lath_request *lath_hybrid_before(struct sortq *q, u64 place);
struct lath_request *lath_hybrid_behind(struct sortq *q, u64 place);
u64 lath_hybrid_head(const struct sortq *q);
void lath_hybrid_set_head(struct sortq *q, u64 sector);
int lath_hybrid_verify(struct sortq *q);

/* blocks.c: blocks and their directory */
/* Adds the first block of an empty queue. Returns it. */
u32 lath_blocks_first(struct lath_blocks *b);
/* Adds an empty block behind `beside`, which is at `slot` of its page. Returns it. */
u32 lath_blocks_add(struct lath_blocks *b, u32 beside, u32 slot, u64 separator);
void lath_blocks_drop(struct lath_blocks *b, u32 id);
void lath_blocks_drop_first(struct lath_blocks *b);
void lath_blocks_rebuild(struct lath_blocks *b);
int lath_blocks_verify(const struct lath_blocks *b);
size_t lath_blocks_memsize(u32 requests);
void lath_blocks_init(struct lath_blocks *b, u32 requests, void *memory);

#endif /* LATH_QUEUE_QUEUE_H */
