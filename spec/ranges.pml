/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ranges.pml - locks on ranges (src/lock/range_lock.c): three ranges that overlap, of two classes.
 * The lists of a class are one bucket. A step in braces is made under that bucket's lock.
 *
 * The first two ranges are of class 0, the third of class 1. Which of the small ones are shared is
 * chosen at the beginning. Each process locks its range, the first one twice.
 *
 * Claims: no two ranges are held that exclude each other; of two ranges of one class that exclude
 * each other, the one that came first holds first; no process sleeps for ever.
 */
#define RANGES 3
#define LARGE 2

bit class_used[2];	  /* locks->classes */
byte place[RANGES];	  /* in the list of its class: 0: in none, else the order of coming */
byte cls[RANGES];	  /* the class in whose list the range is */
byte probe[RANGES];	  /* the place of the large range's probe in list 0, likewise */
byte came[2];		  /* how many have come to a list so far */
byte blockers[RANGES];
bit asleep[RANGES];	  /* hold->state; sleeping ends when it is 0 */
bit shared[RANGES];
bit held[RANGES];

#define CONFLICT(a, b) (!(shared[a] && shared[b]))
/* Does range a, in its list, block range b behind it in the same one, or the probe of b? */
#define BLOCKS(a, b) (a != b && place[a] && CONFLICT(a, b) && \
		      ((place[b] > place[a] && cls[a] == cls[b]) || \
		       (probe[b] > place[a] && cls[a] == 0)))

inline unblock(a, b)
{
	if
	:: BLOCKS(a, b) ->
#ifndef BUG_NO_UNBLOCK
		blockers[b]--;
		if
		:: !blockers[b] -> asleep[b] = 0
		:: else
		fi
#else
		skip
#endif
	:: else
	fi
}

/* The range enters the list of its class, and counts who is before it. */
inline enter()
{
	d_step {
		came[cls[me]]++;
		place[me] = came[cls[me]];
		blockers[me] = BLOCKS(0, me) + BLOCKS(1, me) + BLOCKS(2, me)
	}
}

inline leave()
{
	d_step {
		unblock(me, 0);
		unblock(me, 1);
		unblock(me, 2);
		place[me] = 0
	}
}

inline wait_for_turn()
{
	do
	:: !blockers[me] -> break
	:: else ->
#ifdef BUG_CHECK_BEFORE_SLEEP
		asleep[me] = 1;
#else
		asleep[me] = 1;
		if
		:: !blockers[me] -> asleep[me] = 0; break
		:: else
		fi;
#endif
		!asleep[me]
	od
}

/* Does a range of class 1 conflict, held or waiting? */
inline look_above()
{
	d_step {
		above = (0 != me && place[0] && cls[0] == 1 && CONFLICT(0, me)) ||
			(1 != me && place[1] && cls[1] == 1 && CONFLICT(1, me)) ||
			(2 != me && place[2] && cls[2] == 1 && CONFLICT(2, me))
	}
}

/* A probe waits for the ranges of class 0 that are there. */
inline wait_below()
{
	d_step {
		came[0]++;
		probe[me] = came[0];
		blockers[me] = blockers[me] +
			(0 != me && place[0] && cls[0] == 0 && CONFLICT(0, me)) +
			(1 != me && place[1] && cls[1] == 0 && CONFLICT(1, me))
	};
	wait_for_turn();
	probe[me] = 0
}

inline lock()
{
	cls[me] = (me == LARGE);
	do
	:: 1 ->
#ifndef BUG_CLASS_LATE
		class_used[cls[me]] = 1;
#endif
#ifdef BUG_LOOK_BEFORE_ENTER
		look_above();
		enter();
#else
		enter();
		look_above();
#endif
		if
		:: above && cls[me] == 0 && class_used[1] ->
#ifdef BUG_STAY_BELOW
			wait_for_turn();
			break
#else
			leave();
			cls[me] = 1
#endif
		:: else ->
			wait_for_turn();
			if
			:: cls[me] == 1 && class_used[0] ->
#ifndef BUG_NO_PROBE
				wait_below()
#else
				skip
#endif
			:: else
			fi;
			break
		fi
	od;
	class_used[cls[me]] = 1
}

proctype thread(byte me)
{
	bit above;
	byte round;

	do
	:: round < 1 + (me == 0) ->
		lock();
		held[me] = 1;
		assert(!(held[0] && held[1] && CONFLICT(0, 1)));
		assert(!(held[0] && held[2] && CONFLICT(0, 2)));
		assert(!(held[1] && held[2] && CONFLICT(1, 2)));
		/* nobody of its class who came before it waits for it */
		assert(!BLOCKS(0, me) && !BLOCKS(1, me) && !BLOCKS(2, me));
		held[me] = 0;
		leave();
		round++
	:: else -> break
	od
}

init
{
	if
	:: shared[0] = 1
	:: skip
	fi;
	if
	:: shared[1] = 1
	:: skip
	fi;
	if
	:: shared[2] = 1
	:: skip
	fi;
	atomic {
		run thread(0);
		run thread(1);
		run thread(2)
	}
}
