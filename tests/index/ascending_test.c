/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ascending_test.c - ascending keys fill their leaves wherever they come: behind all others, in
 * front of them, and in several regions in rotation, as where each thread or file has a region of
 * its own.
 */
#include <stdio.h>

#include "lathwork/index.h"
#include "tree/node/node.h"

#define KEYS 20000u
#define REGIONS 8u

static unsigned int faults;

static void add(struct lath_index *list, uint64_t region, uint64_t i)
{
	struct lath_item item = { (region << 40) + i * 16, 1, i };

	faults += lath_index_insert_item(list, &item, NULL) != 0;
}

static void check(struct lath_index *list, const char *what, uint64_t keys)
{
	struct lath_index_stats stats;
	char report[200] = "";

	lath_index_get_stats(list, &stats);
	if (lath_index_verify(list, 5, report, sizeof(report)) || lath_index_count(list) != keys ||
	    stats.leaves * (NODE_CAP - NODE_CAP / 16) > keys + REGIONS * 4 * NODE_CAP) {
		fprintf(stderr, "ascending_test: %s: %llu keys in %llu leaves of %d; %s\n", what,
			(unsigned long long)keys, (unsigned long long)stats.leaves, NODE_CAP,
			report);
		faults++;
	}
}

static void streams(unsigned int flags, enum lath_layout layout)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index list;
	uint64_t region, i;

	config.layout = layout;
	config.flags = flags;
	if (lath_index_init(&list, &config)) {
		faults++;
		return;
	}
	for (region = 2 * REGIONS; region > REGIONS; region--)
		for (i = 0; i < KEYS; i++)
			add(&list, region, i);
	check(&list, "each in front of the one before", REGIONS * KEYS);
	for (i = 0; i < KEYS; i++)
		for (region = 0; region < REGIONS; region++)
			add(&list, region, i);
	check(&list, "in rotation", 2 * REGIONS * KEYS);
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	streams(0, LATH_POINTS);
	streams(LATH_NODE_EACH, LATH_RANGES);
	streams(LATH_HOLES, LATH_RANGES);
	if (!faults)
		printf("ascending_test: leaves are full\n");
	return faults != 0;
}
