/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - a range that grows between two steps of a lock call of another one.
 *
 * The locks are built with their delay points. A range of 16 keys has entered its class and is
 * alone there; then one that holds its last key grows away from it, into the same class, and is in
 * front of it. The call must wait, which it does until its deadline.
 *
 * A range that waited in a bucket of a smaller class is about to leave it; then one that holds its
 * last key grows, and is in front of it there. When that one is unlocked nobody is left to wait
 * for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "lathwork/range_lock.h"

#define ALONE "range lock: alone in its class"
#define WAITED "range lock: waited below"

extern void (*lath_delay_hook)(const char *point);

static struct lath_range_locks locks;
static struct lath_range_hold edge, other;
static unsigned int fired;
static bool grows; /* at the point, once */
/* At the other point, once, unless the edge has been unlocked before. */
static pthread_mutex_t edge_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool waits;

static void grow(const char *point)
{
	if (!strcmp(point, WAITED)) {
		pthread_mutex_lock(&edge_mutex);
		if (waits) {
			fired++;
			MUST(!lath_range_resize(&locks, &edge, edge.first, 2));
		}
		waits = false;
		pthread_mutex_unlock(&edge_mutex);
	}
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

static void *unlock_later(void *arg)
{
	(void)arg;
	usleep(3000);
	lath_range_unlock(&locks, &other);
	return NULL;
}

static void *unlock_edge(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 20 && waits; i++)
		usleep(1000);
	usleep(1000); /* the call goes on */
	pthread_mutex_lock(&edge_mutex);
	waits = false;
	lath_range_unlock(&locks, &edge);
	pthread_mutex_unlock(&edge_mutex);
	return NULL;
}

/* The bucket of each range is drawn by its keys: among 40 places of the edge some are in the bucket
 * after the one that is waited in, and grow into that one. */
static void grown_while_waiting_below(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold hold;
	pthread_t first, second;
	unsigned int last, times = 0;

	config.buckets = 2;
	for (last = 17; last < 57; last++) {
		MUST(!lath_range_locks_init(&locks, &config));
		MUST(!lath_range_lock(&locks, &other, last % 2, 1, LATH_EXCLUSIVE_RANGE));
		MUST(!lath_range_lock(&locks, &edge, last, 1, LATH_EXCLUSIVE_RANGE));
		fired = 0;
		waits = true;
		MUST(!pthread_create(&first, NULL, unlock_later, NULL));
		MUST(!pthread_create(&second, NULL, unlock_edge, NULL));
		MUST(!lath_range_timedlock(&locks, &hold, 0, last + 1, LATH_EXCLUSIVE_RANGE,
					   4000000000));
		pthread_join(first, NULL);
		pthread_join(second, NULL);
		times += fired;
		if (faults)
			return;
		lath_range_unlock(&locks, &hold);
		MUST(!lath_range_locks_verify(&locks));
		lath_range_locks_fini(&locks);
	}
	MUST(times);
}

int main(void)
{
	lath_delay_hook = grow;
	grown_in_front();
	grown_while_waiting_below();
	return !!faults;
}
