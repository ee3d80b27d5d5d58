/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bytes.h - the inside of a set of byte keys: the types that its files share.
 *
 * A key is read in steps. Each step gives a 64-bit number, its slice, and keys are ordered as the
 * sequences of their slices are:
 *
 *   BYTES at d   8 bytes from d on, a multiple of 8, as a big-endian number, with zeros behind the
 *                end of the key
 *   LENGTH at d  min(8, bytes from d on), if the slice before ends with a zero byte: that may be
 *                a byte of the key or stand for its end
 *   TAG          the tag, when all bytes have been read (inverted if the order is descending)
 *
 * The rank of a step is 2 d, 2 d + 1, or TAG. A layer is an index of slices of one step. Its keys
 * agree in all steps before; its prefix is what they agree in. (After the layers of Masstree: Mao,
 * Kohler, Morris, EuroSys 2012.) The index holds one word per slice:
 *
 *   none   -> record    insert
 *   record -> row       a second record with the same bytes
 *   row    -> row       one more with these bytes
 *   record -> bucket    a second key with the same slice, and other bytes
 *   row    -> bucket    likewise, or one record too many
 *   bucket -> bucket    no room, or a key that leaves what the bucket's keys agree in
 *   bucket -> layer     one record too many: a layer for the first step in which they differ
 *   layer  -> layer     a key leaves the layer's prefix: a layer for the step in which it does,
 *                       with the old one below
 *   bucket, row -> record   one is left
 *   record -> none      erase
 *
 * Each of these is one compare-and-swap in the index. A bucket is changed in place under its lock,
 * and left for good under its lock; readers check its version. (Rows: row.c.) The word of a layer
 * is only ever replaced by that of a layer above it, and layers stay until the end of the set, so a
 * thread that is in a layer stays in the right one.
 *
 * Functions are below or in the header of their file. Each file calls only those above it:
 *
 *   memory       blocks of the set's allocator
 *   key          slices of a key, comparisons, the key of a record
 *   layer        one layer, its prefix, the way from the root to a key
 *   print        the groups of a bucket
 *   bucket, row  arrays of records
 *   grow         an array that is full becomes a larger one or a layer
 *   count        counts of records, rank and select (LATH_RANKS)
 *   read, set    the other public calls
 */
#ifndef LATH_INDEX_BYTES_H
#define LATH_INDEX_BYTES_H

#include "tree/tree.h"
#include "lathwork/bytes.h"

/* Result within the set: something has changed since, look again. */
#define LOOK_AGAIN 1

/* ---- words ---- */

/* Bits 0 and 1: 0 a record, 2 a layer, else a bucket or a row. The word of a bucket is the address
 * of its groups. Bits 0 to 2: 3 one group, 7 a row, 1 or 5 several groups, whose number is in bits
 * 2 to 5. */
enum form { FORM_RECORD, FORM_BUCKET, FORM_LAYER, FORM_ROW };

static inline enum form form_of(u64 word)
{
	if (word & 1)
		return (word & 7) == 7 ? FORM_ROW : FORM_BUCKET;
	return (enum form)(word & 3);
}

/* ---- keys ---- */

/* A key that is looked for, or that of a record. */
struct want {
	const u8 *data;
	u64 size;
	u64 order;   /* the tag, inverted if the order is descending */
	bool beyond; /* it is behind all keys that begin with these bytes */
};

#define TAG (~0ull)
#define STEP 8u

/* ---- the set ---- */

/* Records that a bucket holds at most. */
#define BUCKET_MAX (NODE_CAP < 64 ? 6u : 128u)

struct layer {
	struct lath_index index;
	struct layer *next; /* of all layers of the set */
	u64 rank;	    /* of the step whose slices the index has */
	u32 known;  /* length of the prefix, which follows this struct: the depth; in a layer of
		       lengths the depth + 8, padded with zeros; in a layer of tags the whole key */
	u32 forked; /* a word of the index was not that of a record */
	/* of a set with LATH_RANKS, not in the root (count.h) */
	struct lath_spinlock lock;
	u64 total;	  /* records below it */
	struct layer *up; /* the layer that has its word */
};

/* A row: 2 to ROW_MAX records whose keys differ in their tags only, in order. It is an array of
 * their values, one per place, and nothing else. A record stays in its place as long as it is in
 * the row: one more is a new row. The value of a place is 0 once its record is erased. Values have
 * two free bits: those of the first place are the row's state, those of the second one say how many
 * places there are, from 2 on. */
#define ROW_MAX (NODE_CAP < 64 ? 4u : 5u)
#define ROW_BITS 3ull
#define ROW_GONE 1ull /* left for good: the other bits are the next word in a list, or 0 */
#define ROW_BUSY 2ull /* locked for a change */

/* 2 to BUCKET_MAX records. In order, there are their slices: 8 bytes at `offset`, in which all
 * records agree up to there, or tags. Equal slices are told apart by the whole keys. The values are
 * in groups, in which lookups find them by a hash of the key (print.h); the order has the numbers
 * of their words. The bytes in which the records agree, the bucket's base, follow the groups if
 * they are at most BASE_MAX, so that an insert need not look at another record. */
#define BASE_MAX 64u
#define GROUP_WORDS 8u
#define GROUP_SLOTS (NODE_CAP < 64 ? 2u : 7u)

struct bucket {
	struct lath_rcu_head rcu;
	struct bytes_set *set;
	struct lath_spinlock lock; /* for changes */
	u32 version;		   /* odd while a change is under way */
	u32 offset;
	u8 used, room;
	u8 groups;
	u8 kept;   /* words for the base */
	u8 front;  /* words before the slices: of the groups and the base */
	u8 pad;	   /* bytes before the struct */
	bool tags; /* all bytes are equal: slices are tags */
	bool gone; /* left for good; under the lock */
	/* groups, base[kept], slices[room], and in bytes: order[room], the words of the values;
	 * choice[room], those bytes of their hashes that choose groups. Several groups are aligned
	 * to their size. */
	u64 entry[] __attribute__((aligned(16)));
};

struct bytes_set {
	struct layer root;
	struct layer *layers; /* all others; under the lock */
	struct layer *trunk;  /* NULL, or the layer to begin at with keys that belong into it */
	/* config: of the trees. With LATH_SHARED it and `records` point to structs of each process,
	 * else to the copies, or allocator is NULL for the host's. */
	struct lath_config config;
	const struct lath_bytes_records *records;
	struct lath_bytes_records own_records;
	struct lath_allocator own_allocator;
	u64 (*weight)(u64 word); /* with LATH_RANKS: lath_word_weight(), else NULL */
	u64 flip;		 /* of tags: ~0 if the order is descending */
	const struct lath_rcu *rcu;
	bool retired; /* a bucket was handed to reclamation: wait for it at the end */
	/* what calls change, in its own lines */
	struct lath_spinlock lock __attribute__((aligned(64)));
	u64 ids;    /* layers ever made: with LATH_SHARED their indexes have ids */
	u64 trees;  /* layers in use, with the root; changed under the lock */
	u64 bytes;  /* of layers and buckets, without nodes */
	u64 pooled; /* layers whose nodes are allocated in chunks */
	/* Words of rows that were left for good, under the lock: those that wait for a grace
	 * period, which is under way if there are any, and those that were left since it began. */
	u64 rows_waiting, rows_left;
	struct lath_rcu_head rows_rcu;
};
_Static_assert(sizeof(struct bytes_set) <= sizeof(struct lath_bytes), "fits the public struct");

static inline struct bytes_set *bytes_of(struct lath_bytes *set)
{
	return (struct bytes_set *)(void *)set;
}

static inline struct layer *layer_of(u64 word)
{
	LATH_ASSERT(form_of(word) == FORM_LAYER);
	return (struct layer *)(uintptr_t)(word & ~3ull);
}

/* Where a key is, or belongs. */
struct place {
	struct layer *layer;
	u64 slice;
	u64 word; /* the layer's word for the slice; 0: none */
};

/* ---- memory.c ---- */

/* Allocate a block of the set's allocator, aligned to 8, 16 or 64 bytes, and count its bytes. NULL:
 * no memory. / Free one of `size` bytes. */
void *lath_bytes_alloc(struct bytes_set *set, size_t size, size_t align);
void lath_bytes_free(struct bytes_set *set, void *block, size_t size);

/* ---- grow.c ---- */

/* The bucket at the place has no room: put one record more there. Results as lath_bucket_insert(),
 * and -ENOMEM. */
int lath_bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 value, u64 *there);
/* Make a layer for the step in which a key leaves the prefix of the layer at the place, with that
 * layer and the record in it. 0 (*out) | -ENOMEM */
int lath_layer_above(struct bytes_set *set, const struct place *place, const struct want *want,
		     u64 value, struct layer **out);
/* The layer was seen by no other thread: free it and its buckets. */
void lath_layer_drop(struct bytes_set *set, struct layer *layer);

/* ---- read.c: what changes need of reads ---- */

/* The record that a place leads to, if it has the key; 0: there is none; or LOOK_AGAIN. In a
 * section. */
u64 lath_record_of(struct bytes_set *set, const struct want *want, const struct place *place);
/* As lath_bytes_search() for n keys, from where each of them begins, with overlapped cache misses,
 * of what is there too. In a section. */
void lath_bytes_search_batch(struct bytes_set *set, size_t n, const struct want *want,
			     struct place *place);

#endif /* LATH_INDEX_BYTES_H */
