/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork.pml - calls and fork() (src/sys/thread.h, thread.c).
 *
 * Three threads: one makes calls, one forks in a callback of its call, one forks outside of calls.
 * A call takes a lock of the library. At a fork no other thread may hold one, and no thread may
 * wait for ever. A thread's stores to `calls` are delayed in a buffer for an arbitrary time, but at
 * most until its next release of a mutex. A membarrier waits until it has seen the buffer of each
 * thread empty; without membarrier() (slow) each call waits until its own buffer is empty.
 */
#define THREADS 3

byte calls[THREADS]; /* the value that other threads see */
chan buffer[THREADS] = [3] of { byte };
bit stop[THREADS] = 1;
bit registered[THREADS];
bit pending;
bit slow;
bit fork_lock;
bit registry_lock;
bit holds[THREADS]; /* the thread holds a lock of the library */

inline lock(mutex)
{
	atomic { !mutex -> mutex = 1 }
}

inline unlock(mutex)
{
	atomic { empty(buffer[me]) -> mutex = 0 }
}

/* Moves stores from the buffers to memory, in order, at arbitrary times. */
active proctype memory()
{
	byte value;
end:
	do
	:: d_step { buffer[0]?value -> calls[0] = value; value = 0 }
	:: d_step { buffer[1]?value -> calls[1] = value; value = 0 }
	:: d_step { buffer[2]?value -> calls[2] = value; value = 0 }
	od
}

/* ---- calls ---- */

inline register()
{
	lock(registry_lock);
	registered[me] = 1;
#ifdef BUG_REGISTER_BLIND
	stop[me] = slow;
#else
	stop[me] = slow || pending;
#endif
	unlock(registry_lock)
}

inline call_look()
{
	do
	:: true ->
		if
		:: !registered[me] -> buffer[me]!0; register(); buffer[me]!1
		:: else
		fi;
#ifndef BUG_NO_FENCE
		empty(buffer[me]);
#endif
		if
#ifdef BUG_OWN_FORK_AWAITED
		:: !pending -> break
#else
		:: !pending || forking -> break
#endif
		:: else
		fi;
#ifndef BUG_WAITS_IN_CALL
		buffer[me]!0;
#endif
		lock(fork_lock);
		unlock(fork_lock);
#ifndef BUG_WAITS_IN_CALL
		buffer[me]!1;
#endif
#ifdef BUG_NO_RECHECK
		break
#endif
	od
}

inline call_enter()
{
#ifdef BUG_LOOK_BEFORE_NOTE
	look = stop[me];
#endif
	depth++;
	buffer[me]!depth;
#ifndef BUG_LOOK_BEFORE_NOTE
	look = stop[me];
#endif
	if
	:: look && depth == 1 -> call_look()
	:: else
	fi;
	look = 0
}

inline call_exit()
{
	depth--;
	buffer[me]!depth
}

inline change()
{
	holds[me] = 1;
	holds[me] = 0
}

/* A call in a call, with a change in each. */
inline call()
{
	call_enter();
	call_enter();
	change();
	call_exit();
#ifdef BUG_EXIT_EARLY
	call_exit();
	change()
#else
	change();
	call_exit()
#endif
}

/* ---- fork ---- */

inline set_stop()
{
	d_step {
		i = 0;
		do
		:: i < THREADS ->
			if
			:: registered[i] -> stop[i] = pending || slow
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* Each thread executes a full barrier. */
inline fence_threads()
{
#ifdef BUG_NO_MEMBARRIER
	skip
#else
	if
	:: !slow -> empty(buffer[0]); empty(buffer[1]); empty(buffer[2])
	:: else
	fi
#endif
}

inline wait_for_calls()
{
	do
	:: i = 0;
		do
		:: i < THREADS && (i == me || !registered[i] || !calls[i]) -> i++
		:: else -> break
		od;
		if
		:: i == THREADS -> break
		:: else
		fi;
		unlock(registry_lock);
		!calls[i];
		lock(registry_lock)
	od;
	i = 0
}

inline fork()
{
#ifndef BUG_FORKS_IN_CALL
	buffer[me]!0;
#endif
#ifndef BUG_UNREGISTERED_FORK
	if
	:: !registered[me] -> register()
	:: else
	fi;
#endif
	lock(fork_lock);
	buffer[me]!depth;
	forking = 1;
	lock(registry_lock);
#ifdef BUG_STOP_AFTER_SCAN
	fence_threads();
	wait_for_calls();
#endif
	pending = 1;
	set_stop();
#ifndef BUG_STOP_AFTER_SCAN
#ifdef BUG_SCAN_FIRST
	wait_for_calls();
	fence_threads();
#else
	fence_threads();
	wait_for_calls();
#endif
#endif
	/* a fork handler of the program makes a call */
	call_enter();
	change();
	call_exit();
	assert(!holds[(me + 1) % THREADS] && !holds[(me + 2) % THREADS]);
	pending = 0;
	set_stop();
	forking = 0;
	unlock(registry_lock);
	unlock(fork_lock)
}

#define LOCALS byte i, depth; bit look, forking

proctype caller(byte me)
{
	LOCALS;

	if
	:: register() /* by a read-side critical section */
	:: true
	fi;
	call();
	call()
}

proctype forks_in_callback(byte me)
{
	LOCALS;

	call_enter();
	change();
	fork();
	change();
	call_exit()
}

proctype forks(byte me)
{
	LOCALS;

	fork();
	call()
}

init
{
	atomic {
		if
		:: slow = 1
		:: slow = 0
		fi;
		run caller(0);
		run forks_in_callback(1);
		run forks(2)
	}
}
