/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * record.c - what doc/play.html shows: calls on a small index, and the index after each. make.py
 * compiles it with a library whose nodes have 8 entries.
 *
 * Prints for each call a line "step" with a JSON object, then the lines of LATH_DUMP_JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork.h"

#define SLOTS 60

static struct lath_index list;
static const char *part = "";

static void need(int right, const char *what)
{
	if (!right) {
		fprintf(stderr, "record: %s\n", what);
		exit(1);
	}
}

static void write_out(void *arg, const char *text)
{
	(void)arg;
	fputs(text, stdout);
}

/* The index after a call. looked: nodes that a hole search looked at */
static void step(const char *call, uint64_t key, uint64_t size, uint64_t align, const char *result,
		 uint64_t looked)
{
	struct lath_index_stats stats;
	char why[200];

	need(!lath_index_verify(&list, 6, why, sizeof(why)), why);
	lath_index_get_stats(&list, &stats);
	printf("step {\"part\":\"%s\",\"call\":\"%s\",\"key\":%" PRIu64 ",\"size\":%" PRIu64
	       ",\"align\":%" PRIu64 ",\"result\":\"%s\",\"looked\":%" PRIu64 ",\"splits\":%" PRIu64
	       ",\"merges\":%" PRIu64 "}\n",
	       part, call, key, size, align, result, looked, stats.splits, stats.merges);
	lath_index_dump(&list, LATH_DUMP_JSON, write_out, NULL);
}

static void insert(uint64_t key, uint64_t size)
{
	struct lath_item item = { key, size, key };
	int ret = lath_index_insert_item(&list, &item, NULL);

	need(!ret || ret == -EEXIST, "insert");
	step("insert", key, size, 0, ret ? "refused" : "done", 0);
}

static void erase(uint64_t key)
{
	struct lath_item old;

	need(!lath_index_erase_item(&list, key, &old), "erase");
	step("erase", key, old.size, 0, "done", 0);
}

static void lookup(uint64_t key)
{
	struct lath_item found;
	int ret = lath_index_lookup_item(&list, key, &found);

	step("lookup", key, 1, 0, ret ? "miss" : "hit", 0);
}

static void hole(const char *name, enum lath_hole_policy policy, uint64_t size, uint64_t align)
{
	struct lath_hole_request want = {
		.size = size, .align = align, .high = 10000, .policy = policy
	};
	struct lath_index_stats before, after;
	uint64_t key;

	lath_index_get_stats(&list, &before);
	need(!lath_index_insert_hole(&list, &want, 0, &key), "no hole");
	lath_index_get_stats(&list, &after);
	step(name, key, size, align, "done", after.hole_nodes - before.hole_nodes);
}

/* Each slot of 165 keys has its own range place and length. */
static uint64_t place(uint64_t slot)
{
	return slot * 165 + slot * 7 % 40;
}

static void insert_slots(void)
{
	uint64_t order[SLOTS], seed = 20, other, slot, i;

	for (i = 0; i < SLOTS; i++)
		order[i] = i;
	for (i = 0; i < SLOTS; i++) { /* in random order */
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		other = i + (seed >> 33) % (SLOTS - i);
		slot = order[other];
		order[other] = order[i];
		if (i == 8)
			part = "Split";
		insert(place(slot), 50 + slot * 37 % 70);
	}
}

int main(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	uint64_t slot;

	config.flags = LATH_HOLES;
	need(!lath_index_init(&list, &config), "no memory");
	part = "Insert";
	step("start", 0, 0, 0, "done", 0);
	insert_slots();
	part = "Look up";
	insert(1000, 150);
	lookup(5000);
	lookup(9400);
	part = "Erase";
	for (slot = 20; slot < 24; slot++)
		erase(place(slot));
	part = "Merge";
	for (slot = 2; slot < SLOTS - 1; slot++)
		if (slot % 4 && (slot < 20 || slot > 23))
			erase(place(slot));
	part = "Find a hole";
	hole("first", LATH_HOLE_FIRST, 400, 1);
	hole("last", LATH_HOLE_LAST, 400, 1);
	hole("best", LATH_HOLE_BEST, 100, 1);
	hole("first", LATH_HOLE_FIRST, 256, 256);
	hole("best", LATH_HOLE_BEST, 900, 1);
	lath_index_fini(&list, NULL, NULL);
	return 0;
}
