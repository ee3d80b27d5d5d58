/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host.c - what sys/user.c and sys/thread.c supply otherwise, for the library under the scheduler:
 * memory of the checked heap, waiting by switching. No fork, no environment.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "runtime.h"

#include "sys/sys.h"

char lath_grace_period_tag;
u64 lath_generation = 1;
void (*lath_fork_hook)(void);
LATH_TLS unsigned int lath_thread_number;
struct lath_crowd lath_crowd;
LATH_TLS struct lath_thread lath_self __attribute__((aligned(64)));

#ifdef LATH_ASSERTIONS
_Noreturn void lath_assert_failed(const char *condition, const char *file, int line)
{
	char text[200];

	snprintf(text, sizeof(text), "%s:%d: assertion failed: %s", file, line, condition);
	sched_fail(text, NULL, __builtin_return_address(0));
}
#endif

const char *lath_environment(const char *name)
{
	(void)name;
	return NULL;
}

void lath_warn(const char *text)
{
	fprintf(stderr, "lathwork: %s\n", text);
}

#ifndef LATH_SIMULATED
unsigned int lath_processors(void)
{
	return 1;
}

/* Each second wait of a thread leaves it as one in a crowd does: it splits a full leaf alone. */
void lath_crowd_wait(unsigned int *rounds)
{
	lath_self.crowded = !lath_self.crowded;
	lath_spin_wait(rounds);
}

void lath_spin_lock_crowd(struct lath_spinlock *lock)
{
	lath_spin_lock(lock);
}
#endif

/* The word that each fiber sleeps on, or NULL. */
static const u32 *volatile asleep[SCHED_FIBERS];

/* Sleeps until lath_wake() alone: no other write of the word ends it, so that a wake-up that is
 * missing is seen as a deadlock. With a limit it lets the others go on for a while. */
void lath_sleep(u32 *word, u32 value, u64 nanoseconds)
{
	int self = sched_self();

	sched_access(word, 4, SCHED_READ, __builtin_return_address(0));
	if (*word != value)
		return;
	if (self < 0)
		sched_fail("it sleeps for ever", word, NULL);
	if (nanoseconds != UINT64_MAX) {
		sched_yield_to_others();
		return;
	}
	asleep[self] = word;
	while (asleep[self])
		sched_wait(&asleep[self]);
}

void lath_wake(u32 *word)
{
	unsigned int i;

	for (i = 0; i < SCHED_FIBERS; i++)
		if (asleep[i] == word) {
			asleep[i] = NULL;
			sched_wake(&asleep[i]);
		}
}

bool sched_sleeps(unsigned int fiber)
{
	return asleep[fiber];
}

u64 lath_now(void)
{
#ifdef LATH_SIMULATED
	return 1; /* no load waits with a limit */
#else
	return sched_now();
#endif
}

int lath_thread_prepare(void)
{
	return 0;
}

u64 lath_thread_ask_id(void)
{
	lath_self.id = (u64)(sched_self() + 2);
	return lath_self.id;
}

void lath_rest(u64 nanoseconds)
{
	(void)nanoseconds;
	sched_yield_to_others();
}

void lath_nap(unsigned int times)
{
	(void)times;
	sched_yield_to_others();
}

unsigned int lath_number_thread(void)
{
	return lath_thread_number = (unsigned int)(sched_self() + 2) | 1u << 31;
}

void sched_thread_begins(void)
{
	lath_thread_number = 0;
}

void lath_call_look(void)
{
}

void lath_thread_register(void)
{
}

void lath_fence_threads(void)
{
}

int lath_cancel_off(void)
{
	return 0;
}

void lath_cancel_again(const int *was)
{
	(void)was;
}

bool lath_retire_ended(void)
{
	return false;
}

void lath_turn_lock(struct lath_turn *turn)
{
	while (!lath_turn_trylock(turn))
		sched_yield_to_others();
}

size_t lath_page_size(void)
{
	return 4096;
}

bool lath_pages_ahead(void)
{
	return false;
}

void *lath_pages_alloc(size_t size, enum lath_pages kind)
{
#ifdef LATH_SIMULATED
	void simulate_pages(size_t size);

	simulate_pages(size);
#endif
	return sched_alloc(size, kind == PAGES_HUGE ? 2ul << 20 : lath_page_size(), 0);
}

void lath_pages_free(void *pages, size_t size)
{
	(void)size;
	sched_free(pages);
}

bool lath_pages_discard(void *pages, size_t size)
{
	memset(pages, 0, size);
	return true;
}

void *lath_block_alloc(size_t size)
{
	return sched_alloc(size, 64, 0x5a);
}

void *lath_small_alloc(size_t size)
{
	return sched_alloc(size, 16, 0x5a);
}

void lath_block_free(void *block)
{
	sched_free(block);
}

/* Mutexes of the store (--wrap): a fiber that finds one locked waits for its unlock. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	sched_access(mutex, 8, SCHED_UPDATE, __builtin_return_address(0));
	while (pthread_mutex_trylock(mutex)) {
		if (sched_self() < 0)
			sched_fail("a mutex is locked for ever", mutex, NULL);
		sched_wait(mutex);
	}
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int ret;

	sched_access(mutex, 8, SCHED_UPDATE, __builtin_return_address(0));
	ret = __real_pthread_mutex_unlock(mutex);
	if (sched_self() >= 0)
		sched_wake(mutex);
	return ret;
}
