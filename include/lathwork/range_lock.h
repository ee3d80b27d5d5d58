/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/range_lock.h - locks on ranges of keys: a thread holds [key, key + size), shared or
 * exclusive, while others hold other ranges.
 *
 * For address spaces, files, disks and tables whose parts are changed by steps that take longer
 * than one call on an index. Holders of ranges that do not overlap rarely write the same memory
 * (see Cost), so they slow each other down little, however many they are.
 *
 *     struct lath_range_locks locks;
 *     struct lath_range_hold hold;
 *
 *     lath_range_locks_init(&locks, NULL);
 *     lath_range_lock(&locks, &hold, 4096, 8192, LATH_EXCLUSIVE_RANGE); // [4096, 12288) is mine
 *     ...
 *     lath_range_unlock(&locks, &hold);
 *     lath_range_locks_fini(&locks);
 *
 * A hold is the caller's memory, on its stack or in its own structure. From the call that locks
 * until unlock it must neither move nor be used for another range. So lock, resize and unlock
 * allocate nothing, and fail only as said below. Not recursive: a thread deadlocks if it locks a
 * range that overlaps one that it holds, unless both are shared. Two shared ones deadlock too if
 * another thread's exclusive range queues between the two calls. A thread may hold any number of
 * ranges; to hold one and wait for another may deadlock with other threads: see
 * LATH_RANGE_DEADLOCKS.
 *
 * Threads. All calls but init and fini may run concurrently; a hold is used by one thread at a
 * time, not always the same. Guarantees:
 *   R1  While an exclusive range is held, no other range that overlaps it is held. What the holder
 *       did before unlock is visible to the thread that holds an overlapping range next.
 *   R2  Order. A range waits for those that overlap it, unless both are shared, and whose lock
 *       calls began before it. Later ones do not overtake it, unless a range that it waits for
 *       grows into a larger class of sizes (resize): then it waits behind those that wait there,
 *       at most once per class. So nobody waits for ever while the others unlock. trylock does not
 *       overtake: it fails where lock would wait, also for a call of another thread that does not
 *       hold its range yet and may fail itself.
 *   R3  A failed call leaves the hold unlocked, or for resize as it was.
 *   R4  Waiting threads sleep, after a short while of looking.
 *
 * In the kernel all calls are for process context, and waits are uninterruptible. A range whose
 * owner is the thread that locked it is unlocked by that thread: lockdep knows what a thread holds.
 *
 * fork(): the child inherits the ranges as they are; those that other threads hold or wait for stay
 * so for ever, since the child does not have these threads. It may go on with its own, or init the
 * locks anew. A thread that ends without unlocking leaves its ranges locked. Signals do not end a
 * wait unless `look` of the config does, and no call may be made in a signal handler. No call is a
 * cancellation point; a thread that is cancelled while it holds ranges leaves them locked.
 *
 * Cost. lock and unlock take one atomic operation each where nobody else is: 12 ns together. A
 * hold takes 160 bytes, `locks` 64 bytes per bucket (with LATH_RANGE_DEADLOCKS 72), of which there
 * are 1,024 per processor, at most 32,768. lock looks at each range in the lists of its buckets
 * while it has these locked, so where n ranges of one place wait, one more costs O(n).
 * Ranges belong to classes by their size, the first of which is for sizes up to `usual`, the next
 * for 16 times that, and so on. A class that was ever used costs each lock of a smaller range one
 * more look, and a range of a larger class looks at up to 32 places of the next smaller one, at 512
 * of the next, at each bucket at most. So tell init how large most ranges are: those of one class
 * do not look for others. Shared holds of the same place write the same bucket, and so do ranges
 * within `usual` keys of each other.
 */
#ifndef LATHWORK_RANGE_LOCK_H
#define LATHWORK_RANGE_LOCK_H

#include "lathwork/config.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum lath_range_mode {
	LATH_SHARED_RANGE = 0, /* beside other shared ranges */
	LATH_EXCLUSIVE_RANGE,  /* alone */
};

/* Flags of lath_range_config. */
enum {
	/* A call that would wait for a range whose owner waits for it, directly or through others,
	 * fails with -EDEADLK instead. An owner's ranges are used by one thread at a time. A call
	 * that waits then takes a lock that all of `locks` share, and looks under it at the lists
	 * of the ranges that it waits for, directly or through others: n steps where n ranges wait
	 * for one key or contain each other, else at most n^2. */
	LATH_RANGE_DEADLOCKS = 1u << 0,
};

struct lath_range_config {
	size_t size; /* sizeof(struct lath_range_config) */
	unsigned int flags;
	uint64_t usual;	      /* most ranges are of at most this many keys; 0: 1. See Cost */
	unsigned int buckets; /* 0: 1,024 per processor, at most 32,768. Rounded up to a power of
				 two, at most 2^20 */
	const struct lath_allocator *allocator; /* of the buckets; NULL: the host's */
	/* Called by a call that waits before it sleeps, and again when a signal or the end of that
	 * sleep wakes it up; with no lock of the library, so it may make other calls. Returns for
	 * how many nanoseconds at most to sleep, UINT64_MAX: as long as it takes, or 0: the call
	 * fails with -EINTR. Until then the range keeps its place. NULL: none, as in the kernel */
	uint64_t (*look)(void *arg);
	void *look_arg;
};

#define LATH_RANGE_CONFIG_INIT { sizeof(struct lath_range_config), 0, 0, 0, NULL, NULL, NULL }

/* Opaque; to be embedded. Aligned to 64 bytes. */
struct lath_range_locks {
	uint64_t opaque[40];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

/* A range that is held or waited for. Needs no initialisation. */
struct lath_range_hold {
	uint64_t first, last; /* to be read by the holder */
	uint64_t owner;	      /* whose it is: the number of the thread that locked it, or as
				 lath_range_lock_for() was told */
	uint64_t opaque[17];
};

/* 0 | -EINVAL | -ENOMEM */
LATH_API int lath_range_locks_init(struct lath_range_locks *locks,
				   const struct lath_range_config *config);
/* No range is held or waited for. Excludes all other calls. */
LATH_API void lath_range_locks_fini(struct lath_range_locks *locks);

/* Lock the keys from first to last, for an owner such as a transaction; 0: the calling thread.
 * nanoseconds: UINT64_MAX waits as long as it takes; 0 does not wait: -EBUSY. 0 | -EINVAL: last <
 * first | -ETIMEDOUT | -EDEADLK (LATH_RANGE_DEADLOCKS) | -EINTR (`look`). */
LATH_API int lath_range_lock_for(struct lath_range_locks *locks, struct lath_range_hold *hold,
				 uint64_t first, uint64_t last, enum lath_range_mode mode,
				 uint64_t nanoseconds, uint64_t owner);
/* As lath_range_lock_for() for the calling thread: [key, key + size). -EINVAL: size is 0, or the
 * range ends behind 2^64. lock waits; trylock does not: -EBUSY; timedlock waits at most these
 * nanoseconds: -ETIMEDOUT; lock_all locks all keys. */
static inline int lath_range_lock_sized(struct lath_range_locks *locks,
					struct lath_range_hold *hold, uint64_t key, uint64_t size,
					enum lath_range_mode mode, uint64_t nanoseconds)
{
	if (!size || size - 1 > ~0ull - key)
		return -EINVAL;
	return lath_range_lock_for(locks, hold, key, key + (size - 1), mode, nanoseconds, 0);
}

static inline int lath_range_lock(struct lath_range_locks *locks, struct lath_range_hold *hold,
				  uint64_t key, uint64_t size, enum lath_range_mode mode)
{
	return lath_range_lock_sized(locks, hold, key, size, mode, ~0ull);
}

static inline int lath_range_trylock(struct lath_range_locks *locks, struct lath_range_hold *hold,
				     uint64_t key, uint64_t size, enum lath_range_mode mode)
{
	return lath_range_lock_sized(locks, hold, key, size, mode, 0);
}

static inline int lath_range_timedlock(struct lath_range_locks *locks, struct lath_range_hold *hold,
				       uint64_t key, uint64_t size, enum lath_range_mode mode,
				       uint64_t nanoseconds)
{
	int ret = lath_range_lock_sized(locks, hold, key, size, mode, nanoseconds);

	return ret == -EBUSY ? -ETIMEDOUT : ret;
}

static inline int lath_range_lock_all(struct lath_range_locks *locks, struct lath_range_hold *hold,
				      enum lath_range_mode mode)
{
	return lath_range_lock_for(locks, hold, 0, ~0ull, mode, ~0ull, 0);
}

/* Unlock a range that is held. Wakes those whose turn it is. */
LATH_API void lath_range_unlock(struct lath_range_locks *locks, struct lath_range_hold *hold);
/* Make an exclusive range shared, without an instant between the two. */
LATH_API void lath_range_downgrade(struct lath_range_locks *locks, struct lath_range_hold *hold);
/*
 * Give a range that is held other bounds, which overlap the old ones; key 0 and size 0 are all
 * keys. What it gives up is free at once. If it gains keys that are held or waited for, -EBUSY;
 * with LATH_RANGE_DEADLOCKS it waits for them, and holds the rest in the meantime. (Without that
 * flag, whoever waits for old and new keys and this call would wait for each other.) 0 | -EINVAL:
 * empty, too far, or no key in common | -EBUSY | -EDEADLK | -EINTR: as before.
 */
LATH_API int lath_range_resize(struct lath_range_locks *locks, struct lath_range_hold *hold,
			       uint64_t key, uint64_t size);

/* What lath_range_each() tells of a range. */
struct lath_range_info {
	uint64_t first, last, owner;
	enum lath_range_mode mode;
	int waits; /* 0: it is held */
};

/* Call fn for every range that is held or waited for. Each one is told as it is at some moment of
 * the call. fn must not call back. */
LATH_API void lath_range_each(struct lath_range_locks *locks,
			      void (*fn)(void *arg, const struct lath_range_info *info), void *arg);
/* 0, or the number of the broken invariant (src/lock/range_lock.c), for tests. No other call. */
LATH_API int lath_range_locks_verify(struct lath_range_locks *locks);

#ifdef __cplusplus
}
#endif

#endif /* LATHWORK_RANGE_LOCK_H */
