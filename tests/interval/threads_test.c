/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that change and search one set at the same time.
 *
 * Each interval has a mark, which says since when it is there or away, or that this is being
 * changed. A reader looks at all marks before and after a search. It must find each matching
 * interval that was there all the time, no interval that was away all the time, and none more often
 * than it was inserted. Half of the intervals begin at few keys, so that lists grow, are replaced
 * and vanish. threads_test [rounds]; LATH_LONG=1: twenty times more.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mark.h"
#include "base/must.h"
#include "base/random.h"
#include "lathwork/interval.h"

#define WRITERS 2
#define READERS 2
#define OWNED 600u /* intervals of a writer */
#define KEYS 5000u

static struct lath_intervals set;
static unsigned long rounds = 400000, finds, done;

/* An interval of a writer, known to all. */
static struct marked {
	struct lath_interval interval;
	struct mark mark;
} marks[WRITERS * OWNED];

static void make_marks(void)
{
	uint64_t state = 3;

	for (unsigned int w = 0; w < WRITERS; w++)
		for (unsigned int i = 0; i < OWNED; i++) {
			uint64_t first = i % 2 ? draw(&state, 4) * 1000 : draw(&state, KEYS);
			uint64_t length = 1 + draw(&state, 1ull << draw(&state, 12));

			marks[w * OWNED + i].interval =
				(struct lath_interval){ first, first + length, w * OWNED + i };
		}
}

static void *write_some(void *arg)
{
	struct marked *mine = arg;
	uint64_t state = (uint64_t)(mine - marks) + 1;

	for (unsigned long r = 0; r < rounds; r++) {
		struct marked *m = &mine[draw(&state, OWNED)];
		int ret;

		begins(&m->mark);
		if (m->mark.there)
			ret = lath_intervals_erase(&set, &m->interval);
		else
			ret = lath_intervals_insert(&set, &m->interval);
		if (ret)
			FAULT("a change said %d\n", ret);
		ends(&m->mark, !m->mark.there);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

struct view {
	bool steady[WRITERS * OWNED], there[WRITERS * OWNED];
	uint64_t since[WRITERS * OWNED];
	uint8_t times[WRITERS * OWNED];
	struct lath_interval found[4 * WRITERS * OWNED];
};

static size_t search(struct view *view, unsigned int how, uint64_t from, uint64_t to)
{
	struct lath_interval_iter iter;
	size_t n = 0;

	if (how == 0)
		return lath_intervals_overlap(&set, from, to, view->found, 4 * WRITERS * OWNED);
	lath_interval_iter_overlap(&iter, &set, from, to);
	while (n < 4 * WRITERS * OWNED && lath_interval_next(&iter, &view->found[n]))
		n++;
	return n;
}

static void judge(struct view *view, size_t n, uint64_t from, uint64_t to)
{
	size_t i;

	memset(view->times, 0, sizeof(view->times));
	for (i = 0; i < n; i++) {
		const struct lath_interval *f = &view->found[i];

		if (f->value >= WRITERS * OWNED || memcmp(f, &marks[f->value].interval, sizeof(*f)))
			FAULT("found what nobody inserted\n");
		else
			view->times[f->value]++;
	}
	for (i = 0; i < WRITERS * OWNED; i++) {
		const struct lath_interval *at = &marks[i].interval;
		bool meets = at->first < to && from < at->end, there;
		uint64_t since;

		if (view->times[i] && !meets)
			FAULT("found %" PRIu64 ", which does not match\n", at->first);
		if (!meets || !view->steady[i] || !look(&marks[i].mark, &there, &since) ||
		    since != view->since[i])
			continue;
		__atomic_fetch_add(&finds, 1, __ATOMIC_RELAXED);
		if (view->times[i] != view->there[i])
			FAULT("[%" PRIu64 ", %" PRIu64 ") was %s all the time and found %d times\n",
			      at->first, at->end, view->there[i] ? "there" : "away",
			      view->times[i]);
	}
}

static uint64_t distance(const struct lath_interval *i, uint64_t point)
{
	if (i->first > point)
		return i->first - point;
	return i->end <= point ? point - (i->end - 1) : 0;
}

/* The nearest one, or NULL. */
static void judge_nearest(const struct view *view, const struct lath_interval *near, uint64_t point)
{
	for (size_t i = 0; i < WRITERS * OWNED; i++) {
		bool there;
		uint64_t since;

		if (!view->steady[i] || !view->there[i] || !look(&marks[i].mark, &there, &since) ||
		    since != view->since[i])
			continue;
		if (!near || distance(&marks[i].interval, point) < distance(near, point))
			FAULT("one at %" PRIu64 " is nearer to %" PRIu64 "\n",
			      marks[i].interval.first, point);
	}
}

static void *read_some(void *arg)
{
	struct view *view = calloc(1, sizeof(*view));
	uint64_t state = (uintptr_t)arg;

	if (!view)
		abort();
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < WRITERS) {
		uint64_t from = draw(&state, KEYS), to = from + 1 + draw(&state, 200);
		struct lath_interval near;

		for (size_t i = 0; i < WRITERS * OWNED; i++)
			view->steady[i] = look(&marks[i].mark, &view->there[i], &view->since[i]);
		if (draw(&state, 3)) {
			judge(view, search(view, (unsigned int)draw(&state, 2), from, to), from,
			      to);
			continue;
		}
		from = draw(&state, 2 * KEYS);
		to = (uint64_t)lath_intervals_nearest(&set, from, &near);
		judge_nearest(view, to ? NULL : &near, from);
	}
	free(view);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[WRITERS + READERS];
	char report[200];
	size_t left = 0, i;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (getenv("LATH_LONG"))
		rounds *= 20;
	make_marks();
	if (lath_intervals_init(&set, LATH_HALF_OPEN, NULL))
		return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&thread[i], NULL, i < WRITERS ? write_some : read_some,
				   i < WRITERS ? (void *)&marks[i * OWNED] : (void *)(i + 1)))
			return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < WRITERS * OWNED; i++)
		left += marks[i].mark.there;
	if (lath_intervals_verify(&set, report, sizeof(report)))
		FAULT("%s\n", report);
	if (lath_intervals_count(&set) != left)
		FAULT("%zu should be left\n", left);
	lath_intervals_fini(&set, NULL, NULL);
	printf("%lu answers judged, %lu faults\n", finds, faults);
	return faults || !finds;
}
