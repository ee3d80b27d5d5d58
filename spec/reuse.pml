/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * reuse.pml - a finger and a cursor beside a merge and a split that takes the merged leaf's node.
 *
 * The finger points to a leaf remembered in an earlier call, the cursor remembers a leaf and its
 * word; neither kept a reader since. The memory may be another leaf by now; it is never anything else.
 */
#define PROCS 3
#define ALWAYS 53 /* 0 2 4 5 */
#define NEVER 10  /* 1 3 */
#define RANGE 0
#define CROSSED 0

#include "level.pml"
#include "writers.pml"

#define REMEMBERED 1

/* finger_try, and the walk if it gives nothing; then the search as in a lookup */
proctype finger(byte me)
{
	LOCALS;
	byte key, hit;

	atomic {
		if
		:: key = 0
		:: key = 1
		:: key = 2
		:: key = 3
		:: key = 4
		:: key = 5
		fi;
		enter()
	};
	do
	:: at = REMEMBERED;
		w = leaf[at].word;
		if
		:: (w & (LOCKED | DEAD | VOID)) || key < leaf[at].low ->
			find_leaf(key)
		:: else ->
			if
			:: key > leaf[at].last -> find_leaf(key)
			:: else
			fi
		fi;
		hit = leaf[at].items & BIT(key);
		if
		:: leaf[at].word == w -> break
		:: else
		fi
	od;
	assert(hit || !(ALWAYS & BIT(key)));
	assert(!hit || !(NEVER & BIT(key)));
	leave()
}

/* cursor.c step_in_leaf: no reader; entries under an unchanged word are those of the leaf it stood on. */
proctype cursor()
{
	byte word, items, low, now_items, now_low;

	atomic {
		!(leaf[REMEMBERED].word & (LOCKED | DEAD));
		word = leaf[REMEMBERED].word;
		items = leaf[REMEMBERED].items;
		low = leaf[REMEMBERED].low
	};
	if
	:: leaf[REMEMBERED].word == word ->
		now_items = leaf[REMEMBERED].items;
		now_low = leaf[REMEMBERED].low;
		if
		:: leaf[REMEMBERED].word == word -> assert(now_items == items && now_low == low)
		:: else
		fi
	:: else
	fi
}

proctype merger(byte me)
{
	LOCALS;

	enter();
	merge_at(0);
	leave()
}

proctype splitter(byte me)
{
	LOCALS;

	freed[0] || freed[1] || freed[2] || freed[3];
	enter();
	split(4);
	leave()
}

init
{
	d_step {
		leaf[0].word = VERSION; leaf[1].word = VERSION; leaf[2].word = VERSION;
		leaf[0].last = 1; leaf[0].right = 1; leaf[0].items = 1;
		leaf[1].low = 2; leaf[1].last = 3; leaf[1].right = 2; leaf[1].items = 4;
		leaf[2].low = 4; leaf[2].last = 5; leaf[2].right = NONE; leaf[2].items = 48;
		leaf[3].word = DEAD;
		child[0] = 0; child[1] = NONE; child[2] = 1; child[3] = NONE; child[4] = 2; child[5] = NONE;
		stands[0] = NONE; stands[1] = NONE; stands[2] = NONE
	}
	atomic { run finger(0); run cursor(); run merger(1); run splitter(2) }
}
