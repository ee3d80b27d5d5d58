/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * level.pml - one level of leaves under one parent, as in src/tree.
 *
 * Every shared field is one variable, and every load or store of it is one step, so a reader can
 * run between any two stores of a writer. Simplified: a leaf's items are one mask (bit k: an item
 * covers key k), searched by one load; there is one inner node; nodes never fill up; a reader
 * retries without limit; all steps are sequentially consistent. Names are those of the C files.
 *
 * The including file defines PROCS and, as masks, which keys are present throughout (ALWAYS), which
 * never are (NEVER), and which belong to the range of insert_range (CROSSED, see writers.pml). Each
 * BUG_... breaks one step; ./check lists them.
 */
#define KEYS 6
#define NODES 4
#define NONE 255
#define HOME 254 /* what node_retire stores in `right`: the pool, no leaf */

#define LOCKED 1
#define DEAD 2
#define HALF_DEAD 4
#define VERSION 8

#define BIT(k) (1 << (k))

typedef node {
	byte word;
	byte low;
	byte last;
	byte right;
	byte items
};

node leaf[NODES];
byte up_word;      /* the parent's lockword */
byte child[KEYS];  /* child[k]: the child whose separator is k, or NONE */

/* ---- readers and reclamation ---- */

byte inside;         /* bit p: process p is in a read-side critical section */
byte waits[NODES];   /* bit p: a retired node waits for process p */
bit retired[NODES];
bit freed[NODES];
#ifdef HOST
bit bare[NODES];    /* the host has the node's memory: it reads as zeros */
byte pool_version; /* no node came back with a greater one */
#endif
byte stands[PROCS];  /* the leaf that a process's descent has reached */

#define READY(n) (retired[n] && !waits[n])

inline enter()
{
	inside = inside | BIT(me)
}

inline leave()
{
	d_step {
		stands[me] = NONE;
		inside = inside & ~BIT(me);
		waits[0] = waits[0] & ~BIT(me);
		waits[1] = waits[1] & ~BIT(me);
		waits[2] = waits[2] & ~BIT(me);
		waits[3] = waits[3] & ~BIT(me);
		at = 0; w = 0; i = 0; j = 0; next = 0; left = 0; right = 0; moved = 0
	}
}

inline call_rcu(n)
{
#ifdef BUG_NO_GRACE_PERIOD
	retired[n] = 1
#else
	d_step { retired[n] = 1; waits[n] = inside }
#endif
}

inline node_retire(n)
{
	leaf[n].right = HOME;
	call_rcu(n)
}

/* The grace period is over: no process may be at the node. */
inline free_node(n)
{
	retired[n] = 0;
	freed[n] = 1;
#ifdef HOST
	pool_version = (leaf[n].word > pool_version -> leaf[n].word & ~(LOCKED | DEAD | HALF_DEAD) : pool_version);
#endif
	p = 0;
	do
	:: p < PROCS -> assert(stands[p] != n); p++
	:: else -> break
	od;
	p = 0
}

active proctype reclaim()
{
	byte p;
end:
	do
	:: d_step { READY(0) -> free_node(0) }
	:: d_step { READY(1) -> free_node(1) }
	:: d_step { READY(2) -> free_node(2) }
	:: d_step { READY(3) -> free_node(3) }
	od
}

/* Takes a node from the pool: one that was never used, or was freed. */
inline node_alloc(n)
{
	d_step {
		if
		:: freed[0] -> n = 0
		:: else ->
			if
			:: freed[1] -> n = 1
			:: else ->
				if
				:: freed[2] -> n = 2
				:: else -> assert(freed[3]); n = 3
				fi
			fi
		fi;
		freed[n] = 0;
#ifdef HOST
		if
#ifdef BUG_POOL_FORGETS
		:: bare[n] -> leaf[n].word = DEAD
#else
		:: bare[n] -> leaf[n].word = pool_version | DEAD
#endif
		:: else
		fi;
		bare[n] = 0
#endif
	}
}

/* ---- lockwords ---- */

inline node_lock(n)
{
	assert(!freed[n]);
	atomic { !(leaf[n].word & LOCKED) -> leaf[n].word = leaf[n].word | LOCKED }
}

inline node_unlock_clean(n)
{
	leaf[n].word = leaf[n].word & ~LOCKED
}

inline node_unlock(n)
{
#ifdef BUG_VERSION_KEPT
	node_unlock_clean(n)
#else
	d_step {
		leaf[n].word = (leaf[n].word & ~LOCKED) + VERSION;
		assert(leaf[n].word >= VERSION) /* the model's version has not wrapped */
	}
#endif
}

/* The node is complete: make it visible. */
inline node_open(n)
{
#ifdef BUG_VERSION_RESTARTS
	leaf[n].word = VERSION
#else
	leaf[n].word = (leaf[n].word & ~(LOCKED | DEAD | HALF_DEAD)) + VERSION
#endif
}

/* low only falls while the node lives */
inline set_low(n, value)
{
	d_step { assert(value <= leaf[n].low); leaf[n].low = value }
}

inline lock_up()
{
	atomic { !(up_word & LOCKED) -> up_word = up_word | LOCKED }
}

inline unlock_up()
{
	up_word = (up_word & ~LOCKED) + VERSION
}

/* A separator is never below its child's low fence. */
inline set_child(k, n)
{
	d_step { assert(freed[n] || leaf[n].low <= k); child[k] = n }
}

/* Sets i to the last separator at or below k. */
inline inner_slot(k)
{
	i = k;
	do
	:: child[i] == NONE && i > 0 -> i--
	:: else -> break
	od
}

/* ---- the descent (descend.h) ---- */

/* Sets `at` to the leaf that covers key, and w to its lockword when that was so. */
inline find_leaf(key)
{
	at = NONE;
	do
	:: at == NONE -> /* at the parent */
		atomic { !(up_word & LOCKED) -> w = up_word };
		inner_slot(key);
		next = child[i];
		if
		:: d_step { up_word == w -> at = next; stands[me] = next }
		:: else
		fi
	:: else ->
		assert(at < NODES && !freed[at]);
		atomic { !(leaf[at].word & LOCKED) -> w = leaf[at].word };
		if
		:: w & DEAD ->
#ifdef BUG_DEAD_GOES_RIGHT
			at = leaf[at].right;
			stands[me] = at
#else
			at = NONE
#endif
		:: else ->
			if
#ifdef BUG_HALF_DEAD_ANSWERS
			:: key <= leaf[at].last -> break
#else
			:: key <= leaf[at].last && !(w & HALF_DEAD) -> break
#endif
			:: else ->
				next = leaf[at].right;
				if
				:: d_step { leaf[at].word == w -> at = next; stands[me] = next }
				:: else
				fi
			fi
		fi
	od
}

inline lock_leaf(key)
{
	do
	:: find_leaf(key);
		if
#ifdef BUG_LOCK_BLIND
		:: atomic { !(leaf[at].word & LOCKED) -> leaf[at].word = leaf[at].word | LOCKED }; break
#else
		:: d_step { leaf[at].word == w -> leaf[at].word = w | LOCKED }; break
		:: else
#endif
		fi
	od
}

/* ---- readers ---- */

byte stored; /* keys whose insert has returned, or which a reader has seen */

#define LOCALS byte at, w, i, j, next, left, right, moved

/* lookup_item, and what a hit and a miss imply */
proctype reader(byte me; byte times)
{
	LOCALS;
	byte key, hit, before;

	do
	:: times > 0 ->
		atomic {
			times--;
			if
			:: key = 0
			:: key = 1
			:: key = 2
			:: key = 3
			:: key = 4
			:: key = 5
			fi;
			before = stored;
			enter()
		};
		do
		:: find_leaf(key);
			hit = leaf[at].items & BIT(key);
			if
#ifdef BUG_NO_RECHECK
			:: true -> break
#else
			:: leaf[at].word == w -> break
			:: else
#endif
			fi
		od;
		atomic {
			assert(hit || !((ALWAYS | before) & BIT(key)));
			assert(!hit || !(NEVER & BIT(key)));
			stored = stored | (hit & CROSSED)
		};
		leave();
		d_step { key = 0; hit = 0; before = 0 }
	:: else -> break
	od
}
