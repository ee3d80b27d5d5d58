/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reclaim.c - what a space holds in reserve goes back to the index. */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

bool lath_space_reclaim(struct lath_space *space)
{
	bool any = lath_magazines_flush(space); /* first: it may empty arenas */
	struct segment *segment;
	unsigned int i;

	/* `empty` counts the arenas of all sets: with 0 no set needs a look */
	for (segment = &space->first; segment; segment = segment_next(segment))
		for (i = 0; i < PARTS && READ_ONCE(space->empty); i++)
			any |= lath_set_release(space, &segment->set[i]);
	return any;
}

#ifdef __KERNEL__
/* Gives an index nodes for the next inserts. 0 | -ENOMEM */
static int index_preload(struct lath_index *index)
{
	struct lath_preload preload = { 0 };
	int ret = index ? lath_index_preload(index, &preload) : -ENOMEM;

	/* they come back to the pool of the index, which keeps its memory */
	if (!ret)
		lath_index_preload_release(index, &preload);
	return ret;
}

int lath_space_preload(struct lath_space *space, unsigned int arenas)
{
	struct segment *segment;
	unsigned int i;
	int ret = index_preload(lath_space_index(space, &space->index));

	if (!ret && has_arenas(space))
		ret = index_preload(lath_space_index(space, &space->arenas));
	for (i = 0; !ret && i < SLOTS && has_arenas(space); i++)
		if (cpu_possible(i) && !READ_ONCE(space->slot[i]) &&
		    !lath_slot_make(space, &space->slot[i]))
			ret = -ENOMEM;
	for (segment = &space->first; segment; segment = segment_next(segment))
		for (i = 0; !ret && i < PARTS && has_arenas(space); i++)
			if (!segment->set[i].empty)
				ret = set_preload(space, &segment->set[i], arenas);
	return ret;
}
#endif

void lath_space_trim(struct lath_space *space)
{
	lath_call_enter();
	lath_space_reclaim(space);
	lath_call_exit();
}
