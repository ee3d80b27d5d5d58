/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * block.h - a few elements in one block of the server's memory: the packed form of pools, sets of
 * intervals and maps of strings. The owner has the number of elements and their order. The block's
 * size follows from these, so no room is noted; no elements are no block, NULL.
 */
#ifndef LATH_VALKEY_BLOCK_H
#define LATH_VALKEY_BLOCK_H

#include <stddef.h>

#define BLOCK_STEP 64ul

/* The size of the block of n elements of `size` bytes: that of the elements; of pointers in steps,
 * as a copy of the block at each insert costs a tenth of the command, and the room little. */
static inline size_t block_size(size_t n, size_t size)
{
	if (size > sizeof(void *))
		return n * size;
	return (n * size + BLOCK_STEP - 1) & ~(BLOCK_STEP - 1);
}

/* Puts an element in place i of n elements of `size` bytes. Returns the block, which may have moved
 * | NULL: no memory, and the old one is as it was. */
void *block_insert(void *block, size_t n, size_t i, const void *element, size_t size);
/* Removes element i of n. Returns the block, which may have moved; NULL: it was the last one. */
void *block_remove(void *block, size_t n, size_t i, size_t size);

#endif /* LATH_VALKEY_BLOCK_H */
