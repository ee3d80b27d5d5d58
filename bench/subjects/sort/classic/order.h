/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * order.h - what the textbook's structures of table `sort` share: names of integers, and how they
 * compare keys: circularly, so that a sweep over the device never ends. All keys in one queue lie
 * within 2^63 of each other; a comparison of two is then a plain "less".
 */
#ifndef LATHBENCH_ORDER_H
#define LATHBENCH_ORDER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

static inline bool lath_before(u64 a, u64 b)
{
	return (int64_t)(a - b) < 0;
}

#endif /* LATHBENCH_ORDER_H */
