/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * times.pml - records get their time after they were put there (src/set/version): a writer that
 * puts a record of key 0, then one of key 1; a thread that takes a snapshot and looks at both keys,
 * twice; a thread that looks at the present, takes a snapshot and looks again.
 *
 * Claims: a snapshot shows what was finished before it was taken, nothing that was begun after it
 * had been taken, the second record only with the first one, always the same, and what its thread
 * had seen in the present before.
 */
#define KEYS 2

byte now = 1;
bit head[KEYS];	   /* the new record is the head */
byte time[KEYS];   /* of the new record; 0: none yet. The old one has time 1 */
bit begun[KEYS], finished[KEYS];

inline give_time(key, at)
{
	at = now;
#ifdef BUG_STORE
	time[key] = at
#else
	d_step {
		if
		:: time[key] == 0 -> time[key] = at
		:: else -> at = time[key]
		fi
	}
#endif
}

inline known_time(key, at)
{
	at = time[key];
	if
	:: at == 0 -> give_time(key, at)
	:: else
	fi
}

inline put(key, at)
{
	begun[key] = 1;
#ifdef BUG_TIME_FIRST
	at = now;
	head[key] = 1;
	d_step {
		if
		:: time[key] == 0 -> time[key] = at
		:: else
		fi
	};
#else
	head[key] = 1;
	known_time(key, at);
#endif
	finished[key] = 1
}

/* What a snapshot shows of a key: the new record? */
inline see(key, snapshot, at, shown)
{
	shown = 0;
	if
	:: head[key] ->
#ifdef BUG_NO_HELP
		at = time[key];
		shown = (at != 0 && at <= snapshot)
#else
		known_time(key, at);
		shown = (at <= snapshot)
#endif
	:: else
	fi
}

inline take(snapshot)
{
	d_step { /* under the lock */
		snapshot = now;
		now = snapshot + 1
	}
}

/* Which of the two keys is looked at first is open. */
inline see_both(snapshot, at, shown)
{
	if
	:: see(0, snapshot, at, shown[0]); see(1, snapshot, at, shown[1])
	:: see(1, snapshot, at, shown[1]); see(0, snapshot, at, shown[0])
	fi
}

proctype writer()
{
	byte at;

	put(0, at);
	put(1, at)
}

proctype reader()
{
	bit shown[KEYS], again[KEYS], done[KEYS], had[KEYS];
	byte snapshot, at;

	d_step { done[0] = finished[0]; done[1] = finished[1] };
	take(snapshot);
	d_step { had[0] = begun[0]; had[1] = begun[1] };
	see_both(snapshot, at, shown);
	assert(!shown[1] || shown[0]);
	assert(!done[0] || shown[0]);
	assert(!done[1] || shown[1]);
	assert(!shown[0] || had[0]);
	assert(!shown[1] || had[1]);
	see_both(snapshot, at, again);
	assert(shown[0] == again[0] && shown[1] == again[1])
}

/* Returns whether the present shows the new record of a key. */
inline see_present(key, at, shown)
{
	shown = 0;
	if
	:: head[key] ->
#ifndef BUG_PRESENT_NO_HELP
		known_time(key, at);
#endif
		shown = 1
	:: else
	fi
}

proctype present()
{
	bit seen, shown;
	byte snapshot, at;

	see_present(1, at, seen);
	take(snapshot);
	see(1, snapshot, at, shown);
	assert(!seen || shown)
}

init
{
	atomic { run writer(); run reader(); run present() }
}
