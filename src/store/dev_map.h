/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dev_map.h - lookups in the kernel's store through a mapping, without a call (kernel/uapi/llds.h, LLDS_MAP).
 *
 * Any number of threads. Each answer was the store's at a moment between call and return, or is -EAGAIN: ask
 * the kernel.
 */
#ifndef LATH_STORE_DEV_MAP_H
#define LATH_STORE_DEV_MAP_H

#include "sys/sys.h"

#include "../../kernel/uapi/llds.h"

struct store_map {
	const struct llds_head *head;
	uintptr_t at; /* of the mapping */
	u64 base;     /* the kernel's address of what is there */
	u64 size;
	u64 falls; /* answers that were -EAGAIN */
};

/* False: not to be had. fd: an open /dev/llds. */
bool store_map_open(struct store_map *map, int fd);
void store_map_close(struct store_map *map);
/* As LLDS_GET, or -EAGAIN; room bytes at value may have been written to whatever the answer is. */
int store_map_get(struct store_map *map, struct llds_get *get);
/* n <= STORE_MAP_GROUP of them, into each one's error. */
#define STORE_MAP_GROUP 64
void store_map_mget(struct store_map *map, unsigned int n, struct llds_get *get);

#endif /* LATH_STORE_DEV_MAP_H */
