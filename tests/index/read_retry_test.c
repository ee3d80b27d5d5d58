/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read_retry_test.c - reads whose leaf changes each time they look. The index is built with its
 * delay points: between reading a leaf and looking at its word again the hook writes to a neighbour
 * of the key, as another thread might. A read that is disturbed for some time tries again; one that
 * is disturbed always takes the lock. Both give what an undisturbed one gives.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "tree/way/locate.h"

#include "lathwork/index.h"

#define ITEMS 5000u
#define STEP 16u
#define FOREVER 1000000

static struct lath_index list;
static int disturbances;	    /* left */
static const char *where = "read,"; /* how the points begin at which they happen */
static bool inside;
static u64 falls_before;
static u64 near_key; /* the read is about this one */

/* The leaf that covers near_key and its neighbours get another version each. */
static void disturb(const char *point)
{
	struct node *leaf;

	if (inside || disturbances <= 0 || strncmp(point, where, strlen(where)) ||
	    READ_ONCE(counts_of(tree_of(&list))->lock_falls) != falls_before)
		return;
	inside = true;
	disturbances--;
	lath_call_enter();
	leaf = lath_locate_far_locked(tree_of(&list), near_key, FOR_ERASE);
	node_unlock(leaf);
	lath_call_exit();
	inside = false;
}

/* The items that are pinned: how often a pin is taken, less those that are given back. */
static int pins;

static int take_pin(void *arg, const struct lath_item *item)
{
	(void)arg;
	(void)item;
	pins++;
	return 1;
}

static void give_pin(void *arg, const struct lath_item *item)
{
	(void)arg;
	(void)item;
	pins--;
}

static const struct lath_pin pin = { take_pin, give_pin, NULL };

struct answer {
	int ret[8];
	struct lath_item item[8];
	u64 number[4];
};

/* Items that were not found, and the pin of the one that was. */
static void clear_unfound(struct answer *a)
{
	unsigned int i;

	assert(pins == !a->ret[7]);
	pins = 0;
	for (i = 0; i < 8; i++)
		if (a->ret[i])
			memset(&a->item[i], 0, sizeof(a->item[i]));
}

static void ask(u64 key, struct answer *a)
{
	struct lath_item out[8];
	u64 next;
	unsigned int i;

	memset(a, 0, sizeof(*a));
	memset(out, 0, sizeof(out));
	a->ret[0] = lath_index_lookup_item(&list, key, &a->item[0]);
	a->ret[1] = lath_index_overlap_item(&list, key, STEP / 2, &a->item[1]);
	a->ret[2] = lath_index_ceiling_item(&list, key, &a->item[2]);
	a->ret[3] = lath_index_floor_item(&list, key, &a->item[3]);
	a->ret[4] = lath_index_get(&list, key, &a->number[0]);
	a->ret[5] = (int)lath_index_scan(&list, key, key + 3 * STEP, out, 8, &next);
	for (i = 0; i < (unsigned int)a->ret[5]; i++)
		a->number[1] = a->number[1] * 31 + out[i].key;
	a->ret[6] = (int)lath_index_scan_back(&list, key, key > 3 * STEP ? key - 3 * STEP : 0, out,
					      8, &next);
	for (i = 0; i < (unsigned int)a->ret[6]; i++)
		a->number[2] = a->number[2] * 31 + out[i].key;
	a->number[3] = lath_index_count(&list);
	a->ret[7] = lath_index_lookup_pin(&list, key, &pin, &a->item[7]);
	clear_unfound(a);
}

/* Every read by itself, disturbed this many times. */
static void ask_disturbed(u64 key, int times, struct answer *a)
{
	struct lath_item out[8];
	u64 next;
	unsigned int i;

#define DISTURBED(n)                                                  \
	do {                                                          \
		near_key = key;                                       \
		falls_before = counts_of(tree_of(&list))->lock_falls; \
		disturbances = (n);                                   \
	} while (0)

	memset(a, 0, sizeof(*a));
	memset(out, 0, sizeof(out));
	DISTURBED(times);
	a->ret[0] = lath_index_lookup_item(&list, key, &a->item[0]);
	DISTURBED(times);
	a->ret[1] = lath_index_overlap_item(&list, key, STEP / 2, &a->item[1]);
	DISTURBED(times);
	a->ret[2] = lath_index_ceiling_item(&list, key, &a->item[2]);
	DISTURBED(times);
	a->ret[3] = lath_index_floor_item(&list, key, &a->item[3]);
	DISTURBED(times);
	a->ret[4] = lath_index_get(&list, key, &a->number[0]);
	DISTURBED(min(times, 20)); /* these have no lock to take: they go on until they are let */
	a->ret[5] = (int)lath_index_scan(&list, key, key + 3 * STEP, out, 8, &next);
	for (i = 0; i < (unsigned int)a->ret[5]; i++)
		a->number[1] = a->number[1] * 31 + out[i].key;
	DISTURBED(min(times, 20));
	a->ret[6] = (int)lath_index_scan_back(&list, key, key > 3 * STEP ? key - 3 * STEP : 0, out,
					      8, &next);
	for (i = 0; i < (unsigned int)a->ret[6]; i++)
		a->number[2] = a->number[2] * 31 + out[i].key;
	DISTURBED(min(times, 20));
	a->number[3] = lath_index_count(&list);
	DISTURBED(times);
	a->ret[7] = lath_index_lookup_pin(&list, key, &pin, &a->item[7]);
	clear_unfound(a);
	where = "pinned,";
	DISTURBED(times);
	a->ret[7] = lath_index_lookup_pin(&list, key, &pin, &a->item[7]);
	where = "read,";
	disturbances = 0;
	clear_unfound(a);
}

static void check(u64 key)
{
	static const int times[] = { 1, 3, FOREVER };
	struct answer plain, disturbed;
	unsigned int i;

	ask(key, &plain);
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		u64 falls = counts_of(tree_of(&list))->lock_falls;

		ask_disturbed(key, times[i], &disturbed);
		assert(!memcmp(&plain, &disturbed, sizeof(plain)));
		/* lookup, overlap, ceiling, floor, get and pin each gave up on versions */
		if (times[i] == FOREVER)
			assert(counts_of(tree_of(&list))->lock_falls >= falls + 5);
		else
			assert(counts_of(tree_of(&list))->lock_falls == falls);
	}
}

int main(void)
{
	struct lath_item found;
	struct node *leaf, *next;
	u64 key;
	u32 i;

	assert(!lath_index_init(&list, NULL));
	for (i = 0; i < ITEMS; i++) {
		struct lath_item item = { (u64)i * STEP, STEP / 2, i };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	lath_delay_hook = disturb;
	for (key = 0; key < (u64)ITEMS * STEP; key += 1001)
		check(key);

	/* at both sides of fences: the answer is in the leaf beside */
	for (leaf = locate(tree_of(&list), 0, FOR_READ, &key); leaf; leaf = next) {
		u64 low = leaf->low, last = leaf->last;

		next = leaf_right(leaf);
		if (!next)
			break;
		if (low)
			lath_index_erase_item(&list, low, NULL);
		lath_index_erase_item(&list, last / STEP * STEP, NULL);
		check(low);
		check(last / STEP * STEP);
		assert(!lath_index_verify(&list, 5, NULL, 0));
	}

	/* nothing left, and nothing right of the last */
	check(KEY_MAX);
	for (i = 0; i < 10; i++)
		lath_index_erase_item(&list, (u64)i * STEP, NULL);
	check(3);

	/* erases: of an item, of none where a miss is not believed eight times, of the item that
	 * covers a point */
	assert(!lath_index_ceiling_item(&list, 2000u * STEP, &found));
	near_key = key = found.key;
	falls_before = counts_of(tree_of(&list))->lock_falls;
	disturbances = FOREVER;
	assert(lath_index_erase_item(&list, key + 1, &found) == -ENOENT);
	assert(lath_index_erase_item_at(&list, key + STEP - 1, &found) == -ENOENT);
	assert(!lath_index_erase_item_at(&list, key + 1, &found) && found.value == key / STEP);
	disturbances = 0;
	assert(lath_index_lookup_item(&list, key, &found) == -ENOENT);
	assert(!lath_index_verify(&list, 5, NULL, 0));
	lath_delay_hook = NULL;
	lath_index_fini(&list, NULL, NULL);
	return 0;
}
