/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * crowd.c - how threads wait for a node that many of them want. User space only.
 *
 * A core that takes a node's lock must fetch the node's cache lines from the core that held the
 * lock before. A line takes 40 to 120 ns, so an insert of 50 ns takes several hundred. A thread
 * that reads the lockword to see whether it is free takes that line from the holder, which has to
 * fetch it back. Throughput is best when the lock changes hands rarely and waiting threads read it
 * rarely.
 *
 * A thread that finds the lock held looks LOOKS times, with short pauses before each look; most
 * locks are free by then. If this one is still held, there is a crowd. The thread then stops
 * looking, for TURN nanoseconds times the number of threads that wait in this way. So the waiting
 * threads come back one by one, TURN apart; and the thread that came back last has the node to
 * itself until the next one comes: some fifty calls whose lines are all in its own cache. A thread
 * that finds the lock held after such a wait waits again. CALM waits after the last one that ended
 * so, its pauses are short again.
 *
 * Waiting threads form no queue. One wait lasts at most TURN nanoseconds times the number of
 * processors.
 */
#include "sys/sys.h"

#define TURN 3000 /* nanoseconds */
#define LOOKS 3	  /* after pauses of 1, 2 and 4 times the shortest */
#define CALM 8

static void wait_for_turn(void)
{
	u64 most = max(lath_processors(), 2u) - 1;
	u64 n = lath_fetch_add(&lath_crowd.waiting, 1) + 1;

	/* of more threads than processors, the rest do not run and take no turns */
	lath_pause(TURN * (unsigned int)min(n, most));
	lath_fetch_add(&lath_crowd.waiting, -1ull);
}

void lath_crowd_wait(unsigned int *rounds)
{
	unsigned int round = (*rounds)++, pauses;

	/* the lock was still held after all short pauses, or after a whole turn */
	if (round >= LOOKS || (round && lath_self.crowded)) {
		lath_self.crowded = CALM;
		lath_nap(round); /* the holder may wait for a processor */
	}
	if (lath_self.crowded) {
		lath_self.crowded--;
		wait_for_turn();
		return;
	}
	for (pauses = 1u << round; pauses; pauses--)
		cpu_relax();
}

void lath_spin_lock_crowd(struct lath_spinlock *lock)
{
	unsigned int rounds = 0;

	LATH_ASSERT(!lath_spin_mine(lock));
	while (!lath_spin_trylock(lock))
		lath_crowd_wait(&rounds);
}
