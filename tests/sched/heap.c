/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * heap.c - the heap of the library under the scheduler (runtime.h): addresses ascend, what is freed
 * is not used again. Each granule of 16 bytes has a state; between blocks are granules that were
 * never allocated.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime.h"
#include "runtime_inside.h"

#define HEAP (256ul << 20)
#define GRANULE 16
#define GAP 64

enum { UNUSED, LIVE, FREED };

struct block {
	uint32_t offset, size; /* in granules */
	bool live;
};

static char *heap, *copy;
static uint8_t *state, *state_copy;
static size_t used, used_copy, high; /* bytes; high: of all runs */
static struct block *blocks, *blocks_copy;
static unsigned int n_blocks, n_blocks_copy, live;
static uint64_t fail_at, allocations;
#define BLOCKS (1u << 18)

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED) {
		perror("sched: heap");
		exit(2);
	}
	return memory;
}

bool sched_in_heap(const volatile void *address)
{
	return (uintptr_t)address - (uintptr_t)heap < HEAP;
}

void sched_check(const volatile void *address, size_t size, const void *pc)
{
	size_t at = (uintptr_t)address - (uintptr_t)heap, i;

	for (i = at / GRANULE; i <= (at + size - 1) / GRANULE; i++)
		if (state[i] != LIVE)
			sched_fail(state[i] == FREED ? "access to memory that was freed"
						     : "access to memory that was not allocated",
				   (const void *)(uintptr_t)address, pc);
}

void sched_fail_allocation(uint64_t number)
{
	fail_at = number ? allocations + number : 0;
}

void *sched_alloc(size_t size, size_t align, int fill)
{
	size_t at = (used + GAP + align - 1) & ~(align - 1);
	size_t granules = (size + GRANULE - 1) / GRANULE;

	sched_counts.allocations++;
	if (++allocations == fail_at) {
		sched_counts.refused++;
		return NULL;
	}
	if (at + size + GAP > HEAP || n_blocks == BLOCKS)
		sched_fail("the scheduler's heap is full", NULL, NULL);
	used = at + granules * GRANULE;
	if (used > high)
		high = used;
	blocks[n_blocks++] = (struct block){ (uint32_t)(at / GRANULE), (uint32_t)granules, true };
	live++;
	memset(state + at / GRANULE, LIVE, granules);
	memset(heap + at, fill, size);
	return heap + at;
}

void sched_free(void *address)
{
	size_t at = ((uintptr_t)address - (uintptr_t)heap) / GRANULE;
	unsigned int i;

	if (!address)
		return;
	for (i = n_blocks; i-- > 0;)
		if (blocks[i].offset == at)
			break;
	if (i == -1u || !blocks[i].live)
		sched_fail("memory is freed that is not allocated", address,
			   __builtin_return_address(0));
	blocks[i].live = false;
	live--;
	memset(state + at, FREED, blocks[i].size);
}

unsigned int sched_live_blocks(void)
{
	return live;
}

/* ---- variables of threads: those of the program itself ---- */

static intptr_t locals; /* from the thread pointer */
static size_t locals_size;
static char *locals_copy;

static int find_locals(struct dl_phdr_info *info, size_t size, void *unused)
{
	unsigned int i;

	(void)size, (void)unused;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS) {
			locals = (intptr_t)info->dlpi_tls_data -
				 (intptr_t)sched.main->self.thread_pointer;
			locals_size = info->dlpi_phdr[i].p_memsz;
		}
	return 1; /* the first object is the program */
}

static char *locals_of(const struct fiber *fiber)
{
	return (char *)((intptr_t)fiber->self.thread_pointer + locals);
}

/* ---- the whole heap ---- */

void sched_heap_clear(void)
{
	if (!heap) {
		heap = map(HEAP);
		copy = map(HEAP);
		state = map(HEAP / GRANULE);
		state_copy = map(HEAP / GRANULE);
		blocks = map(BLOCKS * sizeof(*blocks));
		blocks_copy = map(BLOCKS * sizeof(*blocks));
		dl_iterate_phdr(find_locals, NULL);
		locals_copy = map(locals_size + 1);
	}
	memset(state, UNUSED, high / GRANULE);
	used = high = 0;
	n_blocks = live = 0;
	allocations = fail_at = 0;
}

void sched_heap_keep(void)
{
	while (sched_rcu_step())
		;
	memcpy(copy, heap, used);
	memcpy(state_copy, state, used / GRANULE);
	memcpy(blocks_copy, blocks, n_blocks * sizeof(*blocks));
	used_copy = used;
	n_blocks_copy = n_blocks;
	memcpy(locals_copy, locals_of(sched.main), locals_size);
}

void sched_heap_restore(void)
{
	unsigned int i;

	memcpy(heap, copy, used_copy);
	memcpy(state, state_copy, used_copy / GRANULE);
	memset(state + used_copy / GRANULE, UNUSED, (high - used_copy) / GRANULE);
	used = high = used_copy;
	memcpy(blocks, blocks_copy, n_blocks_copy * sizeof(*blocks));
	n_blocks = n_blocks_copy;
	for (live = 0, i = 0; i < n_blocks; i++)
		live += blocks[i].live;
	allocations = fail_at = 0;
	memcpy(locals_of(sched.main), locals_copy, locals_size);
	memcpy(locals_of(&sched.fiber[SCHED_FIBERS - 1]), locals_copy, locals_size);
	for (i = 0; i < sched.made; i++)
		memcpy(locals_of(&sched.fiber[i]), locals_copy, locals_size);
}
