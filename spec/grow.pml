/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.pml - a range that grows into a larger class (join() in src/lock/range_lock.c), beside one
 * of another class that looks for it: a larger range that looks at the smaller classes
 * (wait_all_below), or a smaller one that looks at the larger classes (class_above). All overlap.
 *
 * Claim: the range that grows and the other one are not held together.
 */
#define CLASSES 3

bit class_used[CLASSES]; /* locks->classes */
bit grower[CLASSES];	 /* the range that grows is in the list of this class */
bit other;		 /* the other one is in the list of its class */
byte begins;		 /* the class in which the range that grows begins: the next one is its last */
bit grower_held, other_held;

/* Looks at class c; gone: nobody is there, or the class was never used. */
#ifdef BUG_CLASSES_ONCE
#define USED(c) was_used[c]
#else
#define USED(c) class_used[c]
#endif

inline grow()
{
	class_used[begins + 1] = 1;
#ifdef BUG_LEAVE_FIRST
	grower[begins] = 0;
	grower[begins + 1] = 1
#else
	grower[begins + 1] = 1;
	grower[begins] = 0
#endif
}

proctype growing()
{
	class_used[begins] = 1;
	grower[begins] = 1;
	if
	:: begins == 0 && class_used[2] && other -> /* gives way, and is not held */
		grower[0] = 0
	:: else ->
		if
		:: begins == 1 && class_used[0] -> !other /* a probe waits */
		:: else
		fi;
		grower_held = 1;
		assert(!other_held);
		grow();
		assert(!other_held);
		grower_held = 0;
		grower[begins + 1] = 0
	fi
}

/* The larger range: waits until nobody is in a smaller class. */
proctype larger()
{
	bit was_used[2];
	byte c;

	class_used[2] = 1;
	other = 1;
	d_step {
		was_used[0] = class_used[0];
		was_used[1] = class_used[1]
	};
#ifdef BUG_ONE_PASS
	/* each bucket once, in the order of buckets: that of class 1 may come first */
	if
	:: !grower[1] -> !grower[0]
	:: !grower[0] -> !grower[1]
	fi;
#else
	do
	:: c < 2 ->
		if
		:: USED(c) -> !grower[c]
		:: else
		fi;
		c++
	:: else -> break
	od;
#endif
	other_held = 1;
	assert(!grower_held);
	other_held = 0;
	other = 0
}

/* The smaller range: gives way if somebody is in a larger class. */
proctype smaller()
{
	bit was_used[3];
	bit found;
	byte c = 1;

	class_used[0] = 1;
	other = 1;
	d_step {
		was_used[1] = class_used[1];
		was_used[2] = class_used[2]
	};
	do
	:: c < 3 && !found ->
		found = USED(c) && grower[c];
		c++
	:: else -> break
	od;
	if
	:: !found ->
		other_held = 1;
		assert(!grower_held);
		other_held = 0
	:: else
	fi;
	other = 0
}

init
{
	if
	:: begins = 0; atomic { run growing(); run larger() }
	:: begins = 1; atomic { run growing(); run smaller() }
	fi
}
