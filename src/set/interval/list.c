/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * list.c - lists of intervals that begin at one key and have one class of lengths.
 *
 * A list is an array that is filled from the front. Readers take no lock: an element is complete
 * before `used` grows, and an erase sets its `order` to 0. All before `first` are erased: whoever
 * erases the oldest ones one by one takes one step for each. A full array is replaced by another
 * one with the elements that are left, an empty one leaves the tree; both are freed after a grace
 * period. A writer that found an array which has been replaced since (`gone`) looks again.
 */
#include "set/interval/set.h"
#include "tree/watch/rank.h"

#define LIST_LEAST 3u

struct element {
	u64 span;
	u64 value;
	u64 order; /* elements are numbered as they come; 0: erased */
};

struct list {
	struct lath_rcu_head rcu;
	struct lath_spinlock lock;
	struct set *set;
	u64 orders; /* given so far */
	u32 first, used, live, room;
	bool gone;
	struct element at[];
};

static struct list *list_of(u64 value)
{
	LATH_ASSERT(value && !(value % _Alignof(struct list))); /* no value of an interval */
	return (struct list *)(uintptr_t)value;
}

static size_t list_size(u32 room)
{
	return sizeof(struct list) + room * sizeof(struct element);
}

static struct list *make_list(struct set *set, u32 room)
{
	struct list *list = set_alloc(set, list_size(room));

	LATH_ASSERT(room >= LIST_LEAST);
	if (!list)
		return NULL;
	memset(list, 0, sizeof(*list));
	lath_spin_init(&list->lock);
	list->set = set;
	list->room = room;
	lath_fetch_add(&set->list_bytes, list_size(room));
	return list;
}

static void unmake_list(struct list *list)
{
	size_t size = list_size(list->room);

	LATH_ASSERT(READ_ONCE(list->set->list_bytes) >= size);
	lath_fetch_add(&list->set->list_bytes, -(u64)size);
	set_free(list->set, list, size);
}

static void list_retired(struct lath_rcu_head *head)
{
	lath_retired();
	lath_call_enter();
	unmake_list(container_of(head, struct list, rcu));
	lath_call_exit();
	lath_retired_end();
}

/* The list is not in the tree any more: free it after a grace period. */
static void retire_list(struct list *list)
{
	LATH_ASSERT(list->gone); /* never changes back: needs no lock */
	/* no store unless it is needed: every call reads the set */
	if (!READ_ONCE(list->set->retired))
		WRITE_ONCE(list->set->retired, true);
	lath_retire(list->set->rcu, &list->rcu, list_retired);
}

/* Add an element to a list that has room, is locked or seen by no other thread. */
static void put_element(struct list *list, u64 span, u64 value, u64 order)
{
	struct element *element = &list->at[list->used];

	LATH_ASSERT(list->used < list->room && list->live <= list->used);
	LATH_ASSERT(order && order <= list->orders);	       /* 0: erased */
	LATH_ASSERT(!list->used || element[-1].order < order); /* scans go on behind an order */
	WRITE_ONCE(element->span, span);
	WRITE_ONCE(element->value, value);
	WRITE_ONCE(element->order, order);
	WRITE_ONCE(list->live, list->live + 1);
	smp_store_release(&list->used, list->used + 1); /* pairs with copy_list */
}

/* Put what is left of a locked list into an empty larger one. */
static void take_over(struct list *to, const struct list *from)
{
	u32 i;

	LATH_ASSERT(!to->used && to->room > from->live);
	/* elements keep their numbers: a scan that stopped in the old list goes on in this one */
	to->orders = from->orders;
	for (i = 0; i < from->used; i++)
		if (from->at[i].order)
			put_element(to, from->at[i].span, from->at[i].value, from->at[i].order);
}

/* Add an item to a list of the tree, or replace the list by *fresh, which has room for it then.
 * 0 | -EAGAIN: look again | -ENOSPC: bring a list with room for *room elements */
static int add_to(struct list *list, struct tree *tree, const struct lath_item *item,
		  struct list **fresh, u32 *room)
{
	struct list *to = list;
	int ret = 0;

	lath_spin_lock(&list->lock);
	*room = max(list->live * 2, LIST_LEAST);
	/* replaced after it was found without a lock: its place in the tree has another one */
	if (list->gone) {
		ret = -EAGAIN;
	} else if (list->used == list->room) {
		to = *fresh;
		ret = to && to->room > list->live ? 0 : -ENOSPC;
	}
	if (!ret && to != list)
		take_over(to, list);
	if (!ret)
		put_element(to, item->size, item->value, ++to->orders);
	if (!ret && to != list) {
		list->gone = true;
		ret = lath_index_replace_item((struct lath_index *)(void *)tree, item->key,
					      (u64)(uintptr_t)to, NULL);
		LATH_ASSERT(!ret); /* only the holder of its lock takes a list out of the tree */
		*fresh = NULL;
	}
	lath_spin_unlock(&list->lock);
	if (!ret && to != list)
		retire_list(list);
	return ret;
}

/* Put a list with this item alone into the tree. Results as above. */
static int add_first(struct set *set, struct tree *tree, const struct lath_item *item,
		     struct list **fresh, u32 *room)
{
	struct lath_item entry = { item->key, 1, (u64)(uintptr_t)*fresh };
	struct list *list = *fresh;
	int ret;

	*room = LIST_LEAST;
	if (!list)
		return -ENOSPC;
	LATH_ASSERT(!list->used && !list->live);
	put_element(list, item->size, item->value, ++list->orders);
	ret = lath_index_insert_item((struct lath_index *)(void *)tree, &entry, NULL);
	if (!ret) {
		lath_fetch_add(&set->lists, 1);
		*fresh = NULL;
		return 0;
	}
	/* nobody has seen the list: it is empty again, for the next attempt */
	list->used = list->live = 0;
	return ret == -EEXIST ? -EAGAIN : ret;
}

int lath_interval_list_insert(struct set *set, struct tree *tree, const struct lath_item *item)
{
	struct list *fresh = NULL;
	u32 room = 0;
	int ret;

	do {
		u64 value;

		lath_call_enter();
		lath_reader_enter(set->rcu);
		if (lath_index_get((struct lath_index *)(void *)tree, item->key, &value)) {
			ret = add_to(list_of(value), tree, item, &fresh, &room);
			if (!ret && tree->ranks)
				lath_count_weight_changed(tree, item->key);
			lath_reader_exit(set->rcu);
		} else {
			lath_reader_exit(set->rcu);
			ret = add_first(set, tree, item, &fresh, &room);
		}
		lath_call_exit();
		if (ret != -ENOSPC)
			continue;
		if (fresh)
			unmake_list(fresh);
		fresh = make_list(set, room);
		ret = fresh ? -EAGAIN : -ENOMEM;
	} while (ret == -EAGAIN);
	if (fresh)
		unmake_list(fresh);
	if (!ret)
		lath_fetch_add(&set->listed, 1);
	return ret;
}

static struct element *find_element(struct list *list, const struct lath_item *item)
{
	u32 i;

	for (i = list->first; i < list->used; i++)
		if (list->at[i].order && list->at[i].span == item->size &&
		    list->at[i].value == item->value)
			return &list->at[i];
	return NULL;
}

/* 0 | -ENOENT | -EAGAIN: look again. *empty: the list has left the tree */
static int erase_from(struct list *list, struct tree *tree, const struct lath_item *item,
		      bool *empty)
{
	struct element *element = NULL;
	bool gone;

	lath_spin_lock(&list->lock);
	gone = list->gone;
	if (!gone)
		element = find_element(list, item);
	LATH_ASSERT(gone || list->live); /* an empty list is taken out of the tree at once */
	if (element) {
		WRITE_ONCE(element->order, 0);
		WRITE_ONCE(list->live, list->live - 1);
		while (list->first < list->used && !list->at[list->first].order)
			WRITE_ONCE(list->first, list->first + 1);
	}
	*empty = element && !list->live;
	if (*empty) {
		int ret;

		list->gone = true;
		ret = lath_index_erase_item((struct lath_index *)(void *)tree, item->key, NULL);
		LATH_ASSERT(!ret); /* only the holder of its lock takes a list out of the tree */
	}
	lath_spin_unlock(&list->lock);
	return gone ? -EAGAIN : element ? 0 : -ENOENT;
}

int lath_interval_list_erase(struct set *set, struct tree *tree, const struct lath_item *item)
{
	int ret = -EAGAIN;

	lath_call_enter();
	while (ret == -EAGAIN) {
		bool empty = false;
		u64 value;

		lath_reader_enter(set->rcu);
		if (lath_index_get((struct lath_index *)(void *)tree, item->key, &value))
			ret = erase_from(list_of(value), tree, item, &empty);
		else
			ret = -ENOENT;
		if (!ret && !empty && tree->ranks)
			lath_count_weight_changed(tree, item->key);
		lath_reader_exit(set->rcu);
		/* behind the section: a callback may run in it, and frees the list */
		if (empty) {
			lath_fetch_add(&set->lists, -1ull);
			retire_list(list_of(value));
		}
	}
	lath_call_exit();
	if (!ret)
		lath_fetch_add(&set->listed, -1ull);
	return ret;
}

/* Returns a place in the list before which all have numbers up to `after`. Those of its elements
 * ascend; one that was erased has 0. */
static u32 find_after(const struct list *list, u32 used, u64 after)
{
	u32 low = min(READ_ONCE(list->first), used), high = after ? used : low, i, middle;

	while (low < high) {
		u64 order = 0;

		/* each number is read once: it may be erased, and 0, by the next time */
		i = middle = low + (high - low) / 2;
		while (i < high && !(order = READ_ONCE(list->at[i].order)))
			i++;
		if (i < high && order <= after)
			low = i + 1;
		else
			high = middle;
	}
	return low;
}

/* Copy what matches from one list, of what was added after *order. Returns the new number. */
static size_t copy_list(const struct list *list, u64 key, const struct wide_query *query,
			struct lath_item *found, size_t n, size_t max, u64 *order)
{
	u32 used = smp_load_acquire(&list->used), i; /* pairs with put_element */
	u64 reach = query->high - query->low, after = *order;

	LATH_ASSERT(used <= list->room && n <= max);
	for (i = find_after(list, used, after); i < used && n < max; i++) {
		u64 at = READ_ONCE(list->at[i].order), end = key + READ_ONCE(list->at[i].span);

		if (!at || at <= after || end - query->low > reach)
			continue;
		if (found)
			found[n] = (struct lath_item){ key, end + list->set->behind,
						       READ_ONCE(list->at[i].value) };
		n++;
		*order = at;
	}
	return n;
}

#define ENTRIES 8

size_t lath_interval_list_scan(struct tree *tree, const struct wide_query *query,
			       struct lath_item *found, size_t max, u64 *next, u64 *order)
{
	struct lath_item entry[ENTRIES];
	size_t n = 0, entries, i;
	u64 from = query->from;

	LATH_ASSERT(lath_reader_inside(tree->rcu)); /* lists are freed */
	do {
		entries = lath_index_scan((struct lath_index *)(void *)tree, from, query->to, entry,
					  ENTRIES, &from);
		for (i = 0; i < entries; i++) {
			LATH_ASSERT(entry[i].key >= query->from && entry[i].key <= query->to);
			/* *order is of the list at query->from alone */
			if (entry[i].key != query->from)
				*order = 0;
			n = copy_list(list_of(entry[i].value), entry[i].key, query, found, n, max,
				      order);
			if (n == max) {
				*next = entry[i].key;
				return n;
			}
		}
	} while (entries == ENTRIES && from);
	return n;
}

bool lath_interval_list_true(const struct lath_item *entry, unsigned int class, u64 longest)
{
	const struct list *list = list_of(entry->value);
	u64 order = 0;
	u32 i, live = 0;

	if (list->gone || list->used > list->room || list->live > list->used ||
	    list->first > list->used)
		return false;
	for (i = 0; i < list->used; i++) {
		u64 span = list->at[i].span;

		if (!list->at[i].order)
			continue;
		if (i < list->first || list->at[i].order <= order ||
		    list->at[i].order > list->orders || class_of(span) != class || span > longest ||
		    span > KEY_MAX - entry->key)
			return false;
		order = list->at[i].order;
		live++;
	}
	return live && live == list->live;
}

u64 lath_interval_list_weight(u64 value)
{
	return READ_ONCE(list_of(value)->live);
}

void lath_interval_list_free(const struct lath_item *entry)
{
	unmake_list(list_of(entry->value));
}
