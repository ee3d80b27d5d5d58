/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * malloc_test.c - lath_malloc_allocator() over a malloc that aligns to 8 bytes only: blocks are
 * aligned, every byte is counted and comes back, and an index works on it and without memory.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lathwork/index.h"

#define BLOCKS 500

static size_t bytes, limit = SIZE_MAX;

/* Blocks of malloc, moved by 8 bytes. */
static void *odd_malloc(size_t size)
{
	char *block = bytes + size > limit ? NULL : malloc(size + 16);

	if (!block)
		return NULL;
	*(size_t *)(void *)block = size;
	bytes += size;
	return block + 8;
}

static void odd_free(void *block)
{
	bytes -= *(size_t *)(void *)((char *)block - 8);
	free((char *)block - 8);
}

static struct lath_malloc memory = { odd_malloc, odd_free, 0 };

static void blocks(const struct lath_allocator *allocator)
{
	unsigned char *block[BLOCKS];
	size_t i, size, align;

	for (i = 0; i < BLOCKS; i++) {
		size = i * 7 % 3000 + 1;
		align = (size_t)1 << i % 13;
		block[i] = allocator->alloc(allocator->ctx, size, align);
		assert(block[i] && !((uintptr_t)block[i] & (align - 1)));
		block[i][0] = block[i][size - 1] = (unsigned char)i;
	}
	assert(lath_malloc_bytes(&memory) == bytes);
	for (i = 0; i < BLOCKS; i++) {
		size = i * 7 % 3000 + 1;
		assert(size == 1 || block[i][0] == (unsigned char)i);
		assert(block[i][size - 1] == (unsigned char)i);
		allocator->free(allocator->ctx, block[i], size);
	}
	allocator->free(allocator->ctx, NULL, 0);
	for (i = 0; i < 80; i++)
		assert(!allocator->alloc(allocator->ctx, SIZE_MAX - i, 64));
	assert(!allocator->alloc(allocator->ctx, 1, (size_t)1 << 63));
	assert(!bytes && !lath_malloc_bytes(&memory));
}

int main(void)
{
	struct lath_allocator allocator = lath_malloc_allocator(&memory);
	struct lath_config config = LATH_CONFIG_INIT;
	static struct lath_index index, none;
	struct lath_item item = { 0, 1, 0 };

	blocks(&allocator);
	config.allocator = &allocator;
	assert(!lath_index_init(&index, &config));
	for (item.key = 0; item.key < 100000; item.key++)
		assert(!lath_index_insert_item(&index, &item, NULL));
	assert(lath_malloc_bytes(&memory) == bytes && bytes > 100000 * 24);
	limit = bytes;
	while (!lath_index_insert_item(&index, &item, NULL))
		item.key++;
	assert(lath_index_count(&index) == item.key);
	assert(lath_index_clone(&none, &index, &config) == -ENOMEM);
	limit = SIZE_MAX;
	assert(!lath_index_insert_item(&index, &item, NULL));
	lath_index_fini(&index, NULL, NULL);
	assert(!bytes && !lath_malloc_bytes(&memory));
	return 0;
}
