/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engine.h - the inside of a store: words, records, keys.
 */
#ifndef LATH_STORE_ENGINE_H
#define LATH_STORE_ENGINE_H

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/store.h"

#include "store/arena.h"
#include "store/reason.h"

#include <sys/types.h>

/*
 * The 64-bit word that an index holds for a key. The top byte, the tag, tells its form:
 *
 *   WORD_BARE            bits 0..39: place / 8 of the value's bytes; 40..55: length
 *   WORD_RECORD          bits 0..39: place / 8
 *   WORD_INLINE + n      a value of n < 8 bytes, from bit 0 on
 *   WORD_NIBBLES + n     a value of 8 + n characters, 4 bits each, from bit 0 on
 *   any other tag        a value of 8 bytes, the last of which is inverted
 *
 * A value of 8 bytes whose last one would be a tag above, 19 of 256, is bare. The inverted bytes of
 * these tags are those that end few numbers and no text: 0xe9 to 0xfb.
 *
 * No key has the word 0.
 */
enum word_form {
	WORD_BARE = 4,
	WORD_RECORD,
	WORD_INLINE = 8,
	WORD_NIBBLES = 16,
	WORD_FORMS_END = WORD_NIBBLES + 7
};

#define WORD_TAG_SHIFT 56
#define WORD_INVERTED (0xffull << WORD_TAG_SHIFT)
#define INLINE_MAX 7
#define NIBBLES_MAX 14
#define BARE_MAX 65535u
#define KEY_BYTES_MAX 65535u

static inline unsigned int word_tag(u64 word)
{
	return (unsigned int)(word >> WORD_TAG_SHIFT);
}

/* Returns whether the word is a value of 8 bytes. */
static inline bool word_is_raw(u64 word)
{
	return (u8)(word_tag(word) - WORD_BARE) >= WORD_FORMS_END - WORD_BARE;
}

static inline bool word_has_place(u64 word)
{
	return word_tag(word) / 4 == WORD_BARE / 4;
}

/* The form of a word that has a place. */
static inline enum word_form word_form(u64 word)
{
	return (enum word_form)word_tag(word);
}

static inline u64 word_place(u64 word)
{
	return (word & ((1ull << 40) - 1)) << 3;
}

static inline u64 place_word(u64 place, enum word_form form)
{
	LATH_ASSERT(place && !(place & 7) && !(place >> 43));
	return place >> 3 | (u64)form << WORD_TAG_SHIFT;
}

/* A value with its key, version and time of expiry. Complete before its word is published, and
 * constant from then on. */
struct record {
	u64 version;
	u64 meta;  /* bits 0..39 length of the value, 40..55 of the key; 56: has a time of expiry */
	u8 data[]; /* time of expiry (8 bytes) if any, key, value */
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

struct store_backend;
struct store_file;

/* The functions that a shared store calls. Each process has this struct, at the same address. */
struct store_shared {
	struct lath_allocator allocator; /* of index nodes */
	struct lath_bytes_records records;
};

struct lath_store {
	struct lath_index list; /* numbers */
	struct lath_bytes set;	/* byte keys: addresses of records */
	struct arena arena;	/* records */
	struct arena index;	/* all of the index: apart from records, since compaction cannot
				   move it */
	u64 committed;		/* bytes committed by both arenas */
	const struct lath_rcu *rcu;
	const struct store_backend *backend; /* NULL: the store is in this process */
	void *backend_data;
	enum lath_store_keys keys;
	unsigned int flags;
	bool plain;		 /* numbers without versions: a value need not be a record */
	bool read_only;		 /* the handle is read only */
	u8 changed;		 /* changed since the file was read or written */
	struct store_file *file; /* file:, if the handle may write */
	pid_t saving; /* the process that writes the file now, or the one this was forked from */
	u64 limit;
	u64 evicted, expired;
	/* eviction visits all keys in turn: the next key to look at (hand of a clock) */
	pthread_mutex_t evict_lock;
	struct lath_turn compact_turn;
	u64 hand_number;
	u8 *hand;
	size_t hand_size;
	/* the next three: in shared memory only (shm.h) */
	const struct store_shared *shared; /* in each process' own page */
	u64 list_id;			   /* id of the next index */
	u64 *mark;			   /* marks of the arena's records, see place_marked */
};

/* Where a key is, or belongs. Valid in the read-side critical section it was found in. */
struct place {
	u64 word; /* the key's word; 0: the key is absent */
	u64 number;
	struct lath_bytes_place bytes;
};

/* Internal result: the store has changed meanwhile, look again. */
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

/* value.c: builds the word of a new value: 0 | -ENOMEM, -ENOSPC | -E2BIG */
int value_build(struct lath_store *store, struct lath_store_key key,
		const struct lath_store_change *change, u64 *word);
/* Frees the memory of a word that no reader has seen / after a grace period. */
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

/* A vector of 16 bytes. (A typedef, or an attribute behind each name, is more than checkpatch can
 * read.) */
#define BYTES_16(type) __typeof__(type __attribute__((vector_size(16))))

static inline bool word_has_nibbles(u64 word)
{
	return word_tag(word) - WORD_NIBBLES < WORD_FORMS_END - WORD_NIBBLES;
}

/* The forms that words without a place may have, where a caller knows more: any, a value's bytes,
 * or characters of 4 bits. */
enum word_forms { FORMS_ANY, FORMS_BYTES, FORMS_NIBBLES };

/* Expands a word without a place to 16 bytes, and returns the length of the value. No branch
 * decides between the forms: where several occur side by side it would be mispredicted every other
 * time. forms: a constant; FORMS_ANY takes longest. */
static __always_inline u64 word_text(u64 word, enum word_forms forms, unsigned char *text)
{
	u64 raw = forms == FORMS_NIBBLES ? 0 : 0 - (u64)word_is_raw(word);
	u64 nibbles = forms == FORMS_NIBBLES ? ~0ull
		      : forms == FORMS_BYTES ? 0
					     : 0 - (u64)word_has_nibbles(word);
	u64 bytes = (word & ~WORD_INVERTED) | (~word & WORD_INVERTED & raw);
	BYTES_16(u64) x = { little_endian(bytes), 0 };
	BYTES_16(u64) low_halves = { little_endian(0x0f0f0f0f0f0f0f0full), 0 };
	BYTES_16(u64) which = { nibbles, nibbles };
	BYTES_16(signed char) low, high, c;

	if (forms == FORMS_BYTES) {
		memcpy(text, &x, 16);
		return (raw & 8) + (word_tag(word) & 7 & ~raw);
	}
	low = (BYTES_16(signed char))(x & low_halves);
	high = (BYTES_16(signed char))(x >> 4 & low_halves);
	c = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
				    23);
	/* 0..9 are digits, 10 is NUL, 11 and above are + , - . / */
	low = c != 10;
	high = c > 9;
	c = (c | '0') - (high & 16);
	c = c & low;
	x = ((BYTES_16(u64))c & which) | (x & ~which);
	memcpy(text, &x, 16);
	return ((raw | nibbles) & 8) + (word_tag(word) & 7 & ~raw);
}

static inline void record_ref(const struct record *record, struct lath_store_ref *ref)
{
	ref->size = record_value_size(record);
	ref->version = record->version;
	ref->expires = 0;
	if (record->meta & RECORD_EXPIRES)
		memcpy(&ref->expires, record->data, sizeof(u64));
	ref->data = record_key(record) + record_key_size(record);
}

/* value_ref(); forms as word_text(), and FORMS_NIBBLES means that the word has no place. */
static __always_inline void value_ref_of(const struct lath_store *store, u64 word,
					 enum word_forms forms, struct lath_store_ref *ref)
{
	ref->version = 0;
	ref->expires = 0;
	if (likely(forms == FORMS_NIBBLES || !word_has_place(word))) {
		ref->size = word_text(word, forms, ref->small);
		ref->data = ref->small;
		return;
	}
	switch (word_form(word)) {
	case WORD_BARE:
		ref->size = word >> 40 & BARE_MAX;
		ref->data = arena_at(&store->arena, word_place(word));
		return;
	default:
		value_ref_record(store, word, ref);
	}
}

static inline void value_ref(const struct lath_store *store, u64 word, struct lath_store_ref *ref)
{
	value_ref_of(store, word, FORMS_ANY, ref);
}

static inline bool ref_expired(const struct lath_store_ref *ref)
{
	return unlikely(ref->expires) && ref->expires <= lath_store_now();
}

/* Notes that a file: must be written. Does nothing for other stores, so that their writers share no
 * word. */
static inline void store_changed(struct lath_store *store)
{
	if (unlikely(store->file) && !READ_ONCE(store->changed))
		WRITE_ONCE(store->changed, 1);
}

/* Sets or clears the mark of a record in shared memory. A record exists if and only if it is
 * marked; everything else can be rebuilt from marked records (recover.c). It is complete before it
 * is marked, and its slot is not reused before the mark is cleared. */
static inline void record_mark(struct lath_store *store, u64 word, bool there)
{
	u64 place = word_place(word), bit = 1ull << (place >> 3 & 63), *marks;

	if (likely(!store->mark) || word_form(word) != WORD_RECORD)
		return;
	marks = &store->mark[place >> 9];
	LATH_ASSERT(!there || !(*marks & bit)); /* M3: a new record is not marked yet */
	/* only the holder of the store's lock writes marks */
	smp_store_release(marks, there ? *marks | bit : *marks & ~bit);
}

/* Prefetches what a word points to; without a place, the begin of the arena, since a branch would
 * be mispredicted where some of the words have places. */
static inline void value_prefetch(const struct lath_store *store, u64 word)
{
	prefetch(arena_at(&store->arena, word_has_place(word) ? word_place(word) : 0));
}

/* ---- keys.c ---- */

/* Returns the word of a record that the set of byte keys holds. */
u64 address_word(const struct lath_store *store, u64 address);
/* A lath_bytes_key_fn for records. */
void store_key_of(void *ctx, uint64_t value, struct lath_bytes_key *key);
/* Returns the record of a byte key, valid in the section it was found in, or NULL. */
const struct record *record_find(struct lath_store *store, struct lath_store_key key);
/* Returns the word of a key, valid in the section it was found in; 0: the key is absent. */
u64 word_find(struct lath_store *store, struct lath_store_key key);
/* Finds where a key is, or belongs. In a section. */
void place_find(struct lath_store *store, struct lath_store_key key, struct place *place);
/* Makes `word` the key's word, or with 0 removes the key, if it is still as in *place. In a call
 * and in the same section. 0 | RETRY | -ENOMEM */
int place_put(struct lath_store *store, const struct place *place, u64 word);
int keys_init(struct lath_store *store);
/* Returns whether there are no keys. */
bool keys_none(struct lath_store *store);
/* Removes everything; allocates nothing. The caller excludes all other calls. */
void keys_clear(struct lath_store *store);

static inline struct record *word_record(const struct lath_store *store, u64 word)
{
	return arena_at(&store->arena, word_place(word));
}

/* iter.c: as lath_store_iter_next, with expired entries. *word must keep its value between
 * calls. */
int iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word);

/* update.c */
void store_count_items(struct lath_store *store, s64 by);
/* evict.c: called when the limit is hit: evicts, waits for readers, compacts. *round counts the
 * attempts. Returns true if the caller shall try again. Not in a section. */
bool make_room(struct lath_store *store, unsigned int *round);
/* Between on and off the calling thread fills an empty store: its changes evict nothing, and may
 * take one block above the limit. A store that was saved when its limit was used up to the last
 * slot needs that, because growing buckets leave free slots of other sizes behind. */
void store_loading(bool on);

/* A store in another place (dev:, shm:). Each member is the public call of its name. update may be
 * built from get_ref and set_if. */
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
	/* the first entry at or after (backward: at or before) key: 0 | -ENOENT; *found is valid
	 * until the next call */
	int (*seek)(struct lath_store *store, struct lath_store_key key, int backward,
		    struct lath_store_key *found, struct lath_store_ref *value);
	int (*stats)(struct lath_store *store, struct lath_store_stats *stats);
	/* If NULL: iterators use seek, and count and scan use iterators; sweep, compact, load and
	 * save are not supported. */
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

/* dev: the kernel's store; open is NULL if this build has none */
extern const struct store_backend store_dev_backend;
extern const struct store_backend store_shm_backend;

/* As lath_store_prefault() for a store in this process, if `available` bytes suffice. Stores the
 * reason. */
int store_prefault(struct lath_store *store, u64 bytes, u64 available);
/* Fills the statistics of a store in this process, except those that only the kernel knows. */
void store_figures(struct lath_store *store, struct lath_store_stats *stats);

#endif /* LATH_STORE_ENGINE_H */
