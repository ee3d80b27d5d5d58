/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bench_adapter.h - your own structure in the tables of `lath bench`.
 *
 *	cc -shared -fPIC -O2 my.c -o my.so
 *	lath bench index ranges --vs ./my.so
 *
 * my.c fills in struct lath_bench_adapter and exports it under the name lath_bench_guest. Each
 * table has a group of functions; a group that is NULL keeps the structure out of that table:
 *
 *	group    table    what is measured
 *	ranges   ranges   extents: inserted, found by any point inside, erased, by one and more
 *threads map      index    uint64_t -> uint64_t with order queue    scan     a queue of objects,
 *scanned and used as a run-queue sorter   sort     requests by key, lowest first holes    iova free
 *address ranges, aligned, taken and given back store    store    uint64_t -> bytes: set and get, a
 *call an item
 *
 * Its figures then stand beside all others: the same process, the same work, in turns, every result
 * compared with the oracle. A structure that answers wrongly is reported and has no row.
 *
 * Threads: without LATH_BENCH_CONCURRENT calls stand behind the spinlock that all single-threaded
 * peers get; in table store behind their reader-writer lock, gets beside gets. Calls go through a
 * pointer, 1 to 2 ns each, which compiled-in peers do not pay.
 * Memory: create() returns NULL for "out of memory". What malloc() hands out counts as bytes a key.
 * Example: examples/bench_adapter.c.
 */
#ifndef LATHWORK_BENCH_ADAPTER_H
#define LATHWORK_BENCH_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a member changes its meaning; new members are added at the end. */
#define LATH_BENCH_ABI 1

/* flags: any number of threads may call at once */
#define LATH_BENCH_CONCURRENT 1u

/* Extents [key, key + size) that never overlap; item is the caller's and is given back as it
 * was. */
struct lath_bench_ranges {
	void *(*create)(void);
	void (*destroy)(void *s); /* items may still be inside; they are not to be freed */
	int (*insert)(void *s, uint64_t key, uint64_t size, void *item); /* 0, or not 0: overlaps */
	void *(*lookup)(void *s, uint64_t point); /* the item over point, or NULL */
	void *(*erase)(void *s, uint64_t point);  /* likewise, and takes it out; may be absent */
	unsigned int flags;
};

/* create to update are needed; each absent one leaves out the cases that need it. */
struct lath_bench_map {
	void *(*create)(void);
	void (*destroy)(void *s);
	int (*insert)(void *s, uint64_t key, uint64_t value); /* 0, or not 0: the key is there */
	int (*get)(void *s, uint64_t key, uint64_t *value);   /* 1 found, 0 not */
	int (*update)(void *s, uint64_t key, uint64_t value); /* 1 replaced, 0 no such key */
	int (*erase)(void *s, uint64_t key);		      /* 1 erased, 0 no such key */
	int (*floor)(void *s, uint64_t at, uint64_t *key,
		     uint64_t *value); /* largest key <= at: 1, or 0 */
	/* up to n entries from the first key >= from, ascending; returns how many */
	size_t (*scan)(void *s, uint64_t from, size_t n, uint64_t *keys, uint64_t *values);
	/* hit[i] = 1 and values[i] set, or hit[i] = 0 */
	void (*get_batch)(void *s, size_t n, const uint64_t *keys, uint64_t *values, uint8_t *hit);
	size_t (*insert_batch)(void *s, size_t n, const uint64_t *keys,
			       const uint64_t *values); /* new ones */
	unsigned int flags;
};

/* Each object lends LATH_BENCH_HOOK bytes, eight-aligned, at its address: links of your own. */
#define LATH_BENCH_HOOK 32

struct lath_bench_queue {
	void *(*create)(void);
	void (*destroy)(void *s);
	void (*push_back)(void *s, void *object);
	void (*push_front)(void *s, void *object);
	void *(*pop_front)(void *s); /* NULL: empty */
	void (*scan)(void *s, void (*each)(void *context, void *object), void *context);
};

/* Requests by key; of equal keys any may be first. The hook is at the request's address, as
 * above. */
struct lath_bench_sorter {
	void *(*create)(uint32_t most); /* so many at once, at most */
	void (*destroy)(void *s);
	void (*push)(void *s, void *request, uint64_t key);
	void *(*pop)(void *s); /* the lowest key; NULL: empty */
};

/* A space of pages [first, end). align is a power of two: *at must be a multiple of it. */
struct lath_bench_holes {
	void *(*create)(uint64_t first, uint64_t end);
	void (*destroy)(void *s);
	int (*alloc)(void *s, uint64_t pages, uint64_t align, uint64_t *at); /* 1, or 0: no room */
	void (*free)(void *s, uint64_t at, uint64_t pages);
	unsigned int flags;
};

/* Values of up to 28 bytes; the structure keeps copies. scan may be absent: no order. */
struct lath_bench_store {
	void *(*create)(void);
	void (*destroy)(void *s);
	int (*set)(void *s, uint64_t key, const void *value,
		   size_t size); /* added or replaced: 0 */
	/* up to `room` bytes of the value copied; its size, or -1: no such key */
	int (*get)(void *s, uint64_t key, void *value, size_t room);
	/* all, by ascending key */
	void (*scan)(void *s,
		     void (*each)(void *context, uint64_t key, const void *value, size_t size),
		     void *context);
	unsigned int flags;
};

struct lath_bench_adapter {
	uint32_t abi;	  /* LATH_BENCH_ABI */
	uint32_t size;	  /* sizeof(struct lath_bench_adapter) */
	const char *name; /* as it stands in the tables: letters, digits, - _ . */
	const char *note; /* what differs from the others, or NULL */
	const struct lath_bench_ranges *ranges;
	const struct lath_bench_map *map;
	const struct lath_bench_queue *queue;
	const struct lath_bench_sorter *sorter;
	const struct lath_bench_holes *holes;
	const struct lath_bench_store *store;
};

/* What the shared object exports. */
#if defined(__GNUC__)
#define LATH_BENCH_EXPORT __attribute__((visibility("default")))
#else
#define LATH_BENCH_EXPORT
#endif
extern LATH_BENCH_EXPORT const struct lath_bench_adapter lath_bench_guest;

#ifdef __cplusplus
}
#endif
#endif
