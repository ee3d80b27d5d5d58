/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lost_race_test.c - what a space makes on first use, made by another call in the meantime.
 *
 * The library holds no lock while it allocates memory, so any call may run then. This allocator
 * makes calls on the same space in the middle of the n-th allocation of a script, for each n: what
 * the script was about to add is there already when it comes to add it. In a second sweep the
 * allocation fails after that. The script's results stay right, and no memory is left.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/space.h"
#include "base/failing.h"

#define UNIT 16ull
#define END (6 * 4096 * UNIT)
#define BELOW (2 * 4096 * UNIT)
#define SECOND (1ull << 40)

static struct {
	struct failing memory;
	struct lath_space *space;
	unsigned long calls, at; /* allocations of the script; the one in which others run */
	bool inside, fails;
	u64 kept; /* keys that the other calls have taken */
} t;

/* The other calls: each thing that is made on first use, made. */
static void others(void)
{
	uint64_t key;
	int i, ret;

	for (i = 0; i < 3; i++) {
		if (!lath_space_alloc(t.space, UNIT, 0, 7, &key))
			t.kept += UNIT;
		if (!lath_space_alloc(t.space, 64 * UNIT, 0, 7, &key))
			t.kept += 64 * UNIT;
		if (!lath_space_alloc(t.space, 3000 * UNIT, 0, 7, &key))
			assert(!lath_space_free(t.space, key, 3000 * UNIT));
	}
	ret = lath_space_add_segment(t.space, SECOND, 4096 * UNIT, 0);
	assert(ret == 1 || ret == -EEXIST);
	if (!lath_space_alloc_in(t.space, 1u << 1, UNIT, 0, 7, &key))
		t.kept += UNIT;
}

static void *alloc(void *ctx, size_t size, size_t align)
{
	void *block;

	if (!t.inside && t.space && ++t.calls == t.at) {
		t.inside = true;
		others();
		t.inside = false;
		if (t.fails)
			return NULL;
	}
	block = failing_alloc(ctx, size, align);
	return block;
}

static u64 allocated(void)
{
	struct lath_space_stats stats;

	lath_space_get_stats(t.space, &stats);
	return stats.allocated;
}

/* Frees all that is allocated; returns how many keys that was. */
static u64 free_all(void)
{
	struct lath_item run;
	u64 sum = 0;

	while (!lath_space_next(t.space, 0, &run)) {
		int ret = lath_space_free(t.space, run.key, run.size);

		/* a run may consist of two ranges of the index, of which one has to be split */
		assert(!ret);
		sum += run.size;
	}
	return sum;
}

/* Calls that make everything. What is taken is what the statistics say. */
static void script(unsigned int flags)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_allocator allocator = { alloc, failing_free, &t.memory };
	struct lath_space *space;
	u64 taken = 0;
	uint64_t key;
	int i, ret;

	t.space = NULL;
	t.calls = t.kept = 0;
	config.high = END;
	config.unit = UNIT;
	config.below = BELOW;
	config.flags = flags;
	config.allocator = &allocator;
	assert(!lath_space_create(&space, &config));
	t.space = space;
	for (i = 0; i < 5; i++) {
		static const u64 units[] = { 1, 8, 5, 256, 2000 };

		ret = lath_space_alloc(space, units[i] * UNIT, 0, 1, &key);
		assert(!ret || (t.fails && ret == -ENOMEM));
		taken += ret ? 0 : units[i] * UNIT;
	}
	ret = lath_space_add_segment(space, SECOND, 4096 * UNIT, 0);
	assert(ret == 1 || ret == -EEXIST || (t.fails && ret == -ENOMEM));
	if (ret != -ENOMEM) {
		ret = lath_space_alloc_in(space, 1u << 1, 40 * UNIT, 0, 1, &key);
		assert(!ret || (t.fails && ret == -ENOMEM));
		taken += ret ? 0 : 40 * UNIT;
	}
	ret = lath_space_reserve(space, END - 4100 * UNIT, 4100 * UNIT, 1);
	assert(!ret || ret == -EBUSY || (t.fails && ret == -ENOMEM));
	taken += ret ? 0 : 4100 * UNIT;
	t.inside = true; /* no further other calls */
	assert(allocated() == taken + t.kept);
	assert(!lath_space_verify(space, NULL, 0));
	assert(free_all() == taken + t.kept);
	lath_space_trim(space);
	assert(!allocated() && !lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
	t.inside = false;
	lath_rcu_auto.drain();
	assert(!__atomic_load_n(&t.memory.outstanding, __ATOMIC_RELAXED));
}

static unsigned long sweep(unsigned int flags, bool fails)
{
	unsigned long all, times = 0;

	t.at = 0;
	t.fails = false;
	script(flags);
	all = t.calls;
	assert(all > 3);
	t.fails = fails;
	for (t.at = 1; t.at <= all + 2; t.at++, times++)
		script(flags);
	return times;
}

int main(void)
{
	unsigned long times = 0;
	unsigned int flags;

	for (flags = 0; flags < 32; flags++) {
		times += sweep(flags, false);
		times += sweep(flags, true);
	}
	printf("lost_race_test: other calls within %lu allocations\n", times);
	return 0;
}
