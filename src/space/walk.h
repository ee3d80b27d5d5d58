/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* walk.h - enumeration of what is allocated and of what is free. */
#ifndef LATH_SPACE_WALK_H
#define LATH_SPACE_WALK_H

#include "space/space.h"

/* A position between what is allocated and what is free. It keeps a copy of the bitmap it read
 * last, so that one walk reads each arena once. Set block to NO_BLOCK first. */
struct walk {
	struct lath_space *space;
	u64 block; /* of map */
	u64 map[ARENA_WORDS];
};

/* Returns the number of units from `unit` to the end of the map at most whose bits are as its bit.
 */
u64 lath_map_run(const u64 *map, u64 unit);
/* Finds the first run of keys at or behind `from` that are allocated (`taken`), or free. 0 |
 * -ENOENT. No lock held. */
int lath_walk_next(struct walk *walk, u64 from, bool taken, struct lath_item *run);

#endif /* LATH_SPACE_WALK_H */
