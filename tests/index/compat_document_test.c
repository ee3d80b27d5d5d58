/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * compat_document_test.c - a program that is written from the article on the API of 2013 alone
 * ("Skiplists II: API and benchmarks", LWN 2013), in its order: it knows no call and no field that
 * the article does not name, but for sl_fini_list() at the end, and its header has another name.
 */
#include "lathwork/compat/skiplist.h"

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5000

struct mystruct {
	char before[24];
	struct sl_slot slot;
	int alive;
};

static struct mystruct *made[N];
static int freed;

static void free_mystruct_mem(struct mystruct *mystruct)
{
	assert(mystruct->alive);
	mystruct->alive = 0;
	freed++;
	free(mystruct);
}

static struct mystruct *make(unsigned long key, unsigned long size)
{
	struct mystruct *m = malloc(sizeof(*m));

	assert(m);
	m->alive = 1;
	m->slot.key = key;
	m->slot.size = size;
	return m;
}

static int insert(struct sl_list *skiplist, struct sl_slot *slot)
{
	int preload_token, ret;

	preload_token = skiplist_preload(skiplist, GFP_KERNEL);
	if (preload_token < 0)
		return preload_token;
	ret = skiplist_insert(skiplist, slot, preload_token);
	preempt_enable();
	return ret;
}

/* Extents of 8 keys, 10 apart, in an order that is neither rising nor falling. */
static void populate(struct sl_list *skiplist)
{
	int i;

	for (i = 0; i < N; i++) {
		int k = (int)((long)i * 1237 % N);

		made[k] = make((unsigned long)k * 10, 8);
		assert(insert(skiplist, &made[k]->slot) == 0);
	}
}

static void refuse_what_is_there(struct sl_list *skiplist)
{
	struct sl_slot again = { 70, 8 }, overlap = { 75, 4 };

	assert(insert(skiplist, &again) == -EEXIST);
	assert(insert(skiplist, &overlap) == -EEXIST);
}

static void look_up(struct sl_list *skiplist)
{
	unsigned long k;

	for (k = 0; k < N; k++) {
		struct sl_slot *slot = skiplist_lookup(skiplist, k * 10, 8);

		assert(slot == &made[k]->slot);
		assert(sl_slot_entry(slot, struct mystruct, slot) == made[k]);
		rcu_read_lock();
		do
			slot = skiplist_lookup_rcu(skiplist, k * 10, 8);
		while (!slot || slot->key != k * 10);
		assert(slot == &made[k]->slot);
		rcu_read_unlock();
		assert(!skiplist_lookup(skiplist, k * 10 + 8, 2)); /* between two */
	}
	assert(!skiplist_lookup(skiplist, N * 10, 8));
}

static void walk(struct sl_list *skiplist)
{
	struct sl_leaf *leaf = sl_first_leaf(skiplist), *last = sl_last_leaf(skiplist);
	unsigned long k = 0;
	int i;

	assert(leaf && last && last->ptrs[last->nr - 1] == &made[N - 1]->slot);
	sl_free_leaf(last);
	while (leaf) {
		for (i = 0; i < leaf->nr; i++, k++)
			assert(leaf->ptrs[i] == &made[k]->slot && leaf->keys[i] == k * 10);
		leaf = sl_next_leaf(skiplist, &leaf->node, 0);
	}
	assert(k == N);
}

static void delete_some(struct sl_list *skiplist)
{
	unsigned long k;

	for (k = 0; k < N; k += 3) {
		struct sl_slot *slot = skiplist_delete(skiplist, k * 10, 8);

		assert(slot == &made[k]->slot);
		assert(!skiplist_delete(skiplist, k * 10, 8));
		assert(!skiplist_lookup(skiplist, k * 10, 8));
		free_mystruct_mem(made[k]);
	}
}

/* Returns how many holes were taken. */
static int fill_holes(struct sl_list *skiplist)
{
	unsigned long hint = 0;
	int n, ret;

	for (n = 0; n < 500; n++) {
		struct mystruct *m = make(0, 0);

		while ((ret = skiplist_insert_hole(skiplist, hint, 1000000, 8, 8, &m->slot,
						   GFP_ATOMIC)) == -EAGAIN)
			hint++;
		assert(ret == 0);
		assert(m->slot.size == 8 && m->slot.key % 8 == 0 && m->slot.key + 8 <= 1000001);
		assert(skiplist_lookup(skiplist, m->slot.key, 8) == &m->slot);
		hint = m->slot.key;
	}
	return n;
}

static void tear_down(struct sl_list *skiplist)
{
	struct sl_node *p;
	struct sl_leaf *leaf;
	struct sl_slot *slot;
	struct mystruct *mystruct;
	int i;

	sl_lock_node(skiplist->head);
	p = skiplist->head->ptrs[0].next;
	while (p) {
		leaf = sl_entry(p);
		for (i = 0; i < leaf->nr; i++) {
			slot = leaf->ptrs[i];
			mystruct = sl_slot_entry(slot, struct mystruct, slot);
			free_mystruct_mem(mystruct);
		}
		p = leaf->node.ptrs[0].next;
		sl_free_leaf(leaf);
	}
	memset(skiplist->head->ptrs, 0, sl_node_size(SKIP_MAXLEVEL));
	sl_unlock_node(skiplist->head);
}

int main(void)
{
	struct sl_list list;
	int holes;

	sl_init_list(&list, GFP_ATOMIC);
	populate(&list);
	refuse_what_is_there(&list);
	look_up(&list);
	walk(&list);
	delete_some(&list);
	holes = fill_holes(&list);
	tear_down(&list);
	assert(freed == N + holes);
	assert(!sl_first_leaf(&list));
	sl_fini_list(&list);
	return 0;
}
