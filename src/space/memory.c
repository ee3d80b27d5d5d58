/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory.c - the memory of a space: from its allocator or the host's, counted; and the two indexes,
 * which are made of it on first use.
 */
#include "space/space.h"

#define HUGE_CHUNK (2ul << 20)

/* Nodes of the indexes come in chunks of pages; all else is smaller. */
static bool from_pages(size_t size)
{
	return !(size % lath_page_size());
}

/* Allocates memory as lath_allocator.alloc does; counts it. Returns NULL without memory. */
static void *counted_alloc(void *arg, size_t size, size_t align)
{
	struct lath_space *space = arg;
	void *p;

	LATH_ASSERT(size);
	/* the caller's allocator serves all; of the host pages serve what is whole pages */
	if (space->allocator.alloc)
		p = space->allocator.alloc(space->allocator.ctx, size, align);
	else if (from_pages(size))
		p = lath_pages_alloc(size, size >= HUGE_CHUNK ? PAGES_HUGE : PAGES_PRESENT);
	else
		p = lath_block_alloc(size);
	if (p)
		lath_fetch_add(&space->bytes, size);
	return p;
}

/* Frees what counted_alloc() returned: the size tells which of the host's calls that was. */
static void counted_free(void *arg, void *p, size_t size)
{
	struct lath_space *space = arg;

	LATH_ASSERT(READ_ONCE(space->bytes) >= size);
	lath_fetch_add(&space->bytes, -(u64)size);
	if (space->allocator.alloc)
		space->allocator.free(space->allocator.ctx, p, size);
	else if (from_pages(size))
		lath_pages_free(p, size);
	else
		lath_block_free(p);
}

void *lath_space_memory_alloc(struct lath_space *space, size_t size)
{
	void *p = counted_alloc(space, size, 64);

	if (p)
		memset(p, 0, size);
	return p;
}

void lath_space_memory_free(struct lath_space *space, void *p, size_t size)
{
	if (p)
		counted_free(space, p, size);
}

struct lath_index *lath_space_index(struct lath_space *space, struct lath_index **at)
{
	struct lath_index *index = smp_load_acquire(at), *there; /* pairs with lath_space_index */
	struct lath_allocator allocator = { counted_alloc, counted_free, space };
	struct lath_config config = LATH_CONFIG_INIT;

	LATH_ASSERT(at == &space->index || at == &space->arenas);
	if (index) /* all calls but the first */
		return index;
	config.rcu = space->config.rcu;
	config.allocator = &allocator;
	/* keys of the space have holes to search; of block numbers only points are looked up */
	if (at == &space->index)
		config.flags = LATH_HOLES;
	else
		config.layout = LATH_POINTS;
	config.flags |= space->config.flags & LATH_ANY_CONTEXT;
	index = lath_space_memory_alloc(space, sizeof(*index));
	if (!index || lath_index_init(index, &config)) {
		lath_space_memory_free(space, index, sizeof(*index));
		return NULL;
	}
	/* made without a lock, so another thread may have made it too: the first one stays */
	lath_spin_lock(&space->lock);
	there = *at;
	if (!there)
		smp_store_release(at, index); /* pairs with lath_space_index */
	lath_spin_unlock(&space->lock);
	if (!there)
		return index;
	/* no other thread has seen this one, so it needs no grace period */
	lath_index_fini(index, NULL, NULL);
	lath_space_memory_free(space, index, sizeof(*index));
	return there;
}
