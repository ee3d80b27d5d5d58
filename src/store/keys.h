/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * keys.h - from a key to its word.
 */
#ifndef LATH_STORE_KEYS_H
#define LATH_STORE_KEYS_H

#include "store/engine.h"
#include "store/word.h"

/* Where a key is, or belongs. Valid in the read-side critical section it was found in. */
struct place {
	u64 word; /* the key's word; 0: the key is absent */
	u64 number;
	struct lath_bytes_place bytes;
};

/* Internal result: the store has changed since, look again. */
#define RETRY 1

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
/* Counts keys that were added, or with a negative number removed, in the shard of the thread. */
void store_count_items(struct lath_store *store, s64 by);

#endif /* LATH_STORE_KEYS_H */
