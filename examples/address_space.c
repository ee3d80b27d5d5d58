/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * address_space.c - the regions of an address space, as threads of a virtual machine monitor or a
 * kernel change them at once.
 *
 * The index has the regions, and answers which one has an address, or where there is room, without
 * a lock of the caller's. A step of several calls holds its range in the meantime: others may
 * change all the rest.
 */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "lathwork/hole.h"
#include "lathwork/index.h"
#include "lathwork/range_lock.h"

#define PAGE UINT64_C(4096)
#define TOP (UINT64_C(1) << 47)

enum { NONE = 1, READ = 2, WRITE = 4 }; /* what a region may be used for: values of the index */

struct address_space {
	struct lath_index *regions;
	struct lath_range_locks locks;
};

/* 0 | -ENOMEM */
static int space_init(struct address_space *space)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_range_config locks = LATH_RANGE_CONFIG_INIT;
	int ret;

	locks.usual = 16 * PAGE;
	ret = lath_range_locks_init(&space->locks, &locks);
	if (ret)
		return ret;
	config.layout = LATH_RANGES;
	config.flags = LATH_HOLES;
	space->regions = lath_index_create(&config);
	if (!space->regions)
		lath_range_locks_fini(&space->locks);
	return space->regions ? 0 : -1;
}

static void space_fini(struct address_space *space)
{
	lath_index_destroy(space->regions, NULL, NULL);
	lath_range_locks_fini(&space->locks);
}

/* mmap() without an address: the highest room. 0 | -ENOSPC | -ENOMEM */
static int space_alloc(struct address_space *space, uint64_t size, uint64_t access, uint64_t *at)
{
	struct lath_hole_request want = {
		.size = size, .align = PAGE, .low = PAGE, .high = TOP, .policy = LATH_HOLE_LAST
	};

	return lath_index_insert_hole(space->regions, &want, access, at);
}

/* mmap() with MAP_FIXED: over what is there. 0 | -ENOMEM */
static int space_map(struct address_space *space, uint64_t at, uint64_t size, uint64_t access)
{
	struct lath_item region = { at, size, access };
	struct lath_range_hold hold;
	int ret;

	lath_range_lock(&space->locks, &hold, at, size, LATH_EXCLUSIVE_RANGE);
	ret = lath_index_store_range(space->regions, &region, NULL, NULL);
	lath_range_unlock(&space->locks, &hold);
	return ret;
}

/* munmap(): regions that are there in part are cut. The store does that, with a region that nobody
 * may use in their place; that one goes then. 0 | -ENOMEM */
static int space_unmap(struct address_space *space, uint64_t at, uint64_t size)
{
	struct lath_item gone = { at, size, NONE };
	struct lath_range_hold hold;
	int ret;

	lath_range_lock(&space->locks, &hold, at, size, LATH_EXCLUSIVE_RANGE);
	ret = lath_index_store_range(space->regions, &gone, NULL, NULL);
	if (!ret)
		ret = lath_index_erase_item(space->regions, at, NULL);
	lath_range_unlock(&space->locks, &hold);
	return ret;
}

static int equal(void *unused, const struct lath_item *left, const struct lath_item *right)
{
	(void)unused;
	return left->value == right->value;
}

/* mprotect(): the region is split where the range ends, and joined with neighbours that may be used
 * for the same. All of the range is mapped. 0 | -ENOMEM */
static int space_protect(struct address_space *space, uint64_t at, uint64_t size, uint64_t access)
{
	struct lath_item region = { at, size, access };
	struct lath_range_hold hold;
	int ret;

	lath_range_lock(&space->locks, &hold, at, size, LATH_EXCLUSIVE_RANGE);
	ret = lath_index_store_range(space->regions, &region, NULL, NULL);
	if (!ret) { /* a neighbour that differs, or none, is not an error */
		lath_index_join(space->regions, at, equal, NULL, NULL);
		lath_index_join(space->regions, at + size, equal, NULL, NULL);
	}
	lath_range_unlock(&space->locks, &hold);
	return ret;
}

/* A page fault: what the page may be used for, 0 if nothing is mapped. The region stays as it is
 * until the fault has been served. */
static uint64_t space_fault(struct address_space *space, uint64_t address)
{
	struct lath_range_hold hold;
	uint64_t access = 0;

	lath_range_lock(&space->locks, &hold, address / PAGE * PAGE, PAGE, LATH_SHARED_RANGE);
	if (!lath_index_get(space->regions, address, &access) || access == NONE)
		access = 0;
	/* ... the page is filled here ... */
	lath_range_unlock(&space->locks, &hold);
	return access;
}

static struct address_space space;

/* Maps, changes and unmaps regions of its own; others do the same elsewhere. */
static void *work(void *unused)
{
	uint64_t at;
	int i;

	(void)unused;
	for (i = 0; i < 1000; i++) {
		assert(!space_alloc(&space, 8 * PAGE, READ | WRITE, &at));
		assert(!space_protect(&space, at + 2 * PAGE, 4 * PAGE, READ));
		assert(space_fault(&space, at + 3 * PAGE) == READ);
		assert(!space_map(&space, at + 4 * PAGE, PAGE, READ | WRITE));
		assert(space_fault(&space, at + 4 * PAGE) == (READ | WRITE));
		assert(!space_unmap(&space, at, 8 * PAGE)); /* others may have it from here on */
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	struct lath_item item;
	uint64_t at, from = 0;
	int i;

	assert(!space_init(&space));
	for (i = 0; i < 2; i++)
		assert(!pthread_create(&threads[i], NULL, work, NULL));
	for (i = 0; i < 2; i++)
		assert(!pthread_join(threads[i], NULL));
	assert(!lath_index_count(space.regions));

	assert(!space_alloc(&space, 16 * PAGE, READ | WRITE, &at));
	assert(!space_protect(&space, at + 4 * PAGE, 4 * PAGE, READ));
	printf("16 pages, of which 4 were protected:\n");
	while (lath_index_ceiling_item(space.regions, from, &item) == 0) {
		printf("  pages %2" PRIu64 " to %2" PRIu64 " %s\n", (item.key - at) / PAGE,
		       (item.key + item.size - at) / PAGE - 1,
		       item.value & WRITE ? "read and write" : "read");
		from = item.key + item.size;
	}
	assert(!space_protect(&space, at + 4 * PAGE, 4 * PAGE, READ | WRITE));
	printf("changed back: %" PRIu64 " region\n", lath_index_count(space.regions));
	space_fini(&space);
	return 0;
}
