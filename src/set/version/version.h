/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * version.h - the inside of a set with snapshots: types, times, the chain of a key's records.
 *
 * A set of byte keys (lathwork/bytes.h) has the newest record of each key, its head. From there
 * `older` leads to the records before it, newest first: the chain. A head, and each link, is the
 * address of a record, with ERASED if the key was erased when that record was the newest one.
 *
 *     head -> record 3, from time 9 -> record 2 | ERASED, from 4 to 7 -> record 1, from 2
 *
 * Time is the number of snapshots taken, from 1 on. A snapshot is the time before it was taken, and
 * shows what has that time or an earlier one. A record gets its time after it has become the head:
 * until then it has none, and whoever reads it gives it the present time (version_time). So the
 * moment of a change is one store, though the place and the time are in different words. (After
 * Wei, Ben-David, Blelloch, Fatourou, Ruppert, Sun: Constant-Time Snapshots with Applications to
 * Concurrent Data Structures, PPoPP 2021.)
 *
 * A record that is not a live head is one thread's to free: that which replaced or erased it. It is
 * needed while a snapshot is held that is not before its time and before its end; then it is in the
 * list of the newest such snapshot, and judged again when that is released. Else it leaves the
 * chain (chain.c) and is freed after a grace period. The chain of an erased key hangs on its head,
 * which is needed while any of it is. Of an erased record a list has the address with ERASED.
 *
 *   N1  A record below the head has its time, and it is at least the end of the one below it. One
 *       that is in a list, or that is not right below the head, has its end.
 *   N2  A chain changes only where a new head is put in front of it, and where records leave it.
 *       One that leaves has LEFT in `older` from then on; no link of such a record changes.
 *   N3  Each record that is not a live head is in one list, or one thread is judging it, or it
 * waits for a grace period.
 *
 * Functions are in the header of their file. Each file calls only those above it:
 *
 *   snapshot   times, snapshots, what they need
 *   chain      what a snapshot sees of a key; records leave
 *   read, set  the public calls
 */
#ifndef LATH_VERSION_H
#define LATH_VERSION_H

#include "sys/sys.h"
#include "lathwork/versions.h"

/* In a head and in `older`: the key was erased when this record was the newest. */
#define ERASED 4ull
/* In `older`: the record leaves the chain, and no link leads to it any more. */
#define LEFT 1ull
#define CUT 2ull

struct version {
	u64 begin; /* the time when it was put there; 0: not known yet */
	u64 end;   /* the time when it was replaced or erased; 0: it was not, or not known yet */
	u64 older; /* the record before it, with ERASED and LEFT */
	u64 link;  /* the next one in a list */
};
_Static_assert(sizeof(struct version) == sizeof(struct lath_version), "the public struct");

struct snapshot {
	u64 time;
	struct snapshot *newer, *older; /* of all that are held */
	u64 held, last; /* list of the records that were found to be needed, and its last one */
};
_Static_assert(sizeof(struct snapshot) == sizeof(struct lath_snapshot), "the public struct");

/* Records that wait for a grace period, of some threads: those for which one is under way, and
 * those that came since it began. */
struct leaving {
	struct lath_spinlock lock;
	struct versions_set *set;
	u64 waiting, left;
	struct lath_rcu_head rcu;
} __attribute__((aligned(64)));

#define LEAVINGS 16u

struct versions_set {
	struct lath_bytes heads;
	struct lath_versions_records records;
	const struct lath_rcu *rcu;
	/* read by every change, written by those who take and release snapshots */
	u64 now __attribute__((aligned(64)));
	u64 active; /* snapshots that are held; written under the lock */
	struct lath_spinlock lock __attribute__((aligned(64)));
	struct snapshot *newest;  /* under the lock, as are: */
	struct snapshot *finger;  /* the one that was found last; NULL: none is held */
	u64 loose;		  /* records that released snapshots had needed */
	bool scheduled;		  /* a call that judges them is outstanding */
	bool judging;		  /* ... and is at work */
	u32 verifying;		  /* threads that want none to be at work */
	u64 older;		  /* records in lists */
	struct lath_later settle; /* judges them */
	struct leaving leaving[LEAVINGS];
};
_Static_assert(sizeof(struct versions_set) <= sizeof(struct lath_versions), "the public struct");

static inline struct versions_set *versions_of(struct lath_versions *set)
{
	return (struct versions_set *)(void *)set;
}

static inline struct version *version_of(const struct versions_set *set, u64 value)
{
	LATH_ASSERT(value & ~7ull);
	return (struct version *)(uintptr_t)((value & ~7ull) + set->records.offset);
}

static inline struct lath_bytes_key version_key(const struct versions_set *set, u64 value)
{
	struct lath_bytes_key key = { NULL, 0, 0 };

	set->records.key_of(set->records.ctx, value & ~7ull, &key);
	return key;
}

static inline void *version_record(u64 value)
{
	return (void *)(uintptr_t)(value & ~7ull);
}

#endif /* LATH_VERSION_H */
