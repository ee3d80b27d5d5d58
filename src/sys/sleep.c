/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sleep.c - threads that sleep on a word until another thread wakes them, or for a while; a
 * thread's number. User space only.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/sys.h"

/* The kernel's numbers (futex(2)), as for membarrier(2) in thread.c. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_PRIVATE_FLAG = 128 };

void lath_sleep(u32 *word, u32 value, u64 nanoseconds)
{
	struct timespec limit = { (time_t)(nanoseconds / 1000000000),
				  (long)(nanoseconds % 1000000000) };

	syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value,
		nanoseconds == UINT64_MAX ? NULL : &limit, NULL, 0);
}

void lath_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

void lath_rest(u64 nanoseconds)
{
	u32 word = 0;

	/* by syscall(): nanosleep() would be a cancellation point */
	lath_sleep(&word, 0, nanoseconds);
}

void lath_nap(unsigned int times)
{
	if (times < 16)
		sched_yield();
	else
		lath_rest(times < 256 ? 50000 : 1000000);
}
