/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a test of shared stores must see of their inside. */
#ifndef TESTS_STORE_SHM_INSIDE_H
#define TESTS_STORE_SHM_INSIDE_H

#include "lathwork/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct shm_region {
	unsigned char *at;
	size_t size;
};

/* Where a small store's content lies: head, tables, marks, and so much of each arena as was ever
 * used. */
size_t shm_inside_regions(struct lath_store *store, struct shm_region *regions);
/* After an image of it was put back: nobody holds the lock, its holder died; indexes made from now
 * on have ids from here. */
void shm_inside_owner_died(struct lath_store *store, uint64_t index_id);
/* 0, or -1 and what is wrong: the index, marks against index, slabs against both. */
int shm_inside_verify(struct lath_store *store, char *why, size_t why_size);
uint64_t shm_inside_generation(struct lath_store *store);
int shm_inside_dirty(struct lath_store *store);
void *shm_inside_address(struct lath_store *store);
void shm_inside_fault(int fault);

#ifdef __cplusplus
}
#endif
#endif
