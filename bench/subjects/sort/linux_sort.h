/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's red-black tree as an IO scheduler uses it, behind plain C calls: the tree alone with
 * its least node cached; the same with a look at the greatest node first; and the whole elevator,
 * which has a hash of the ends, a FIFO and the last merge as well.
 */
#ifndef LATH_BENCH_LINUX_SORT_H
#define LATH_BENCH_LINUX_SORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linux_item {
	uint64_t key;
	void *node[3]; /* struct rb_node */
	uint64_t end;  /* from here on for the elevator only */
	struct linux_item *hash_next, **hash_at;
	struct linux_item *older, *newer;
	char data[256 - 32 - 40];
};

struct linux_queue {
	void *root, *least; /* struct rb_root_cached */
	struct linux_item *greatest;
};

void linux_sort_push(struct linux_queue *q, struct linux_item *item);
struct linux_item *linux_sort_pop(struct linux_queue *q);
void linux_sort_push_hint(struct linux_queue *q, struct linux_item *item);
struct linux_item *linux_sort_pop_hint(struct linux_queue *q);

#define LINUX_END_BUCKETS 64

struct linux_elevator {
	struct linux_queue tree;
	struct linux_item *ends[LINUX_END_BUCKETS];
	struct linux_item *last_merge, *oldest, *newest;
};

/* Returns 1 if the item was merged into a queued one, which grows to `limit` at most. */
int linux_elevator_submit(struct linux_elevator *e, struct linux_item *item, uint64_t limit);
struct linux_item *linux_elevator_dispatch(struct linux_elevator *e);
struct linux_item *linux_elevator_oldest(struct linux_elevator *e);

#ifdef __cplusplus
}
#endif
#endif
