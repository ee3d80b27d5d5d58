/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bytes.h - the inside of a set of byte keys: steps of a key, layers, buckets.
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
 *   record -> bucket    a second key with the same slice
 *   bucket -> bucket    no room, or a key that leaves what the bucket's keys agree in
 *   bucket -> layer     one record too many: a layer for the first step in which they differ
 *   layer  -> layer     a key leaves the layer's prefix: a layer for the step in which it does,
 * with the old one below bucket -> record    one is left record -> none      erase
 *
 * Each of these is one compare-and-swap in the index. A bucket is changed in place under its lock,
 * and left for good under its lock; readers check its version. The word of a layer is only ever
 * replaced by that of a layer above it, and layers stay until the end of the set, so a thread that
 * is in a layer stays in the right one.
 */
#ifndef LATH_INDEX_BYTES_H
#define LATH_INDEX_BYTES_H

#include "index/tree/tree.h"
#include "lathwork/bytes.h"

/* Result within the set: something has changed meanwhile, look again. */
#define LOOK_AGAIN 1

/* ---- words ---- */

enum form { FORM_RECORD, FORM_BUCKET, FORM_LAYER };

static inline enum form form_of(u64 word)
{
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

static inline u64 rank_of_bytes(u64 depth)
{
	return depth * 2;
}

static inline u64 depth_of(u64 rank)
{
	return rank / 2;
}

/* The 8 bytes at p as a big-endian number. */
static inline u64 load_bytes(const u8 *p)
{
	u64 bytes;

	memcpy(&bytes, p, STEP);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	return bytes;
}

/* 8 bytes of a key from `depth` on; behind its end zeros, or ones if it is beyond all others. */
static inline u64 bytes_at(const struct want *want, u64 depth)
{
	u64 left = want->size > depth ? want->size - depth : 0, bytes = 0, i;

	if (likely(left >= STEP))
		return load_bytes(want->data + depth);
	if (left && want->size >= STEP) /* the last 8 contain them: no length to predict */
		bytes = load_bytes(want->data + want->size - STEP) << (STEP - left) * 8;
	else
		for (i = 0; i < left; i++)
			bytes |= (u64)want->data[depth + i] << (56 - 8 * i);
	if (unlikely(want->beyond))
		bytes |= ~0ull >> left * 8;
	return bytes;
}

static inline u64 slice_of(const struct want *want, u64 rank)
{
	u64 depth = depth_of(rank);

	if (likely(!(rank & 1)))
		return bytes_at(want, depth);
	if (rank == TAG)
		return want->beyond ? ~0ull : want->order;
	if (want->beyond)
		return STEP;
	return want->size > depth ? min(want->size - depth, (u64)STEP) : 0;
}

/* Returns in how many bytes, at most `most`, a and b agree. */
u64 bytes_agree(const u8 *a, const u8 *b, u64 most);
/* Returns in how many bytes two keys agree. */
static inline u64 bytes_common(const struct want *a, const struct want *b)
{
	return bytes_agree(a->data, b->data, min(a->size, b->size));
}

/* Returns the rank of the first step in which two keys differ; TAG: their bytes are equal. */
u64 bytes_fork(const struct want *a, const struct want *b);
/* Returns whether a is before (-1), equal to (0) or behind (1) b, a key of a record. */
int bytes_compare(const struct want *a, const struct want *b);

/* Returns whether a key that is looked for is that of a record. Nearly always it is: keys of up to
 * 32 bytes are compared by words, without a call. */
static inline bool bytes_equal(const struct want *a, const struct want *b)
{
	u64 size = a->size, i;

	if (size != b->size || a->order != b->order)
		return false;
	if (size < STEP)
		return bytes_at(a, 0) == bytes_at(b, 0);
	if (size > 4 * STEP)
		return !memcmp(a->data, b->data, size);
	for (i = 0; i + STEP < size; i += STEP)
		if (load_bytes(a->data + i) != load_bytes(b->data + i))
			return false;
	return load_bytes(a->data + size - STEP) == load_bytes(b->data + size - STEP);
}

/* ---- the set ---- */

/* Records that a bucket holds at most. */
#define BUCKET_MAX (NODE_CAP < 64 ? 6u : 128u)

struct layer {
	struct lath_index index;
	struct layer *next; /* of all layers of the set */
	u64 rank;	    /* of the step whose slices the index has */
	u32 known;  /* bytes of the prefix: 8 more than the depth in a layer of lengths, with
		       zeros behind the end; the whole key in a layer of tags. It follows the struct
		     */
	u32 forked; /* a word of the index was not that of a record */
};

/* 2 to BUCKET_MAX records in order, with their slices: 8 bytes at `offset`, in which all records
 * agree up to there, or tags. Equal slices are told apart by the whole keys, and lookups find their
 * record by its print (print.h). The bytes in which the records agree, the bucket's base, follow
 * the prints if they are at most BASE_MAX, so that an insert need not look at another record. */
#define BASE_MAX 64u

struct bucket {
	struct lath_rcu_head rcu;
	struct bytes_set *set;
	struct lath_spinlock lock; /* for changes */
	u32 version;		   /* odd while a change is under way */
	u32 offset;
	u16 used, room;
	u16 kept;    /* words for the base */
	bool tags;   /* all bytes are equal: slices are tags */
	bool gone;   /* left for good; under the lock */
	u64 entry[]; /* prints[room / 8], rounded up, base[kept], slices[room], values[room] */
};

struct bytes_set {
	struct layer root;
	struct layer *layers; /* all others; under the lock */
	/* config: of the trees. With LATH_SHARED it and `records` point to structs of each process,
	 * else to the copies, or allocator is NULL for the host's. */
	struct lath_config config;
	const struct lath_bytes_records *records;
	struct lath_bytes_records own_records;
	struct lath_allocator own_allocator;
	u64 flip; /* of tags: ~0 if the order is descending */
	const struct lath_rcu *rcu;
	bool retired; /* a bucket was handed to reclamation: wait for it at the end */
	struct lath_spinlock lock;
	u64 ids;    /* layers ever made: with LATH_SHARED their indexes have ids */
	u64 trees;  /* layers in use, with the root; changed under the lock */
	u64 bytes;  /* of layers and buckets, without nodes */
	u64 pooled; /* layers whose nodes are allocated in chunks */
};
_Static_assert(sizeof(struct bytes_set) <= sizeof(struct lath_bytes), "fits the public struct");

static inline struct bytes_set *bytes_of(struct lath_bytes *set)
{
	return (struct bytes_set *)(void *)set;
}

static inline struct layer *layer_of(u64 word)
{
	return (struct layer *)(uintptr_t)(word & ~3ull);
}

static inline struct bucket *bucket_of(u64 word)
{
	return (struct bucket *)(uintptr_t)(word & ~3ull);
}

static inline u64 bucket_word(const struct bucket *bucket)
{
	return (u64)(uintptr_t)bucket | FORM_BUCKET;
}

/* Words for the prints of so many records. */
static inline u32 print_words(u32 room)
{
	return (room + 7) / 8;
}

/* The number of records that a reader may look at: their entries were filled in before. */
static inline u32 bucket_used(struct bucket *bucket)
{
	u32 used = smp_load_acquire(&bucket->used); /* pairs with bucket_insert */

	return min(used, (u32)bucket->room);
}

static inline u64 *bucket_prints(struct bucket *bucket)
{
	return bucket->entry;
}

static inline u8 *bucket_base(struct bucket *bucket)
{
	return (u8 *)&bucket->entry[print_words(bucket->room)];
}

static inline u64 *bucket_slice(struct bucket *bucket, u32 i)
{
	return &bucket->entry[print_words(bucket->room) + bucket->kept + i];
}

static inline u64 *bucket_value(struct bucket *bucket, u32 i)
{
	return bucket_slice(bucket, bucket->room + i);
}

/* The key of a record. */
static inline struct want key_of(const struct bytes_set *set, u64 value)
{
	struct lath_bytes_key key = { NULL, 0, 0 };

	set->records->key_of(set->records->ctx, value, &key);
	return (struct want){ key.data, key.size, key.tag ^ set->flip, false };
}

static inline struct want want_key(const struct bytes_set *set, const struct lath_bytes_key *key)
{
	return (struct want){ key->data, key->size, key->tag ^ set->flip, false };
}

static inline u8 *layer_prefix(const struct layer *layer)
{
	return (u8 *)(uintptr_t)(layer + 1);
}

/* The prefix of a layer as a key. */
static inline struct want layer_key(const struct layer *layer)
{
	return (struct want){ layer_prefix(layer), layer->known, 0, false };
}

/* Where a key is, or belongs. */
struct place {
	struct layer *layer;
	u64 slice;
	u64 word; /* the layer's word for the slice; 0: none */
};

/* ---- bucket.c ---- */

/* A position in a bucket: of the first record at or behind a key. */
struct spot {
	u32 i;
	bool equal; /* that record has the key */
	bool other; /* the key leaves what the bucket's records agree in */
};

/* Returns the version of a bucket that no writer is changing / whether it is still the same one. */
u32 bucket_read(struct bucket *bucket);
bool bucket_same(struct bucket *bucket, u32 version);
/* Find a spot. In a section; the result counts if bucket_same() says so, or with the bucket
 * locked. */
struct spot bucket_seek(struct bytes_set *set, struct bucket *bucket, const struct want *want);
/* Find the record with this key. Returns its value or 0. In a section. */
u64 bucket_get(struct bytes_set *set, struct bucket *bucket, const struct want *want);
/* Make a bucket with room for `count` records, and some more, that agree in at most `base` bytes.
 * NULL: no memory. */
struct bucket *bucket_new(struct bytes_set *set, u32 count, u64 base);
/* Fill in prints, base and slices of a bucket that has its records, and that no other thread has
 * seen. */
void bucket_sort_out(struct bytes_set *set, struct bucket *bucket);
/* Free a bucket that no other thread has seen / after a grace period. */
void bucket_drop(struct bucket *bucket);
void bucket_retire(struct bucket *bucket);
/* Insert into the bucket at a place: 0 | LOOK_AGAIN | -EEXIST (*there) | -ENOSPC: it must be
 * replaced by another one. In a call, in a section. */
int bucket_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 value, u64 *there);
/* Replace the record with this key by `value`, or erase it if that is 0. expected: 0 or what it
 * must be. *there: what was there. 0 | LOOK_AGAIN | -ENOENT | -EAGAIN. In a call, in a section. */
int bucket_change(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 expected, u64 value, u64 *there);
/* The word at the place is a record, or a bucket that has no room: put one record more there.
 * Results as bucket_insert(), and -ENOMEM. */
int bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 value, u64 *there);
/* Is the bucket sound? Nobody writes. */
bool bucket_true(struct bytes_set *set, struct bucket *bucket, const struct place *place);

/* ---- layer.c ---- */

/* Blocks of the set's allocator, aligned to 64 bytes, or to 16 if small; NULL: no memory. */
void *bytes_alloc(struct bytes_set *set, size_t size, bool small);
void bytes_free(struct bytes_set *set, void *block, size_t size);
/* Prepare a layer of the set; the root has no prefix. 0 | -ENOMEM */
int layer_prepare(struct bytes_set *set, struct layer *layer, u64 rank, bool pooled);
/* Make a layer for the first step in which the records of a bucket, sorted, differ. 0 (*out) |
 * -ENOMEM */
int layer_of_bucket(struct bytes_set *set, struct bucket *bucket, struct layer **out);
/* Make a layer for the step in which a key leaves the prefix of the layer at the place, with that
 * layer and the record in it. 0 (*out) | -ENOMEM */
int layer_above(struct bytes_set *set, const struct place *place, const struct want *want,
		u64 value, struct layer **out);
/* The layer is in use from now on / was seen by no other thread: free it and its buckets. */
void layer_add(struct bytes_set *set, struct layer *layer);
void layer_drop(struct bytes_set *set, struct layer *layer);
/* Free the block of a layer whose index has ended. */
void layer_free(struct bytes_set *set, struct layer *layer);
/* Returns whether the key belongs into the layer, by its prefix. */
bool layer_holds(const struct layer *layer, const struct want *want);
/* Returns whether all keys of the layer are behind (-1) or before (1) the key; 0: neither. */
int layer_side(const struct layer *layer, const struct want *want);
/* Follow the key from the root to a word that leads to no layer. Layers' prefixes are not compared:
 * the record there has the key or not. In a section. */
void bytes_find(struct bytes_set *set, const struct want *want, struct place *place);
/* As bytes_find(), to where the key belongs: the word may be that of a layer which the key does not
 * belong into. */
void bytes_find_place(struct bytes_set *set, const struct want *want, struct place *place);

/* ---- read.c ---- */

/* The record that a word leads to, if it has the key; 0: there is none. In a section. */
u64 record_of(struct bytes_set *set, const struct want *want, u64 word);

#endif /* LATH_INDEX_BYTES_H */
