/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runtime.c - fibers and the scheduler (runtime.h).
 */
#include <stdio.h>
#include <unistd.h>

#include "runtime.h"
#include "runtime_inside.h"

struct sched_counts sched_counts;
void (*sched_failed)(const char *what);
void (*sched_on_access)(uintptr_t address, size_t size, bool write);

struct sched sched;

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

static void switch_to(struct fiber *to)
{
	struct fiber *from = sched.self;

	if (to == from)
		return;
	sched.self = to;
	sched_counts.switches++;
	fiber_switch(&from->self, &to->self);
}

static void fiber_main(void);

void sched_init(unsigned int fibers)
{
	unsigned int i;

	sched.private_size = FIBER_STACKS(fibers + 1);
	sched.private_base = fiber_stacks(fibers + 1);
	sched.main = &sched.fiber[SCHED_FIBERS];
	fiber_of_thread(&sched.main->self);
	for (i = 0; i < fibers; i++)
		fiber_make(&sched.fiber[i].self, fiber_main);
	fiber_make(&sched.fiber[SCHED_FIBERS - 1].self, fiber_main);
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

/* ---- accesses ---- */

void sched_access(const volatile void *address, size_t size, enum sched_kind kind, const void *pc)
{
	if (!sched.active || (uintptr_t)address - sched.private_base < sched.private_size)
		return;
	if (sched_on_access) {
		sched_on_access((uintptr_t)address, size, kind != SCHED_READ);
		return;
	}
	sched_point();
	if (sched_in_heap(address))
		sched_check(address, size, pc);
	if (kind == SCHED_READ) {
		sched_read((uintptr_t)address >> 3);
		return;
	}
	sched.self->last = 0;
	sched.last_write = sched.steps;
	sched.rounds = 0;
	if (sched.waiting) {
		sched_wake(address);
		if (size > 8)
			sched_wake((const volatile char *)address + 8);
	}
}

void sched_fence(void)
{
	if (sched.active && !sched_on_access)
		sched_point();
}
