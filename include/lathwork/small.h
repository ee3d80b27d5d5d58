/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/small.h - an ordered container of points or ranges that begins as one small block of
 * memory, and becomes an index (lathwork/index.h) when it has outgrown that.
 *
 *     static struct lath_small_kind kind = LATH_SMALL_KIND_INIT;
 *     struct lath_small set;
 *     struct lath_item item = { .key = 4096, .size = 8192, .value = 7 };
 *
 *     lath_small_init(&set, &kind);
 *     lath_small_insert_item(&set, &item, NULL);
 *     if (!lath_small_lookup_item(&set, 5000, &item))
 *             printf("%llu\n", (unsigned long long)item.value);
 *     lath_small_fini(&set, NULL, NULL);
 *
 * For a program that has millions of containers, most of them small: an empty index takes 1.4 KB,
 * an empty container its struct of 24 bytes. What such containers share, above all how their
 * indexes are made, is in a struct of the caller's, their kind.
 *
 * A block of at most kind.limit entries has the lowest key, and then three columns: the differences
 * of the keys from that one, the sizes less one, and the values. Each column is as wide as its
 * widest entry needs, in bytes: 30 numbers of one million with values below 256 take 128 bytes.
 * With one entry more it becomes an index, whose nodes are allocated one by one (LATH_NODE_EACH) up
 * to kind.each entries, and in chunks above that. An index never becomes a block again.
 *
 * Cost. A call on a block looks at all of its keys; an insert copies the block. That takes less
 * time than the same call on an index up to some 30 entries.
 *
 * Threads. One thread at a time makes changes, and while it does, no other call runs. Reads run
 * concurrently with each other. Containers of one kind are independent of each other. No call may
 * be made in a signal handler (lathwork/config.h, T1 to T6).
 *
 * The calls are those of lath_index with the same meaning; the order statistics need LATH_RANKS in
 * kind.index.flags, the calls about holes LATH_HOLES, in a block too. There is one difference: in a
 * block a new value or a larger size may need memory. A call that returns an error has not changed
 * the items; one that returns -ENOMEM may leave an index in the place of a block. A change after
 * which there are fewer entries never fails for want of memory.
 */
#ifndef LATHWORK_SMALL_H
#define LATHWORK_SMALL_H

#include "lathwork/hole.h"
#include "lathwork/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most entries that a block can have. */
#define LATH_SMALL_MOST 64

/* The configuration of containers. The caller fills it in; it must outlive every container that was
 * made with it. */
struct lath_small_kind {
	struct lath_config index; /* of the indexes. Not LATH_SHARED */
	/* memory of blocks, aligned to 8 bytes. NULL: that of the indexes */
	const struct lath_allocator *blocks;
	unsigned int limit; /* entries up to which a block takes one more: 0 to LATH_SMALL_MOST */
	uint64_t each;	    /* entries up to which nodes are allocated one by one */
};

#define LATH_SMALL_KIND_INIT { LATH_CONFIG_INIT, NULL, 32, 4096 }

/* Opaque; to be embedded. May be moved, as bytes, between two calls. */
struct lath_small {
	uint64_t opaque[3];
};

/* Makes an empty container, which has no memory yet. kind NULL: that of LATH_SMALL_KIND_INIT. 0 |
 * -EINVAL: the kind, by the rules of lath_index_init() */
LATH_API int lath_small_init(struct lath_small *small, const struct lath_small_kind *kind);
/* Ends it: frees its memory and leaves it empty. each: called for every item that is still there,
 * or NULL. An index waits for its retired nodes, so not in a read-side critical section. */
LATH_API void lath_small_fini(struct lath_small *small, lath_item_fn each, void *arg);
/* Changes kind->limit, for the next inserts into containers of that kind: what is larger stays a
 * block until then. Not concurrently with changes of these. 0 | -EINVAL: above LATH_SMALL_MOST */
LATH_API int lath_small_set_limit(struct lath_small_kind *kind, unsigned int limit);

/* 0 | -EEXIST (*conflict, if not NULL: an item that overlaps) | -ENOMEM | -EINVAL */
LATH_API int lath_small_insert_item(struct lath_small *small, const struct lath_item *item,
				    struct lath_item *conflict);
/* 0 (*old, if not NULL, is the item) | -ENOENT. Never fails for want of memory: without
 * memory for a smaller block the container keeps the one that it has. */
LATH_API int lath_small_erase_item(struct lath_small *small, uint64_t key, struct lath_item *old);
/* 0 (*old, if not NULL, is the item before) | -ENOENT | -ENOMEM: only of a block, and only if the
 * value has more than lath_small_value_bytes() bytes */
LATH_API int lath_small_replace_item(struct lath_small *small, uint64_t key, uint64_t value,
				     struct lath_item *old);
/* Changes the size of the item that starts at key: 0 | -ENOENT | -EEXIST | -EINVAL | -ENOMEM:
 * only if the size grows */
LATH_API int lath_small_resize(struct lath_small *small, uint64_t key, uint64_t size);
/* Cuts the item that covers `at` in two; the right part starts there and has the value `value`: 0 |
 * -ENOENT | -EEXIST (an item starts at `at`) | -ENOMEM */
LATH_API int lath_small_split(struct lath_small *small, uint64_t at, uint64_t value);
/* Returns how many bytes of a value the block has room for; 8: it is an index, or has a value of
 * eight bytes. */
LATH_API unsigned int lath_small_value_bytes(const struct lath_small *small);

/* 1 (*value set) | 0 */
LATH_API int lath_small_get(const struct lath_small *small, uint64_t point, uint64_t *value);
LATH_API size_t lath_small_get_batch(const struct lath_small *small, size_t n,
				     const uint64_t *points, uint64_t *values, uint8_t *hits);
/* 0 | -ENOENT */
LATH_API int lath_small_lookup_item(const struct lath_small *small, uint64_t point,
				    struct lath_item *found);
LATH_API int lath_small_ceiling_item(const struct lath_small *small, uint64_t key,
				     struct lath_item *found);

/* As the calls of lath_index: they return the number of items that were copied, and set *next, if
 * not NULL, if that is max. */
LATH_API size_t lath_small_scan_values(const struct lath_small *small, uint64_t from, uint64_t last,
				       uint64_t *keys, uint64_t *values, size_t max,
				       uint64_t *next);
LATH_API size_t lath_small_scan_back(const struct lath_small *small, uint64_t from, uint64_t first,
				     struct lath_item *items, size_t max, uint64_t *next);

/* Returns the number of items, in constant time. */
LATH_API uint64_t lath_small_count(const struct lath_small *small);
/* With LATH_RANKS: numbers of items, or -EINVAL without; select: 0 | -ENOENT | -EINVAL */
LATH_API int64_t lath_small_count_range(const struct lath_small *small, uint64_t from,
					uint64_t last);
LATH_API int lath_small_select(const struct lath_small *small, uint64_t rank,
			       struct lath_item *found);

/* With LATH_HOLES. Of several holes a block has the policy's choice exactly; stats of a block are
 * exact, and max_leaves is of an index. find_hole: 0 | -ENOSPC | -EINVAL. insert_hole: as
 * find_hole, or -ENOMEM. hole_stats: 0 | -EINVAL */
LATH_API int lath_small_find_hole(const struct lath_small *small,
				  const struct lath_hole_request *want, uint64_t *key);
LATH_API int lath_small_insert_hole(struct lath_small *small, const struct lath_hole_request *want,
				    uint64_t value, uint64_t *key);
LATH_API int lath_small_hole_stats(const struct lath_small *small, uint64_t low, uint64_t high,
				   uint64_t max_leaves, struct lath_hole_stats *stats);

/* Returns the index, for the calls that are not here and change nothing; NULL: it is a block. */
LATH_API struct lath_index *lath_small_index(const struct lath_small *small);
/* Returns the bytes of memory that the container has, without its struct. */
LATH_API size_t lath_small_bytes(const struct lath_small *small);
/* Lets the caller move the block to another place, for defragmentation: move() returns where it is
 * now, aligned to 8 bytes and from where kind.blocks frees it. Not called for an empty container or
 * an index. */
LATH_API void lath_small_move(struct lath_small *small,
			      void *(*move)(void *arg, void *block, size_t size), void *arg);
/* Returns 0, or a number above 0 with a sentence in report (report_size bytes, may be NULL): what
 * lath_index_verify() found, or for a block 1: a column is not as wide as its entries need, 2: the
 * items are not in order, 3: the block is too small. Concurrently with reads only. */
LATH_API int lath_small_verify(const struct lath_small *small, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_SMALL_H */
