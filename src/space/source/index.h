/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * index.h - the index of a space, which has an item per range that no arena serves and per arena.
 * (What an arena is: arena_mark(), space.h.)
 */
#ifndef LATH_SPACE_SOURCE_INDEX_H
#define LATH_SPACE_SOURCE_INDEX_H

#include "space/space.h"

/* Takes the hole of the index that the request, whose keys are charged, asks for. 0 | -ENOSPC |
 * -EINVAL | -ENOMEM. No lock held. */
int lath_index_alloc(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
		     u64 *key);
/* Frees [key, key + size) up to the first arena; *freed: how much that is. 0 | -EINVAL (not all of
 * it is allocated; nothing changed) | -ENOMEM (only a part, from key on, is free). No lock held. */
int lath_index_free(struct lath_space *space, u64 key, u64 size, u64 *freed);

#endif /* LATH_SPACE_SOURCE_INDEX_H */
