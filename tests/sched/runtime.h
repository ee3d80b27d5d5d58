/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runtime.h - fibers on one thread, a scheduler that may switch at every access to shared memory,
 * and a heap that checks these accesses.
 *
 * The library is compiled with -fsanitize=thread and linked without ThreadSanitizer: abi.c supplies
 * the functions that such code calls at each access, and host.c what src/sys supplies otherwise.
 * Memory is sequentially consistent here: memory orders are checked by other means.
 *
 *   fiber     a stack, and the thread-local storage of a parked thread, so that code with __thread
 *             variables sees a thread. x86-64 only.
 *   schedule  the ready fiber of highest priority runs. At a change point the fiber that runs gets
 *             a priority below all others (Burckhardt et al., "A randomized scheduler with
 *             probabilistic guarantees of finding bugs", ASPLOS 2010).
 *   spinning  a fiber that reads one word again and again waits until another fiber writes there.
 *   RCU       a callback runs, in its own fiber, as soon as every section that was open when
 *             it was retired has ended.
 *   heap      addresses are not used again within a run. An access to memory that was freed, or
 *             that was not allocated, ends the program with a report.
 *
 * Everything is a function of the plan: the same plan gives the same run.
 */
#ifndef LATH_TESTS_SCHED_RUNTIME_H
#define LATH_TESTS_SCHED_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHED_FIBERS 129 /* the last one runs RCU callbacks */

struct sched_plan {
	unsigned int fibers;
	const int *priority;	/* of each fiber, above 0 */
	int callbacks;		/* priority of the fiber that runs RCU callbacks */
	const uint64_t *change; /* change points: numbers of accesses, ascending */
	unsigned int changes;
};

/* Sets up the heap and this many fibers (with their parked threads). Once per program. */
void sched_init(unsigned int fibers);
/* Runs body(arg, fiber) in each fiber until all have ended and all RCU callbacks have run. */
void sched_run(const struct sched_plan *plan, void (*body)(void *arg, unsigned int fiber),
	       void *arg);
/* A number that grows with each call: the order of events in all fibers. */
uint64_t sched_now(void);
/* The calling fiber, or -1 in the main program. */
int sched_self(void);
/* In a fiber: a switch point that counts as an access. */
void sched_point(void);
/* In a fiber: lets all others go first. In the main program: nothing. */
void sched_yield_to_others(void);
/* In a fiber: waits until *word has been written by another. */
void sched_wait(const volatile void *word);
/* Wakes the fibers that wait for a write of this word. */
void sched_wake(const volatile void *word);

struct sched_counts {
	uint64_t accesses;						     /* of the last run */
	uint64_t switches, callbacks, sections, allocations, refused, spins; /* of all */
};
extern struct sched_counts sched_counts;

/* Called with a sentence when a run is wrong; must not return. */
extern void (*sched_failed)(const char *what);
/* Reports a fault and ends the program. */
void sched_fail(const char *what, const void *address, const void *pc) __attribute__((noreturn));

/* Each access of the fibers, if not NULL, before it happens; then nothing else is done with it. */
extern void (*sched_on_access)(uintptr_t address, size_t size, bool write);

/* ---- for abi.c ---- */

enum sched_kind {
	SCHED_READ,
	SCHED_WRITE,
	SCHED_UPDATE, /* an atomic operation that reads and writes, or is a barrier as well */
};

/* An access by instrumented code, before it happens. */
void sched_access(const volatile void *address, size_t size, enum sched_kind kind, const void *pc);
void sched_fence(void);

/* ---- heap.c ---- */

/* Memory filled with `fill`; NULL if this allocation is to fail. */
void *sched_alloc(size_t size, size_t align, int fill);
void sched_free(void *block);
/* The number of this allocation from now on fails; 0: none. */
void sched_fail_allocation(uint64_t number);
/* Blocks that were allocated and not freed. */
unsigned int sched_live_blocks(void);
/* Empties the heap; runs RCU callbacks and keeps a copy of it as it is; makes it so again. The
 * copy includes the program's variables of threads: each fiber begins with those of the main
 * program. */
void sched_heap_clear(void);
void sched_heap_keep(void);
void sched_heap_restore(void);
bool sched_in_heap(const volatile void *address);
void sched_check(const volatile void *address, size_t size, const void *pc);

/* ---- host.c ---- */

/* Does the fiber sleep in lath_sleep()? */
bool sched_sleeps(unsigned int fiber);

/* Called in a fiber before it runs anything: it becomes its own thread. */
void sched_thread_begins(void);

/* ---- rcu.c ---- */

void sched_rcu_begin(void);
/* Runs a callback whose sections have ended; returns false if there is none. */
bool sched_rcu_step(void);
bool sched_rcu_empty(void);
bool sched_rcu_ready(void);
/* Runtime for rcu.c: the callback fiber has work. */
void sched_callbacks_ready(void);

#ifdef __cplusplus
}
#endif
#endif /* LATH_TESTS_SCHED_RUNTIME_H */
