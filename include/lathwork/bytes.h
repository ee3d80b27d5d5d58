/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/bytes.h - an ordered index of byte strings that stay in the caller's records.
 *
 * The index holds 64-bit values: addresses or numbers of records. A function of the caller's says
 * where the key of a record is, so no key is copied. Keys are ordered as memcmp() orders bytes, a
 * key before those it is a prefix of. Records with equal bytes are ordered by a 64-bit tag,
 * ascending or descending, compared after the whole key: the sequence numbers of a storage engine.
 *
 * Eight bytes of a key at a time are the key of a tree like that of lathwork/index.h. Records that
 * agree in these are together in a sorted array, and when it has more than 128 of them, in a tree
 * by themselves, which begins behind the bytes in which all of them agree.
 *
 *     struct word { const char *text; };
 *
 *     static void text_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
 *     {
 *             const struct word *word = (const struct word *)(uintptr_t)value;
 *
 *             key->data = word->text;
 *             key->size = strlen(word->text);
 *     }
 *
 *     struct lath_bytes_records records = { text_of, NULL, 0 };
 *     struct lath_bytes set;
 *
 *     lath_bytes_init(&set, &records, NULL);
 *     lath_bytes_insert(&set, (uintptr_t)&word, NULL);
 *
 * Other orders. There is no comparison function: records whose order differs from that of their
 * bytes contain a transformed key. For the reverse order go backwards.
 *
 * Threads. All calls but init, fini, clear and verify may run concurrently, without a lock of
 * the caller's. Calls enter an RCU read-side critical section of the set's flavour by themselves.
 * No call may be made in a signal handler (lathwork/config.h, T1 to T6).
 *   B1  Get, insert, erase, replace, find, put and each element of a batch are linearizable.
 *   B2  Ceiling, floor, scan and cursors see every record that is there during the whole call, and
 *       none that is absent during the whole call. Between trees, leaves and arrays that they look
 *       at, other threads may write.
 *   B3  A failed call changes nothing. Reads, erase and replace allocate nothing.
 *   B4  Progress and order as P4 and P5 of lathwork/index.h: an array is locked by one writer at a
 *       time, and a read waits while it is being changed.
 *
 * Ownership. A call may look at a record that was erased before it, if the call began before the
 * erase returned: keep records and their keys as they are until a grace period after the erase
 * (lath_rcu_auto.call). The same holds for what a read returns; stay in a section of the flavour
 * while you use it.
 *
 * Cost. 21 bytes per record in trees after random inserts, 22 to 27 in arrays of twenty and more,
 * up to 70 in those of two. A lookup searches a tree by eight bytes of the key, and the next tree
 * by the next eight while more than 128 keys agree so far; then it reads one record. Bytes that all
 * keys of a tree have in common are skipped. A tree that has lost its last record stays until the
 * end of the set.
 */
#ifndef LATHWORK_BYTES_H
#define LATHWORK_BYTES_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LATH_BYTES_WORDS (LATH_INDEX_WORDS * 7 / 4)

/* Longest key. */
#define LATH_BYTES_SIZE_MAX (1u << 30)

struct lath_bytes_key {
	const void *data; /* may be NULL if size is 0 */
	uint64_t size;
	uint64_t tag; /* orders records with equal bytes; 0 in a set that needs none */
};

/* Says where the key of a record is. All of *key is 0 before. Called by any call, also while a lock
 * is held: it must not call the library, and is quick. */
typedef void (*lath_bytes_key_fn)(void *ctx, uint64_t value, struct lath_bytes_key *key);

/* lath_bytes_records.flags */
enum {
	/* Of equal bytes the record with the largest tag is first. */
	LATH_BYTES_DESCENDING = 1u << 0,
};

struct lath_bytes_records {
	lath_bytes_key_fn key_of;
	void *ctx;
	unsigned int flags;
};

/* Opaque; to be embedded. Aligned to 64 bytes. It must not be moved between init and fini. */
struct lath_bytes {
	uint64_t opaque[LATH_BYTES_WORDS];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

typedef void (*lath_bytes_fn)(void *arg, uint64_t value);

/* Make an empty set. config may be NULL; its layout is LATH_RANGES, and of its flags
 * LATH_HUGE_PAGES, LATH_SMALL_PAGES and LATH_NODE_EACH have their meaning for each tree. With
 * LATH_RANKS the set counts its records: lath_bytes_rank() and lath_bytes_select(). With
 * LATH_SHARED, which excludes LATH_RANKS, `records` too points to a struct that each process has at
 * this address, and the set uses the ids from config->id to config->id + 2^32 - 1. 0 | -EINVAL |
 * -ENOMEM */
LATH_API int lath_bytes_init(struct lath_bytes *set, const struct lath_bytes_records *records,
			     const struct lath_config *config);
/* End the set and free its memory. each, if not NULL, is called for every record that is still
 * there, in any order, and may free it. Waits for grace periods: not in a section. Excludes all
 * other calls. */
LATH_API void lath_bytes_fini(struct lath_bytes *set, lath_bytes_fn each, void *arg);

/* Erase all records, and free the trees that the set needs no longer; each as above. Allocates
 * nothing. Excludes all other calls. */
LATH_API void lath_bytes_clear(struct lath_bytes *set, lath_bytes_fn each, void *arg);

/* Insert a record: 0 | -EEXIST (*there, if not NULL: the record with an equal key and tag) |
 * -ENOMEM | -EINVAL: the value is 0 or no multiple of 4 | -E2BIG: the key is too long */
LATH_API int lath_bytes_insert(struct lath_bytes *set, uint64_t value, uint64_t *there);
/* Insert n records, in any order, with overlapped cache misses. Each insert is an operation of its
 * own: one that fails leaves the others as they are. results[i], unless results is NULL, is what
 * lath_bytes_insert() returns for values[i]. Returns how many records were inserted. */
LATH_API size_t lath_bytes_insert_batch(struct lath_bytes *set, size_t n, const uint64_t *values,
					int *results);
/* Erase the record with this key and tag: 0 (*old, if not NULL: its value) | -ENOENT. Never
 * allocates. */
LATH_API int lath_bytes_erase(struct lath_bytes *set, const struct lath_bytes_key *key,
			      uint64_t *old);
/* Put a record in the place of the one with an equal key and tag: 0 (*old, if not NULL: its value)
 * | -ENOENT | -EINVAL as insert. Never allocates. */
LATH_API int lath_bytes_replace(struct lath_bytes *set, uint64_t value, uint64_t *old);
/* Erase or replace the record if it is `expected`: 0 | -ENOENT | -EAGAIN (*there, if not NULL: the
 * one that is) | -EINVAL: `expected` or `value` is 0 or no multiple of 4. Both records of
 * replace_if have equal keys. */
LATH_API int lath_bytes_erase_if(struct lath_bytes *set, uint64_t expected, uint64_t *there);
LATH_API int lath_bytes_replace_if(struct lath_bytes *set, uint64_t expected, uint64_t value,
				   uint64_t *there);

/* Where a key and tag are in a set, or belong: for a look and then a change, which begins where the
 * look has ended. Valid in the section of the caller's that it was found in. */
struct lath_bytes_place {
	uint64_t opaque[3];
	uint64_t value; /* the record there; 0: none */
};

/* Find the place of a key and tag. Returns whether a record is there. In a section. */
LATH_API int lath_bytes_find(struct lath_bytes *set, const struct lath_bytes_key *key,
			     struct lath_bytes_place *place);
/* Put a record with this key and tag there, or with value 0 erase the one that is there, if nothing
 * has changed there: 0 | -EAGAIN: find it again | -ENOMEM (only if no record is there) | -EINVAL:
 * a value as for insert, or nothing to erase | -E2BIG. In the same section. */
LATH_API int lath_bytes_put(struct lath_bytes *set, const struct lath_bytes_place *place,
			    uint64_t value);

/* Get the record with this key and tag: 1 (*value set) | 0 (there is none) */
LATH_API int lath_bytes_get(struct lath_bytes *set, const struct lath_bytes_key *key,
			    uint64_t *value);
/* Get the records of n keys, with overlapped cache misses: values[i] is 0 if there is none. Returns
 * how many were found. */
LATH_API size_t lath_bytes_get_batch(struct lath_bytes *set, size_t n,
				     const struct lath_bytes_key *keys, uint64_t *values);
/* lath_bytes_scan() */
enum {
	LATH_BYTES_BACK = 1u << 0,   /* in descending order, from the key down */
	LATH_BYTES_BEHIND = 1u << 1, /* not the record with the key and tag themselves */
	LATH_BYTES_SAME = 1u << 2,   /* only records with the key's bytes: its versions */
};

/* Copy the records at or after the key and tag to values, in order, at most max. from NULL: from
 * the first record on, or with LATH_BYTES_BACK the last one, of any key. Returns how many; fewer
 * than max: there are no others. Allocates nothing. */
LATH_API size_t lath_bytes_scan(struct lath_bytes *set, const struct lath_bytes_key *from,
				unsigned int flags, uint64_t *values, size_t max);
/* Find the first record at or after / the last one at or before this key and tag: 0 | -ENOENT */
static inline int lath_bytes_ceiling(struct lath_bytes *set, const struct lath_bytes_key *key,
				     uint64_t *value)
{
	return lath_bytes_scan(set, key, 0, value, 1) ? 0 : -2 /* -ENOENT */;
}
static inline int lath_bytes_floor(struct lath_bytes *set, const struct lath_bytes_key *key,
				   uint64_t *value)
{
	return lath_bytes_scan(set, key, LATH_BYTES_BACK, value, 1) ? 0 : -2 /* -ENOENT */;
}

/* For n keys the first record with the bytes of each, at or after its tag: what lath_bytes_scan()
 * with LATH_BYTES_SAME and these flags finds first, with overlapped cache misses. It is the latest
 * version that is not too new. values[i] is 0 if there is none. Returns how many were found. */
LATH_API size_t lath_bytes_first_batch(struct lath_bytes *set, size_t n,
				       const struct lath_bytes_key *keys, unsigned int flags,
				       uint64_t *values);

#define LATH_BYTES_AHEAD 32

/*
 * A position in a set; one thread at a time uses it. It holds no resources and needs no end. It
 * reads up to 32 records ahead and shows these as they were then. It looks at the key of the record
 * it is at when it goes on: that record must not be freed before, so be in a section from one
 * step to the next, or free nothing.
 */
struct lath_bytes_cursor {
	struct lath_bytes *set;
	const void *prefix;
	uint64_t prefix_size;
	uint64_t at;	    /* the record it is at; 0: nowhere */
	uint32_t i, n, ask; /* read ahead: ahead[i..n) */
	uint32_t back;
	uint64_t ahead[LATH_BYTES_AHEAD];
};

/* Init a cursor that moves over the records whose keys begin with `size` bytes at `prefix`, which
 * stay there, and over no others. */
LATH_API void lath_bytes_cursor_init_prefix(struct lath_bytes_cursor *cursor,
					    struct lath_bytes *set, const void *prefix,
					    uint64_t size);
static inline void lath_bytes_cursor_init(struct lath_bytes_cursor *cursor, struct lath_bytes *set)
{
	lath_bytes_cursor_init_prefix(cursor, set, NULL, 0);
}

/* Move to the first record at or after the key and tag / the last one at or before / the record
 * after / before the one the cursor is at. Return 1 (*value is set) or 0: there is none, and
 * the cursor stays. If it stands nowhere, next moves to the first record and prev to the last one.
 * With a prefix, the key of a seek begins with it. */
LATH_API int lath_bytes_cursor_seek(struct lath_bytes_cursor *cursor,
				    const struct lath_bytes_key *key, uint64_t *value);
LATH_API int lath_bytes_cursor_seek_floor(struct lath_bytes_cursor *cursor,
					  const struct lath_bytes_key *key, uint64_t *value);
LATH_API int lath_bytes_cursor_next(struct lath_bytes_cursor *cursor, uint64_t *value);
LATH_API int lath_bytes_cursor_prev(struct lath_bytes_cursor *cursor, uint64_t *value);

/* Returns the number of records. Reads all trees and arrays, with LATH_RANKS only what changed
 * since the last count. Exact if nothing changes during the call. */
LATH_API uint64_t lath_bytes_count(struct lath_bytes *set);

/* Order statistics, of a set with LATH_RANKS. A call visits O(log n) nodes of each tree on the way
 * to the key, and those that changed since the last such call; an insert or erase pays one more
 * descent in each of these trees. Exact if nothing changes during the call; beside changes each
 * part of the result is what it was at some time during the call. */
/* Returns how many records are before this key and tag, or with `flags` LATH_BYTES_BEHIND not
 * behind them; -EINVAL: no LATH_RANKS, or another flag. */
LATH_API int64_t lath_bytes_rank(struct lath_bytes *set, const struct lath_bytes_key *key,
				 unsigned int flags);
/* Find the record that has `rank` records before it: 0 | -ENOENT | -EINVAL: no LATH_RANKS */
LATH_API int lath_bytes_select(struct lath_bytes *set, uint64_t rank, uint64_t *value);

/* Returns the number of trees: one, and those that the set has made for keys that agree. */
LATH_API uint64_t lath_bytes_trees(struct lath_bytes *set);

struct lath_bytes_stats {
	uint64_t items;	  /* as lath_bytes_count() */
	uint64_t bytes;	  /* all memory obtained, and the struct */
	uint64_t trees;	  /* one, and one more for each set of more than 128 keys that agree */
	uint64_t arrays;  /* of 2 to 128 records */
	uint64_t arrayed; /* records in these */
};

LATH_API void lath_bytes_get_stats(struct lath_bytes *set, struct lath_bytes_stats *stats);
/* Returns 0, or the number of the first invariant found broken, with a sentence in report
 * (report_size bytes, may be NULL): 1 to 10 are those of a tree (lathwork/index.h), 31: a record is
 * where a search does not look for it, 32: an array is damaged, 33: a tree is where a search does
 * not look for it, 34: records are out of order, 35: a tree's number of records is wrong.
 * Concurrently with reads only. */
LATH_API int lath_bytes_verify(struct lath_bytes *set, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_BYTES_H */
