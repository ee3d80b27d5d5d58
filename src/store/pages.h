/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pages.h - what the store asks of the machine's memory.
 */
#ifndef LATH_STORE_PAGES_H
#define LATH_STORE_PAGES_H

#include "lathwork/store.h"
#include "sys/sys.h"

u64 pages_physical(void);
/* Addresses only, aligned to 2 MiB. *size comes back smaller where the machine refuses so much, but
 * not below options->limit. 0 | -ENOMEM | -EINVAL (NUMA text) | -EOPNOTSUPP (no NUMA), with a
 * sentence. */
int pages_reserve(char **base, u64 *size, const struct lath_store_options *options);
/* Where pages of this stretch shall come from, as lath_store_options.numa says: 0 | as above. */
int pages_numa(char *base, u64 size, const char *text);
/* Bytes that this process could take without disks or other programs paying for it: what the
 * machine has available, and what its control groups leave of their limits. ~0: unknown. root: ""
 * (tests have other ones) */
u64 pages_available(const char *root);
void pages_release(char *base, u64 size);
/* Put one reserved huge page under a block nobody has touched; without one left it keeps the pages
 * it has. */
void pages_try_hugetlb(char *block);
/* Touch them all now: 0 | -ENOMEM */
int pages_populate(char *from, u64 size, bool huge);
/* The content is lost, the memory the machine's: 0 | -errno */
int pages_give_back(char *from, u64 size);

struct pages_coverage {
	u64 resident, huge; /* huge: on pages of 2 MiB or more */
};
/* From /proc/self/smaps. 0 | -errno */
int pages_coverage(const char *base, u64 size, struct pages_coverage *coverage);

#endif /* LATH_STORE_PAGES_H */
