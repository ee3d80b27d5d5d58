/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * read.c - reads of a small container: of its block, or of its index.
 */
#include "set/small/block.h"

/* Copy entry i of the block, if there is one: 0 | -ENOENT */
static int item_at(const struct small *small, u64 i, struct lath_item *found)
{
	if (i >= small->count)
		return -ENOENT;
	block_item(small, (unsigned int)i, found);
	return 0;
}

int lath_small_get(const struct lath_small *public, uint64_t point, uint64_t *value)
{
	const struct small *small = small_of(public);
	unsigned int i;

	if (!is_block(small))
		return lath_index_get(small->body, point, value);
	i = block_covering(small, point);
	if (i == small->count)
		return 0;
	*value = block_value(small, i);
	return 1;
}

size_t lath_small_get_batch(const struct lath_small *public, size_t n, const uint64_t *points,
			    uint64_t *values, uint8_t *hits)
{
	const struct small *small = small_of(public);
	size_t all = 0, i;

	if (!is_block(small))
		return lath_index_get_batch(small->body, n, points, values, hits);
	for (i = 0; i < n; i++) {
		hits[i] = (uint8_t)lath_small_get(public, points[i], &values[i]);
		all += hits[i];
	}
	return all;
}

int lath_small_lookup_item(const struct lath_small *public, uint64_t point, struct lath_item *found)
{
	const struct small *small = small_of(public);

	if (!is_block(small))
		return lath_index_lookup_item(small->body, point, found);
	return item_at(small, block_covering(small, point), found);
}

int lath_small_ceiling_item(const struct lath_small *public, uint64_t key, struct lath_item *found)
{
	const struct small *small = small_of(public);

	if (!is_block(small))
		return lath_index_ceiling_item(small->body, key, found);
	return item_at(small, block_find(small, key), found);
}

/* Returns how many entries of the block begin at or in front of key. */
static unsigned int up_to(const struct small *small, u64 key)
{
	return key < LAST_KEY ? block_find(small, key + 1) : (unsigned int)small->count;
}

/* ---- scans ---- */

size_t lath_small_scan_values(const struct lath_small *public, uint64_t from, uint64_t last,
			      uint64_t *keys, uint64_t *values, size_t max, uint64_t *next)
{
	const struct small *small = small_of(public);
	unsigned int i, first, end;
	size_t n;

	LATH_ASSERT(keys || !next);
	if (!is_block(small))
		return lath_index_scan_values(small->body, from, last, keys, values, max, next);
	first = block_find(small, from);
	end = up_to(small, last);
	n = end > first ? min((size_t)(end - first), max) : 0;
	for (i = 0; i < n; i++) {
		if (keys)
			keys[i] = block_key(small, first + i);
		values[i] = block_value(small, first + i);
	}
	if (next && n == max)
		*next = n ? keys[n - 1] + 1 : from;
	return n;
}

size_t lath_small_scan_back(const struct lath_small *public, uint64_t from, uint64_t first,
			    struct lath_item *items, size_t max, uint64_t *next)
{
	const struct small *small = small_of(public);
	unsigned int i, least;
	size_t n = 0;

	if (!is_block(small))
		return lath_index_scan_back(small->body, from, first, items, max, next);
	least = block_find(small, first);
	for (i = up_to(small, from); i > least && n < max; i--)
		block_item(small, i - 1, &items[n++]);
	if (next && n == max)
		*next = n ? items[n - 1].key - 1 : from;
	return n;
}

/* ---- order statistics ---- */

uint64_t lath_small_count(const struct lath_small *public)
{
	return small_of(public)->count;
}

/* Returns whether the container counts: a block could in any case, an index it becomes could not.
 */
static bool counts(const struct small *small)
{
	return small->kind->index.flags & LATH_RANKS;
}

int64_t lath_small_count_range(const struct lath_small *public, uint64_t from, uint64_t last)
{
	const struct small *small = small_of(public);

	if (!is_block(small))
		return lath_index_count_range(small->body, from, last);
	if (!counts(small))
		return -EINVAL;
	return from > last ? 0 : (int64_t)up_to(small, last) - block_find(small, from);
}

int lath_small_select(const struct lath_small *public, uint64_t rank, struct lath_item *found)
{
	const struct small *small = small_of(public);

	if (!is_block(small))
		return lath_index_select(small->body, rank, found);
	return counts(small) ? item_at(small, rank, found) : -EINVAL;
}

/* ---- figures and checks ---- */

unsigned int lath_small_value_bytes(const struct lath_small *public)
{
	const struct small *small = small_of(public);

	return is_block(small) ? (unsigned int)small->value_width : 8;
}

struct lath_index *lath_small_index(const struct lath_small *public)
{
	const struct small *small = small_of(public);

	return is_block(small) ? NULL : small->body;
}

size_t lath_small_bytes(const struct lath_small *public)
{
	const struct small *small = small_of(public);
	struct lath_index_stats stats;

	if (is_block(small))
		return 8ul * small->room;
	lath_index_get_stats(small->body, &stats);
	return sizeof(struct lath_index) + stats.bytes;
}

int lath_small_verify(const struct lath_small *public, char *report, size_t report_size)
{
	const struct small *small = small_of(public);

	if (is_block(small))
		return lath_small_block_verify(small, report, report_size);
	LATH_ASSERT(lath_index_count(small->body) == small->count);
	return lath_index_verify(small->body, 5, report, report_size);
}
