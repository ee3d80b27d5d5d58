/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The allocators of IOMMU addresses that Linux had and has, over the kernel's own red-black tree.
 * Their searches are written from a description (linux_iova.c has it). All figures are in pages;
 * the limits are those of struct iova_space.
 */
#ifndef LATH_BENCH_LINUX_IOVA_H
#define LATH_BENCH_LINUX_IOVA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linux_iova;

enum linux_iova_style { LINUX_IOVA_2013, LINUX_IOVA_6_1 };

struct linux_iova *linux_iova_new(enum linux_iova_style style, uint64_t first, uint64_t low_end,
				  uint64_t end);
void linux_iova_free_all(struct linux_iova *iova);
/* Searches below low_end if low, else below end. Returns 1, or 0: no room. */
int linux_iova_alloc(struct linux_iova *iova, uint64_t pages, uint64_t align, int low,
		     uint64_t *first);
void linux_iova_free(struct linux_iova *iova, uint64_t first);
uint64_t linux_iova_used(struct linux_iova *iova);

/* The same with the longest gap of its subtree in each node (linux_gaps.c has the search). */
struct linux_gaps;

struct linux_gaps *linux_gaps_new(uint64_t first, uint64_t end);
void linux_gaps_free_all(struct linux_gaps *gaps);
/* Searches below the limit. Returns 1, or 0: no room. */
int linux_gaps_alloc(struct linux_gaps *gaps, uint64_t limit, uint64_t pages, uint64_t align,
		     uint64_t *first);
void linux_gaps_free(struct linux_gaps *gaps, uint64_t first);
uint64_t linux_gaps_used(struct linux_gaps *gaps);

#ifdef __cplusplus
}
#endif
#endif
