/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host_test.c - what the library takes from its host: its thread sleeps while nothing is retired
 * and wakes when something is; pages that are given back leave no addresses behind, and threads
 * get small pieces from areas that they share; a count that one thread may add to without an atomic
 * step is not another thread's; threads that crowd wait long.
 */
#undef NDEBUG
#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lathwork/index.h"
#include "sys/sys.h"

static void wait_ms(long ms)
{
	struct timespec time = { 0, ms * 1000000 };

	nanosleep(&time, NULL);
}

/* How often the threads of the process but this one have gone to sleep so far. */
static long sleeps(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	char line[200];
	long sum = 0, n;

	assert(tasks);
	while ((entry = readdir(tasks))) {
		FILE *status;

		if (atol(entry->d_name) <= 0 || atol(entry->d_name) == syscall(SYS_gettid))
			continue;
		snprintf(line, sizeof(line), "/proc/self/task/%ld/status", atol(entry->d_name));
		status = fopen(line, "r");
		while (status && fgets(line, sizeof(line), status))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
				sum += n;
		if (status)
			fclose(status);
	}
	closedir(tasks);
	return sum;
}

static int done;

static void called(struct lath_rcu_head *head)
{
	(void)head;
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

/* The callback comes by itself, without drain. */
static void retire_and_wait(void)
{
	static struct lath_rcu_head head;
	int i;

	__atomic_store_n(&done, 0, __ATOMIC_RELEASE);
	lath_rcu_auto.call(&head, called);
	for (i = 0; i < 2000 && !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++)
		wait_ms(5);
	assert(done);
}

static void the_thread_sleeps(void)
{
	long before, after, most = 1000;
	int i;

	for (i = 0; i < 20; i++)
		retire_and_wait();
	/* it looks once more before it sleeps; a sanitizer has its own threads */
	for (i = 0; i < 10 && most > 8; i++) {
		wait_ms(100);
		before = sleeps();
		wait_ms(300);
		after = sleeps();
		most = after - before < most ? after - before : most;
	}
	printf("host_test: slept %ld times in 300 ms\n", most);
	assert(most <= 8);
	retire_and_wait();
}

/* ---- pages; mmap and munmap of the library (the linker's --wrap) ---- */

static size_t mapped, maps; /* bytes and calls, of all threads */
static bool at_odd_places;

void *__real_mmap(void *address, size_t size, int access, int flags, int fd, off_t at);
void *__wrap_mmap(void *address, size_t size, int access, int flags, int fd, off_t at);
void *__wrap_mmap(void *address, size_t size, int access, int flags, int fd, off_t at)
{
	size_t off = at_odd_places ? 4096 : 0;
	char *pages = __real_mmap(address, size + off, access, flags, fd, at);

	if (pages == MAP_FAILED)
		return pages;
	__atomic_fetch_add(&mapped, size + off, __ATOMIC_RELAXED);
	__atomic_fetch_add(&maps, 1, __ATOMIC_RELAXED);
	if (off)
		assert(!munmap(pages, off));
	return pages + off;
}

int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size)
{
	__atomic_fetch_sub(&mapped, (size + 4095) & ~4095ul, __ATOMIC_RELAXED);
	return __real_munmap(address, size);
}

static void pages_leave_nothing(void)
{
	const size_t sizes[] = { 2ul << 20, 6ul << 20 };
	unsigned int i;
	void *pages;

	for (i = 0; i < 8; i++) {
		size_t before = mapped, size = sizes[i / 4];

		at_odd_places = i % 2;
		pages = lath_pages_alloc(size, i % 4 / 2 ? PAGES_HUGE : PAGES_PRESENT);
		assert(pages && (i % 4 < 2 || !((uintptr_t)pages % (2ul << 20))));
		assert(mapped == before + size);
		lath_pages_free(pages, size);
		assert(mapped == before);
	}
	at_odd_places = false;
}

enum { TAKERS = 4, ROUNDS = 10, PIECES = 256, AREA = 4 << 20 };

/* Takes pieces of 1 to 3 pages and gives them back, and returns NULL if another thread had a page
 * of them, or one was not zero. */
static void *takes_pages(void *number)
{
	unsigned int round, i;
	unsigned long *piece[PIECES];

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < PIECES; i++) {
			piece[i] =
				lath_pages_alloc(4096 * (i % 3 + 1) - i % 2 * 100, PAGES_PRESENT);
			if (!piece[i] || (uintptr_t)piece[i] % 4096)
				return NULL;
			if (*piece[i] || piece[i][512 * (i % 3)])
				return NULL;
			*piece[i] = piece[i][512 * (i % 3)] = (uintptr_t)number;
		}
		for (i = 0; i < PIECES; i++) {
			if (*piece[i] != (uintptr_t)number ||
			    piece[i][512 * (i % 3)] != (uintptr_t)number)
				return NULL;
			lath_pages_free(piece[i], 4096 * (i % 3 + 1) - i % 2 * 100);
		}
	}
	return number;
}

static void *between;

static void take_another(const char *point)
{
	if (strcmp(point, "area: read, not yet taken") != 0)
		return;
	lath_delay_hook = NULL;
	between = lath_pages_alloc(4096, PAGES_PRESENT);
}

/* Another piece is taken between the look at the area and the change. */
static void takers_meet(void)
{
	char *piece;
	int i;

	for (i = 0; i < 2; i++) { /* once the area is the first, once there is one */
		lath_delay_hook = take_another;
		piece = lath_pages_alloc(8192, PAGES_PRESENT);
		assert(piece && between && piece == (char *)between + 4096);
		lath_pages_free(piece, 8192);
		lath_pages_free(between, 4096);
	}
	assert(mapped <= AREA);
}

/* Small pieces come of areas that threads share; what is left in the end is at most an area. */
static void pieces_of_areas(void)
{
	size_t calls;
	pthread_t thread[TAKERS];
	uintptr_t i;
	void *good, *piece[70];

	for (i = 0; i < TAKERS; i++)
		assert(!pthread_create(&thread[i], NULL, takes_pages, (void *)(i + 1)));
	for (i = 0; i < TAKERS; i++) {
		assert(!pthread_join(thread[i], &good));
		assert(good);
	}
	assert(mapped <= AREA);
	/* pieces of 520 KiB: seven of an area, whose last 456 KiB are given back */
	calls = maps;
	for (i = 0; i < 70; i++)
		assert((piece[i] = lath_pages_alloc(520 << 10, PAGES_PRESENT)));
	assert(maps >= calls + 9 && maps <= calls + 10);
	for (i = 0; i < 70; i++)
		lath_pages_free(piece[i], 520 << 10);
	assert(mapped <= AREA);
}

/* ---- counts that one thread owns ---- */

static struct lath_count count;

static void *count_too(void *unused)
{
	(void)unused;
	return lath_count_mine(&count) ? &count : NULL;
}

static void a_count_has_one_owner(void)
{
	pthread_t other;
	void *mine;

	assert(lath_count_mine(&count) && lath_count_mine(&count));
	assert(!pthread_create(&other, NULL, count_too, NULL));
	assert(!pthread_join(other, &mine));
	assert(!mine);
	assert(lath_count_mine(&count));
}

/* Waits get long where a lock is still held after the short ones, and short again; the child of a
 * fork does not count threads that it does not have. */
static void crowds(void)
{
	unsigned int i, rounds = 0;
	int status;
	pid_t child;

	for (i = 0; i < 6 && !lath_crowded(); i++)
		lath_crowd_wait(&rounds);
	assert(i >= 3 && lath_crowded());
	assert(!READ_ONCE(lath_crowd.waiting));
	for (i = 0; lath_crowded(); i++) {
		rounds = 0; /* each wait finds its lock free */
		lath_crowd_wait(&rounds);
		assert(i < 100);
	}
	assert(i);
	assert(!READ_ONCE(lath_crowd.waiting));
	lath_fetch_add(&lath_crowd.waiting, 1); /* as another thread does before it pauses */
	child = fork();
	if (!child)
		_exit(READ_ONCE(lath_crowd.waiting) != 0);
	assert(child > 0 && waitpid(child, &status, 0) == child);
	assert(WIFEXITED(status) && !WEXITSTATUS(status));
	assert(READ_ONCE(lath_crowd.waiting) == 1);
	lath_fetch_add(&lath_crowd.waiting, -1ull);
}

int main(void)
{
	the_thread_sleeps();
	pages_leave_nothing();
	takers_meet();
	pieces_of_areas();
	a_count_has_one_owner();
	crowds();
	return 0;
}
