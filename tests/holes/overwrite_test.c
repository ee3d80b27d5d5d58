/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * overwrite_test.c - threads that store ranges over many leaves, in a list with holes.
 *
 * A stored range leaves half-dead nodes behind, and separators far to the right of their children.
 * So a thread that sums up a region walks over many nodes that belong to other parents, while those
 * are merged, retired and used again. Now and then such a thread waits between two nodes. At the
 * end all invariants must hold. overwrite_test [lists]; LATH_LONG=1: fifty times more.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/hole.h"

#define THREADS 8
#define BATCH 8
#define CALLS 400  /* of a thread, in one list */
#define KEYS 4000u /* of 16 units */

#ifdef LATH_FEW_STEPS
#define LISTS 2ul
#else
#define LISTS 8ul
#endif

extern void (*lath_delay_hook)(const char *point);

static struct lath_index list;
static _Thread_local uint64_t state;

#define below(n) draw(&state, n)

static void wait_here(const char *point)
{
	static _Thread_local unsigned int waits = 200;

	if (waits && !strcmp(point, "summary read, right sibling not yet") && !below(500)) {
		waits--;
		poll(NULL, 0, 2);
	}
}

static void change(uint64_t value)
{
	struct lath_item item = { below(KEYS) * 16, 4, value }, items[BATCH];
	struct lath_hole_request want = { .size = 4, .align = 4 };
	size_t i;

	switch (below(16)) {
	case 0:
		item.size = 4000;
		lath_index_store_range(&list, &item, NULL, NULL);
		break;
	case 1:
		lath_index_erase_range(&list, item.key, 2000, NULL, NULL);
		break;
	case 2:
	case 3:
		lath_index_erase_item(&list, item.key, NULL);
		break;
	case 4:
		lath_index_insert_hole(&list, &want, value, &item.key);
		break;
	default:
		for (i = 0; i < BATCH; i++)
			items[i] = (struct lath_item){ below(KEYS) * 16, 4, value };
		lath_index_insert_batch(&list, BATCH, items, NULL);
	}
}

static void *changer(void *arg)
{
	unsigned long i;

	state = (uint64_t)(uintptr_t)arg;
	for (i = 0; i < CALLS; i++)
		change(i);
	return NULL;
}

static int one_list(uint64_t seed)
{
	struct lath_config config = LATH_CONFIG_INIT;
	pthread_t thread[THREADS];
	char text[200] = "";
	unsigned int t;
	int rule;

	config.flags = LATH_HOLES;
	if (lath_index_init(&list, &config))
		return 2;
	for (t = 0; t < THREADS; t++)
		if (pthread_create(&thread[t], NULL, changer,
				   (void *)(uintptr_t)(seed * THREADS + t)))
			return 2;
	for (t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	rule = lath_index_verify(&list, 5, text, sizeof(text));
	if (rule)
		fprintf(stderr, "overwrite_test: list %llu: rule %d: %s\n",
			(unsigned long long)seed, rule, text);
	lath_index_fini(&list, NULL, NULL);
	return rule ? 1 : 0;
}

int main(int argc, char **argv)
{
	unsigned long lists = argc > 1 ? strtoul(argv[1], NULL, 10) : LISTS, i;
	const char *all = getenv("LATH_LONG");
	int ret = 0;

	if (all && *all == '1')
		lists *= 50;
	lath_delay_hook = wait_here;
	for (i = 0; i < lists && !ret; i++)
		ret = one_list(i);
	return ret;
}
