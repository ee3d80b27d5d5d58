/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that change and search one set of byte keys at the same time.
 *
 * Each record has a mark, which says since when it is there or away, or that this is being changed.
 * A reader looks at all marks before and after a read. A get must tell the truth of a record whose
 * mark did not change; a walk of a cursor must find each record on its way that was there all the
 * time, none that was away all the time, and all in order. Many records share beginnings or whole
 * keys, so that arrays grow, become trees and vanish. threads_test [rounds]; LATH_LONG=1: twenty
 * times more.
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
#include "lathwork/bytes.h"

#define WRITERS 2
#define READERS 2
#define OWNED 600u /* records of a writer */
#define ALL (WRITERS * OWNED)
#define STEPS 60u

static struct lath_bytes set;
static unsigned long rounds = 300000, finds, done;
static bool ranks; /* the set has LATH_RANKS */

/* A record of a writer, and its mark. */
static struct marked {
	struct mark mark;
	uint64_t tag;
	uint8_t size;
	char data[40];
} marks[ALL];

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct marked *mark = (const struct marked *)(uintptr_t)value;

	(void)ctx;
	*key = (struct lath_bytes_key){ mark->data, mark->size, mark->tag };
}

static int compare(const void *left, const void *right)
{
	const struct marked *a = left, *b = right;
	int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

	if (c)
		return c;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

/* All marks in order of their keys; each writer owns every second one. */
static void make_marks(void)
{
	uint64_t state = 3;

	for (unsigned int i = 0; i < ALL; i++) {
		struct marked *m = &marks[i];
		unsigned int n = 0;

		if (i % 4 == 0) /* alone */
			n = (unsigned int)snprintf(m->data, sizeof(m->data), "%08" PRIx64,
						   draw(&state, 1ull << 32));
		else if (i % 4 == 1) /* many with eight bytes in common, and some with the next */
			n = (unsigned int)snprintf(m->data, sizeof(m->data), "common__%u",
						   i / 4 * 37 % 1000);
		else if (i % 4 == 2) /* versions */
			n = (unsigned int)snprintf(m->data, sizeof(m->data), "versions");
		else /* long, in groups */
			n = (unsigned int)snprintf(m->data, sizeof(m->data),
						   "a beginning of thirty %u %u", i / 4 % 5, i);
		m->size = (uint8_t)n;
		m->tag = i;
	}
	qsort(marks, ALL, sizeof(*marks), compare);
}

static void *write_some(void *arg)
{
	uint64_t first = (uintptr_t)arg, state = first + 1;

	for (unsigned long r = 0; r < rounds; r++) {
		struct marked *m = &marks[draw(&state, OWNED) * WRITERS + first];
		struct lath_bytes_key key;
		uint64_t there = 0;
		int ret;

		key_of(NULL, (uintptr_t)m, &key);
		begins(&m->mark);
		if (m->mark.there)
			ret = lath_bytes_erase(&set, &key, &there);
		else
			ret = lath_bytes_insert(&set, (uintptr_t)m, NULL);
		if (ret || (m->mark.there && there != (uintptr_t)m))
			FAULT("a change said %d\n", ret);
		ends(&m->mark, !m->mark.there);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

struct view {
	bool steady[ALL], there[ALL], found[ALL];
	uint64_t since[ALL];
};

static void judge(const struct view *view, size_t low, size_t high)
{
	for (size_t i = low; i < high; i++) {
		uint64_t since;
		bool there;

		if (!view->steady[i] || !look(&marks[i].mark, &there, &since) ||
		    since != view->since[i])
			continue;
		__atomic_fetch_add(&finds, 1, __ATOMIC_RELAXED);
		if (view->found[i] != view->there[i])
			FAULT("%.*s %" PRIu64 " was %s all the time and %s\n", marks[i].size,
			      marks[i].data, marks[i].tag, view->there[i] ? "there" : "away",
			      view->found[i] ? "found" : "not found");
	}
}

/* Walk from mark `from` on, in one direction. */
static void walk(struct view *view, size_t from, bool back)
{
	size_t low = from, high = from + 1, steps = 0, i;
	struct lath_bytes_cursor cursor;
	struct lath_bytes_key key;
	uint64_t value;
	int there;

	memset(view->found, 0, sizeof(view->found));
	key_of(NULL, (uintptr_t)&marks[from], &key);
	lath_bytes_cursor_init(&cursor, &set);
	there = back ? lath_bytes_cursor_seek_floor(&cursor, &key, &value)
		     : lath_bytes_cursor_seek(&cursor, &key, &value);
	for (; there && steps < STEPS; steps++) {
		i = (size_t)((const struct marked *)(uintptr_t)value - marks);
		if (i >= ALL || (back ? i >= high : i < low))
			FAULT("out of order\n");
		else
			view->found[i] = true;
		if (back)
			high = i;
		else
			low = i + 1;
		there = back ? lath_bytes_cursor_prev(&cursor, &value)
			     : lath_bytes_cursor_next(&cursor, &value);
	}
	if (back)
		judge(view, there ? high : 0, from + 1);
	else
		judge(view, from, there ? low : ALL);
}

/* The rank of a mark: all that were there before it all the time, and none that was away. */
static void judge_rank(const struct view *view, size_t from)
{
	size_t least = 0, most = 0, i;
	struct lath_bytes_key key;
	int64_t rank, count;

	key_of(NULL, (uintptr_t)&marks[from], &key);
	rank = lath_bytes_rank(&set, &key, 0);
	count = (int64_t)lath_bytes_count(&set);
	for (i = 0; i < ALL; i++) {
		uint64_t since;
		bool there, steady = view->steady[i] && look(&marks[i].mark, &there, &since) &&
				     since == view->since[i];

		least += steady && view->there[i];
		most += !steady || view->there[i];
		if (i + 1 == from && (rank < (int64_t)least || rank > (int64_t)most))
			FAULT("rank %" PRId64 ", expected %zu to %zu\n", rank, least, most);
	}
	if (count < (int64_t)least || count > (int64_t)most)
		FAULT("count %" PRId64 ", expected %zu to %zu\n", count, least, most);
	__atomic_fetch_add(&finds, 1, __ATOMIC_RELAXED);
}

/* The record at a position: any one, but one that was there at some time; none only if so few were
 * there. */
static void judge_select(const struct view *view, size_t at)
{
	uint64_t value = 0, since;
	int ret = lath_bytes_select(&set, at, &value);
	size_t least = 0, i;
	bool there;

	for (i = 0; i < ALL; i++)
		least += view->steady[i] && view->there[i] &&
			 look(&marks[i].mark, &there, &since) && since == view->since[i];
	if (ret ? least > at : value % 8 || value - (uintptr_t)marks >= sizeof(marks))
		FAULT("select %zu of at least %zu said %d, %" PRIx64 "\n", at, least, ret, value);
}

static void *read_some(void *arg)
{
	struct view *view = calloc(1, sizeof(*view));
	uint64_t state = (uintptr_t)arg;

	if (!view)
		abort();
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < WRITERS) {
		size_t from = draw(&state, ALL), way = draw(&state, ranks ? 7 : 4), n = 1;
		struct lath_bytes_key key[8];
		uint64_t value[8] = { 0 };

		for (size_t i = 0; i < ALL; i++)
			view->steady[i] = look(&marks[i].mark, &view->there[i], &view->since[i]);
		if (way > 3) {
			if (way == 6)
				judge_select(view, from / 2);
			else
				judge_rank(view, from);
			continue;
		}
		if (way < 2) {
			walk(view, from, way);
			continue;
		}
		n = way == 2 ? 1 : 8;
		n = n < ALL - from ? n : ALL - from;
		for (size_t i = 0; i < n; i++)
			key_of(NULL, (uintptr_t)&marks[from + i], &key[i]);
		if (way == 2)
			lath_bytes_get(&set, &key[0], value);
		else
			lath_bytes_get_batch(&set, n, key, value);
		for (size_t i = 0; i < n; i++) {
			view->found[from + i] = value[i] != 0;
			if (value[i] && value[i] != (uintptr_t)&marks[from + i])
				FAULT("found another one\n");
		}
		judge(view, from, from + n);
	}
	free(view);
	return NULL;
}

static int run(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_bytes_records records = { key_of, NULL, 0 };
	pthread_t thread[WRITERS + READERS];
	char report[200];
	size_t left = 0, i;

	done = 0;
	memset(marks, 0, sizeof(marks));
	make_marks();
	config.flags = ranks ? LATH_RANKS : 0;
	if (lath_bytes_init(&set, &records, &config))
		return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&thread[i], NULL, i < WRITERS ? write_some : read_some,
				   (void *)i))
			return 1;
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < ALL; i++)
		left += marks[i].mark.there;
	if (lath_bytes_verify(&set, report, sizeof(report)))
		FAULT("%s\n", report);
	if (lath_bytes_count(&set) != left)
		FAULT("%zu should be left\n", left);
	lath_bytes_fini(&set, NULL, NULL);
	printf("%s: %lu answers judged, %lu faults\n", ranks ? "with ranks" : "plain", finds,
	       faults);
	return faults || !finds;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (getenv("LATH_LONG"))
		rounds *= 20;
	ret = run();
	ranks = true;
	finds = 0;
	return ret | run();
}
