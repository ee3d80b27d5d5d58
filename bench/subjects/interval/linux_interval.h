/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The interval tree of the packaged Linux source behind plain C calls, because C++ cannot include
 * kernel headers. locked: every call takes the tree's spinlock.
 */
#ifndef LATH_BENCH_LINUX_INTERVAL_H
#define LATH_BENCH_LINUX_INTERVAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linux_interval;
struct linux_interval *linux_interval_new(int locked);
void linux_interval_free(struct linux_interval *tree);
void linux_interval_insert(struct linux_interval *tree, uint64_t first, uint64_t last,
			   uint64_t value);
int linux_interval_erase(struct linux_interval *tree, uint64_t first, uint64_t last,
			 uint64_t value);
/* Returns the number of intervals that overlap [first, last]; *sum: of their values. */
uint64_t linux_interval_overlap(struct linux_interval *tree, uint64_t first, uint64_t last,
				uint64_t *sum);

#ifdef __cplusplus
}
#endif
#endif
