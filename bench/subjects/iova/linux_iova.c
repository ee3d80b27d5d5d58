// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * linux_iova.c - address ranges in a red-black tree behind one spinlock, allocated from the top
 * down.
 *
 * A search walks from each allocated range to the next lower one, until the gap between the two has
 * room.
 * 2013: a search below 4 GiB starts at the range that was allocated there last (freeing a range
 * above it moves the start up to the next range). Any other search starts at the highest range.
 * 6.1: a search below 4 GiB and any other search each have their own start. Before a search
 * fails it begins once more at its limit. If it fails below 4 GiB, the smallest size that found no
 * room is remembered until a range there is freed. free() looks the range up by its address.
 */
#include <stdlib.h>

#include <linux/rbtree.h>

#include "linux_iova.h"
#include "subjects/spin.h"

struct range {
	struct rb_node node;
	uint64_t first, last;
};

struct linux_iova {
	struct bench_spin lock;
	enum linux_iova_style style;
	struct rb_root root;
	struct rb_node *start_low, *start_high; /* NULL: at the top */
	uint64_t first, low_end, end, failed_size, used;
};

static struct range *range_of(struct rb_node *node)
{
	return rb_entry(node, struct range, node);
}

struct linux_iova *linux_iova_new(enum linux_iova_style style, uint64_t first, uint64_t low_end,
				  uint64_t end)
{
	struct linux_iova *iova = aligned_alloc(64, (sizeof(*iova) + 63) / 64 * 64);

	if (!iova)
		abort();
	*iova = (struct linux_iova){
		.style = style, .root = RB_ROOT, .first = first, .low_end = low_end, .end = end
	};
	iova->failed_size = UINT64_MAX;
	return iova;
}

void linux_iova_free_all(struct linux_iova *iova)
{
	struct range *range, *next;

	rbtree_postorder_for_each_entry_safe(range, next, &iova->root, node) free(range);
	free(iova);
}

static void link_range(struct linux_iova *iova, struct range *range)
{
	struct rb_node **link = &iova->root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = range->first < range_of(parent)->first ? &parent->rb_left
							      : &parent->rb_right;
	}
	rb_link_node(&range->node, parent, link);
	rb_insert_color(&range->node, &iova->root);
	iova->used += range->last - range->first + 1;
}

/* The highest aligned place for pages below limit and above stop (NULL: all), walking down from
 * node. 1: found. */
static int walk_down(const struct linux_iova *iova, struct rb_node *node, struct rb_node *stop,
		     uint64_t limit, uint64_t pages, uint64_t align, uint64_t *first)
{
	for (;; node = rb_prev(node)) {
		uint64_t floor = node ? range_of(node)->last + 1 : iova->first, place;

		if (limit >= pages) {
			place = (limit - pages) & ~(align - 1);
			if (place >= floor) {
				*first = place;
				return 1;
			}
		}
		if (!node || node == stop)
			return 0;
		if (range_of(node)->first < limit)
			limit = range_of(node)->first;
	}
}

/* Where a search from the limit down begins: the highest range that starts below it. */
static struct rb_node *below(const struct linux_iova *iova, uint64_t limit)
{
	struct rb_node *node = iova->root.rb_node, *best = NULL;

	while (node) {
		if (range_of(node)->first < limit) {
			best = node;
			node = node->rb_right;
		} else {
			node = node->rb_left;
		}
	}
	return best;
}

static int find_2013(struct linux_iova *iova, uint64_t pages, uint64_t align, int low,
		     uint64_t *first)
{
	uint64_t limit = low ? iova->low_end : iova->end;
	struct rb_node *node;

	if (!low || !iova->start_low)
		return walk_down(iova, rb_last(&iova->root), NULL, limit, pages, align, first);
	node = iova->start_low;
	return walk_down(iova, rb_prev(node), NULL, range_of(node)->first, pages, align, first);
}

static int find_6_1(struct linux_iova *iova, uint64_t pages, uint64_t align, int low,
		    uint64_t *first)
{
	uint64_t limit = low ? iova->low_end : iova->end;
	struct rb_node *start = low ? iova->start_low : iova->start_high;

	if (low && pages >= iova->failed_size)
		return 0;
	if (start &&
	    walk_down(iova, rb_prev(start), NULL, range_of(start)->first, pages, align, first))
		return 1;
	if (walk_down(iova, below(iova, limit), start, limit, pages, align, first))
		return 1;
	if (low)
		iova->failed_size = pages;
	return 0;
}

/* 2013 keeps a start for the low search alone; 6.1 goes by where the range came to lie. */
static void set_start(struct linux_iova *iova, struct range *range, int low)
{
	if (iova->style == LINUX_IOVA_2013 ? low : range->last < iova->low_end)
		iova->start_low = &range->node;
	else if (iova->style == LINUX_IOVA_6_1)
		iova->start_high = &range->node;
}

int linux_iova_alloc(struct linux_iova *iova, uint64_t pages, uint64_t align, int low,
		     uint64_t *first)
{
	struct range *range = malloc(sizeof(*range));
	int found;

	if (!range)
		abort();
	bench_spin_lock(&iova->lock);
	if (iova->style == LINUX_IOVA_2013)
		found = find_2013(iova, pages, align, low, first);
	else
		found = find_6_1(iova, pages, align, low, first);
	if (found) {
		range->first = *first;
		range->last = *first + pages - 1;
		link_range(iova, range);
		set_start(iova, range, low);
	}
	bench_spin_unlock(&iova->lock);
	if (!found)
		free(range);
	return found;
}

static struct range *find(struct linux_iova *iova, uint64_t first)
{
	struct rb_node *node = iova->root.rb_node;

	while (node) {
		struct range *range = range_of(node);

		if (first < range->first)
			node = node->rb_left;
		else if (first > range->last)
			node = node->rb_right;
		else
			return range;
	}
	abort();
}

/* A start at or below the range that goes moves up behind it, or searches would never see the
 * room. */
static void move_starts(struct linux_iova *iova, struct range *range)
{
	struct rb_node *next = rb_next(&range->node);

	if (iova->start_low && range->first >= range_of(iova->start_low)->first &&
	    range->first < iova->low_end)
		iova->start_low = next && range_of(next)->first < iova->low_end ? next : NULL;
	if (range->first < iova->low_end)
		iova->failed_size = UINT64_MAX;
	if (iova->start_high && range->first >= range_of(iova->start_high)->first)
		iova->start_high = next;
}

void linux_iova_free(struct linux_iova *iova, uint64_t first)
{
	struct range *range;

	bench_spin_lock(&iova->lock);
	range = find(iova, first);
	move_starts(iova, range);
	rb_erase(&range->node, &iova->root);
	iova->used -= range->last - range->first + 1;
	bench_spin_unlock(&iova->lock);
	free(range);
}

uint64_t linux_iova_used(struct linux_iova *iova)
{
	return iova->used;
}
