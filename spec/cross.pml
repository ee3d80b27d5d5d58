/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cross.pml - a reader concurrently with the insert of a range across fence keys (a leaf becomes
 * half-dead, a low fence falls) and with a merge of the same leaves. A range that a reader has seen
 * once must be seen by all later reads.
 */
#define PROCS 3
#define ALWAYS 33 /* 0 5 */
#define NEVER 16  /* 4 */
#define RANGE 1
#define RANGE_END 3
#define CROSSED 14 /* 1 2 3 */

#include "level.pml"
#include "writers.pml"

proctype inserter(byte me)
{
	LOCALS;

	enter();
	insert_range();
	leave()
}

proctype merger(byte me)
{
	LOCALS;

	enter();
	if
	:: merge_at(0)
	:: merge_at(2)
	fi;
	leave()
}

init
{
	d_step {
		leaf[0].right = 1; leaf[0].items = 1;
		leaf[1].right = 2;
		leaf[2].low = 3; leaf[2].last = 5; leaf[2].right = NONE; leaf[2].items = 32;
		leaf[3].word = DEAD;
		child[0] = 0; child[1] = NONE; child[2] = NONE; child[3] = 2; child[4] = NONE; child[5] = NONE;
		stands[0] = NONE; stands[1] = NONE; stands[2] = NONE
	}
	if /* the range begins in the first leaf, or at the low fence of the second one */
	:: d_step { leaf[0].last = 1; leaf[1].low = 2; leaf[1].last = 2; child[2] = 1 }
	:: d_step { leaf[0].last = 0; leaf[1].low = 1; leaf[1].last = 2; child[1] = 1 }
	fi;
	atomic { run reader(0, 2); run inserter(1); run merger(2) }
}
