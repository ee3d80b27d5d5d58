/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kv.h - keys and values: a store, wherever its memory is. Nothing here knows the place.
 *
 * Each file calls only those below: batch, update, evict, iterate, keys, value (doc/map.md, One set).
 */
#ifndef LATH_STORE_KV_H
#define LATH_STORE_KV_H

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/store.h"

#include "store/kv/word.h"
#include "store/memory/arena.h"

#include <sys/types.h>

#define KEY_BYTES_MAX 65535u
/* Elements of a batch that are processed at once. */
#define GROUP 64

struct lath_store {
	struct lath_index numbers;
	struct lath_bytes set; /* byte keys: addresses of records */
	struct arena arena;    /* records */
	struct arena index;    /* all of the index: apart from records, since compaction cannot
				   move it */
	u64 committed;	       /* bytes committed by both arenas */
	const struct lath_rcu *rcu;
	enum lath_store_keys keys;
	unsigned int flags;
	bool plain;	 /* numbers without versions: a value need not be a record */
	bool read_only;	 /* the handle is read only */
	u8 changed;	 /* since it was opened or saved */
	u8 number_bytes; /* of a number in its record: 8, or 0 */
	u64 *mark;	 /* marks of the arena's records, see place_marked; NULL: none are kept */
	/* where the store is, and what it keeps there (place/place.h) */
	const struct store_place *place;
	void *place_data;
	struct lath_store *inside; /* the store that has the keys: this one, or one elsewhere */
	struct store_file *file;   /* file:, if the handle may write */
	pid_t saving; /* the process that writes the file now, or the one this was forked from */
	u64 limit;
	u64 evicted, expired;
	/* eviction visits all keys in turn: the next key to look at (hand of a clock) */
	pthread_mutex_t evict_lock;
	struct lath_turn compact_turn;
	u64 hand_number;
	u8 *hand;
	size_t hand_size;
};

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

/* Notes that the store is not as it was opened. All but the first change only read the word. */
static inline void store_changed(struct lath_store *store)
{
	if (unlikely(!READ_ONCE(store->changed)))
		WRITE_ONCE(store->changed, 1);
}

/* ---- value.c ---- */

static inline struct record *word_record(const struct lath_store *store, u64 word)
{
	LATH_ASSERT(word_form(word) == WORD_RECORD);
	return arena_at(&store->arena, word_place(word));
}

/* Builds the word of a new value: 0 | -ENOMEM, -ENOSPC | -E2BIG | -EFBIG: above the limit by
 * itself; to the user -ENOSPC, but no eviction helps */
int lath_value_build(struct lath_store *store, struct lath_store_key key,
		     const struct lath_store_change *change, u64 *word);
/* Frees the memory of a word that no reader has seen / after a grace period. */
void lath_value_drop(struct lath_store *store, u64 word);
void lath_value_retire(struct lath_store *store, u64 word);

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
	/* behind a place: bytes, whose length is in the word, or a record */
	if (word_form(word) == WORD_BARE) {
		ref->size = word >> 40 & BARE_MAX;
		ref->data = arena_at(&store->arena, word_place(word));
		return;
	}
	record_ref(word_record(store, word), ref);
}

static inline void value_ref(const struct lath_store *store, u64 word, struct lath_store_ref *ref)
{
	value_ref_of(store, word, FORMS_ANY, ref);
}

static inline bool ref_expired(const struct lath_store_ref *ref)
{
	return unlikely(ref->expires) && ref->expires <= lath_store_now();
}

/* Sets or clears the mark of a record. Where marks are kept, a record exists if and only if it is
 * marked, and everything else can be rebuilt from marked records (place/shm_lock.c). It is complete
 * before it is marked, and its slot is not reused before the mark is cleared. */
static inline void record_mark(struct lath_store *store, u64 word, bool there)
{
	u64 place, bit, *marks;

	/* only records are found again by marks */
	if (likely(!store->mark) || word_form(word) != WORD_RECORD)
		return;
	place = word_place(word);
	bit = 1ull << (place >> 3 & 63);
	LATH_ASSERT(place < store->arena.reserved);
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

/* Copies the value's first bytes to buf. Returns its length. */
static inline int64_t ref_copy(const struct lath_store_ref *ref, void *buf, size_t room)
{
	LATH_ASSERT(ref->data || !ref->size);
	if (room) /* the length is returned in any case */
		memcpy(buf, ref->data, min(ref->size, (u64)room));
	return (int64_t)ref->size;
}

/* Puts both parts of the new value behind each other. */
static inline void change_copy(const struct lath_store_change *change, u8 *to)
{
	LATH_ASSERT(change->value || !change->size);
	LATH_ASSERT(change->tail || !change->tail_size);
	if (change->size)
		memcpy(to, change->value, change->size);
	if (change->tail_size)
		memcpy(to + change->size, change->tail, change->tail_size);
}

/* ---- keys.c ---- */

/* Where a key is, or belongs. Valid in the read-side critical section it was found in. */
struct place {
	u64 word; /* the key's word; 0: the key is absent */
	u64 number;
	struct lath_bytes_place bytes;
};

/* Internal result: the store has changed since, look again. */
#define RETRY 1

/* Returns the word of a record that the set of byte keys holds. */
u64 lath_address_word(const struct lath_store *store, u64 address);
/* A lath_bytes_key_fn for records. */
void lath_store_key_of(void *ctx, uint64_t value, struct lath_bytes_key *key);
/* Finds where a key is, or belongs. In a section. */
void lath_place_find(struct lath_store *store, struct lath_store_key key, struct place *place);
/* Makes `word` the key's word, or with 0 removes the key, if it is still as in *place. In a call
 * and in the same section. 0 | RETRY | -ENOMEM */
int lath_place_put(struct lath_store *store, const struct place *place, u64 word);
/* After an insert of a number that failed with `ret`: replaces the word of a key that is present, or
 * inserts it if it has been removed since. In a call. 0 | -ENOMEM, and the word has been dropped */
int lath_word_set(struct lath_store *store, const struct lath_item *item, int ret);
/* config: allocator and RCU flavour of the index. */
int lath_keys_init(struct lath_store *store, struct lath_config *config,
		   const struct lath_bytes_records *records);
/* Returns whether there are no keys. */
bool lath_keys_none(struct lath_store *store);
/* Removes everything; allocates nothing. The caller excludes all other calls. */
void lath_keys_clear(struct lath_store *store);
/* Counts keys that were added, or with a negative number removed, in the shard of the thread. */
void lath_keys_count(struct lath_store *store, s64 by);
/* As lath_store_items(). */
int64_t lath_keys_items(struct lath_store *store);
/* As lath_kv_update(), but makes no room: a full store is -ENOSPC. Not in a call. */
int lath_key_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		    void *arg);

/* ---- the public calls of these names, for a store here; what they check is checked ---- */

/* update.c */
int lath_kv_get_ref(struct lath_store *store, struct lath_store_key key,
		    struct lath_store_ref *ref);
int64_t lath_kv_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room);
int lath_kv_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		   void *arg);
int lath_kv_set(struct lath_store *store, struct lath_store_key key, const void *value,
		size_t size);
int lath_kv_delete(struct lath_store *store, struct lath_store_key key);
/* One element of mset, whose key is not checked yet. */
int lath_kv_put(struct lath_store *store, const struct lath_store_entry *entry);
/* For update. decide_put: arg is a lath_store_entry, of which it takes the value. decide_delete:
 * arg is an int, whether there was a value. */
int lath_decide_put(void *arg, const struct lath_store_ref *old, struct lath_store_change *change);
int lath_decide_delete(void *arg, const struct lath_store_ref *old,
		       struct lath_store_change *change);

/* batch.c: up to GROUP elements, but for mget_numbers. change: mset, or without entries mdel. */
size_t lath_kv_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		    struct lath_store_ref *refs);
size_t lath_kv_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
			    struct lath_store_ref *refs);
int64_t lath_kv_change(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       const struct lath_store_key *keys, int *results);
int64_t lath_kv_sweep(struct lath_store *store);

/* iterate.c */
#define CHUNK 32

/* A bound of the range, owned by the iterator; NULL: none. */
struct bound {
	u8 *data;
	u64 size;
};

struct lath_store_iter {
	struct lath_store *store;
	bool backward;
	bool ended;
	unsigned int steps;
	u64 at;	      /* word of the last key */
	void *copies; /* of the entries, if the place makes any; freed at the end */
	/* numbers */
	u64 number, number_end;
	u32 i, n;
	struct lath_item item[CHUNK];
	/* byte keys */
	struct bound low, high,
		last; /* low inclusive, high exclusive; last: the key to seek again */
	bool sought;  /* the cursor is at the last record */
	struct lath_bytes_cursor cursor;
};

/* size: of the place's iterator, which begins with this struct; the rest is 0. */
int lath_kv_iter_begin(struct lath_store *store, const struct lath_store_range *range, size_t size,
		       struct lath_store_iter **out);
int lath_kv_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
		      struct lath_store_ref *value);
/* As lath_kv_iter_next(), with expired entries. *word must keep its value between calls. */
int lath_iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word);
/* Makes the iterator go on behind this key. 0 | -ENOMEM, it is where it was */
int lath_iter_pass(struct lath_store_iter *iter, struct lath_store_key key);
size_t lath_kv_scan(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		    struct lath_store_ref *refs, size_t max, uint64_t *next);
int64_t lath_kv_count(struct lath_store *store, const struct lath_store_range *range);

/* evict.c */
int64_t lath_kv_compact(struct lath_store *store);
/* Called when the limit is hit: evicts, waits for readers, compacts. *round counts the
 * attempts. Returns true if the caller shall try again. Not in a section. */
bool lath_store_make_room(struct lath_store *store, unsigned int *round);

#endif /* LATH_STORE_KV_H */
