/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* queue_cases.c - membership in queues and lists; blocks and their directory; alignment. */
#include "cases.h"

#include <stdlib.h>

#include "queue/queue.h"

#define N 300u

static struct lath_request_pool pool;
static struct lath_request request[N];
static struct lath_sortq queue;
static struct sortq *q;
static void *memory;

static void prepare(enum lath_sortq_engine engine, unsigned int flags)
{
	struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
	u32 i;

	config.engine = engine;
	config.flags = flags;
	NEED(!lath_request_pool_init(&pool, request, sizeof(*request), N));
	memory = aligned_alloc(64, lath_sortq_memsize(&config, &pool));
	NEED(memory && !lath_sortq_init(&queue, &config, &pool, memory));
	q = queue_of(&queue);
	for (i = 0; i < N; i++) {
		request[i].sector = 1000 + i * 7919 % 2003 * 8;
		request[i].sectors = 8;
	}
	for (i = 0; i < N / 2; i++)
		NEED(!lath_sortq_insert(&queue, &request[i]));
}

static void request_queued_twice(void)
{
	prepare(LATH_SORTQ_HYBRID, LATH_SORTQ_AGES);
	lath_sortq_insert(&queue, &request[3]);
}

static void note_named_by_another_word(void)
{
	struct lath_sortq_merge found;

	prepare(LATH_SORTQ_FIFO, LATH_SORTQ_MERGES);
	note_of(q, request[3].tag)->named_by[0] = note_of(q, request[4].tag)->named_by[0];
	lath_sortq_remove(&queue, &request[3]);
	lath_sortq_lookup(&queue, 0, 8, 0, &found); /* takes the edges of what has left out */
}

static void chain_of_no_note(void)
{
	struct lath_sortq_merge found;
	u32 i;

	prepare(LATH_SORTQ_FIFO, LATH_SORTQ_MERGES);
	for (i = 0; i < 1u << (64 - q->edges_shift); i++)
		q->edges[END][i] = N + 1;
	lath_sortq_lookup(&queue, 0, 8, 0, &found);
}

static void too_many_departures(void)
{
	struct lath_sortq_merge found;

	prepare(LATH_SORTQ_FIFO, LATH_SORTQ_MERGES);
	q->departure_count = LATH_DEPARTURES + 1;
	lath_sortq_lookup(&queue, 0, 8, 0, &found);
}

static void where_changed_while_queued(void)
{
	prepare(LATH_SORTQ_FIFO, 0);
	lath_sortq_first(&queue)->where = 0;
	lath_sortq_dispatch(&queue);
}

static void request_not_in_the_list(void)
{
	struct arrival node[2] = { { 0, NULL, NULL }, { 0, NULL, NULL } };
	struct arrivals list = { NULL, NULL };

	arrivals_add(&list, &node[0]);
	arrivals_remove(&list, &node[1]);
}

/* A hybrid with everything in more than one block. */
static void prepare_blocks(void)
{
	prepare(LATH_SORTQ_HYBRID, 0);
	NEED(lath_sortq_first(&queue));
	NEED(q->b.first && q->b.info[q->b.first].next != LATH_NONE);
}

static void no_block_left(void)
{
	prepare_blocks();
	q->b.free_block = LATH_NONE;
	lath_blocks_add(&q->b, q->b.first, 0, 0);
}

static void block_of_another_slot(void)
{
	prepare_blocks();
	lath_blocks_add(&q->b, q->b.first, 1, 0);
}

static void first_block_not_empty(void)
{
	prepare_blocks();
	lath_blocks_drop_first(&q->b);
}

static void block_not_in_its_page(void)
{
	struct lath_page *page;

	prepare_blocks();
	page = &q->b.page[q->b.top_id[q->b.top_lo]];
	page->id[page->lo] = q->b.blocks;
	lath_blocks_drop(&q->b, q->b.first);
}

static void block_memory_misaligned(void)
{
	prepare_blocks();
	lath_hybrid_init(q, (char *)memory + 8);
}

static void insert_at_with_fresh_entries(void)
{
	u64 place;

	prepare_blocks();
	place = lath_hybrid_seek(q, 0);
	NEED(!lath_sortq_insert(&queue, &request[N - 1]));
	lath_hybrid_insert_at(q, place, &request[N - 2]);
}

static void request_of_another_pool(void)
{
	struct lath_request other = { .tag = 3 };

	prepare_blocks();
	lath_hybrid_remove(q, &other);
}

static void note_of_no_request(void)
{
	prepare(LATH_SORTQ_HYBRID, LATH_SORTQ_AGES);
	note_of(q, N);
}

static void list_with_another_end(void)
{
	struct arrival node[2] = { { 0, NULL, NULL }, { 0, NULL, NULL } };
	struct arrivals list = { NULL, NULL };

	arrivals_add(&list, &node[0]);
	node[0].next = &node[1];
	arrivals_add(&list, &node[1]);
}

static void barrier_that_was_not_set(void)
{
	prepare(LATH_SORTQ_FIFO, 0);
	lath_sortq_barrier(&queue);
	NEED(!lath_sortq_insert(&queue, &request[N - 1]));
	q->barriers = 0;
	while (lath_sortq_dispatch(&queue))
		;
}

static void seek_in_an_empty_hybrid(void)
{
	prepare(LATH_SORTQ_HYBRID, 0);
	while (lath_sortq_dispatch(&queue))
		;
	lath_hybrid_seek(q, 0);
}

static void before_a_place_that_is_none(void)
{
	prepare_blocks();
	lath_hybrid_before(q, LATH_NO_SLOT);
}

static void behind_a_place_that_is_none(void)
{
	prepare_blocks();
	lath_hybrid_behind(q, LATH_NO_SLOT);
}

static void more_queued_than_there_are(void)
{
	prepare_blocks();
	q->b.count = N;
	NEED(!lath_sortq_insert(&queue, &request[N - 1]));
	lath_sortq_settle(&queue);
}

static void unsorted_block_in_the_directory(void)
{
	prepare_blocks();
	q->b.info[q->b.first].sorted = q->b.info[q->b.first].lo;
	lath_blocks_rebuild(&q->b);
}

const struct assert_case queue_cases[] = {
	{ "queue: request queued twice", request_queued_twice, "queue/notes.h",
	  "!age_known(q, tag)" },
	{ "queue: note named by another word", note_named_by_another_word, "queue/notes.h",
	  "tag + 1" },
	{ "queue: chain of no note", chain_of_no_note, "queue/notes.h", "i <= q->requests_max" },
	{ "queue: too many departures", too_many_departures, "queue/notes.h",
	  "q->departure_count <= LATH_DEPARTURES" },
	{ "queue: holder changed while queued", where_changed_while_queued, "queue/sortq.c",
	  "rq->where == (uintptr_t)q" },
	{ "queue: node not in the list", request_not_in_the_list, "queue/arrivals.h",
	  "list->first) == node" },
	{ "queue: no block left", no_block_left, "queue/blocks.c", "id != LATH_NONE" },
	{ "queue: block of another slot", block_of_another_slot, "queue/blocks.c",
	  "id[slot] == beside" },
	{ "queue: first block not empty", first_block_not_empty, "queue/blocks.c",
	  "b->info[id].lo == b->info[id].hi" },
	{ "queue: block not in its page", block_not_in_its_page, "queue/blocks.c", "i < page->hi" },
	{ "queue: memory misaligned", block_memory_misaligned, "queue/blocks.c",
	  "(uintptr_t)memory % 64" },
	{ "queue: place used after a change", insert_at_with_fresh_entries, "queue/hybrid.c",
	  "!b->gate.fresh_count" },
	{ "queue: request of another pool", request_of_another_pool, "queue/hybrid.c",
	  "request_of(q, entry) == rq" },
	{ "queue: note of no request", note_of_no_request, "queue/queue.h", "requests_max" },
	{ "queue: list with another end", list_with_another_end, "queue/arrivals.h",
	  "list->last->next" },
	{ "queue: barrier that was not set", barrier_that_was_not_set, "queue/sortq.c",
	  "passed <= q->barriers" },
	{ "queue: seek in an empty hybrid", seek_in_an_empty_hybrid, "queue/hybrid.c",
	  "q->b.first" },
	{ "queue: before a place that is none", before_a_place_that_is_none, "queue/hybrid.c",
	  "id < b->blocks" },
	{ "queue: behind a place that is none", behind_a_place_that_is_none, "queue/hybrid.c",
	  "id < b->blocks" },
	{ "queue: more queued than there are", more_queued_than_there_are, "queue/hybrid.c",
	  "b->count <= q->requests_max" },
	{ "queue: unsorted block in the directory", unsorted_block_in_the_directory,
	  "queue/blocks.c", "info[id].sorted" },
	{ 0 },
};
