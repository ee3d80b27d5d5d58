/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * neighbour_leaf_test.c - reads that go from one leaf to the next while both change for good. The
 * index is built with its delay points. At each of them in turn, another "thread" first inserts an
 * item into the leaf where the read began, which is a better answer, then erases the item at the
 * border of the other leaf, which was the answer. So the read may return either. An item further
 * away was never right: a read that does not look again at the leaves it has left returns it.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tree/way/locate.h"

#include "lathwork/index.h"

#define ITEMS 2000u
#define STEP 16u

static struct lath_index list;
static struct lath_item better, answer; /* of the call that is disturbed */
static int armed;			/* fires at the n-th point; 0: not */
static unsigned int fired;
static bool ranges;

static void disturb(const char *point)
{
	(void)point;
	if (!armed || --armed)
		return;
	fired++;
	assert(!lath_index_insert_item(&list, &better, NULL));
	assert(!lath_index_erase_item(&list, answer.key, NULL));
}

static void begin(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	u64 i;

	config.layout = ranges ? LATH_RANGES : LATH_POINTS;
	assert(!lath_index_init(&list, &config));
	for (i = 1; i <= ITEMS; i++) {
		struct lath_item item = { i * STEP, ranges ? 2 : 1, i };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
}

enum kind { CEILING, OVERLAP, FLOOR, KINDS };

static int call(enum kind kind, u64 border, struct lath_item *found)
{
	switch (kind) {
	case CEILING:
		return lath_index_ceiling_item(&list, border - STEP + 3, found);
	case OVERLAP:
		return lath_index_overlap_item(&list, border - STEP + 3, 3 * STEP, found);
	default:
		return lath_index_floor_item(&list, border + STEP / 2, found);
	}
}

/* The border is the first key of a leaf. Disturbs the call at each point; returns at how many. */
static unsigned int across(enum kind kind, u64 border)
{
	struct lath_item first = { border, ranges ? 2 : 1, 0 }, found;
	unsigned int before = fired, n;
	u64 left = kind == FLOOR ? border - STEP : border;

	if (kind == FLOOR) /* else it is the answer, and in the leaf where the read begins */
		assert(!lath_index_erase_item(&list, border, &first));
	for (n = 1;; n++) {
		unsigned int so_far = fired;

		better = first;
		better.key = kind == FLOOR ? border + STEP / 4 : border - STEP / 2;
		assert(!lath_index_lookup_item(&list, left, &answer));
		armed = (int)n;
		assert(!call(kind, border, &found));
		armed = 0;
		assert(found.key == answer.key || (fired > so_far && found.key == better.key));
		if (fired == so_far)
			break;
		assert(!lath_index_erase_item(&list, better.key, NULL));
		assert(!lath_index_insert_item(&list, &answer, NULL));
	}
	if (kind == FLOOR)
		assert(!lath_index_insert_item(&list, &first, NULL));
	return fired - before;
}

int main(void)
{
	enum kind kind;
	unsigned int borders;
	u64 i, lockword;

	lath_delay_hook = disturb;
	for (kind = 0; kind < 2 * KINDS; kind++) {
		ranges = kind >= KINDS;
		begin();
		for (i = 2, borders = 0; i < ITEMS; i++) {
			struct node *leaf = locate(tree_of(&list), i * STEP, FOR_READ, &lockword);

			if (READ_ONCE(leaf->low) != i * STEP)
				continue;
			borders++;
			assert(across(kind % KINDS, i * STEP) > 1);
		}
		assert(borders > ITEMS / 64 / 2);
		assert(!lath_index_verify(&list, 5, NULL, 0));
		lath_index_fini(&list, NULL, NULL);
	}
	lath_delay_hook = NULL;
	return 0;
}
