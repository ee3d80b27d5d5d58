/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* share.pml - a reader concurrently with writers that even out leaves to the right, split them, and
 * post afterwards. */
#define PROCS 3
#define ALWAYS 15 /* 0 1 2 3 */
#define NEVER 48  /* 4 5 */
#define RANGE 0
#define CROSSED 0

#include "level.pml"
#include "writers.pml"

proctype writer(byte me)
{
	LOCALS;

	enter();
	if
#ifdef BUG_TO_LEFT
	:: share_left(0)
#endif
	:: share(0)
	:: share(2)
	fi;
	leave()
}

proctype splitter(byte me)
{
	LOCALS;

	enter();
	split(1);
	leave()
}

init
{
	d_step {
		leaf[0].last = 2; leaf[0].right = 1; leaf[0].items = 7;
		leaf[1].low = 3; leaf[1].last = 5; leaf[1].right = NONE; leaf[1].items = 8;
		leaf[2].word = DEAD; freed[2] = 1;
		leaf[3].word = DEAD; freed[3] = 1;
		child[0] = 0; child[1] = NONE; child[2] = NONE; child[3] = 1; child[4] = NONE; child[5] = NONE;
		stands[0] = NONE; stands[1] = NONE; stands[2] = NONE
	}
	atomic { run reader(0, 1); run writer(1); run splitter(2) }
}
