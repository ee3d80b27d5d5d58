/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu.pml - read-side critical sections and grace periods of the library's RCU flavour
 * (src/sys/rcu.c, thread.c).
 *
 * Each updater replaces the object, waits for a grace period and frees the old object. A reader's
 * stores to its record are delayed in a buffer for an arbitrary time; its loads are not. A
 * membarrier waits until it has seen the buffer of each thread empty. Without membarrier() (slow)
 * each section waits until its own buffer is empty. Where the hardware or the compiler could also
 * reorder two loads, or a load and a store, a BUG_... does so.
 */
#define READERS 2
#define OBJECTS 3 /* the first one, and one per updater */

byte period = 1;
byte section[READERS]; /* the value that other threads see */
chan buffer[READERS] = [2] of { byte };
bit registered[READERS];
bit registry_lock;
bit slow;
byte shared;
bit freed[OBJECTS];

#ifdef BUG_PERIOD_WRAPS
#define NUMBER(n) (1 + ((n) & 1))
#define OLDER(s, n) ((s) != NUMBER(n))
#else
#define NUMBER(n) (n)
#define OLDER(s, n) ((s) < (n))
#endif

/* Moves stores from the buffers to memory, in order, at arbitrary times. */
active proctype memory()
{
	byte value;
end:
	do
	:: d_step { buffer[0]?value -> section[0] = value; value = 0 }
	:: d_step { buffer[1]?value -> section[1] = value; value = 0 }
	od
}

/* ---- readers ---- */

inline note_section()
{
	number = NUMBER(period);
#ifdef BUG_LOAD_BEFORE_NOTE
	at = shared;
#endif
	buffer[me]!number
}

inline enter()
{
	note_section();
	if
	:: slow || !registered[me] ->
#ifdef BUG_REGISTERED_LATE
		at = shared;
#endif
		if
		:: d_step { !registered[me] && !registry_lock -> registered[me] = 1 }
		:: registered[me]
		fi;
		note_section();
#ifndef BUG_SLOW_NO_FENCE
		empty(buffer[me])
#endif
	:: else
	fi
}

inline leave()
{
	buffer[me]!0
}

/* Reads the object in a section and uses it. A nested section changes nothing. */
proctype reader(byte me; byte times)
{
	byte number, at;

	do
	:: atomic { times > 0 -> times-- };
#ifdef BUG_LOAD_BEFORE_PERIOD
		at = shared;
#endif
		enter();
#if !defined(BUG_LOAD_BEFORE_PERIOD) && !defined(BUG_LOAD_BEFORE_NOTE) && !defined(BUG_REGISTERED_LATE)
		at = shared;
#endif
#ifdef BUG_NESTED_NOTES
		note_section();
#endif
#ifdef BUG_NESTED_ENDS
		leave();
#endif
#ifdef BUG_LEAVE_EARLY
		leave();
		assert(!freed[at]);
#else
		assert(!freed[at]);
		leave();
#endif
		d_step { number = 0; at = 0 }
	:: else -> break
	od;
	atomic { !registry_lock -> registered[me] = 0 } /* the thread ends */
}

/* ---- grace periods ---- */

/* Each thread executes a full barrier. */
inline fence_threads()
{
#ifdef BUG_NO_MEMBARRIER
	skip
#else
	if
	:: !slow -> empty(buffer[0]); empty(buffer[1])
	:: else
	fi
#endif
}

#define IN_THE_WAY(i) (registered[i] && section[i] && OLDER(section[i], mine))

inline wait_for_readers()
{
	atomic {
#ifndef BUG_PERIOD_KEPT
		period++;
#endif
		mine = period
	};
#ifndef BUG_SCAN_FIRST
	fence_threads();
#endif
	do
	:: atomic { !registry_lock -> registry_lock = 1; i = 0 };
		do
		:: atomic { i < READERS && !IN_THE_WAY(i) -> i++ }
		:: atomic { i == READERS || IN_THE_WAY(i) -> registry_lock = 0; break }
		od;
		if
		:: i == READERS -> break
		:: i < READERS && !IN_THE_WAY(i)
		fi
	od;
#ifdef BUG_SCAN_FIRST
	fence_threads();
#endif
	i = 0
}

proctype updater(byte fresh)
{
	byte mine, i, old;

	atomic { old = shared; shared = fresh };
#ifndef BUG_NO_WAIT
	wait_for_readers();
#endif
	freed[old] = 1
}

init
{
	atomic {
		if
		:: slow = 1
		:: slow = 0
		fi;
		registered[0] = 1;
		if
		:: run reader(0, 1); run reader(1, 1)
		:: run reader(1, 3)
		fi;
		run updater(1);
		run updater(2)
	}
}
