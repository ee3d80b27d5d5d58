/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * verify_test.c - lath_intervals_verify sees what is wrong with a set: one fault of each kind. And
 * what init refuses, and lists at the end of the keys.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "set/interval/set.h"

static struct lath_intervals set;
static char report[200];

static void fill(void)
{
	struct lath_interval i = { 1000, 1100, 0 };

	assert(!lath_intervals_init(&set, LATH_HALF_OPEN, NULL));
	for (; i.value < 9; i.value++) /* two in the trees, seven in a list */
		assert(!lath_intervals_insert(&set, &i));
	assert(!lath_intervals_verify(&set, report, sizeof(report)));
}

static void expect(int number)
{
	int ret = lath_intervals_verify(&set, report, sizeof(report));

	printf("%d: %s\n", ret, report);
	assert(ret == number && *report);
	assert(lath_intervals_verify(&set, NULL, 0) == number);
}

static void check_refusals(void)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.flags = LATH_HOLES;
	assert(lath_intervals_init(&set, LATH_CLOSED, &config) == -EINVAL);
	config.flags = LATH_HUGE_PAGES | LATH_SMALL_PAGES;
	assert(lath_intervals_init(&set, LATH_CLOSED, &config) == -EINVAL);
	config.flags = 0;
	config.layout = LATH_POINTS;
	assert(lath_intervals_init(&set, LATH_CLOSED, &config) == -EINVAL);
	config.layout = LATH_RANGES;
	config.size = 1;
	assert(lath_intervals_init(&set, LATH_CLOSED, &config) == -EINVAL);
	assert(lath_intervals_init((struct lath_intervals *)(void *)((char *)&set + 8), LATH_CLOSED,
				   NULL) == -EINVAL);
}

/* As many lists as a scan reads at a time, the last of them at the last key of all. */
static void lists_to_the_end(void)
{
	uint64_t key, i;

	assert(!lath_intervals_init(&set, LATH_CLOSED, NULL));
	for (key = ~0ull - 7; key; key++)
		for (i = 0; i < 5; i++) {
			struct lath_interval one = { key, key, i };

			assert(!lath_intervals_insert(&set, &one));
		}
	assert(lath_intervals_count(&set) == 40);
	assert(lath_intervals_count_overlap(&set, ~0ull, ~0ull) == 5);
	assert(!lath_intervals_verify(&set, report, sizeof(report)));
	lath_intervals_fini(&set, NULL, NULL);
}

int main(void)
{
	struct length_class *class = &set_of(&set)->class[class_of(99)];
	struct lath_item item = { 1, 0, 0 }, entry;

	lists_to_the_end();
	check_refusals();
	fill();
	class->longest = 98;
	expect(21);
	class->longest = 99;
	assert(!lath_wide_insert(tree_of(class->place[1]), &item)); /* a span of another class */
	expect(21);
	assert(!lath_wide_erase(tree_of(class->place[1]), &item));
	assert(!lath_intervals_verify(&set, report, sizeof(report)));
	*report = 0;
	tree_of(class->place[0])->root->low = 1;
	expect(2);
	tree_of(class->place[0])->root->low = 0;
	assert(!lath_index_lookup_item(class->place[2], 1000, &entry));
	/* the first element's span: 98 words behind nothing else of the list is as large */
	for (uint64_t *word = (uint64_t *)(uintptr_t)entry.value;; word++)
		if (*word == 99) {
			*word = 1;
			break;
		}
	expect(22);
	lath_intervals_fini(&set, NULL, NULL);
	return 0;
}
