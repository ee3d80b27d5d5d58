/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.h - values: built, read and freed by their words; from a key to its word.
 */
#ifndef LATH_STORE_VALUE_H
#define LATH_STORE_VALUE_H

#include "store/kv/engine.h"
#include "store/kv/word.h"

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
void lath_value_ref_record(const struct lath_store *store, u64 word, struct lath_store_ref *ref);

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
	switch (word_form(word)) {
	case WORD_BARE:
		ref->size = word >> 40 & BARE_MAX;
		ref->data = arena_at(&store->arena, word_place(word));
		return;
	default:
		lath_value_ref_record(store, word, ref);
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

/* Sets or clears the mark of a record in shared memory. A record exists if and only if it is
 * marked; everything else can be rebuilt from marked records (shm_lock.c). It is complete before it
 * is marked, and its slot is not reused before the mark is cleared. */
static inline void record_mark(struct lath_store *store, u64 word, bool there)
{
	u64 place, bit, *marks;

	/* a store in this process needs no marks, and only records are found again by them */
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

/* Makes refs point to copies in this process: of short values in the refs themselves, of others in
 * one block, *copies, or NULL. copies_keep: retires it, so that it is there until the caller's
 * section ends. 0 | -ENOMEM */
struct copies;
int lath_refs_copy(struct lath_store_ref *refs, size_t n, struct copies **copies);
void lath_copies_keep(struct lath_store *store, struct copies *copies);

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
/* Returns the record of a byte key, valid in the section it was found in, or NULL. */
const struct record *lath_record_find(struct lath_store *store, struct lath_store_key key);
/* Returns the word of a key, valid in the section it was found in; 0: the key is absent. */
u64 lath_word_find(struct lath_store *store, struct lath_store_key key);
/* Finds where a key is, or belongs. In a section. */
void lath_place_find(struct lath_store *store, struct lath_store_key key, struct place *place);
/* Makes `word` the key's word, or with 0 removes the key, if it is still as in *place. In a call
 * and in the same section. 0 | RETRY | -ENOMEM */
int lath_place_put(struct lath_store *store, const struct place *place, u64 word);
int lath_keys_init(struct lath_store *store);
/* Returns whether there are no keys. */
bool lath_keys_none(struct lath_store *store);
/* Removes everything; allocates nothing. The caller excludes all other calls. */
void lath_keys_clear(struct lath_store *store);
/* Counts keys that were added, or with a negative number removed, in the shard of the thread. */
void lath_store_count_items(struct lath_store *store, s64 by);

#endif /* LATH_STORE_VALUE_H */
