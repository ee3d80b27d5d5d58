/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Fibers: a stack, and the thread-local storage of a thread that is parked, so that code with
 * __thread variables sees a thread. x86-64 only. */
#ifndef LATH_TESTS_SCHED_FIBER_H
#define LATH_TESTS_SCHED_FIBER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fiber_context {
	void *stack;
	uint64_t thread_pointer;
};

#define FIBER_STACK (64ul << 10)
/* Bytes for the stacks and the thread-local storage of this many fibers. */
#define FIBER_STACKS(fibers) ((fibers) * 2 * FIBER_STACK)

/* Reserves FIBER_STACKS(fibers) bytes and returns their address. Once per process. */
uintptr_t fiber_stacks(unsigned int fibers);
/* Makes a fiber that begins in body(), which must not return. */
void fiber_make(struct fiber_context *fiber, void (*body)(void));
/* Makes a fiber of the calling thread. */
void fiber_of_thread(struct fiber_context *fiber);
/* Leaves `from`, which runs, and goes on where `to` was left. */
void fiber_switch(struct fiber_context *from, const struct fiber_context *to);

#ifdef __cplusplus
}
#endif
#endif /* LATH_TESTS_SCHED_FIBER_H */
