/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A section that is open when its thread ends, which wants to keep it (lath_rcu_keep_open): one
 * that a later destructor of the thread closes is over, any other stays open, and what is retired
 * after its beginning is never freed. lath_rcu_step() waits for neither.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/sys.h"
#include "base/must.h"

static const struct lath_rcu *rcu = &lath_rcu_auto;
static unsigned int freed;

static void end_head(struct lath_rcu_head *head)
{
	free(head);
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELEASE);
}

static void retire(void)
{
	struct lath_rcu_head *head = malloc(sizeof(*head));

	MUST(head);
	rcu->call(head, end_head);
}

static void leave(void *again)
{
	(void)again;
	rcu->read_unlock();
}

static void *end_in_section(void *key)
{
	lath_rcu_keep_open();
	rcu->read_lock();
	if (key)
		MUST(!pthread_setspecific(*(pthread_key_t *)key, key));
	return NULL;
}

static void thread_ends_in_section(pthread_key_t *key)
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, end_in_section, key));
	MUST(!pthread_join(thread, NULL));
}

/* Whether what has been retired is freed: soon, or else not at all. */
static bool freed_soon(unsigned int most)
{
	int i;

	for (i = 0; i < 300 && __atomic_load_n(&freed, __ATOMIC_ACQUIRE) < most; i++) {
		lath_rcu_step(100);
		usleep(1000);
	}
	return __atomic_load_n(&freed, __ATOMIC_ACQUIRE) == most;
}

int main(void)
{
	pthread_key_t key;

	retire();
	MUST(freed_soon(1));
	rcu->read_lock();
	retire();
	rcu->read_unlock();
	rcu->drain();
	MUST(freed == 2);
	/* made after the library's key, so its destructor runs later */
	MUST(!pthread_key_create(&key, leave));
	thread_ends_in_section(&key);
	retire();
	MUST(freed_soon(3));
	thread_ends_in_section(NULL);
	retire();
	MUST(!freed_soon(4));
	return (int)faults;
}
