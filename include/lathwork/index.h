/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/index.h - an ordered index of disjoint ranges of 64-bit keys, shared by threads.
 *
 *     struct lath_index index;
 *     struct lath_item item = { .key = 4096, .size = 8192, .value = 7 };
 *
 *     lath_index_init(&index, NULL);
 *     lath_index_insert_item(&index, &item, NULL);
 *     if (!lath_index_lookup_item(&index, 5000, &item))
 *             printf("%llu\n", (unsigned long long)item.value);
 *     lath_index_fini(&index, NULL, NULL);
 *
 * An item is a range [key, key + size) with a 64-bit value: a number, a pointer, or the address of
 * a `struct lath_slot` inside the caller's object. No two items overlap. It is for memory mappings,
 * extents of files, locks on byte ranges and free addresses; and, with ranges of one key
 * (LATH_POINTS), for any map of 64-bit keys. It follows on from Chris Mason's skip list for index
 * ranges (2013); its levels are those of a B-link tree (Lehman and Yao 1981).
 *
 * Cost. A point takes 18 bytes in a full leaf, a range 26. Random inserts leave leaves 87 % full,
 * ascending ones 100 %, both at random places 80 %. An index of up to 24 points takes 1.4 KB with
 * its struct. A descent touches three cache lines per level. Above about 1,700 keys
 * (user space only) a hint table of 1/4 to 1/2 byte per item, in clusters up to 1, replaces it by
 * two or three cache misses. No random numbers are used: the same calls build the same index.
 *
 * Not for: keys longer than 64 bits (lathwork/bytes.h), or items that overlap
 * (lathwork/interval.h). If order does not matter, a hash table finds single keys faster.
 *
 * Threads. No call needs a lock of the caller's. Which calls may run concurrently:
 *   lookup, lookup_pin, get, overlap, ceiling, floor, first, last, scans, batch lookups, count,
 *   rank, select, count_range, clone (of the index it reads), prefetch: with all but X
 *   insert, erase, replace, resize, split, join, erase_range, clear, store_range,
 *   batches, prepare, trim: with all but X
 *   verify, dump: with each other and with reads only
 *   init, fini, create, destroy, load_sorted: X, with nothing
 * All threads use one index through one RCU flavour (lathwork/config.h). Calls enter an RCU
 * read-side critical section by themselves where they need one; for the _rcu forms the caller is in
 * one. A thread must not wait for a grace period within a read-side critical section. No call may
 * be made in a signal handler, also no lookup; the rest of what a process does to its threads is
 * in lathwork/config.h, T1 to T6.
 *
 * Guarantees
 *   P1  Lookup, lookup_pin, get, overlap, ceiling, floor, first, last, insert, erase, replace, the
 *       _if forms, resize, split, join, store_range and each element of a batch are linearizable:
 *       they take effect at one moment between call and return, for a hit and for a miss.
 *   P2  A scan takes what each leaf holds at one moment. It sees every item that is there all the
 *       time, and none that never is. erase_range and clear work leaf by leaf.
 *   P3  A failed call changes nothing. Reads, erase, replace, join, erase_range and clear never
 *       allocate.
 *   P4  Progress: a read retries a few times while a writer changes its leaf, then waits for the
 *       leaf's lock. A writer waits only for writers of the same leaves. A thread that is stopped
 *       within a call can delay writers, and readers, of one leaf. With LATH_RANKS the first change
 *       of the number of items in a leaf since a call that counted it waits for other such changes
 *       and for such calls, while they count the children of one node.
 *   P5  Order: a call that begins after another one returned sees its effect, on any thread.
 *   P6  Rank, select, count_range, and count with LATH_RANKS: the answer is that of one set of
 *       items. The set contains every item whose insert returned before the call began and whose
 *       erase, if any, began after the call returned. It contains no item whose erase returned
 *       before the call began, or whose insert began after the call returned. Of changes that run
 *       at the same time as the call, each is in the set or not. So without such changes the answer
 *       is exact.
 *
 * Ownership. Values and slots belong to the caller. Readers that found an item before it was erased
 * may still look at it: in slot mode free it after a grace period (lath_rcu_auto.call). The caller
 * must not change a slot's key and size while it is in an index, and updates them after resize,
 * split, join and store_range.
 *
 * doc/range-index.md follows one lookup and one insert through the tree, and has the layout of a
 * node and the invariants I1 to I15 that lath_index_verify() checks.
 */
#ifndef LATHWORK_INDEX_H
#define LATHWORK_INDEX_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a caller embeds in its own struct: the range [key, key + size). The caller must not change
 * key and size while the slot is in an index, except after a call below says so. */
struct lath_slot {
	uint64_t key;
	uint64_t size;
};

/* An item as the index holds it. In slot mode value is the address of the slot.
 *
 * Long values. In an index whose lath_config.value_size is more than 8 each item has a value of
 * that many bytes, copied in and out, which lies in the index beside its key. There `value` is
 * an address, aligned to 8 bytes: of an item that the caller hands in, that of its value, as is
 * a value by itself (replace, split); of an item that a call fills in, where it copies the
 * value to. The caller sets that before the call, in each item of an array; 0: the value is not
 * wanted. A callback gets the address of a copy. Arrays of values have value_size bytes for
 * each. What is at such an address after a miss means nothing. */
struct lath_item {
	uint64_t key;
	uint64_t size;
	uint64_t value;
};

/* Opaque; to be embedded. Aligned to 64 bytes: malloc() aligns to 16 only, so allocate one, or what
 * embeds one, with aligned_alloc(). It must not be moved between init and fini. */
struct lath_index {
	uint64_t opaque[LATH_INDEX_WORDS];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

struct lath_index_stats {
	uint64_t items;
	uint64_t bytes; /* all memory obtained: nodes and hint table */
	uint64_t leaves;
	uint64_t inner_nodes;
	uint64_t levels;	/* 1 = a single leaf */
	uint64_t fill_permille; /* live entries / leaf capacity */
	uint64_t restarts;	/* descents that began again, because a node had been merged */
	uint64_t lock_falls;	/* reads that took the lock after some failed validations */
	uint64_t splits;	/* leaves added to full ones */
	uint64_t merges;
	uint64_t no_downlink;	/* nodes without a parent entry, for want of memory: found by moving
				   right */
	uint64_t huge_bytes;	/* of bytes: asked to be on 2 MiB pages */
	uint64_t hole_searches; /* calls of lathwork/hole.h */
	uint64_t hole_nodes;	/* nodes that these looked at */
};

/* Called for an item. It must not call the index, unless the function that takes it says so. */
typedef void (*lath_item_fn)(void *arg, const struct lath_item *item);

/*
 * Make an empty index. config may be NULL. init: 0 | -EINVAL (config, or an index that is NULL or
 * misaligned) | -ENOMEM. create: NULL for either. fini and destroy end an index: they wait for
 * retired nodes, so not in a read-side critical section, and free all memory. Misuse. Every call
 * but destroy, which ignores NULL, needs an index between init and fini: NULL, an index that was
 * never initialised, and an index after its fini (a second fini too) are not checked. After fini,
 * init begins anew. Pointers for results may be NULL only where a call says so.
 */
LATH_API int lath_index_init(struct lath_index *index, const struct lath_config *config);
/* each: called for every item that is still there, or NULL. Excludes all other calls. */
LATH_API void lath_index_fini(struct lath_index *index, lath_item_fn each, void *arg);
LATH_API struct lath_index *lath_index_create(const struct lath_config *config);
LATH_API void lath_index_destroy(struct lath_index *index, lath_item_fn each, void *arg);

/* Insert an item: 0 | -EEXIST (*conflict, if not NULL: an item that overlaps) | -ENOMEM
 * | -EINVAL: size 0, a range past the last key 2^64 - 1, or size != 1 in the points layout */
LATH_API int lath_index_insert_item(struct lath_index *index, const struct lath_item *item,
				    struct lath_item *conflict);
/*
 * Insert without allocating: the caller brings the nodes along. Zero the struct before the first
 * time. preload: fills what is missing, 0 | -ENOMEM. insert_preloaded: takes what it needs, results
 * as lath_index_insert_item(), or -EAGAIN, the items unchanged, if it is not enough: other threads
 * split the same leaf at the same time, or it has to be split twice. Preload and try again.
 */
struct lath_preload {
	void *node[3];
};

LATH_API int lath_index_preload(struct lath_index *index, struct lath_preload *preload);
LATH_API void lath_index_preload_release(struct lath_index *index, struct lath_preload *preload);
LATH_API int lath_index_insert_preloaded(struct lath_index *index, const struct lath_item *item,
					 struct lath_preload *preload, struct lath_item *conflict);
/* Erase the item that starts at key / that covers point: 0 (*old filled if not NULL) | -ENOENT.
 * Never allocates. */
LATH_API int lath_index_erase_item(struct lath_index *index, uint64_t key, struct lath_item *old);
LATH_API int lath_index_erase_item_at(struct lath_index *index, uint64_t point,
				      struct lath_item *old);
/* Change the value of the item that starts at key: 0 (*old, if not NULL: the item before) |
 * -ENOENT */
LATH_API int lath_index_replace_item(struct lath_index *index, uint64_t key, uint64_t value,
				     struct lath_item *old);
/* As lath_index_replace_item() if the item's value is `expected`: 0 | -ENOENT | -EAGAIN (*there:
 * the item as it is) */
LATH_API int lath_index_replace_if(struct lath_index *index, uint64_t key, uint64_t expected,
				   uint64_t value, struct lath_item *there);
/* Erase the item that starts at key if its value is `expected`: results as those of
 * lath_index_replace_if(). Never allocates. */
LATH_API int lath_index_erase_if(struct lath_index *index, uint64_t key, uint64_t expected,
				 struct lath_item *there);
/* Erase the item that starts at key if its size is `size`, which is 1 in the points layout: for
 * callers that give back what they were given, key and size. Results as those of
 * lath_index_replace_if(). Never allocates. */
LATH_API int lath_index_erase_sized(struct lath_index *index, uint64_t key, uint64_t size,
				    struct lath_item *there);
/* Find the item that covers point: 0 | -ENOENT */
LATH_API int lath_index_lookup_item(struct lath_index *index, uint64_t point,
				    struct lath_item *found);
/* Find the first item that overlaps [key, key + size): 0 | -ENOENT | -EINVAL */
LATH_API int lath_index_overlap_item(struct lath_index *index, uint64_t key, uint64_t size,
				     struct lath_item *found);
/* Find the first item with item.key >= key / the last one with item.key <= key: 0 | -ENOENT */
LATH_API int lath_index_ceiling_item(struct lath_index *index, uint64_t key,
				     struct lath_item *found);
LATH_API int lath_index_floor_item(struct lath_index *index, uint64_t key, struct lath_item *found);

/* As lath_index_lookup_item(), for a caller in a read-side critical section of the index's
 * flavour. */
LATH_API int lath_index_lookup_item_rcu(struct lath_index *index, uint64_t point,
					struct lath_item *found);

/*
 * Find the item that covers point and take a reference to what it leads to: 0 (*found: the item;
 * pinned) | -ENOENT | -EBUSY (the item is there, and pin() refused; *found). For caches of
 * registrations or pages: the item was in the index at the moment when pin() took the reference.
 *
 * pin() takes the reference, or returns 0 if it may not, because the object is about to go. It
 * is called in a read-side critical section, so an object that is freed a grace period after its
 * erase is still memory. unpin() gives a reference back that was taken for an item whose leaf
 * changed since: then the call looks again. Both may run several times per call; neither may
 * call the index. The reference must be an atomic read-modify-write of one word, with acquire and
 * release order. Then an eraser that, after its erase, changes that word in the same way sees each
 * reference that was taken before, and no later one is taken: it frees the object when they are
 * gone.
 */
struct lath_pin {
	int (*pin)(void *arg, const struct lath_item *item); /* 1: taken, 0: refused */
	void (*unpin)(void *arg, const struct lath_item *item);
	void *arg;
};

LATH_API int lath_index_lookup_pin(struct lath_index *index, uint64_t point,
				   const struct lath_pin *pin, struct lath_item *found);

/* Change the size of the item that starts at key: 0 | -ENOENT | -EEXIST (it would overlap another
 * item) | -EINVAL (size is 0, the item would end behind 2^64, or the layout is LATH_POINTS) |
 * -ENOMEM. In slot mode the caller updates slot->size. */
LATH_API int lath_index_resize(struct lath_index *index, uint64_t key, uint64_t size);
/* Cut the item that covers `at` in two; the right part starts at `at` and has the value `value`:
 * 0 | -ENOENT | -EEXIST (an item starts at `at`) | -ENOMEM */
LATH_API int lath_index_split(struct lath_index *index, uint64_t at, uint64_t value);
/* Erase the keys of `part` from the one item that covers all of them, if its value is part->value.
 * What is left of that item before and behind them stays, with its value. Atomic; concurrent calls
 * for different parts of one item all succeed. *there, if not NULL: the item as it was.
 * 0 | -ENOENT (no item covers them all) | -EAGAIN (another value: *there) | -EINVAL | -ENOMEM (only
 * for a part in the middle). For indexes of values, not of slots. */
LATH_API int lath_index_erase_part(struct lath_index *index, const struct lath_item *part,
				   struct lath_item *there);
/*
 * Join the item that ends right before `at` with the one that starts at `at`: the left one covers
 * the keys of both from then on and keeps its value; the right one leaves the index (*gone, if not
 * NULL). Atomic: no read sees one of them without the other, or a key uncovered. Never allocates.
 * may_join, unless NULL, is asked first, with both items, while their leaves are locked: it must
 * not call the index. In slot mode the caller updates the left slot's size.
 * 0 | -ENOENT (there are no two such items) | -ECANCELED (may_join returned 0) | -EINVAL (points
 * layout, or together they would be all 2^64 keys)
 */
LATH_API int lath_index_join(struct lath_index *index, uint64_t at,
			     int (*may_join)(void *arg, const struct lath_item *left,
					     const struct lath_item *right),
			     void *arg, struct lath_item *gone);
/* Erase every item that overlaps [key, key + size), in key order, leaf by leaf; not atomic as a
 * whole. each, if not NULL, is called for every item after it left the index. Returns the number of
 * erased items or -EINVAL. Never allocates. */
LATH_API int64_t lath_index_erase_range(struct lath_index *index, uint64_t key, uint64_t size,
					lath_item_fn each, void *arg);
/* Erase every item, as erase_range, which cannot name all 2^64 keys. Returns their number. The
 * index keeps memory for its next items; lath_index_trim() gives it back. */
LATH_API int64_t lath_index_clear(struct lath_index *index, lath_item_fn each, void *arg);
/* Insert an item over whatever is there: items that it covers leave the index, items that it covers
 * in part are cut, one that extends beyond it on both sides becomes two with the same value. each,
 * if not NULL, is called for every item that leaves, while leaves are locked: it must not call the
 * index. For indexes of values, not of slots. Atomic. 0 | -EINVAL | -ENOMEM */
LATH_API int lath_index_store_range(struct lath_index *index, const struct lath_item *item,
				    lath_item_fn each, void *arg);

/* Many calls with overlapped cache misses. Result i belongs to key i; each element is an operation
 * of its own. get: hits[i] is 1 or 0, values[i] is set on a hit; it returns the number of hits.
 * insert, erase: results[i] as the single call's (results may be NULL); they return the number of
 * successes. */
LATH_API size_t lath_index_get_batch(struct lath_index *index, size_t n, const uint64_t *points,
				     uint64_t *values, uint8_t *hits);
LATH_API size_t lath_index_insert_batch(struct lath_index *index, size_t n,
					const struct lath_item *items, int *results);
LATH_API size_t lath_index_erase_batch(struct lath_index *index, size_t n, const uint64_t *keys,
				       int *results);
/* Fill an empty index from items sorted by key: 0 | -EINVAL (*bad: the number of the first item out
 * of order, overlapping or invalid; the index stays empty) | -EBUSY (not empty) | -ENOMEM (the
 * index stays empty). Excludes all other calls. */
LATH_API int lath_index_load_sorted(struct lath_index *index, size_t n,
				    const struct lath_item *items, size_t *bad);

/* Get the value of the item that covers point: 1 (*value set) | 0 (not there). The fastest
 * lookup. */
LATH_API int lath_index_get(struct lath_index *index, uint64_t point, uint64_t *value);

/* Copy up to max items that start in [from, last], in order. Returns the number copied. Each leaf
 * is read at one moment; between leaves other threads may write. If the number is max, and not 0,
 * *next (if not NULL) is the key to go on from, behind the last item; 0 if that one ends at the
 * last key. Otherwise *next means nothing. */
LATH_API size_t lath_index_scan(struct lath_index *index, uint64_t from, uint64_t last,
				struct lath_item *items, size_t max, uint64_t *next);

/* As lath_index_scan, keys and values in separate arrays, without sizes: *next is the key
 * behind the last item's first key, 0 if that is the last key. `keys` may be NULL if `next` is NULL
 * too. */
LATH_API size_t lath_index_scan_values(struct lath_index *index, uint64_t from, uint64_t last,
				       uint64_t *keys, uint64_t *values, size_t max,
				       uint64_t *next);

/* As lath_index_scan, but items[].value is the address of the value in the index. A caller that
 * excludes all calls that change the index may read and write values there until the next of
 * these, or the end of the index. Not for values of more than 8 bytes. */
LATH_API size_t lath_index_scan_places(struct lath_index *index, uint64_t from, uint64_t last,
				       struct lath_item *items, size_t max, uint64_t *next);

/* Called with items of one leaf: arrays of n keys and values, valid during the call. Returns 0 to
 * go on. */
typedef int (*lath_visit_fn)(void *arg, const uint64_t *keys, const uint64_t *values, size_t n);

/* Call visit for the items that start in [from, last], in order, those of a leaf in one call (in
 * the kernel in two), until it returns anything but 0. What a call gets was there at one moment,
 * and memory for the next leaves is fetched while visit works. expected: how many items are likely
 * to be wanted; it decides how much is fetched ahead. Returns what visit returned last, or 0. visit
 * runs in a read-side critical section and may make all calls that are allowed there. */
LATH_API int lath_index_visit_values(struct lath_index *index, uint64_t from, uint64_t last,
				     size_t expected, lath_visit_fn visit, void *arg);

/* As lath_index_scan, to the left: items that start in [first, from], the highest first. *next is
 * the key in front of the last item copied, or 2^64 - 1 if that item starts at key 0. */
LATH_API size_t lath_index_scan_back(struct lath_index *index, uint64_t from, uint64_t first,
				     struct lath_item *items, size_t max, uint64_t *next);

/*
 * Order statistics, of an index with LATH_RANKS. P6 says what they mean while other threads change
 * the index. No lock is needed and none is kept; they may run concurrently with all calls but X,
 * within a read-side critical section too. They allocate nothing.
 *
 * Cost: O(log n), and some 30 ns for each leaf whose number of items changed since the last such
 * call that passed it: the first call after many changes counts anew what they touched. In return,
 * a change costs the same as without LATH_RANKS unless it is the first one in its leaf since such a
 * call.
 */
/* Returns the number of items with item.key < key | -EINVAL (no LATH_RANKS). */
LATH_API int64_t lath_index_rank(struct lath_index *index, uint64_t key);
/* Find the item with rank `rank`, the first one has 0: 0 | -ENOENT (there are no more than `rank`
 * items) | -EINVAL (no LATH_RANKS) */
LATH_API int lath_index_select(struct lath_index *index, uint64_t rank, struct lath_item *found);
/* Returns the number of items that start in [from, last], 0 if from > last | -EINVAL (no
 * LATH_RANKS). */
LATH_API int64_t lath_index_count_range(struct lath_index *index, uint64_t from, uint64_t last);

/* An insert of key will come soon: prefetch what it needs. Changes nothing. */
LATH_API void lath_index_prefetch(struct lath_index *index, uint64_t key);
/* The items were inserted in order and will be read in any order: build at once what makes that
 * fast. Never needed; may allocate, and does nothing if there is no memory. Concurrently with
 * anything. */
LATH_API void lath_index_prepare(struct lath_index *index);
/*
 * Give memory back while the index lives: merge leaves until they are as full as random inserts
 * leave them, remove levels that are not needed any more, and move nodes together, so that the host
 * can have the pages of the others. Each call does so at `budget` nodes, at least one, some 0.2 us
 * each. *cursor is 0 to begin and where to go on afterwards; 0 again: a pass is complete. What it
 * returns is the number of nodes that it merged or moved. The host has the memory after a grace
 * period; memory of the caller's lath_allocator, and the kernel's, comes back node by node with
 * LATH_NODE_EACH, else when the index ends. Never allocates or waits for readers. Concurrently with
 * all but X; while another thread trims the index it does nothing.
 *
 *	uint64_t cursor = 0;
 *
 *	do
 *		lath_index_trim(&index, 100, &cursor);
 *	while (cursor);
 */
LATH_API size_t lath_index_trim(struct lath_index *index, size_t budget, uint64_t *cursor);
/* A number that differs between builds of the library whose indexes lie differently in memory
 * (LATH_SHARED). */
LATH_API uint32_t lath_index_layout(void);

/*
 * Make `copy`, which is not initialised, an index with the items of `index`; values are copied as
 * they are. config NULL: the layout, the flags, the flavour and the allocator of `index` (-EINVAL
 * with LATH_SHARED). It reads `index` as a scan does (P2), so other threads may change that one
 * in the meantime. 0 | -ENOMEM | -EINVAL: `copy` is not initialised
 */
LATH_API int lath_index_clone(struct lath_index *copy, struct lath_index *index,
			      const struct lath_config *config);
/* Returns the number of items: leaf by leaf in O(n) as a scan (P2), or with LATH_RANKS as
 * lath_index_count_range(). */
LATH_API uint64_t lath_index_count(struct lath_index *index);
LATH_API void lath_index_get_stats(struct lath_index *index, struct lath_index_stats *stats);
/* Returns 0, or the number of the first invariant found broken, with a sentence in report
 * (report_size bytes, may be NULL). level: 1 to 6, how much is looked at, each level with those
 * below it; 5 is all that holds after a change for which there was no memory, too. Concurrently
 * with reads only. */
LATH_API int lath_index_verify(struct lath_index *index, int level, char *report,
			       size_t report_size);

/*
 * Print the index, piece by piece. Concurrently with reads only. A JSON object per line and node,
 * from the root's level down, each level from left to right: the node's address, its right
 * sibling's (0: none), level, state ("alive" or "half-dead"), fence keys "low" and "last", version,
 * "cap" (entries it has room for), "used", "shift", "base", what a search compares first ("heads",
 * a number per used entry, or "pivots"), and "entries": [key, size, value, live] for each used one,
 * erased entries included. In inner nodes the value is the child's address. With LATH_HOLES also
 * "room", a bound of its longest free run between two items.
 */
LATH_API void lath_index_dump(struct lath_index *index, void (*write)(void *arg, const char *text),
			      void *arg);

/* Slot mode: the same calls on embedded slots. */
static inline struct lath_slot *lath_item_slot(const struct lath_item *item)
{
	return LATH_CAST(struct lath_slot *, item->value);
}

static inline int lath_index_insert(struct lath_index *index, struct lath_slot *slot,
				    struct lath_slot **conflict)
{
	struct lath_item item = { slot->key, slot->size, LATH_CAST(uint64_t, slot) };
	struct lath_item there;
	int ret = lath_index_insert_item(index, &item, conflict ? &there : NULL);

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

static inline struct lath_slot *lath_index_erase(struct lath_index *index, uint64_t key)
{
	struct lath_item old;

	return lath_index_erase_item(index, key, &old) ? NULL : lath_item_taken(&old);
}

static inline struct lath_slot *lath_index_erase_at(struct lath_index *index, uint64_t point)
{
	struct lath_item old;

	return lath_index_erase_item_at(index, point, &old) ? NULL : lath_item_taken(&old);
}

static inline struct lath_slot *lath_index_lookup(struct lath_index *index, uint64_t point)
{
	struct lath_item item;

	return lath_index_lookup_item(index, point, &item) ? NULL : lath_item_slot(&item);
}

static inline struct lath_slot *lath_index_lookup_rcu(struct lath_index *index, uint64_t point)
{
	struct lath_item item;

	return lath_index_lookup_item_rcu(index, point, &item) ? NULL : lath_item_slot(&item);
}

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_INDEX_H */
