/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ranks_interleaved_test.c - rank, select and count_range between two steps of other calls, and
 * other calls between two of their steps.
 *
 * One thread plays them at the library's delay points where no lock is held, so every run can be
 * repeated by its seed. Tiny nodes; now and then no memory, so that nodes stay without a downlink.
 * A key is sure (its item must be counted), possible (it may be: a call about it is under way, or
 * was during the question), or neither. Each answer must lie between the sure and the possible
 * ones; between calls it must be exact. ranks_interleaved_test [indexes [first seed]]; LATH_LONG=1:
 * ten times more.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/random.h"
#include "lathwork/index.h"
#include "base/failing.h"

extern void (*lath_delay_hook)(const char *point);

#define CALLS 300 /* an index */
#define KEYS 700u

struct knowledge {
	bool sure[KEYS], possible[KEYS];
};

static struct lath_index list;
static struct failing failing;
static struct knowledge now, asked; /* asked: since the question under way began */
static unsigned int under_way[KEYS];
static bool inside;
static uint64_t state, universe, at;
static unsigned int bursts;
static unsigned long between, answers;

#define below(n) draw(&state, n)

/* Calls about the keys [first, last] begin, end. */
static void begins(uint64_t first, uint64_t last)
{
	for (uint64_t k = first; k <= last; k++) {
		under_way[k]++;
		now.sure[k] = asked.sure[k] = false;
		now.possible[k] = asked.possible[k] = true;
	}
}

static void ends(uint64_t first, uint64_t last)
{
	for (uint64_t k = first; k <= last; k++) {
		struct lath_item item;

		if (!--under_way[k])
			now.sure[k] = now.possible[k] =
				!lath_index_lookup_item(&list, k, &item) && item.key == k;
	}
}

static int64_t sum(const bool *set, uint64_t first, uint64_t end)
{
	int64_t n = 0;

	for (uint64_t k = first; k < end && k < KEYS; k++)
		n += set[k];
	return n;
}

/* `answer` items of [first, end) were counted. */
static void judge(const struct knowledge *known, const char *what, int64_t answer, uint64_t first,
		  uint64_t end)
{
	int64_t least = sum(known->sure, first, end), most = sum(known->possible, first, end);

	answers++;
	if (answer < least || answer > most)
		FAULT("%s [%llu, %llu): %lld, not from %lld to %lld\n", what,
		      (unsigned long long)first, (unsigned long long)end, (long long)answer,
		      (long long)least, (long long)most);
}

static void select_one(const struct knowledge *known, uint64_t rank)
{
	struct lath_item found = { 0 };
	int ret = lath_index_select(&list, rank, &found);

	if (ret && ret != -ENOENT) {
		FAULT("select said %d\n", ret);
	} else if (ret) {
		answers++;
		if (sum(known->sure, 0, KEYS) > (int64_t)rank)
			FAULT("no item %llu\n", (unsigned long long)rank);
	} else if (found.key >= KEYS || !known->possible[found.key]) {
		FAULT("select found %llu, which was not there\n", (unsigned long long)found.key);
	} else {
		judge(known, "select", (int64_t)rank, 0, found.key);
	}
}

static void question(const struct knowledge *known)
{
	uint64_t first = below(universe), last = below(4) ? first + below(universe) : below(KEYS);

	switch (below(4)) {
	case 0:
		judge(known, "rank", lath_index_rank(&list, first), 0, first);
		break;
	case 1:
		judge(known, "count_range", lath_index_count_range(&list, first, last), first,
		      last + 1);
		break;
	case 2:
		judge(known, "count", (int64_t)lath_index_count(&list), 0, KEYS);
		break;
	default:
		select_one(known, below(universe));
		break;
	}
}

static void change(uint64_t key)
{
	struct lath_item item = { key, 1 + below(3), 7 };
	uint64_t first = key > 3 ? key - 3 : 0, last = key + 16, size = 1 + below(12);
	int64_t ret = 0;

	begins(first, last);
	switch (below(8)) {
	case 0:
	case 1:
	case 2:
		ret = lath_index_insert_item(&list, &item, NULL);
		break;
	case 3:
	case 4:
		ret = lath_index_erase_item_at(&list, key, NULL);
		break;
	case 5:
		ret = lath_index_resize(&list, key, 1 + below(3));
		break;
	case 6:
		ret = lath_index_split(&list, key, 8);
		break;
	default:
		if (below(2))
			ret = lath_index_erase_range(&list, key, size, NULL, NULL);
		else
			ret = lath_index_store_range(&list, &item, NULL, NULL);
		break;
	}
	ends(first, last);
	if (ret < 0 && ret != -EEXIST && ret != -ENOENT && ret != -ENOMEM)
		FAULT("a change said %lld\n", (long long)ret);
}

static uint64_t some_key(void)
{
	uint64_t key = inside && below(4) ? at + below(12) : below(universe);

	if (inside)
		key -= key < 6 ? key : 6;
	return key < universe ? key : universe - 1;
}

/* No lock is held there. */
static bool lock_free(const char *point)
{
	static const char *const points[] = {
		"ranks: node passed",
		"items changed, counts not yet outdated",
		"erased, summaries not yet raised",
		"leaves changed, separators not yet posted",
		"inner node split, right half not yet posted",
		"descend: leaf found",
	};
	size_t i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(point, points[i]))
			return true;
	return false;
}

static void others(const char *point)
{
	uint64_t n;

	if (inside || !bursts || !lock_free(point))
		return;
	inside = true;
	bursts--;
	for (n = 1 + below(5); n; n--, between++) {
		if (below(3))
			change(some_key());
		else
			question(&now);
	}
	inside = false;
}

static void outer_call(void)
{
	at = some_key();
	bursts = (unsigned int)below(6);
	if (below(3)) {
		change(at);
		return;
	}
	asked = now;
	question(&asked);
}

static void check_quiet(uint64_t seed, unsigned int call)
{
	char report[200] = "";
	unsigned long before = faults;

	inside = true;
	if (lath_index_verify(&list, 6, report, sizeof(report)))
		FAULT("%s\n", report);
	if (call % 4 == 0)
		question(&now);
	if (faults > before)
		FAULT("seed %llu, call %u\n", (unsigned long long)seed, call);
	inside = false;
}

static void one_index(uint64_t seed)
{
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;

	state = seed * 0x9e3779b97f4a7c15ull;
	universe = 16 + below(8) * below(80);
	memset(&now, 0, sizeof(now));
	config.flags = LATH_RANKS | (below(4) ? LATH_NODE_EACH : 0);
	config.allocator = &allocator;
	failing.fail_at = 0;
	if (lath_index_init(&list, &config)) {
		FAULT("no index\n");
		return;
	}
	for (i = 0; i < CALLS && !faults; i++) {
		failing.fail_at = below(8) ? 0 : failing.calls + 1 + below(2);
		outer_call();
		failing.fail_at = 0;
		check_quiet(seed, i);
	}
	inside = true;
	lath_index_fini(&list, NULL, NULL);
	inside = false;
}

int main(int argc, char **argv)
{
	unsigned long indexes = argc > 1 ? strtoul(argv[1], NULL, 0) : 2400 / LATH_PART, i;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	if (getenv("LATH_LONG"))
		indexes *= 10;
	lath_delay_hook = others;
	for (i = 0; i < indexes && !faults; i++)
		one_index(seed + i);
	printf("ranks_interleaved: %lu indexes, %lu calls between the steps of others, %lu "
	       "answers, "
	       "%lu times no memory, %lu faults\n",
	       i, between, answers, failing.failures, faults);
	return faults || !between || !failing.failures || failing.outstanding;
}
