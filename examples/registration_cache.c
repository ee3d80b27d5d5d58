/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cache of registered memory, as libraries for RDMA keep one: registering memory with a device is
 * slow, so regions stay registered until memory is short, and each transfer takes a reference to
 * its region. A hit locks nothing and writes nothing that is shared but the region's count. Regions
 * that touch and have the same access rights become one. The program checks its own result.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <lathwork/index.h>

#define GOING (1u << 31) /* in refs: the region takes no reference any more */

struct region {
	struct lath_slot slot; /* the addresses; before all else, lath_item_slot() leads here */
	struct lath_rcu_head rcu;
	atomic_uint refs;
	int access;
};

struct cache {
	struct lath_index index;
	unsigned int hits, misses;
};

static struct region *region_of(const struct lath_item *item)
{
	return (struct region *)(void *)lath_item_slot(item);
}

static int pin(void *arg, const struct lath_item *item)
{
	struct region *region = region_of(item);

	(void)arg;
	if (!(atomic_fetch_add(&region->refs, 1) & GOING))
		return 1;
	atomic_fetch_sub(&region->refs, 1);
	return 0;
}

static void unpin(void *arg, const struct lath_item *item)
{
	(void)arg;
	atomic_fetch_sub(&region_of(item)->refs, 1);
}

static int same_access(void *arg, const struct lath_item *left, const struct lath_item *right)
{
	(void)arg;
	/* a region that is in use cannot become a part of another one */
	return region_of(left)->access == region_of(right)->access &&
	       !atomic_load(&region_of(right)->refs);
}

static void free_region(struct lath_rcu_head *head)
{
	free((char *)head - offsetof(struct region, rcu));
}

/* Join the two regions that meet at `at`, if they are alike. */
static void merge(struct cache *cache, uint64_t at)
{
	struct lath_item left, gone;

	if (lath_index_join(&cache->index, at, same_access, NULL, &gone))
		return;
	if (!lath_index_lookup_item(&cache->index, at, &left))
		region_of(&left)->slot.size = left.size;
	lath_rcu_auto.call(&region_of(&gone)->rcu, free_region);
}

/* 0, or the error of the insert. */
static int add(struct cache *cache, uint64_t address, uint64_t size, int access)
{
	struct region *region = calloc(1, sizeof(*region));
	int ret;

	if (!region)
		return -1;
	region->slot = (struct lath_slot){ address, size };
	region->access = access;
	ret = lath_index_insert(&cache->index, &region->slot, NULL);
	if (ret) {
		free(region);
		return ret;
	}
	merge(cache, address);
	merge(cache, address + size);
	return 0;
}

/* Returns the region that covers [address, address + size) with a reference, or NULL: register it.
 * A reference is given back by release(). */
static struct region *get(struct cache *cache, uint64_t address, uint64_t size)
{
	static const struct lath_pin how = { pin, unpin, NULL };
	struct lath_item item;

	if (!lath_index_lookup_pin(&cache->index, address, &how, &item)) {
		if (item.size - (address - item.key) >= size) {
			cache->hits++;
			return region_of(&item);
		}
		unpin(NULL, &item);
	}
	cache->misses++;
	return NULL;
}

static void release(struct region *region)
{
	atomic_fetch_sub(&region->refs, 1);
}

/* Take the region at address out, unless it is in use. Returns whether it went. */
static int evict(struct cache *cache, uint64_t address)
{
	struct lath_item item;
	unsigned int unused = 0;
	struct region *region;

	if (lath_index_lookup_item(&cache->index, address, &item))
		return 0;
	region = region_of(&item);
	if (!atomic_compare_exchange_strong(&region->refs, &unused, GOING))
		return 0;
	lath_index_erase_item(&cache->index, item.key, NULL);
	lath_rcu_auto.call(&region->rcu, free_region); /* others may still look at refs */
	return 1;
}

static void drop(void *arg, const struct lath_item *item)
{
	(void)arg;
	free(region_of(item));
}

int main(void)
{
	static struct cache cache;
	struct region *region;
	uint64_t at;

	assert(!lath_index_init(&cache.index, NULL));
	for (at = 0; at < 100; at++) /* a buffer, page by page: one region in the end */
		assert(!add(&cache, 0x10000 + at * 4096, 4096, 3));
	assert(!add(&cache, 0x10000 + 100 * 4096, 4096, 1)); /* other rights: its own region */
	assert(lath_index_count(&cache.index) == 2);

	region = get(&cache, 0x12345, 65536);
	assert(region && region->access == 3);
	assert(!get(&cache, 0x12345, 1 << 20)); /* not all of it is registered */
	assert(!evict(&cache, 0x12345));	/* in use */
	release(region);
	assert(evict(&cache, 0x12345));
	assert(!get(&cache, 0x12345, 1));
	printf("%u hit, %u misses, %" PRIu64 " region left\n", cache.hits, cache.misses,
	       lath_index_count(&cache.index));

	lath_index_fini(&cache.index, drop, NULL);
	lath_rcu_auto.drain();
	return 0;
}
