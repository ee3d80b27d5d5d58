/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * clock.c - the time that times of expiry are compared with.
 */
#include "lathwork/store.h"
#include "sys/sys.h"

#include <time.h>

uint64_t lath_store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000 + (u64)now.tv_nsec / 1000000;
}
