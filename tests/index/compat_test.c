/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The calls of the 2013 interface, with its two published usage patterns: insertion under a
 * preload token, and the walk that tears a list down.
 */
#include "lathwork/compat/skiplist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"

struct mystruct {
	int number;
	struct sl_slot slot;
};

static int alive;

static struct mystruct *new_mystruct(unsigned long key, unsigned long size)
{
	struct mystruct *m = malloc(sizeof(*m));

	if (!m)
		abort();
	m->number = (int)key;
	m->slot.key = key;
	m->slot.size = size;
	alive++;
	return m;
}

static void free_mystruct_mem(struct mystruct *m)
{
	memset(m, 0xa5, sizeof(*m)); /* the list must not look at it any more */
	free(m);
	alive--;
}

/* First pattern: preload, insert, enable preemption. */
static int add(struct sl_list *skiplist, struct sl_slot *slot)
{
	int preload_token, ret;

	preload_token = skiplist_preload(skiplist, GFP_KERNEL);

	if (preload_token < 0)
		return preload_token;

	ret = skiplist_insert(skiplist, slot, preload_token);
	preempt_enable();

	return ret;
}

/* Second pattern: free everything. Returns how many slots it saw. */
static int tear_down(struct sl_list *skiplist)
{
	struct sl_node *p;
	struct sl_leaf *leaf;
	struct sl_slot *slot;
	struct mystruct *mystruct;
	int i, seen = 0;

	sl_lock_node(skiplist->head);
	p = skiplist->head->ptrs[0].next;
	while (p) {
		leaf = sl_entry(p);
		for (i = 0; i < leaf->nr; i++) {
			slot = leaf->ptrs[i];
			mystruct = sl_slot_entry(slot, struct mystruct, slot);
			free_mystruct_mem(mystruct);
			seen++;
		}
		p = leaf->node.ptrs[0].next;
		sl_free_leaf(leaf);
	}

	memset(skiplist->head->ptrs, 0, sl_node_size(SKIP_MAXLEVEL));
	sl_unlock_node(skiplist->head);
	return seen;
}

static void fill(struct sl_list *list, int n)
{
	int i;

	for (i = 0; i < n; i++)
		MUST(add(list, &new_mystruct((unsigned long)i * 4096, 4096)->slot) == 0);
}

static void check_calls(struct sl_list *list)
{
	struct sl_slot taken = { 4096 * 5 + 100, 1 }, empty = { 1, 0 };
	struct sl_slot *slot;

	MUST(add(list, &taken) == -EEXIST);
	MUST(add(list, &empty) == -EINVAL);
	slot = skiplist_lookup(list, 4096 * 5 + 64, 512);
	MUST(slot && slot->key == 4096 * 5);
	MUST(!skiplist_lookup(list, 4096 * 1000000ul, 512));
	rcu_read_lock();
	MUST(skiplist_lookup_rcu(list, 4096 * 5 + 64, 512) == slot);
	rcu_read_unlock();
	MUST(skiplist_delete(list, 4096 * 5 + 64, 512) == slot);
	MUST(!skiplist_delete(list, 4096 * 5 + 64, 512));
	/* the gap before a slot that the query reaches: a miss in 2013 */
	MUST(skiplist_lookup(list, 4096 * 5 + 64, 4096)->key == 4096 * 6);
	free_mystruct_mem(sl_slot_entry(slot, struct mystruct, slot));
}

static void check_leaves(struct sl_list *list, int n)
{
	struct sl_leaf *leaf;
	unsigned long key = 0;
	int i, seen = 0;

	for (leaf = sl_first_leaf(list); leaf; leaf = sl_next_leaf(list, &leaf->node, 0)) {
		for (i = 0; i < leaf->nr; i++, seen++) {
			MUST(!seen || leaf->keys[i] > key);
			key = leaf->keys[i];
			MUST(leaf->ptrs[i]->key == key);
		}
		MUST(leaf->max == key + 4096);
	}
	MUST(seen == n);
	leaf = sl_last_leaf(list);
	MUST(leaf && leaf->keys[leaf->nr - 1] == key);
	MUST(leaf && leaf->nr == (n < SKIP_KEYS_PER_NODE ? n : SKIP_KEYS_PER_NODE));
	MUST(leaf && !sl_next_leaf(list, &leaf->node, 0));
	leaf = sl_next_leaf(list, list->head, 0);
	MUST(leaf && leaf->keys[0] == 0);
	sl_free_leaf(leaf);
	MUST(!sl_next_leaf(list, list->head, 1));
}

/* More tokens at once than the list keeps nodes for. */
static void check_tokens(struct sl_list *list)
{
	enum { many = SL_PRELOADS + 3 };
	struct sl_slot slots[many];
	int tokens[many], i;

	for (i = 0; i < many; i++) {
		tokens[i] = skiplist_preload(list, GFP_KERNEL);
		MUST(tokens[i] == (i < SL_PRELOADS ? i : SL_PRELOADS));
	}
	for (i = 0; i < many; i++) {
		slots[i].key = (unsigned long)i + 1;
		slots[i].size = 1;
		MUST(skiplist_insert(list, &slots[i], tokens[i]) == 0);
	}
	MUST(list->taken == 0);
	for (i = 0; i < many; i++)
		MUST(skiplist_delete(list, (unsigned long)i + 1, 1) == &slots[i]);
}

static void check_holes(struct sl_list *list)
{
	struct sl_slot taken = { 100, 28 }, slot[3], odd;

	MUST(add(list, &taken) == 0);
	MUST(skiplist_insert_hole(list, 96, 4095, 64, 64, &slot[0], GFP_KERNEL) == 0);
	MUST(slot[0].key == 128 && slot[0].size == 64);
	MUST(skiplist_lookup(list, 191, 1) == &slot[0]);
	MUST(skiplist_insert_hole(list, 0, 255, 64, 64, &slot[1], GFP_KERNEL) == 0 &&
	     slot[1].key == 0);
	MUST(skiplist_insert_hole(list, 200, 255, 64, 64, &slot[2], GFP_KERNEL) == 0 &&
	     slot[2].key == 192);
	MUST(skiplist_insert_hole(list, 0, 255, 64, 64, &odd, GFP_KERNEL) == -ENOSPC);
	MUST(skiplist_insert_hole(list, 0, 255, 64, 48, &odd, GFP_KERNEL) == -EINVAL);
	MUST(skiplist_delete(list, 0, 256) == &slot[1] && skiplist_delete(list, 0, 256) == &taken);
	MUST(skiplist_delete(list, 0, 256) == &slot[0] &&
	     skiplist_delete(list, 0, 256) == &slot[2]);
}

/* malloc() aligns to 16 only. */
static void check_alignment(void)
{
	static char place[sizeof(struct sl_list) + 64] __attribute__((aligned(64)));
	struct sl_list *list = (struct sl_list *)(void *)(place + 16);

	sl_init_list(list, GFP_KERNEL);
	fill(list, 100);
	MUST(tear_down(list) == 100);
	sl_fini_list(list);
}

int main(void)
{
	static const int sizes[] = { 10, 32, 33, 1000 };
	struct sl_list list;
	struct sl_slot top = { ~0ul, 1 };
	struct sl_leaf *leaf;
	size_t i;

	check_alignment();
	sl_init_list(&list, GFP_ATOMIC);
	MUST(!sl_first_leaf(&list));
	MUST(!sl_last_leaf(&list));
	MUST(tear_down(&list) == 0);
	check_tokens(&list);
	check_holes(&list);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(&list, sizes[i]);
		check_calls(&list);
		check_leaves(&list, sizes[i] - 1);
		/* locking alone changes nothing */
		sl_lock_node(list.head);
		MUST(list.head->ptrs[0].next != NULL);
		sl_unlock_node(list.head);
		check_leaves(&list, sizes[i] - 1);
		MUST(tear_down(&list) == sizes[i] - 1);
		MUST(alive == 0);
		MUST(!sl_first_leaf(&list));
		MUST(lath_index_count(list.index) == 0);
	}
	/* the last key */
	MUST(add(&list, &top) == 0);
	leaf = sl_last_leaf(&list);
	MUST(leaf && leaf->keys[0] == ~0ul);
	MUST(leaf && !sl_next_leaf(&list, &leaf->node, 0));
	leaf = sl_first_leaf(&list);
	MUST(leaf && !sl_next_leaf(&list, &leaf->node, 1));
	MUST(skiplist_delete(&list, ~0ul, 1) == &top);
	sl_fini_list(&list);
	MUST(skiplist_preload(&list, GFP_KERNEL) < 0);
	if (faults)
		fprintf(stderr, "%lu checks failed\n", faults);
	return faults != 0;
}
