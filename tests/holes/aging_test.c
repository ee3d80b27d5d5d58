/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * aging_test.c - how many nodes a search for a hole looks at, and how much summaries promise beyond
 * what is there, in spaces that are kept full for long.
 *
 * A space is filled, and then ages: a request that would make it fuller than this many percent
 * frees ranges at random before, and 16 refusals in a row free one. The counts are those of the
 * index and depend on no clock, and the requests on no seed from outside: each run is the same.
 *
 *   nodes   that 999 of 1,000 requests look at: at most 4 per level and 8. With less than 64
 *           entries per node, which only tests have, a search climbs more often, and this is not
 *           judged
 *   slack   summaries that promise more than there is (src/tree/watch/gap.h). A change takes place
 *           in one leaf. So it loosens that leaf's summary at most, and on each level above the
 *           entry of the region and that of the next one, which has the run in front of it: 2 per
 *           level, less 1. A search that finds nothing lowers the promises that it met. So
 *           after searches of all sizes and alignments hardly any is loose: some first
 *           regions of inner nodes, and entries of leaves in which the run at an end serves
 * whatever the entry promises (1 for 5 inner nodes was measured, 1 for 4 is allowed). The run over
 * the border of two inner nodes is promised further up; a request that it serves does not come to
 * search the region behind it. One round is not enough: a search that meets an end of a run that is
 * out of date corrects that and goes on behind it, and a later one lowers the region
 *
 * LATH_LONG=1: ten times more requests.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/hole.h"
#include "tree/watch/gap.h"

#define PATIENCE 16u	/* requests refused in a row before a range is freed for them */
#define MOST_NODES 256u /* no search comes near it; the program ends at once */
#define CHANGES 20u	/* whose slack is measured one by one */
#define VAIN_ROUNDS 8u

#if NODE_CAP < 64
#define SHARE 4u
#else
#define SHARE LATH_PART
#endif

static struct lath_index list;

/* ---- the workloads ---- */

static uint64_t state;

#define below(n) draw(&state, n)

static void draw_mixed(struct lath_hole_request *want)
{
	uint64_t top = 1ull << below(10);

	want->size = top - below((top + 1) / 2);
	want->align = below(4) ? top : 1ull << below(10);
}

static void draw_power(struct lath_hole_request *want)
{
	want->size = want->align = 1ull << below(10);
}

static void draw_one(struct lath_hole_request *want)
{
	want->size = want->align = 1;
}

static const struct sizes {
	const char *name;
	void (*draw)(struct lath_hole_request *want);
	uint64_t units; /* of the space */
} sizes[] = {
	{ "1..512", draw_mixed, (1ull << 20) / SHARE },
	{ "powers", draw_power, (1ull << 20) / SHARE },
	{ "4k", draw_one, (1ull << 16) / SHARE },
};

/* BEST has no place here as long as it looks at every leaf that may hold the request. */
static const struct policy {
	const char *name;
	enum lath_hole_policy policy;
} policies[] = {
	{ "first", LATH_HOLE_FIRST }, { "last", LATH_HOLE_LAST },   { "near", LATH_HOLE_NEAR },
	{ "next", LATH_HOLE_NEXT },   { "exact", LATH_HOLE_EXACT },
};

static const unsigned int percents[] = { 90, 98 };

/* ---- a space ---- */

static struct {
	const struct sizes *sizes;
	const struct policy *policy;
	uint64_t most, used; /* units */
	struct lath_item *held;
	size_t count;
	struct lath_item last_taken, last_freed;
	unsigned int refused; /* in a row */
} space;

static unsigned long nodes_of[MOST_NODES];

static uint64_t nodes_so_far(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i <= tree_of(&list)->stripe_mask; i++)
		sum += READ_ONCE(tree_of(&list)->stripe[i].searched);
	return sum;
}

static void must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "aging_test: %s\n", what);
	exit(1);
}

static void free_one(void)
{
	size_t i = below(space.count);

	space.last_freed = space.held[i];
	space.held[i] = space.held[--space.count];
	space.used -= space.last_freed.size;
	must(!lath_index_erase_item(&list, space.last_freed.key, NULL), "a held range is gone");
}

/* Where a policy that needs a hint begins: EXACT at a place that was freed, or anywhere. */
static uint64_t draw_hint(const struct lath_hole_request *want)
{
	uint64_t places = (space.sizes->units - want->size) / want->align;

	switch (want->policy) {
	case LATH_HOLE_NEXT:
		return space.last_taken.key + space.last_taken.size;
	case LATH_HOLE_EXACT:
		if (below(2) && space.last_freed.key <= places * want->align)
			return (space.last_freed.key + want->align - 1) & ~(want->align - 1);
		break;
	default:
		break;
	}
	return want->align * below(places + 1);
}

static bool take(const struct lath_hole_request *want)
{
	struct lath_item item = { 0, want->size, 1 };
	int ret = lath_index_insert_hole(&list, want, item.value, &item.key);

	must(!ret || ret == -ENOSPC, "insert_hole failed");
	if (ret)
		return false;
	space.last_taken = space.held[space.count++] = item;
	space.used += item.size;
	return true;
}

/* One request, and before it what makes room for it. */
static void request(void)
{
	struct lath_hole_request want = { .high = space.sizes->units,
					  .policy = space.policy->policy };
	uint64_t before, nodes;
	bool taken;

	space.sizes->draw(&want);
	while (space.used + want.size > space.most)
		free_one();
	want.hint = draw_hint(&want);
	before = nodes_so_far();
	taken = take(&want);
	nodes = nodes_so_far() - before;
	must(nodes < MOST_NODES, "a search looked at hundreds of nodes");
	nodes_of[nodes]++;
	if (!taken && want.policy == LATH_HOLE_EXACT) { /* the space stays full all the same */
		want.policy = LATH_HOLE_FIRST;
		taken = take(&want);
	}
	space.refused = taken ? 0 : space.refused + 1;
	if (space.refused == PATIENCE) {
		space.refused = 0;
		free_one();
	}
}

static void fill(void)
{
	struct lath_hole_request want = { .high = space.sizes->units };

	for (;;) {
		space.sizes->draw(&want);
		if (space.used + want.size > space.most || !take(&want))
			return;
	}
}

static void age(unsigned long requests)
{
	memset(nodes_of, 0, sizeof(nodes_of));
	while (requests--)
		request();
}

/* The number of nodes that this share of the requests did not exceed. */
static unsigned int quantile(double share)
{
	unsigned long sum = 0, all = 0;
	unsigned int n;

	for (n = 0; n < MOST_NODES; n++)
		all += nodes_of[n];
	for (n = 0; n < MOST_NODES - 1; n++) {
		sum += nodes_of[n];
		if ((double)sum >= share * (double)all)
			break;
	}
	return n;
}

/* ---- slack ---- */

struct slack {
	unsigned long long summaries, loose;
};

/* No thread changes the index and no node lacks a downlink, so level 6 refuses any summary that
 * says "unknown". */
static struct slack measure_slack(void)
{
	struct lath_index_stats stats;
	struct slack slack = { 0 };
	char text[200] = "";

	lath_index_get_stats(&list, &stats);
	must(!stats.no_downlink, "a node has no downlink");
	if (lath_index_verify(&list, 6, text, sizeof(text)))
		must(false, text);
	must(sscanf(text, "summaries %llu, that promise more than there is: %llu", &slack.summaries,
		    &slack.loose) == 2,
	     text);
	return slack;
}

/* Ask for all places of this size and alignment, one after the other: between two, nothing in the
 * tree fits. Upwards by NEXT, for a search for the first place would begin where the last one
 * ended. Returns false if there is none. */
static bool search_all(uint64_t size, uint64_t align, bool up)
{
	struct lath_hole_request want = { .size = size,
					  .align = align,
					  .high = space.sizes->units,
					  .policy = up ? LATH_HOLE_NEXT : LATH_HOLE_LAST };
	struct lath_item item;
	bool some = false;
	uint64_t key;

	while (want.low < want.high && !lath_index_find_hole(&list, &want, &key)) {
		some = true;
		if (up && lath_index_ceiling_item(&list, key, &item))
			break;
		if (!up && lath_index_floor_item(&list, key, &item))
			break;
		if (up)
			want.low = want.hint = item.key + item.size;
		else
			want.high = item.key;
	}
	return some;
}

static void search_in_vain(bool up)
{
	uint64_t align, size;

	for (align = 1; align <= 1ull << 31; align *= 2)
		for (size = 1; search_all(size, align, up); size++)
			;
}

/* Searches that find nothing, round after round, until they have lowered what they can. Returns how
 * many summaries are loose still. */
static unsigned long long lower_all(unsigned long long few)
{
	unsigned long long loose;
	unsigned int rounds = 0;

	do {
		search_in_vain(rounds++ % 2);
		loose = measure_slack().loose;
	} while (loose > few && rounds < VAIN_ROUNDS);
	return loose;
}

/* The most summaries that one change loosens. */
static unsigned long long most_loosened(void)
{
	unsigned long long before = measure_slack().loose, after, most = 0;
	unsigned int i;

	for (i = 0; i < CHANGES; i++, before = after) {
		if (i % 2)
			request();
		else
			free_one();
		after = measure_slack().loose;
		most = max(most, after > before ? after - before : 0);
	}
	return most;
}

/* ---- */

static void space_init(const struct sizes *of, unsigned int percent, const struct policy *policy)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.flags = LATH_HOLES;
	must(!lath_index_init(&list, &config), "init failed");
	memset(&space, 0, sizeof(space));
	space.sizes = of;
	space.policy = policy;
	space.most = of->units * percent / 100;
	space.held = calloc(of->units, sizeof(*space.held));
	must(space.held, "no memory");
	state = 0x9e3779b97f4a7c15ull;
}

/* Returns whether all is as the first comment says. */
static bool one_case(const struct sizes *of, unsigned int percent, const struct policy *policy)
{
	unsigned long requests = (getenv("LATH_LONG") ? 500000 : 50000) / SHARE;
	struct lath_index_stats stats;
	unsigned long long few, left, loosened;
	unsigned int levels, nodes;
	struct slack aged;
	bool right;

	space_init(of, percent, policy);
	fill();
	age(requests);
	age(requests);
	nodes = quantile(0.999);
	lath_index_get_stats(&list, &stats);
	levels = (unsigned int)stats.levels;
	aged = measure_slack();
	printf("%-6s %u %% %-5s: %5zu ranges, %u levels; nodes: half %2u, 99 %% %2u, 99.9 %% %2u, "
	       "all %2u; loose: %3llu of %llu",
	       of->name, percent, policy->name, space.count, levels, quantile(0.5), quantile(0.99),
	       nodes, quantile(1), aged.loose, aged.summaries);
	few = stats.inner_nodes / 4 + 1;
	right = NODE_CAP < 64 || nodes <= 4 * levels + 8;
	if (right) { /* else the searches that find nothing would take minutes */
		left = lower_all(few);
		loosened = most_loosened();
		right = left <= few && loosened <= 2 * levels - 1;
		printf(", then %llu; %llu by a change", left, loosened);
	}
	printf("%s\n", right ? "" : ": TOO MANY");
	free(space.held);
	lath_index_fini(&list, NULL, NULL);
	return right;
}

int main(void)
{
	unsigned int s, p, i, bad = 0;

	for (s = 0; s < ARRAY_SIZE(sizes); s++)
		for (p = 0; p < ARRAY_SIZE(percents); p++)
			for (i = 0; i < ARRAY_SIZE(policies); i++)
				bad += !one_case(&sizes[s], percents[p], &policies[i]);
	return bad != 0;
}
