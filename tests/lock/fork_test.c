/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() beside threads that lock, sleep and hold ranges: it does not wait for those that sleep,
 * and the child goes on with what no other thread had.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lathwork/range_lock.h"

static struct lath_range_locks locks;
static atomic_bool stop;

/* Waits for the main program's range, and for what others hold. */
static void *change(void *arg)
{
	uint64_t k = (uint64_t)(uintptr_t)arg;
	struct lath_range_hold hold;

	while (!stop) {
		assert(!lath_range_lock(&locks, &hold, 100 + k % 7, 3, LATH_EXCLUSIVE_RANGE));
		lath_range_unlock(&locks, &hold);
		if (!lath_range_timedlock(&locks, &hold, 1, 1, LATH_SHARED_RANGE, 200000))
			lath_range_unlock(&locks, &hold);
		k++;
	}
	return NULL;
}

static void child(struct lath_range_hold *mine)
{
	struct lath_range_hold hold;

	alarm(20); /* waits for a thread that is not here */
	/* its own range, and keys that nobody had */
	assert(lath_range_trylock(&locks, &hold, 0, 1, LATH_SHARED_RANGE));
	lath_range_unlock(&locks, mine);
	assert(!lath_range_lock(&locks, &hold, 5000, 50, LATH_EXCLUSIVE_RANGE));
	lath_range_unlock(&locks, &hold);
	/* what others had stays theirs: anew */
	assert(!lath_range_locks_init(&locks, NULL));
	assert(!lath_range_lock_all(&locks, &hold, LATH_EXCLUSIVE_RANGE));
	lath_range_unlock(&locks, &hold);
	_exit(0);
}

int main(void)
{
	struct lath_range_hold mine;
	pthread_t thread[3];
	int i, status;

	assert(!lath_range_locks_init(&locks, NULL));
	assert(!lath_range_lock(&locks, &mine, 0, 10, LATH_EXCLUSIVE_RANGE));
	for (i = 0; i < 3; i++)
		assert(!pthread_create(&thread[i], NULL, change, (void *)(uintptr_t)i));
	for (i = 0; i < 60; i++) {
		pid_t pid = fork();

		assert(pid >= 0);
		if (!pid)
			child(&mine);
		assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		       !WEXITSTATUS(status));
	}
	stop = 1;
	lath_range_unlock(&locks, &mine);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
	return 0;
}
