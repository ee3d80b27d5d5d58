/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/compat/skiplist.h - the calls of the 2013 kernel skiplist over lathwork/index.h.
 *
 * For code written against Chris Mason's patches, as described in "Skiplists II: API and
 * benchmarks" (LWN, June 2013). New code should use lathwork/index.h. User space only.
 *
 * Differences from 2013:
 *  - Leaves are copies. sl_first_leaf() and sl_last_leaf() return a copy of up to 32 slots, in
 *    order; sl_next_leaf() takes over the leaf that it gets, refills it, and frees it at the end
 *    of the list. A caller that stops before the end calls sl_free_leaf(). Only level 0 can be
 *    walked: the inner levels are private to the index, so SKIP_MAXLEVEL is 1.
 *  - sl_lock_node(list->head) links the copies of all leaves to head->ptrs[0].next, for the walk
 *    that tears a list down. If that pointer is NULL at sl_unlock_node(list->head), the slots of
 *    these copies leave the list; else they stay, and the copies are freed. Without enough memory
 *    the chain is shorter: repeat until lath_index_count() is 0. A teardown excludes all other
 *    calls.
 *  - skiplist_lookup_rcu() is linearizable for misses too: no second check is needed. The caller
 *    is in a read-side critical section of lath_rcu_auto, which rcu_read_lock() begins unless a
 *    macro of this name was there before. skiplist_lookup() may be called
 *    anywhere, but as in 2013 the caller must keep the slot alive.
 *  - The token of skiplist_preload() names one of 64 sets of nodes that the list keeps;
 *    skiplist_insert() releases it. Each token is used once. If all sets are taken, or used up by
 *    splits elsewhere, the insertion allocates. skiplist_preload() also reports a failed
 *    sl_init_list().
 *  - skiplist_insert_hole() sets slot->key after the slot is in the list: a concurrent reader
 *    that finds the slot must take the key from the lookup, not from the slot.
 *  - sl_fini_list() is new: it frees the memory of a list, empty or not.
 */
#ifndef LATHWORK_COMPAT_SKIPLIST_H
#define LATHWORK_COMPAT_SKIPLIST_H

#ifdef __KERNEL__
#error "lathwork/compat/skiplist.h is for user space"
#endif

#include "lathwork/hole.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKIP_MAXLEVEL 1
#define SKIP_KEYS_PER_NODE 32
#define SL_PRELOADS 64

#ifndef GFP_KERNEL
typedef unsigned int gfp_t;
#define GFP_KERNEL 0u
#define GFP_ATOMIC 0u
#endif
#ifndef preempt_enable
#define preempt_enable() ((void)0)
#endif
#ifndef rcu_read_lock
#define rcu_read_lock() lath_rcu_auto.read_lock()
#define rcu_read_unlock() lath_rcu_auto.read_unlock()
#endif

/* Embedded in the user's struct. */
struct sl_slot {
	unsigned long key;
	unsigned long size;
};

struct sl_node;
struct sl_list;

struct sl_node_ptr {
	struct sl_node *prev;
	struct sl_node *next;
};

struct sl_node {
	struct sl_node_ptr ptrs[SKIP_MAXLEVEL];
	struct sl_list *list; /* of the head; NULL in a leaf */
};

/* bytes of the pointers of a node with this many levels */
#define sl_node_size(levels) ((size_t)(levels) * sizeof(struct sl_node_ptr))

struct sl_leaf {
	struct sl_node node;
	int nr;
	unsigned long max; /* end of the last slot */
	unsigned long keys[SKIP_KEYS_PER_NODE];
	struct sl_slot *ptrs[SKIP_KEYS_PER_NODE];
};

struct sl_list {
	struct sl_node *head; /* &first */
	struct sl_node first;
	uint64_t handed_out; /* last key in the chain that sl_lock_node() hung on the head */
	int chained;
	int error; /* of sl_init_list() */
	char lock;
	uint64_t taken; /* bit i: preload[i] is in use */
	struct lath_preload preload[SL_PRELOADS];
	struct lath_index *index; /* not embedded: a struct sl_list may come from malloc() */
};

#define sl_container(ptr, type, member) \
	LATH_CAST(type *, LATH_CAST(void *, LATH_CAST(char *, ptr) - offsetof(type, member)))
#define sl_entry(ptr) sl_container(ptr, struct sl_leaf, node)
#define sl_slot_entry(ptr, type, member) sl_container(ptr, type, member)

static inline void sl_init_list(struct sl_list *list, gfp_t gfp_mask)
{
	struct lath_config config = LATH_CONFIG_INIT;

	(void)gfp_mask;
	list->head = &list->first;
	list->first.ptrs[0].prev = NULL;
	list->first.ptrs[0].next = NULL;
	list->first.list = list;
	list->chained = 0;
	list->lock = 0;
	list->taken = 0;
	memset(list->preload, 0, sizeof(list->preload));
	config.flags = LATH_HOLES;
	list->index = lath_index_create(&config);
	list->error = list->index ? 0 : -ENOMEM;
}

static inline void sl_fini_list(struct sl_list *list)
{
	int i;

	if (list->error)
		return;
	for (i = 0; i < SL_PRELOADS; i++)
		lath_index_preload_release(list->index, &list->preload[i]);
	lath_index_destroy(list->index, NULL, NULL);
	list->error = -EINVAL;
}

static inline struct sl_slot *sl_item_slot(const struct lath_item *item)
{
	return LATH_CAST(struct sl_slot *, item->value);
}

/* Takes a free set of nodes. Returns its number, or SL_PRELOADS if there is none. */
static inline int sl_take_preload(struct sl_list *list)
{
	uint64_t old = __atomic_load_n(&list->taken, __ATOMIC_RELAXED);
	int i;

	do {
		if (!~old)
			return SL_PRELOADS;
		i = __builtin_ctzll(~old);
	} while (!__atomic_compare_exchange_n(&list->taken, &old, old | 1ull << i, 1,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return i;
}

static inline void sl_give_preload(struct sl_list *list, int i)
{
	/* pairs with sl_take_preload */
	__atomic_fetch_and(&list->taken, ~(1ull << i), __ATOMIC_RELEASE);
}

/* Returns a token >= 0, or a negative errno. */
static inline int skiplist_preload(struct sl_list *list, gfp_t gfp_mask)
{
	int i, ret;

	(void)gfp_mask;
	if (list->error)
		return list->error;
	i = sl_take_preload(list);
	if (i == SL_PRELOADS)
		return i;
	ret = lath_index_preload(list->index, &list->preload[i]);
	if (!ret)
		return i;
	sl_give_preload(list, i);
	return ret;
}

/* 0 | -EEXIST (the range overlaps another) | -EINVAL | -ENOMEM */
static inline int skiplist_insert(struct sl_list *list, struct sl_slot *slot, int preload_token)
{
	struct lath_item item = { slot->key, slot->size, LATH_CAST(uint64_t, slot) };
	int ret = -EAGAIN;

	if (preload_token < 0)
		return preload_token;
	if (preload_token < SL_PRELOADS) {
		ret = lath_index_insert_preloaded(list->index, &item, &list->preload[preload_token],
						  NULL);
		sl_give_preload(list, preload_token);
	}
	return ret == -EAGAIN ? lath_index_insert_item(list->index, &item, NULL) : ret;
}

/*
 * Finds a free range of this size and alignment (a power of two, or 0) at or behind the hint, else
 * from 0 on, with its last key not above limit. Inserts the slot there and sets slot->key and
 * slot->size. 0 | -ENOSPC | -EINVAL | -ENOMEM; never -EAGAIN: if another thread takes the range,
 * the call searches again.
 */
static inline int skiplist_insert_hole(struct sl_list *list, unsigned long hint,
				       unsigned long limit, unsigned long size, unsigned long align,
				       struct sl_slot *slot, gfp_t gfp_mask)
{
	struct lath_hole_request want;
	uint64_t key;
	int ret;

	(void)gfp_mask;
	memset(&want, 0, sizeof(want));
	want.size = size;
	want.align = align;
	want.high = limit + 1ull;
	want.hint = hint;
	want.policy = LATH_HOLE_NEXT;
	slot->size = size;
	ret = lath_index_insert_hole(list->index, &want, LATH_CAST(uint64_t, slot), &key);
	if (!ret)
		slot->key = key;
	return ret;
}

/* The first slot that overlaps [key, key + size), or NULL. */
static inline struct sl_slot *skiplist_lookup(struct sl_list *list, unsigned long key,
					      unsigned long size)
{
	struct lath_item item;

	return lath_index_overlap_item(list->index, key, size, &item) ? NULL : sl_item_slot(&item);
}

static inline struct sl_slot *skiplist_lookup_rcu(struct sl_list *list, unsigned long key,
						  unsigned long size)
{
	return skiplist_lookup(list, key, size);
}

/* Delete the first slot that overlaps [key, key + size); returns it, or NULL. */
static inline struct sl_slot *skiplist_delete(struct sl_list *list, unsigned long key,
					      unsigned long size)
{
	struct lath_item item;

	while (!lath_index_overlap_item(list->index, key, size, &item)) {
		/* a point inside both; another thread may have been faster */
		uint64_t point = item.key > key ? item.key : key;

		if (!lath_index_erase_item_at(list->index, point, &item))
			return sl_item_slot(&item);
	}
	return NULL;
}

static inline void sl_free_leaf(struct sl_leaf *leaf)
{
	free(leaf);
}

/* Fills a leaf with n items; if n is 0, frees it and returns NULL. */
static inline struct sl_leaf *sl_fill_leaf(struct sl_leaf *leaf, const struct lath_item *items,
					   size_t n)
{
	size_t i;

	if (!n || !leaf) {
		free(leaf);
		return NULL;
	}
	leaf->node.ptrs[0].prev = NULL;
	leaf->node.ptrs[0].next = NULL;
	leaf->node.list = NULL;
	leaf->nr = 0;
	for (i = 0; i < n; i++, leaf->nr++) {
		leaf->keys[i] = items[i].key;
		leaf->ptrs[i] = sl_item_slot(&items[i]);
	}
	leaf->max = items[n - 1].key + items[n - 1].size;
	return leaf;
}

/* The slots from key on. */
static inline struct sl_leaf *sl_copy_leaf(struct sl_list *list, struct sl_leaf *leaf, uint64_t key)
{
	struct lath_item items[SKIP_KEYS_PER_NODE];
	uint64_t next;

	return sl_fill_leaf(leaf, items,
			    lath_index_scan(list->index, key, UINT64_MAX, items, SKIP_KEYS_PER_NODE,
					    &next));
}

static inline struct sl_leaf *sl_new_leaf(void)
{
	return LATH_CAST(struct sl_leaf *, malloc(sizeof(struct sl_leaf)));
}

/* NULL: the list is empty, or no memory. */
static inline struct sl_leaf *sl_first_leaf(struct sl_list *list)
{
	return sl_copy_leaf(list, sl_new_leaf(), 0);
}

static inline struct sl_leaf *sl_last_leaf(struct sl_list *list)
{
	struct lath_item items[SKIP_KEYS_PER_NODE];
	size_t at = SKIP_KEYS_PER_NODE;
	uint64_t key = UINT64_MAX;

	while (at && !lath_index_floor_item(list->index, key, &items[at - 1])) {
		key = items[--at].key;
		if (!key--)
			break;
	}
	return sl_fill_leaf(sl_new_leaf(), items + at, SKIP_KEYS_PER_NODE - at);
}

/* Refills and returns the leaf p; NULL, with p freed, at the end. NULL above level 0. */
static inline struct sl_leaf *sl_next_leaf(struct sl_list *list, struct sl_node *p, int l)
{
	struct sl_leaf *leaf;
	unsigned long last;

	if (p->list)
		return l ? NULL : sl_first_leaf(list);
	leaf = sl_entry(p);
	last = leaf->keys[leaf->nr - 1];
	if (l || last == ~0ul) {
		sl_free_leaf(leaf);
		return NULL;
	}
	return sl_copy_leaf(list, leaf, last + 1);
}

/* Links copies of all leaves to the head. */
static inline void sl_chain_leaves(struct sl_list *list)
{
	struct sl_node *end = list->head;
	struct sl_leaf *leaf = sl_first_leaf(list);

	list->chained = leaf != NULL;
	while (leaf) {
		end->ptrs[0].next = &leaf->node;
		leaf->node.ptrs[0].prev = end;
		end = &leaf->node;
		list->handed_out = leaf->keys[leaf->nr - 1];
		leaf = list->handed_out == UINT64_MAX
			       ? NULL
			       : sl_copy_leaf(list, sl_new_leaf(), list->handed_out + 1);
	}
	list->head->ptrs[0].prev = end == list->head ? NULL : end;
}

/* Erases the slots that the copies hold. The caller may have freed them: only keys are used. */
static inline void sl_drop_leaves(struct sl_list *list)
{
	struct lath_item items[SKIP_KEYS_PER_NODE];
	uint64_t next;
	size_t i, n;

	do {
		n = lath_index_scan(list->index, 0, list->handed_out, items, SKIP_KEYS_PER_NODE,
				    &next);
		for (i = 0; i < n; i++)
			lath_index_erase_item(list->index, items[i].key, NULL);
	} while (n);
}

/* Only the head has a lock; leaves are copies. */
static inline void sl_lock_node(struct sl_node *node)
{
	if (!node->list)
		return;
	while (__atomic_test_and_set(&node->list->lock, __ATOMIC_ACQUIRE))
		sched_yield();
	sl_chain_leaves(node->list);
}

static inline void sl_unlock_node(struct sl_node *node)
{
	struct sl_node *p, *next;

	if (!node->list)
		return;
	if (!node->ptrs[0].next && node->list->chained)
		sl_drop_leaves(node->list);
	for (p = node->ptrs[0].next; p; p = next) {
		next = p->ptrs[0].next;
		sl_free_leaf(sl_entry(p));
	}
	node->ptrs[0].next = NULL;
	node->ptrs[0].prev = NULL;
	node->list->chained = 0;
	__atomic_clear(&node->list->lock, __ATOMIC_RELEASE); /* pairs with sl_lock_node */
}

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_COMPAT_SKIPLIST_H */
