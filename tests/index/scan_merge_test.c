/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * scan_merge_test.c - leaves are merged, or the whole tree goes, at one delay point after the other
 * of a call that reads many leaves. Merging changes no item: a scan returns all of them and a count
 * counts each once, though the leaf to which they were about to go has died and is empty.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tree/way/hint.h"
#include "lathwork/index.h"

#define ITEMS 120u

static struct lath_index list;
static unsigned int armed; /* fires at the n-th point; 0: not */
static const char *where;  /* the point */
static bool fired, all;

static void disturb(const char *point)
{
	u64 cursor = 0;

	if (!armed || (where && strcmp(point, where) != 0) || --armed)
		return;
	fired = true;
	if (all)
		lath_index_erase_range(&list, 0, 4 * ITEMS, NULL, NULL);
	do
		lath_index_trim(&list, 100, &cursor);
	while (cursor);
}

/* Leaves that are half full. */
static void begin(enum lath_layout layout, unsigned int items)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item item = { 0, 1, 0 };

	config.layout = layout;
	assert(!lath_index_init(&list, &config));
	for (item.key = 0; item.key < 2ull * items; item.key++)
		assert(!lath_index_insert_item(&list, &item, NULL));
	for (item.key = 0; item.key < 2ull * items; item.key += 2)
		assert(!lath_index_erase_item(&list, item.key, NULL));
	fired = false;
}

static void end(void)
{
	armed = 0;
	assert(!lath_index_verify(&list, 5, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
}

enum kind { SCAN, SCAN_VALUES, VISIT_VALUES, SCAN_BACK, COUNT, STATS, KINDS };

static u64 keys[ITEMS + 1], values[ITEMS + 1];

static int visit(void *arg, const u64 *leaf_keys, const u64 *leaf_values, size_t n)
{
	u64 *count = arg;

	(void)leaf_values;
	assert(n && *count + n <= ITEMS + 1);
	memcpy(keys + *count, leaf_keys, n * sizeof(u64));
	*count += n;
	return 0;
}

static void read_all(enum kind kind)
{
	static struct lath_item items[ITEMS + 1];
	struct lath_index_stats stats;
	u64 n = 0, i;

	if (kind == SCAN)
		n = lath_index_scan(&list, 0, ~0ull, items, ITEMS + 1, NULL);
	else if (kind == SCAN_VALUES)
		n = lath_index_scan_values(&list, 0, ~0ull, keys, values, ITEMS + 1, NULL);
	else if (kind == VISIT_VALUES)
		assert(!lath_index_visit_values(&list, 0, ~0ull, ITEMS, visit, &n));
	else if (kind == SCAN_BACK)
		n = lath_index_scan_back(&list, ~0ull, 0, items, ITEMS + 1, NULL);
	else if (kind == COUNT)
		n = lath_index_count(&list);
	else {
		lath_index_get_stats(&list, &stats);
		n = stats.items;
	}
	if (n != ITEMS)
		fprintf(stderr, "scan_merge_test: kind %d returned %llu items\n", (int)kind,
			(unsigned long long)n);
	assert(n == ITEMS);
	for (i = 0; i < n; i++) {
		assert(kind != SCAN || items[i].key == 2 * i + 1);
		assert((kind != SCAN_VALUES && kind != VISIT_VALUES) || keys[i] == 2 * i + 1);
		assert(kind != SCAN_BACK || items[i].key == 2 * (ITEMS - i) - 1);
	}
}

static void reads_beside_merges(enum kind kind, enum lath_layout layout, const char *point)
{
	unsigned int n = 0;

	do {
		begin(layout, ITEMS);
		where = point;
		armed = ++n;
		read_all(kind);
		end();
	} while (fired);
	assert(n > 10 || kind == SCAN_BACK);
}

/* The table of hints is made while its tree becomes a single leaf. */
static void hints_without_a_tree(unsigned int items)
{
	unsigned int n = 0;
	u64 value;

	all = true;
	do {
		begin(LATH_POINTS, items);
		where = NULL;
		armed = ++n;
		lath_hint_build(tree_of(&list));
		armed = 0;
		assert(lath_index_get(&list, 1, &value) == !fired);
		end();
	} while (fired);
	assert(n > 2);
	all = false;
}

int main(void)
{
	enum kind kind;

	lath_delay_hook = disturb;
	for (kind = 0; kind < KINDS; kind++) {
		reads_beside_merges(kind, LATH_POINTS, "a leaf to the right");
		reads_beside_merges(kind, LATH_RANGES, "a leaf to the right");
		reads_beside_merges(kind, LATH_RANGES, "read, lockword not yet compared");
	}
	hints_without_a_tree(6);
	hints_without_a_tree(8);
	hints_without_a_tree(40);
	lath_delay_hook = NULL;
	return 0;
}
