/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The allocators of IOMMU addresses that Linux had and has, over the kernel's own rbtree: the
 * searches are written from their description (what each does is told in linux_iova.c). Pages;
 * limits as in iova_space.
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
/* low: below low_end, else below end. 1, or 0: no room. */
int linux_iova_alloc(struct linux_iova *iova, uint64_t pages, uint64_t align, int low,
		     uint64_t *first);
void linux_iova_free(struct linux_iova *iova, uint64_t first);
uint64_t linux_iova_used(struct linux_iova *iova);

#ifdef __cplusplus
}
#endif
#endif
