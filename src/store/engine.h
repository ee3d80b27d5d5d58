/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engine.h - a store from inside: words, records, layers, and the place of a key.
 */
#ifndef LATH_STORE_ENGINE_H
#define LATH_STORE_ENGINE_H

#include "lathwork/index.h"
#include "lathwork/store.h"

#include "store/arena.h"
#include "store/reason.h"

#include <sys/types.h>

/*
 * The 64-bit word a key has in an index. The low byte says what it is:
 *   INLINE   bits 3..5 length; the bytes from bit 8 on
 *   NIBBLES  bits 3..6 length; 4 bits a character from bit 8 on
 *   BARE     bits 48..63 length; place / 8 in bits 8..47: the bytes alone
 *   RECORD, BUCKET, LAYER   place / 8 in bits 8..47
 * 0 is no word.
 */
enum word_form { WORD_INLINE = 1, WORD_NIBBLES, WORD_BARE, WORD_RECORD, WORD_BUCKET, WORD_LAYER };

#define INLINE_MAX 7
#define NIBBLES_MAX 14
#define BARE_MAX 65535u
#define KEY_BYTES_MAX 65535u

static inline enum word_form word_form(u64 word)
{
	return (enum word_form)(word & 7);
}

static inline bool word_has_place(u64 word)
{
	return (word & 7) >= WORD_BARE;
}

static inline u64 word_place(u64 word)
{
	return (word >> 8 & ((1ull << 40) - 1)) << 3;
}

static inline u64 place_word(u64 place, enum word_form form)
{
	LATH_ASSERT(place && !(place & 7) && !(place >> 43));
	return place >> 3 << 8 | form;
}

/* A value with what belongs to it, written before its word is published and never after. */
struct record {
	u64 version;
	u64 meta;  /* bits 0..39 length of the value, 40..55 of the key, 56 has a time of expiry */
	u8 data[]; /* expiry (8 bytes) if any, key, value */
};

#define RECORD_EXPIRES (1ull << 56)

static inline u64 record_value_size(const struct record *record)
{
	return record->meta & ((1ull << 40) - 1);
}

static inline u32 record_key_size(const struct record *record)
{
	return record->meta >> 40 & 0xffff;
}

static inline const u8 *record_key(const struct record *record)
{
	return record->data + (record->meta & RECORD_EXPIRES ? sizeof(u64) : 0);
}

/* Up to BUCKET_MAX records of byte keys that agree in all an index has looked at, in key order. */
#define BUCKET_MAX 16
struct bucket {
	u64 count;
	u64 word[];
};

/*
 * An index of byte keys that agree in their first `depth` bytes, a multiple of 7. Its 64-bit keys
 * are slices: the next 7 bytes, zeros behind the end, and in the low byte how many there are, 8 for
 * more than 7. So slices ascend as the keys do, and only slices that end with 8 can belong to
 * several keys. (After the layers of Masstree: Mao, Kohler, Morris, EuroSys 2012.) Layers stay
 * until the store ends.
 */
#define SLICE 7
struct layer {
	struct lath_index list;
	struct layer *next; /* while the store is cleared */
	u32 depth;	    /* so many bytes follow the struct */
};

static inline u8 *layer_prefix(const struct layer *layer)
{
	return (u8 *)(uintptr_t)(layer + 1);
}

struct store_backend;
struct store_file;

struct lath_store {
	struct layer root;  /* numbers: the index by number */
	struct arena arena; /* records, buckets */
	struct arena
		index; /* index nodes, layers: they cannot be moved, so they do not lie between */
	u64 committed; /* of both */
	const struct lath_rcu *rcu;
	const struct store_backend *backend; /* NULL: the store is here */
	void *backend_data;
	enum lath_store_keys keys;
	unsigned int flags;
	bool plain;		 /* numbers without versions: values need no record */
	bool read_only;		 /* this handle's */
	u8 changed;		 /* since it was read or written */
	struct store_file *file; /* file:, if this handle may write */
	pid_t saving;		 /* the process that writes it now, or one this was forked from */
	u64 limit;
	u64 layers, evicted, expired;
	/* eviction goes round: the key after which it looks next */
	pthread_mutex_t evict_lock;
	struct lath_turn compact_turn;
	u64 hand_number;
	u8 *hand;
	size_t hand_size;
	/* in shared memory (shm.h), else NULL */
	const struct lath_allocator *allocator; /* of index nodes, this process' own */
	u64 list_id;				/* the next index gets it */
	u64 *mark;				/* of the arena's records, see place_marked */
};

/* Where a key is or belongs: valid inside the reader it was found in. */
struct place {
	struct layer *layer;
	u64 slice;
	u64 word;  /* in the index under slice; 0: none */
	u64 value; /* the key's own word; 0: not there */
	u32 index; /* of the key in a bucket, or where it belongs */
	u32 agree; /* a layer is there whose prefix agrees with the key in so many bytes only */
};

/* Not an error of the caller's: something changed, look again. */
#define RETRY 1

static inline bool key_fits(const struct lath_store *store, struct lath_store_key key)
{
	return (store->keys == LATH_STORE_BYTES) == !!key.data;
}

/* 0 | -EINVAL | -E2BIG */
static inline int key_check(const struct lath_store *store, struct lath_store_key key)
{
	if (unlikely(!key_fits(store, key)))
		return -EINVAL;
	return unlikely(key.data && key.n > KEY_BYTES_MAX) ? -E2BIG : 0;
}

/* value.c */
int value_build(struct lath_store *store, struct lath_store_key key,
		const struct lath_store_change *change, u64 *word);
/* What no reader has seen. */
void value_drop(struct lath_store *store, u64 word);
void value_retire(struct lath_store *store, u64 word);
void value_ref_record(const struct lath_store *store, u64 word, struct lath_store_ref *ref);

static inline u64 little_endian(u64 x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

/* 16 bytes as one value. (A typedef, or an attribute behind each name, is more than checkpatch
 * reads.) */
#define BYTES_16(type) __typeof__(type __attribute__((vector_size(16))))

/*
 * The bytes of a word that holds its value: 14 characters from nibbles, all at once, or 7 bytes,
 * zeros behind them. Which of both is chosen without a branch: where short numbers and longer ones
 * stand side by side, one is mispredicted every other time.
 */
static inline void word_text(u64 word, unsigned char *text)
{
	BYTES_16(u64) nibbles = { little_endian(0x0f0f0f0f0f0f0f0full), 0 };
	BYTES_16(u64) x = { little_endian(word >> 8), 0 };
	u64 as_is = 0 - (word & 1); /* the low bits of INLINE and NIBBLES: 1, 2 */
	BYTES_16(u64) which = { as_is, as_is };
	BYTES_16(signed char) low, high, c;

	low = (BYTES_16(signed char))(x & nibbles);
	high = (BYTES_16(signed char))(x >> 4 & nibbles);
	c = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
				    23);
	/* 0..9 are digits, 10 is NUL, 11 and above are + , - . / */
	low = c != 10;
	high = c > 9;
	c = (c | '0') - (high & 16);
	c = c & low;
	x = (x & which) | ((BYTES_16(u64))c & ~which);
	memcpy(text, &x, 16);
}

static inline void value_ref(const struct lath_store *store, u64 word, struct lath_store_ref *ref)
{
	ref->version = 0;
	ref->expires = 0;
	if (likely(!word_has_place(word))) {
		ref->size = word >> 3 & 15;
		word_text(word, ref->small);
		ref->data = ref->small;
		return;
	}
	switch (word_form(word)) {
	case WORD_BARE:
		ref->size = word >> 48;
		ref->data = arena_at(&store->arena, word_place(word));
		return;
	default:
		value_ref_record(store, word, ref);
	}
}

static inline bool ref_expired(const struct lath_store_ref *ref)
{
	return unlikely(ref->expires) && ref->expires <= lath_store_now();
}

/* A file: will have to be written. Others: nothing, so that writers share no word. */
static inline void store_changed(struct lath_store *store)
{
	if (unlikely(store->file) && !READ_ONCE(store->changed))
		WRITE_ONCE(store->changed, 1);
}

/*
 * In shared memory a record is there if and only if it is marked; all else can be made anew from
 * them (recover.c). It is complete before, and its slot is not used again until the mark is gone.
 */
static inline void record_mark(struct lath_store *store, u64 word, bool there)
{
	u64 place = word_place(word), bit = 1ull << (place >> 3 & 63), *marks;

	if (likely(!store->mark) || word_form(word) != WORD_RECORD)
		return;
	marks = &store->mark[place >> 9];
	LATH_ASSERT(!there || !(*marks & bit)); /* M3: a slot is reused without its mark */
	smp_store_release(marks, there ? *marks | bit : *marks & ~bit); /* one writer at a time */
}

/* Ask memory for what a word points at. */
static inline void value_prefetch(const struct lath_store *store, u64 word)
{
	if (word_has_place(word) && word_form(word) != WORD_LAYER)
		prefetch(arena_at(&store->arena, word_place(word)));
}

/* layer.c: byte keys */
u64 slice_of(const u8 *key, u64 size, u64 depth);
void layer_find(struct lath_store *store, struct lath_store_key key, struct place *place);
/* Go on below a word found under slice in layer. */
void layer_find_from(struct lath_store *store, struct lath_store_key key, struct layer *layer,
		     u64 word, struct place *place);
int layer_put(struct lath_store *store, struct lath_store_key key, const struct place *place,
	      u64 value);
int layer_remove(struct lath_store *store, const struct place *place);
int layer_init(struct lath_store *store, struct layer *layer, unsigned int flags);
/* Remove everything, without asking for memory. Nobody else may be in the store. */
void layer_clear(struct lath_store *store);
int key_compare(const u8 *a, u64 a_size, const u8 *b, u64 b_size);

static inline struct record *word_record(const struct lath_store *store, u64 word)
{
	return arena_at(&store->arena, word_place(word));
}

static inline struct bucket *word_bucket(const struct lath_store *store, u64 word)
{
	return arena_at(&store->arena, word_place(word));
}

static inline struct layer *word_layer(const struct lath_store *store, u64 word)
{
	return arena_at(&store->index, word_place(word));
}

/* iter.c: as lath_store_iter_next, expired entries too. *word stays the caller's between calls. */
int iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word);

/* update.c */
void place_find(struct lath_store *store, struct lath_store_key key, struct place *place);
/* The word of a key from now on: 0 | RETRY | -ENOMEM, -ENOSPC */
int place_publish(struct lath_store *store, struct lath_store_key key, const struct place *place,
		  u64 word);
void store_count_items(struct lath_store *store, s64 by);
/* evict.c: the limit was hit. True: try again. Not inside a reader. */
bool make_room(struct lath_store *store, unsigned int *round);
/*
 * The calling thread fills an empty store: its changes evict nothing, and may take one block above
 * the limit. What was saved by a store that was full to the last slot needs that, because buckets
 * that grow leave slots of other sizes behind.
 */
void store_loading(bool on);

/* The store lives somewhere else (dev:). Each member as the public call of its name; update may be
 * made of get_ref and set_if. */
struct store_backend {
	const char *scheme; /* "dev" */
	int (*open)(struct lath_store *store, const char *rest,
		    const struct lath_store_options *options);
	int (*close)(struct lath_store *store);
	int64_t (*get)(struct lath_store *store, struct lath_store_key key, void *buf, size_t room);
	int (*get_ref)(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref);
	int (*update)(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg);
	size_t (*mget)(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs);
	size_t (*mset)(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       int *results);
	size_t (*mdel)(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       int *results);
	/* the first entry at or after (backward: at or before) key: 0 | -ENOENT; *found until the
	 * next call */
	int (*seek)(struct lath_store *store, struct lath_store_key key, int backward,
		    struct lath_store_key *found, struct lath_store_ref *value);
	int (*stats)(struct lath_store *store, struct lath_store_stats *stats);
	/* NULL: iterators are made of seek, and the calls made of them; no sweep, compact, load,
	 * save */
	int (*iter_begin)(struct lath_store *store, const struct lath_store_range *range,
			  void **iter);
	int (*iter_next)(void *iter, struct lath_store_key *key, struct lath_store_ref *value);
	void (*iter_end)(void *iter);
	size_t (*scan)(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next);
	int64_t (*count)(struct lath_store *store, const struct lath_store_range *range);
	int64_t (*sweep)(struct lath_store *store);
	int64_t (*compact)(struct lath_store *store);
	int (*clear)(struct lath_store *store);
};

/* The kernel's store; a NULL open: not in this build. */
extern const struct store_backend store_dev_backend;
extern const struct store_backend store_shm_backend;

/* As lath_store_prefault, of a store that is here, if so much is available: with a sentence. */
int store_prefault(struct lath_store *store, u64 bytes, u64 available);
/* Figures of a store that is here, without what only the machine knows. */
void store_figures(struct lath_store *store, struct lath_store_stats *stats);

#endif /* LATH_STORE_ENGINE_H */
