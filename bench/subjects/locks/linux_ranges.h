/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * linux_ranges.h - a lock on ranges as it was proposed for Linux: an interval tree of all ranges
 * that are held or waited for, behind a spinlock.
 */
#ifndef LATH_BENCH_LINUX_RANGES_H
#define LATH_BENCH_LINUX_RANGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linux_ranges;

struct linux_ranges *linux_ranges_new(void);
void linux_ranges_free(struct linux_ranges *ranges);
/* `hold`: at least LINUX_RANGE_BYTES, aligned to 8 bytes. */
#define LINUX_RANGE_BYTES 96
void linux_ranges_lock(struct linux_ranges *ranges, void *hold, uint64_t first, uint64_t last,
		       int exclusive);
void linux_ranges_unlock(struct linux_ranges *ranges, void *hold);

#ifdef __cplusplus
}
#endif

#endif
