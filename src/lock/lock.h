/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lock.h - buckets, and what is in their lists: see range_lock.c.
 */
#ifndef LATH_LOCK_LOCK_H
#define LATH_LOCK_LOCK_H

#include "lathwork/range_lock.h"
#include "sys/sys.h"

#define RANGE_CLASS_BITS 4
enum { LOCKED = 1, OCCUPIED = 2 }; /* of a bucket's word */
enum { AWAKE = 0, ASLEEP = 1 };	   /* hold.state */

struct entry {
	struct entry *next, **link;
	struct hold *hold;
	struct bucket *bucket;
};

/* The struct lath_range_hold. Others change `blockers` and `state` under a bucket's lock. */
struct hold {
	u64 first, last, owner;
	struct entry own[2]; /* in the lists of its class */
	struct entry probe;  /* in the list of a smaller class, while it waits for ranges there */
	u64 blockers;
	u32 state; /* a futex */
	u8 mode, cls;
	u8 buckets : 2, grown : 6;
	u8 mark; /* by this search for a cycle; under the lock of the graph */
	struct hold *next_wait, **wait_link, *path; /* the same */
};
_Static_assert(sizeof(struct hold) == sizeof(struct lath_range_hold), "opaque words");

struct bucket {
	u64 word;
	struct entry *first, **end;
} __attribute__((aligned(64)));

struct locks {
	/* read by all, written when a class is used first */
	u64 classes;
	struct bucket *bucket;
	u64 mask;	   /* buckets - 1 */
	unsigned int bits; /* set in mask */
	unsigned int unit, flags;
	struct lath_allocator allocator;
	struct lath_lockdep lockdep;
	u64 (*look)(void *arg); /* NULL: a wait has no end but its turn and its deadline */
	void *look_arg;
	/* LATH_RANGE_DEADLOCKS */
	struct lath_spinlock graph __attribute__((aligned(64)));
	struct hold **waits; /* ranges that wait, by owner: as many lists as buckets */
};
_Static_assert(sizeof(struct locks) <= sizeof(struct lath_range_locks), "opaque words");

static inline struct locks *locks_of(struct lath_range_locks *locks)
{
	return (struct locks *)locks;
}

static inline struct hold *hold_of(struct lath_range_hold *hold)
{
	return (struct hold *)hold;
}

/* ---- classes and buckets ---- */

/* Ranges of at most 2^unit keys are of class 0. */
static inline unsigned int class_of(const struct locks *locks, u64 first, u64 last)
{
	return (fls64((last - first) >> locks->unit) + RANGE_CLASS_BITS - 1) / RANGE_CLASS_BITS;
}

/* A granule of the class has 2^this keys. */
static inline unsigned int granule_bits(const struct locks *locks, unsigned int cls)
{
	return locks->unit + cls * RANGE_CLASS_BITS;
}

static inline u64 granule_of(const struct locks *locks, u64 key, unsigned int cls)
{
	unsigned int shift = granule_bits(locks, cls);

	return shift < 64 ? key >> shift : 0;
}

/* Neighbouring granules have neighbouring buckets. So threads that each work in a part of the keys
 * write few buckets of each other's, and a hash places each part and class elsewhere. */
static inline struct bucket *bucket_of(const struct locks *locks, u64 granule, unsigned int cls)
{
	u64 hash = ((granule >> locks->bits) + ((u64)cls << 59)) * 0x9e3779b97f4a7c15ull;

	return &locks->bucket[(granule ^ hash >> 32) & locks->mask];
}

/* Takes the bucket's lock, if its word is this one, and marks it as occupied. A full barrier: what
 * the caller reads afterwards was written by ranges that could not see the mark, or later. */
static __always_inline bool bucket_trylock(struct bucket *bucket, u64 word)
{
	lath_call_assert();
	preempt_disable();
	/* pairs with bucket_unlock */
	if (unlikely(cmpxchg_acquire(&bucket->word, word, LOCKED | OCCUPIED) != word)) {
		preempt_enable();
		return false;
	}
	smp_mb__after_atomic(); /* pairs with bucket_trylock */
	return true;
}

/* Waits until nobody holds the bucket's lock, and takes it as bucket_trylock() does. */
static inline void bucket_lock(struct bucket *bucket)
{
	unsigned int rounds = 0;
	u64 word;

	while ((word = READ_ONCE(bucket->word)) & LOCKED || !bucket_trylock(bucket, word))
		lath_spin_wait(&rounds);
}

static inline bool bucket_locked(const struct bucket *bucket)
{
	return READ_ONCE(bucket->word) & LOCKED;
}

static inline void bucket_unlock(struct bucket *bucket)
{
	LATH_ASSERT(bucket_locked(bucket));
	/* pairs with bucket_trylock */
	smp_store_release(&bucket->word, bucket->first ? OCCUPIED : 0);
	preempt_enable();
}

static inline bool is_probe(const struct entry *entry)
{
	return entry == &entry->hold->probe;
}

static inline bool overlaps(const struct hold *a, const struct hold *b)
{
	return a->first <= b->last && b->first <= a->last;
}

static inline bool conflicts(const struct hold *a, const struct hold *b)
{
	return overlaps(a, b) && (a->mode | b->mode) == LATH_EXCLUSIVE_RANGE;
}

/* Does the entry `before` keep `behind`, further back in the same list, waiting? Nobody waits for a
 * probe, and a probe waits for smaller classes. */
static inline bool blocks(const struct entry *before, const struct entry *behind)
{
	const struct hold *a = before->hold, *b = behind->hold;

	return !is_probe(before) && (is_probe(behind) ? a->cls < b->cls : a->cls == b->cls) &&
	       conflicts(a, b);
}

/* The buckets of a range in its class, in order of their addresses. Returns how many: 1 or 2. */
static inline unsigned int buckets_of(const struct locks *locks, const struct hold *hold,
				      unsigned int cls, struct bucket *bucket[2])
{
	struct bucket *a = bucket_of(locks, granule_of(locks, hold->first, cls), cls);
	struct bucket *b = bucket_of(locks, granule_of(locks, hold->last, cls), cls);

	bucket[0] = min(a, b);
	bucket[1] = max(a, b);
	return a == b ? 1 : 2;
}

/* ---- cycle.c ---- */

/* The range is about to wait: its entries are in their lists. In a call, no lock held. Returns
 * false if its owner would wait for itself (LATH_RANGE_DEADLOCKS); call lath_range_wait_end() all
 * the same. */
bool lath_range_wait_begin(struct locks *locks, struct hold *hold);
/* It does not wait any more, and does not leave its lists before this call. */
void lath_range_wait_end(struct locks *locks, struct hold *hold);

#endif /* LATH_LOCK_LOCK_H */
