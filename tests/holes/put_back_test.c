/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * put_back_test.c - a request puts back the item that its thread erased last (lath_gap_undo), while
 * another thread changes the tree.
 *
 * Nodes of four entries, two and more levels above the leaves, and lists without memory for more
 * nodes, in which some miss their downlinks. Each round the thread makes itself a bound by a
 * request, erases an item below it, and requests its size again. After the request has found that
 * its bound holds, and before it locks what the erase noted, a second thread makes some calls, at a
 * delay point. Then no summary may promise less than there is. Where the second thread did nothing,
 * the request must have got a place that the erase made. When RCU gives nodes back differs from run
 * to run, so a seed may have to be played more than once.
 *
 * put_back_test [lists [first seed]]; LATH_LONG=1: twenty times more lists.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/hole.h"
#include "base/failing.h"
#include "tree/watch/bound.h"

extern void (*lath_delay_hook)(const char *point);

#define ROUNDS 300u /* per list */
#define MOST_SIZE 4u

static struct lath_index list;
static struct failing failing;
static uint64_t state, universe;
static uint64_t at;	 /* the item of the round */
static bool window;	 /* the other thread is wanted at the next delay point */
static bool interrupted; /* it has been there */
static unsigned long windows, noted[GAP_UNDO_LEVELS + 1], faults, unposted;
static sem_t go, came;
static bool over;

static void die(const char *what, const char *how)
{
	fprintf(stderr, "put_back_test: %s (%s)\n", what, how);
	exit(1);
}

#define below(n) draw(&state, n)

/* Mostly near the item of the round. */
static uint64_t some_key(void)
{
	uint64_t reach = below(4) ? 24 : 64;

	if (!below(8))
		return below(universe);
	return (at + universe + below(reach) - reach / 2) % universe;
}

static void change(void)
{
	struct lath_item item = { some_key(), 1 + below(MOST_SIZE), 1 };

	switch (below(8)) {
	case 0:
	case 1:
	case 2:
		lath_index_insert_item(&list, &item, NULL);
		break;
	case 3:
		lath_index_resize(&list, item.key, item.size);
		break;
	case 4:
		lath_index_erase_range(&list, item.key, 1 + below(8), NULL, NULL);
		break;
	default:
		lath_index_erase_item_at(&list, item.key, NULL);
	}
}

static void *other_thread(void *arg)
{
	unsigned int n;

	for (;;) {
		sem_wait(&go);
		if (over)
			return arg;
		for (n = 1 + (unsigned int)below(3); n; n--)
			change();
		sem_post(&came);
	}
}

static void others(const char *point)
{
	if (!window || strcmp(point, "insert: back to an entry, not yet locked"))
		return;
	window = false;
	windows++;
	interrupted = below(2);
	if (interrupted) {
		sem_post(&go);
		sem_wait(&came);
	}
}

static void verify(uint64_t seed, unsigned int round)
{
	char report[200] = "", where[80];

	if (!lath_index_verify(&list, 5, report, sizeof(report)))
		return;
	snprintf(where, sizeof(where), "seed %llu, round %u", (unsigned long long)seed, round);
	die(report, where);
}

/* An item that is there, from a key at random on. */
static bool some_item(struct lath_item *item)
{
	return !lath_index_ceiling_item(&list, below(universe), item) ||
	       !lath_index_ceiling_item(&list, 0, item);
}

static void one_round(void)
{
	struct lath_hole_request want = { .size = 1 };
	struct lath_item item;
	uint64_t key;
	int ret;

	if (!some_item(&item) || item.size > MOST_SIZE)
		return;
	want.size = item.size;
	want.low = below(2) ? 0 : item.key - (item.key < 40 ? item.key : 40);
	want.align = (item.key & 1) ? 1 : 2;
	/* a bound behind the item says that no place is in front of it; else fill that */
	if (lath_index_find_hole(&list, &want, &key) || key <= item.key) {
		lath_index_insert_hole(&list, &want, 1, &key);
		return;
	}
	at = item.key;
	if (lath_index_erase_item(&list, item.key, NULL))
		die("an item has gone", "erase");
	window = lath_bound.undo.leaf;
	if (window)
		noted[lath_bound.undo.levels]++;
	interrupted = false;
	ret = lath_index_insert_hole(&list, &want, 1, &key);
	if (!interrupted && ret != -ENOMEM)
		faults += ret || key > item.key || item.key - key >= item.size;
	window = false;
}

static void one_list(uint64_t seed)
{
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item item = { 0, 1, 1 };
	struct lath_index_stats stats;
	unsigned int round;

	state = seed * 0x9e3779b97f4a7c15ull;
	universe = 64 + below(200);
	config.flags = LATH_HOLES;
	config.allocator = &allocator;
	if (lath_index_init(&list, &config))
		die("no memory", "init");
	for (; item.key < universe; item.key += item.size + !below(6)) {
		item.size = 1 + below(MOST_SIZE);
		lath_index_insert_item(&list, &item, NULL);
	}
	/* no more chunks: a split gets what others freed, for its leaf and often not for the parent
	 */
	failing.fail_at = seed % 2 ? failing.calls + 1 : 0;
	failing.from_then_on = true;
	for (round = 0; round < ROUNDS; round++) {
		one_round();
		verify(seed, round);
	}
	failing.fail_at = 0;
	lath_index_get_stats(&list, &stats);
	unposted += stats.no_downlink;
	lath_index_fini(&list, NULL, NULL);
}

int main(int argc, char **argv)
{
	unsigned long lists = argc > 1 ? strtoul(argv[1], NULL, 0) : 500;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	pthread_t thread;
	unsigned long i;

	if (getenv("LATH_LONG"))
		lists *= 20;
	sem_init(&go, 0, 0);
	sem_init(&came, 0, 0);
	if (pthread_create(&thread, NULL, other_thread, NULL))
		die("no thread", "create");
	lath_delay_hook = others;
	for (i = 0; i < lists; i++)
		one_list(first + i);
	over = true;
	sem_post(&go);
	pthread_join(thread, NULL);
	printf("put_back_test: %lu lists, %lu times an item was about to be put back; its erase "
	       "raised "
	       "the leaf "
	       "and %lu, %lu, %lu times 0, 1, 2 levels above; %lu times no memory, %lu nodes "
	       "without a downlink in the end; %lu faults\n",
	       i, windows, noted[0], noted[1], noted[2], failing.failures, unposted, faults);
	return faults || !windows || !noted[1] || !noted[2] || !failing.failures ||
	       failing.outstanding;
}
