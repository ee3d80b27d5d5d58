/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* clock.c - the time that times of expiry are compared with. */
#include "lathwork/store.h"

#include <time.h>

uint64_t lath_store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
