/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rcu.c - RCU under the scheduler: a retired object's callback runs as soon as every section that
 * was open when it was retired has ended. No implementation may be faster.
 */
#include <string.h>

#include "runtime.h"
#include "runtime_inside.h"

#include "sys/sys.h"

#define MOST 4096

struct waiting {
	struct lath_rcu_head *head;
	unsigned __int128 sections[2]; /* bit i: fiber i was in a section, and still is in it */
};

static struct waiting waiting[MOST];
static unsigned int n_waiting;

static unsigned __int128 open_sections[2];
_Static_assert(SCHED_FIBERS <= 2 * 128, "a bit for each");

static bool free_of_readers(const struct waiting *w)
{
	return !w->sections[0] && !w->sections[1];
}

void sched_rcu_begin(void)
{
	unsigned int i;

	for (i = 0; i < SCHED_FIBERS; i++)
		sched.fiber[i].nesting = 0;
	open_sections[0] = open_sections[1] = 0;
	n_waiting = 0;
}

bool sched_rcu_empty(void)
{
	return !n_waiting;
}

bool sched_rcu_ready(void)
{
	unsigned int i;

	for (i = 0; i < n_waiting; i++)
		if (free_of_readers(&waiting[i]))
			return true;
	return false;
}

bool sched_rcu_step(void)
{
	struct lath_rcu_head *head;
	unsigned int i;

	for (i = 0; i < n_waiting && !free_of_readers(&waiting[i]); i++)
		;
	if (i == n_waiting)
		return false;
	head = waiting[i].head;
	memmove(waiting + i, waiting + i + 1, (--n_waiting - i) * sizeof(*waiting));
	sched_counts.callbacks++;
	lath_call_enter();
	head->func(head);
	lath_call_exit();
	return true;
}

/* Outside of runs there are no other threads: sections mean nothing. */
static void enter(void)
{
	size_t me = (size_t)(sched.self - sched.fiber);

	if (!sched.active)
		return;
	sched_point();
	if (!sched.self->nesting++) {
		open_sections[me / 128] |= (unsigned __int128)1 << me % 128;
		sched_counts.sections++;
	}
}

static void leave(void)
{
	size_t me = (size_t)(sched.self - sched.fiber);
	unsigned __int128 mine = (unsigned __int128)1 << me % 128;
	unsigned int i;

	if (!sched.active)
		return;
	sched_point();
	if (!sched.self->nesting)
		sched_fail("a section ends that did not begin", NULL, __builtin_return_address(0));
	if (--sched.self->nesting)
		return;
	open_sections[me / 128] &= ~mine;
	for (i = 0; i < n_waiting; i++)
		waiting[i].sections[me / 128] &= ~mine;
	if (sched_rcu_ready())
		sched_callbacks_ready();
}

bool lath_reader_inside(const struct lath_rcu *rcu)
{
	(void)rcu;
	return !sched.active || sched.self->nesting;
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	if (n_waiting == MOST)
		sched_fail("too many retired objects", NULL, NULL);
	head->func = func;
	waiting[n_waiting] = (struct waiting){ .head = head };
	if (sched.active)
		memcpy(waiting[n_waiting].sections, open_sections, sizeof(open_sections));
	n_waiting++;
	if (sched.active && sched_rcu_ready())
		sched_callbacks_ready();
}

static void drain(void)
{
	if (!sched.active) {
		while (sched_rcu_step())
			;
		return;
	}
	if (sched.self->nesting || lath_self.calls)
		sched_fail("a thread waits for a grace period in a section or call", NULL, NULL);
	while (n_waiting)
		sched_yield_to_others();
}

static void nothing(void)
{
}

const struct lath_rcu lath_rcu_auto = {
	.name = "sched",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = drain,
	.drain = drain,
	.register_thread = nothing,
	.unregister_thread = nothing,
};
