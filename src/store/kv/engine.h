/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engine.h - the inside of a store: its struct, and what the public calls check first.
 *
 * Each file calls only those to its right and below; the way of one set goes down on the left:
 *
 *   update batch iter snapshot             the public calls (update.c: lath_store_set)
 *      |                                   evict: room in a full store
 * keys                                   one change of one key: lath_key_update(); from a key to
 * its
 *      |                                   word, in the index or the byte keys
 *   value                                  lath_value_build(): in the word, bytes, or a record
 *   arena                                  lath_arena_alloc(): a slot or a run, by the size;
 *      |                                   memory that readers may still see
 *      |----------> slab                   slots of one size, in runs; a shard per some threads
 *   runs                                   runs of units, blocks of 2 MiB, the limit
 *      |----------> pages, shm             memory of the machine, of a shared object
 */
#ifndef LATH_STORE_ENGINE_H
#define LATH_STORE_ENGINE_H

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/store.h"

#include "store/memory/arena.h"

#include <sys/types.h>

#define KEY_BYTES_MAX 65535u
/* Elements of a batch that are processed at once. */
#define GROUP 64

/* The functions that a shared store calls. Each process has this struct, at the same address. */
struct store_shared {
	struct lath_allocator allocator; /* of index nodes */
	struct lath_bytes_records records;
};

struct lath_store {
	struct lath_index numbers;
	struct lath_bytes set; /* byte keys: addresses of records */
	struct arena arena;    /* records */
	struct arena index;    /* all of the index: apart from records, since compaction cannot
				   move it */
	u64 committed;	       /* bytes committed by both arenas */
	const struct lath_rcu *rcu;
	const struct store_backend *backend; /* NULL: the store is in this process */
	void *backend_data;
	struct lath_store *inside; /* shm: the store in the object, which its lock protects */
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
	u64 index_id;			   /* id of the next index */
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
int lath_store_populate(struct lath_store *store, u64 bytes, u64 available);

/* ---- update.c ---- */

/* One element of lath_store_mset(). */
int lath_entry_set(struct lath_store *store, const struct lath_store_entry *entry);

/* ---- keys.c ---- */

/* As lath_store_update() for a store in this process and a key of its kind, but makes no room: a
 * full store is -ENOSPC. Not in a call. */
int lath_key_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		    void *arg);

/* ---- iterate.c ---- */

/* As lath_store_iter_next, with expired entries. *word must keep its value between
 * calls. */
int lath_iter_next_word(struct lath_store_iter *iter, struct lath_store_key *key, u64 *word);

/* ---- evict.c ---- */

/* Called when the limit is hit: evicts, waits for readers, compacts. *round counts the
 * attempts. Returns true if the caller shall try again. Not in a section. */
bool lath_store_make_room(struct lath_store *store, unsigned int *round);
/* Between on and off the calling thread fills an empty store: its changes evict nothing, and may
 * take one block above the limit. A store that was saved when its limit was used up to the last
 * slot needs that, because growing buckets leave free slots of other sizes behind. */
void lath_store_loading(bool on);

/* ---- other places ---- */

/* The functions of a store in another place (dev:, shm:): what it does in its own way. Each member
 * is the public call of its name. What shm: has not is done in the store inside, locked; of dev:
 * the calls go through the keys by seek. */
struct store_backend {
	const char *scheme; /* "dev" */
	int (*open)(struct lath_store *store, const char *rest,
		    const struct lath_store_options *options);
	int (*close)(struct lath_store *store);
	int (*get_ref)(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref);
	/* up to GROUP elements */
	size_t (*mget)(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs);
	size_t (*scan)(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next);
	/* dev: alone; there are results of mset and mdel */
	int64_t (*get)(struct lath_store *store, struct lath_store_key key, void *buf, size_t room);
	int (*update)(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg);
	size_t (*mset)(struct lath_store *store, size_t n, const struct lath_store_entry *entries,
		       int *results);
	size_t (*mdel)(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       int *results);
	/* the first entry at or after (backward: at or before) key: 0 | -ENOENT; *found is valid
	 * until the next call */
	int (*seek)(struct lath_store *store, struct lath_store_key key, int backward,
		    struct lath_store_key *found, struct lath_store_ref *value);
	int (*stats)(struct lath_store *store, struct lath_store_stats *stats);
};

/* dev: the kernel's store; open is NULL if this build has none */
extern const struct store_backend lath_store_dev_backend;
extern const struct store_backend lath_store_shm_backend;

#endif /* LATH_STORE_ENGINE_H */
