/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/index.h - a concurrent ordered index of disjoint ranges over 64-bit keys.
 *
 * Items are ranges [key, key + size) with a 64-bit value: a number, a pointer, or the address of a
 * `struct lath_slot` inside the caller's object. No two items overlap. After the cache-friendly
 * skiplist for index ranges of Chris Mason (2013: keys in arrays, slots in the caller's struct, RCU
 * readers, a lock a node), with the levels of a B-link tree (Lehman and Yao 1981) in place of coins.
 *
 *   root   [ 0 ........ 4000 ........ 9000 ...... ]        separators, 64 a node
 *            |            |             |
 *   inner  [0 .. 700 ..] [4000 ......] [9000 ....] -> ...   every level is a chain:
 *            |     |                                        a node covers [low, last], its right
 *   leaf   [..] -> [..] -> [..] -> [..] -> [..] -> ...      neighbour begins at last + 1
 *
 *   a node: word low last right | live shift used base | head[64] | pair[64] {key, value} | size[64]
 *           0                   32                     64         128                     1152
 *
 * Invariants (lath_index_verify checks them; the number in brackets is the level that does)
 *   I1  every node in a chain is unlocked or locked by one thread, and not DEAD                  [1]
 *   I2  the leaves' fences cover 0 .. 2^64 - 1 without gap or overlap; a VOID leaf covers nothing [1]
 *   I3  entries ascend by key; only entries below `used` are live                                [2]
 *   I4  live ranges are disjoint, none is empty or wraps                                         [2]
 *   I5  no range crosses its leaf's fences: one leaf answers a lookup                            [2]
 *   I6  heads are the keys quantised to a byte, in order; 255 from `used` on                     [3]
 *   I7  an inner level covers the key space like the leaves; its separators ascend strictly,
 *       the first is the node's low fence                                                        [4]
 *   I8  a child is one level down and not DEAD                                                   [4]
 *   I9  a separator is never below its child's low fence, so a walk never lands too far right    [4]
 *   I10 every item is found by the walk from the root                                            [5]
 *   I11 with LATH_HOLES, what is noted of free room hides no hole (lathwork/hole.h)              [5]
 *
 * Who may call what beside what. Nothing needs a lock of the caller's, but for the rows marked X:
 *   lookup, get, overlap, ceiling, floor, first, last, scan, batch lookups, count   beside anything
 *   insert, erase, replace, resize, split, erase_range, store_range, batches        beside anything
 *   init, fini, create, destroy, load_sorted                                        X: alone
 *   verify, dump                                                                    X: no writers
 * One structure is used through one RCU flavour (lathwork/config.h). Calls enter a reader by themselves where they need one;
 * the _rcu forms expect the caller to be in one. Do not wait for a grace period inside a reader.
 *
 * What the calls promise
 *   P1  lookup, get, overlap, ceiling, floor, first, last, insert, erase, replace, the _if forms, resize, split,
 *       store_range and each element of a batch take effect at one moment between call and return
 *       (linearizable), hit and miss alike. Nothing has to be checked again by the caller.
 *   P2  scan and scan_back take what each leaf has at one moment; an item that is there all the time
 *       is seen, one that never is there is not. erase_range works leaf by leaf.
 *   P3  a failed call changed nothing. Lookups, erase, replace and erase_range never allocate.
 *   P4  progress: reads retry at most a few times when a writer is in the leaf, then wait for its lock;
 *       writers wait only for writers of the same leaves. A thread that stops inside a call can hold up
 *       writers of one leaf, and readers of that leaf.
 *   P5  order: a call that begins after another one returned sees its effect, on whichever thread.
 *
 * Ownership: values and slots are the caller's. What an erase returns may still be looked at by readers
 * that found it before: in slot mode free it after a grace period (lath_rcu_auto.call). A slot's key and
 * size must not change while it is in a list; after resize, split and store_range bring them up to date.
 *
 * Cost: a point takes 18 bytes in a full leaf, a range 26; randomly filled leaves are 87 % full, appended
 * ones 100 %. A lookup touches 3 lines a level; from some 50,000 items on, in user space and where keys lie evenly, a table of
 * a third of a byte an item leads past the levels. No random numbers: the same calls build the same list.
 *
 * Not for: keys longer than 64 bits, overlapping items, or a set so small that an array does. A hash
 * table is faster for points where order does not matter.
 *
 *     struct lath_index list;
 *     struct lath_item item = { .key = 4096, .size = 8192, .value = 7 };
 *
 *     lath_index_init(&list, NULL);
 *     lath_index_insert_item(&list, &item, NULL);
 *     if (!lath_index_lookup_item(&list, 5000, &item))
 *             printf("%llu\n", (unsigned long long)item.value);
 *     lath_index_fini(&list, NULL, NULL);
 */
#ifndef LATHWORK_INDEX_H
#define LATHWORK_INDEX_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The hook a caller embeds: the range [key, key + size). key and size must not change while
 * the slot is in a list except through the calls below. */
struct lath_slot {
	uint64_t key;
	uint64_t size;
};

/* An item as the index holds it. In slot mode value is the address of the slot. */
struct lath_item {
	uint64_t key;
	uint64_t size;
	uint64_t value;
};

/* Opaque, embeddable; 64-byte aligned. */
struct lath_index {
	uint64_t opaque[LATH_INDEX_WORDS];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

struct lath_index_stats {
	uint64_t items;
	uint64_t bytes; /* memory obtained, all of it: nodes, and the table that saves walks */
	uint64_t leaves;
	uint64_t inner_nodes;
	uint64_t levels;	/* 1 = a single leaf */
	uint64_t fill_permille; /* live entries / leaf capacity */
	uint64_t restarts;	/* descents begun anew because a node had been merged away */
	uint64_t lock_falls;	/* readers that gave up on versions and took the lock */
	uint64_t splits;	/* leaves added to full ones */
	uint64_t merges;
	uint64_t no_downlink; /* nodes without a parent entry, for want of memory: found by moving right */
	uint64_t huge_bytes; /* of bytes: asked to be on 2 MiB pages */
};

/* Told about an item; must not call the list unless the call that takes it says so. */
typedef void (*lath_item_fn)(void *arg, const struct lath_item *item);

/*
 * An empty list. config may be NULL. init: 0 | -EINVAL (config) | -ENOMEM. create: NULL for either.
 * fini and destroy end a list, wait for retired nodes (not inside a reader) and give all memory back.
 */
LATH_API int lath_index_init(struct lath_index *list, const struct lath_config *config);
/* each: called for every item still there, or NULL. Excludes all other calls. */
LATH_API void lath_index_fini(struct lath_index *list, lath_item_fn each, void *arg);
LATH_API struct lath_index *lath_index_create(const struct lath_config *config);
LATH_API void lath_index_destroy(struct lath_index *list, lath_item_fn each, void *arg);

/* 0 | -EEXIST (*conflict, if not NULL: an item that overlaps) | -ENOMEM
 * | -EINVAL: size 0, a range past the last key 2^64 - 1, or size != 1 in the points layout */
LATH_API int lath_index_insert_item(struct lath_index *list, const struct lath_item *item,
				       struct lath_item *conflict);
/*
 * Insert without allocating: bring the nodes along. preload() fills what is missing (zero the struct
 * before the first time); insert_preloaded() takes from it what it needs, and fails with -EAGAIN, the list
 * unchanged, if that is not enough (other threads split the same leaf at the same time): preload and try again.
 */
struct lath_preload {
	void *node[3];
};

LATH_API int lath_index_preload(struct lath_index *list, struct lath_preload *preload);
LATH_API void lath_index_preload_release(struct lath_index *list, struct lath_preload *preload);
LATH_API int lath_index_insert_preloaded(struct lath_index *list, const struct lath_item *item,
					    struct lath_preload *preload, struct lath_item *conflict);
/* Erase the item that starts at key / that covers point: 0 (*old filled if not NULL) | -ENOENT. Never allocates. */
LATH_API int lath_index_erase_item(struct lath_index *list, uint64_t key, struct lath_item *old);
LATH_API int lath_index_erase_item_at(struct lath_index *list, uint64_t point, struct lath_item *old);
/* Exchange the value of the item that starts at key: 0 | -ENOENT */
LATH_API int lath_index_replace_item(struct lath_index *list, uint64_t key, uint64_t value,
					struct lath_item *old);
/* The same only while the item's value is `expected`: 0 | -ENOENT | -EAGAIN (*there: the item as it is) */
LATH_API int lath_index_replace_if(struct lath_index *list, uint64_t key, uint64_t expected,
				      uint64_t value, struct lath_item *there);
/* Erase the item that starts at key only while its value is `expected`: results as above. Never allocates. */
LATH_API int lath_index_erase_if(struct lath_index *list, uint64_t key, uint64_t expected,
				    struct lath_item *there);
/* The item that covers point: 0 | -ENOENT */
LATH_API int lath_index_lookup_item(struct lath_index *list, uint64_t point, struct lath_item *found);
/* The first item that overlaps [key, key + size): 0 | -ENOENT | -EINVAL */
LATH_API int lath_index_overlap_item(struct lath_index *list, uint64_t key, uint64_t size,
					struct lath_item *found);
/* First item with item.key >= key / last item with item.key <= key: 0 | -ENOENT */
LATH_API int lath_index_ceiling_item(struct lath_index *list, uint64_t key, struct lath_item *found);
LATH_API int lath_index_floor_item(struct lath_index *list, uint64_t key, struct lath_item *found);
LATH_API int lath_index_first_item(struct lath_index *list, struct lath_item *found);
LATH_API int lath_index_last_item(struct lath_index *list, struct lath_item *found);

/* The same reads for a caller that is inside a reader of the list's flavour already. */
LATH_API int lath_index_lookup_item_rcu(struct lath_index *list, uint64_t point,
					   struct lath_item *found);
LATH_API int lath_index_overlap_item_rcu(struct lath_index *list, uint64_t key, uint64_t size,
					    struct lath_item *found);

/* Change the size of the item that starts at key: 0 | -ENOENT | -EEXIST | -EINVAL | -ENOMEM.
 * In slot mode the caller updates slot->size. */
LATH_API int lath_index_resize(struct lath_index *list, uint64_t key, uint64_t size);
/* Cut the item that covers `at` in two; the right part starts at `at` and has `value`:
 * 0 | -ENOENT | -EEXIST (an item starts at `at`) | -ENOMEM */
LATH_API int lath_index_split(struct lath_index *list, uint64_t at, uint64_t value);
/* Erase every item that overlaps [key, key + size), in key order, each()'d after it left the list.
 * Leaf by leaf, not atomic as a whole. Returns the number erased or -EINVAL. Never allocates. */
LATH_API int64_t lath_index_erase_range(struct lath_index *list, uint64_t key, uint64_t size,
					   lath_item_fn each, void *arg);
/* Insert item over whatever is there: covered items leave (each() sees them, with the leaves still locked:
 * it must not call the list), partly covered ones are cut, one that reaches out on both sides is cut in two
 * with the same value. Value mode; atomic. 0 | -EINVAL | -ENOMEM */
LATH_API int lath_index_store_range(struct lath_index *list, const struct lath_item *item,
				       lath_item_fn each, void *arg);

/* Batches: 16 descents in flight. Result i belongs to key i. Each element is its own operation.
 * lookup: found[i].size == 0 means absent; returns the number found. Values alone: lath_index_get_batch.
 * insert/erase: results[i] as the single call's (results may be NULL); returns the number that succeeded. */
LATH_API size_t lath_index_lookup_batch(struct lath_index *list, size_t n, const uint64_t *points,
					   struct lath_item *found);
LATH_API size_t lath_index_get_batch(struct lath_index *list, size_t n, const uint64_t *points,
					uint64_t *values, uint8_t *hits);
LATH_API size_t lath_index_insert_batch(struct lath_index *list, size_t n,
					   const struct lath_item *items, int *results);
LATH_API size_t lath_index_erase_batch(struct lath_index *list, size_t n, const uint64_t *keys,
					  int *results);
/* Fill an empty list from items sorted by key: 0 | -EINVAL (*bad: index of the first item out of order,
 * overlapping or invalid; the list stays empty) | -EBUSY (not empty) | -ENOMEM (the list stays empty).
 * Excludes all other calls. */
LATH_API int lath_index_load_sorted(struct lath_index *list, size_t n, const struct lath_item *items,
				       size_t *bad);

/* The value of the item that covers point: 1 (*value set) | 0. The fastest lookup. */
LATH_API int lath_index_get(struct lath_index *list, uint64_t point, uint64_t *value);

/* Copy up to max items that start in [from, last], in order: the number copied. Each leaf is read
 * consistently; between leaves others may write. *next, if
 * the count == max: the key to go on from, behind the last item; 0 if that one ends at the last key. */
LATH_API size_t lath_index_scan(struct lath_index *list, uint64_t from, uint64_t last,
				   struct lath_item *items, size_t max, uint64_t *next);

/* The same, keys and values in arrays of their own. */
LATH_API size_t lath_index_scan_values(struct lath_index *index, uint64_t from, uint64_t last, uint64_t *keys,
				       uint64_t *values, size_t max, uint64_t *next);

/* The same to the left: items that start in [first, from], the highest first. */
LATH_API size_t lath_index_scan_back(struct lath_index *list, uint64_t from, uint64_t first,
					struct lath_item *items, size_t max, uint64_t *next);

/* An insert of key will come soon: prefetch what it needs. Changes nothing. */
LATH_API void lath_index_prefetch(struct lath_index *index, uint64_t key);
/* The items were inserted in order and will be read in any order: build at once what makes that fast. Never needed;
 * may allocate, and does nothing if there is no memory. Concurrently with anything. */
LATH_API void lath_index_prepare(struct lath_index *index);
/* A number that differs between builds of the library whose indexes lie differently in memory (LATH_SHARED). */
LATH_API uint32_t lath_index_layout(void);

LATH_API uint64_t lath_index_count(struct lath_index *list);
LATH_API void lath_index_get_stats(struct lath_index *list, struct lath_index_stats *stats);
/* 0, or the number of the broken invariant (report: text of at most report_size bytes). Quiescent lists only. */
LATH_API int lath_index_verify(struct lath_index *list, int level, char *report, size_t report_size);

/* Print the list for a person (LATH_DUMP_TEXT) or for Graphviz (LATH_DUMP_DOT), a piece of text at a time.
 * Quiescent lists only. */
enum lath_dump_format { LATH_DUMP_TEXT, LATH_DUMP_DOT };
LATH_API void lath_index_dump(struct lath_index *list, enum lath_dump_format format,
				 void (*write)(void *arg, const char *text), void *arg);

/* Slot mode: the same calls on embedded hooks. */
static inline struct lath_slot *lath_item_slot(const struct lath_item *item)
{
	return (struct lath_slot *)(uintptr_t)item->value;
}

static inline int lath_index_insert(struct lath_index *list, struct lath_slot *slot,
				       struct lath_slot **conflict)
{
	struct lath_item item = { slot->key, slot->size, (uint64_t)(uintptr_t)slot };
	struct lath_item there;
	int ret = lath_index_insert_item(list, &item, conflict ? &there : NULL);

	if (ret < 0 && conflict)
		*conflict = ret == -17 /* -EEXIST */ ? lath_item_slot(&there) : NULL;
	return ret;
}

/* Ask memory for a slot taken out: most often it is put back elsewhere, or freed. */
static inline struct lath_slot *lath_item_taken(const struct lath_item *item)
{
	__builtin_prefetch(lath_item_slot(item));
	return lath_item_slot(item);
}

static inline struct lath_slot *lath_index_erase(struct lath_index *list, uint64_t key)
{
	struct lath_item old;

	return lath_index_erase_item(list, key, &old) ? NULL : lath_item_taken(&old);
}

static inline struct lath_slot *lath_index_erase_at(struct lath_index *list, uint64_t point)
{
	struct lath_item old;

	return lath_index_erase_item_at(list, point, &old) ? NULL : lath_item_taken(&old);
}

static inline struct lath_slot *lath_index_lookup(struct lath_index *list, uint64_t point)
{
	struct lath_item item;

	return lath_index_lookup_item(list, point, &item) ? NULL : lath_item_slot(&item);
}

static inline struct lath_slot *lath_index_lookup_rcu(struct lath_index *list, uint64_t point)
{
	struct lath_item item;

	return lath_index_lookup_item_rcu(list, point, &item) ? NULL : lath_item_slot(&item);
}

static inline struct lath_slot *lath_index_overlap(struct lath_index *list, uint64_t key, uint64_t size)
{
	struct lath_item item;

	return lath_index_overlap_item(list, key, size, &item) ? NULL : lath_item_slot(&item);
}

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_INDEX_H */
