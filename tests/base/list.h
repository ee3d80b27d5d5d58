/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * list.h - an index and its oracle, for tapes: calls that are made on both, and compared.
 *
 * Each list_*() below returns 0, also where memory runs out and the tape allows it, or -1 when the
 * answers differ. An insertion into a full oracle is left out.
 */
#ifndef LATH_TESTS_LIST_H
#define LATH_TESTS_LIST_H

#include "base/oracle.h"
#include "base/tape.h"

extern struct lath_index list;
extern struct oracle oracle; /* what is in the list */

/* A value that no item has had. */
uint64_t next_value(void);
bool list_full(void);

enum insert_how { INSERT_ITEM, INSERT_PRELOADED, INSERT_CURSOR };
enum erase_how { ERASE_ITEM, ERASE_AT, ERASE_IF, ERASE_CURSOR };

#define LIST_BATCH 24 /* items or keys at most */

int list_insert(struct tape *tape, struct lath_item item, enum insert_how how);
int list_insert_batch(struct tape *tape, size_t n, const struct lath_item *items);
/* key: where the item starts; with ERASE_AT a key that it covers */
int list_erase(struct tape *tape, uint64_t key, enum erase_how how);
int list_erase_batch(struct tape *tape, size_t n, const uint64_t *keys);
/* The item that starts at to.key gets to.size. */
int list_resize(struct tape *tape, struct lath_item to);
int list_split(struct tape *tape, uint64_t at);
int list_erase_part(struct tape *tape, struct lath_item part);
/* Join the items that meet at `at`, if `allowed`. */
int list_join(struct tape *tape, uint64_t at, bool allowed);
int list_erase_range(struct tape *tape, struct lath_item range);
int list_store_range(struct tape *tape, struct lath_item item);

/* Trim the list a little further. The oracle does not change. */
int list_trim(struct tape *tape);

/* Are the list's invariants and its count as they should be? */
int list_verify(struct tape *tape);

/* Make an empty list; begin() (NULL: nothing), then play_one() to the end of the tape, verified on
 * the way. */
int list_run(struct tape *tape, struct lath_config *config, int (*begin)(struct tape *tape),
	     int (*play_one)(struct tape *tape));

#endif /* LATH_TESTS_LIST_H */
