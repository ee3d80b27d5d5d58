/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * backend.h - the table of functions of a store in another place.
 */
#ifndef LATH_STORE_BACKEND_H
#define LATH_STORE_BACKEND_H

#include "store/engine.h"

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
	int64_t (*items)(struct lath_store *store);
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

#endif /* LATH_STORE_BACKEND_H */
