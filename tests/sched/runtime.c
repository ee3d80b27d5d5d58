/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runtime.c - fibers and the scheduler (runtime.h).
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"
#include "runtime_inside.h"

struct sched_counts sched_counts;
void (*sched_failed)(const char *what);
void (*sched_on_access)(uintptr_t address, size_t size, bool write, bool atomic);

struct sched sched;

#define STACK (64ul << 10)
/* Accesses of one fiber without a switch after which it yields: it may wait for what others do. */
#define BURST 20000
/* Accesses of all fibers without a write after which no fiber is said to make progress. */
#define NO_PROGRESS 2000000
/* Reads of one word in a row that make a spinning fiber. */
#define SPIN 4

uint64_t sched_now(void)
{
	return ++sched.clock;
}

int sched_self(void)
{
	return sched.active ? (int)(sched.self - sched.fiber) : -1;
}

void sched_fail(const char *what, const void *address, const void *pc)
{
	static char text[300];

	sched.active = false;
	snprintf(text, sizeof(text), "%s (address %p, instruction %p)", what, address, pc);
	if (sched_failed)
		sched_failed(text);
	fprintf(stderr, "%s\n", text);
	_exit(1);
}

/* ---- fibers ---- */

/* Saves the callee's registers and the stack of the caller in *from, and goes on where the stack
 * `to` was left. */
void sched_swap(void **from, void *to);
__asm__(".text\n"
	".type sched_swap, @function\n"
	"sched_swap:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n"
	".size sched_swap, . - sched_swap\n");

static bool can_write_fs; /* the processor's instruction is permitted */

static inline __attribute__((always_inline)) void set_thread_pointer(uint64_t pointer)
{
	if (can_write_fs)
		__asm__ volatile("wrfsbase %0" : : "r"(pointer) : "memory");
	else
		syscall(SYS_arch_prctl, ARCH_SET_FS, pointer);
}

static __attribute__((noinline)) void switch_to(struct fiber *to)
{
	struct fiber *from = sched.self;

	if (to == from)
		return;
	sched.self = to;
	sched_counts.switches++;
	set_thread_pointer(to->thread_pointer);
	sched_swap(&from->stack, to->stack);
}

static uint64_t thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static sem_t parked;

/* A thread that only lends its thread-local storage. */
static void *park(void *fiber)
{
	((struct fiber *)fiber)->thread_pointer = thread_pointer();
	sem_post(&parked);
	for (;;)
		pause();
	return NULL;
}

static void fiber_main(void);

static void make_fiber(struct fiber *fiber, char *stacks)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void **top = (void **)(void *)(stacks + STACK);

	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stacks + STACK, STACK) ||
	    pthread_create(&thread, &attributes, park, fiber)) {
		fprintf(stderr, "sched: cannot create a thread\n");
		exit(2);
	}
	sem_wait(&parked);
	*--top = NULL;
	*--top = (void *)fiber_main; /* returned to, with the stack as after a call */
	memset(top - 6, 0, 6 * sizeof(*top));
	fiber->stack = top - 6;
}

void sched_init(unsigned int fibers)
{
	unsigned int i;
	char *stacks;

	can_write_fs = getauxval(AT_HWCAP2) & 2;
	sem_init(&parked, 0, 0);
	sched.private_size = (fibers + 1) * 2 * STACK;
	stacks = mmap(NULL, sched.private_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (stacks == MAP_FAILED) {
		perror("sched: stacks");
		exit(2);
	}
	sched.private_base = (uintptr_t)stacks;
	sched.main = &sched.fiber[SCHED_FIBERS];
	sched.main->thread_pointer = thread_pointer();
	for (i = 0; i < fibers; i++)
		make_fiber(&sched.fiber[i], stacks + i * 2 * STACK);
	make_fiber(&sched.fiber[SCHED_FIBERS - 1], stacks + fibers * 2 * STACK);
	sched.made = fibers;
	sched_heap_clear();
}

/* ---- the scheduler ---- */

static struct fiber *best(void)
{
	struct fiber *best = sched.callbacks->state == READY ? sched.callbacks : NULL;
	unsigned int i;

	for (i = 0; i < sched.plan->fibers; i++) {
		struct fiber *fiber = &sched.fiber[i];

		if (fiber->state == READY && (!best || fiber->priority > best->priority))
			best = fiber;
	}
	return best;
}

/* Lets all fibers that spin look again. Returns whether there are any. */
static bool wake_spinning(void)
{
	unsigned int i;
	bool any = false;

	for (i = 0; i < sched.plan->fibers; i++)
		if (sched.fiber[i].state == SPINS) {
			sched.fiber[i].state = READY;
			any = true;
		}
	if (sched.callbacks->state == SPINS) {
		sched.callbacks->state = READY;
		any = true;
	}
	sched.waiting = 0;
	return any;
}

static void reschedule(void)
{
	struct fiber *to = best();

	if (!to) { /* all wait: a read may have looked like spinning and be none */
		if (++sched.rounds > 100 || !wake_spinning())
			sched_fail("deadlock: no thread can go on", NULL, NULL);
		to = best();
	}
	switch_to(to);
}

static void set_next(void)
{
	sched.next = sched.until_yield;
	if (sched.changed < sched.plan->changes && sched.plan->change[sched.changed] < sched.next)
		sched.next = sched.plan->change[sched.changed];
}

void sched_slow_point(void)
{
	uint64_t steps = sched.steps;

	if (steps - sched.last_write > NO_PROGRESS)
		sched_fail("livelock: nothing is written any more", NULL, NULL);
	while (sched.changed < sched.plan->changes && sched.plan->change[sched.changed] <= steps) {
		sched.self->priority = --sched.lowest;
		sched.changed++;
	}
	if (steps >= sched.until_yield) {
		sched.until_yield = steps + BURST;
		if (sched.self->since >= BURST)
			sched.self->priority = --sched.lowest;
		wake_spinning(); /* one of them may only have looked so */
	}
	set_next();
	reschedule();
}

void sched_point(void)
{
	sched.self->since++;
	if (++sched.steps >= sched.next)
		sched_slow_point();
}

void sched_yield_to_others(void)
{
	if (!sched.active)
		return;
	sched.self->priority = --sched.lowest;
	wake_spinning();
	sched.next = 0;
	sched_point();
}

void sched_wait(const volatile void *word)
{
	sched_counts.spins++;
	sched.self->state = SPINS;
	sched.self->word = (uintptr_t)word >> 3;
	sched.waiting++;
	reschedule();
}

/* Called at a read. A thread that spins reads nothing else. */
void sched_read(uintptr_t word)
{
	struct fiber *self = sched.self;

	if (self->last == word && ++self->repeats >= SPIN) {
		self->repeats = 0;
		sched_wait((const volatile void *)(word << 3));
		return;
	}
	if (self->last != word) {
		self->last = word;
		self->repeats = 0;
	}
}

void sched_wake(const volatile void *address)
{
	uintptr_t word = (uintptr_t)address >> 3;
	unsigned int i;

	for (i = 0; i <= sched.plan->fibers; i++) {
		struct fiber *fiber = i < sched.plan->fibers ? &sched.fiber[i] : sched.callbacks;

		if (fiber->state == SPINS && fiber->word == word) {
			fiber->state = READY;
			sched.waiting--;
			sched.next = 0; /* it may have the higher priority */
		}
	}
}

void sched_callbacks_ready(void)
{
	if (sched.active && sched.callbacks->state == IDLE) {
		sched.callbacks->state = READY;
		sched.next = 0;
	}
}

/* The fiber has ended, or has no work: another one goes on. If all have ended, and no callback is
 * in progress, the program. */
static void leave(enum fiber_state state)
{
	struct fiber *to;

	sched.self->state = state;
	to = sched.open || sched.callbacks->state != IDLE ? best() : sched.main;
	if (!to && wake_spinning())
		to = best();
	if (!to)
		sched_fail("deadlock: no thread can go on", NULL, NULL);
	switch_to(to);
}

static void fiber_main(void)
{
	struct fiber *self = sched.self;

	for (;;) {
		if (self != sched.callbacks) {
			sched_thread_begins();
			sched.body(sched.arg, (unsigned int)(self - sched.fiber));
			sched.open--;
			leave(DONE);
			continue;
		}
		while (sched_rcu_step())
			;
		leave(IDLE);
	}
}

void sched_run(const struct sched_plan *plan, void (*body)(void *arg, unsigned int fiber),
	       void *arg)
{
	unsigned int i;

	if (plan->fibers > sched.made)
		sched_fail("more fibers than were made", NULL, NULL);
	sched.plan = plan;
	sched.body = body;
	sched.arg = arg;
	sched.callbacks = &sched.fiber[SCHED_FIBERS - 1];
	sched.steps = sched.last_write = 0;
	sched.until_yield = BURST;
	sched.changed = sched.waiting = sched.rounds = 0;
	sched.lowest = 0;
	sched.open = plan->fibers;
	for (i = 0; i < plan->fibers; i++) {
		sched.fiber[i].state = READY;
		sched.fiber[i].priority = plan->priority[i];
		sched.fiber[i].last = sched.fiber[i].repeats = 0;
		sched.fiber[i].since = 0;
	}
	sched.callbacks->state = IDLE;
	sched.callbacks->priority = plan->callbacks;
	sched.callbacks->last = sched.callbacks->repeats = 0;
	sched_rcu_begin();
	set_next();
	sched.self = sched.main;
	sched.active = true;
	switch_to(best());
	sched.active = false;
	sched_counts.accesses = sched.steps;
	if (!sched_rcu_empty())
		sched_fail("a callback waits for ever", NULL, NULL);
}
