/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pages.c - addresses and pages: reserving, huge pages, touching, returning, and how much memory is
 * available.
 */
#define _GNU_SOURCE
#include "store/memory/arena.h"
#include "store/memory/reason.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

/* ---- available memory ---- */

/* Returns the number that follows `key` in a file of lines; without a key, the first number. If there
 * is none ("max"): n. */
static u64 number_in(const char *root, const char *dir, const char *name, const char *key, u64 n)
{
	char path[PATH_MAX], line[256];
	FILE *file;

	if (snprintf(path, sizeof(path), "%s%s/%s", root, dir, name) >= (int)sizeof(path))
		return n;
	file = fopen(path, "re");
	if (!file)
		return n;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), " %" SCNu64, &n) == 1)
			break;
	fclose(file);
	return n;
}

/* The files of a control group: version 2, or the memory controller of version 1. */
struct group_files {
	const char *mount, *limit, *used, *cache;
};

static const struct group_files group_files[] = {
	{ "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file " },
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "total_inactive_file " },
};

/* Returns what the limits of this control group and of those above it leave. In a container the
 * group's files may be at the mount point itself. */
static u64 group_available(const char *root, const struct group_files *files, const char *group)
{
	char dir[PATH_MAX];
	u64 least = ~0ull;
	char *end;

	if (snprintf(dir, sizeof(dir), "%s%s", files->mount, group) >= (int)sizeof(dir))
		return least;
	for (;;) {
		u64 limit = number_in(root, dir, files->limit, "", ~0ull), used, cache;

		if (limit != ~0ull) {
			used = number_in(root, dir, files->used, "", 0);
			/* the kernel reclaims it on demand */
			cache = number_in(root, dir, "memory.stat", files->cache, 0);
			used -= min(cache, used);
			used = min(limit, used);
			least = min(least, limit - used);
		}
		end = strrchr(dir, '/');
		LATH_ASSERT(end);
		if ((size_t)(end - dir) < strlen(files->mount))
			return least;
		*end = '\0';
	}
}

u64 lath_pages_available(const char *root)
{
	u64 kb = number_in(root, "/proc", "meminfo", "MemAvailable:", ~0ull),
	    least = kb == ~0ull ? kb : kb << 10;
	char path[PATH_MAX], line[PATH_MAX + 64];
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/proc/self/cgroup", root) >= (int)sizeof(path))
		return least;
	file = fopen(path, "re");
	if (!file)
		return least;
	/* NUMBER:CONTROLLERS:PATH */
	while (fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (!names[1])
			least = min(least, group_available(root, &group_files[0], group));
		else if (!strcmp(names + 1, "memory"))
			least = min(least, group_available(root, &group_files[1], group));
	}
	fclose(file);
	return least;
}

/* ---- addresses and pages ---- */

/* The kernel's numbers (mbind(2), get_mempolicy(2)), and as many nodes as it can have. */
enum { MPOL_BIND = 2, MPOL_INTERLEAVE = 3, MPOL_LOCAL = 4, MPOL_F_MEMS_ALLOWED = 4 };
#define NODES 1024u

struct nodes {
	u64 bit[NODES / 64];
};

/* Reads a decimal number at *text, and moves *text behind it; ~0: there is none. */
static unsigned long read_node(const char **text)
{
	char *end;
	unsigned long n = isdigit((u8) * *text) ? strtoul(*text, &end, 10) : ~0ul;

	*text = n == ~0ul ? *text : end;
	return n;
}

/* Reads a list of nodes, "0,2-5" or "all". Returns whether it is one, of allowed nodes alone. */
static bool read_nodes(const char *text, const struct nodes *allowed, struct nodes *nodes)
{
	unsigned long first, last;

	if (!strcmp(text, "all")) {
		*nodes = *allowed;
		return true;
	}
	memset(nodes, 0, sizeof(*nodes));
	for (;; text++) {
		first = last = read_node(&text);
		if (*text == '-') {
			text++;
			last = read_node(&text);
		}
		if (first > last || last >= NODES)
			return false;
		for (; first <= last; first++) {
			if (!(allowed->bit[first / 64] >> first % 64 & 1))
				return false;
			nodes->bit[first / 64] |= 1ull << first % 64;
		}
		if (*text != ',')
			return !*text;
	}
}

/* "interleave", "interleave:0,1", "bind:0-3", "local" */
int lath_pages_numa(char *base, u64 size, const char *text)
{
	struct nodes allowed = { { 0 } }, nodes = { { 0 } };
	const char *list = strchr(text, ':');
	int mode;

	if (syscall(SYS_get_mempolicy, NULL, &allowed, NODES, NULL, MPOL_F_MEMS_ALLOWED))
		return lath_refuse(-EOPNOTSUPP, "numa: this machine has no NUMA policy");
	if (!strcmp(text, "local")) {
		mode = MPOL_LOCAL;
	} else if (!strncmp(text, "interleave", 10) && (!text[10] || text[10] == ':')) {
		mode = MPOL_INTERLEAVE;
	} else if (!strncmp(text, "bind:", 5)) {
		mode = MPOL_BIND;
	} else {
		return lath_refuse(
			-EINVAL, "numa '%s': use local, interleave, interleave:NODES or bind:NODES",
			text);
	}
	if (mode != MPOL_LOCAL && !read_nodes(list && list[1] ? list + 1 : "all", &allowed, &nodes))
		return lath_refuse(-EINVAL, "numa '%s': no such nodes here", text);
	/* the kernel takes one bit less than it is told */
	if (syscall(SYS_mbind, base, size, mode, mode == MPOL_LOCAL ? NULL : &nodes,
		    mode == MPOL_LOCAL ? 0 : NODES + 1ul, 0))
		return lath_refuse(-errno, "numa '%s': %s", text, strerror(errno));
	return 0;
}

/* Maps addresses. After mlockall(MCL_FUTURE) the kernel would fill what a mapping may use, so it
 * may use it later, when it is not locked any more. MAP_FAILED: refused. */
static void *map_addresses(u64 size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED ||
	    (!munlock(map, size) && !mprotect(map, size, PROT_READ | PROT_WRITE)))
		return map;
	munmap(map, size);
	return MAP_FAILED;
}

int lath_pages_reserve(char **base, u64 *size, const struct lath_store_options *options)
{
	u64 least = min(options->limit ? options->limit + 2 * BLOCK : 8 * BLOCK, *size);
	/* where there are few, as many stay for the other arena and the program */
	u64 times = options->limit ? 1 : 2;
	char *map = MAP_FAILED;
	size_t head;
	int ret;

	LATH_ASSERT(*size && !(*size % BLOCK));
	if (!memory_refused()) {
		/* the system may refuse many addresses (ulimit -v, overcommit): half as many */
		for (;; *size = *size / 2 / BLOCK * BLOCK) {
			map = map_addresses(times * *size + BLOCK);
			if (map != MAP_FAILED || *size / 2 < least)
				break;
		}
	}
	if (map == MAP_FAILED)
		return lath_refuse(-ENOMEM,
				   "cannot reserve %" PRIu64
				   " MiB of addresses; a smaller limit (--limit) needs fewer",
				   *size >> 20);
	head = -(uintptr_t)map & (BLOCK - 1);
	if (head)
		munmap(map, head);
	munmap(map + head + *size, (times - 1) * *size + BLOCK - head);
	*base = map + head;
	LATH_ASSERT(!((uintptr_t)*base % BLOCK));
	madvise(*base, *size, options->pages == LATH_PAGES_SMALL ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	madvise(*base, *size, MADV_DONTDUMP);
	ret = options->numa ? lath_pages_numa(*base, *size, options->numa) : 0;
	if (ret)
		munmap(*base, *size);
	return ret;
}

bool lath_pages_try_hugetlb(char *block)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	void *map;

	LATH_ASSERT(!((uintptr_t)block % BLOCK));
	map = mmap(block, BLOCK, PROT_READ | PROT_WRITE,
		   flags | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
	if (map != MAP_FAILED)
		return true;
	/* a fixed mapping that fails may have removed the old one */
	map = mmap(block, BLOCK, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
	if (map != MAP_FAILED)
		madvise(block, BLOCK, MADV_HUGEPAGE);
	return false;
}

/* Copies a block, of which AddressSanitizer knows parts that hold nothing. */
__attribute__((no_sanitize("address"))) static void copy_block(u64 *to, const u64 *from)
{
	u64 i;

	for (i = 0; i < BLOCK / sizeof(u64); i++)
		WRITE_ONCE(to[i], READ_ONCE(from[i]));
}

bool lath_pages_leave_hugetlb(char *block)
{
	char *copy = lath_pages_alloc(BLOCK, PAGES_HUGE);

	if (!copy)
		return false;
	copy_block((u64 *)(void *)copy, (const u64 *)(const void *)block);
	/* a thread that reads the block meanwhile waits in its page fault */
	if (mremap(copy, BLOCK, BLOCK, MREMAP_MAYMOVE | MREMAP_FIXED, block) != block) {
		lath_pages_free(copy, BLOCK);
		return false;
	}
	madvise(block, BLOCK, MADV_DONTDUMP);
	return true;
}

int lath_pages_populate(char *from, u64 size, bool huge)
{
	u64 i;

	LATH_ASSERT(size && !((uintptr_t)from % lath_page_size()));
	if (madvise(from, size, MADV_POPULATE_WRITE)) {
		if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
			return -ENOMEM;
		/* kernels before 5.14; atomic, since the arena is in use */
		for (i = 0; i < size; i += lath_page_size())
			__atomic_fetch_or(from + i, 0, __ATOMIC_RELAXED);
	}
	/* if the faults got small pages, try to collapse them; a failure changes nothing */
	if (huge)
		madvise(from, size, MADV_COLLAPSE);
	return 0;
}

int lath_pages_give_back(char *from, u64 size)
{
	LATH_ASSERT(!((uintptr_t)from % BLOCK) && !(size % BLOCK));
	return madvise(from, size, MADV_DONTNEED) ? -errno : 0;
}

static bool meet(const struct arena *arena, u64 from, u64 to)
{
	u64 base = (u64)(uintptr_t)arena->base;

	return from < base + arena->reserved && to > base;
}

int lath_pages_coverage(const struct arena *values, const struct arena *index,
			struct lath_store_stats *stats)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	char line[256];
	bool inside = false;

	if (!smaps)
		return -errno;
	while (fgets(line, sizeof(line), smaps)) {
		u64 from, to, kb;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2) {
			inside = meet(values, from, to) || meet(index, from, to);
		} else if (inside) {
			if (sscanf(line, "Rss: %" SCNu64 " kB", &kb) == 1)
				stats->resident += kb << 10;
			else if (sscanf(line, "AnonHugePages: %" SCNu64 " kB", &kb) == 1 ||
				 sscanf(line, "ShmemPmdMapped: %" SCNu64 " kB", &kb) == 1)
				stats->huge += kb << 10;
			else if (sscanf(line, "Private_Hugetlb: %" SCNu64 " kB", &kb) == 1)
				stats->huge += kb << 10, stats->resident += kb << 10;
		}
	}
	fclose(smaps);
	return 0;
}
