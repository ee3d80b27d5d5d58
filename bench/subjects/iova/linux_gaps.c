// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * linux_gaps.c - the red-black tree of linux_iova.c, in which each node also has the longest gap of
 * its subtree, behind one spinlock.
 *
 * Written from the description of patches that were sent to linux-iommu in May 2026 ("iova
 * augmented rbtree O(log n) alloc_iova"). The gap of a range is the free space just below it; a
 * range that is never freed ends the space. A search goes down from the root to the highest gap
 * below the limit that has an aligned place. It skips subtrees without a gap of that length, and
 * those that lie above the limit. It visits each gap that is long enough but has no aligned place.
 */
#include <stdlib.h>

#include <linux/rbtree_augmented.h>

#include "linux_iova.h"
#include "subjects/spin.h"

struct range {
	struct rb_node node;
	uint64_t first, last;
	uint64_t gap, longest; /* pages; longest: of the gaps in the subtree */
};

struct linux_gaps {
	struct bench_spin lock;
	struct rb_root root;
	struct range end; /* above all others */
	uint64_t used;
};

static struct range *range_of(struct rb_node *node)
{
	return rb_entry(node, struct range, node);
}

#define GAP_OF(range) ((range)->gap)
RB_DECLARE_CALLBACKS_MAX(static, longest_gap, struct range, node, uint64_t, longest, GAP_OF)

static void insert(struct linux_gaps *gaps, struct range *range)
{
	struct rb_node **link = &gaps->root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = range->first < range_of(parent)->first ? &parent->rb_left
							      : &parent->rb_right;
	}
	range->longest = range->gap;
	rb_link_node(&range->node, parent, link);
	longest_gap_propagate(parent, NULL);
	rb_insert_augmented(&range->node, &gaps->root, &longest_gap);
}

static void set_gap(struct range *range, uint64_t gap)
{
	range->gap = gap;
	longest_gap_propagate(&range->node, NULL);
}

struct linux_gaps *linux_gaps_new(uint64_t first, uint64_t end)
{
	struct linux_gaps *gaps = aligned_alloc(64, (sizeof(*gaps) + 63) / 64 * 64);

	if (!gaps)
		abort();
	*gaps = (struct linux_gaps){ .root = RB_ROOT };
	gaps->end.first = gaps->end.last = end;
	gaps->end.gap = end - first;
	insert(gaps, &gaps->end);
	return gaps;
}

void linux_gaps_free_all(struct linux_gaps *gaps)
{
	struct range *range, *next;

	rbtree_postorder_for_each_entry_safe(range, next, &gaps->root, node)
	{
		if (range != &gaps->end)
			free(range);
	}
	free(gaps);
}

/* Finds the highest aligned place below the limit in the gaps of the subtree. Returns the range
 * above that gap, or NULL. */
static struct range *search(struct rb_node *node, uint64_t limit, uint64_t pages, uint64_t align,
			    uint64_t *first)
{
	while (node && range_of(node)->longest >= pages) {
		struct range *range = range_of(node), *above;
		uint64_t floor = range->first - range->gap;
		uint64_t top = range->first < limit ? range->first : limit;

		if (range->last + 1 < limit) {
			above = search(node->rb_right, limit, pages, align, first);
			if (above)
				return above;
		}
		if (top >= pages && ((top - pages) & ~(align - 1)) >= floor) {
			*first = (top - pages) & ~(align - 1);
			return range;
		}
		node = node->rb_left;
	}
	return NULL;
}

int linux_gaps_alloc(struct linux_gaps *gaps, uint64_t limit, uint64_t pages, uint64_t align,
		     uint64_t *first)
{
	struct range *range = malloc(sizeof(*range)), *above;

	if (!range)
		abort();
	bench_spin_lock(&gaps->lock);
	above = search(gaps->root.rb_node, limit, pages, align, first);
	if (above) {
		range->first = *first;
		range->last = *first + pages - 1;
		range->gap = range->first - (above->first - above->gap);
		set_gap(above, above->first - range->last - 1);
		insert(gaps, range);
		gaps->used += pages;
	}
	bench_spin_unlock(&gaps->lock);
	if (!above)
		free(range);
	return above != NULL;
}

static struct range *find(struct linux_gaps *gaps, uint64_t first)
{
	struct rb_node *node = gaps->root.rb_node;

	while (node && range_of(node)->first != first)
		node = first < range_of(node)->first ? node->rb_left : node->rb_right;
	if (!node)
		abort();
	return range_of(node);
}

void linux_gaps_free(struct linux_gaps *gaps, uint64_t first)
{
	struct range *range, *above;

	bench_spin_lock(&gaps->lock);
	range = find(gaps, first);
	above = range_of(rb_next(&range->node));
	rb_erase_augmented(&range->node, &gaps->root, &longest_gap);
	set_gap(above, above->first - (range->first - range->gap));
	gaps->used -= range->last - range->first + 1;
	bench_spin_unlock(&gaps->lock);
	free(range);
}

uint64_t linux_gaps_used(struct linux_gaps *gaps)
{
	return gaps->used;
}
