/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * between_test.c - a range that grows between two steps of a lock call of another one.
 *
 * The locks are built with their delay points. A range of 16 keys has entered its class and is
 * alone there; then one that holds its last key grows away from it, into the same class, and is in
 * front of it. The call must wait, which it does until its deadline.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "lathwork/range_lock.h"

#define ALONE "range lock: alone in its class"

extern void (*lath_delay_hook)(const char *point);

static struct lath_range_locks locks;
static struct lath_range_hold edge;
static unsigned int fired;
static bool grows; /* at the point, once */

static void grow(const char *point)
{
	if (!grows || strcmp(point, ALONE) != 0)
		return;
	grows = false;
	fired++;
	MUST(!lath_range_resize(&locks, &edge, 15, 2));
}

static void grown_in_front(void)
{
	struct lath_range_hold hold;
	int ret;

	MUST(!lath_range_locks_init(&locks, NULL));
	MUST(!lath_range_lock(&locks, &edge, 15, 1, LATH_EXCLUSIVE_RANGE));
	fired = 0;
	grows = true;
	ret = lath_range_timedlock(&locks, &hold, 0, 16, LATH_EXCLUSIVE_RANGE, 2000000);
	MUST(fired == 1 && ret == -ETIMEDOUT);
	if (!ret)
		lath_range_unlock(&locks, &hold);
	lath_range_unlock(&locks, &edge);
	MUST(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

int main(void)
{
	lath_delay_hook = grow;
	grown_in_front();
	return !!faults;
}
