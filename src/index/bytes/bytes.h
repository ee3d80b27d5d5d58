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
 */
#ifndef LATH_INDEX_BYTES_H
#define LATH_INDEX_BYTES_H

#include "index/tree/tree.h"
#include "lathwork/bytes.h"

/* Result within the set: something has changed meanwhile, look again. */
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

/* The `size` < 8 bytes at p in the highest bytes of a number, with zeros behind them. Loads that
 * overlap: no branch for each length. */
static inline u64 load_few(const u8 *p, u64 size)
{
	u32 first, last;

	if (size < 4)
		return size ? (u64)p[0] << 56 | (u64)p[size / 2] << (56 - size / 2 * 8) |
				       (u64)p[size - 1] << (64 - size * 8)
			    : 0;
	memcpy(&first, p, 4);
	memcpy(&last, p + size - 4, 4);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	first = __builtin_bswap32(first);
	last = __builtin_bswap32(last);
#endif
	return (u64)first << 32 | (u64)last << (64 - size * 8);
}

/* 8 bytes of a key from `depth` on; behind its end zeros, or ones if it is beyond all others. */
static inline u64 bytes_at(const struct want *want, u64 depth)
{
	u64 left = want->size > depth ? want->size - depth : 0, bytes = 0;

	if (likely(left >= STEP))
		return load_bytes(want->data + depth);
	if (want->size < STEP)
		bytes = depth ? 0 : load_few(want->data, left);
	else if (left) /* the last 8 contain them: no length to predict */
		bytes = load_bytes(want->data + want->size - STEP) << (STEP - left) * 8;
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

/* Returns whether a key that is looked for is that of a record. `agree`: 0, or STEP if their first
 * slices are known to be equal. Nearly always it is: keys of up to 32 bytes are compared by words,
 * without a call. */
static inline bool bytes_equal(const struct want *a, const struct want *b, u64 agree)
{
	u64 size = a->size, i;

	if (size != b->size || a->order != b->order)
		return false;
	if (size <= agree)
		return true;
	if (size < STEP)
		return load_few(a->data, size) == load_few(b->data, size);
	if (size > 4 * STEP)
		return !memcmp(a->data + agree, b->data + agree, size - agree);
	for (i = agree; i + STEP < size; i += STEP)
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
	u64 flip; /* of tags: ~0 if the order is descending */
	const struct lath_rcu *rcu;
	bool retired; /* a bucket was handed to reclamation: wait for it at the end */
	/* what calls change, in lines of its own */
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
	return (struct layer *)(uintptr_t)(word & ~3ull);
}

/* The groups of the bucket that a word leads to, and how many they are. */
static inline u64 *word_entry(u64 word)
{
	return (u64 *)(uintptr_t)(word & ~(word & 2 ? 3ull : 63ull));
}

static inline u32 word_groups(u64 word)
{
	u32 code = word >> 2 & 15;

	return word & 2 ? 1 : code < 5 ? code + 2 : 2 * code - 2;
}

static inline u64 *row_places(u64 word)
{
	return (u64 *)(uintptr_t)(word & ~7ull);
}

static inline struct bucket *bucket_of(u64 word)
{
	return container_of(word_entry(word), struct bucket, entry[0]);
}

static inline u64 bucket_word(const struct bucket *bucket)
{
	u32 groups = bucket->groups, code = groups < 7 ? groups - 2 : (groups + 2) / 2;

	return (u64)(uintptr_t)bucket->entry | (groups == 1 ? 3 : code << 2 | 1);
}

/* The number of records that a reader may look at: their entries were filled in before. */
static inline u32 bucket_used(struct bucket *bucket)
{
	u32 used = smp_load_acquire(&bucket->used); /* pairs with bucket_insert */

	return min(used, (u32)bucket->room);
}

static inline u8 *bucket_base(struct bucket *bucket)
{
	return (u8 *)&bucket->entry[bucket->front - bucket->kept];
}

static inline u64 *bucket_slice(struct bucket *bucket, u32 i)
{
	return &bucket->entry[bucket->front + i];
}

static inline u8 *bucket_order(struct bucket *bucket, u32 i)
{
	return (u8 *)bucket_slice(bucket, bucket->room) + i;
}

static inline u8 *bucket_choice(struct bucket *bucket, u32 i)
{
	return bucket_order(bucket, bucket->room + i);
}

static inline u64 *bucket_value(struct bucket *bucket, u32 i)
{
	/* pairs with put_entry */
	return &bucket->entry[smp_load_acquire(bucket_order(bucket, i))];
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

/* In how many bytes, at least, the keys at a place agree. */
static inline u64 agree_at(const struct bytes_set *set, const struct place *place)
{
	return place->layer == &set->root ? STEP : 0;
}

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
u64 bucket_get(struct bytes_set *set, const struct place *place, const struct want *want);
/* Prefetch what bucket_get() will read of the bucket / the record that it will look at first. In a
 * section. */
void bucket_warm(const struct place *place, const struct want *want);
/* Prefetch all of a bucket, for reading / for a change, but not its groups. */
void bucket_warm_all(u64 word);
void bucket_warm_change(u64 word);
void bucket_warm_record(const struct place *place, const struct want *want);
/* Make a bucket with room for `count` records, and some more, that agree in at most `base` bytes.
 * NULL: no memory. */
struct bucket *bucket_new(struct bytes_set *set, u32 count, u64 base);
/* For a bucket of the layer that no other thread has seen: append a record; when it has all of
 * them, in order, fill in base and slices. */
void bucket_append(struct bytes_set *set, struct bucket *bucket, const struct layer *layer,
		   u64 value);
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
/* The bucket at the place has no room: put one record more there. Results as bucket_insert(), and
 * -ENOMEM. */
int bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 value, u64 *there);
/* Is the bucket sound? Nobody writes. */
bool bucket_true(struct bytes_set *set, struct bucket *bucket, const struct place *place);

/* ---- row.c ---- */

/* Free the row or the bucket of a word that no other thread has seen. */
void array_drop(struct bytes_set *set, u64 word);
/* Copy the records of a row, in order. Returns their number; 0: it was left for good. In a
 * section. */
u32 row_read(u64 word, u64 *value);
/* Find the record with this key. Returns its value, 0, or LOOK_AGAIN. In a section. */
u64 row_get(struct bytes_set *set, u64 word, const struct want *want);
/* Prefetch the records of a row. In a section. */
void row_warm_records(u64 word);
/* The word at the place is a record or a row: put one record more there. Results as
 * bucket_insert(), and -ENOMEM. In a call, in a section. */
int row_insert(struct bytes_set *set, const struct place *place, const struct want *want, u64 value,
	       u64 *there);
/* As bucket_change(). */
int row_change(struct bytes_set *set, const struct place *place, const struct want *want,
	       u64 expected, u64 value, u64 *there);
/* Do rows that were left wait for a grace period? Until they do not, a callback uses the set. Not
 * in a call. */
bool rows_wait(struct bytes_set *set);
/* Is the row sound? Nobody writes. */
bool row_true(struct bytes_set *set, const struct place *place);

/* ---- layer.c ---- */

/* Blocks of the set's allocator, aligned to 8, 16 or 64 bytes; NULL: no memory. */
void *bytes_alloc(struct bytes_set *set, size_t size, size_t align);
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
/* The layer is in use from now on, in the place of `below` or, if that is NULL, of a bucket. */
void layer_add(struct bytes_set *set, struct layer *layer, const struct layer *below);
/* The layer was seen by no other thread: free it and its buckets. */
void layer_drop(struct bytes_set *set, struct layer *layer);
/* Free the block of a layer whose index has ended. */
void layer_free(struct bytes_set *set, struct layer *layer);
/* Returns whether the key belongs into the layer, by its prefix. */
bool layer_holds(const struct layer *layer, const struct want *want);
/* Returns the layer that the way to a key begins at: the trunk if the key belongs into it, else the
 * root. The trunk is the first layer of BYTES that the set needed, or one that came above it. So
 * what most keys begin with is compared at once instead of looked up. The key is not `beyond`. */
static inline struct layer *layer_begin(struct bytes_set *set, const struct want *want)
{
	struct layer *trunk = smp_load_acquire(&set->trunk); /* pairs with layer_add */

	LATH_ASSERT(!want->beyond);
	return trunk && layer_holds(trunk, want) ? trunk : &set->root;
}

/* Returns whether a record, an array or a layer with this key belongs at the place: into its layer,
 * at its slice. */
bool place_holds(const struct place *place, const struct want *key);
/* Returns whether all keys of the layer are behind (-1) or before (1) the key; 0: neither. */
int layer_side(const struct layer *layer, const struct want *want);
/* Follow the key from there to a word that leads to no layer. Further prefixes are not compared:
 * the record there has the key or not. In a section. */
void bytes_find(struct bytes_set *set, const struct want *want, struct place *place);
/* As bytes_find(), to where the key belongs: the word may be that of a layer which the key does not
 * belong into. */
void bytes_find_place(struct bytes_set *set, const struct want *want, struct place *place);

/* ---- read.c ---- */

/* The record that a place leads to, if it has the key; 0: there is none; or LOOK_AGAIN. In a
 * section. */
u64 record_of(struct bytes_set *set, const struct want *want, const struct place *place);

#endif /* LATH_INDEX_BYTES_H */
