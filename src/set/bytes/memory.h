/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory.h - blocks of the set's allocator.
 */
#ifndef LATH_INDEX_BYTES_MEMORY_H
#define LATH_INDEX_BYTES_MEMORY_H

#include "set/bytes/bytes.h"

/* Allocate a block of the set's allocator, aligned to 8, 16 or 64 bytes, and count its bytes. NULL:
 * no memory. / Free one of `size` bytes. */
void *lath_bytes_alloc(struct bytes_set *set, size_t size, size_t align);
void lath_bytes_free(struct bytes_set *set, void *block, size_t size);

#endif /* LATH_INDEX_BYTES_MEMORY_H */
