/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* memory.h - the memory of a space, counted in space->bytes, and its indexes. */
#ifndef LATH_SPACE_MEMORY_H
#define LATH_SPACE_MEMORY_H

#include "space/space.h"

/* Allocates `size` bytes, zeroed and aligned to 64. Returns NULL without memory. No lock held. */
void *space_alloc(struct lath_space *space, size_t size);
/* Frees what space_alloc() returned for this size; NULL is nothing. */
void space_free(struct lath_space *space, void *p, size_t size);

/* Returns the index at *at, space->index or space->arenas; makes it if there is none. NULL: no
 * memory. No lock held. */
struct lath_index *space_index(struct lath_space *space, struct lath_index **at);

#endif /* LATH_SPACE_MEMORY_H */
