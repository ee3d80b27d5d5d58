/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * queue.h - the contents of a struct lath_sortq, and the calls between its files.
 */
#ifndef LATH_QUEUE_QUEUE_H
#define LATH_QUEUE_QUEUE_H

#include "lathwork/sortq.h"
#include "arch/sortq_block.h"
#include "queue/bst.h"
#include "queue/fibheap.h"
#include "queue/sorted_list.h"

/*
 * lath_request.where: 0, or the queue that holds the request, | LATH_PARKED if it is behind a
 * barrier. The hybrid sets it for requests behind a barrier only; its notes or blocks tell which
 * others it holds.
 */
#define LATH_PARKED 1ul
#define LATH_NO_SLOT (~0ull)

struct sortq;

/* An engine other than the hybrid. The key of its nodes is sweep << 44 | sector. */
struct lath_engine {
	const char *name;
	size_t (*memsize)(u32 requests);
	void (*init)(struct sortq *q, u32 requests);
	void (*insert)(struct sortq *q, struct lath_request *rq, u64 key);
	void (*remove)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*first)(struct sortq *q);
	struct lath_request *(*pop)(struct sortq *q); /* the queue is not empty */
	u64 (*key)(struct sortq *q, struct lath_request *rq);
	/* the next four are NULL in engines without search */
	struct lath_request *(*last)(struct sortq *q);
	struct lath_request *(*next)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*prev)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*ceiling)(struct sortq *q, u64 key);
	int (*verify)(struct sortq *q);
};

enum { START, END };

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
	struct lath_blocks b; /* the hybrid; count is used by all engines */
	bool far;	      /* a large pool: requests are cold, prefetch them */
	u8 checked : 1;	      /* inserts and back merges are checked */
	u8 plain : 1;	      /* the hybrid, unchecked and without a barrier */
	u16 flags;
	u32 requests_max;
	const struct lath_engine *engine; /* NULL: the hybrid */
	void *state;			  /* the engine's memory */
	u64 head;			  /* sector */
	u64 sweep;
	struct lath_note *notes;
	u32 *edges[2]; /* hash tables of starts and of ends: first notes */
	u64 grown_end; /* where the request `grown` ends; not in the table of ends */
	u32 grown;
	u32 edges_shift;
	u32 parked_count;
	u32 departure_count, removed_count;
	struct lath_sorted_list parked;
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

/* The contents of lath_request.node, by the engine of the queue. */
union request_node {
	struct lath_list_node list; /* any engine: behind a barrier */
	struct lath_bst_node bst;
	struct lath_fib_node fib;
} __attribute__((may_alias));

static inline union request_node *node_of(struct lath_request *rq)
{
	return (union request_node *)rq->node;
}

/* Returns the request that a node lies in, or NULL for NULL. */
static inline struct lath_request *request_at(const void *node)
{
	return node ? container_of(node, struct lath_request, node) : NULL;
}

static inline u64 entry_of(const struct lath_request *rq)
{
	return rq->sector << LATH_TAG_BITS | rq->tag;
}

static inline struct lath_note *note_of(const struct sortq *q, u32 tag)
{
	return &q->notes[tag + 1];
}

extern const struct lath_engine *const lath_engines[LATH_SORTQ_ENGINES];

static inline bool lath_window_has_next(const struct lath_blocks *b)
{
	return *b->gate.next - b->gate.base < b->gate.limit;
}

/* The number of requests in the engine, i.e. not behind a barrier. */
static inline u32 held(const struct sortq *q)
{
	return q->b.count - (u32)(q->b.gate.next - q->b.opened) + q->b.gate.fresh_count;
}

size_t lath_hybrid_memsize(u32 requests);
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
/* Returns the place behind all entries at or before key; valid until the queue changes. Not empty.
 */
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
