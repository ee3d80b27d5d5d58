/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pages.c - reserve addresses, ask for huge pages, touch, give back, and see what came of it.
 */
#define _GNU_SOURCE
#include "store/pages.h"

#include <inttypes.h>
#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/arena.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

u64 pages_physical(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (u64)pages * (u64)size : 0;
}

/* "interleave", "interleave:0,1", "bind:0-3", "local" */
int pages_numa(char *base, u64 size, const char *text, char *why, size_t why_size)
{
	struct bitmask *nodes = NULL;
	const char *list;
	int mode, ret = 0;

	if (numa_available() < 0) {
		snprintf(why, why_size, "numa: this machine has no NUMA policy");
		return -EOPNOTSUPP;
	}
	list = strchr(text, ':');
	if (!strcmp(text, "local")) {
		mode = MPOL_LOCAL;
	} else if (!strncmp(text, "interleave", 10) && (!text[10] || text[10] == ':')) {
		mode = MPOL_INTERLEAVE;
	} else if (!strncmp(text, "bind:", 5)) {
		mode = MPOL_BIND;
	} else {
		snprintf(why, why_size, "numa '%s': use local, interleave, interleave:NODES or bind:NODES",
			 text);
		return -EINVAL;
	}
	if (mode != MPOL_LOCAL) {
		nodes = numa_parse_nodestring(list && list[1] ? list + 1 : "all");
		if (!nodes) {
			snprintf(why, why_size, "numa '%s': no such nodes here", text);
			return -EINVAL;
		}
	}
	if (mbind(base, size, mode, nodes ? nodes->maskp : NULL, nodes ? nodes->size + 1 : 0, 0)) {
		ret = -errno;
		snprintf(why, why_size, "numa '%s': %s", text, strerror(errno));
	}
	if (nodes)
		numa_bitmask_free(nodes);
	return ret;
}

int pages_reserve(char **base, u64 *size, const struct lath_store_options *options, char *why,
		  size_t why_size)
{
	u64 least = options->limit ? options->limit + 2 * BLOCK : 64 * BLOCK;
	char *map = MAP_FAILED;
	size_t head;
	int ret;

	if (!store_refused()) {
		for (;; *size = *size / 2 / BLOCK * BLOCK) {
			map = mmap(NULL, *size + BLOCK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			if (map != MAP_FAILED || *size / 2 < least)
				break;
		}
	}
	if (map == MAP_FAILED) {
		snprintf(why, why_size, "cannot reserve %" PRIu64 " MiB of addresses", *size >> 20);
		return -ENOMEM;
	}
	head = -(uintptr_t)map & (BLOCK - 1);
	if (head)
		munmap(map, head);
	munmap(map + head + *size, BLOCK - head);
	*base = map + head;
	madvise(*base, *size, options->pages == LATH_PAGES_SMALL ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	madvise(*base, *size, MADV_DONTDUMP);
	if (options->numa) {
		ret = pages_numa(*base, *size, options->numa, why, why_size);
		if (ret) {
			munmap(*base, *size);
			return ret;
		}
	}
	return 0;
}

void pages_release(char *base, u64 size)
{
	munmap(base, size);
}

void pages_try_hugetlb(char *block)
{
	void *map =
		mmap(block, BLOCK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);

	/* a refused fixed mapping may have taken the old one away */
	if (map == MAP_FAILED) {
		map = mmap(block, BLOCK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		if (map != MAP_FAILED)
			madvise(block, BLOCK, MADV_HUGEPAGE);
	}
}

int pages_populate(char *from, u64 size, bool huge)
{
	u64 i;

	if (madvise(from, size, MADV_POPULATE_WRITE)) {
		if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
			return -ENOMEM;
		for (i = 0; i < size; i += 4096) /* kernels before 5.14; an atomic: the arena is in use */
			__atomic_fetch_or(from + i, 0, __ATOMIC_RELAXED);
	}
	/* what was refused at the fault may be had by copying; failing changes nothing */
	if (huge)
		madvise(from, size, MADV_COLLAPSE);
	return 0;
}

int pages_give_back(char *from, u64 size)
{
	return madvise(from, size, MADV_DONTNEED) ? -errno : 0;
}

int pages_coverage(const char *base, u64 size, struct pages_coverage *coverage)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	char line[256];
	bool inside = false;

	memset(coverage, 0, sizeof(*coverage));
	if (!smaps)
		return -errno;
	while (fgets(line, sizeof(line), smaps)) {
		u64 from, to, kb;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2) {
			inside = from >= (u64)(uintptr_t)base && to <= (u64)(uintptr_t)base + size;
		} else if (inside) {
			if (sscanf(line, "Rss: %" SCNu64 " kB", &kb) == 1)
				coverage->resident += kb << 10;
			else if (sscanf(line, "AnonHugePages: %" SCNu64 " kB", &kb) == 1)
				coverage->huge += kb << 10;
			else if (sscanf(line, "ShmemPmdMapped: %" SCNu64 " kB", &kb) == 1)
				coverage->huge += kb << 10;
			else if (sscanf(line, "Private_Hugetlb: %" SCNu64 " kB", &kb) == 1)
				coverage->huge += kb << 10, coverage->resident += kb << 10;
		}
	}
	fclose(smaps);
	return 0;
}
