/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.h - a pool of numbers from which ranges are taken: addresses, blocks, identifiers.
 *
 * The pool is a list of disjoint ranges of all 64-bit numbers (lathwork/hole.h): those that are
 * taken, and those that are outside the pool. What no range covers is free. The ranges are in a
 * small container (lathwork/small.h), and so are the ways from owners and leases to them: see
 * map.h.
 *
 * A range may have an owner, a string of which the pool has each once, and a time at which its
 * lease ends. Both are in a record, found by the range, by the owner's hash, and by the time.
 *
 * Threads: as map.h.
 */
#ifndef LATH_VALKEY_POOL_H
#define LATH_VALKEY_POOL_H

#include "lathwork/small.h"
#include "value.h"

/* What a pool has from its first record on. */
struct records {
	struct lath_small owners; /* hash of the owner -> records */
	struct lath_small leases; /* lease's end -> records */
	uint64_t leased;	  /* records with a lease */
	uint64_t bytes;		  /* of records */
};

struct pool {
	struct lath_small ranges; /* with those outside the pool */
	struct records *records;  /* NULL: no range has had one */
	uint64_t outside;	  /* of the ranges, outside */
	uint64_t capacity;	  /* numbers in the pool */
	uint64_t taken;		  /* of these, in ranges */
	/* the server's timer that ends leases, and when; in the past: there is none (wait.h) */
	uint64_t timer, due;
};

struct pool_range {
	uint64_t first, size;
	struct bytes owner; /* data NULL: none; borrowed */
	uint64_t expires;   /* ms since 1970; 0: never */
};

/* What commands may ask for, hence what files may hold: a range that is not empty and ends with the
 * highest number at last; the last end of a lease, to which servers may add the present time. */
#define POOL_LEASE_MOST ((uint64_t)INT64_MAX / 2)
static inline bool pool_span(uint64_t first, uint64_t size)
{
	return size && first + (size - 1) >= first;
}

/* A pool of the numbers from `first` on. NULL: no memory. */
struct pool *pool_create(uint64_t first, uint64_t size);
void pool_free(struct pool *pool);
struct pool *pool_copy(const struct pool *pool);
/* A pool of all 2^64 numbers, which is one too many: the next call must be pool_exclude(). */
struct pool *pool_empty(void);
/* Takes numbers out of the pool, of which none is taken, and which do not follow others outside.
 * 0 | -EEXIST | -EINVAL | -ENOMEM */
int pool_exclude(struct pool *pool, uint64_t first, uint64_t size);
struct vk_defrag;
/* Moves the blocks of packed ranges, owners and leases, and the records; as map_defragment(). */
int pool_defragment(struct pool *pool, struct vk_defrag *ctx, uint64_t from);
/* Adds numbers. 0 | -EEXIST: some are in the pool | -ENOMEM */
int pool_add(struct pool *pool, uint64_t first, uint64_t size);

/* Takes a range of want->size with the owner and the lease of *range, and sets range->first and
 * range->size. 0 | -ENOSPC | -EINVAL | -ENOMEM. An owner that has a range already is the caller's
 * mistake. */
int pool_take(struct pool *pool, const struct lath_hole_request *want, struct pool_range *range);
/* Takes exactly this range. 0 | -EEXIST: part of it is taken or outside | -EINVAL | -ENOMEM */
int pool_reserve(struct pool *pool, const struct pool_range *range);
/* Frees the range that begins at `first`. 0 | -ENOENT */
int pool_give(struct pool *pool, uint64_t first);
/* Sets the end of the lease of the range that begins at `first`; 0: none. 0 | -ENOENT | -ENOMEM */
int pool_lease(struct pool *pool, uint64_t first, uint64_t expires);

/* 1 | 0 */
int pool_find(const struct pool *pool, uint64_t number, struct pool_range *range);
int pool_owner(const struct pool *pool, struct bytes owner, struct pool_range *range);
/* The range whose lease ends first. */
int pool_first_lease(const struct pool *pool, struct pool_range *range);

/* The arguments behind the key with which LATH.POOL.RESERVE makes this range. Returns how many. */
#define RANGE_WORDS 6
struct vk_string;
size_t pool_words(const struct pool_range *range, struct vk_string **words);

#define POOL_BATCH 256

/* The ranges and what is between them, in order, from the one on that covers `from`. Between two
 * steps the pool must not change. */
struct pool_iter {
	const struct pool *pool;
	uint64_t from, next; /* where a free run may begin; where ranges are read next */
	size_t at, n;
	bool ended, stop; /* no more ranges; no more free runs */
	struct lath_item items[POOL_BATCH];
};

void pool_iter_begin(struct pool_iter *iter, const struct pool *pool, uint64_t from);
/* The next range; *outside: it is outside the pool. 1 | 0 */
int pool_next(struct pool_iter *iter, struct pool_range *range, bool *outside);
/* Steps over `n` ranges of the pool. */
void pool_skip(struct pool_iter *iter, uint64_t n);
/* The free run behind the next `skip` of them. 1 | 0 */
int pool_next_free(struct pool_iter *iter, uint64_t skip, uint64_t *first, uint64_t *size);

/* Return the number of ranges, with those outside the pool, and of ranges with a lease. */
uint64_t pool_count(const struct pool *pool);
uint64_t pool_leased(const struct pool *pool);
/* The free room from at most max_leaves leaves of the index; see lath_index_hole_stats(). */
void pool_holes(const struct pool *pool, uint64_t max_leaves, struct lath_hole_stats *stats);
size_t pool_memory(const struct pool *pool);
size_t pool_effort(const struct pool *pool);

#endif /* LATH_VALKEY_POOL_H */
