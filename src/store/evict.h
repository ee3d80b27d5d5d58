/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * evict.h - room in a full store.
 */
#ifndef LATH_STORE_EVICT_H
#define LATH_STORE_EVICT_H

#include "store/engine.h"

/* Called when the limit is hit: evicts, waits for readers, compacts. *round counts the
 * attempts. Returns true if the caller shall try again. Not in a section. */
bool store_make_room(struct lath_store *store, unsigned int *round);
/* Between on and off the calling thread fills an empty store: its changes evict nothing, and may
 * take one block above the limit. A store that was saved when its limit was used up to the last
 * slot needs that, because growing buckets leave free slots of other sizes behind. */
void store_loading(bool on);

#endif /* LATH_STORE_EVICT_H */
