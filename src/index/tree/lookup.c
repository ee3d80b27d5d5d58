/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lookup.c - reads: the item at a point, the first in a stretch, the neighbours of a key.
 *
 * One leaf answers most of them: find it, search it, check its word. A read whose first leaf has no
 * answer goes on to the next one and remembers the words of all it saw; if none of them has changed
 * when the last one has been read, then all of them were true at that moment, hit and miss alike.
 * A read that failed READ_TRIES times does the same walk with the leaves locked, left to right.
 */
#include "index/hint/hint.h"

/* What was read without a lock, and must still be so at the end. */
#define WALK_MAX 8

struct walk {
	unsigned int count;
	struct {
		struct node *node;
		u64 word;
	} seen[WALK_MAX];
};

static bool walk_add(struct walk *walk, struct node *leaf, u64 word)
{
	if (walk->count == WALK_MAX)
		return false;
	walk->seen[walk->count].node = leaf;
	walk->seen[walk->count].word = word;
	walk->count++;
	return true;
}

static bool walk_valid(const struct walk *walk)
{
	unsigned int i;

	for (i = 0; i < walk->count; i++)
		if (!node_valid(walk->seen[i].node, walk->seen[i].word))
			return false;
	return true;
}

static struct node *lock_after(struct tree *list, u64 key)
{
	lath_fetch_add(&list->lock_falls, 1);
	return lock_leaf(list, key);
}

/* ---- a point ---- */

int lookup_item(struct tree *list, u64 point, struct lath_item *found)
{
	unsigned int try;
	struct node *leaf;
	u64 word;
	int i;

	for (try = 0; try < READ_TRIES; try++) {
		leaf = walk_to_leaf(list, point, &word);
		i = node_cover(leaf, point, list->ranges);
		if (i >= 0)
			item_of(leaf, (unsigned int)i, list->ranges, found);
		if (node_valid(leaf, word))
			return i >= 0 ? 0 : -ENOENT;
	}
	leaf = lock_after(list, point);
	i = node_cover(leaf, point, list->ranges);
	if (i >= 0)
		item_of(leaf, (unsigned int)i, list->ranges, found);
	node_unlock_clean(leaf);
	return i >= 0 ? 0 : -ENOENT;
}

int lath_index_lookup_item_rcu(struct lath_index *list, uint64_t point, struct lath_item *found)
{
	return lookup_item(tree_of(list), point, found);
}

/* Answer from a leaf used lately, without a reader. False: not there, or it was being changed. */
static bool lookup_by_finger(struct tree *list, u64 point, struct lath_item *found, int *ret)
{
	u64 word;
	struct node *leaf = finger_try(list, point, &word);
	int i;

	if (!leaf)
		return false;
	i = node_cover(leaf, point, list->ranges);
	if (i >= 0)
		item_of(leaf, (unsigned int)i, list->ranges, found);
	*ret = i >= 0 ? 0 : -ENOENT;
	return node_valid(leaf, word);
}

int lath_index_lookup_item(struct lath_index *public, uint64_t point, struct lath_item *found)
{
	struct tree *list = tree_of(public);
	int ret;

	if (lookup_by_finger(list, point, found, &ret))
		return ret;
	walker_enter(list);
	ret = lookup_item(list, point, found);
	walker_exit(list);
	return ret;
}

/* The value of the item that covers point, in a leaf trusted under word: 1 | 0 | -EAGAIN: it has changed. */
static __always_inline int get_in_leaf(const struct tree *list, struct node *leaf, u64 word, u64 point,
				       uint64_t *value)
{
	long i = node_cover(leaf, point, list->ranges);
	u64 there = 0;

	if (i >= 0)
		there = READ_ONCE(leaf->pair[i].value);
	if (unlikely(!node_valid(leaf, word)))
		return -EAGAIN;
	if (i >= 0)
		*value = there;
	return i >= 0;
}

static int get_slowly(struct tree *list, u64 point, uint64_t *value)
{
	struct lath_item item;

	if (lookup_item(list, point, &item))
		return 0;
	*value = item.value;
	return 1;
}

int lath_index_get(struct lath_index *public, uint64_t point, uint64_t *value)
{
	struct tree *list = tree_of(public);
	struct node *leaf;
	u64 word;
	int ret;

	leaf = finger_try(list, point, &word);
	if (leaf) {
		ret = get_in_leaf(list, leaf, word, point, value);
		if (likely(ret != -EAGAIN))
			return ret;
	}
	walker_enter(list);
	leaf = reach_leaf(list, point, &word, WALK_TO_READ);
	finger_set(list, leaf);
	ret = get_in_leaf(list, leaf, word, point, value);
	if (unlikely(ret == -EAGAIN))
		ret = get_slowly(list, point, value);
	walker_exit(list);
	return ret;
}

/* ---- a stretch, to the right ---- */

/*
 * The first item of a leaf that matters for [key, last]: with `cover` also one that begins before
 * key and reaches it. Returns its index, -1 for none here, -2 for none here or further right.
 */
static int first_in_leaf(const struct node *leaf, bool ranges, u64 key, u64 last, bool cover)
{
	int i = node_floor(leaf, key);

	if (i >= 0) {
		u64 k = node_key(leaf, (unsigned int)i);

		if (k == key || (cover && key - k < node_size(leaf, (unsigned int)i, ranges)))
			return i;
	}
	i = node_after(leaf, i);
	if (i >= 0)
		return node_key(leaf, (unsigned int)i) <= last ? i : -2;
	return last <= READ_ONCE(leaf->last) && !node_void(leaf) ? -2 : -1;
}

/* 0 | -ENOENT | -EAGAIN: something changed, or too many leaves */
static int seek_right(struct tree *list, u64 key, u64 last, bool cover, struct lath_item *found)
{
	struct walk walk = { .count = 0 };
	struct node *leaf;
	u64 word;
	int i;

	leaf = find_leaf(list, key, &word);
	for (;;) {
		struct node *next;

		i = first_in_leaf(leaf, list->ranges, key, last, cover);
		if (i >= 0)
			item_of(leaf, (unsigned int)i, list->ranges, found);
		next = leaf_right(leaf);
		if (!node_valid(leaf, word))
			return -EAGAIN;
		if (i != -1 || !next)
			break;
		if (!walk_add(&walk, leaf, word))
			return -EAGAIN;
		leaf = next;
		word = node_read(leaf);
		if (word & NODE_DEAD)
			return -EAGAIN;
	}
	if (!walk_valid(&walk))
		return -EAGAIN;
	return i >= 0 ? 0 : -ENOENT;
}

/* The same with every leaf on the way locked. */
static int seek_right_locked(struct tree *list, u64 key, u64 last, bool cover, struct lath_item *found)
{
	struct node *first = lock_after(list, key), *leaf = first;
	int i;

	for (;;) {
		i = first_in_leaf(leaf, list->ranges, key, last, cover);
		if (i != -1 || !lock_right(leaf))
			break;
		leaf = leaf_right(leaf);
	}
	if (i >= 0)
		item_of(leaf, (unsigned int)i, list->ranges, found);
	unlock_clean_through(first, leaf);
	return i >= 0 ? 0 : -ENOENT;
}

static int first_item(struct tree *list, u64 key, u64 last, bool cover, struct lath_item *found)
{
	unsigned int try;
	int ret;

	for (try = 0; try < READ_TRIES; try++) {
		ret = seek_right(list, key, last, cover, found);
		if (ret != -EAGAIN)
			return ret;
	}
	return seek_right_locked(list, key, last, cover, found);
}

int overlap_item(struct tree *list, u64 key, u64 last, struct lath_item *found)
{
	return first_item(list, key, last, true, found);
}

int lath_index_overlap_item_rcu(struct lath_index *list, uint64_t key, uint64_t size,
				   struct lath_item *found)
{
	if (!size || size - 1 > KEY_MAX - key)
		return -EINVAL;
	return first_item(tree_of(list), key, key + size - 1, true, found);
}

int lath_index_overlap_item(struct lath_index *list, uint64_t key, uint64_t size,
			       struct lath_item *found)
{
	int ret;

	walker_enter(tree_of(list));
	ret = lath_index_overlap_item_rcu(list, key, size, found);
	walker_exit(tree_of(list));
	return ret;
}

int lath_index_ceiling_item(struct lath_index *list, uint64_t key, struct lath_item *found)
{
	int ret;

	walker_enter(tree_of(list));
	ret = first_item(tree_of(list), key, KEY_MAX, false, found);
	walker_exit(tree_of(list));
	return ret;
}

int lath_index_first_item(struct lath_index *list, struct lath_item *found)
{
	return lath_index_ceiling_item(list, 0, found);
}

/* ---- to the left ---- */

/* A leaf knows only its right neighbour: the left one is the leaf that covers low - 1. */
static int seek_left(struct tree *list, u64 key, struct lath_item *found)
{
	struct walk walk = { .count = 0 };
	struct node *leaf;
	u64 word, low;
	int i;

	for (;;) {
		leaf = find_leaf(list, key, &word);
		i = node_floor(leaf, key);
		if (i >= 0)
			item_of(leaf, (unsigned int)i, list->ranges, found);
		low = READ_ONCE(leaf->low);
		if (!node_valid(leaf, word))
			return -EAGAIN;
		if (i >= 0 || !low)
			break;
		if (!walk_add(&walk, leaf, word))
			return -EAGAIN;
		key = low - 1;
	}
	if (!walk_valid(&walk))
		return -EAGAIN;
	return i >= 0 ? 0 : -ENOENT;
}

/*
 * Locks go left to right: begin one leaf further left each time, and lock from there up to the leaf
 * that covers key.
 */
static int seek_left_locked(struct tree *list, u64 key, struct lath_item *found)
{
	u64 from = key;
	int ret = -EAGAIN;

	lath_fetch_add(&list->lock_falls, 1);
	while (ret == -EAGAIN) {
		struct node *first = lock_leaf(list, from), *leaf = first;
		int best = -1;

		for (;;) {
			int i = node_void(leaf) ? -1 : node_floor(leaf, key);

			if (i >= 0) {
				best = i;
				item_of(leaf, (unsigned int)i, list->ranges, found);
			}
			if (key <= leaf->last && !node_void(leaf))
				break;
			lock_right(leaf);
			leaf = leaf_right(leaf);
		}
		if (best >= 0)
			ret = 0;
		else if (!first->low)
			ret = -ENOENT;
		else
			from = first->low - 1;
		unlock_clean_through(first, leaf);
	}
	return ret;
}

int floor_item(struct tree *list, u64 key, struct lath_item *found)
{
	unsigned int try;
	int ret;

	for (try = 0; try < READ_TRIES; try++) {
		ret = seek_left(list, key, found);
		if (ret != -EAGAIN)
			return ret;
	}
	return seek_left_locked(list, key, found);
}

int lath_index_floor_item(struct lath_index *list, uint64_t key, struct lath_item *found)
{
	int ret;

	walker_enter(tree_of(list));
	ret = floor_item(tree_of(list), key, found);
	walker_exit(tree_of(list));
	return ret;
}

int lath_index_last_item(struct lath_index *list, struct lath_item *found)
{
	return lath_index_floor_item(list, KEY_MAX, found);
}
