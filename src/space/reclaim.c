/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reclaim.c - what a space holds in reserve goes back to the index. */
#include "space/reclaim.h"

#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

bool space_reclaim(struct lath_space *space)
{
	bool any = magazines_flush(space); /* first: it may empty arenas */
	struct segment *segment;
	unsigned int i;

	/* `empty` counts the arenas of all sets: with 0 no set needs a look */
	for (segment = &space->first; segment; segment = segment_next(segment))
		for (i = 0; i < PARTS && READ_ONCE(space->empty); i++)
			any |= set_release(space, &segment->set[i]);
	return any;
}

void lath_space_trim(struct lath_space *space)
{
	lath_call_enter();
	space_reclaim(space);
	lath_call_exit();
}
