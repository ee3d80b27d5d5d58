/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.h - threads that insert and erase things, each its own, while others ask about all of them.
 *
 * Each thing has a mark, which says since when it is there or away, or that this is being changed.
 * A reader looks at all marks before and after a question: what was there all the time must be in
 * the answer, what was away all the time must not, and any other may be. Writers change single
 * things and runs of neighbours, so that nodes and lists grow, shrink and vanish. A test defines
 * MARKED, the number of things, change() and ask(), and calls run_marked().
 */
#ifndef LATH_TESTS_MARK_H
#define LATH_TESTS_MARK_H

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/random.h"

#define WRITERS 2u
#define READERS 2u

/* since: the clock when the last change had returned. changing: one is under way. */
static struct mark {
	uint64_t since, changing;
	bool there;
} marks[MARKED];
static uint64_t clock_now;
static unsigned long answers, done;

/* What a reader knows of the marks. */
struct view {
	bool steady[MARKED], there[MARKED];
	uint64_t since[MARKED];
	uint32_t sure[MARKED + 1], possible[MARKED + 1]; /* of those before it */
};

/* Inserts or erases a thing. 0, or what the call said. */
static int change(size_t i, bool there);
/* Asks once and judges the answer, with look_after() between. `view`: as before the question. */
static void ask(struct view *view, uint64_t *state);

/* Returns whether a mark was not being changed. */
static bool look(const struct mark *m, bool *there, uint64_t *since)
{
	*since = __atomic_load_n(&m->since, __ATOMIC_SEQ_CST);
	*there = __atomic_load_n(&m->there, __ATOMIC_SEQ_CST);
	return !__atomic_load_n(&m->changing, __ATOMIC_SEQ_CST) &&
	       *since == __atomic_load_n(&m->since, __ATOMIC_SEQ_CST);
}

/* The second look at all marks, when a question has been answered: what has changed since the first
 * is not steady; counts the others. */
static void look_after(struct view *view)
{
	for (size_t i = 0; i < MARKED; i++) {
		uint64_t since;
		bool there, steady = look(&marks[i], &there, &since) && view->steady[i] &&
				     since == view->since[i];

		view->sure[i + 1] = view->sure[i] + (steady && there);
		view->possible[i + 1] = view->possible[i] + (!steady || there);
		view->steady[i] = steady;
	}
	__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
}

/* `n` of the things [low, high) were counted. */
static inline void judge_count(const struct view *view, const char *what, int64_t n, size_t low,
			       size_t high)
{
	int64_t least = view->sure[high] - view->sure[low];
	int64_t most = view->possible[high] - view->possible[low];

	if (n < least || n > most)
		FAULT("%s [%zu, %zu): %" PRId64 ", not from %" PRId64 " to %" PRId64 "\n", what,
		      low, high, n, least, most);
}

/* Thing i is said to be the one before which there are `rank`; ret: there is none. */
static inline void judge_select(const struct view *view, int ret, uint64_t rank, size_t i)
{
	if (ret ? view->sure[MARKED] > rank : i >= MARKED || (view->steady[i] && !view->there[i]))
		FAULT("select %" PRIu64 " said %d, %zu\n", rank, ret, i);
	else if (!ret)
		judge_count(view, "select", (int64_t)rank, 0, i);
}

static void set_marked(size_t i, bool there)
{
	struct mark *m = &marks[i];
	int ret;

	if (m->there == there)
		return;
	__atomic_store_n(&m->changing, 1, __ATOMIC_SEQ_CST);
	ret = change(i, there);
	if (ret)
		FAULT("a change said %d\n", ret);
	__atomic_store_n(&m->there, there, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->since, __atomic_add_fetch(&clock_now, 1, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->changing, 0, __ATOMIC_SEQ_CST);
}

static unsigned long rounds_marked;

static void *write_marked(void *arg)
{
	uint64_t me = (uintptr_t)arg, state = me + 1;

	for (unsigned long r = 0; r < rounds_marked; r++) {
		uint64_t at = draw(&state, MARKED / WRITERS);
		uint64_t n = draw(&state, 100) ? 1 : draw(&state, MARKED / 10);
		bool there = draw(&state, 2);

		for (; n && at < MARKED / WRITERS; n--, at++)
			set_marked(at * WRITERS + me, there);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *read_marked(void *arg)
{
	struct view *view = calloc(1, sizeof(*view));
	uint64_t state = (uintptr_t)arg + 100;

	if (!view)
		abort();
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < WRITERS) {
		for (size_t i = 0; i < MARKED; i++)
			view->steady[i] = look(&marks[i], &view->there[i], &view->since[i]);
		ask(view, &state);
	}
	free(view);
	return NULL;
}

/* Runs the threads; each writer makes this many rounds, or as many as the command line says;
 * LATH_LONG=1: twenty times more. Returns how many things are left; nothing is there before. */
static size_t run_marked(unsigned long rounds, int argc, char **argv)
{
	pthread_t thread[WRITERS + READERS];
	size_t left = 0, i;

#ifdef LATH_FEW_STEPS
	rounds /= 6;
#endif
	rounds_marked = argc > 1 ? strtoul(argv[1], NULL, 0) : rounds;
	rounds_marked *= getenv("LATH_LONG") ? 20 : 1;
	done = 0;
	memset(marks, 0, sizeof(marks));
	for (i = 0; i < WRITERS + READERS; i++)
		MUST(!pthread_create(&thread[i], NULL, i < WRITERS ? write_marked : read_marked,
				     (void *)i));
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < MARKED; i++)
		left += marks[i].there;
	return left;
}

/* The end of main(). */
static int judged(void)
{
	printf("%lu answers judged, %lu faults\n", answers, faults);
	return faults || !answers;
}

#endif /* LATH_TESTS_MARK_H */
