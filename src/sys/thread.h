/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thread.h - what the library knows of each thread, and how it stays sound across fork(). User
 * space only.
 *
 * A record per thread, in thread-local storage, registered on the first use and removed when the
 * thread ends. Its owner alone writes `calls`, `nesting` and `section`; others read them. The
 * owner's stores are plain: a thread that reads the records of others calls lath_fence_threads()
 * before, so that each thread either has made its store visible or sees what was written before the
 * fence (an asymmetric Dekker handshake).
 *
 * Calls. A call that takes a lock, or changes something in more than one step, runs between
 * lath_call_enter() and lath_call_exit(). fork() waits until no other thread is in such a call and
 * holds new ones up, so the child inherits no lock and no half-done change of a thread that it does
 * not have. Rules:
 *
 *   C1  a lock of the library is taken in a call only, but a struct lath_turn; checked builds abort
 *       otherwise;
 *   C2  in a call a thread does not wait for a grace period: the thread that forks may be the
 *       reader it waits for;
 *   C3  the callbacks of the user that run in a call may fork, if no lock is held there.
 */
#ifndef LATH_SYS_THREAD_H
#define LATH_SYS_THREAD_H

struct lath_thread {
	u32 calls;   /* depth of calls */
	u32 stop;    /* a call looks twice before it begins: `slow`, or somebody is about to fork */
	u32 slow;    /* not registered, or the kernel lacks membarrier(): sections and calls need a
			fence */
	u32 nesting; /* of read-side sections */
	u64 section; /* the grace period in which the outermost section began; 0: not in one */
	struct lath_thread *next, **link; /* of the registry; other threads write them */
	u32 ends;			  /* how often the end of the thread removed the record */
	bool registered;
	bool forking;	 /* between the handlers of fork() */
	bool reclaiming; /* runs what was retired */
	bool worker;	 /* the thread that is there for that */
};

extern __thread struct lath_thread lath_self
	__attribute__((tls_model("initial-exec"), aligned(64)));

/* Wait for the fork under way, register if need be. */
void lath_call_look(void);

static inline void lath_call_enter(void)
{
	u32 calls = lath_self.calls;

	WRITE_ONCE(lath_self.calls, calls + 1);
	barrier(); /* pairs with lath_fence_threads in before_fork */
	if (unlikely(READ_ONCE(lath_self.stop)) && !calls)
		lath_call_look();
}

static inline void lath_call_exit(void)
{
	LATH_ASSERT(lath_self.calls);
	smp_store_release(&lath_self.calls, lath_self.calls - 1); /* pairs with others_in_calls */
}

/* C1 */
static inline void lath_call_assert(void)
{
	LATH_ASSERT(lath_self.calls);
}

/* C2 */
static inline void lath_wait_assert(void)
{
	LATH_ASSERT(!lath_self.calls && !lath_self.nesting);
}

/*
 * A lock that is held while its holder waits for grace periods, so not for the length of a call.
 * fork() does not wait
 * for it: in the child it is free unless the thread that forked held it. What it protects is sound
 * whenever its holder is not in a call.
 */
struct lath_turn {
	u64 held; /* the holder's process: lath_generation; 0: nobody */
};

extern u64 lath_generation; /* forks between the first process and this one, counted from 1 */

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

/* This thread's record is in the registry from here on; at the end of the thread it leaves. */
void lath_thread_register(void);
void lath_thread_unregister(void);
/* Afterwards each thread has passed a full barrier. */
void lath_fence_threads(void);
/* Is there a thread in a section that began before this grace period? */
bool lath_section_before(u64 period);
/* A pause for loops that wait for other threads; longer with the rounds. */
void lath_nap(unsigned int *rounds);

/* rcu.c: in the child of a fork, which has this thread only */
void lath_rcu_after_fork(void);

#endif /* LATH_SYS_THREAD_H */
