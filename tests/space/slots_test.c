/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slots_test.c - which slot a thread uses while another one holds its own: the neighbour's, if
 * there is one and it is not locked; else it waits.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "space/space.h"

static struct lath_space *space;
static struct slot *held[2]; /* by the other thread; NULL: none */
static int step;	     /* 1: they are locked; 2: unlock; 3: after this many microseconds */

static void *hold(void *arg)
{
	int i;

	(void)arg;
	lath_call_enter();
	for (i = 0; i < 2; i++)
		if (held[i])
			lath_spin_lock(&held[i]->lock);
	__atomic_store_n(&step, 1, __ATOMIC_RELEASE);
	while ((i = __atomic_load_n(&step, __ATOMIC_ACQUIRE)) == 1)
		usleep(100);
	if (i == 3)
		usleep(20000);
	for (i = 0; i < 2; i++)
		if (held[i])
			lath_spin_unlock(&held[i]->lock);
	lath_call_exit();
	return NULL;
}

/* Allocates while another thread holds these slots. waits: until it lets them go. */
static u64 alloc_beside(struct slot *own, struct slot *neighbour, bool waits)
{
	pthread_t thread;
	u64 key;

	held[0] = own;
	held[1] = neighbour;
	step = 0;
	assert(!pthread_create(&thread, NULL, hold, NULL));
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 1)
		usleep(100);
	if (waits)
		__atomic_store_n(&step, 3, __ATOMIC_RELEASE);
	assert(!lath_space_alloc(space, 1, 0, 1, &key));
	__atomic_store_n(&step, 2, __ATOMIC_RELEASE);
	assert(!pthread_join(thread, NULL));
	return key;
}

static void *one_call(void *arg)
{
	u64 key;

	(void)arg;
	assert(!lath_space_alloc(space, 1, 0, 1, &key) && !lath_space_free(space, key, 1));
	return NULL;
}

int main(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space_stats stats;
	unsigned int mine, other, i;
	pthread_t thread;
	u64 key;

	config.high = 1 << 20;
	assert(!lath_space_create(&space, &config));
	assert(!lath_space_alloc(space, 1, 0, 1, &key));
	mine = lath_stripe() % SLOTS;
	other = (lath_stripe() ^ 1) % SLOTS;
	assert(space->slot[mine] && !space->slot[other]);
	alloc_beside(space->slot[mine], NULL, true); /* there is no neighbour */

	for (i = 0; !space->slot[other] && i < 4 * SLOTS; i++) /* the neighbour comes */
		assert(!pthread_create(&thread, NULL, one_call, NULL) &&
		       !pthread_join(thread, NULL));
	assert(space->slot[other]);
	i = space->slot[other]->held;
	key = space->slot[mine]->held;
	alloc_beside(space->slot[mine], NULL, false);
	assert(space->slot[other]->held != i && space->slot[mine]->held == key);
	i = space->slot[other]->held;
	alloc_beside(space->slot[mine], space->slot[other], true);
	assert(space->slot[other]->held == i && space->slot[mine]->held != key);

	lath_space_get_stats(space, &stats);
	assert(stats.allocated == 4);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
	return 0;
}
