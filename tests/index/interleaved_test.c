/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - whole calls between two steps of a clone, of the trim of an index, and of a
 * search to the left. The index is built with its delay points; at one of them another call begins
 * and ends.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tree/way/hint.h"
#include "tree/way/locate.h"
#include "tree/tree.h"

static struct lath_index list;
static unsigned int armed; /* fires at the n-th point of this name; 0: not */
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

/* Of the items that a clone reads in its first step. */
#define LAST_READ ((NODE_CAP - 1) * 100u)

/* The item that was read last ends earlier now, and the next one begins where it ended. */
static void grow_to_the_left(void)
{
	struct lath_item item = { LAST_READ + 20, 150, 5 };

	assert(!lath_index_resize(&list, LAST_READ, 10));
	assert(!lath_index_erase_item(&list, LAST_READ + 100, NULL));
	assert(!lath_index_insert_item(&list, &item, NULL));
}

/* A clone reads some items at a time, and has those of two moments: where they overlap, the first.
 */
static void clone_beside(void)
{
	struct lath_item item = { 0, 50, 1 }, found;
	struct lath_index copy;
	int i;

	assert(!lath_index_init(&list, NULL));
	for (i = 0; i < 100; i++, item.key += 100)
		assert(!lath_index_insert_item(&list, &item, NULL));
	/* before the first item of the second step is copied */
	arm("found, not yet copied", NODE_CAP + 1, grow_to_the_left);
	assert(!lath_index_clone(&copy, &list, NULL));
	assert(!armed);
	assert(!lath_index_lookup_item(&copy, LAST_READ + 49, &found) && found.key == LAST_READ &&
	       found.size == 50);
	assert(lath_index_lookup_item(&copy, LAST_READ + 60, &found) == -ENOENT);
	assert(!lath_index_lookup_item(&copy, LAST_READ + 200, &found));
	assert(lath_index_count(&copy) == 99);
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

/* A second trim of the index, which leaves it to the first. */
static void trim_again(void)
{
	uint64_t cursor = 0;

	assert(!lath_index_trim(&list, 64, &cursor) && !cursor);
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

/* Trims an index of which one item in 40 is left, with another call at the n-th point, or
 * from then on. Returns whether there were this many. */
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

/* ---- search to the left ---- */

#define MOST_EMPTY 12u /* more leaves than a search without locks can compare at its end */

static u64 hole_low[MOST_EMPTY]; /* first keys of the empty leaves, from right to left */
static u64 appears;		 /* the key that is inserted in the meantime */
static u64 goes;		 /* then the last key before the empty leaves is erased */

static void appear_and_go(void)
{
	struct lath_item item = { appears, 1, appears };

	assert(!lath_index_insert_item(&list, &item, NULL));
	assert(!lath_index_erase_item(&list, goes, NULL));
}

/* Makes an index with this many leaves without items behind the fourth one. Returns the last key
 * they cover. */
static u64 make_hole(unsigned int empty)
{
	struct lath_item item = { 0, 1, 0 }, found;
	struct node *leaf;
	u64 lockword, key = 0, last;
	unsigned int i;

	assert(!lath_index_init(&list, NULL));
	for (; item.key < 10u * NODE_CAP * (MOST_EMPTY + 20); item.key += 10)
		assert(!lath_index_insert_item(&list, &item, NULL));
	for (i = 0; i < 4; i++, key = leaf->last + 1)
		leaf = locate(tree_of(&list), key, FOR_READ, &lockword);
	for (i = empty; i--; key = leaf->last + 1) {
		leaf = locate(tree_of(&list), key, FOR_READ, &lockword);
		hole_low[i] = leaf->low;
	}
	last = key - 1;
	assert(!lath_index_floor_item(&list, hole_low[empty - 1] - 1, &found));
	goes = found.key;
	while (!lath_index_floor_item(&list, last, &found) && found.key != goes) {
		notes_of(tree_of(&list))->turn = 0; /* sparse leaves are merged later */
		assert(!lath_index_erase_item(&list, found.key, NULL));
	}
	notes_of(tree_of(&list))->turn = 0;
	return last;
}

/* While a search goes from the n-th empty leaf to the next one, an item appears in the leaf it has
 * left, and then the one that it would find goes. The item before that was never the answer. */
static void floor_beside(unsigned int empty, unsigned int n)
{
	u64 last = make_hole(empty), lockword;
	struct lath_item found;
	unsigned int i;

	for (i = 0; i < empty; i++) /* they are there, and empty */
		assert(locate(tree_of(&list), hole_low[i], FOR_READ, &lockword)->low ==
		       hole_low[i]);
	assert(!lath_index_floor_item(&list, last, &found) && found.key == goes);
	appears = hole_low[n - 1] + 3;
	arm("located, not yet searched", n + 1, appear_and_go);
	assert(!lath_index_floor_item(&list, last, &found));
	assert(!armed && found.key == appears);
	assert(!lath_index_verify(&list, 5, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	unsigned int n, empty;

	lath_delay_hook = disturb;
	clone_beside();
	for (n = 0; n < 12; n++)
		assert(trim_beside(1, change_two));
	assert(trim_beside(1, trim_again));
	for (n = 1; n < 60 && trim_beside(n, merge_all); n += 2)
		;
	printf("%u changes, merged at %u points\n", changes, n);
	assert(n > 10);
	for (empty = 1; empty <= MOST_EMPTY; empty++)
		for (n = 1; n <= empty; n++)
			floor_beside(empty, n);
	lath_delay_hook = NULL;
	return 0;
}
