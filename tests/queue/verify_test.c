/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * verify_test.c - verify of the hybrid sees each thing broken; and blocks that run short.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/broken.h"
#include "queue/queue.h"

#define N 1000u

static struct lath_request request[N];

static void hybrid(enum lath_simd simd, const char *name)
{
	struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
	struct lath_request_pool pool;
	static struct lath_sortq queue;
	struct sortq *q = queue_of(&queue);
	struct lath_blocks *b = &q->b;
	struct lath_block_info *second;
	void *memory;
	u64 *e;
	u32 i;

	config.simd = simd;
	assert(!lath_request_pool_init(&pool, request, sizeof(*request), N));
	memory = aligned_alloc(64, lath_sortq_memsize(&config, &pool));
	assert(memory);
	i = (u32)lath_sortq_init(&queue, &config, &pool, memory);
	if (i == (u32)-EOPNOTSUPP) { /* not on this processor */
		assert(simd > LATH_SIMD_NONE);
		free(memory);
		return;
	}
	assert(!i && (simd == LATH_SIMD_BEST || !strcmp(lath_sortq_simd_name(&queue), name)));
	for (i = 0; i < N; i++) {
		request[i].sector = 1000 + i * 7919 % 2003;
		lath_sortq_insert(&queue, &request[i]);
	}
	assert(b->gate.fresh_count);
	BROKEN_INT(lath_sortq_verify(&queue), 3, request[N - 1].sector, 9);
	lath_sortq_first(&queue); /* all into blocks */
	assert(b->first && !b->gate.fresh_count && b->info[b->first].next != LATH_NONE);
	expect_line(lath_sortq_verify(&queue), 0, __LINE__);
	BROKEN_INT(lath_sortq_verify(&queue), 3, request[5].sector, 9);
	second = &b->info[b->info[b->first].next];
	e = b->block[b->first].e;
	BROKEN_INT(lath_sortq_verify(&queue), 1, e[b->info[b->first].lo],
		   e[b->info[b->first].lo + 2]);
	BROKEN_INT(lath_sortq_verify(&queue), 6, e[b->info[b->first].lo],
		   e[b->info[b->first].lo + 1]);
	BROKEN_INT(lath_sortq_verify(&queue), 6, e[b->info[b->first].lo + 1],
		   e[b->info[b->first].lo]);
	BROKEN_INT(lath_blocks_verify(b), 5, second->prev, LATH_NONE);
	BROKEN_INT(lath_blocks_verify(b), 5, second->page, second->page + 1);
	BROKEN_INT(lath_blocks_verify(b), 5, b->page[b->top_id[b->top_lo]].hi, 0);
	BROKEN_INT(lath_blocks_verify(b), 5, b->last, b->first);
	BROKEN_INT(lath_blocks_verify(b), 4, second->hi, second->lo);
	BROKEN_INT(lath_blocks_verify(b), 2,
		   b->page[b->top_id[b->top_lo]].sep[b->page[b->top_id[b->top_lo]].lo + 1],
		   1ull << 62);
	BROKEN_INT(lath_sortq_verify(&queue), 4, b->count, b->count + 1);
	free(memory);
}

#define MANY 4096u
static struct lath_request many[MANY];

/*
 * No two neighbours fit in half a block, nothing is joined, and yet every second block has one
 * entry: the stock of blocks runs out. Then all that fit in one are joined.
 */
static void out_of_blocks(void)
{
	struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
	struct lath_request_pool pool;
	static struct lath_sortq queue;
	struct lath_blocks *b = &queue_of(&queue)->b;
	u32 in, out = 0, free_tags[MANY], n_free = MANY, i, j, blocks = 0;
	u32 before[LATH_BLOCK_CAP], filled[LATH_BLOCK_CAP];
	struct lath_request *rq;
	u64 sector = 1000, last = 0;
	void *memory;

	assert(!lath_request_pool_init(&pool, many, sizeof(*many), MANY));
	memory = aligned_alloc(64, lath_sortq_memsize(&config, &pool));
	assert(memory && !lath_sortq_init(&queue, &config, &pool, memory));
	for (i = 0; i < MANY; i++)
		free_tags[i] = MANY - 1 - i;
	for (i = 0; b->free_block != LATH_NONE; i++) {
		/* a stream fills a block to its top; the one before, no longer the last, keeps 33
		 * or 1 */
		if (i % LATH_BLOCK_CAP == 0) {
			lath_sortq_first(&queue); /* all into blocks */
			for (j = blocks++ % 2 ? 1 : LATH_BLOCK_CAP / 2 + 1;
			     i >= 2 * LATH_BLOCK_CAP && j < LATH_BLOCK_CAP; j++) {
				lath_sortq_remove(&queue, &many[before[j]]);
				free_tags[n_free++] = before[j];
			}
			memcpy(before, filled, sizeof(before));
		}
		assert(n_free);
		rq = &many[filled[i % LATH_BLOCK_CAP] = free_tags[--n_free]];
		rq->sector = sector++;
		lath_sortq_insert(&queue, rq);
	}
	expect_line(lath_sortq_verify(&queue), 0, __LINE__);
	in = lath_sortq_count(&queue);
	for (i = 0; i < LATH_BLOCK_CAP; i++) {
		rq = &many[free_tags[--n_free]];
		rq->sector = sector++;
		lath_sortq_insert(&queue, rq);
	}
	lath_sortq_first(&queue);
	expect_line(lath_sortq_verify(&queue), 0, __LINE__);
	assert(b->free_block != LATH_NONE);
	while ((rq = lath_sortq_dispatch(&queue))) {
		assert(rq->sector > last);
		last = rq->sector;
		out++;
	}
	assert(out == in + LATH_BLOCK_CAP);
	free(memory);
}

int main(void)
{
	hybrid(LATH_SIMD_BEST, NULL);
	hybrid(LATH_SIMD_NONE, "scalar");
	hybrid(LATH_SIMD_AVX2, "avx2");
	out_of_blocks();
	return 0;
}
