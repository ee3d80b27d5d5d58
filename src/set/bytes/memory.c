/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory.c - blocks of the set's allocator, counted.
 */
#include "set/bytes/bytes.h"

void *lath_bytes_alloc(struct bytes_set *set, size_t size, size_t align)
{
	const struct lath_allocator *from = set->config.allocator;
	void *block;

	if (from)
		block = from->alloc(from->ctx, size, align);
	else
		block = align < 64 ? lath_small_alloc(size) : lath_block_alloc(size);
	if (block)
		lath_fetch_add(&set->bytes, size);
	return block;
}

void lath_bytes_free(struct bytes_set *set, void *block, size_t size)
{
	const struct lath_allocator *to = set->config.allocator;

	LATH_ASSERT(READ_ONCE(set->bytes) >= size); /* counted when it was allocated */
	lath_fetch_add(&set->bytes, -(u64)size);
	if (to)
		to->free(to->ctx, block, size);
	else
		lath_block_free(block);
}
