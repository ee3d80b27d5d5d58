/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* counts.h - what iova_lathwork.ko counts, per processor, and its file in debugfs. */
#ifndef LATH_IOVA_COUNTS_H
#define LATH_IOVA_COUNTS_H

#include <linux/percpu.h>
#include <linux/types.h>

#define COUNT_ORDERS 16
/* Times of allocations: four classes per power of two of nanoseconds. */
#define COUNT_TIMES 160

struct counts {
	u64 allocs, alloc_ns, frees, free_ns;
	u64 failed; /* no space within the limit */
	u64 kernel; /* of all calls those that the kernel's own allocator served */
	u64 wrong;  /* frees of what was not allocated */
	u64 orders[COUNT_ORDERS];
	u64 times[COUNT_TIMES];
};
DECLARE_PER_CPU(struct counts, iova_counts);

/* The domains that have a space. */
extern atomic_t iova_domains;
/* Calls are timed. */
extern bool iova_timing;

/* Count an allocation of this many pages, which took ns (0: not timed). */
void count_alloc(unsigned long pages, bool failed, u64 ns);
/* Count a free likewise. */
void count_free(bool wrong, u64 ns);

/* Make and remove the file. */
void counts_init(void);
void counts_fini(void);

#endif /* LATH_IOVA_COUNTS_H */
