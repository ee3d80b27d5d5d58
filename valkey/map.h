/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map.h - the ordered map: numbers of 64 bits, or byte strings, to byte strings.
 *
 * Numbers, and what has codes (entry.h). A small container (lathwork/small.h): one block up to
 * packed_entries entries, then an index, its nodes one by one up to MIDDLE entries (index.h), in
 * chunks above.
 *
 * Byte strings. See map_strings.h.
 *
 * Threads: changes on the server's main thread; map_free() on any thread, when the map is no longer
 * reachable; all else on any thread while there are no changes.
 */
#ifndef LATH_VALKEY_MAP_H
#define LATH_VALKEY_MAP_H

#include "lathwork/small.h"
#include "value.h"

/* What the keys of a map are; all but strings have codes (entry.h). */
enum map_kind { MAP_NUMBERS, MAP_STRINGS, MAP_SIGNED, MAP_FLOATS, MAP_KINDS };

struct map {
	union {
		struct lath_small numbers;
		struct strings *strings;
	};
	uint64_t owned : 61; /* bytes that values own */
	uint64_t kind : 2;
	uint64_t keep : 1; /* was created by its own command: stays when it is empty */
};

/* The code of a number, or a string, by the map's kind. */
struct map_key {
	uint64_t number;
	struct bytes string;
};

struct map *map_create(enum map_kind kind, bool keep);
/* The same in a block of the server's memory that begins with the map. false: no memory */
bool map_begin(struct map *map, enum map_kind kind, bool keep);
void map_free(struct map *map);
/* NULL: no memory */
struct map *map_copy(const struct map *map);
/* Returns the number of entries. */
uint64_t map_size(const struct map *map);

/* 1 (*value: borrowed) | 0 */
int map_get(const struct map *map, const struct map_key *key, word *value);
/* values[i]: borrowed, or 0 */
void map_get_batch(const struct map *map, size_t n, const struct map_key *keys, word *values);
/* Sets an entry; takes the value over, also on failure. 1: it is new | 0: it replaced another |
 * -ENOMEM (also for a value of 0) */
int map_set(struct map *map, const struct map_key *key, word value);
/* 1 | 0: there is none. *old, if not NULL, gets the value and owns it. */
int map_erase(struct map *map, const struct map_key *key, word *old);

/* Where a range begins or ends. */
struct map_bound {
	struct map_key key;
	int infinite; /* -1: before all keys, 1: behind them */
	bool open;    /* the key itself is not in the range */
};

/* Returns the number of entries of a range. O(log n) */
uint64_t map_count(const struct map *map, const struct map_bound *low,
		   const struct map_bound *high);

#define MAP_BATCH 128

/* The entries of a range, in order or in reverse. Between two steps the map must not change. */
struct map_iter {
	const struct map *map;
	struct map_bound low, high;
	bool back, ended;
	uint64_t from, last; /* numbers: the rest of the range */
	uint64_t most;	     /* entries that are still wanted; the caller may lower it */
	size_t at, filled;
	uint64_t keys[MAP_BATCH];
	word values[MAP_BATCH];
};

struct map_entry {
	struct map_key key; /* borrowed */
	word value;	    /* borrowed */
};

void map_iter_begin(struct map_iter *iter, const struct map *map, const struct map_bound *low,
		    const struct map_bound *high, bool back);
/* 1 | 0: no more */
int map_next(struct map_iter *iter, struct map_entry *entry);
/* The next entries of a map of numbers, as arrays that are valid until the next call. Returns how
 * many; 0: no more. */
size_t map_next_batch(struct map_iter *iter, const uint64_t **keys, const word **values);
extern const struct map_bound map_lowest, map_highest;

/* Finds the entry with `rank` entries before it. 1 | 0: there are no more than that */
int map_select(const struct map *map, uint64_t rank, struct map_entry *entry);

struct vk_defrag;
/* Moves the blocks that the map has besides nodes: of packed keys, of values, of strings. `from`:
 * 0, or what defrag_begin() returned. 0 | 1: there is more to do */
int map_defragment(struct map *map, struct vk_defrag *ctx, uint64_t from);

/* Bytes of the server's memory. */
size_t map_memory(const struct map *map);
/* The work of map_free(), in blocks to free. */
size_t map_effort(const struct map *map);

#endif /* LATH_VALKEY_MAP_H */
