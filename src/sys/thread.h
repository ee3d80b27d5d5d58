/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thread.h - the library's record of each thread, and how the library survives fork(). User space
 * only.
 *
 * Each thread has a record in thread-local storage. It is registered on the thread's first use of
 * the library and removed when the thread ends. Only the owner writes `calls`, `nesting` and
 * `section`; other threads read them. The owner's stores are plain: a thread that reads the records
 * of others calls lath_fence_threads() before. After it, each other thread has either made its
 * store visible or sees what was written before the fence (an asymmetric Dekker handshake).
 *
 * A call is code between lath_call_enter() and lath_call_exit(): code that takes a lock, or that
 * changes something in more than one step. fork() waits until no other thread is in a call, and
 * delays new calls until it is done. So the child inherits no lock and no incomplete change of a
 * thread that it does not have. Rules:
 *
 *   C1  a lock of the library, except a struct lath_turn, is taken in a call only; builds with
 *       assertions abort otherwise;
 *   C2  a thread does not wait for a grace period in a call: the thread that forks may be in the
 *       read-side critical section it waits for;
 *   C3  callbacks of the user that run in a call may fork if no lock is held there.
 */
#ifndef LATH_SYS_THREAD_H
#define LATH_SYS_THREAD_H

struct lath_thread {
	u32 calls; /* nesting depth of calls */
	u32 stop;  /* a new call takes the slow path: `slow`, or a fork is pending */
	u32 slow;  /* not registered, or no membarrier(): fences are needed; see lose_membarriers */
	u32 nesting; /* nesting depth of read-side critical sections */
	u64 section; /* the grace period in which the section began; 0: in none */
	u64 id;	     /* the kernel's number of the thread; 0: not asked yet */
	struct lath_thread *next, **link; /* of the registry, under its lock */
	u32 ends;			  /* how often the thread's end has removed the record */
	bool registered;
	bool forking;		      /* the thread is in fork(), between its handlers */
	bool worker;		      /* this is the worker thread of rcu.c */
	bool watched;		      /* its exit() will be noticed */
	bool exiting;		      /* it is in exit(), which calls destructors */
	bool keeps;		      /* a section that it ends in stays open */
	u8 crowded;		      /* waits for locks that are long ones: crowd.c */
	struct lath_turn *reclaiming; /* it runs retired callbacks, and holds this */
};

extern LATH_TLS struct lath_thread lath_self __attribute__((aligned(64)));

/* The slow part of lath_call_enter(): waits for a fork in progress, registers the thread if need
 * be. */
void lath_call_look(void);

/* The slow part of lath_thread_id(). */
u64 lath_thread_ask_id(void);

/* Registers the calling thread if it is not: what makes a structure does so first, since it can
 * return the error. 0 | -ENOMEM: the process has no memory or no thread-specific key left. */
int lath_thread_prepare(void);

/* lath_thread_id(), or 0 if that would be the thread's first call of it. */
static inline u64 lath_known_thread(void)
{
	return lath_self.id;
}

/* Returns the number of the calling thread, as the system's tools show it. */
static inline u64 lath_thread_id(void)
{
	u64 id = lath_self.id;

	return likely(id) ? id : lath_thread_ask_id();
}

/* Did the thread find a lock held lately, although it had waited for it? See crowd.c. */
static inline bool lath_crowded(void)
{
	return lath_self.crowded;
}

static inline void lath_call_enter(void)
{
	u32 calls = lath_self.calls;

	WRITE_ONCE(lath_self.calls, calls + 1);
	barrier(); /* pairs with lath_fence_threads in before_fork */
	if (unlikely(READ_ONCE(lath_self.stop)) && !calls)
		lath_call_look();
}

/* lath_call_enter() for a shortcut. Returns false, and enters no call, where lath_call_look() would
 * be called: then the general way does that. */
static inline bool lath_call_try_enter(void)
{
	u32 calls = lath_self.calls;

	WRITE_ONCE(lath_self.calls, calls + 1);
	barrier(); /* pairs with lath_fence_threads in before_fork */
	if (likely(!READ_ONCE(lath_self.stop)))
		return true;
	WRITE_ONCE(lath_self.calls, calls);
	return false;
}

static inline void lath_call_exit(void)
{
	LATH_ASSERT(lath_self.calls);
	smp_store_release(&lath_self.calls,
			  lath_self.calls - 1); /* pairs with lath_others_in_calls */
}

/* Until the end of the function that begins with this, the thread is not cancelled: it holds what
 * others wait for, or what must be closed or freed, and there are cancellation points (open, write,
 * fsync, close). Then a request that came meanwhile is followed. */
#define LATH_NO_CANCEL \
	int lath_cancel_was __attribute__((cleanup(lath_cancel_again))) = lath_cancel_off()

int lath_cancel_off(void);
void lath_cancel_again(const int *was);

/* C1 */
static inline void lath_call_assert(void)
{
	LATH_ASSERT(lath_self.calls);
}

/* C2 */
static inline void lath_wait_assert(void)
{
	LATH_ASSERT((!lath_self.calls && !lath_self.nesting) || lath_self.exiting);
}

/* A lock that a thread holds while it waits for grace periods, hence outside calls (C2). fork()
 * does not wait for it: in the child it is free, unless the thread that forked held it. Rule: what
 * it protects is consistent whenever its holder is not in a call. */
struct lath_turn {
	u64 held; /* lath_generation of the holder's process; 0: free */
};

/* Called in a thread that forks, when no other thread is in a call; NULL: nothing to do. */
extern void (*lath_fork_hook)(void);

extern u64 lath_generation; /* number of forks from the first process to this one, plus 1 */

static inline void lath_turn_init(struct lath_turn *turn)
{
	turn->held = 0;
}

static inline bool lath_turn_trylock(struct lath_turn *turn)
{
	u64 held = READ_ONCE(turn->held);

	return held != lath_generation &&
	       cmpxchg_acquire(&turn->held, held, lath_generation) == held;
}

void lath_turn_lock(struct lath_turn *turn);

/* For assertions: returns whether a thread of this process holds it. */
static inline bool lath_turn_held(const struct lath_turn *turn)
{
	return READ_ONCE(turn->held) == lath_generation;
}

static inline void lath_turn_unlock(struct lath_turn *turn)
{
	LATH_ASSERT(lath_turn_held(turn));
	smp_store_release(&turn->held, 0); /* pairs with lath_turn_trylock */
}

/* ---- thread.c for rcu.c ---- */

/* Registers or unregisters the calling thread. Registered threads unregister by themselves when
 * they end. Not in a call or in a section. Ends the process if it cannot. */
void lath_thread_register(void);
void lath_thread_unregister(void);
/* Returns after a full memory barrier of every registered thread. registry_lock not held. */
void lath_fence_threads(void);
/* Returns whether a thread is in a section that began before this grace period. */
bool lath_section_before(u64 period);
/* Returns whether another thread is in a call, or in one in which it runs retired callbacks. */
bool lath_others_in_calls(bool reclaiming);

/* The threads that wait for a lock without looking at it (crowd.c). Each writes it twice. */
struct lath_crowd {
	u64 waiting;
} __attribute__((aligned(64)));

extern struct lath_crowd lath_crowd;

/* rcu.c: called in the child of a fork, which has the calling thread only. */
void lath_rcu_after_fork(void);

#endif /* LATH_SYS_THREAD_H */
