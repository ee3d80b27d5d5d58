/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool_threads_test.c - enumeration while others allocate and free, and segments that are drained,
 * removed, added and limited in the meantime. pool_threads_test [rounds]; LATH_LONG=1: twenty times
 * more.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/space.h"

#define THREADS 2
#define HELD 4u

static unsigned int flags;
static struct lath_space *space;
static bool stop;
static unsigned long steps; /* of the threads that allocate and free */

#define CHECK(what)                                                                          \
	do {                                                                                 \
		if (!(what)) {                                                               \
			fprintf(stderr, "pool_threads_test.c:%d: %s (flags %u)\n", __LINE__, \
				#what, flags);                                               \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

static void open_space(uint64_t units)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;

	config.high = units;
	config.flags = flags;
	CHECK(!lath_space_create(&space, &config));
}

/* Waits until the others have made this many steps more. */
static void let_work(unsigned long n)
{
	unsigned long from = __atomic_load_n(&steps, __ATOMIC_RELAXED);

	while (__atomic_load_n(&steps, __ATOMIC_RELAXED) - from < n)
		sched_yield();
}

/* ---- enumeration ---- */

#define UNITS (1u << 17)
#define KEPT_AT 1001u
#define KEPT 5u

static bool trims;

/* Holds at most HELD units at a time, one by one. */
static void *hold_few(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg, key[HELD];
	unsigned int n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (n < HELD && random_number(&state) % 2) {
			CHECK(!lath_space_alloc(space, 1, 0, 0, &key[n]));
			CHECK(key[n] < KEPT_AT || key[n] >= KEPT_AT + KEPT);
			n++;
		} else if (n) {
			CHECK(!lath_space_free(space, key[--n], 1));
		}
		if (trims && random_number(&state) % 1000 == 0)
			lath_space_trim(space);
		__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	}
	while (n)
		CHECK(!lath_space_free(space, key[--n], 1));
	return NULL;
}

struct stream {
	uint8_t data[8192];
	size_t size, at;
};

static int write_stream(void *arg, const void *data, size_t size)
{
	struct stream *s = arg;

	CHECK(size <= sizeof(s->data) - s->size);
	memcpy(s->data + s->size, data, size);
	s->size += size;
	return 0;
}

static int64_t read_stream(void *arg, void *data, size_t size)
{
	struct stream *s = arg;

	CHECK(size <= s->size - s->at);
	memcpy(data, s->data + s->at, size);
	s->at += size;
	return (int64_t)size;
}

/* Returns the number of units in a saved copy of the space. */
static uint64_t count_saved(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct stream stream = { .size = 0 };
	struct lath_space_stats stats;
	struct lath_space *copy;
	char report[100];
	int ret;

	CHECK(!lath_space_save(space, write_stream, &stream));
	CHECK(!lath_space_create(&copy, &config));
	ret = lath_space_load(copy, read_stream, &stream, 0, report, sizeof(report));
	if (ret)
		fprintf(stderr, "load: %d, %s\n", ret, report);
	CHECK(!ret);
	lath_space_get_stats(copy, &stats);
	lath_space_destroy(copy);
	return stats.allocated;
}

/* Nothing free for long is in a run: an arena is read at one moment, when the others hold no more
 * than they may. What is kept is in a run, and in no free one. */
static void observe(unsigned long rounds)
{
	struct lath_space_stats stats;
	struct lath_item run;
	uint64_t from, seen;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		let_work(i % 16 ? 0 : 100);
		for (from = seen = 0; !lath_space_next(space, from, &run);
		     from = run.key + run.size) {
			CHECK(run.size <= THREADS * HELD + KEPT && run.key >= from);
			if (run.key <= KEPT_AT && run.key + run.size >= KEPT_AT + KEPT)
				seen = 1;
		}
		CHECK(seen);
		for (from = seen = 0; !lath_space_next_free(space, from, &run);
		     from = run.key + run.size, seen++)
			CHECK(run.key + run.size <= KEPT_AT || run.key >= KEPT_AT + KEPT);
		CHECK(seen && from == UNITS);
		seen = count_saved();
		lath_space_get_stats(space, &stats);
		CHECK(trims || stats.arenas <= 1); /* so it was one moment for all arenas */
		CHECK(trims || (seen >= KEPT && seen <= THREADS * HELD + KEPT));
	}
}

static void enumeration(unsigned long rounds, bool with_trims)
{
	pthread_t thread[THREADS];
	struct lath_space_stats stats;
	unsigned int i;
	uint64_t key;

	trims = with_trims;
	open_space(UNITS);
	CHECK(!lath_space_reserve(space, KEPT_AT, KEPT, 0));
	CHECK(!lath_space_alloc(space, 1, 0, 0, &key)); /* one arena will do */
	CHECK(!lath_space_free(space, key, 1));
	stop = false;
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, hold_few, (void *)(uintptr_t)(i + 1)));
	observe(rounds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	lath_space_get_stats(space, &stats);
	CHECK(stats.allocated == KEPT && stats.free == UNITS - KEPT && !stats.bad_frees);
	CHECK(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* ---- segments ---- */

#define SEGMENTS 3
#define LENGTH (2u * 4096u + 100u)
#define MANY 300u
#define LIMIT 2000u

static uint8_t mark[SEGMENTS * LENGTH];
static uint32_t closed[SEGMENTS]; /* odd: the segment at this place is drained */

struct worker {
	uint64_t state;
	unsigned long served;
	size_t count;
	struct held {
		uint64_t key, units;
	} held[MANY];
};

static void set_marks(uint64_t key, uint64_t units, uint8_t to)
{
	CHECK(key + units <= SEGMENTS * LENGTH && key / LENGTH == (key + units - 1) / LENGTH);
	for (; units; units--, key++)
		CHECK(__atomic_exchange_n(&mark[key], to, __ATOMIC_RELAXED) != to);
}

static void give(struct worker *w, size_t i)
{
	struct held held = w->held[i];

	w->held[i] = w->held[--w->count];
	set_marks(held.key, held.units, 0);
	CHECK(!lath_space_free(space, held.key, held.units));
}

static void take(struct worker *w)
{
	uint64_t units = random_number(&w->state) % (random_number(&w->state) % 20 ? 20 : 1500) + 1;
	uint64_t key = 0, segments = random_number(&w->state) % 8,
		 r = random_number(&w->state) % 10;
	uint32_t before[SEGMENTS], was;
	unsigned int i;
	int ret;

	for (i = 0; i < SEGMENTS; i++)
		before[i] = __atomic_load_n(&closed[i], __ATOMIC_ACQUIRE);

	if (r == 0) {
		key = random_number(&w->state) % (SEGMENTS * LENGTH);
		ret = lath_space_reserve(space, key, units, 0);
		CHECK(!ret || ret == -EBUSY || ret == -EINVAL || ret == -ENOSPC);
	} else {
		ret = r == 1 ? lath_space_alloc(space, units, 0, 0, &key)
			     : lath_space_alloc_in(space, segments, units, 0, 0, &key);
		CHECK(!ret || ret == -ENOSPC);
	}
	if (ret)
		return;
	was = before[key / LENGTH];
	CHECK(!(was & 1) || __atomic_load_n(&closed[key / LENGTH], __ATOMIC_ACQUIRE) != was);
	set_marks(key, units, 1);
	w->served++;
	w->held[w->count++] = (struct held){ key, units };
}

/* Frees what lies in a segment that is drained. */
static void leave(struct worker *w)
{
	struct lath_space_segment segment;
	size_t i;

	for (i = w->count; i-- > 0;) {
		int number = lath_space_segment_of(space, w->held[i].key);

		CHECK(number >= 0); /* what is allocated cannot be removed */
		CHECK(!lath_space_segment_stats(space, (unsigned int)number, &segment));
		CHECK(w->held[i].key >= segment.low && w->held[i].key < segment.high);
		if (segment.draining)
			give(w, i);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		if (w->count < MANY && random_number(&w->state) % 100 < 52)
			take(w);
		else if (w->count)
			give(w, random_number(&w->state) % w->count);
		if (i % 64 == 0)
			leave(w);
		__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	}
	while (w->count)
		give(w, 0);
	return NULL;
}

static void change(unsigned long rounds)
{
	struct lath_space_segment segment;
	uint64_t state = 5;

	while (rounds--) {
		unsigned int n = random_number(&state) % SEGMENTS;
		int ret;

		let_work(500);
		CHECK(!lath_space_segment_stats(space, n, &segment));
		if (rounds % 3 == 0) {
			CHECK(!lath_space_limit_segment(space, n, segment.limit ? 0 : LIMIT));
			continue;
		}
		CHECK(!lath_space_drain_segment(space, n, 1));
		__atomic_fetch_add(&closed[segment.low / LENGTH], 1, __ATOMIC_RELEASE);
		let_work(100);
		if (rounds % 3 == 1) {
			__atomic_fetch_add(&closed[segment.low / LENGTH], 1, __ATOMIC_RELEASE);
			CHECK(!lath_space_drain_segment(space, n, 0));
			continue;
		}
		while ((ret = lath_space_remove_segment(space, n)) == -EBUSY)
			let_work(10);
		CHECK(!ret && !memchr(&mark[segment.low], 1, LENGTH));
		__atomic_fetch_add(&closed[segment.low / LENGTH], 1, __ATOMIC_RELEASE);
		CHECK(lath_space_add_segment(space, segment.low, LENGTH, rounds % 2 ? LIMIT : 0) ==
		      (int)n);
	}
}

static void segments(unsigned long rounds)
{
	static struct worker w[THREADS];
	pthread_t thread[THREADS];
	struct lath_space_stats stats;
	unsigned long served = 0;
	unsigned int i;

	open_space(LENGTH);
	for (i = 1; i < SEGMENTS; i++)
		CHECK(lath_space_add_segment(space, i * LENGTH, LENGTH, 0) == (int)i);
	stop = false;
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .state = 3 + i };
		CHECK(!pthread_create(&thread[i], NULL, work, &w[i]));
	}
	change(rounds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(thread[i], NULL));
		served += w[i].served;
	}
	printf("flags %u: %lu served\n", flags, served);
	lath_space_trim(space);
	lath_space_get_stats(space, &stats);
	CHECK(!stats.allocated && !stats.cached && !stats.arenas && !stats.ranges);
	CHECK(stats.free == SEGMENTS * LENGTH && !stats.bad_frees);
	CHECK(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* The limit holds at every moment. */
static void *fill(void *arg)
{
	struct lath_space_segment segment;
	uint64_t key;
	int i;

	(void)arg;
	for (i = 0; i < 2000; i++) {
		if (!lath_space_alloc(space, 3, 0, 0, &key) && i % 2)
			CHECK(!lath_space_free(space, key, 3));
		CHECK(!lath_space_segment_stats(space, 0, &segment));
		CHECK(segment.allocated <= segment.limit + (THREADS + 1) * 3);
	}
	return NULL;
}

static void limit(void)
{
	struct lath_space_segment segment;
	pthread_t thread[THREADS];
	unsigned int i;

	open_space(UNITS);
	CHECK(!lath_space_limit_segment(space, 0, LIMIT));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, fill, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	CHECK(!lath_space_segment_stats(space, 0, &segment));
	CHECK(segment.allocated <= LIMIT && segment.allocated > LIMIT - 3);
	lath_space_destroy(space);
}

int main(int argc, char **argv)
{
	static const unsigned int forms[] = { 0,
					      LATH_SPACE_NO_MAGAZINES,
					      LATH_SPACE_OWNERS,
					      LATH_SPACE_NO_ARENAS,
					      LATH_SPACE_SPREAD,
					      LATH_SPACE_FILL };
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100 / LATH_PART;
	size_t i;

	if (getenv("LATH_LONG"))
		rounds *= 20;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		flags = forms[i];
		enumeration(rounds, false);
		enumeration(rounds, true);
		segments(rounds);
		limit();
	}
	return 0;
}
