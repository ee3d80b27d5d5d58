/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engine.h - the inside of a store: its struct, and what the public calls check first.
 *
 * Each file calls only those to its right and below; the way of one set goes down on the left:
 *
 *   update batch iter sweep load save      the public calls (update.c: lath_store_set)
 *      |                                   evict: room in a full store
 *   change                                 one change of one key: key_update()
 *      |----------> keys                   from a key to its word, in the index or the byte keys
 *   value                                  value_build(): in the word, bytes, or a record
 *      |----------> retire                 memory that readers may still see
 *   arena                                  arena_alloc(): a slot or a run, by the size
 *      |----------> slab                   slots of one size, in runs; a shard per some threads
 *   runs                                   runs of units, blocks of 2 MiB, the limit
 *      |----------> pages, shm_map         memory of the machine, of a shared object
 */
#ifndef LATH_STORE_ENGINE_H
#define LATH_STORE_ENGINE_H

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/store.h"

#include "store/arena.h"

#include <sys/types.h>

#define KEY_BYTES_MAX 65535u

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

/* Notes that a file: must be written. Does nothing for other stores, so that their writers share no
 * word. */
static inline void store_changed(struct lath_store *store)
{
	if (unlikely(store->file) && !READ_ONCE(store->changed))
		WRITE_ONCE(store->changed, 1);
}

/* ---- store.c ---- */

/* As lath_store_prefault() for a store in this process, if `available` bytes suffice. Stores the
 * reason. */
int store_prefault(struct lath_store *store, u64 bytes, u64 available);
/* The number of entries of a store in this process. */
s64 store_items(struct lath_store *store);
/* Fills the statistics of a store in this process, except those that only the kernel knows. */
void store_figures(struct lath_store *store, struct lath_store_stats *stats);

#endif /* LATH_STORE_ENGINE_H */
