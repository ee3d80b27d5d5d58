/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * linux_ranges.c - after the range locks that were proposed for Linux (J. Kara, "Implement range
 * locks", 2013): a range counts those in the tree that conflict with it when it comes, and waits
 * until all of them have left; who leaves takes one off the counts of those that came later. The
 * tree is the kernel's. A range that waits looks at its count and gives up the processor.
 */
#include <sched.h>
#include <stdlib.h>

#include <linux/rbtree.h>
#include <linux/rbtree_augmented.h>
#include <linux/interval_tree_generic.h>

#include "linux_ranges.h"
#include "subjects/spin.h"

struct range {
	struct rb_node rb;
	uint64_t first, last, largest;
	uint64_t number; /* in order of arrival */
	uint64_t blockers;
	int exclusive;
};
_Static_assert(sizeof(struct range) <= LINUX_RANGE_BYTES, "a hold");

#define FIRST(node) ((node)->first)
#define LAST(node) ((node)->last)
INTERVAL_TREE_DEFINE(struct range, rb, uint64_t, largest, FIRST, LAST, static, range)

struct linux_ranges {
	struct bench_spin lock;
	struct rb_root_cached root;
	uint64_t number;
};

struct linux_ranges *linux_ranges_new(void)
{
	struct linux_ranges *ranges = aligned_alloc(64, sizeof(*ranges));

	if (!ranges)
		abort();
	*ranges = (struct linux_ranges){ .root = RB_ROOT_CACHED };
	return ranges;
}

void linux_ranges_free(struct linux_ranges *ranges)
{
	free(ranges);
}

void linux_ranges_lock(struct linux_ranges *ranges, void *hold, uint64_t first, uint64_t last,
		       int exclusive)
{
	struct range *range = hold, *other;
	unsigned int looks = 0;

	range->first = first;
	range->last = last;
	range->exclusive = exclusive;
	range->blockers = 0;
	bench_spin_lock(&ranges->lock);
	range->number = ranges->number++;
	for (other = range_iter_first(&ranges->root, first, last); other;
	     other = range_iter_next(other, first, last))
		range->blockers += exclusive || other->exclusive;
	range_insert(range, &ranges->root);
	bench_spin_unlock(&ranges->lock);
	/* acquire pairs with the release in linux_ranges_unlock */
	while (__atomic_load_n(&range->blockers, __ATOMIC_ACQUIRE)) {
		bench_spin_pause();
		if (++looks % 128 == 0)
			sched_yield();
	}
}

void linux_ranges_unlock(struct linux_ranges *ranges, void *hold)
{
	struct range *range = hold, *other;

	bench_spin_lock(&ranges->lock);
	range_remove(range, &ranges->root);
	for (other = range_iter_first(&ranges->root, range->first, range->last); other;
	     other = range_iter_next(other, range->first, range->last))
		if (other->number > range->number && (range->exclusive || other->exclusive))
			/* release pairs with the acquire in linux_ranges_lock */
			__atomic_fetch_sub(&other->blockers, 1, __ATOMIC_RELEASE);
	bench_spin_unlock(&ranges->lock);
}
