/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * between_test.c - whole calls between two steps of a clone, and of the trim of an index. The index
 * is built with its delay points; at one of them another call begins and ends.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "index/hint/hint.h"
#include "index/tree/tree.h"

static struct lath_index list;
static unsigned int armed; /* fires at the so many-th point of this name; 0: not */
static const char *where;
static void (*other)(void);

static void disturb(const char *point)
{
	if (!armed || strcmp(point, where) != 0 || --armed)
		return;
	other();
}

static void arm(const char *point, unsigned int number, void (*call)(void))
{
	where = point;
	armed = number;
	other = call;
}

/* ---- clone ---- */

/* The item that was read last ends earlier now, and the next one begins where it ended. */
static void grow_to_the_left(void)
{
	struct lath_item item = { 31 * 100 + 20, 150, 5 };

	assert(!lath_index_resize(&list, 31 * 100, 10));
	assert(!lath_index_erase_item(&list, 3200, NULL));
	assert(!lath_index_insert_item(&list, &item, NULL));
}

/* A clone reads 32 items at a time, and has those of two moments: where they overlap, the first. */
static void clone_beside(void)
{
	struct lath_item item = { 0, 50, 1 }, found;
	struct lath_index copy;
	int i;

	assert(!lath_index_init(&list, NULL));
	for (i = 0; i < 100; i++, item.key += 100)
		assert(!lath_index_insert_item(&list, &item, NULL));
	/* while the 32nd item is inserted into the copy */
	arm("located, not yet locked", 32, grow_to_the_left);
	assert(!lath_index_clone(&copy, &list, NULL));
	assert(!armed);
	assert(!lath_index_lookup_item(&copy, 3149, &found) && found.key == 3100 &&
	       found.size == 50);
	assert(lath_index_lookup_item(&copy, 3160, &found) == -ENOENT);
	assert(!lath_index_lookup_item(&copy, 3300, &found) && lath_index_count(&copy) == 99);
	assert(lath_index_count(&list) == 100);
	lath_index_fini(&copy, NULL, NULL);
	lath_index_fini(&list, NULL, NULL);
}

/* ---- trim ---- */

#define KEYS (NODE_CAP == 64 ? 100000u : 40000u)

static u64 left[KEYS]; /* the keys that are there */
static size_t n_left;

static unsigned int changes;
static u64 others; /* keys that are there beside them */

static void toggle(u64 key)
{
	struct lath_item item = { key, 1, key };

	if (!lath_index_erase_item(&list, key, NULL)) {
		others--;
		return;
	}
	assert(!lath_index_insert_item(&list, &item, NULL));
	others++;
}

/* Changes the first leaf and another one, at each point: now and then that is the node which is
 * about to be moved, or its left sibling. */
static void change_two(void)
{
	static u64 n;
	u64 key = left[n++ * 7919 % n_left] + 1;

	toggle(1);
	if (key != 1)
		toggle(key);
	changes++;
	armed = 1;
}

/* All but the items of the first sixteenth go: leaves and levels are merged. */
static void merge_all(void)
{
	size_t i, n = n_left;

	for (n_left = i = 0; i < n; i++)
		if (left[i] < KEYS)
			left[n_left++] = left[i];
		else
			assert(!lath_index_erase_item(&list, left[i], NULL));
}

/* Trims an index of which one item in 40 is left, with another call at the so many-th point, or
 * from then on. Returns whether there were so many. */
static bool trim_beside(unsigned int number, void (*call)(void))
{
	struct lath_config config = LATH_CONFIG_INIT;
	u64 i, value;
	uint64_t cursor = 0;
	bool met;

	config.layout = LATH_POINTS;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < KEYS; i++) {
		struct lath_item item = { i * 16, 1, i * 16 };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	for (n_left = i = 0; i < KEYS; i++)
		if (i % 40)
			assert(!lath_index_erase_item(&list, i * 16, NULL));
		else
			left[n_left++] = i * 16;
	lath_rcu_auto.drain();
	others = 0;
	arm("to be moved, not yet locked", number, call);
	do
		lath_index_trim(&list, 64, &cursor);
	while (cursor);
	met = call == change_two ? changes : !armed;
	armed = 0;
	assert(lath_index_count(&list) == n_left + others);
	for (i = 0; i < n_left; i++)
		assert(lath_index_get(&list, left[i], &value) && value == left[i]);
	assert(!lath_index_verify(&list, 5, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
	return met;
}

int main(void)
{
	unsigned int n;

	lath_delay_hook = disturb;
	clone_beside();
	for (n = 0; n < 12; n++)
		assert(trim_beside(1, change_two));
	for (n = 1; n < 60 && trim_beside(n, merge_all); n += 2)
		;
	printf("%u changes, merged at %u points\n", changes, n);
	assert(n > 10);
	lath_delay_hook = NULL;
	return 0;
}
