/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user.c - the parts of user.h that call the operating system: pages, yield, environment.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
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

__thread unsigned int lath_thread_number __attribute__((tls_model("initial-exec")));
static unsigned int threads;

unsigned int lath_number_thread(void)
{
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

	if (map == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)map & (HUGE_PAGE - 1);
	if (head)
		munmap(map, head);
	munmap(map + head + size, want - head - size);
	madvise(map + head, size, MADV_HUGEPAGE);
	return map + head;
}

/* Pages of structures that have ended, for those that begin: it takes a quarter of the time to
 * clear pages that are there as to map and populate new ones. Checked builds keep none, so that a
 * use of pages that were freed is a fault. */
#if LATH_CHECKED
#define KEPT_BYTES 0ul
#else
#define KEPT_BYTES (4ul << 20)
#endif
#define KEPT_BLOCKS 64u
static struct {
	/* Some thread changes this; others do without kept pages, and so does a child for ever that
	 * fork() made meanwhile. */
	bool busy;
	unsigned int n;
	size_t bytes;
	struct {
		void *pages;
		size_t size;
	} block[KEPT_BLOCKS];
} kept;

static bool kept_trylock(void)
{
	return !__atomic_exchange_n(&kept.busy, true,
				    __ATOMIC_ACQUIRE); /* pairs with kept_unlock */
}

static void kept_unlock(void)
{
	__atomic_store_n(&kept.busy, false, __ATOMIC_RELEASE); /* pairs with kept_trylock */
}

/* Returns pages of this size that were kept, not cleared, or NULL. */
static void *take_kept(size_t size)
{
	void *pages = NULL;
	unsigned int i;

	if (!kept_trylock())
		return NULL;
	for (i = kept.n; i-- && !pages;)
		if (kept.block[i].size == size) {
			pages = kept.block[i].pages;
			kept.block[i] = kept.block[--kept.n];
			kept.bytes -= size;
		}
	kept_unlock();
	return pages;
}

/* Returns whether the pages are kept: not if they would be more than an eighth of all. */
static bool keep(void *pages, size_t size)
{
	bool room;

	if (size > KEPT_BYTES / 8 || !kept_trylock())
		return false;
	room = kept.n < KEPT_BLOCKS && size <= KEPT_BYTES - kept.bytes;
	if (room) {
		kept.block[kept.n].pages = pages;
		kept.block[kept.n++].size = size;
		kept.bytes += size;
	}
	kept_unlock();
	return room;
}

void lath_pages_release(void)
{
	if (!kept_trylock())
		return;
	while (kept.n) {
		kept.n--;
		munmap(kept.block[kept.n].pages, kept.block[kept.n].size);
	}
	kept.bytes = 0;
	kept_unlock();
}

void *lath_pages_alloc(size_t size, bool huge)
{
	void *map;

	if (huge)
		return map_huge(size);
	map = take_kept(size);
	if (map)
		return memset(map, 0, size);
	/* populating all pages at once takes half the time of faulting them in one by one */
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		   -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

void lath_pages_free(void *pages, size_t size)
{
	if (!keep(pages, size))
		munmap(pages, size);
}

bool lath_pages_discard(void *pages, size_t size)
{
	return !madvise(pages, size, MADV_DONTNEED);
}

void *lath_block_alloc(size_t size)
{
	void *block;

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
