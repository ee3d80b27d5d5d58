/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bound_test.c - a search for the lowest place that begins where the thread's last one ended
 * (src/tree/watch/bound.h): it saves the way there, and misses no hole that came up in front of
 * it, whoever made it and by which call.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lathwork/hole.h"
#include "tree/watch/gap.h"

#define SIZE 8u	    /* keys of an item */
#define ITEMS 2000u /* enough for several leaves */
#define HERE (ITEMS / 3)

static struct lath_index list;

static void must(bool right, const char *what, const char *how)
{
	if (right)
		return;
	fprintf(stderr, "bound_test: %s (%s)\n", what, how);
	exit(1);
}

static uint64_t take(uint64_t size, uint64_t align)
{
	struct lath_hole_request want = { .size = size, .align = align };
	uint64_t key;

	must(!lath_index_insert_hole(&list, &want, size, &key), "insert_hole failed", "");
	return key;
}

static uint64_t nodes_so_far(void)
{
	struct lath_index_stats stats;

	lath_index_get_stats(&list, &stats);
	return stats.hole_nodes;
}

/* ---- what makes a hole in front of the bound ---- */

static void erase(void)
{
	lath_index_erase_item(&list, HERE * SIZE, NULL);
}

static void erase_at(void)
{
	lath_index_erase_item_at(&list, HERE * SIZE + 1, NULL);
}

static void erase_batch(void)
{
	uint64_t keys[] = { (HERE + 9) * SIZE, HERE * SIZE };
	int results[2];

	lath_index_erase_batch(&list, 2, keys, results);
}

static void erase_range(void)
{
	lath_index_erase_range(&list, HERE * SIZE, SIZE, NULL, NULL);
}

static void shrink(void)
{
	lath_index_resize(&list, HERE * SIZE, 1);
	lath_index_resize(&list, (HERE - 1) * SIZE, SIZE); /* changes nothing */
}

static void move(void) /* an erase, and an insert that takes as much at the end */
{
	struct lath_item item = { 2 * ITEMS * SIZE, SIZE, 0 };

	lath_index_insert_item(&list, &item, NULL);
	lath_index_erase_item(&list, HERE * SIZE, NULL);
}

static const struct change {
	const char *name;
	void (*make)(void);
	uint64_t size, key; /* a request that it makes room for, and its place */
} changes[] = {
	{ "lath_erase_item", erase, SIZE, HERE *SIZE },
	{ "erase_item_at", erase_at, SIZE, HERE *SIZE },
	{ "erase_batch", erase_batch, SIZE, HERE *SIZE },
	{ "erase_range", erase_range, SIZE, HERE *SIZE },
	{ "resize", shrink, SIZE - 1, HERE *SIZE + 1 },
	{ "insert, erase", move, SIZE, HERE *SIZE },
};

static void *make(void *arg)
{
	((const struct change *)arg)->make();
	return NULL;
}

static void change(const struct change *c, bool by_another)
{
	pthread_t thread;

	if (!by_another) {
		c->make();
		return;
	}
	must(!pthread_create(&thread, NULL, make, (void *)(uintptr_t)c), "no thread", c->name);
	pthread_join(thread, NULL);
}

/* ---- cases ---- */

static void fill(void)
{
	uint64_t i;

	for (i = 0; i < ITEMS; i++)
		must(take(SIZE, 1) == i * SIZE, "not the lowest place", "fill");
}

/* The same items with one free key behind each. */
static void fill_with_gaps(void)
{
	struct lath_item item = { 0, SIZE - 1, 0 };

	for (; item.key < ITEMS * SIZE; item.key += SIZE)
		must(!lath_index_insert_item(&list, &item, NULL), "insert failed", "");
}

/* Each request of a sequence finds its place in the leaf of the one before, most often; also after
 * an erase. */
static void saves_the_way(void)
{
	uint64_t nodes = nodes_so_far();

	fill();
	nodes = nodes_so_far() - nodes;
	must(LATH_NODE_CAP < 64 || nodes < ITEMS + ITEMS / 4, "searches look at too many nodes",
	     "fill");
	erase();
	nodes = nodes_so_far();
	must(take(SIZE, 1) == HERE * SIZE, "not the lowest place", "after an erase");
	must(LATH_NODE_CAP < 64 || nodes_so_far() - nodes == 1, "a search looks at too many nodes",
	     "after an erase");
}

/* The thread has a bound for this request when the change comes. */
static void sees_changes(const struct change *c, bool by_another)
{
	const char *who = by_another ? "another thread" : "the same thread";
	uint64_t key;

	fill();
	take(c->size, 1);
	change(c, by_another);
	key = take(c->size, 1);
	if (key != c->key)
		fprintf(stderr, "%s: %llu, not %llu\n", c->name, (unsigned long long)key,
			(unsigned long long)c->key);
	must(key == c->key, "a hole in front of the bound is missed", who);
	must(take(c->size, 1) != key, "a hole is given out twice", who);
}

/* What is free in front of an erased item is a part of the hole: it begins in front of the item. */
static void joins_runs(void)
{
	uint64_t i, from = HERE * SIZE;

	fill_with_gaps();
	must(take(SIZE, 1) == ITEMS * SIZE - 1, "not the lowest place", "behind all");
	lath_index_erase_item(&list, from, NULL);
	must(take(SIZE + 1, 1) == from - 1, "a hole that begins in front of the item is missed",
	     "");
	for (i = 1; i < 3; i++)
		must(take(SIZE, SIZE) > from, "a hole is given out twice", "");
}

/* A bound holds for longer and coarser requests from the same key on, and for no others. */
static void holds_for_longer_ones(void)
{
	struct lath_hole_request want = { .size = 1, .low = SIZE * 10 };
	uint64_t key;

	fill_with_gaps();
	must(take(4, 1) > ITEMS * (SIZE - 1), "not the lowest place", "");
	must(take(1, 1) == SIZE - 1, "a shorter request misses its place", "");
	must(take(1, SIZE) >= ITEMS * SIZE, "not the lowest place", "");
	must(take(1, 1) == 2 * SIZE - 1, "a finer request misses its place", "");
	must(take(2, SIZE) >= ITEMS * SIZE, "not the lowest place", "");
	must(!lath_index_insert_hole(&list, &want, 0, &key) && key == SIZE * 11 - 1, "low limit",
	     "");
	must(take(1, 1) == 3 * SIZE - 1, "a lower limit misses its place", "");
}

/* Summaries that promise more than there is. */
static unsigned long long loose(void)
{
	unsigned long long all, more;
	char text[200] = "";

	must(!lath_index_verify(&list, 6, text, sizeof(text)), "verify", text);
	must(sscanf(text, "summaries %llu, that promise more than there is: %llu", &all, &more) ==
		     2,
	     "what does verify say?", text);
	return more;
}

/* A request that takes the place of the item that was erased last puts it back: the summaries say
 * what they said before the erase. */
static void undoes_an_erase(void)
{
	unsigned long long before;
	struct lath_item item;
	uint64_t i;

	fill();
	before = loose();
	for (i = 1; i < ITEMS; i += 7) {
		lath_index_erase_item(&list, i * SIZE, NULL);
		must(take(SIZE, SIZE) == i * SIZE, "not the lowest place", "put back");
		must(!lath_index_lookup_item(&list, i * SIZE, &item) && item.size == SIZE &&
			     item.value == SIZE,
		     "another item is put back", "");
	}
	/* not all: items at an end of their leaves are inserted as others are */
	must(loose() <= before + ITEMS / 7 / 2, "summaries promise what has been put back", "");
}

/* Of several erased items only the last is put back, and only if its place is the lowest. A search
 * finds the places of the others. */
static void puts_back_the_last(void)
{
	static const int other[] = { 1, -1, 5, -(int)(ITEMS / 4) };
	uint64_t i, a, b;

	fill();
	for (i = 0; i < 64; i++) {
		a = (HERE + i / 4) * SIZE;
		b = (uint64_t)((int)(HERE + i / 4) + other[i % 4]) * SIZE;
		lath_index_erase_item(&list, a, NULL);
		lath_index_erase_item(&list, b, NULL);
		must(take(SIZE, 1) == (a < b ? a : b), "not the lowest place", "of two");
		must(take(SIZE, 1) == (a < b ? b : a), "not the lowest place", "of one");
	}
	must(take(SIZE, 1) == ITEMS * SIZE, "not the lowest place", "of none");
}

/* Another item has taken the place of the erased one: nothing can be put back. */
static void puts_back_nothing(void)
{
	struct lath_item item = { 0, 1, 0 };
	uint64_t i;

	fill();
	for (i = 0; i < 16; i++) {
		item.key = (HERE + i) * SIZE;
		lath_index_erase_item(&list, item.key, NULL);
		must(!lath_index_insert_item(&list, &item, NULL), "insert failed", "");
		must(take(SIZE, 1) == (ITEMS + i) * SIZE, "the place has been taken", "");
	}
	must(take(SIZE - 1, 1) == HERE * SIZE + 1, "not the lowest place", "behind an item");
}

/* The place of the erased item is not the lowest one of the hole, unless alignment makes it so;
 * or the request is longer than the item. */
static void puts_back_no_higher(void)
{
	struct lath_item item;
	uint64_t i, key;

	fill_with_gaps();
	must(take(SIZE - 1, 1) == ITEMS * SIZE - 1, "not the lowest place", "behind all");
	for (i = 0; i < 16; i++) {
		key = (HERE - 2 * i) * SIZE; /* below where the last search ended */
		lath_index_erase_item(&list, key, NULL);
		must(take(SIZE - 1, SIZE) == key, "not the lowest place", "aligned");
		lath_index_erase_item(&list, key, NULL);
		must(take(SIZE - 1, 1) == key - 1, "not the lowest place", "in front");
	}
	for (i = 0; i < 4; i++) {
		take(SIZE - 1, 1); /* a bound for this size, which holds for a longer one */
		key = (HERE - 40 - 2 * i) * SIZE;
		lath_index_erase_item(&list, key, NULL);
		must(take(SIZE, SIZE) == key, "not the lowest place", "longer");
		must(!lath_index_lookup_item(&list, key, &item) && item.size == SIZE,
		     "an item of another size is put back", "");
	}
}

/* Another index has its own bounds, also if as much has changed there. */
static void knows_its_index(void)
{
	struct lath_hole_request want = { .size = SIZE };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index *other;
	uint64_t key;

	config.flags = LATH_HOLES;
	other = lath_index_create(&config);
	must(other, "no memory", "");
	must(take(SIZE, 1) == 0 && take(SIZE, 1) == SIZE, "not the lowest place", "");
	must(!lath_index_insert_hole(other, &want, 0, &key) && !key, "the other index", "");
	lath_index_erase_item(&list, 0, NULL);
	must(!lath_index_insert_hole(other, &want, 0, &key) && key == SIZE, "the other index", "");
	must(take(SIZE, 1) == 0, "a hole is missed after calls on another index", "");
	lath_index_destroy(other, NULL, NULL);
}

static void with_list(void (*run)(void))
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.flags = LATH_HOLES;
	must(!lath_index_init(&list, &config), "no memory", "");
	run();
	must(!lath_index_verify(&list, 5, NULL, 0), "verify", "");
	lath_index_fini(&list, NULL, NULL);
}

static const struct change *now;

static void by_itself(void)
{
	sees_changes(now, false);
}

static void by_another(void)
{
	sees_changes(now, true);
}

int main(void)
{
	with_list(saves_the_way);
	for (now = changes; now < changes + sizeof(changes) / sizeof(*changes); now++) {
		with_list(by_itself);
		with_list(by_another);
	}
	with_list(joins_runs);
	with_list(holds_for_longer_ones);
	with_list(knows_its_index);
	with_list(undoes_an_erase);
	with_list(puts_back_the_last);
	with_list(puts_back_nothing);
	with_list(puts_back_no_higher);
	return 0;
}
