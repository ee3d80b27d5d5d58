/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * change.h - one change of one key of a store in this process.
 */
#ifndef LATH_STORE_CHANGE_H
#define LATH_STORE_CHANGE_H

#include "store/engine.h"

/* As lath_store_update() for a store in this process and a key of its kind, but makes no room: a
 * full store is -ENOSPC. Not in a call. */
int key_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
	       void *arg);

#endif /* LATH_STORE_CHANGE_H */
