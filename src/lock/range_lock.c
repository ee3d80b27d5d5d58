/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * range_lock.c - locks on ranges of keys.
 *
 * A range belongs to the class c with the least U * 16^c that is not less than its size, where U is
 * the usual size that init was told, as a power of two. Class c cuts the keys into granules of
 * U * 16^c, so that a range lies in one or two. A hash of class and granule
 * selects a bucket. A range is in the lists of its one or two buckets from the moment its lock call
 * asks for it until it is unlocked, in the order in which they came.
 *
 * Within a class. Two ranges of one class that overlap share a granule, so a bucket. A range waits
 * until no entry before it in its lists conflicts with it: `blockers` counts these. A range that
 * leaves, shrinks or becomes shared decrements `blockers` of each later entry that it alone had
 * blocked. The locks of both buckets are held together while a range comes or leaves; so the order
 * of two ranges is the same in all lists that they share.
 *
 * Between classes. Which classes were ever used is a set of bits, `classes`. A range
 *   1  enters the lists of its class;
 *   2  looks at the buckets of its keys in each larger class. If a range there conflicts, held or
 *      waiting, it leaves its lists and begins again as a range of that class, behind the other
 *      one;
 *   3  waits until nobody is before it in its class;
 *   4  looks at the buckets of its keys in each smaller class. If ranges there conflict, it adds a
 *      probe at the end of the bucket's list, which waits for them as any entry does;
 *   5  looks at the larger classes once more, for ranges that grew in the meantime.
 * After that it holds its keys. Of two ranges of different classes that conflict, at least one sees
 * the other: a range sets its class's bit, then enters its buckets (an atomic operation on the
 * bucket's word, and a full barrier), then looks at others. If the smaller one sees the larger one
 * in step 2 it gives way. If it does not, the larger one came later, sees it in step 4, and waits.
 *
 * Nobody waits for ever. A range in the lists of a class waits only for earlier ones of that class
 * and for ranges of smaller classes that were there when it looked: smaller ones that come later
 * see it and give way. A range gives way at most once per class.
 *
 * A range that grows (resize) stands for keys that were held before: it enters its lists in front
 * of all others, and ranges that waited for those keys wait for it by `blockers`, or by step 5.
 *
 * Invariants, when no call is running (lath_range_locks_verify):
 *   1  a bucket's word is OCCUPIED if its list is not empty, and else 0
 *   2  entries are linked both ways, in the bucket that class and granule select, and are no probes
 *   3  `blockers` of each range is 0
 *   4  no two ranges conflict
 *
 * Files: this one locks, unlocks and changes ranges; lock.h has buckets and lists, cycle.c finds
 * deadlocks, inspect.c shows what is held.
 *
 * Locks: the two buckets of a range in order of their addresses; one bucket while looking; under
 * the lock of the graph, buckets one by one. No call sleeps with any of them.
 */
#include "lock/lock.h"

/* Looks at `blockers` before a thread sleeps: about as long as a short critical section. */
#define LOOKS 200
#define FOREVER (~0ull)
#define BUCKETS_MOST (1u << 20)
/* Buckets if the caller does not say how many: per processor, and at most. */
#define BUCKETS_USUAL 1024u
#define BUCKETS_USUAL_MOST (1u << 15)
/* Threads woken after the bucket's lock is released; more are woken with it. */
#define WAKES 8

/* Puts an entry where `link` leads: at the beginning of the locked bucket's list, or at its end. */
static inline void entry_add(struct entry *entry, struct hold *hold, struct bucket *bucket,
			     struct entry **link)
{
	LATH_ASSERT(bucket_locked(bucket) && (link == &bucket->first || link == bucket->end));
	entry->hold = hold;
	entry->bucket = bucket;
	entry->next = *link;
	entry->link = link;
	*link = entry;
	*(entry->next ? &entry->next->link : &bucket->end) = &entry->next;
}

/* The entry's bucket is locked. */
static void entry_remove(struct entry *entry)
{
	LATH_ASSERT(bucket_locked(entry->bucket) && *entry->link == entry);
	*entry->link = entry->next;
	*(entry->next ? &entry->next->link : &entry->bucket->end) = entry->link;
}

/* Returns how many entries of the locked bucket block this one, which is in its list or will be. */
static inline u64 count_blockers(const struct bucket *bucket, const struct entry *entry)
{
	const struct entry *e;
	u64 n = 0;

	LATH_ASSERT(bucket_locked(bucket));
	for (e = bucket->first; e && e != entry; e = e->next)
		n += blocks(e, entry);
	return n;
}

static void lock_own(struct hold *hold)
{
	bucket_lock(hold->own[0].bucket);
	if (hold->buckets > 1)
		bucket_lock(hold->own[1].bucket);
}

static void unlock_own(struct hold *hold)
{
	if (hold->buckets > 1)
		bucket_unlock(hold->own[1].bucket);
	bucket_unlock(hold->own[0].bucket);
}

/* ---- waking ---- */

/* Threads to be woken. */
struct wakes {
	unsigned int n;
	u32 *state[WAKES];
};

/*
 * One blocker less for the entry's range; its bucket is locked. When it was the last one the thread
 * may go on. It cannot have left, and its memory is there, as long as the bucket is locked;
 * afterwards lath_wake() uses the address only.
 */
static void unblock(struct entry *entry, struct wakes *wakes)
{
	struct hold *hold = entry->hold;

	LATH_ASSERT(bucket_locked(entry->bucket) && READ_ONCE(hold->blockers));
	/* pairs with wait_for_turn */
	if (lath_fetch_add_release(&hold->blockers, -1ull) != 1)
		return;
	if (lath_swap(&hold->state, AWAKE) != ASLEEP)
		return;
	if (wakes->n == WAKES)
		lath_wake(&hold->state);
	else
		wakes->state[wakes->n++] = &hold->state;
}

static void wake(const struct wakes *wakes)
{
	unsigned int i;

	for (i = 0; i < wakes->n; i++)
		lath_wake(wakes->state[i]);
}

/* The entry leaves the list of its locked bucket. */
static inline void leave_list(struct entry *entry, struct wakes *wakes)
{
	struct entry *e;

	for (e = entry->next; e; e = e->next)
		if (blocks(entry, e))
			unblock(e, wakes);
	entry_remove(entry);
}

/* The range leaves its class. In a call, no lock held. */
static void leave(struct hold *hold)
{
	struct wakes wakes;

	wakes.n = 0;
	lock_own(hold);
	leave_list(&hold->own[0], &wakes);
	if (hold->buckets > 1)
		leave_list(&hold->own[1], &wakes);
	unlock_own(hold);
	wake(&wakes);
}

/* ---- waiting ---- */

/* Waits until nothing blocks the range, or until the deadline, by lath_now(); 0: does not wait;
 * FOREVER: as long as it takes. In a call, which is left while the
 * thread sleeps: fork() does not wait for it. No lock held. Returns 0 | -EBUSY | -ETIMEDOUT |
 * -EDEADLK | -EINTR: the entries are still in their lists. */
static int wait_for_turn(struct locks *locks, struct hold *hold, u64 deadline)
{
	unsigned int looks;
	int ret = 0;

	if (!deadline)
		return -EBUSY;
	for (looks = 0; looks < LOOKS; looks++) {
		if (!smp_load_acquire(&hold->blockers)) /* pairs with unblock */
			return 0;
		cpu_relax();
	}
	if (!lath_range_wait_begin(locks, hold))
		ret = -EDEADLK;
	lath_call_exit();
	while (!ret) {
		u64 most = locks->look ? locks->look(locks->look_arg) : FOREVER;
		u64 now = deadline == FOREVER ? 0 : lath_now();

		if (!most) {
			ret = -EINTR;
			break;
		}
		/* after the swap, either the last unblock() sees ASLEEP or this load sees 0 */
		lath_swap(&hold->state, ASLEEP);
		smp_mb__after_atomic();
		if (!smp_load_acquire(&hold->blockers)) /* pairs with unblock */
			break;
		if (now >= deadline)
			ret = -ETIMEDOUT;
		else
			lath_sleep(&hold->state, ASLEEP,
				   min(most, deadline == FOREVER ? FOREVER : deadline - now));
	}
	lath_call_enter();
	lath_range_wait_end(locks, hold);
	return ret;
}

/* ---- locking ---- */

/* Makes the range one of its class, in no list yet, and selects its buckets. */
static void begin(struct locks *locks, struct hold *hold, struct bucket *bucket[2])
{
	/* before the entry: who looks later knows of the class */
	if (unlikely(!(READ_ONCE(locks->classes) >> hold->cls & 1)))
		lath_fetch_or(&locks->classes, 1ull << hold->cls);
	hold->buckets = (u8)buckets_of(locks, hold, hold->cls, bucket);
	hold->blockers = 0;
	hold->state = AWAKE;
	hold->probe.bucket = NULL;
	hold->grown = 0;
	hold->mark = 0;
}

/* Enters the lists of its class, and counts who is before it. */
static void enter(struct locks *locks, struct hold *hold)
{
	struct bucket *bucket[2];
	unsigned int i;

	begin(locks, hold, bucket);
	for (i = 0; i < hold->buckets; i++)
		bucket_lock(bucket[i]);
	for (i = 0; i < hold->buckets; i++) {
		entry_add(&hold->own[i], hold, bucket[i], bucket[i]->end);
		hold->blockers += count_blockers(bucket[i], &hold->own[i]);
	}
	unlock_own(hold);
}

/* Returns whether a range of this larger class conflicts; `grown`: one that has grown. */
static bool blocked_above(struct locks *locks, struct hold *hold, unsigned int cls, bool grown)
{
	struct bucket *bucket[2];
	unsigned int i, n = buckets_of(locks, hold, cls, bucket);
	bool found = false;

	for (i = 0; i < n && !found; i++) {
		const struct entry *e;

		if (!smp_load_acquire(&bucket[i]->word)) /* pairs with bucket_unlock */
			continue;
		bucket_lock(bucket[i]);
		for (e = bucket[i]->first; e && !found; e = e->next)
			found = !is_probe(e) && e->hold->cls == cls && e->hold->grown >= grown &&
				conflicts(e->hold, hold);
		bucket_unlock(bucket[i]);
	}
	return found;
}

/* Waits for ranges of smaller classes in this bucket. */
static int wait_below(struct locks *locks, struct hold *hold, struct bucket *bucket, u64 deadline)
{
	struct wakes none = { 0 };
	u64 blockers;
	int ret;

	if (!smp_load_acquire(&bucket->word)) /* pairs with bucket_unlock */
		return 0;
	bucket_lock(bucket);
	hold->probe.hold = hold;
	blockers = count_blockers(bucket, &hold->probe);
	if (likely(!blockers)) {
		bucket_unlock(bucket);
		return 0;
	}
	entry_add(&hold->probe, hold, bucket, bucket->end);
	/* added: a range that grew may have added itself (enter_in_front) */
	lath_fetch_add(&hold->blockers, blockers);
	for (;;) {
		bucket_unlock(bucket);
		ret = wait_for_turn(locks, hold, deadline);
		lath_delay("range lock: waited below");
		bucket_lock(bucket);
		/* above 0 after a wait that succeeded: a range grew since, and is in front */
		blockers = count_blockers(bucket, &hold->probe);
		if (ret || !blockers)
			break;
	}
	lath_fetch_add(&hold->blockers, -blockers);
	leave_list(&hold->probe, &none);
	LATH_ASSERT(!none.n); /* nobody waits for a probe */
	hold->probe.bucket = NULL;
	bucket_unlock(bucket);
	return ret;
}

/*
 * Waits for ranges of smaller classes. Looks at one class after the other, in ascending order, and
 * reads again after each which classes there are: a range that grows is in the larger class before
 * it leaves the smaller one.
 */
static int wait_all_below(struct locks *locks, struct hold *hold, u64 deadline)
{
	u64 smaller, rest = (1ull << hold->cls) - 1;
	int ret = 0;

	while (!ret && (smaller = READ_ONCE(locks->classes) & rest)) {
		unsigned int cls = (unsigned int)__ffs64(smaller);
		u64 first = granule_of(locks, hold->first, cls);
		u64 n = granule_of(locks, hold->last, cls) - first, i;

		if (n >= locks->mask) /* more granules than buckets: each bucket once */
			for (i = 0; i <= locks->mask && !ret; i++)
				ret = wait_below(locks, hold, &locks->bucket[i], deadline);
		else
			for (i = 0; i <= n && !ret; i++)
				ret = wait_below(locks, hold, bucket_of(locks, first + i, cls),
						 deadline);
		rest &= ~((2ull << cls) - 1);
	}
	return ret;
}

/* Returns the least larger class in which a range conflicts, or one that has grown; 0: none. Looks
 * at the classes as wait_all_below() does. */
static int class_above(struct locks *locks, struct hold *hold, bool grown)
{
	unsigned int cls = hold->cls;
	u64 larger;

	while ((larger = READ_ONCE(locks->classes) & ~((2ull << cls) - 1))) {
		cls = (unsigned int)__ffs64(larger);
		if (blocked_above(locks, hold, cls, grown))
			return (int)cls;
	}
	return 0;
}

/* The range is in the lists of its class. Returns 0: it is held | the larger class in which it must
 * wait | an error. */
static int become_holder(struct locks *locks, struct hold *hold, u64 deadline)
{
	u64 own = 1ull << hold->cls;
	int ret;

	if (unlikely(READ_ONCE(locks->classes) != own)) {
		ret = class_above(locks, hold, false);
		if (ret)
			return ret;
	}
	do {
		/* again if a range that grew came in front of it since (enter_in_front) */
		while (unlikely(smp_load_acquire(&hold->blockers))) { /* pairs with unblock */
			ret = wait_for_turn(locks, hold, deadline);
			if (ret)
				return ret;
		}
		lath_delay("range lock: alone in its class");
		if (likely(READ_ONCE(locks->classes) == own))
			return 0;
		ret = wait_all_below(locks, hold, deadline);
		if (ret)
			return ret;
	} while (smp_load_acquire(&hold->blockers)); /* pairs with unblock */
	return class_above(locks, hold, true);
}

/* Locks [hold->first, hold->last]. In a call. */
static int lock(struct locks *locks, struct hold *hold, u64 deadline)
{
	int ret;

	hold->cls = (u8)class_of(locks, hold->first, hold->last);
	for (;;) {
		enter(locks, hold);
		ret = become_holder(locks, hold, deadline);
		if (likely(!ret))
			return 0;
		leave(hold);
		if (ret < 0)
			return ret;
		hold->cls = (u8)ret; /* behind the larger range, in its class */
		lath_delay("range lock: in no class");
	}
}

/* lath_range_lock_for() wherever its shortcut does not do. */
static __attribute__((__noinline__)) int lock_for(struct lath_range_locks *l,
						  struct lath_range_hold *h, u64 first, u64 last,
						  enum lath_range_mode mode, u64 nanoseconds,
						  u64 owner)
{
	u64 deadline = nanoseconds;
	struct hold *hold = hold_of(h);
	int ret;

	if (last < first || (mode != LATH_SHARED_RANGE && mode != LATH_EXCLUSIVE_RANGE))
		return -EINVAL;
	if (unlikely(nanoseconds && nanoseconds != FOREVER)) {
		u64 now = lath_now();

		deadline = nanoseconds < FOREVER - now ? now + nanoseconds : FOREVER;
	}
	hold->first = first;
	hold->last = last;
	hold->owner = owner ? owner : lath_thread_id();
	hold->mode = (u8)mode;
	if (deadline)
		lath_lockdep_locked(&locks_of(l)->lockdep, hold->owner == lath_thread_id(),
				    mode == LATH_SHARED_RANGE, true);
	lath_call_enter();
	ret = lock(locks_of(l), hold, deadline);
	lath_call_exit();
	if (ret && deadline)
		lath_lockdep_unlocked(&locks_of(l)->lockdep, hold->owner == lath_thread_id());
	else if (!ret && !deadline)
		lath_lockdep_locked(&locks_of(l)->lockdep, hold->owner == lath_thread_id(),
				    mode == LATH_SHARED_RANGE, false);
	return ret;
}

/* lath_range_unlock() wherever its shortcut does not do. */
static __attribute__((__noinline__)) void unlock(struct hold *hold)
{
	lath_call_enter();
	leave(hold);
	lath_call_exit();
}

/* Stands in for lock() where the range has one bucket, which is empty, and its class is the only
 * one: then nothing can be in its way. Keys in the wrong order are more than 2^63. */
int lath_range_lock_for(struct lath_range_locks *l, struct lath_range_hold *h, u64 first, u64 last,
			enum lath_range_mode mode, u64 nanoseconds, u64 owner)
{
	struct locks *locks = locks_of(l);
	struct hold *hold = hold_of(h);
	unsigned int cls = class_of(locks, first, last), shift = granule_bits(locks, cls);
	struct bucket *bucket;
	u64 id;

	if (unlikely(READ_ONCE(locks->classes) != 1ull << cls || shift > 63 ||
		     first >> shift != last >> shift || (unsigned int)mode > LATH_EXCLUSIVE_RANGE))
		goto other;
	bucket = bucket_of(locks, first >> shift, cls);
	if (unlikely(READ_ONCE(bucket->word)))
		goto other;
	id = owner ? owner : lath_known_thread();
	if (unlikely(!id || !lath_call_try_enter()))
		goto other;
	hold->first = first;
	hold->last = last;
	hold->owner = id;
	hold->mode = (u8)mode;
	hold->cls = (u8)cls;
	hold->buckets = 1;
	hold->grown = 0;
	hold->mark = 0;
	hold->blockers = 0;
	hold->state = AWAKE;
	hold->probe.bucket = NULL;
	hold->own[0] = (struct entry){ .link = &bucket->first, .hold = hold, .bucket = bucket };
	if (unlikely(!bucket_trylock(bucket, 0))) {
		lath_call_exit();
		goto other;
	}
	bucket->first = &hold->own[0];
	bucket->end = &hold->own[0].next;
	bucket_unlock(bucket);
	lath_call_exit();
	if (unlikely(READ_ONCE(locks->classes) != 1ull << cls)) {
		unlock(hold);
		goto other;
	}
	lath_lockdep_locked(&locks->lockdep, id == lath_thread_id(), mode == LATH_SHARED_RANGE,
			    nanoseconds != 0);
	return 0;
other:
	return lock_for(l, h, first, last, mode, nanoseconds, owner);
}

void lath_range_unlock(struct lath_range_locks *l, struct lath_range_hold *h)
{
	struct hold *hold = hold_of(h);
	struct entry *entry = &hold->own[0];
	struct bucket *bucket = entry->bucket;

	lath_lockdep_unlocked(&locks_of(l)->lockdep, hold->owner == lath_thread_id());
	/* in one list, in which it was the last that came */
	if (likely(hold->buckets == 1 && READ_ONCE(bucket->word) == OCCUPIED &&
		   lath_call_try_enter())) {
		if (likely(bucket_trylock(bucket, OCCUPIED))) {
			if (likely(!entry->next)) {
				entry_remove(entry);
				bucket_unlock(bucket);
				lath_call_exit();
				return;
			}
			bucket_unlock(bucket);
		}
		lath_call_exit();
	}
	unlock(hold);
}

/* ---- changing what is held ---- */

/* Sets bounds within the old ones, and the mode, or a less exclusive one. In a call; no lock held:
 * it takes those of the range's buckets. */
static void give_up(struct hold *hold, u64 first, u64 last, unsigned int mode)
{
	struct hold after = { .first = first, .last = last, .mode = (u8)mode, .cls = hold->cls };
	struct entry later = { .hold = &after };
	struct wakes wakes = { 0 };
	unsigned int i;
	struct entry *e;

	lock_own(hold);
	for (i = 0; i < hold->buckets; i++)
		for (e = hold->own[i].next; e; e = e->next)
			if (blocks(&hold->own[i], e) && !blocks(&later, e))
				unblock(e, &wakes);
	/* it stays in its class and its lists, which are those of its keys and perhaps one more */
	hold->first = first;
	hold->last = last;
	hold->mode = (u8)mode;
	unlock_own(hold);
	wake(&wakes);
}

void lath_range_downgrade(struct lath_range_locks *locks, struct lath_range_hold *h)
{
	struct hold *hold = hold_of(h);

	(void)locks;
	lath_call_enter();
	give_up(hold, hold->first, hold->last, LATH_SHARED_RANGE);
	lath_call_exit();
}

/*
 * Enters the lists in front of all others, for keys of which each is held already, by holds that
 * leave afterwards. Ranges that conflict with it there wait for one of these holds, or are about to
 * find one: they wait for this one too.
 */
static void enter_in_front(struct locks *locks, struct hold *hold)
{
	struct bucket *bucket[2];
	unsigned int i;

	begin(locks, hold, bucket);
	hold->grown = 1;
	for (i = 0; i < hold->buckets; i++)
		bucket_lock(bucket[i]);
	for (i = 0; i < hold->buckets; i++) {
		struct entry *entry = &hold->own[i], *e;

		entry_add(entry, hold, bucket[i], &bucket[i]->first);
		for (e = entry->next; e; e = e->next)
			if (blocks(entry, e))
				lath_fetch_add(&e->hold->blockers, 1);
	}
	unlock_own(hold);
}

/* `to`, which is in no list, takes the place of `from` in its lists. */
static void take_place(struct hold *to, struct hold *from)
{
	unsigned int i;

	lock_own(from);
	*to = *from;
	for (i = 0; i < to->buckets; i++) {
		struct entry *entry = &to->own[i];

		entry->hold = to;
		*entry->link = entry;
		*(entry->next ? &entry->next->link : &entry->bucket->end) = &entry->next;
	}
	unlock_own(to);
}

/*
 * Locks what [first, last] has beyond the range, as separate ranges, at most two: before and
 * behind. Returns 0 | -EBUSY | -EDEADLK; *n of them are held in each case. Without the search for
 * deadlocks it does not wait: whoever waits for keys of both the range and the new ones would wait
 * for this thread, and this thread for him.
 */
static int lock_beyond(struct locks *locks, const struct hold *hold, u64 first, u64 last,
		       struct hold part[2], unsigned int *n)
{
	u64 deadline = locks->flags & LATH_RANGE_DEADLOCKS ? FOREVER : 0;
	int ret = 0, i;

	*n = 0;
	for (i = 0; i < 2 && !ret; i++) {
		struct hold *p = &part[*n];

		if (i ? last <= hold->last : first >= hold->first)
			continue;
		p->first = i ? hold->last + 1 : first;
		p->last = i ? last : hold->first - 1;
		p->owner = hold->owner;
		p->mode = hold->mode;
		ret = lock(locks, p, deadline);
		*n += !ret;
	}
	return ret;
}

/* The range becomes one that stands for itself and for the parts, before any of them leaves. */
static void join(struct locks *locks, struct hold *hold, u64 first, u64 last,
		 const struct hold *part, unsigned int n)
{
	struct hold whole;
	unsigned int i;

	whole.owner = hold->owner;
	whole.mode = hold->mode;
	whole.first = min(first, hold->first);
	whole.last = max(last, hold->last);
	whole.cls = (u8)max(class_of(locks, whole.first, whole.last), (unsigned int)hold->cls);
	/* in no smaller class than any of them: see class_above() */
	for (i = 0; i < n; i++)
		whole.cls = max(whole.cls, part[i].cls);
	enter_in_front(locks, &whole);
	lath_delay("range lock: grown");
	leave(hold);
	take_place(hold, &whole);
}

int lath_range_resize(struct lath_range_locks *l, struct lath_range_hold *h, u64 key, u64 size)
{
	struct locks *locks = locks_of(l);
	struct hold *hold = hold_of(h), part[2];
	u64 first = key, last = key + (size - 1);
	unsigned int n;
	int ret;

	/* key and size 0: all keys, which no size can say */
	if (((key || size) && (!size || last < key)) || first > hold->last || last < hold->first)
		return -EINVAL;
	lath_call_enter();
	ret = lock_beyond(locks, hold, first, last, part, &n);
	if (!ret && n)
		join(locks, hold, first, last, part, n);
	while (n)
		leave(&part[--n]);
	if (!ret)
		give_up(hold, first, last, hold->mode);
	lath_call_exit();
	return ret;
}

/* ---- beginning and end ---- */

/* Bytes of the buckets, and behind them of the lists of ranges that wait. */
static size_t table_bytes(const struct locks *locks)
{
	size_t lists = locks->flags & LATH_RANGE_DEADLOCKS ? sizeof(struct hold *) : 0;

	return (locks->mask + 1) * (sizeof(struct bucket) + lists);
}

int lath_range_locks_init(struct lath_range_locks *l, const struct lath_range_config *config)
{
	struct lath_range_config c = LATH_RANGE_CONFIG_INIT;
	struct locks *locks = locks_of(l);
	u64 buckets = 1, i;
	size_t bytes;

	if (config) {
		if (config->size != sizeof(c) || config->flags & ~LATH_RANGE_DEADLOCKS ||
		    config->buckets > BUCKETS_MOST)
			return -EINVAL;
		c = *config;
	}
	if (lath_thread_prepare())
		return -ENOMEM;
	if (!c.buckets)
		c.buckets = min(BUCKETS_USUAL * lath_processors(), BUCKETS_USUAL_MOST);
	while (buckets < c.buckets)
		buckets *= 2;
	*locks = (struct locks){
		.mask = buckets - 1, .flags = c.flags, .look = c.look, .look_arg = c.look_arg
	};
	if (c.allocator)
		locks->allocator = *c.allocator;
	bytes = table_bytes(locks);
	locks->bucket = locks->allocator.alloc
				? locks->allocator.alloc(locks->allocator.ctx, bytes, 64)
				: lath_block_alloc(bytes);
	if (!locks->bucket)
		return -ENOMEM;
	locks->bits = (unsigned int)fls64(locks->mask);
	lath_lockdep_init(&locks->lockdep, "lath_range");
	locks->unit = c.usual ? min((unsigned int)fls64(c.usual - 1), 63u) : 0;
	lath_spin_init(&locks->graph);
	for (i = 0; i < buckets; i++) {
		locks->bucket[i].word = 0;
		locks->bucket[i].first = NULL;
		locks->bucket[i].end = &locks->bucket[i].first;
	}
	if (c.flags & LATH_RANGE_DEADLOCKS) {
		locks->waits = (struct hold **)&locks->bucket[buckets];
		memset(locks->waits, 0, buckets * sizeof(*locks->waits));
	}
	return 0;
}

void lath_range_locks_fini(struct lath_range_locks *l)
{
	struct locks *locks = locks_of(l);
	u64 i;

	for (i = 0; i <= locks->mask; i++)
		LATH_ASSERT(!locks->bucket[i].first);
	if (locks->allocator.alloc)
		locks->allocator.free(locks->allocator.ctx, locks->bucket, table_bytes(locks));
	else
		lath_block_free(locks->bucket);
	locks->bucket = NULL;
}
