/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <linux/rbtree.h>

#include "linux_sort.h"

_Static_assert(sizeof(struct rb_node) == sizeof(((struct linux_item *)0)->node), "room for a node");
_Static_assert(sizeof(struct rb_root_cached) == 2 * sizeof(void *), "room for the root");

static inline struct rb_node *node_of(struct linux_item *item)
{
	return (struct rb_node *)item->node;
}

static inline struct linux_item *item_of(struct rb_node *node)
{
	return node ? rb_entry((void **)node, struct linux_item, node) : NULL;
}

static inline struct rb_root_cached *root_of(struct linux_queue *q)
{
	return (struct rb_root_cached *)q;
}

static inline void push(struct linux_queue *q, struct linux_item *item)
{
	struct rb_node **link = &root_of(q)->rb_root.rb_node, *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (item->key < item_of(parent)->key) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(node_of(item), parent, link);
	rb_insert_color_cached(node_of(item), root_of(q), leftmost);
}

void linux_sort_push(struct linux_queue *q, struct linux_item *item)
{
	push(q, item);
}

struct linux_item *linux_sort_pop(struct linux_queue *q)
{
	struct rb_node *node = rb_first_cached(root_of(q));

	rb_erase_cached(node, root_of(q));
	return item_of(node);
}

/* Does not descend when keys come in ascending order, as the author of the 2008 experiment meant.
 */
void linux_sort_push_hint(struct linux_queue *q, struct linux_item *item)
{
	struct linux_item *last = q->greatest;

	if (last && last->key <= item->key) {
		rb_link_node(node_of(item), node_of(last), &node_of(last)->rb_right);
		rb_insert_color_cached(node_of(item), root_of(q), false);
		q->greatest = item;
		return;
	}
	push(q, item);
	if (!last)
		q->greatest = item;
}

struct linux_item *linux_sort_pop_hint(struct linux_queue *q)
{
	struct linux_item *item = linux_sort_pop(q);

	if (item == q->greatest)
		q->greatest = NULL;
	return item;
}

static inline struct linux_item **bucket(struct linux_elevator *e, uint64_t end)
{
	return &e->ends[((end >> 3) * 0x61c8864680b583ebull) >> 58];
}

static void hash_add(struct linux_elevator *e, struct linux_item *item)
{
	struct linux_item **head = bucket(e, item->end);

	item->hash_next = *head;
	item->hash_at = head;
	if (*head)
		(*head)->hash_at = &item->hash_next;
	*head = item;
}

static void hash_remove(struct linux_item *item)
{
	*item->hash_at = item->hash_next;
	if (item->hash_next)
		item->hash_next->hash_at = item->hash_at;
}

static void fifo_add(struct linux_elevator *e, struct linux_item *item)
{
	item->older = e->newest;
	item->newer = NULL;
	*(e->newest ? &e->newest->newer : &e->oldest) = item;
	e->newest = item;
}

static void leave(struct linux_elevator *e, struct linux_item *item)
{
	hash_remove(item);
	if (e->last_merge == item)
		e->last_merge = NULL;
	*(item->older ? &item->older->newer : &e->oldest) = item->newer;
	*(item->newer ? &item->newer->older : &e->newest) = item->older;
}

static struct linux_item *back_merge(struct linux_elevator *e, struct linux_item *item)
{
	struct linux_item *there = e->last_merge;

	if (there && there->end == item->key)
		return there;
	for (there = *bucket(e, item->key); there; there = there->hash_next) {
		if (there->end == item->key)
			return there;
	}
	return NULL;
}

static struct linux_item *front_merge(struct linux_elevator *e, struct linux_item *item)
{
	struct rb_node *node = root_of(&e->tree)->rb_root.rb_node;

	while (node) {
		struct linux_item *there = item_of(node);

		if (item->end < there->key)
			node = node->rb_left;
		else if (item->end > there->key)
			node = node->rb_right;
		else
			return there;
	}
	return NULL;
}

int linux_elevator_submit(struct linux_elevator *e, struct linux_item *item, uint64_t limit)
{
	struct linux_item *there = back_merge(e, item);

	if (there && item->end - there->key <= limit) {
		hash_remove(there);
		there->end = item->end;
		hash_add(e, there);
		e->last_merge = there;
		return 1;
	}
	there = front_merge(e, item);
	if (there && there->end - item->key <= limit) {
		rb_erase_cached(node_of(there), root_of(&e->tree));
		there->key = item->key;
		push(&e->tree, there);
		e->last_merge = there;
		return 1;
	}
	push(&e->tree, item);
	hash_add(e, item);
	fifo_add(e, item);
	if (!e->last_merge)
		e->last_merge = item;
	return 0;
}

struct linux_item *linux_elevator_dispatch(struct linux_elevator *e)
{
	struct linux_item *item = linux_sort_pop(&e->tree);

	leave(e, item);
	return item;
}

struct linux_item *linux_elevator_oldest(struct linux_elevator *e)
{
	struct linux_item *item = e->oldest;

	rb_erase_cached(node_of(item), root_of(&e->tree));
	leave(e, item);
	return item;
}
