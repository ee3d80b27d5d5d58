/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* large.h - requests that go to the index: large, coarsely aligned, limited, or refused elsewhere;
 * and to any place of arenas. */
#ifndef LATH_SPACE_LARGE_H
#define LATH_SPACE_LARGE_H

#include "space/space.h"

/* Serves a request for `size` keys at a multiple of align from the segments whose bits are set.
 * refused: no arena's grade suffices. asked: the index has just refused it. 0 | -ENOSPC | -ENOMEM.
 * No lock held. */
int lath_alloc_large(struct lath_space *space, u64 segments, u64 size, u64 align, u64 cookie,
		     bool refused, bool asked, u64 *key);
/* Serves a request for keys below `high`, if it is small and there are arenas from these first, of
 * which it opens more. Results as those of lath_alloc_large(). */
int lath_alloc_below(struct lath_space *space, u64 high, u64 size, u64 align, u64 cookie, u64 *key);
/* Serves a request with limits and a policy from all segments. Results as those of
 * lath_alloc_large(). */
int lath_alloc_request(struct lath_space *space, const struct lath_hole_request *want, u64 cookie,
		       u64 *key);

#endif /* LATH_SPACE_LARGE_H */
