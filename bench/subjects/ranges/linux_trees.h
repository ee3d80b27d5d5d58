/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The red-black tree and the maple tree of the packaged Linux source behind plain C calls, because
 * C++ cannot include kernel headers.
 * Extents: insert refuses an overlap (returns 0); lookup and erase take any point of an extent.
 */
#ifndef LATH_BENCH_LINUX_PEERS_H
#define LATH_BENCH_LINUX_PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* as struct extent of range_subject.hpp */
struct linux_extent {
	void *hook[3];
	uint64_t key, size;
};

/* called for each entry of a scan */
typedef void (*linux_visit)(void *arg, uint64_t key, uint64_t value);

/* lib/rbtree.c; locked: every call takes the tree's spinlock */
struct linux_rbtree;
struct linux_rbtree *linux_rbtree_new(int locked);
void linux_rbtree_free_pairs(struct linux_rbtree *tree); /* a tree of pairs, with its pairs */
void linux_rbtree_free(struct linux_rbtree *tree);
int linux_rbtree_insert_extent(struct linux_rbtree *tree, struct linux_extent *item);
struct linux_extent *linux_rbtree_lookup_extent(struct linux_rbtree *tree, uint64_t point);
struct linux_extent *linux_rbtree_erase_extent(struct linux_rbtree *tree, uint64_t point);
int linux_rbtree_insert(struct linux_rbtree *tree, uint64_t key, uint64_t value);
int linux_rbtree_get(struct linux_rbtree *tree, uint64_t key, uint64_t *value);
int linux_rbtree_update(struct linux_rbtree *tree, uint64_t key, uint64_t value);
int linux_rbtree_erase(struct linux_rbtree *tree, uint64_t key);
int linux_rbtree_floor(struct linux_rbtree *tree, uint64_t point, uint64_t *key, uint64_t *value);
void linux_rbtree_scan(struct linux_rbtree *tree, uint64_t from, size_t length, linux_visit visit,
		       void *arg);

/* lib/maple_tree.c; rcu: readers without the lock, over liburcu; else every call takes the tree's
 * lock */
struct linux_maple;
struct linux_maple *linux_maple_new(int rcu);
void linux_maple_free(struct linux_maple *tree);
void linux_maple_enter(void); /* a thread begins, ends (rcu mode) */
void linux_maple_leave(void);
uint64_t linux_maple_bytes(void); /* in nodes of all maple trees */
int linux_maple_insert(struct linux_maple *tree, uint64_t first, uint64_t last, void *entry);
void *linux_maple_load(struct linux_maple *tree, uint64_t point);
void *linux_maple_erase(struct linux_maple *tree, uint64_t point);
/* the highest aligned gap of size in [first, last], found and filled under the lock: 1, or 0 */
int linux_maple_alloc(struct linux_maple *tree, uint64_t first, uint64_t last, uint64_t size,
		      uint64_t align, uint64_t *start);
/* Put an entry over what is there; NULL: take out what is there. With joined, it becomes one with
 * neighbours that have the same entry. */
void linux_maple_store(struct linux_maple *tree, uint64_t first, uint64_t last, void *entry,
		       int joined);
int linux_maple_update(struct linux_maple *tree, uint64_t key, void *entry);
int linux_maple_floor(struct linux_maple *tree, uint64_t point, uint64_t *key, uint64_t *value);
void linux_maple_scan(struct linux_maple *tree, uint64_t from, size_t length, linux_visit visit,
		      void *arg);

#ifdef __cplusplus
}
#endif
#endif
