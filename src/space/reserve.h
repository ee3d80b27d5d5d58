/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reserve.h - allocation of given keys. */
#ifndef LATH_SPACE_RESERVE_H
#define LATH_SPACE_RESERVE_H

#include "space/space.h"

/* Takes exactly [key, key + size), which is charged to the count and lies in one segment, from
 * arenas and the index. 0 | -EBUSY | -ENOMEM: none of it is taken or charged any longer. No lock
 * held. */
int lath_reserve_range(struct lath_space *space, struct segment *segment, u64 *count, u64 key,
		       u64 size, u64 cookie);

#endif /* LATH_SPACE_RESERVE_H */
