/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * block.c - a few elements in one block.
 */
#include "block.h"

#include <string.h>

#include "api.h"
#include "assertion.h"

void *block_insert(void *block, size_t n, size_t i, const void *element, size_t size)
{
	char *to = block;

	LATH_ASSERT(i <= n && (block || !n));
	if (block_size(n + 1, size) != block_size(n, size)) {
		/* not Realloc(): it ends the server where there is no memory */
		to = vk.TryAlloc(block_size(n + 1, size));
		if (!to)
			return NULL;
		if (i)
			memcpy(to, block, i * size);
	}
	if (i < n)
		memmove(to + (i + 1) * size, (char *)block + i * size, (n - i) * size);
	memcpy(to + i * size, element, size);
	if (to != block)
		vk.Free(block);
	return to;
}

void *block_remove(void *block, size_t n, size_t i, size_t size)
{
	char *at = (char *)block + i * size;

	LATH_ASSERT(i < n && block);
	if (n == 1) {
		vk.Free(block);
		return NULL;
	}
	memmove(at, at + size, (n - 1 - i) * size);
	if (block_size(n - 1, size) == block_size(n, size))
		return block;
	return vk.Realloc(block, block_size(n - 1, size));
}
