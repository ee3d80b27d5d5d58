/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ranks_threads_test.c - threads that change one index while others ask for ranks (base/mark.h).
 * An answer lies between the number that was there all the time and that which may have been (P6
 * of lathwork/index.h).
 */
#include <errno.h>
#include <stddef.h>

#include "lathwork/index.h"

#define MARKED 3000u
#include "base/mark.h"

static struct lath_index list;

static int change(size_t i, bool there)
{
	struct lath_item item = { i, 1, i };

	return there ? lath_index_insert_item(&list, &item, NULL)
		     : lath_index_erase_item(&list, i, NULL);
}

static void ask(struct view *view, uint64_t *state)
{
	uint64_t a = draw(state, MARKED), b = draw(state, MARKED), how = draw(state, 4);
	uint64_t first = a < b ? a : b, end = a < b ? b : a;
	struct lath_item found = { 0, 0, 0 };
	int64_t n = 0;
	int ret = 0;

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
		judge_count(view, "rank", n, 0, end);
	else if (how == 1 && end)
		judge_count(view, "count_range", n, first, end);
	else if (how == 2)
		judge_count(view, "count", n, 0, MARKED);
	else if ((ret && ret != -ENOENT) || found.value != found.key)
		FAULT("select said %d\n", ret);
	else
		judge_select(view, ret, a, found.key);
}

static void run(unsigned int flags, int argc, char **argv)
{
	struct lath_config config = LATH_CONFIG_INIT;
	char report[200];
	int64_t left = 0;

	config.flags = LATH_RANKS | flags;
	config.layout = LATH_POINTS;
	MUST(!lath_index_init(&list, &config));
	run_marked(600000, argc, argv);
	for (size_t i = 0; i < MARKED; i++) {
		if (lath_index_rank(&list, i) != left)
			FAULT("%" PRId64 " items should be below %zu\n", left, i);
		left += marks[i].there;
	}
	if (lath_index_verify(&list, 6, report, sizeof(report)))
		FAULT("%s\n", report);
	lath_index_fini(&list, NULL, NULL);
}

int main(int argc, char **argv)
{
	run(0, argc, argv);
	run(LATH_NODE_EACH, argc, argv);
	return judged();
}
