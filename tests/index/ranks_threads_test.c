/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ranks_threads_test.c - threads that change one index while others ask for ranks.
 *
 * Each key has a mark, which says since when its item is there or away, or that this is being
 * changed. A reader looks at all marks before and after a question. An item that was there all the
 * time must be counted, one that was away all the time must not, and any other may be: the answer
 * must lie between the two numbers (P6 of lathwork/index.h). Writers change single items and runs
 * of neighbours, so that leaves are split and merged. ranks_threads_test [rounds]; LATH_LONG=1:
 * twenty times more.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mark.h"
#include "base/must.h"
#include "base/random.h"
#include "lathwork/index.h"

#define WRITERS 2u
#define READERS 2u
#define OWNED 1500u /* keys of a writer: every second one, of every second one */
#define KEYS (WRITERS * OWNED)

static struct lath_index list;
static unsigned long rounds = 600000, answers, done;
static struct mark marks[KEYS];

static void set(uint64_t key, bool there)
{
	struct lath_item item = { key, 1, key };
	int ret;

	if (marks[key].there == there)
		return;
	begins(&marks[key]);
	ret = there ? lath_index_insert_item(&list, &item, NULL)
		    : lath_index_erase_item(&list, key, NULL);
	if (ret)
		FAULT("a change said %d\n", ret);
	ends(&marks[key], there);
}

static void *write_some(void *arg)
{
	uint64_t me = (uintptr_t)arg, state = me + 1;

	for (unsigned long r = 0; r < rounds; r++) {
		uint64_t at = draw(&state, OWNED), n = draw(&state, 100) ? 1 : draw(&state, 300);
		bool there = draw(&state, 2);

		for (; n && at < OWNED; n--, at++)
			set(at * WRITERS + me, there);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

struct view {
	bool steady[KEYS], there[KEYS];
	uint64_t since[KEYS];
	uint32_t sure[KEYS + 1], possible[KEYS + 1]; /* items with lower keys */
};

static void look_before(struct view *view)
{
	for (size_t k = 0; k < KEYS; k++)
		view->steady[k] = look(&marks[k], &view->there[k], &view->since[k]);
}

static void look_after(struct view *view)
{
	for (size_t k = 0; k < KEYS; k++) {
		uint64_t since;
		bool there, steady = look(&marks[k], &there, &since) && view->steady[k] &&
				     since == view->since[k];

		view->sure[k + 1] = view->sure[k] + (steady && there);
		view->possible[k + 1] = view->possible[k] + (!steady || there);
		view->steady[k] = steady;
	}
}

/* `n` items of [first, end) were counted. */
static void judge(const struct view *view, const char *what, int64_t n, uint64_t first,
		  uint64_t end)
{
	int64_t least = view->sure[end] - view->sure[first];
	int64_t most = view->possible[end] - view->possible[first];

	__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
	if (n < least || n > most)
		FAULT("%s [%" PRIu64 ", %" PRIu64 "): %" PRId64 ", not from %" PRId64 " to %" PRId64
		      "\n",
		      what, first, end, n, least, most);
}

static void judge_select(const struct view *view, int ret, uint64_t rank,
			 const struct lath_item *found)
{
	if (ret) {
		if (ret != -ENOENT || view->sure[KEYS] > rank)
			FAULT("no item %" PRIu64 ": %d\n", rank, ret);
	} else if (found->key >= KEYS || found->value != found->key ||
		   (view->steady[found->key] && !view->there[found->key])) {
		FAULT("select found %" PRIu64 ", which was not there\n", found->key);
	} else {
		judge(view, "select", (int64_t)rank, 0, found->key);
	}
}

static void *ask(void *arg)
{
	struct view *view = calloc(1, sizeof(*view));
	uint64_t state = (uintptr_t)arg + 100;

	if (!view)
		abort();
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < WRITERS) {
		uint64_t a = draw(&state, KEYS), b = draw(&state, KEYS), how = draw(&state, 4);
		uint64_t first = a < b ? a : b, end = a < b ? b : a;
		struct lath_item found;
		int64_t n = 0;
		int ret = 0;

		look_before(view);
		if (how == 0)
			n = lath_index_rank(&list, end);
		else if (how == 1 && end)
			n = lath_index_count_range(&list, first, end - 1);
		else if (how == 2)
			n = (int64_t)lath_index_count(&list);
		else
			ret = lath_index_select(&list, a, &found);
		look_after(view);
		if (how == 0)
			judge(view, "rank", n, 0, end);
		else if (how == 1 && end)
			judge(view, "count_range", n, first, end);
		else if (how == 2)
			judge(view, "count", n, 0, KEYS);
		else
			judge_select(view, ret, a, &found);
	}
	free(view);
	return NULL;
}

static int run(unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;
	pthread_t thread[WRITERS + READERS];
	char report[200];
	int64_t left = 0;
	size_t i;

	config.flags = LATH_RANKS | flags;
	config.layout = LATH_POINTS;
	if (lath_index_init(&list, &config))
		return -1;
	done = 0;
	for (i = 0; i < KEYS; i++)
		ends(&marks[i], false);
	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&thread[i], NULL, i < WRITERS ? write_some : ask, (void *)i))
			return -1;
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < KEYS; i++) {
		if (lath_index_rank(&list, i) != left)
			FAULT("%" PRId64 " items should be below %zu\n", left, i);
		left += marks[i].there;
	}
	if (lath_index_verify(&list, 6, report, sizeof(report)))
		FAULT("%s\n", report);
	lath_index_fini(&list, NULL, NULL);
	return 0;
}

int main(int argc, char **argv)
{
#ifdef LATH_FEW_STEPS
	rounds /= 10;
#endif
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (getenv("LATH_LONG"))
		rounds *= 20;
	if (run(0) || run(LATH_NODE_EACH))
		return 1;
	printf("%lu answers judged, %lu faults\n", answers, faults);
	return faults || !answers;
}
