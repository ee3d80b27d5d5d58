/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stress_test.c - threads on one index of ranges (base/mark.h). Neighbours belong to different
 * threads, so they meet in every leaf. Slots are freed through RCU; readers check a mark in each
 * slot that they find, and trim, so that the nodes that they and the writers are at are moved and
 * given back. Run it under ASan and TSan.
 */
#include <stddef.h>

#include "lathwork/cursor.h"
#include "sys/sys.h"

#define MARKED 4000u
#include "base/mark.h"

#define STEP 16u
#define ALIVE 0x600d51075107600dull

struct thing {
	struct lath_rcu_head rcu;
	uint64_t mark;
	struct lath_slot slot;
};

static struct lath_index list;
static struct thing *own[MARKED];

static struct thing *thing_of(struct lath_slot *slot)
{
	return (struct thing *)(void *)((char *)slot - offsetof(struct thing, slot));
}

static void thing_free(struct lath_rcu_head *head)
{
	struct thing *thing = (struct thing *)(void *)((char *)head - offsetof(struct thing, rcu));

	lath_retired();
	memset(thing, 0xdd, sizeof(*thing));
	free(thing);
	lath_retired_end();
}

/* Thing i, when it is there, has the keys [i * STEP, i * STEP + size_of(i)). */
static uint64_t size_of(size_t i)
{
	return i * 7 % STEP + 1;
}

static int change(size_t i, bool there)
{
	struct lath_slot *slot;
	uint64_t key = i * STEP;

	if (there) {
		own[i] = calloc(1, sizeof(*own[i]));
		MUST(own[i]);
		own[i]->mark = ALIVE;
		own[i]->slot.key = key;
		own[i]->slot.size = size_of(i);
		return lath_index_insert(&list, &own[i]->slot, NULL);
	}
	if (lath_index_lookup(&list, key + size_of(i) - 1) != &own[i]->slot)
		FAULT("lookup %zu\n", i);
	slot = i % 2 ? lath_index_erase(&list, key) : lath_index_erase_at(&list, key);
	if (slot != &own[i]->slot || lath_index_lookup(&list, key))
		FAULT("%zu after its erase\n", i);
	lath_rcu_auto.call(&own[i]->rcu, thing_free);
	return 0;
}

/* What is there from thing i on, or before it, in order: a scan, a cursor to the left. */
static void walk(struct view *view, size_t i, bool back)
{
	struct lath_item items[40];
	struct lath_cursor cursor;
	bool found[MARKED] = { false };
	size_t n = 0, at = i, k;

	lath_cursor_init(&cursor, &list);
	if (!back)
		n = lath_index_scan(&list, i * STEP, ~0ull, items, 40, NULL);
	else if (lath_cursor_seek_floor(&cursor, i * STEP, &items[0]))
		do
			n++;
		while (n < 40 && lath_cursor_prev(&cursor, &items[n]));
	look_after(view);
	for (k = 0; k < n; k++) {
		size_t it = items[k].key / STEP;

		if (it >= MARKED || items[k].size != size_of(it) || (back ? it > at : it < at))
			FAULT("walk from %zu met %zu\n", i, it);
		else
			found[it] = true;
		at = back ? it - 1 : it + 1;
	}
	for (k = back ? (n < 40 ? 0 : at + 1) : i; back ? k <= i : k < (n < 40 ? MARKED : at); k++)
		if (view->steady[k] && view->there[k] != found[k])
			FAULT("%zu was %s all the time\n", k, view->there[k] ? "there" : "away");
}

static void ask(struct view *view, uint64_t *state)
{
	uint64_t how = draw(state, 4), i = draw(state, MARKED), last = i * STEP + size_of(i) - 1;
	struct lath_item item;
	struct lath_slot *slot;
	uint64_t place = 0;

	if (how < 2) {
		walk(view, i, how);
	} else {
		lath_rcu_auto.read_lock();
		if (how == 2)
			slot = lath_index_lookup_rcu(&list, last);
		else
			slot = lath_index_overlap_item(&list, last, 1, &item)
				       ? NULL
				       : lath_item_slot(&item);
		look_after(view);
		if (slot && (thing_of(slot)->mark != ALIVE || slot->key != i * STEP))
			FAULT("looked for %" PRIu64 ", found something else\n", i);
		if (view->steady[i] && view->there[i] != (slot != NULL))
			FAULT("%" PRIu64 " was %s\n", i, slot ? "away" : "there");
		lath_rcu_auto.read_unlock();
	}
	lath_index_trim(&list, draw(state, 8), &place);
}

static void free_item(void *arg, const struct lath_item *item)
{
	++*(size_t *)arg;
	free(thing_of(lath_item_slot(item)));
}

static void run(unsigned int flags, int argc, char **argv)
{
	struct lath_config config = LATH_CONFIG_INIT;
	size_t left, count = 0;
	char report[200] = "";

	config.flags = flags;
	MUST(!lath_index_init(&list, &config));
	left = run_marked(400000, argc, argv);
	if (lath_index_verify(&list, 5, report, sizeof(report)))
		FAULT("invariant %s\n", report);
	lath_index_fini(&list, free_item, &count);
	if (left != count)
		FAULT("fini saw %zu of %zu items\n", count, left);
}

int main(int argc, char **argv)
{
	run(0, argc, argv);
	run(LATH_NODE_EACH, argc, argv);
	lath_rcu_auto.drain();
	return judged();
}
