/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user.c - the parts of user.h that call the operating system: pages, yield, environment.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sys/sys.h"

char lath_grace_period_tag;

#ifdef LATH_DELAYS
void (*lath_delay_hook)(const char *point);
#endif

#ifdef LATH_ASSERTIONS
_Noreturn void lath_assert_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: lathwork: assertion failed: %s\n", file, line, condition);
	abort();
}
#endif

const char *lath_environment(const char *name)
{
	return secure_getenv(name);
}

void lath_warn(const char *text)
{
	fprintf(stderr, "lathwork: %s\n", text);
}

void lath_yield(void)
{
	sched_yield();
}

u64 lath_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

void lath_pause(unsigned int ns)
{
	u64 end = lath_now() + ns;
	unsigned int i;

	/* by the clock: one pause takes 5 to 60 ns, by the processor */
	do
		for (i = 0; i < 8; i++)
			cpu_relax();
	while (lath_now() < end);
}

__thread unsigned int lath_thread_number __attribute__((tls_model("initial-exec")));
static unsigned int threads;

unsigned int lath_number_thread(void)
{
	LATH_ASSERT(!lath_thread_number);
	return lath_thread_number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) | 1u << 31;
}

unsigned int lath_processors(void)
{
	static unsigned int known; /* the system reads files to tell */
	unsigned int n = READ_ONCE(known);
	long told;

	if (!n) {
		told = sysconf(_SC_NPROCESSORS_CONF);
		n = told > 0 ? (unsigned int)told : 1;
		WRITE_ONCE(known, n);
	}
	return n;
}

#define HUGE_PAGE (2ul << 20)

/* Maps `size` bytes aligned to 2 MiB, or returns NULL. mmap() aligns to a small page only, so this
 * maps 2 MiB more and unmaps both ends. */
static void *map_huge(size_t size)
{
	size_t want = size + HUGE_PAGE;
	char *map = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t head;

	LATH_ASSERT(size && !(size % 4096));
	if (map == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)map & (HUGE_PAGE - 1);
	if (head)
		munmap(map, head);
	munmap(map + head + size, want - head - size);
	madvise(map + head, size, MADV_HUGEPAGE);
	return map + head;
}

void *lath_pages_alloc(size_t size, bool huge)
{
	void *map;

	if (huge)
		return map_huge(size);
	/* populating all pages at once takes half the time of faulting them in one by one */
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		   -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

void lath_pages_free(void *pages, size_t size)
{
	LATH_ASSERT(pages && size);
	munmap(pages, size);
}

bool lath_pages_discard(void *pages, size_t size)
{
	LATH_ASSERT(!((uintptr_t)pages % 4096) && size);
	return !madvise(pages, size, MADV_DONTNEED);
}

void *lath_block_alloc(size_t size)
{
	void *block;

	LATH_ASSERT(size);
	return posix_memalign(&block, 64, size) ? NULL : block;
}

void *lath_small_alloc(size_t size)
{
	return malloc(size);
}

void lath_block_free(void *block)
{
	free(block);
}
