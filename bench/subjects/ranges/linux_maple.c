// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * linux_maple.c - the kernel's maple tree in user space. lib/maple_tree.c is included as it is; the
 * rest is the kernel's own test headers, liburcu, the spinlock of spin.h and an allocator.
 *
 * The allocator of the kernel's tests has a mutex, poisons memory and takes count x size bytes for
 * each object of a bulk, which makes the tree many times slower than it is in the kernel. This one
 * works like the kernel's slab: each thread has a free list, and full batches go through a depot,
 * because the RCU thread frees nodes and writers allocate them.
 */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "linux/init.h"

#define module_init(x)
#define module_exit(x)
#define MODULE_AUTHOR(x)
#define MODULE_LICENSE(x)
#define dump_stack() abort()
#ifndef fallthrough
#define fallthrough __attribute__((__fallthrough__))
#endif

#include "lib/maple_tree.c"

#include "linux_trees.h"

/* the test headers declare these */
int preempt_count, kmalloc_verbose, test_verbose, nr_allocated;

enum { NODE = 256, BATCH = 64 };

struct kmem_cache {
	unsigned int size;
};

struct batch {
	struct batch *next;
	void *nodes[BATCH];
};

static __thread struct {
	void *nodes[2 * BATCH];
	int count;
} magazine;

static struct batch *depot;
static DEFINE_SPINLOCK(depot_lock);
static long batches_out; /* batches that threads hold, under depot_lock */

static void *need(void *block)
{
	if (!block)
		abort();
	return block;
}

static void refill(void)
{
	struct batch *batch;
	char *block;
	int i;

	spin_lock(&depot_lock);
	batch = depot;
	if (batch)
		depot = batch->next;
	batches_out++;
	spin_unlock(&depot_lock);
	if (batch) {
		memcpy(magazine.nodes, batch->nodes, sizeof(batch->nodes));
		free(batch);
	} else {
		block = need(aligned_alloc(NODE, BATCH * NODE));
		for (i = 0; i < BATCH; i++)
			magazine.nodes[i] = block + i * NODE;
	}
	magazine.count = BATCH;
}

static void flush_batch(void)
{
	struct batch *batch = need(malloc(sizeof(*batch)));

	magazine.count -= BATCH;
	memcpy(batch->nodes, magazine.nodes + magazine.count, sizeof(batch->nodes));
	spin_lock(&depot_lock);
	batch->next = depot;
	depot = batch;
	batches_out--;
	spin_unlock(&depot_lock);
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *))
{
	struct kmem_cache *cache = need(malloc(sizeof(*cache)));

	if (size != NODE)
		abort();
	cache->size = size;
	return cache;
}

void *kmem_cache_alloc_lru(struct kmem_cache *cache, struct list_lru *lru, int flags)
{
	if (!magazine.count)
		refill();
	return memset(magazine.nodes[--magazine.count], 0, NODE);
}

int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t count, void **nodes)
{
	size_t i;

	for (i = 0; i < count; i++)
		nodes[i] = kmem_cache_alloc_lru(cache, NULL, flags);
	return count;
}

void kmem_cache_free(struct kmem_cache *cache, void *node)
{
	if (magazine.count == 2 * BATCH)
		flush_batch();
	magazine.nodes[magazine.count++] = node;
}

void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **nodes)
{
	size_t i;

	for (i = 0; i < count; i++)
		kmem_cache_free(cache, nodes[i]);
}

struct linux_maple {
	struct maple_tree tree;
	int rcu;
};

struct linux_maple *linux_maple_new(int rcu)
{
	struct linux_maple *maple = need(aligned_alloc(64, (sizeof(*maple) + 63) / 64 * 64));

	if (!maple_node_cache)
		maple_tree_init();
	mt_init_flags(&maple->tree, MT_FLAGS_ALLOC_RANGE | (rcu ? MT_FLAGS_USE_RCU : 0));
	maple->rcu = rcu;
	return maple;
}

void linux_maple_free(struct linux_maple *maple)
{
	mtree_destroy(&maple->tree);
	free(maple);
}

void linux_maple_enter(void)
{
	rcu_register_thread();
}

/* Returns whole batches to the depot; the nodes that the thread keeps are a few KiB. */
void linux_maple_leave(void)
{
	while (magazine.count >= BATCH)
		flush_batch();
	rcu_unregister_thread();
}

uint64_t linux_maple_bytes(void)
{
	long batches;

	spin_lock(&depot_lock);
	batches = batches_out;
	spin_unlock(&depot_lock);
	return (uint64_t)batches * BATCH * NODE;
}

static void read_begin(struct linux_maple *maple)
{
	if (maple->rcu)
		rcu_read_lock();
	else
		spin_lock(&maple->tree.ma_lock);
}

static void read_end(struct linux_maple *maple)
{
	if (maple->rcu)
		rcu_read_unlock();
	else
		spin_unlock(&maple->tree.ma_lock);
}

int linux_maple_insert(struct linux_maple *maple, uint64_t first, uint64_t last, void *entry)
{
	return mtree_insert_range(&maple->tree, first, last, entry, GFP_KERNEL) == 0;
}

void *linux_maple_load(struct linux_maple *maple, uint64_t point)
{
	void *entry;

	if (maple->rcu)
		return mtree_load(&maple->tree, point); /* enters a read-side section by itself */
	spin_lock(&maple->tree.ma_lock);
	entry = mtree_load(&maple->tree, point);
	spin_unlock(&maple->tree.ma_lock);
	return entry;
}

void *linux_maple_erase(struct linux_maple *maple, uint64_t point)
{
	return mtree_erase(&maple->tree, point);
}

int linux_maple_alloc(struct linux_maple *maple, uint64_t first, uint64_t last, uint64_t size,
		      uint64_t align, uint64_t *start)
{
	MA_STATE(mas, &maple->tree, 0, 0);
	int failed;

	spin_lock(&maple->tree.ma_lock);
	failed = mas_empty_area_rev(&mas, first, last, size);
	/* not aligned: search again for a gap that is large enough to align in */
	if (!failed && ((mas.last + 1 - size) & (align - 1))) {
		mas_reset(&mas);
		failed = mas_empty_area_rev(&mas, first, last, size + align - 1);
	}
	if (!failed) {
		*start = (mas.last + 1 - size) & ~(align - 1);
		mas_set_range(&mas, *start, *start + size - 1);
		failed = mas_store_gfp(&mas, xa_mk_value(1), GFP_KERNEL);
	}
	spin_unlock(&maple->tree.ma_lock);
	return !failed;
}

void linux_maple_store(struct linux_maple *maple, uint64_t first, uint64_t last, void *entry,
		       int joined)
{
	MA_STATE(mas, &maple->tree, first, last);

	spin_lock(&maple->tree.ma_lock);
	if (joined) {
		mas_set(&mas, first - 1);
		if (mas_walk(&mas) == entry)
			first = mas.index;
		mas_set(&mas, last + 1);
		if (mas_walk(&mas) == entry)
			last = mas.last;
	}
	mas_set_range(&mas, first, last);
	if (mas_store_gfp(&mas, entry, GFP_KERNEL))
		abort();
	spin_unlock(&maple->tree.ma_lock);
}

int linux_maple_update(struct linux_maple *maple, uint64_t key, void *entry)
{
	MA_STATE(mas, &maple->tree, key, key);
	int found;

	spin_lock(&maple->tree.ma_lock);
	found = mas_walk(&mas) != NULL;
	if (found)
		mas_store_gfp(&mas, entry, GFP_KERNEL);
	spin_unlock(&maple->tree.ma_lock);
	return found;
}

int linux_maple_floor(struct linux_maple *maple, uint64_t point, uint64_t *key, uint64_t *value)
{
	MA_STATE(mas, &maple->tree, point, point);
	void *entry;

	read_begin(maple);
	entry = mas_walk(&mas);
	if (!entry)
		entry = mas_prev(&mas, 0);
	if (entry) {
		*key = mas.index;
		*value = (uint64_t)(uintptr_t)entry;
	}
	read_end(maple);
	return entry != NULL;
}

void linux_maple_scan(struct linux_maple *maple, uint64_t from, size_t length, linux_visit visit,
		      void *arg)
{
	MA_STATE(mas, &maple->tree, from, from);
	void *entry;

	if (!length)
		return;
	read_begin(maple);
	mas_for_each(&mas, entry, ULONG_MAX)
	{
		visit(arg, mas.index, (uint64_t)(uintptr_t)entry);
		if (!--length)
			break;
	}
	read_end(maple);
}
