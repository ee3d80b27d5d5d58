/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* free.h - frees that pass by the magazines. */
#ifndef LATH_SPACE_FREE_H
#define LATH_SPACE_FREE_H

#include "space/space.h"

/* Frees whole units that are not in a magazine: block by block where there are arenas, else as a
 * whole. 0 | -EINVAL (a part is not allocated; what lies before it is free) | -ENOMEM. No lock
 * held. */
int lath_free_range(struct lath_space *space, u64 key, u64 size);

#endif /* LATH_SPACE_FREE_H */
