/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pages.h - memory of the machine, for the arenas of a store.
 */
#ifndef LATH_STORE_PAGES_H
#define LATH_STORE_PAGES_H

#include "lathwork/store.h"
#include "sys/sys.h"

u64 pages_physical(void);
/* Reserves addresses, without memory, aligned to 2 MiB. If the machine refuses so much, *size
 * becomes smaller, but not below options->limit. Stores a reason. 0 | -ENOMEM | -EINVAL (NUMA text)
 * | -EOPNOTSUPP (no NUMA) */
int pages_reserve(char **base, u64 *size, const struct lath_store_options *options);
/* Sets the NUMA policy of an address range; text: as lath_store_options.numa. 0 | as above */
int pages_numa(char *base, u64 size, const char *text);
/* Returns how many bytes this process could take without swapping or reclaim from other programs:
 * what is available on the machine and within the limits of its control groups. ~0: unknown. root:
 * prefix of the paths that are read, "" (tests have others). */
u64 pages_available(const char *root);
void pages_release(char *base, u64 size);
/* Maps one reserved huge page at a block that nobody has touched, and returns whether one was left;
 * else the block keeps its pages. */
bool pages_try_hugetlb(char *block);
/* Moves such a block to ordinary pages, at its address, while threads read it. Returns false if
 * there is no memory. */
bool pages_leave_hugetlb(char *block);
/* Touches all pages. 0 | -ENOMEM */
int pages_populate(char *from, u64 size, bool huge);
/* Returns the memory to the machine; its content is lost. 0 | -errno */
int pages_give_back(char *from, u64 size);

struct pages_coverage {
	u64 resident, huge; /* bytes; huge: those on pages of 2 MiB or more */
};
/* Fills *coverage for an address range, from /proc/self/smaps. 0 | -errno */
int pages_coverage(const char *base, u64 size, struct pages_coverage *coverage);

#endif /* LATH_STORE_PAGES_H */
