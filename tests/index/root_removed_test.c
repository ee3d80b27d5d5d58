/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * root_removed_test.c - the tree loses levels while an insert is about to add one: its node was
 * merged, and a root must not be put above a level that is gone. With nodes of four entries.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lathwork/index.h"

extern void (*lath_delay_hook)(const char *point);

static struct lath_index list;
static unsigned int roots; /* added so far; each one goes through the point */
static unsigned int armed; /* the one at which the tree is emptied */
static unsigned int lost;  /* levels */

static unsigned int levels(void)
{
	struct lath_index_stats stats;

	lath_index_get_stats(&list, &stats);
	return (unsigned int)stats.levels;
}

static void disturb(const char *point)
{
	struct lath_item item = { 0, 1, 0 };
	unsigned int before;
	uint64_t cursor = 0;

	if (strcmp(point, "a root is to be added, root_lock not yet taken") != 0 ||
	    ++roots != armed)
		return;
	/* another insert adds the level, so that the nodes below it can be merged */
	for (item.key = 5000; item.key < 5200; item.key++)
		assert(!lath_index_insert_item(&list, &item, NULL));
	before = levels();
	lath_index_erase_range(&list, 0, 1ull << 62, NULL, NULL);
	do
		lath_index_trim(&list, 100, &cursor);
	while (cursor);
	lost = before - levels();
}

static void run(unsigned int flags, unsigned int at, uint64_t step)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item item = { 0, 1, 0 };
	char report[200] = "";
	uint64_t i;

	config.flags = flags;
	assert(!lath_index_init(&list, &config));
	armed = at;
	roots = lost = 0;
	lath_delay_hook = disturb;
	for (i = 0; i < 3000; i++) {
		item.key = i * step % 4096;
		item.value = i;
		assert(!lath_index_insert_item(&list, &item, NULL));
		if (at && roots >= at) {
			armed = 0;
			if (lath_index_verify(&list, 6, report, sizeof(report)))
				fprintf(stderr, "%s\n", report);
			assert(!*report);
			at = 0;
		}
	}
	assert(!at); /* there were as many roots */
	assert(!lath_index_verify(&list, 6, NULL, 0));
	lath_delay_hook = NULL;
	lath_index_fini(&list, NULL, NULL);
	lath_rcu_auto.drain();
}

int main(void)
{
	unsigned int at, most = 0;

	for (at = 1; at < 5; at++) {
		run(0, at, 1);
		run(LATH_NODE_EACH, at, 1);
		run(0, at, 1365);
		most = lost > most ? lost : most;
	}
	printf("%u levels lost at once\n", most);
	return most < 2; /* or it was not tried */
}
