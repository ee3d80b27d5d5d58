/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - whole calls between two steps of another one.
 *
 * A call that stops where it holds no lock, while others begin and end, is two threads under one
 * schedule; so one thread plays it, at the library's delay points, and every run can be repeated by
 * its seed. Tiny nodes, a list with holes most often, now and then no memory: after each call all
 * invariants must hold, that no claim hides a hole among them. interleaved_test [lists [first
 * seed]]; LATH_LONG=1: a hundred times more lists.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/hole.h"
#include "base/failing.h"

extern void (*lath_delay_hook)(const char *point);

#define CALLS 200 /* a list */

static struct lath_index list;
static struct failing failing;
static uint64_t state, universe;
static uint64_t at; /* key of the outer call: the others are mostly about its neighbours */
static long count;  /* items there ought to be */
static bool inside, holes;
static unsigned int
	bursts; /* left for this call: a search may begin anew as often as others free something */
static unsigned long between, faults;

#define below(n) draw(&state, n)

/* No lock is held there. */
static bool lock_free(const char *point)
{
	static const char *const points[] = {
		"erased, summaries not yet raised",
		"leaf's summary set, not yet the parent's copy",
		"summaries copied to one level",
		"leaves changed, separators not yet posted",
		"inner node split, right half not yet posted",
		"descend: leaf found",
		"finger: leaf found",
	};
	size_t i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(point, points[i]))
			return true;
	return false;
}

static void one_call(void)
{
	struct lath_item item = { 0, 1 + below(3), 7 };
	struct lath_hole_request want = { .size = item.size };
	int ret = 0;

	if (inside && below(4)) {
		item.key = at + below(8);
		item.key -= item.key < 6 ? item.key : 6;
	} else {
		item.key = below(universe);
	}
	if (!inside) {
		at = item.key;
		bursts = 8;
	}
	want.low = item.key;

	want.high = want.low + 1 + below(universe);
	want.policy = (enum lath_hole_policy)below(5);
	switch (below(inside || !holes ? 8
				       : 10)) { /* a search may wait for the call it is inside of */
	case 0:
	case 1:
	case 2:
		ret = lath_index_insert_item(&list, &item, NULL);
		count += !ret;
		break;
	case 3:
	case 4:
	case 5:
		ret = lath_index_erase_item_at(&list, item.key, NULL);
		count -= !ret;
		break;
	case 6:
		ret = lath_index_resize(&list, item.key, 1 + below(6));
		break;
	case 7:
		count -= lath_index_erase_range(&list, item.key, 1 + below(6), NULL, NULL);
		break;
	case 8:
		ret = lath_index_insert_hole(&list, &want, 7, &item.key);
		count += !ret;
		break;
	default:
		ret = lath_index_find_hole(&list, &want, &item.key);
		break;
	}
	if (ret && ret != -EEXIST && ret != -ENOENT && ret != -ENOSPC && ret != -ENOMEM) {
		fprintf(stderr, "interleaved_test: a call said %d\n", ret);
		faults++;
	}
}

static void others(const char *point)
{
	uint64_t n;

	if (inside || !bursts || below(2) || !lock_free(point))
		return;
	inside = true;
	bursts--;
	for (n = 1 + below(6); n; n--, between++)
		one_call();
	inside = false;
}

static void one_list(uint64_t seed)
{
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = LATH_CONFIG_INIT;
	char report[200] = "";
	unsigned int i;

	state = seed * 0x9e3779b97f4a7c15ull;
	universe = 8 + below(8) * below(8);
	count = 0;
	holes = below(4);
	config.flags = (holes ? LATH_HOLES : 0) | (below(4) ? LATH_NODE_EACH : 0);
	config.allocator = &allocator;
	failing.fail_at = 0;
	if (lath_index_init(&list, &config)) {
		faults++;
		return;
	}
	for (i = 0; i < CALLS && !faults; i++) {
		failing.fail_at = below(8) ? 0 : failing.calls + 1 + below(2);
		one_call();
		inside = true;
		failing.fail_at = 0;
		if (lath_index_verify(&list, 5, report, sizeof(report)) ||
		    lath_index_count(&list) != (uint64_t)count) {
			fprintf(stderr,
				"interleaved_test: seed %llu, call %u: %s (%llu items, not %ld)\n",
				(unsigned long long)seed, i, report,
				(unsigned long long)lath_index_count(&list), count);
			faults++;
		}
		inside = false;
	}
	inside = true;
	lath_index_fini(&list, NULL, NULL);
	inside = false;
}

/* ---- found by the above, or by other means, and played again ---- */

static void insert_keys(const uint64_t *keys, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct lath_item item = { keys[i], 1, 7 };

		faults += lath_index_insert_item(&list, &item, NULL) != 0;
	}
}

static void append_once(const char *point)
{
	if (!strcmp(point, "erased, summaries not yet raised") && !inside) {
		inside = true;
		insert_keys((const uint64_t[]){ 55, 75 },
			    2); /* fills the leaf; begins the next one */
	}
}

/* The last item of a leaf is erased, and before its hole is claimed a new leaf takes over its key:
 * the claim of the old leaf that its items end there must not stay. */
static void fence_moves(void)
{
	struct lath_hole_request want = { .size = 15, .low = 51, .high = 80 };
	struct lath_config config = LATH_CONFIG_INIT;
	char report[200] = "";
	uint64_t key;

	config.flags = LATH_HOLES;
	inside = false;
	if (lath_index_init(&list, &config)) {
		faults++;
		return;
	}
	insert_keys((const uint64_t[]){ 10, 20, 30, 40, 50, 60, 70, 80 }, 8);
	if (lath_index_find_hole(&list, &want, &key) != -ENOSPC) /* now 80 is claimed */
		faults++;
	lath_delay_hook = append_once;
	if (lath_index_erase_item(&list, 80, NULL) || !inside ||
	    lath_index_verify(&list, 5, report, sizeof(report))) {
		fprintf(stderr, "interleaved_test: fence_moves: %s\n", report);
		faults++;
	}
	lath_delay_hook = NULL;
	lath_index_fini(&list, NULL, NULL);
	inside = false;
}

int main(int argc, char **argv)
{
	unsigned long lists = argc > 1 ? strtoul(argv[1], NULL, 0) : 800;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	unsigned long i;

	if (getenv("LATH_LONG"))
		lists *= 100;
	fence_moves();
	lath_delay_hook = others;
	for (i = 0; i < lists && !faults; i++)
		one_list(seed + i);
	printf("interleaved_test: %lu lists, %lu calls between the steps of others, %lu times no "
	       "memory, %lu "
	       "faults\n",
	       i, between, failing.failures, faults);
	return faults || !between || !failing.failures || failing.outstanding;
}
