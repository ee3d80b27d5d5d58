/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * intervals.h - a set of closed intervals with values, which may overlap.
 *
 * An interval is there once for each value. Up to packed_entries intervals are one sorted block;
 * more are the library's set (lathwork/interval.h), and what it has many of at one place are
 * groups.
 *
 * Threads: as map.h.
 */
#ifndef LATH_VALKEY_INTERVALS_H
#define LATH_VALKEY_INTERVALS_H

#include "lathwork/interval.h"
#include "map.h"

#define INTERVALS_MIDDLE 4096
/* Intervals of one class that begin at one number; further ones are a group. */
#define INTERVALS_ALIKE 128

struct intervals {
	void *body; /* packed: a block of intervals; else the set */
	uint64_t count;
	uint64_t owned; /* bytes of values and of groups */
	uint8_t form;
};

struct buffer;

struct intervals *intervals_create(void);
void intervals_free(struct intervals *set);
struct intervals *intervals_copy(const struct intervals *set);

/* Adds an interval; takes the value over, also on failure. 1 | 0: it is there | -ENOMEM (also for a
 * value of 0) */
int intervals_add(struct intervals *set, uint64_t first, uint64_t last, word value);
/* 1 | 0: it is not there */
int intervals_remove(struct intervals *set, uint64_t first, uint64_t last, struct bytes value);

/* What a search looks for: intervals whose first and whose last number are in these ranges. */
struct window {
	uint64_t first_low, first_high, last_low, last_high;
};

static inline struct window overlapping(uint64_t first, uint64_t last)
{
	return (struct window){ 0, last, first, UINT64_MAX };
}

static inline struct window within(uint64_t first, uint64_t last)
{
	return (struct window){ first, last, first, last };
}

static inline struct window covering_all(uint64_t first, uint64_t last)
{
	return (struct window){ 0, first, last, UINT64_MAX };
}

/* The key of a member of a group, as text: its last number, and the hash of its value. */
struct member_key {
	uint64_t last;
	struct hash hash;
};

/* A search in no order. Between two steps the set must not change. */
struct intervals_iter {
	const struct intervals *set;
	struct window window;
	size_t at; /* packed */
	struct lath_interval_iter full;
	struct member_key low, high; /* of members of a group */
	struct map_iter members;
	uint64_t first; /* where they begin */
	bool inside;
};

void intervals_begin(struct intervals_iter *iter, const struct intervals *set,
		     struct window window);
/* 1 (interval->value is a borrowed word) | 0: no more */
int intervals_next(struct intervals_iter *iter, struct lath_interval *interval);
/* Orders intervals by first number, last number, value; for qsort(). */
int intervals_order(const void *a, const void *b);
/* 1 | 0: the set is empty */
int intervals_nearest(const struct intervals *set, uint64_t point, struct lath_interval *found);

struct vk_defrag;
/* Moves the block of a packed set and the values in it; those of larger sets stay. */
void intervals_defragment(struct intervals *set, struct vk_defrag *ctx);

size_t intervals_memory(const struct intervals *set);
size_t intervals_effort(const struct intervals *set);

#endif /* LATH_VALKEY_INTERVALS_H */
