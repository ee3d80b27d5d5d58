/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - an allocator of ranges against a mark a unit.
 *
 * Every allocation marks its units and every free takes the marks off: two owners of one unit meet
 * there. When all is free again, the statistics must say so, and the whole space must be one hole.
 * Each form of the space (arenas and magazines, arenas, owners, index alone) plays tapes of one
 * thread, where a wrong free must be refused, and of several. threads_test [rounds]; LATH_LONG=1:
 * twenty times more.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/space.h"

#define UNIT 4096ull
#define LOW UNIT
#define UNITS (5u * 4096u + 777u) /* arenas at both ends do not fit */
#define BELOW_UNITS (3u * 4096u)
#define HELD 3000u

#define CHECK(what)                                                                           \
	do {                                                                                  \
		if (!(what)) {                                                                \
			fprintf(stderr, "space threads_test.c:%d: %s (flags %u)\n", __LINE__, \
				#what, flags);                                                \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static uint8_t mark[UNITS];
static unsigned int flags;
static struct lath_space *space;

struct held {
	uint64_t key, units;
};

struct worker {
	uint64_t state;
	size_t count;
	unsigned long rounds, served, refused;
	struct held held[HELD];
};

static void set_marks(uint64_t key, uint64_t units, uint8_t to)
{
	uint64_t at = key / UNIT;

	CHECK(key % UNIT == 0 && key >= LOW && at + units <= UNITS);
	for (; units; units--, at++)
		CHECK(__atomic_exchange_n(&mark[at], to, __ATOMIC_RELAXED) != to);
}

static void take(struct worker *w)
{
	uint64_t units = 1ull << random_number(&w->state) % 9, align = 0, key = 0,
		 r = random_number(&w->state) % 100;
	struct lath_hole_request want = { 0 };
	int ret;

	if (w->count == HELD)
		return;
	if (r < 40)
		units = random_number(&w->state) % 300 + 1;
	else if (r < 42)
		units = random_number(&w->state) % 6000 + 1;
	if (random_number(&w->state) % 3)
		for (align = UNIT; align < units * UNIT;)
			align *= 2;
	if (r < 92) {
		ret = lath_space_alloc(space, units * UNIT, align, w->state, &key);
	} else if (r < 96) {
		want.size = units * UNIT;
		want.align = align;
		want.low = random_number(&w->state) % UNITS * UNIT;
		want.policy = (enum lath_hole_policy)(random_number(&w->state) % 5);
		want.hint = want.low;
		ret = lath_space_alloc_request(space, &want, w->state, &key);
		CHECK(ret || key >= want.low);
	} else {
		key = (random_number(&w->state) % (UNITS - 1) + 1) * UNIT;
		if (key / UNIT + units > UNITS)
			return;
		ret = lath_space_reserve(space, key, units * UNIT, w->state);
		CHECK(!ret || ret == -EBUSY);
		ret = ret ? -ENOSPC : 0;
	}
	CHECK(!ret || ret == -ENOSPC);
	if (ret) {
		w->refused++;
		return;
	}
	CHECK(!align || r >= 96 || key % align == 0);
	w->served++;
	set_marks(key, units, 1);
	w->held[w->count++] = (struct held){ key, units };
}

static void give(struct worker *w)
{
	size_t i;
	uint64_t part;

	if (!w->count)
		return;
	i = random_number(&w->state) % w->count;
	part = w->held[i].units;
	if (part > 1 && random_number(&w->state) % 10 == 0) /* the front of it first */
		part = random_number(&w->state) % (part - 1) + 1;
	set_marks(w->held[i].key, part, 0);
	CHECK(!lath_space_free(space, w->held[i].key, part * UNIT));
	w->held[i].key += part * UNIT;
	w->held[i].units -= part;
	if (!w->held[i].units)
		w->held[i] = w->held[--w->count];
}

static void give_all(struct worker *w)
{
	while (w->count)
		give(w);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	for (i = 0; i < w->rounds; i++) {
		bool filling = i / 3000 % 3 != 2;

		if (random_number(&w->state) % 100 < (filling ? 62 : 35))
			take(w);
		else
			give(w);
	}
	return NULL;
}

static void open_space(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;

	config.low = LOW;
	config.high = UNITS * UNIT;
	config.unit = UNIT;
	config.below = BELOW_UNITS * UNIT;
	config.flags = flags;
	CHECK(!lath_space_create(&space, &config));
}

static void close_space(void)
{
	struct lath_space_stats stats;
	char text[200];

	CHECK(!lath_space_verify(space, text, sizeof(text)));
	lath_space_trim(space);
	lath_space_get_stats(space, &stats);
	CHECK(!stats.allocated && !stats.cached && !stats.arenas && !stats.ranges &&
	      !stats.bad_frees);
	lath_space_destroy(space);
}

static void one_thread(unsigned long rounds)
{
	static struct worker w;
	struct lath_space_stats stats;
	struct lath_item item;
	uint64_t units = 0, i, key = 0;

	w = (struct worker){ .state = 7, .rounds = rounds };
	open_space();
	for (i = 0; i < 8; i++) {
		work(&w);
		lath_space_get_stats(space, &stats);
		units = 0;
		for (size_t j = 0; j < w.count; j++)
			units += w.held[j].units;
		CHECK(stats.allocated == units * UNIT);
		for (size_t j = 0;
		     flags & (LATH_SPACE_OWNERS | LATH_SPACE_NO_ARENAS) && j < w.count; j++)
			CHECK(!lath_space_owner(space, w.held[j].key, &item) &&
			      item.key <= w.held[j].key);
	}
	give_all(&w);
	CHECK(lath_space_alloc(space, 0, 0, 0, &key) == -EINVAL);
	CHECK(lath_space_alloc(space, UNIT, 3, 0, &key) == -EINVAL);
	CHECK(lath_space_alloc(space, UNIT + 1, 0, 0, &key) == -EINVAL);
	CHECK(lath_space_free(space, 3 * UNIT, 3 * UNIT) == -EINVAL);
	CHECK(lath_space_reserve(space, 0, UNIT, 0) == -EINVAL);
	printf("flags %u: %lu served, %lu refused\n", flags, w.served, w.refused);
	close_space();
}

#define THREADS 4

static void several_threads(unsigned long rounds)
{
	static struct worker w[THREADS];
	pthread_t thread[THREADS];
	unsigned int i;

	open_space();
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .state = 11 + i, .rounds = rounds };
		CHECK(!pthread_create(&thread[i], NULL, work, &w[i]));
	}
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 0; i < THREADS; i++) /* what one thread took another frees */
		give_all(&w[i]);
	close_space();
}

int main(int argc, char **argv)
{
	static const unsigned int forms[] = { 0, LATH_SPACE_NO_MAGAZINES, LATH_SPACE_OWNERS,
					      LATH_SPACE_NO_ARENAS };
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 4000;
	size_t i;

	if (getenv("LATH_LONG"))
		rounds *= 20;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		flags = forms[i];
		one_thread(rounds);
		several_threads(rounds);
	}
	return 0;
}
