/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reclaim.h - what a space holds in reserve goes back to the index. */
#ifndef LATH_SPACE_RECLAIM_H
#define LATH_SPACE_RECLAIM_H

#include "space/space.h"

/* Returns the blocks of all magazines to the arenas, and empty arenas to the index. Returns whether
 * there was one. No lock held. */
bool lath_space_reclaim(struct lath_space *space);

#endif /* LATH_SPACE_RECLAIM_H */
