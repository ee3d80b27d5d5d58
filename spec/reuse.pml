/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * reuse.pml - fingers and a cursor concurrently with a merge and a split that reuses the merged
 * leaf's node.
 *
 * A finger points to a leaf that an earlier call used; a cursor remembers a leaf and its lockword.
 * Neither is in a read-side critical section in the meantime. The memory may be in the pool, be zeros
 * because the host has taken it, or be another leaf by now; it is never anything else.
 */
#define PROCS 3
#define HOST
#define ALWAYS 53 /* 0 2 4 5 */
#define NEVER 2   /* 1 */
#define RANGE 3
#define CROSSED 8 /* inserted by a finger */

#include "level.pml"
#include "writers.pml"

#define REMEMBERED 1

/* node_holds: sets `found` to whether the leaf covers key under the lockword w. */
inline node_holds(key)
{
	at = REMEMBERED;
	w = leaf[at].word;
	found = (key >= leaf[at].low);
	found = found && key <= leaf[at].last && !(w & (LOCKED | DEAD | HALF_DEAD))
}

/* Lookup by a finger or a slot of the hint table, without a section. After a miss it would descend:
 * see the other models. */
proctype finger()
{
	byte at, w, key, hit, before, found;

	atomic {
		if
		:: key = 0
		:: key = 1
		:: key = 2
		:: key = 3
		:: key = 4
		:: key = 5
		fi;
		before = stored
	};
	node_holds(key);
	hit = leaf[at].items & BIT(key);
	if
	:: atomic {
		found && leaf[at].word == w ->
		assert(hit || !((ALWAYS | before) & BIT(key)));
		assert(!hit || !(NEVER & BIT(key)))
	   }
	:: else
	fi
}

/* Insert by a finger: locks a leaf without a section. The lockword shows that the leaf is in use,
 * and the lock keeps it so. */
proctype inserter()
{
	byte at, w, found;

	node_holds(RANGE);
	if
	:: found ->
		if
#ifdef BUG_LOCK_BLIND
		:: atomic { !(leaf[at].word & LOCKED) -> leaf[at].word = leaf[at].word | LOCKED };
#else
		:: d_step { leaf[at].word == w -> leaf[at].word = w | LOCKED };
#endif
			leaf[at].items = leaf[at].items | BIT(RANGE);
			node_unlock(at);
			stored = stored | BIT(RANGE)
#ifndef BUG_LOCK_BLIND
		:: else
#endif
		fi
	:: else
	fi
}

/* cursor.c, step_in_leaf(), without a section: entries read under an unchanged lockword are those
 * of the leaf that the cursor stood on. */
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

/* The host takes the memory of a node that nobody uses (pool.c). Zeros are a dead node; the word here
 * has the flag the other way round. */
active proctype host()
{
	byte n;
end:
	d_step {
		freed[REMEMBERED] && !bare[REMEMBERED] ->
		n = REMEMBERED;
		bare[n] = 1;
#ifdef BUG_ZEROS_ALIVE
		leaf[n].word = 0;
#else
		leaf[n].word = DEAD;
#endif
		leaf[n].low = 0; leaf[n].last = 0; leaf[n].right = 0; leaf[n].items = 0
	}
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
	atomic {
		run merger(1);
		run splitter(2);
		if
		:: run cursor()
		:: run inserter(); run finger()
		:: run inserter(); run reader(0, 1)
		fi
	}
}
