/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * outside_test.c - what the process does to a thread in a call: another thread cancels it, it has a
 * higher priority than the thread that it waits for, a sandbox takes membarrier() away, memory is
 * locked, it waits until the end of time, the program ends while a thread reads. Each case runs in
 * a child, which an alarm ends if a call waits for ever.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lathwork/interval.h"
#include "lathwork/range_lock.h"
#include "lathwork/space.h"
#include "lathwork/store.h"
#include "base/must.h"

#define SKIPPED 77

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

/* A child starts the thread that reclaims. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static struct lath_index list;
static struct lath_store *store;
static struct lath_space *space;
static struct lath_intervals intervals;
static struct lath_range_locks locks;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pthread_t start(void *(*work)(void *), void *arg)
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, work, arg));
	return thread;
}

static void make_all(void)
{
	struct lath_space_config config = { .size = sizeof(config), .high = 1 << 20, .unit = 1 };

	MUST(!lath_index_init(&list, NULL));
	MUST(!lath_store_open(&store, "mem:", NULL));
	MUST(!lath_space_create(&space, &config));
	MUST(!lath_intervals_init(&intervals, LATH_HALF_OPEN, NULL));
	MUST(!lath_range_locks_init(&locks, NULL));
}

/* ---- what threads do ---- */

static void change_list(uint64_t n)
{
	struct lath_item item = { n % 64 * 4, 2, n };

	if (lath_index_insert_item(&list, &item, NULL))
		lath_index_erase_item(&list, item.key, NULL);
}

static void look_list(uint64_t n)
{
	uint64_t value;

	lath_index_get(&list, n % 64 * 4, &value);
}

static void change_store(uint64_t n)
{
	lath_store_set(store, lath_key_number(n % 8), "a value that takes a record", 27);
}

static void change_space(uint64_t n)
{
	uint64_t key;

	if (!lath_space_alloc(space, 1 + n % 8, 1, n, &key))
		lath_space_free(space, key, 1 + n % 8);
}

static void change_intervals(uint64_t n)
{
	const struct lath_interval interval = { 5, 9, n % 4 };

	if (lath_intervals_insert(&intervals, &interval))
		lath_intervals_erase(&intervals, &interval);
}

static void lock_ranges(uint64_t n)
{
	struct lath_range_hold hold;

	if (!lath_range_lock(&locks, &hold, n % 4, 2, LATH_EXCLUSIVE_RANGE))
		lath_range_unlock(&locks, &hold);
}

static void (*const changes[])(uint64_t n) = { change_list,  look_list,	       change_store,
					       change_space, change_intervals, lock_ranges };
#define CHANGES (sizeof(changes) / sizeof(changes[0]))

static void fill_and_end(void)
{
	struct lath_item item = { 0, 1, 1 };
	struct lath_index index;

	MUST(!lath_index_init(&index, NULL));
	for (; item.key < 200; item.key++)
		lath_index_insert_item(&index, &item, NULL);
	for (item.key = 0; item.key < 190; item.key++)
		lath_index_erase_item(&index, item.key, NULL);
	lath_index_fini(&index, NULL, NULL);
}

static void freed(struct lath_rcu_head *head)
{
	free(head);
}

static void retire_and_drain(void)
{
	lath_rcu_auto.call(malloc(sizeof(struct lath_rcu_head)), freed);
	lath_rcu_auto.drain();
}

/* ---- cancelled ---- */

static void save(void)
{
	static uint64_t n;

	MUST(!lath_store_set(store, lath_key_number(n++ % 8), "a value", 7));
	MUST(!lath_store_sync(store));
}

static void read_a_while(void)
{
	lath_rcu_auto.read_lock();
	usleep(1000);
	lath_rcu_auto.read_unlock();
}

static void compact(void)
{
	lath_store_compact(store);
}

static void *again_and_again(void *call)
{
	for (;;)
		(*(void (**)(void))call)();
	return NULL;
}

static void *read_often(void *unused)
{
	(void)unused;
	for (;;) {
		lath_rcu_auto.read_lock();
		usleep(3000);
		lath_rcu_auto.read_unlock();
	}
	return NULL;
}

/* A thread that is cancelled in a call has left nothing locked, and is cancelled. */
static void cancelled(void)
{
	void (*const calls[])(void) = { retire_and_drain, fill_and_end, save, compact,
					read_a_while };
	char spec[64];
	pthread_t thread;
	unsigned int i, k;

	snprintf(spec, sizeof(spec), "file:cancelled-%d.db", (int)getpid());
	MUST(!lath_store_open(&store, spec, NULL));
	start(read_often, NULL);
	for (k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
		for (i = 0; i < 10; i++) {
			thread = start(again_and_again, (void *)(uintptr_t)&calls[k]);
			usleep(1000 + i * 7919 % 9000);
			MUST(!pthread_cancel(thread) && !pthread_join(thread, NULL));
			calls[k]();
			retire_and_drain();
		}
	MUST(!lath_store_close(store));
	unlink(spec + 5);
}

/* ---- priorities ---- */

static bool stop;

static void *change_until_stopped(void *change)
{
	for (uint64_t n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n += 7)
		(*(void (**)(uint64_t))change)(n);
	return NULL;
}

/* A thread that none of lower priority interrupts waits for one of those for a short time. */
static void priorities(void)
{
	const struct sched_param first = { .sched_priority = 50 };
	double begin, t, worst;
	pthread_t thread;
	cpu_set_t one;
	unsigned int k;

#ifdef SANITIZED
	exit(SKIPPED); /* the sanitizers' locks spin, that of malloc() too */
#endif
	make_all();
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	MUST(!sched_setaffinity(0, sizeof(one), &one));
	for (k = 0; k < CHANGES; k++) {
		stop = false;
		thread = start(change_until_stopped, (void *)(uintptr_t)&changes[k]);
		if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first))
			exit(SKIPPED);
		worst = 0;
		for (begin = t = now(); t < begin + .15; t = now()) {
			usleep(50);
			t = now();
			changes[k]((uint64_t)(t * 1e6));
			t = now() - t;
			worst = t > worst ? t : worst;
		}
		pthread_setschedparam(pthread_self(), SCHED_OTHER, &(struct sched_param){ 0 });
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		if (worst > .3)
			fprintf(stderr, "kind %u: a call took %.0f ms\n", k, worst * 1e3);
		MUST(worst <= .3);
	}
}

/* ---- a sandbox ---- */

/* membarrier() fails from now on in all threads. */
static void refuse_membarrier(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		exit(SKIPPED);
	MUST(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM);
}

static uint64_t *shown;

static void *read_shown(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		lath_rcu_auto.read_lock();
		MUST(*__atomic_load_n(&shown, __ATOMIC_ACQUIRE) == 7);
		lath_rcu_auto.read_unlock();
	}
	return NULL;
}

/* Replaces what the other threads read, and reuses it when they do not any more. */
static void replace_shown(unsigned int rounds)
{
	uint64_t *next;

	while (rounds--) {
		next = malloc(sizeof(*next));
		*next = 7;
		next = __atomic_exchange_n(&shown, next, __ATOMIC_ACQ_REL);
		lath_rcu_auto.synchronize();
		*next = 0;
		free(next);
	}
}

/* Readers are waited for before and after membarrier() was taken away, and in a child. */
static void sandbox(void)
{
	pthread_t reader[2], writer;
	int status;
	pid_t child;

	make_all();
	shown = malloc(sizeof(*shown));
	*shown = 7;
	reader[0] = start(read_shown, NULL);
	reader[1] = start(read_shown, NULL);
	writer = start(change_until_stopped, (void *)(uintptr_t)&changes[0]);
	replace_shown(200);
	refuse_membarrier();
	replace_shown(200);
	retire_and_drain();
	fill_and_end();
	child = fork();
	if (!child) {
		retire_and_drain();
		fill_and_end();
		_exit((int)faults);
	}
	MUST(waitpid(child, &status, 0) == child && !status);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(reader[0], NULL);
	pthread_join(reader[1], NULL);
	pthread_join(writer, NULL);
	free(shown);
}

/* ---- locked memory ---- */

/* A store reserves addresses for all of the machine's memory, which is not filled. */
static void locked_memory(void)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	char line[200];
	long kib = 0;
	FILE *status;

	options.limit = 256 << 20; /* if it is filled, this is all */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		exit(SKIPPED);
	MUST(!lath_store_open(&store, "mem:", &options));
	for (uint64_t n = 0; n < 1000; n++)
		change_store(n);
	status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	MUST(kib < 200 << 10);
	MUST(!lath_store_close(store));
}

/* ---- long times ---- */

static void *wait_long(void *nanoseconds)
{
	struct lath_range_hold hold;

	MUST(!lath_range_timedlock(&locks, &hold, 5, 1, LATH_EXCLUSIVE_RANGE,
				   *(const uint64_t *)nanoseconds));
	lath_range_unlock(&locks, &hold);
	return NULL;
}

/* A wait whose end no clock reaches lasts until the range is free. */
static void long_times(void)
{
	static uint64_t times[] = { UINT64_MAX,	     UINT64_MAX - 1, UINT64_MAX - 1000000000,
				    1ull << 63,	     INT64_MAX,	     UINT64_MAX / 2 + 1000000000,
				    INT64_MAX - 1000 };
	struct lath_range_hold hold;
	pthread_t thread[sizeof(times) / sizeof(times[0])];
	unsigned int i;

	MUST(!lath_range_locks_init(&locks, NULL));
	MUST(!lath_range_lock_all(&locks, &hold, LATH_EXCLUSIVE_RANGE));
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		thread[i] = start(wait_long, &times[i]);
	usleep(50000);
	lath_range_unlock(&locks, &hold);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		pthread_join(thread[i], NULL);
	lath_range_locks_fini(&locks);
}

/* ---- exit() ---- */

static void end_all(void)
{
	lath_index_fini(&list, NULL, NULL);
	lath_intervals_fini(&intervals, NULL, NULL);
	lath_space_destroy(space);
	lath_store_close(store);
}

static void prepare_end(void)
{
	unsigned int k;

	make_all();
	atexit(end_all);
	for (k = 0; k < CHANGES; k++)
		for (uint64_t n = 0; n < 3000; n++)
			changes[k](n);
}

static void *read_for_ever(void *reads)
{
	lath_rcu_auto.read_lock();
	__atomic_store_n((bool *)reads, true, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void reader_starts(void)
{
	bool reads = false;

	start(read_for_ever, &reads);
	while (!__atomic_load_n(&reads, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* In a section, the program ends all structures and itself. */
static void exit_inside(void)
{
	prepare_end();
	lath_rcu_auto.read_lock();
	exit((int)faults);
}

/* ... while another thread is in a section. */
static void exit_beside(void)
{
	prepare_end();
	reader_starts();
	for (uint64_t n = 0; n < 3000; n++)
		changes[n % CHANGES](n);
	exit((int)faults);
}

static void *exit_now(void *unused)
{
	(void)unused;
	change_list(1);
	exit((int)faults);
}

/* ... in another thread than the one that made them. */
static void exit_elsewhere(void)
{
	prepare_end();
	reader_starts();
	change_list(1);
	pthread_join(start(exit_now, NULL), NULL);
}

static void *change_once(void *unused)
{
	(void)unused;
	fill_and_end();
	return NULL;
}

/* Threads that end are no end of the process: what waits for readers still does. */
static void threads_end(void)
{
	unsigned int i;

	make_all();
	shown = malloc(sizeof(*shown));
	*shown = 7;
	for (i = 0; i < 50; i++)
		pthread_join(start(change_once, NULL), NULL);
	start(read_shown, NULL);
	replace_shown(100);
	end_all();
	_exit((int)faults);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "cancelled", cancelled },	{ "priorities", priorities },
		{ "sandbox", sandbox },		{ "locked memory", locked_memory },
		{ "long times", long_times },	{ "exit inside", exit_inside },
		{ "exit beside", exit_beside }, { "exit elsewhere", exit_elsewhere },
		{ "threads end", threads_end },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child;
		int status;

		fflush(stdout);
		child = fork();
		if (!child) {
			alarm(60);
			faults = 0;
			cases[i].run();
			_exit((int)faults);
		}
		MUST(waitpid(child, &status, 0) == child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
			printf("skipped: %s: not permitted here, or a sanitizer's build\n",
			       cases[i].name);
		else if (status)
			fprintf(stderr, "%s: status %#x\n", cases[i].name, (unsigned int)status);
		MUST(!status || (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED));
	}
	return (int)faults;
}
