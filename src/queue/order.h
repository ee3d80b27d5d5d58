/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * order.h - how the engines compare keys: circularly, so that a sweep over the device never ends.
 * All keys in one queue lie within 2^63 of each other; a comparison of two is then a plain "less".
 */
#ifndef LATH_QUEUE_ORDER_H
#define LATH_QUEUE_ORDER_H

#include "sys/sys.h"

static inline bool lath_before(u64 a, u64 b)
{
	return (int64_t)(a - b) < 0;
}

#endif /* LATH_QUEUE_ORDER_H */
