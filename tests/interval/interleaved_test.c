/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - two inserts of intervals that begin at one key, one within the other.
 *
 * The set is built with its delay points. At each of those that the outer insert comes to before it
 * has locked anything, once, the hook inserts another interval as another thread might: both must
 * be there afterwards, though the outer one has found the key free and meets it taken.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "lathwork/interval.h"

#define BEGIN 100u
#define LENGTH 1000u /* about: all are in one class */
#define TOGETHER 3u  /* intervals of one key: the trees of a class take two, a list the third */

extern void (*lath_delay_hook)(const char *point);

static struct lath_intervals set;
static unsigned int at, fired; /* at: the visit of the point that is used; 0: none */

static struct lath_interval interval_of(unsigned int value)
{
	return (struct lath_interval){ BEGIN, BEGIN + LENGTH + value, value };
}

static void disturb(const char *point)
{
	struct lath_interval other = interval_of(TOGETHER);

	if (!at || strcmp(point, "located, not yet locked") != 0)
		return;
	at--;
	if (at)
		return;
	fired++;
	MUST(!lath_intervals_insert(&set, &other));
}

/* The n-th interval of the key is inserted, beside another one from its visit-th point on. Returns
 * whether it has that many points. */
static bool inserted_beside(unsigned int n, unsigned int visit)
{
	struct lath_interval found[TOGETHER + 1], one;
	unsigned int i, seen = 0;
	char report[200] = "";
	size_t there;

	fired = 0;
	MUST(!lath_intervals_init(&set, LATH_HALF_OPEN, NULL));
	for (i = 0; i < n; i++) {
		one = interval_of(i);
		at = i == n - 1 ? visit : 0;
		MUST(!lath_intervals_insert(&set, &one));
	}
	at = 0;
	there = lath_intervals_stab(&set, BEGIN, found, TOGETHER + 1);
	MUST(there == n + fired && lath_intervals_count(&set) == there);
	for (i = 0; i < there && i < TOGETHER + 1; i++) {
		one = interval_of((unsigned int)found[i].value);
		MUST(!memcmp(&found[i], &one, sizeof(one)) && !(seen & 1u << one.value));
		seen |= 1u << one.value;
	}
	MUST(!lath_intervals_verify(&set, report, sizeof(report)));
	lath_intervals_fini(&set, NULL, NULL);
	return fired;
}

int main(void)
{
	unsigned int n, visits = 0;

	lath_delay_hook = disturb;
	for (n = 1; n <= TOGETHER; n++) {
		unsigned int visit = 1;

		while (inserted_beside(n, visit))
			visit++;
		visits += visit - 1;
	}
	MUST(visits >= TOGETHER);
	return !!faults;
}
