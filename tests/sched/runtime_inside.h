/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The state of the scheduler, for the files of the runtime. */
#ifndef LATH_TESTS_SCHED_RUNTIME_INSIDE_H
#define LATH_TESTS_SCHED_RUNTIME_INSIDE_H

#include "fiber.h"
#include "runtime.h"

enum fiber_state { IDLE, READY, SPINS, DONE };

struct fiber {
	struct fiber_context self;
	enum fiber_state state;
	int priority;
	uintptr_t word; /* SPINS: what it waits for, address / 8 */
	uintptr_t last; /* what it read last, address / 8 */
	unsigned int repeats;
	unsigned int nesting; /* of RCU sections */
	uint64_t since;	      /* accesses in this run */
};

struct sched {
	bool active; /* a fiber runs */
	struct fiber *self;
	uint64_t steps, next; /* accesses so far; the one at which to look what is to be done */
	uintptr_t private_base, private_size; /* stacks, and what is local to threads */
	unsigned int waiting;		      /* fibers that spin */
	uint64_t last_write, until_yield, clock;
	const struct sched_plan *plan;
	unsigned int changed, open, made, rounds;
	int lowest;
	struct fiber *callbacks, *main;
	void (*body)(void *arg, unsigned int fiber);
	void *arg;
	struct fiber fiber[SCHED_FIBERS + 1];
};
extern struct sched sched;

void sched_slow_point(void);
void sched_read(uintptr_t word);

#endif /* LATH_TESTS_SCHED_RUNTIME_INSIDE_H */
