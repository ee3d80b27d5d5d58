/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Range locks between threads: plain counters that the ranges protect, so that ThreadSanitizer sees
 * a range that does not; waits that end by a timeout; a cycle that one of its threads leaves; a
 * range that grows while another one waits for it.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "lathwork/range_lock.h"

#define THREADS 4
#define KEYS 600
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 4000
#else
#define ROUNDS 40000
#endif

static struct lath_range_locks locks;
static long counter[KEYS]; /* written by who has the key exclusive, read by who has it */
static atomic_long written, timeouts;

static void work(const struct lath_range_hold *hold, int exclusive)
{
	uint64_t k;
	long sum = 0;

	for (k = hold->first; k <= hold->last; k++) {
		if (exclusive)
			counter[k]++;
		else
			sum += counter[k];
	}
	assert(sum >= 0);
	if (exclusive)
		written += (long)(hold->last - hold->first + 1);
}

static void *change(void *arg)
{
	static const unsigned int sizes[] = { 1, 2, 3, 16, 16, 40, 260 };
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	struct lath_range_hold hold;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t r = random_word(&seed);
		unsigned int size = sizes[r % 7];
		uint64_t key = (r >> 8) % (KEYS - size + 1), from;
		enum lath_range_mode mode = r >> 40 & 1 ? LATH_EXCLUSIVE_RANGE : LATH_SHARED_RANGE;
		int ret = 0;

		switch (r >> 41 & 7) {
		case 0:
			ret = lath_range_trylock(&locks, &hold, key, size, mode);
			assert(!ret || ret == -EBUSY);
			break;
		case 1:
			ret = lath_range_timedlock(&locks, &hold, key, size, mode, r >> 50);
			assert(!ret || ret == -ETIMEDOUT);
			timeouts += !!ret;
			break;
		default:
			assert(!lath_range_lock(&locks, &hold, key, size, mode));
		}
		if (ret)
			continue;
		work(&hold, mode == LATH_EXCLUSIVE_RANGE);
		if (r >> 45 & 1) {
			from = hold.first + (hold.last - hold.first) / 2;
			assert(!lath_range_resize(&locks, &hold, from, hold.last - from + 1));
			work(&hold, mode == LATH_EXCLUSIVE_RANGE);
		}
		if (r >> 46 & 1) {
			lath_range_downgrade(&locks, &hold);
			work(&hold, 0);
		}
		lath_range_unlock(&locks, &hold);
	}
	return NULL;
}

static void counters_are_protected(const struct lath_range_config *config)
{
	pthread_t thread[THREADS];
	long sum = 0;
	int i;

	memset(counter, 0, sizeof(counter));
	written = 0;
	assert(!lath_range_locks_init(&locks, config));
	for (i = 0; i < THREADS; i++)
		assert(!pthread_create(&thread[i], NULL, change, (void *)(uintptr_t)(i + 1)));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < KEYS; i++)
		sum += counter[i];
	assert(sum == written);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* Two threads lock a range each and then the other's. */
static pthread_barrier_t both;
static atomic_int refused;

static void *cross(void *arg)
{
	uint64_t mine = (uint64_t)(uintptr_t)arg, other = 1 - mine;
	struct lath_range_hold first, second;
	int ret;

	assert(!lath_range_lock(&locks, &first, mine * 1000, 10, LATH_EXCLUSIVE_RANGE));
	pthread_barrier_wait(&both);
	ret = lath_range_lock(&locks, &second, other * 1000, 10, LATH_EXCLUSIVE_RANGE);
	assert(!ret || ret == -EDEADLK);
	refused += ret != 0;
	if (!ret)
		lath_range_unlock(&locks, &second);
	lath_range_unlock(&locks, &first);
	return NULL;
}

static void cycles_are_left(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold all;
	pthread_t thread[2];
	uintptr_t i;
	int round;

	config.flags = LATH_RANGE_DEADLOCKS;
	assert(!lath_range_locks_init(&locks, &config));
	assert(!pthread_barrier_init(&both, NULL, 2));
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 2; i++)
			assert(!pthread_create(&thread[i], NULL, cross, (void *)i));
		for (i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		assert(!lath_range_trylock(&locks, &all, 0, 2000, LATH_EXCLUSIVE_RANGE));
		lath_range_unlock(&locks, &all);
	}
	assert(refused == 200); /* in each round one of the two */
	pthread_barrier_destroy(&both);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* A thread that is cancelled while it waits with a limit: it does not end in the wait, and leaves
 * nothing behind. */
static void *wait_long(void *arg)
{
	struct lath_range_hold hold;

	(void)arg;
	assert(lath_range_timedlock(&locks, &hold, 5, 5, LATH_SHARED_RANGE, 300000000) ==
	       -ETIMEDOUT);
	for (;;)
		pause(); /* a cancellation point */
	return NULL;
}

static void cancelled_waits_leave_nothing(void)
{
	struct lath_range_hold hold, next_hold;
	pthread_t thread;

	assert(!lath_range_locks_init(&locks, NULL));
	assert(!lath_range_lock(&locks, &hold, 0, 8, LATH_EXCLUSIVE_RANGE));
	assert(!pthread_create(&thread, NULL, wait_long, NULL));
	usleep(50000);
	assert(!pthread_cancel(thread));
	pthread_join(thread, NULL);
	assert(!lath_range_trylock(&locks, &next_hold, 8, 100, LATH_EXCLUSIVE_RANGE));
	lath_range_unlock(&locks, &hold);
	lath_range_unlock(&locks, &next_hold);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* A range waits for one at its edge, which grows away from it: into a class that no range was in
 * before, between the two, into that of the range, or into a larger one. It waits for it there
 * too. */
static const struct growth {
	uint64_t size, grown; /* of the range that waits, of the one at its last key */
} growths[] = { { 256, 2 }, { 16, 2 }, { 16, 20 } };
static atomic_int waiting;

static void note_waiting(void *arg, const struct lath_range_info *info)
{
	(void)arg;
	waiting |= info->waits;
}

static void *wait_for_edge(void *arg)
{
	const struct growth *growth = arg;
	struct lath_range_hold hold;

	assert(lath_range_timedlock(&locks, &hold, 0, growth->size, LATH_EXCLUSIVE_RANGE,
				    50000000) == -ETIMEDOUT);
	return NULL;
}

static void grown_is_waited_for(const struct growth *growth)
{
	struct lath_range_hold edge;
	pthread_t thread;
	int i;

	assert(!lath_range_locks_init(&locks, NULL));
	assert(!lath_range_lock(&locks, &edge, growth->size - 1, 1, LATH_EXCLUSIVE_RANGE));
	assert(!pthread_create(&thread, NULL, wait_for_edge, (void *)(uintptr_t)growth));
	for (waiting = i = 0; !waiting && i < 100; i++) {
		usleep(500);
		lath_range_each(&locks, note_waiting, NULL);
	}
	assert(!lath_range_resize(&locks, &edge, growth->size - 1, growth->grown));
	pthread_join(thread, NULL);
	lath_range_unlock(&locks, &edge);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* A small range gives way to a large one that waits for another small one. */
static void *wait_for_all(void *arg)
{
	struct lath_range_hold hold;

	(void)arg;
	assert(!lath_range_lock(&locks, &hold, 0, 256, LATH_EXCLUSIVE_RANGE));
	lath_range_unlock(&locks, &hold);
	return NULL;
}

static void waiting_is_not_overtaken(void)
{
	struct lath_range_hold first, hold;
	pthread_t thread;

	assert(!lath_range_locks_init(&locks, NULL));
	assert(!lath_range_lock(&locks, &first, 0, 1, LATH_EXCLUSIVE_RANGE));
	assert(!pthread_create(&thread, NULL, wait_for_all, NULL));
	for (waiting = 0; !waiting; usleep(500))
		lath_range_each(&locks, note_waiting, NULL);
	assert(lath_range_trylock(&locks, &hold, 100, 1, LATH_EXCLUSIVE_RANGE) == -EBUSY);
	lath_range_unlock(&locks, &first);
	pthread_join(thread, NULL);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* ---- calls that wait in a known order ---- */

#define WAITERS 256
static struct wait {
	uint64_t first, last, owner;
	enum lath_range_mode mode;
	pthread_t thread;
	struct lath_range_hold hold, *held; /* held: unlocked behind it */
	int result;
} waits_of[WAITERS];
static int n_waiting;

static void *wait_and_unlock(void *arg)
{
	struct wait *w = arg;

	w->result = lath_range_lock_for(&locks, &w->hold, w->first, w->last, w->mode, UINT64_MAX,
					w->owner);
	if (!w->result)
		lath_range_unlock(&locks, &w->hold);
	if (w->held)
		lath_range_unlock(&locks, w->held);
	return NULL;
}

static void count_waiting(void *arg, const struct lath_range_info *info)
{
	*(int *)arg += info->waits;
}

/* Starts the wait, and returns when it waits. */
static void begin_wait(struct wait *w)
{
	int now = 0;

	assert(!pthread_create(&w->thread, NULL, wait_and_unlock, w));
	for (n_waiting++; now < n_waiting; usleep(200)) {
		now = 0;
		lath_range_each(&locks, count_waiting, &now);
	}
}

/* A larger range asks behind a small one that waits, and waits for it: nobody is in a cycle. */
static void larger_ones_do_not_overtake(void)
{
	static const struct wait ask[] = {
		{ 0, 0, 2, LATH_EXCLUSIVE_RANGE, 0, { 0 }, NULL, 0 },
		{ 0, 0, 3, LATH_EXCLUSIVE_RANGE, 0, { 0 }, NULL, 0 },
		{ 1, 2, 4, LATH_EXCLUSIVE_RANGE, 0, { 0 }, NULL, 0 },
		{ 0, 3, 5, LATH_SHARED_RANGE, 0, { 0 }, NULL, 0 },
	};
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold hold[3];
	uint64_t i;

	config.flags = LATH_RANGE_DEADLOCKS;
	assert(!lath_range_locks_init(&locks, &config));
	for (i = 0; i < 3; i++)
		assert(!lath_range_lock_for(&locks, &hold[i], i, i, LATH_EXCLUSIVE_RANGE, 0,
					    i + 1));
	n_waiting = 0;
	for (i = 0; i < 4; i++) {
		waits_of[i] = ask[i];
		if (i < 2) /* owners 2 and 3 give up what they hold when they are served */
			waits_of[i].held = &hold[i + 1];
		begin_wait(&waits_of[i]);
	}
	lath_range_unlock(&locks, &hold[0]);
	for (i = 0; i < 4; i++) {
		pthread_join(waits_of[i].thread, NULL);
		assert(!waits_of[i].result);
	}
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

/* Processor time of a wait, the least of ten, for a key that `n` others wait for. */
static double cost_of_wait(int n)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold all, hold;
	struct timespec a, b;
	double took, least = 1;
	int i;

	config.flags = LATH_RANGE_DEADLOCKS;
	assert(!lath_range_locks_init(&locks, &config));
	assert(!lath_range_lock_for(&locks, &all, 0, UINT64_MAX, LATH_EXCLUSIVE_RANGE, 0, 1));
	n_waiting = 0;
	for (i = 0; i < n; i++) {
		waits_of[i] =
			(struct wait){ 5,    5, (uint64_t)i + 2, LATH_EXCLUSIVE_RANGE, 0, { 0 },
				       NULL, 0 };
		begin_wait(&waits_of[i]);
	}
	for (i = 0; i < 10; i++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		assert(lath_range_lock_for(&locks, &hold, 5, 5, LATH_EXCLUSIVE_RANGE, 1000, 9999) ==
		       -ETIMEDOUT);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		took = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
		least = took < least ? took : least;
	}
	/* the owner of all keys asks for one of them: a cycle of one */
	assert(lath_range_lock_for(&locks, &hold, 5, 5, LATH_EXCLUSIVE_RANGE, UINT64_MAX, 1) ==
	       -EDEADLK);
	lath_range_unlock(&locks, &all);
	for (i = 0; i < n; i++) {
		pthread_join(waits_of[i].thread, NULL);
		assert(!waits_of[i].result);
	}
	lath_range_locks_fini(&locks);
	return least;
}

/* Four times as many that wait: four times the work, not 64 times. */
static void many_waits_are_cheap(void)
{
	double few = cost_of_wait(WAITERS / 4), many = cost_of_wait(WAITERS);

	printf("one more wait: %.1f us behind %d, %.1f us behind %d\n", few * 1e6, WAITERS / 4,
	       many * 1e6, WAITERS);
	assert(many < 16 * few);
}

static atomic_int looks, turn;
static atomic_bool enough;

/* Often for a thread that waits, as one does which must see signals. */
static uint64_t look(void *arg)
{
	assert(arg == &looks);
	looks++;
	return enough ? 0 : 1000000;
}

static void *wait_in_order(void *arg)
{
	struct lath_range_hold hold;

	assert(!lath_range_lock(&locks, &hold, 0, 10, LATH_EXCLUSIVE_RANGE));
	assert(turn++ == (int)(intptr_t)arg);
	lath_range_unlock(&locks, &hold);
	return NULL;
}

/* Threads that look while they wait are served in the order in which they came; one that gives up
 * leaves its place. */
static void looks_keep_the_place(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold first, hold;
	struct wait gives_up = { 5, 100, 0, LATH_EXCLUSIVE_RANGE, 0, { 0 }, NULL, 0 };
	pthread_t thread[3];
	int i, n;

	config.look = look;
	config.look_arg = &looks;
	assert(!lath_range_locks_init(&locks, &config));
	assert(!lath_range_lock(&locks, &first, 0, 10, LATH_EXCLUSIVE_RANGE) && !looks);
	for (i = 0; i < 3; i++) {
		assert(!pthread_create(&thread[i], NULL, wait_in_order, (void *)(intptr_t)i));
		for (n = 0; n <= i; usleep(500)) {
			n = 0;
			lath_range_each(&locks, count_waiting, &n);
		}
	}
	for (i = looks; looks < i + 30;)
		usleep(500);
	lath_range_unlock(&locks, &first);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert(turn == 3);
	assert(!lath_range_lock(&locks, &first, 0, 10, LATH_EXCLUSIVE_RANGE));
	n_waiting = 0;
	begin_wait(&gives_up);
	enough = true;
	pthread_join(gives_up.thread, NULL);
	assert(gives_up.result == -EINTR);
	assert(!lath_range_trylock(&locks, &hold, 10, 90, LATH_EXCLUSIVE_RANGE));
	lath_range_unlock(&locks, &hold);
	lath_range_unlock(&locks, &first);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
}

int main(void)
{
	struct lath_range_config few = LATH_RANGE_CONFIG_INIT;
	size_t i;

	counters_are_protected(NULL);
	few.buckets = 2;
	few.flags = LATH_RANGE_DEADLOCKS;
	counters_are_protected(&few);
	assert(timeouts);
	cycles_are_left();
	cancelled_waits_leave_nothing();
	for (i = 0; i < sizeof(growths) / sizeof(growths[0]); i++)
		grown_is_waited_for(&growths[i]);
	waiting_is_not_overtaken();
	larger_ones_do_not_overtake();
	many_waits_are_cheap();
	looks_keep_the_place();
	return 0;
}
