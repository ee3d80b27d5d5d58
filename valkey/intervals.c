/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * intervals.c - the two forms of a set of intervals.
 */
#include "intervals.h"

#include <errno.h>
#include <string.h>

#include "block.h"
#include "command.h"
#include "index.h"

enum { PACKED, NODES, CHUNKS };

static struct lath_intervals *set_create(bool nodes)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_intervals *set =
		server_memory.alloc(NULL, sizeof(*set), _Alignof(struct lath_intervals));

	config.flags = LATH_SMALL_PAGES | (nodes ? LATH_NODE_EACH : 0);
	config.rcu = &lath_rcu_single;
	config.allocator = &server_memory;
	if (set && lath_intervals_init(set, LATH_CLOSED, &config)) {
		server_memory.free(NULL, set, sizeof(*set));
		return NULL;
	}
	return set;
}

static void set_destroy(struct lath_intervals *set, lath_interval_fn each)
{
	lath_intervals_fini(set, each, NULL);
	server_memory.free(NULL, set, sizeof(*set));
}

/* For assertions: returns whether the interval i of a packed block is above the one before and not
 * above the next. */
static FOR_ASSERTIONS bool in_order(const struct lath_interval *block, size_t n, size_t i)
{
	return block[i].first <= block[i].end &&
	       (!i || intervals_order(&block[i - 1], &block[i]) < 0) &&
	       (i + 1 >= n || intervals_order(&block[i], &block[i + 1]) < 0);
}

static bool convert(struct intervals *set, int form)
{
	struct lath_intervals *full = set_create(form == NODES);
	struct intervals_iter iter;
	struct lath_interval interval;

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (full && intervals_next(&iter, &interval))
		if (lath_intervals_insert(full, &interval)) {
			set_destroy(full, NULL);
			full = NULL;
		}
	LATH_ASSERT(form > set->form);
	if (!full)
		return false;
	LATH_ASSERT(lath_intervals_count(full) == set->count);
	if (set->form == PACKED)
		vk.Free(set->body);
	else
		set_destroy(set->body, NULL);
	set->body = full;
	set->form = (uint8_t)form;
	return true;
}

struct intervals *intervals_create(void)
{
	struct intervals *set = vk.TryAlloc(sizeof(*set));

	if (set)
		*set = (struct intervals){ 0 };
	return set;
}

static void free_value(void *unused, const struct lath_interval *interval)
{
	(void)unused;
	value_free(interval->value);
}

void intervals_free(struct intervals *set)
{
	struct lath_interval *block = set->body;
	size_t i;

	if (set->form == PACKED) {
		for (i = 0; i < set->count; i++) {
			LATH_ASSERT(value_memory(block[i].value) <= set->owned);
			set->owned -= value_memory(block[i].value);
			value_free(block[i].value);
		}
		LATH_ASSERT(!set->owned);
		vk.Free(block);
	} else {
		set_destroy(set->body, set->owned ? free_value : NULL);
	}
	vk.Free(set);
}

struct intervals *intervals_copy(const struct intervals *set)
{
	struct intervals *copy = intervals_create();
	struct intervals_iter iter;
	struct lath_interval interval;
	char text[VALUE_TEXT];

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (copy && intervals_next(&iter, &interval)) {
		struct bytes value = value_view(&interval.value, text);

		if (intervals_add(copy, interval.first, interval.end,
				  value_make(value.data, value.size)) < 0) {
			intervals_free(copy);
			copy = NULL;
		}
	}
	LATH_ASSERT(!copy || (copy->count == set->count && copy->owned == set->owned));
	return copy;
}

/* ---- searching ---- */

void intervals_begin(struct intervals_iter *iter, const struct intervals *set, struct window window)
{
	iter->set = set;
	iter->window = window;
	iter->at = 0;
	if (set->form == PACKED)
		return;
	lath_interval_iter_all(&iter->full, set->body);
	iter->full.first_low = window.first_low;
	iter->full.first_high = window.first_high;
	iter->full.last_low = window.last_low;
	iter->full.last_high = window.last_high;
}

int intervals_next(struct intervals_iter *iter, struct lath_interval *interval)
{
	const struct lath_interval *block = iter->set->body;
	const struct window *window = &iter->window;

	if (iter->set->form != PACKED)
		return lath_interval_next(&iter->full, interval);
	for (; iter->at < iter->set->count; iter->at++) {
		const struct lath_interval *here = &block[iter->at];

		if (here->first < window->first_low || here->first > window->first_high ||
		    here->end < window->last_low || here->end > window->last_high)
			continue;
		*interval = *here;
		LATH_ASSERT(in_order(block, iter->set->count, iter->at));
		iter->at++;
		return 1;
	}
	return 0;
}

int intervals_order(const void *left, const void *right)
{
	const struct lath_interval *a = left, *b = right;
	char text[2][VALUE_TEXT];

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return compare_bytes(value_view(&a->value, text[0]), value_view(&b->value, text[1]));
}

static uint64_t distance(const struct lath_interval *interval, uint64_t point)
{
	if (point < interval->first)
		return interval->first - point;
	return point > interval->end ? point - interval->end : 0;
}

int intervals_nearest(const struct intervals *set, uint64_t point, struct lath_interval *found)
{
	const struct lath_interval *block = set->body;
	size_t i, best = 0;

	if (set->form != PACKED)
		return !lath_intervals_nearest(set->body, point, found);
	for (i = 1; i < set->count; i++)
		if (distance(&block[i], point) < distance(&block[best], point))
			best = i;
	if (set->count)
		*found = block[best];
	return set->count != 0;
}

/* Finds the interval with this value. 1 | 0 */
static int find(const struct intervals *set, uint64_t first, uint64_t last, struct bytes value,
		struct lath_interval *found)
{
	struct intervals_iter iter;

	intervals_begin(&iter, set, (struct window){ first, first, last, last });
	while (intervals_next(&iter, found))
		if (value_equal(found->value, value.data, value.size))
			return 1;
	return 0;
}

/* ---- changes ---- */

/* 0 | -ENOMEM */
static int add_packed(struct intervals *set, const struct lath_interval *interval)
{
	struct lath_interval *block = set->body;
	size_t i = 0;

	while (i < set->count && intervals_order(&block[i], interval) < 0)
		i++;
	block = block_insert(block, set->count, i, interval, sizeof(*block));
	if (!block)
		return -ENOMEM;
	set->body = block;
	LATH_ASSERT(in_order(block, set->count + 1, i));
	return 0;
}

int intervals_add(struct intervals *set, uint64_t first, uint64_t last, word value)
{
	struct lath_interval interval = { first, last, value }, there;
	char text[VALUE_TEXT];
	int ret = 0;

	LATH_ASSERT(first <= last);
	if (!value)
		return -ENOMEM;
	if (find(set, first, last, value_view(&value, text), &there)) {
		value_free(value);
		return 0;
	}
	if ((set->form == PACKED && set->count >= packed_entries && !convert(set, NODES)) ||
	    (set->form == NODES && set->count >= INTERVALS_MIDDLE && !convert(set, CHUNKS)))
		ret = -ENOMEM;
	else if (set->form == PACKED)
		ret = add_packed(set, &interval);
	else
		ret = lath_intervals_insert(set->body, &interval);
	if (ret) {
		value_free(value);
		return ret;
	}
	set->count++;
	set->owned += value_memory(value);
	return 1;
}

int intervals_remove(struct intervals *set, uint64_t first, uint64_t last, struct bytes value)
{
	struct lath_interval *block = set->body, there;
	size_t i = 0;
	int ret;

	if (!find(set, first, last, value, &there))
		return 0;
	LATH_ASSERT(set->count && value_memory(there.value) <= set->owned);
	set->count--;
	set->owned -= value_memory(there.value);
	if (set->form != PACKED) {
		ret = lath_intervals_erase(set->body, &there);
		LATH_ASSERT(!ret); /* find() has just seen it */
		(void)ret;
	} else {
		/* equal intervals differ by their values: find() gave this very word */
		while (block[i].value != there.value || block[i].first != first ||
		       block[i].end != last)
			i++;
		set->body = block_remove(block, set->count + 1, i, sizeof(*block));
	}
	value_free(there.value);
	return 1;
}

void intervals_defragment(struct intervals *set, struct vk_defrag *ctx)
{
	struct lath_interval *block;
	size_t i;

	if (set->form != PACKED)
		return;
	set->body = block = defrag_block(ctx, set->body);
	for (i = 0; i < set->count; i++)
		block[i].value = defrag_value(ctx, block[i].value);
}

/* ---- figures ---- */

size_t intervals_memory(const struct intervals *set)
{
	struct lath_intervals_stats stats;

	if (set->form == PACKED)
		return sizeof(*set) + set->owned +
		       block_size(set->count, sizeof(struct lath_interval));
	lath_intervals_get_stats(set->body, &stats);
	return sizeof(*set) + set->owned + stats.bytes;
}

size_t intervals_effort(const struct intervals *set)
{
	return 1 + set->count / (set->owned ? 1 : 32);
}
