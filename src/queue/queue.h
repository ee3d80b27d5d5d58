/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * queue.h - what lies inside a struct lath_sortq, and the calls between its files.
 */
#ifndef LATH_QUEUE_QUEUE_H
#define LATH_QUEUE_QUEUE_H

#include "lathwork/sortq.h"
#include "arch/sortq_block.h"
#include "queue/bst.h"
#include "queue/fibheap.h"
#include "queue/sorted_list.h"

/*
 * lath_request.where: 0, or the queue that holds the request, with LATH_PARKED if it is behind a barrier. Of the
 * hybrid's requests only those behind a barrier say so: for the others the notes do, or the blocks.
 */
#define LATH_PARKED 1ul
#define LATH_NO_SLOT (~0ull)

struct sortq;

/* An engine other than the hybrid. Its node's key is sweep << 44 | sector. */
struct lath_engine {
	const char *name;
	size_t (*memsize)(u32 requests);
	void (*init)(struct sortq *q, u32 requests);
	void (*insert)(struct sortq *q, struct lath_request *rq, u64 key);
	void (*remove)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*first)(struct sortq *q);
	struct lath_request *(*pop)(struct sortq *q); /* not on an empty queue */
	u64 (*key)(struct sortq *q, struct lath_request *rq);
	/* NULL in engines without search */
	struct lath_request *(*last)(struct sortq *q);
	struct lath_request *(*next)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*prev)(struct sortq *q, struct lath_request *rq);
	struct lath_request *(*ceiling)(struct sortq *q, u64 key);
	int (*verify)(struct sortq *q);
};

enum { START, END };

/*
 * What a queue with ages or merges knows of a request. Notes are numbered tag + 1: 0 is the end of every
 * chain, and the note 0 closes the ring of ages and takes what is written behind a chain's end.
 */
struct lath_note {
	u32 older, newer;
	u32 next[2], prev[2]; /* with the same hash of the start, of the end */
	u32 sectors;	      /* the length last told */
	u32 block;	      /* the hybrid's block that holds it: a hint */
};

#define LATH_DEPARTURES 64
#define LATH_REMOVED_CAP 16

struct sortq {
	struct lath_blocks b; /* the hybrid; its count serves all engines */
	bool far;	      /* so many requests that they are cold when dispatched: prefetch */
	u8 checked : 1;	      /* inserts and back merges are checked */
	u8 plain : 1;	      /* the hybrid, unchecked and without a barrier: inserts go straight to it */
	u16 flags;
	u32 requests_max;
	const struct lath_engine *engine; /* NULL: the hybrid */
	void *state;			  /* the engine's memory */
	u64 head;			  /* sector */
	u64 sweep;
	struct lath_note *notes;
	u32 *edges[2]; /* first notes by hash of the sector where requests start, where they end */
	u64 grown_end; /* of the request `grown`, not among the ends */
	u32 grown;
	u32 edges_shift;
	u32 parked_count;
	u32 departure_count, removed_count;
	struct lath_sorted_list parked;
	u64 barriers;
	u64 removed[LATH_REMOVED_CAP];	/* from the hybrid: entries still in their blocks */
	u64 departure[LATH_DEPARTURES]; /* entries whose edges are still in the tables */
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
	return (struct lath_request *)(q->b.gate.requests + (entry & LATH_TAG_MASK) * q->b.gate.stride);
}

/* What lath_request.node holds, by the engine of the queue. */
union request_node {
	struct lath_list_node list; /* of the hybrid too: behind a barrier */
	struct lath_bst_node bst;
	struct lath_fib_node fib;
} __attribute__((may_alias));

static inline union request_node *node_of(struct lath_request *rq)
{
	return (union request_node *)rq->node;
}

/* The request that a node is in. Every member of the union lies at its start. NULL gives NULL. */
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

/* Requests in the engine, that is not behind a barrier. */
static inline u32 held(const struct sortq *q)
{
	return q->b.count - (u32)(q->b.gate.next - q->b.opened) + q->b.gate.fresh_count;
}

size_t lath_hybrid_memsize(u32 requests);
void lath_hybrid_init(struct sortq *q, void *memory);
bool lath_hybrid_open(struct sortq *q);
/* 0, which makes it the last call of an insert. */
int lath_hybrid_insert_at(struct sortq *q, u64 place, struct lath_request *rq);
/* NULL when empty */
struct lath_request *lath_hybrid_first(struct sortq *q);
struct lath_request *lath_hybrid_pop(struct sortq *q);
size_t lath_hybrid_pop_batch(struct sortq *q, struct lath_request **out, size_t n);
/* Takes rq out. 0 | -ENOENT: not there (in a queue without notes; with notes the caller has checked). */
int lath_hybrid_remove(struct sortq *q, struct lath_request *rq);
/* Change the sector in place: true unless the order would change. */
bool lath_hybrid_move(struct sortq *q, struct lath_request *rq, u64 sector);
/* A place is good until the next change of the queue. */
u64 lath_hybrid_seek(struct sortq *q, u64 key);
/* LATH_NO_SLOT: it is not there. */
u64 lath_hybrid_place_of(struct sortq *q, const struct lath_request *rq);
/* The requests on both sides of a place; NULL at the ends. */
struct lath_request *lath_hybrid_before(struct sortq *q, u64 place);
struct lath_request *lath_hybrid_behind(struct sortq *q, u64 place);
u64 lath_hybrid_head(const struct sortq *q);
void lath_hybrid_set_head(struct sortq *q, u64 sector);
int lath_hybrid_verify(struct sortq *q);

/* blocks.c: blocks and their directory */
/* The only block of an empty queue. */
u32 lath_blocks_first(struct lath_blocks *b);
/* A new, empty block in the order behind `beside`, which is at `slot` of its page. */
u32 lath_blocks_add(struct lath_blocks *b, u32 beside, u32 slot, u64 separator);
void lath_blocks_drop(struct lath_blocks *b, u32 id);
void lath_blocks_drop_first(struct lath_blocks *b);
void lath_blocks_rebuild(struct lath_blocks *b);
int lath_blocks_verify(const struct lath_blocks *b);
size_t lath_blocks_memsize(u32 requests);
void lath_blocks_init(struct lath_blocks *b, u32 requests, void *memory);

#endif /* LATH_QUEUE_QUEUE_H */
