/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * trim_test.c - what an index that shrank keeps: its levels, the fill of its leaves, its memory;
 * and that no version of a node comes back with memory that the host had in the meantime.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lathwork/cursor.h"
#include "tree/way/hint.h"

#define KEYS (NODE_CAP == 64 ? 200000u : 20000u)
#define MOST 200000u
#define CHUNK (16u << 10)
#define LEFT (KEYS / 100)
/* Nodes of eight entries are emptier. */
#define FILL (NODE_CAP == 64 ? 800u : 600u)

static unsigned int faults;

#define CHECK(condition, ...)                                                       \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "trim_test: " #condition ": " __VA_ARGS__); \
			fputc('\n', stderr);                                        \
			faults++;                                                   \
		}                                                                   \
	} while (0)

/* Different for each i, and without order. */
static uint64_t key_of(uint64_t i)
{
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9ull;
	i = (i ^ i >> 27) * 0x94d049bb133111ebull;
	return i ^ i >> 31;
}

static void add(struct lath_index *list, uint64_t i)
{
	struct lath_item item = { key_of(i), 1, i };

	CHECK(!lath_index_insert_item(list, &item, NULL), "insert %llu", (unsigned long long)i);
}

static void erase(struct lath_index *list, uint64_t i)
{
	CHECK(!lath_index_erase_item(list, key_of(i), NULL), "erase %llu", (unsigned long long)i);
}

static struct lath_index_stats check(struct lath_index *list, const char *what, uint64_t items)
{
	struct lath_index_stats stats;
	char report[200] = "";

	CHECK(!lath_index_verify(list, 6, report, sizeof(report)), "%s: %s", what, report);
	CHECK(lath_index_count(list) == items, "%s", what);
	lath_index_get_stats(list, &stats);
	return stats;
}

static void begin(struct lath_index *list, uint64_t keys, unsigned int flags,
		  const struct lath_rcu *rcu)
{
	struct lath_config config = LATH_CONFIG_INIT;
	uint64_t i;

	config.flags = flags;
	config.rcu = rcu;
	if (lath_index_init(list, &config))
		exit(1);
	for (i = 0; i < keys; i++)
		add(list, i);
}

/* Lockwords by address. */
struct seen {
	const struct node *node;
	uint64_t lockword;
};

static size_t see(struct lath_index *list, struct seen *seen)
{
	struct node *node = tree_of(list)->root;
	size_t n = 0;

	while (node_level(node))
		node = node_child(node, __ffs64(node->live));
	for (; node; node = node->right)
		seen[n++] = (struct seen){ node, node->lockword };
	return n;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct seen *)a)->node,
		  y = (uintptr_t)((const struct seen *)b)->node;

	return x < y ? -1 : x > y;
}

/* No node that is where another one was has a lockword which that one may have had. */
static void check_versions(const struct seen *before, size_t n, const struct seen *now, size_t m)
{
	size_t i, again = 0;

	for (i = 0; i < m; i++) {
		const struct seen *old = bsearch(&now[i], before, n, sizeof(*before), by_address);

		again += old != NULL;
		CHECK(!old || old->lockword < now[i].lockword, "a version came back");
	}
	CHECK(again, "no memory was used again");
}

/* What was a leaf is one or is dead. */
static void check_moved(struct lath_index *list, const struct seen *before, size_t n)
{
	static struct seen now[MOST];
	size_t m = see(list, now), i;

	qsort(now, m, sizeof(*now), by_address);
	for (i = 0; i < n; i++)
		CHECK(bsearch(&before[i], now, m, sizeof(*now), by_address) ||
			      node_dead(before[i].node->lockword),
		      "a leaf outside of the chain is alive");
}

/* Two passes: what the first one merges is free for the second after a grace period. */
static void trim(struct lath_index *list, const struct lath_rcu *rcu, const struct seen *before,
		 size_t n)
{
	unsigned int pass;

	for (pass = 0; pass < 2; pass++) {
		uint64_t cursor = 0, before_call;

		do {
			before_call = cursor;
			/* after a merge it stays at the leaf that took the other one's keys */
			CHECK(lath_index_trim(list, pass ? 1 : 7, &cursor) || cursor <= 1 ||
				      cursor > before_call,
			      "the pass does not go on");
		} while (cursor);
		check_moved(list, before, n);
		rcu->drain();
	}
}

/* Grow, shrink to a hundredth, trim, grow again. */
static void shrink(unsigned int flags, const struct lath_rcu *rcu)
{
	static struct seen before[MOST], now[MOST];
	static struct lath_index list, fresh;
	struct lath_index_stats big, small, least;
	struct lath_cursor cursor;
	uint64_t table, fresh_table, i;
	struct lath_item item;
	size_t n, m;

	begin(&list, KEYS, flags, rcu);
	lath_index_prepare(&list);
	big = check(&list, "full", KEYS);
	n = see(&list, before);
	lath_cursor_init(&cursor, &list);
	CHECK(lath_cursor_seek(&cursor, key_of(LEFT * 7ull), &item), "seek");
	for (i = LEFT; i < KEYS; i++)
		erase(&list, i);
	trim(&list, rcu, before, flags & LATH_NODE_EACH ? 0 : n);
	small = check(&list, "trimmed", LEFT);
	table = lath_hint_bytes(tree_of(&list));
	for (i = 0; i < KEYS; i += 11) /* hints and fingers that lead to memory of zeros */
		CHECK(!lath_index_lookup_item(&list, key_of(i), &item) == (i < LEFT), "lookup");
	CHECK(!lath_index_lookup_item(&list, 0, &item), "key 0 is that of item 0");
	if (lath_cursor_next(&cursor, &item)) /* its leaf is gone */
		CHECK(item.value < LEFT, "cursor");
	begin(&fresh, LEFT, flags, rcu);
	lath_index_get_stats(&fresh, &least);
	fresh_table = lath_hint_bytes(tree_of(&fresh));
	/* where full leaves are halved, merges fill them less than inserts do */
	CHECK(small.levels <= least.levels + (NODE_CAP < 64 || flags & LATH_HOLES),
	      "%llu levels, %llu when fresh", (unsigned long long)small.levels,
	      (unsigned long long)least.levels);
	CHECK(small.bytes - table <= 2 * least.bytes + CHUNK,
	      "flags %u: %llu bytes, %llu when fresh", flags, (unsigned long long)small.bytes,
	      (unsigned long long)least.bytes);
	/* lath_hint_trim() lets a table stay that is up to four times as large as needed */
	CHECK(table <= 4 * fresh_table + sizeof(struct hint),
	      "flags %u: a table of %llu, %llu when fresh", flags, (unsigned long long)table,
	      (unsigned long long)fresh_table);
	CHECK(big.bytes > 4 * small.bytes, "nothing was given back");
	lath_index_fini(&fresh, NULL, NULL);
	for (i = LEFT; i < KEYS; i++)
		add(&list, i);
	check(&list, "full again", KEYS);
	m = see(&list, now);
	qsort(before, n, sizeof(*before), by_address);
	if (!(flags & LATH_NODE_EACH))
		check_versions(before, n, now, m);
	lath_index_fini(&list, NULL, NULL);
}

/* Erases and inserts at random places leave leaves as full as inserts alone, nearly. */
static void churn(void)
{
	static struct lath_index list;
	static uint64_t there[MOST];
	struct lath_index_stats stats;
	uint64_t i;

	begin(&list, KEYS, 0, NULL);
	for (i = 0; i < KEYS; i++)
		there[i] = i;
	for (i = KEYS; i < 20 * KEYS; i++) {
		uint64_t *one = &there[key_of(~i) % KEYS];

		erase(&list, *one);
		*one = i;
		add(&list, i);
	}
	lath_rcu_auto.drain();
	stats = check(&list, "after 20 turnovers", KEYS);
	CHECK(stats.fill_permille >= FILL, "%llu", (unsigned long long)stats.fill_permille);
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	lath_hint_least = 1;
	shrink(0, &lath_rcu_auto);
	shrink(LATH_HOLES, &lath_rcu_auto);
	shrink(LATH_RANKS, &lath_rcu_single);
	shrink(LATH_NODE_EACH, &lath_rcu_auto);
	churn();
	return faults != 0;
}
