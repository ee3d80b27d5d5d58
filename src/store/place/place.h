/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * place.h - where a store is: one table of functions per place, chosen once, at the open.
 *
 *   here    mem:   this process
 *   file    file:  this process; read from a snapshot at the open, written to it at the close
 *   shm     shm:   a shared object; `inside` is the store in it, which a lock protects
 *   dev     dev:   the kernel; no store is inside
 *
 * A public call checks its arguments. Of a store in this process it makes that of kv.h, of others the
 * table's (calls.c). Those without an entry are made in the store inside, or there are none.
 */
#ifndef LATH_STORE_PLACE_H
#define LATH_STORE_PLACE_H

#include "store/kv/kv.h"

struct shm; /* shm.h */

struct store_place {
	const char *scheme; /* "dev" */
	/* NULL: this build has none */
	int (*open)(struct lath_store *store, const char *rest,
		    const struct lath_store_options *options);
	void (*close)(struct lath_store *store);
	/* Around a call on the store inside. write: the call may change something. NULL: nothing is
	 * needed. 0: leave() follows | -errno */
	int (*enter)(struct shm *shm, bool write);
	void (*leave)(struct shm *shm);
	/* as in kv.h, for a store that is not in this process */
	int64_t (*get)(struct lath_store *store, struct lath_store_key key, void *buf, size_t room);
	int (*update)(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg);
	int64_t (*change)(struct lath_store *store, size_t n,
			  const struct lath_store_entry *entries, const struct lath_store_key *keys,
			  int *results);
	int (*get_ref)(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref);
	size_t (*mget)(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs);
	size_t (*scan)(struct lath_store *store, uint64_t from, uint64_t last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next);
	int (*next)(struct lath_store_iter *iter, struct lath_store_key *key,
		    struct lath_store_ref *value);
	size_t iter_size; /* more than that of a struct lath_store_iter, or 0 */
	int (*begin)(struct lath_store_iter *iter); /* NULL: nothing to do */
	int (*stats)(struct lath_store *store, struct lath_store_stats *stats);
};

extern const struct store_place lath_place_here;
extern const struct store_place lath_place_file;
extern const struct store_place lath_place_shm;
extern const struct store_place lath_place_dev;

/* 0 | -EOPNOTSUPP: there is no store inside | as enter() */
static inline int64_t place_enter(struct lath_store *store, bool write)
{
	if (!store->place->enter)
		return store->inside ? 0 : -EOPNOTSUPP;
	return store->place->enter(store->place_data, write);
}

/* Makes a call on the store inside. Its result, or that of place_enter(). */
#define INSIDE(store, write, call)                                          \
	({                                                                  \
		int64_t inside_ = place_enter(store, write);                \
		if (!inside_) {                                             \
			inside_ = (call);                                   \
			if ((store)->place->leave)                          \
				(store)->place->leave((store)->place_data); \
		}                                                           \
		inside_;                                                    \
	})

/* ---- here.c: a store whose memory this process has mapped, here or inside ---- */

/* As lath_store_prefault(), if `available` bytes suffice. Stores the reason. */
int lath_here_populate(struct lath_store *store, u64 bytes, u64 available);
/* Fills the statistics, except those that only the kernel knows. */
int lath_here_figures(struct lath_store *store, struct lath_store_stats *stats);
int lath_here_open(struct lath_store *store, const char *rest,
		   const struct lath_store_options *options);
void lath_here_close(struct lath_store *store);

/* ---- copies.c: values of another place ---- */

struct copies;
/* Makes refs point to copies in this process: of short values in the refs themselves, of others in
 * one block, *copies, or NULL. 0 | -ENOMEM */
int lath_refs_copy(struct lath_store_ref *refs, size_t n, struct copies **copies);
/* Retires the block, so that it is there until the caller's section ends. */
void lath_copies_keep(struct lath_store *store, struct copies *copies);

#endif /* LATH_STORE_PLACE_H */
