/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - whole calls between two steps of a change of a number in a store.
 *
 * The index is built with its delay points. Where a change has found a leaf and not yet locked it,
 * another thread's calls are made: each script at the first such point, the second, and so on.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lathwork/store.h"

#define KEY 1001u /* between two others in a batch */

extern void (*lath_delay_hook)(const char *point);

static struct lath_store *store;
static const char *script; /* what is left of the other calls: at each point one is made */
static unsigned int skip;  /* points before the first of them */
static bool inside;

static const char theirs[] = "another thread's value";
static const char ours[] = "this thread's value";

/* '+': the key is set; '-': it is deleted; '.': nothing happens. */
static void disturb(const char *point)
{
	static const char *const unlocked[] = { "located, not yet locked", "descend: leaf found",
						"finger: leaf found" };
	bool free = false;
	size_t i;

	for (i = 0; i < sizeof(unlocked) / sizeof(unlocked[0]); i++)
		free |= !strcmp(point, unlocked[i]);
	if (inside || !free)
		return;
	if (skip) {
		skip--;
		return;
	}
	if (!*script)
		return;
	inside = true;
	if (*script == '+')
		assert(!lath_store_set(store, lath_key_number(KEY), theirs, sizeof(theirs)));
	else if (*script == '-')
		assert(!lath_store_delete(store, lath_key_number(KEY)));
	inside = false;
	script++;
}

static void check_empty(void)
{
	struct lath_store_stats stats;

	lath_rcu_auto.drain();
	assert(lath_store_compact(store) >= 0);
	lath_rcu_auto.drain();
	assert(!lath_store_get_stats(store, &stats));
	assert(!stats.items && !stats.record_bytes && !stats.pending_bytes && !stats.lost_bytes);
}

/* One change of the key, which is there or not, beside the other calls. Returns whether all of them
 * were made. */
static bool change_beside(bool there, bool batch, const char *calls, unsigned int from)
{
	struct lath_store_entry entries[3];
	char value[64];
	int results[3], i;
	bool all;

	if (there)
		assert(!lath_store_set(store, lath_key_number(KEY), "before", 6));
	script = calls;
	skip = from;
	lath_delay_hook = disturb;
	if (batch) {
		for (i = 0; i < 3; i++)
			entries[i] = (struct lath_store_entry){
				lath_key_number(KEY - 1 + (unsigned int)i), ours, sizeof(ours), 0
			};
		assert(lath_store_mset(store, 3, entries, results) == 3);
		assert(!results[0] && !results[1] && !results[2]);
	} else {
		assert(!lath_store_set(store, lath_key_number(KEY), ours, sizeof(ours)));
	}
	lath_delay_hook = NULL;
	all = !*script;
	/* the value is there, unless the other calls were made in part and came after it */
	i = (int)lath_store_get(store, lath_key_number(KEY), value, sizeof(value));
	if (i < 0)
		assert(i == -ENOENT && script > calls && script[-1] == '-');
	else if (i == (int)sizeof(theirs))
		assert(script > calls && !memcmp(value, theirs, sizeof(theirs)));
	else
		assert(i == (int)sizeof(ours) && !memcmp(value, ours, sizeof(ours)));
	for (i = 0; i < 3; i++) {
		int ret = lath_store_delete(store, lath_key_number(KEY - 1 + (unsigned int)i));

		assert(!ret || ret == -ENOENT);
	}
	check_empty();
	return all;
}

int main(void)
{
	static const char *const there[] = { "-", "-+", "-+-", "-+-+", "+", "+-", "-.+" },
				 *const gone[] = { "+", "+-", "+-+", "+-+-", "+.-" };
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	unsigned int i, from, batch, scripts = 0;

	assert(!lath_store_open(&store, "mem:", &options));
	for (batch = 0; batch < 2; batch++) {
		for (i = 0; i < sizeof(there) / sizeof(there[0]); i++)
			for (from = 0; change_beside(true, batch, there[i], from); from++)
				scripts++;
		for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
			for (from = 0; change_beside(false, batch, gone[i], from); from++)
				scripts++;
	}
	lath_store_close(store);
	printf("interleaved_test: other calls at %u points\n", scripts);
	assert(scripts > 20);
	return 0;
}
