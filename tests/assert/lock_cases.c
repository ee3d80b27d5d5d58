/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* lock_cases.c - range locks: buckets, who is counted, the end. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock/lock.h"

static struct lath_range_locks locks;
static struct lath_range_hold hold, behind;

static void prepare(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;

	config.buckets = 1;
	NEED(!lath_range_locks_init(&locks, &config));
	NEED(!lath_range_lock(&locks, &hold, 5, 1, LATH_SHARED_RANGE));
	NEED(!lath_range_lock(&locks, &behind, 5, 1, LATH_SHARED_RANGE));
}

static void end_with_a_held_range(void)
{
	prepare();
	lath_range_locks_fini(&locks);
}

static void bucket_unlocked_twice(void)
{
	prepare();
	bucket_unlock(hold_of(&hold)->own[0].bucket);
}

/* The second range becomes one that waits for the first, which is not counted. */
static void waits_for_nobody(void)
{
	prepare();
	hold_of(&behind)->mode = LATH_EXCLUSIVE_RANGE;
	lath_range_unlock(&locks, &hold);
}

static void bucket_outside_a_call(void)
{
	prepare();
	bucket_lock(hold_of(&hold)->own[0].bucket);
}

const struct assert_case lock_cases[] = {
	{ "lock: end with a held range", end_with_a_held_range, "lock/range_lock.c",
	  "!locks->bucket[i].first" },
	{ "lock: bucket unlocked twice", bucket_unlocked_twice, "lock/lock.h",
	  "bucket->word) & LOCKED" },
	{ "lock: range that waits for nobody", waits_for_nobody, "lock/range_lock.c", "blockers" },
	{ "lock: bucket locked outside a call", bucket_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ 0 },
};
