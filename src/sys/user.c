/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user.c - the parts of user.h that call the operating system: pages, yield, environment.
 */
#define _GNU_SOURCE
#include <errno.h>
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
/* unreached: the process ends */
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

LATH_TLS unsigned int lath_thread_number;
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

#define PAGE_MOST (64ul << 10)

/* Returns how much munmap() takes at least: an emulator may say less than the page of its host. */
static size_t ask_page_size(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * PAGE_MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in;

	if (map == MAP_FAILED)
		return size;
	munmap(map, size);
	while (size < PAGE_MOST && mincore(map + size, 1, &in) && errno == ENOMEM)
		size *= 2;
	munmap(map + size, 2 * PAGE_MOST - size);
	return size;
}

size_t lath_page_size(void)
{
	static size_t known;

	if (unlikely(!READ_ONCE(known)))
		WRITE_ONCE(known, ask_page_size());
	return READ_ONCE(known);
}

static size_t whole_pages(size_t size)
{
	return (size + lath_page_size() - 1) & -lath_page_size();
}

/* Maps `size` bytes aligned to 2 MiB, or returns NULL. mmap() aligns to a small page only, so this
 * maps 2 MiB more and unmaps both ends. */
static void *map_huge(size_t size)
{
	size_t want = size + HUGE_PAGE;
	char *map = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t head;

	LATH_ASSERT(size && !(size % lath_page_size()));
	if (map == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)map & (HUGE_PAGE - 1);
	if (head)
		munmap(map, head);
	munmap(map + head + size, want - head - size);
	madvise(map + head, size, MADV_HUGEPAGE);
	return map + head;
}

/* ---- areas: addresses mapped for many small allocations of pages at once ----
 *
 * mmap() and the thread that populates pages both lock the address space. With an mmap() for each
 * 64 KiB two threads that need pages take five times as long as with one for each 4 MiB: they sleep
 * until the other has populated its pages.
 *
 * `area` names the area in use: the number of its first unit, which is the least page that a
 * processor has, and in the low 16 bits how many of its units are taken, whole pages of them. It is
 * 0 before the first. A word that comes back means the same as before, so a thread that compares
 * and swaps it needs to know nothing else. A child of fork() goes on with its copy. Addresses that
 * are not taken cost no memory. */
#define UNIT_BITS 12
#define UNIT (1ul << UNIT_BITS)
#define AREA_UNITS 1024ul
#define AREA_BITS 16
/* Larger requests get their own mmap(). */
#define AREA_MOST (AREA_UNITS / 4 * UNIT)

static u64 area;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void *map_pages(size_t size, int flags)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			 -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* Returns the address of unit n of the area that the word names. */
static char *area_unit(u64 word, u64 n)
{
	return (char *)(((word >> AREA_BITS) + n) << UNIT_BITS);
}

/* The word of an area at `map` of which `taken` units are taken. */
static u64 area_word(const char *map, u64 taken)
{
	return (u64)(uintptr_t)map >> UNIT_BITS << AREA_BITS | taken;
}

/* Returns `units` units of the area in use, or of a new one; NULL: no area can be mapped. */
static void *area_take(u64 units)
{
	for (;;) {
		u64 was = READ_ONCE(area), taken = was & ((1u << AREA_BITS) - 1);
		char *map;

		lath_delay("area: read, not yet taken");
		if (was && taken + units <= AREA_UNITS) {
			if (cmpxchg_acquire(&area, was, was + units) == was)
				return area_unit(was, taken);
			continue;
		}
		map = map_pages(AREA_UNITS * UNIT, MAP_NORESERVE);
		if (!map)
			return NULL;
		if (cmpxchg_acquire(&area, was, area_word(map, units)) == was) {
			if (was && taken < AREA_UNITS)
				munmap(area_unit(was, taken), (AREA_UNITS - taken) * UNIT);
			return map;
		}
		munmap(map, AREA_UNITS * UNIT); /* another thread was faster */
	}
}

/* A huge page that is present. The first store to one takes as long as 2 MiB take to clear, so the
 * library's thread makes it and not the call that needs it. */
static void *ahead;
static u32 ahead_asked;
static struct lath_rcu_head ahead_head;

static void make_ahead(struct lath_rcu_head *head)
{
	char *page = map_huge(HUGE_PAGE);

	(void)head;
	if (page) {
		WRITE_ONCE(*page, 0);
		__atomic_store_n(&ahead, page, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ahead_asked, 0, __ATOMIC_RELEASE);
}

bool lath_pages_ahead(void)
{
	if (READ_ONCE(ahead))
		return true;
	/* asked by one thread at a time, so nothing is ahead while a page is made */
	if (!READ_ONCE(ahead_asked) && !__atomic_exchange_n(&ahead_asked, 1, __ATOMIC_ACQ_REL)) {
		if (READ_ONCE(ahead))
			__atomic_store_n(&ahead_asked, 0, __ATOMIC_RELEASE);
		else
			lath_rcu_auto.call(&ahead_head, make_ahead);
	}
	return false;
}

void *lath_pages_alloc(size_t size, enum lath_pages kind)
{
	void *map = NULL;

	if (kind == PAGES_HUGE) {
		if (size == HUGE_PAGE && READ_ONCE(ahead))
			map = __atomic_exchange_n(&ahead, NULL, __ATOMIC_ACQ_REL);
		return map ? map : map_huge(size);
	}
	size = whole_pages(size);
	if (kind == PAGES_LATER)
		return map_pages(size, 0);
	map = size <= AREA_MOST ? area_take(size >> UNIT_BITS) : NULL;
	/* populating all pages at once takes two thirds of the time of faulting them in one by one;
	 * a kernel that cannot (before 5.14) leaves them to be faulted in */
	if (map)
		madvise(map, size, MADV_POPULATE_WRITE);
	return map ? map : map_pages(size, MAP_POPULATE);
}

void lath_pages_free(void *pages, size_t size)
{
	LATH_ASSERT(pages && size);
	munmap(pages, whole_pages(size));
}

bool lath_pages_discard(void *pages, size_t size)
{
	LATH_ASSERT(!((uintptr_t)pages % lath_page_size()) && size);
	return !madvise(pages, whole_pages(size), MADV_DONTNEED);
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
