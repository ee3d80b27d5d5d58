/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that allocate from one list at the same time.
 *
 * In the common part of the space every unit has a mark that an allocation sets and a free clears:
 * two owners of one unit meet there at once. Each thread also has its own stretches, between
 * those of the others, so that their nodes are shared but nobody else takes or frees in them: there
 * an oracle knows every answer, and a hole that is there and not found is a fault. Which of several
 * is found is the policy's choice as the search met them (lathwork/hole.h): now and then, while
 * neighbours are moved, another one than the oracle's. threads_test [rounds]; LATH_LONG=1: fifty
 * times more.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/oracle.h"
#include "base/random.h"

/* Nodes that a search for the best fit looks at before the list has an index by length. */
extern uint64_t lath_lengths_least;

#define THREADS 4
#define COMMON 3000u /* units from 0 on */
#define STRETCH \
	64u /* units; stretch s of thread t begins at COMMON + (s * THREADS + t) * STRETCH */
#define STRETCHES 12u
#define HELD 600u

static struct lath_index list;
static unsigned long rounds = 6000;
static unsigned long served, refused, answers, others;
static uint8_t mark[COMMON];

struct worker {
	unsigned int id;
	uint64_t state;
	struct lath_item held[HELD];
	size_t count;
	/* what it holds in its stretches; all else is taken as far as it knows */
	struct lath_item own_items[8192];
	struct oracle own;
};

static struct lath_hole_request some_request(struct worker *w, uint64_t low, uint64_t high)
{
	struct lath_hole_request want = { .size = random_number(&w->state) % 12 + 1,
					  .low = low,
					  .high = high };

	if (random_number(&w->state) % 8 == 0)
		want.size = random_number(&w->state) % 60 + 1;
	if (random_number(&w->state) % 2)
		want.align = 1ull << random_number(&w->state) % 6;
	want.policy = (enum lath_hole_policy)(random_number(&w->state) % 5); /* all but EXACT */
	want.hint = low + random_number(&w->state) % (high - low);
	if (random_number(&w->state) % 4 == 0)
		want.below = low + (high - low) / 2;
	return want;
}

static void claim(const struct lath_item *item)
{
	uint64_t i;

	for (i = item->key; i < item->key + item->size; i++)
		if (__atomic_exchange_n(&mark[i], 1, __ATOMIC_RELAXED))
			FAULT("unit %" PRIu64 " has two owners\n", i);
}

static void free_one(struct worker *w)
{
	size_t i = random_number(&w->state) % w->count;
	struct lath_item item = w->held[i], old;
	uint64_t unit;

	w->held[i] = w->held[--w->count];
	for (unit = item.key; unit < item.key + item.size; unit++)
		__atomic_store_n(&mark[unit], 0, __ATOMIC_RELAXED);
	if (lath_index_erase_item(&list, item.key, &old) || old.size != item.size ||
	    old.value != item.value)
		FAULT("what was at %" PRIu64 " is gone or another\n", item.key);
}

static void common_round(struct worker *w)
{
	struct lath_hole_request want = some_request(w, 0, COMMON);
	struct lath_item item = { 0, want.size, w->id + 1 };
	int ret;

	if (w->count == HELD || (w->count && random_number(&w->state) % 16 < 7)) {
		free_one(w);
		return;
	}
	ret = lath_index_insert_hole(&list, &want, item.value, &item.key);
	if (ret == -ENOSPC) {
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
		return;
	}
	if (ret) {
		FAULT("insert_hole said %d\n", ret);
		return;
	}
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
	if (item.key >= COMMON || item.size > COMMON - item.key ||
	    (want.align && item.key % want.align)) {
		FAULT("%" PRIu64 " is outside of the limits or not aligned\n", item.key);
		return;
	}
	claim(&item);
	w->held[w->count++] = item;
}

/* In its own stretch. */
static void judge(struct worker *w, const char *call, const struct lath_hole_request *want, int ret,
		  uint64_t key)
{
	uint64_t best = 0;
	int expected = oracle_find(&w->own, want, &best);

	if (ret != expected || (!ret && !oracle_serves(&w->own, want, key)))
		FAULT("%s in an own stretch: %d %" PRIu64 ", not %d %" PRIu64 "\n", call, ret, key,
		      expected, best);
	/* with an alignment BEST goes by the number of holes in other stretches, too */
	if (want->policy == LATH_HOLE_BEST && want->align > 1)
		return;
	__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
	if (!ret && !oracle_accepts(&w->own, want, key))
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
}

static void own_round(struct worker *w)
{
	uint64_t low = COMMON + (random_number(&w->state) % STRETCHES * THREADS + w->id) * STRETCH;
	struct lath_hole_request want = some_request(w, low, low + STRETCH);
	struct lath_item item = { 0, want.size, w->id + 1 };
	int ret;

	if (w->own.count && random_number(&w->state) % 16 < 6) {
		size_t i = random_number(&w->state) % w->own.count;

		if (lath_index_erase_item(&list, w->own.item[i].key, NULL))
			FAULT("own item %" PRIu64 " is gone\n", w->own.item[i].key);
		oracle_remove(&w->own, &w->own.item[i]);
		return;
	}
	if (random_number(&w->state) % 4 == 0) {
		ret = lath_index_find_hole(&list, &want, &item.key);
		judge(w, "find_hole", &want, ret, item.key);
		return;
	}
	ret = lath_index_insert_hole(&list, &want, item.value, &item.key);
	judge(w, "insert_hole", &want, ret, item.key);
	if (!ret)
		oracle_insert(&w->own, item);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	for (i = 0; i < rounds && !__atomic_load_n(&faults, __ATOMIC_RELAXED); i++) {
		common_round(w);
		own_round(w);
	}
	return NULL;
}

/* Alone again: what is not held is free, and freeing all leaves one hole. */
static void check_end(struct worker *workers)
{
	struct lath_hole_stats stats;
	char report[200] = "";
	uint64_t used = 0;
	size_t t, i;

	for (t = 0; t < THREADS; t++)
		for (i = 0; i < workers[t].count; i++)
			used += workers[t].held[i].size;
	if (lath_index_verify(&list, 6, report, sizeof(report)))
		FAULT("%s\n", report);
	if (lath_index_hole_stats(&list, 0, COMMON, 0, &stats) || stats.free != COMMON - used)
		FAULT("%" PRIu64 " units are free, not %" PRIu64 "\n", stats.free, COMMON - used);
	for (t = 0; t < THREADS; t++) {
		while (workers[t].count)
			free_one(&workers[t]);
		for (i = 0; i < workers[t].own.count; i++)
			lath_index_erase_item(&list, workers[t].own.item[i].key, NULL);
	}
	if (lath_index_count(&list) || lath_index_hole_stats(&list, 0, 1ull << 20, 0, &stats) ||
	    stats.holes != 1 || stats.largest != 1ull << 20)
		FAULT("all was freed, and it is not one hole\n");
}

int main(int argc, char **argv)
{
	struct lath_config config = LATH_CONFIG_INIT;
	static struct worker workers[THREADS];
	pthread_t threads[THREADS];
	unsigned int t;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (getenv("LATH_LONG"))
		rounds *= 50;
	config.flags = LATH_HOLES;
	lath_lengths_least = 8; /* it is made while all threads change the list */
	if (lath_index_init(&list, &config))
		return 1;
	for (t = 0; t < THREADS; t++) {
		workers[t].id = t;
		workers[t].own.item = workers[t].own_items;
		workers[t].state = t * 977 + 1;
		if (pthread_create(&threads[t], NULL, work, &workers[t]))
			return 1;
	}
	for (t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	check_end(workers);
	lath_index_fini(&list, NULL, NULL);
	if (others > 2 + answers / 1000)
		FAULT("%lu of %lu answers were not the policy's\n", others, answers);
	printf("hole threads_test: %lu served, %lu refused, %lu faults, %lu of %lu another one\n",
	       served, refused, faults, others, answers);
	return faults || !served || !refused;
}
