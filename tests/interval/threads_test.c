/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that change and search one set of intervals (base/mark.h). Half of the
 * intervals begin at few keys, so that lists grow, are replaced and vanish. None is found more
 * often than it was inserted.
 */
#include <stddef.h>

#include "lathwork/interval.h"

#define MARKED 1200u
#include "base/mark.h"

#define KEYS 5000u

static struct lath_intervals set;
static struct lath_interval intervals[MARKED];

static void make_intervals(void)
{
	uint64_t state = 3;

	for (unsigned int i = 0; i < MARKED; i++) {
		uint64_t first = i / 2 % 2 ? draw(&state, 4) * 1000 : draw(&state, KEYS);
		uint64_t length = 1 + draw(&state, 1ull << draw(&state, 12));

		intervals[i] = (struct lath_interval){ first, first + length, i };
	}
}

static int change(size_t i, bool there)
{
	return there ? lath_intervals_insert(&set, &intervals[i])
		     : lath_intervals_erase(&set, &intervals[i]);
}

static size_t search(struct lath_interval *found, size_t most, bool all, uint64_t from, uint64_t to)
{
	struct lath_interval_iter iter;
	size_t n = 0;

	if (all)
		return lath_intervals_overlap(&set, from, to, found, most);
	lath_interval_iter_overlap(&iter, &set, from, to);
	while (n < most && lath_interval_next(&iter, &found[n]))
		n++;
	return n;
}

static void judge(const struct view *view, const struct lath_interval *found, size_t n,
		  uint64_t from, uint64_t to)
{
	uint8_t times[MARKED] = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		const struct lath_interval *f = &found[i];

		if (f->value >= MARKED || memcmp(f, &intervals[f->value], sizeof(*f)))
			FAULT("found what nobody inserted\n");
		else
			times[f->value]++;
	}
	for (i = 0; i < MARKED; i++) {
		const struct lath_interval *at = &intervals[i];
		bool meets = at->first < to && from < at->end;

		if (times[i] && !meets)
			FAULT("found %" PRIu64 ", which does not match\n", at->first);
		if (meets && view->steady[i] && times[i] != view->there[i])
			FAULT("[%" PRIu64 ", %" PRIu64 ") was %s all the time and found %d times\n",
			      at->first, at->end, view->there[i] ? "there" : "away", times[i]);
	}
}

static uint64_t distance(const struct lath_interval *i, uint64_t point)
{
	if (i->first > point)
		return i->first - point;
	return i->end <= point ? point - (i->end - 1) : 0;
}

static void ask(struct view *view, uint64_t *state)
{
	static __thread struct lath_interval found[4 * MARKED];
	uint64_t from = draw(state, KEYS), to = from + 1 + draw(state, 200);
	struct lath_interval near;
	size_t n;

	if (!draw(state, 4)) {
		n = (size_t)lath_intervals_count_overlap(&set, from, to);
		look_after(view);
		for (size_t i = 0; i < MARKED; i++)
			n -= view->steady[i] && view->there[i] && intervals[i].first < to &&
			     from < intervals[i].end;
		if (n > MARKED)
			FAULT("some at %" PRIu64 " were there and not counted\n", from);
		return;
	}
	if (draw(state, 3)) {
		n = search(found, 4 * MARKED, draw(state, 2), from, to);
		look_after(view);
		judge(view, found, n, from, to);
		return;
	}
	from = draw(state, 2 * KEYS);
	n = (size_t)lath_intervals_nearest(&set, from, &near); /* not 0: there is none */
	look_after(view);
	for (size_t i = 0; i < MARKED; i++)
		if (view->steady[i] && view->there[i] &&
		    (n || distance(&intervals[i], from) < distance(&near, from)))
			FAULT("one at %" PRIu64 " is nearer to %" PRIu64 "\n", intervals[i].first,
			      from);
}

int main(int argc, char **argv)
{
	struct lath_config config = LATH_CONFIG_INIT;
	char report[200];
	size_t left;

	make_intervals();
	config.flags = LATH_RANKS;
	MUST(!lath_intervals_init(&set, LATH_HALF_OPEN, &config));
	left = run_marked(800000, argc, argv);
	if (lath_intervals_verify(&set, report, sizeof(report)))
		FAULT("%s\n", report);
	if (lath_intervals_count(&set) != left)
		FAULT("%zu should be left\n", left);
	lath_intervals_fini(&set, NULL, NULL);
	return judged();
}
