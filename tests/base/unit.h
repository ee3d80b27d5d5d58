/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * unit.h - what a unit test may use in both hosts: the words of sys.h, CHECK, memory.
 *
 * A unit test is `int NAME_unit(void)` in NAME_unit.c; it returns 0, or the line that failed.
 */
#ifndef LATH_UNIT_H
#define LATH_UNIT_H

#include "sys/sys.h"

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

#ifdef __KERNEL__
#include <linux/mm.h>
#include <linux/sched.h>
#define unit_alloc(size) kvzalloc(size, GFP_KERNEL)
#define unit_free(p) kvfree(p)
#define unit_alloc_aligned(size) kzalloc(roundup_pow_of_two(size), GFP_KERNEL)
#define unit_free_aligned(p) kfree(p)
#define unit_breathe() cond_resched()
#else
#include <stdlib.h>
#define unit_alloc(size) calloc(1, size)
#define unit_free(p) free(p)
#define unit_alloc_aligned(size) aligned_alloc(64, ((size) + 63) & ~(size_t)63)
#define unit_free_aligned(p) free(p)
#define unit_breathe() ((void)0)
#endif

#endif /* LATH_UNIT_H */
