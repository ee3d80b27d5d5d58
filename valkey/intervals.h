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
/* At most as many of one class that begin at one number: with another one they are a group. */
#define INTERVALS_ALIKE 128

struct intervals {
	void *body; /* packed: a block of intervals; else the set */
	uint64_t count;
	uint64_t owned; /* bytes of values and of groups */
	struct group *groups;
	uint8_t form;
};

struct buffer;

struct intervals *intervals_create(void);
void intervals_free(struct intervals *set);
struct intervals *intervals_copy(const struct intervals *set);

/* 1 | 0: it is there | -ENOMEM */
int intervals_add(struct intervals *set, uint64_t first, uint64_t last, struct bytes value);
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

#define ALL_INTERVALS overlapping(0, UINT64_MAX), 0, UINT64_MAX

static inline struct window within(uint64_t first, uint64_t last)
{
	return (struct window){ first, last, first, last };
}

static inline struct window covering_all(uint64_t first, uint64_t last)
{
	return (struct window){ 0, first, last, UINT64_MAX };
}

/* What a search has found. The value is valid until its next step. */
struct found {
	uint64_t first, last;
	struct bytes value;
};

/* Intervals of the set itself; it has groups too. */
struct items_iter {
	const struct intervals *set;
	struct window window;
	size_t at; /* packed */
	struct lath_interval_iter full;
};

/* The members of a group. */
struct members_iter {
	uint64_t first;	    /* where they begin */
	uint64_t low, high; /* last numbers, as the group's keys begin with them */
	struct map_iter map;
};

#define INTERVALS_CHUNK 2048

/* A search in order: by first number, last number, value. It reads some more than it shows, not
 * all. Between two steps the set must not change. */
struct intervals_iter {
	const struct intervals *set;
	struct window rest; /* what has not been read */
	uint64_t last;	    /* first numbers up to this one are to be read next */
	uint64_t skip;	    /* intervals not to show */
	bool ended;	    /* all has been read */
	bool inside;	    /* a group: `members` are to be shown */
	size_t most;	    /* to be read at once */
	size_t at, n;	    /* of what has been read: what is not shown yet */
	struct members_iter members;
	char text[VALUE_TEXT];
	struct lath_interval items[INTERVALS_CHUNK + 1];
};

/* Begins behind the first `skip` intervals; `limit`: how many are wanted. */
void intervals_begin(struct intervals_iter *iter, const struct intervals *set, struct window window,
		     uint64_t skip, uint64_t limit);
/* 1 | 0: no more */
int intervals_next(struct intervals_iter *iter, struct found *found);
/* Returns how many overlap these numbers. */
uint64_t intervals_count(const struct intervals *set, uint64_t first, uint64_t last);
/* 1 | 0: the set is empty. text: VALUE_TEXT bytes */
int intervals_nearest(const struct intervals *set, uint64_t point, struct found *found, char *text);

struct vk_defrag;
/* Moves the block of a packed set and the values in it; those of larger sets stay. */
void intervals_defragment(struct intervals *set, struct vk_defrag *ctx);

size_t intervals_memory(const struct intervals *set);
size_t intervals_effort(const struct intervals *set);

#endif /* LATH_VALKEY_INTERVALS_H */
