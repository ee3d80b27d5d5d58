/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* memory.c - blocks of memory for host.h. */
#include "tree/watch/bound.h"
#include "tree/way/finger.h"

/* Each thread has its own, so that allocations of two threads are not ordered. */
#define BLOCKS 12
#define BLOCK_WORDS 1024
static u64 memory[4][BLOCKS][BLOCK_WORDS] __attribute__((aligned(64)));
static __thread unsigned int blocks_used;
__thread unsigned int genmc_thread;

void *lath_block_alloc(size_t size)
{
	return size <= sizeof(memory[0][0]) && blocks_used < BLOCKS
		       ? memory[genmc_thread][blocks_used++]
		       : NULL;
}

const struct lath_rcu lath_rcu_auto;

/* GenMC has no structures among thread-local variables: these are in place of lath_fingers and
 * lath_bound. */
struct fingers *genmc_fingers(void)
{
	static struct fingers fingers[4];

	return &fingers[genmc_thread];
}

struct bound *genmc_bound(void)
{
	static struct bound bound[4];

	return &bound[genmc_thread];
}
