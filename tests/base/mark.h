/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.h - what all threads know of a thing that one of them inserts and erases, again and again.
 */
#ifndef LATH_TESTS_MARK_H
#define LATH_TESTS_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* since: the clock when the last change had returned. changing: one is under way. */
struct mark {
	uint64_t since, changing;
	bool there;
};

static uint64_t clock_now;

static void begins(struct mark *m)
{
	__atomic_store_n(&m->changing, 1, __ATOMIC_SEQ_CST);
}

static void ends(struct mark *m, bool there)
{
	__atomic_store_n(&m->there, there, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->since, __atomic_add_fetch(&clock_now, 1, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->changing, 0, __ATOMIC_SEQ_CST);
}

/* What a mark says. Returns false: it is being changed. */
static bool look(const struct mark *m, bool *there, uint64_t *since)
{
	*since = __atomic_load_n(&m->since, __ATOMIC_SEQ_CST);
	*there = __atomic_load_n(&m->there, __ATOMIC_SEQ_CST);
	return !__atomic_load_n(&m->changing, __ATOMIC_SEQ_CST) &&
	       *since == __atomic_load_n(&m->since, __ATOMIC_SEQ_CST);
}

#endif /* LATH_TESTS_MARK_H */
