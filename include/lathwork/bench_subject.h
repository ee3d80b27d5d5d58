/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bench_subject.h - your own structure in the tables of `lath bench`.
 *
 *	cc -shared -fPIC -O2 my.c -o my.so
 *	lath bench index ranges --vs ./my.so
 *
 * my.c fills in a struct lath_bench_subject and exports it under the name lath_bench_loaded. Each
 * table has a group of functions. A group that is NULL keeps the structure out of that table:
 *
 *	group    table    what is measured
 *	ranges   ranges   extents: insert, find by any point inside, erase, with several threads
 *	map      index    uint64_t -> uint64_t, in order
 *	queue    scan     a queue of objects: scan it, use it as a run-queue
 *	sorter   sort     requests by key, lowest first
 *	holes    iova     free address ranges, aligned: take them, give them back
 *	store    store    uint64_t -> bytes: set and get, one call per item
 *
 * The structure is then a subject like all others: it does the same work in the same process, by
 * turns, and every result is compared with the oracle. One that returns a wrong result is reported
 * and has no row.
 *
 * Threads: without LATH_BENCH_CONCURRENT a lock is held around each call, the spinlock that all
 * single-threaded peers get; in table store it is their reader-writer lock, which lets several gets
 * run at once. Calls go through a pointer, which costs 1 to 2 ns each; peers that are compiled in
 * do not pay that. Memory: create() returns NULL for "out of memory". Bytes per key are what
 * malloc() gave out. Example: examples/bench_subject.c.
 */
#ifndef LATHWORK_BENCH_SUBJECT_H
#define LATHWORK_BENCH_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increased when a member changes its meaning. New members are added at the end. */
#define LATH_BENCH_ABI 1

/* in flags: any number of threads may call at once */
#define LATH_BENCH_CONCURRENT 1u

/* Extents [key, key + size) that never overlap. item belongs to the caller and is returned as it
 * was. */
struct lath_bench_ranges {
	void *(*create)(void);
	void (*destroy)(void *s); /* does not free the items that are still inside */
	int (*insert)(void *s, uint64_t key, uint64_t size, void *item); /* 0; else: it overlaps */
	void *(*lookup)(void *s, uint64_t point); /* the item over point, or NULL */
	void *(*erase)(void *s, uint64_t point);  /* likewise, and removes it; may be NULL */
	unsigned int flags;
};

/* create to update must be there. Each of the others may be NULL, which leaves out its cases. */
struct lath_bench_map {
	void *(*create)(void);
	void (*destroy)(void *s);
	int (*insert)(void *s, uint64_t key, uint64_t value); /* 0; else: the key is there */
	int (*get)(void *s, uint64_t key, uint64_t *value);   /* 1 found, 0 not */
	int (*update)(void *s, uint64_t key, uint64_t value); /* 1 replaced, 0 no such key */
	int (*erase)(void *s, uint64_t key);		      /* 1 erased, 0 no such key */
	/* the largest key <= at: 1, or 0 if there is none */
	int (*floor)(void *s, uint64_t at, uint64_t *key, uint64_t *value);
	/* up to n entries with keys >= from, ascending; returns how many */
	size_t (*scan)(void *s, uint64_t from, size_t n, uint64_t *keys, uint64_t *values);
	/* hit[i] = 1 and values[i] set, or hit[i] = 0 */
	void (*get_batch)(void *s, size_t n, const uint64_t *keys, uint64_t *values, uint8_t *hit);
	/* returns how many keys were new */
	size_t (*insert_batch)(void *s, size_t n, const uint64_t *keys, const uint64_t *values);
	unsigned int flags;
};

/* At the address of each object, LATH_BENCH_HOOK bytes, aligned to 8, are for links of yours. */
#define LATH_BENCH_HOOK 32

struct lath_bench_queue {
	void *(*create)(void);
	void (*destroy)(void *s);
	void (*push_back)(void *s, void *object);
	void (*push_front)(void *s, void *object);
	void *(*pop_front)(void *s); /* NULL: empty */
	void (*scan)(void *s, void (*each)(void *context, void *object), void *context);
};

/* Requests by key; of equal keys any may be first. The hook is at the address of the request. */
struct lath_bench_sorter {
	void *(*create)(uint32_t most); /* at most this many requests will be in it */
	void (*destroy)(void *s);
	void (*push)(void *s, void *request, uint64_t key);
	void *(*pop)(void *s); /* the lowest key; NULL: empty */
};

/* A space of pages [first, end). align is a power of two, and *at must be a multiple of it. */
struct lath_bench_holes {
	void *(*create)(uint64_t first, uint64_t end);
	void (*destroy)(void *s);
	int (*alloc)(void *s, uint64_t pages, uint64_t align, uint64_t *at); /* 1, or 0: no room */
	void (*free)(void *s, uint64_t at, uint64_t pages);
	unsigned int flags;
};

/* Values of up to 28 bytes, of which the structure keeps copies. scan is NULL without an order. */
struct lath_bench_store {
	void *(*create)(void);
	void (*destroy)(void *s);
	int (*set)(void *s, uint64_t key, const void *value,
		   size_t size); /* added or replaced: 0 */
	/* copies up to `room` bytes of the value; returns its size, or -1: no such key */
	int (*get)(void *s, uint64_t key, void *value, size_t room);
	/* all, by ascending key */
	void (*scan)(void *s,
		     void (*each)(void *context, uint64_t key, const void *value, size_t size),
		     void *context);
	unsigned int flags;
};

struct lath_bench_subject {
	uint32_t abi;	  /* LATH_BENCH_ABI */
	uint32_t size;	  /* sizeof(struct lath_bench_subject) */
	const char *name; /* for the tables: letters, digits, - _ . */
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
extern LATH_BENCH_EXPORT const struct lath_bench_subject lath_bench_loaded;

#ifdef __cplusplus
}
#endif
#endif
