/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * waits.c - in the place of lath_crowd_wait() (--wrap), so that it can be left out.
 */
#include "sys/sys.h"

void __wrap_lath_crowd_wait(unsigned int *rounds);
void __real_lath_crowd_wait(unsigned int *rounds);

void __wrap_lath_crowd_wait(unsigned int *rounds)
{
	if (simulate_short_waits())
		lath_spin_wait(rounds);
	else
		__real_lath_crowd_wait(rounds);
}
