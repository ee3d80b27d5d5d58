/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge.pml - a reader concurrently with two merges of a leaf into its left sibling, and a split
 * that reuses the node of a merged leaf after its grace period.
 */
#define PROCS 4
#define ALWAYS 21 /* 0 2 4 */
#define NEVER 42  /* 1 3 5 */
#define RANGE 0
#define CROSSED 0

#include "level.pml"
#include "writers.pml"

proctype merger(byte me; byte key)
{
	LOCALS;

	enter();
	merge_at(key);
	leave()
}

proctype splitter(byte me)
{
	LOCALS;

	if
	:: freed[0] || freed[1] || freed[2] || freed[3] ->
		enter();
		split(0);
		leave()
	:: else
	fi
}

init
{
	d_step {
		leaf[0].last = 1; leaf[0].right = 1; leaf[0].items = 1;
		leaf[1].low = 2; leaf[1].last = 3; leaf[1].right = 2; leaf[1].items = 4;
		leaf[2].low = 4; leaf[2].last = 5; leaf[2].right = NONE; leaf[2].items = 16;
		leaf[3].word = DEAD;
		child[0] = 0; child[1] = NONE; child[2] = 1; child[3] = NONE; child[4] = 2; child[5] = NONE;
		stands[0] = NONE; stands[1] = NONE; stands[2] = NONE; stands[3] = NONE
	}
	atomic { run reader(0, 1); run merger(1, 0); run merger(2, 2); run splitter(3) }
}
