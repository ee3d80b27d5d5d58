/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * post.pml - a separator that is posted late: a reader, a redistribution and a merge of the same
 * leaves, which each tell the parent something else.
 */
#define PROCS 3
#define ALWAYS 19 /* 0 1 4 */
#define NEVER 44  /* 2 3 5 */
#define RANGE 0
#define CROSSED 0

#include "level.pml"
#include "writers.pml"

proctype sharer(byte me)
{
	LOCALS;

	enter();
	share(0);
	leave()
}

proctype merger(byte me)
{
	LOCALS;

	enter();
	merge_at(4);
	leave()
}

init
{
	d_step {
		leaf[0].last = 2; leaf[0].right = 1; leaf[0].items = 3;
		leaf[1].low = 3; leaf[1].last = 5; leaf[1].right = NONE; leaf[1].items = 16;
		leaf[2].word = DEAD;
		leaf[3].word = DEAD;
		child[0] = 0; child[1] = NONE; child[2] = NONE; child[3] = 1; child[4] = NONE; child[5] = NONE;
		stands[0] = NONE; stands[1] = NONE; stands[2] = NONE
	}
	atomic { run reader(0, 1); run sharer(1); run merger(2) }
}
