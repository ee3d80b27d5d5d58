/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* memory.h - the memory of a space, counted in space->bytes, and its indexes. */
#ifndef LATH_SPACE_MEMORY_H
#define LATH_SPACE_MEMORY_H

#include "space/space.h"

/* Allocates `size` bytes, zeroed and aligned to 64. Returns NULL without memory. No lock held. */
void *lath_space_memory_alloc(struct lath_space *space, size_t size);
/* Frees what lath_space_memory_alloc() returned for this size; NULL is nothing. */
void lath_space_memory_free(struct lath_space *space, void *p, size_t size);

/* Returns the index at *at, space->index or space->arenas; makes it if there is none. NULL: no
 * memory. No lock held. */
struct lath_index *lath_space_index(struct lath_space *space, struct lath_index **at);

#endif /* LATH_SPACE_MEMORY_H */
