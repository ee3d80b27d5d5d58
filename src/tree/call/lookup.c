/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lookup.c - reads: the item at a point, the first one in a key range, the neighbours of a key.
 *
 * One leaf answers most of them: locate it, search it, validate its lockword. A read whose first
 * leaf has no answer goes on to the next one and remembers the lockwords of all it read, its read
 * set. If none of them has changed when the last leaf has been read, then all of them held at that
 * moment, for a hit and for a miss. A read that failed READ_TRIES times takes the same way with the
 * leaves locked, from left to right.
 */
#include "tree/call/call.h"
#include "tree/step/step.h"
#include "tree/step/leaf.h"
#include "tree/way/locate.h"

/* Leaves that were read without a lock, and must not have changed at the end. */
#define READ_SET_MAX 8

struct read_set {
	unsigned int count;
	struct {
		struct node *node;
		u64 lockword;
	} leaf[READ_SET_MAX];
};

static bool read_set_add(struct read_set *set, struct node *leaf, u64 lockword)
{
	/* a chain of empty leaves: rare, and the locked way follows it to its end */
	if (set->count == READ_SET_MAX)
		return false;
	set->leaf[set->count].node = leaf;
	set->leaf[set->count].lockword = lockword;
	set->count++;
	return true;
}

static bool read_set_valid(const struct read_set *set)
{
	unsigned int i;

	LATH_ASSERT(set->count <= READ_SET_MAX);
	for (i = 0; i < set->count; i++)
		if (!node_valid(set->leaf[i].node, set->leaf[i].lockword))
			return false;
	return true;
}

/* The leaf that covers key, locked: a read gave up on validation. Begins a call, which the caller
 * ends after it has unlocked. */
static struct node *lock_after_tries(struct tree *tree, u64 key)
{
	locks_enter(tree);
	lath_fetch_add(&counts_of(tree)->lock_falls, 1);
	lath_probe(lock_fall, tree, key);
	/* FOR_ERASE: nothing will be inserted, so the leaf's entries are not fetched for a move */
	return locate_locked(tree, key, FOR_ERASE);
}

/* ---- a point ---- */

/* Look for point in the leaf that covers it. Returns true if nothing changed since; *ret: 0 |
 * -ENOENT. */
static __always_inline bool look_in(const struct tree *tree, struct node *leaf, u64 lockword,
				    u64 point, struct lath_item *found, int *ret)
{
	int i = (int)node_cover(leaf, point);

	if (i >= 0)
		item_of(tree, leaf, (unsigned int)i, found);
	*ret = i >= 0 ? 0 : -ENOENT;
	return likely(node_valid(leaf, lockword));
}

/* lath_lookup_item() without fingers. */
static int lookup_far(struct tree *tree, u64 point, struct lath_item *found)
{
	unsigned int try;
	struct node *leaf;
	u64 lockword;
	int ret;

	LATH_ASSERT(nodes_stay(tree) || lath_reader_inside(tree->rcu));
	for (try = 0; try < READ_TRIES; try++) {
		leaf = lath_locate_far(tree, point, FOR_READ, &lockword);
		if (look_in(tree, leaf, lockword, point, found, &ret))
			return ret;
	}
	leaf = lock_after_tries(tree, point);
	/* under the lock the lockword cannot change: this look always counts */
	look_in(tree, leaf, READ_ONCE(leaf->lockword), point, found, &ret);
	node_unlock_clean(leaf);
	locks_exit(tree);
	return ret;
}

/* Look for point in the leaf a finger is at. Returns false if none helps. Needs no section: a tree
 * that frees nodes has no fingers. */
static __always_inline bool lookup_near(struct tree *tree, u64 point, struct lath_item *found,
					int *ret)
{
	u64 lockword;
	struct node *leaf = finger_find(tree, point, &lockword);

	return leaf && look_in(tree, leaf, lockword, point, found, ret);
}

int lath_lookup_item(struct tree *tree, u64 point, struct lath_item *found)
{
	int ret;

	return lookup_near(tree, point, found, &ret) ? ret : lookup_far(tree, point, found);
}

int lath_index_lookup_item_rcu(struct lath_index *index, uint64_t point, struct lath_item *found)
{
	return lath_lookup_item(tree_of(index), point, found);
}

int lath_index_lookup_item(struct lath_index *index, uint64_t point, struct lath_item *found)
{
	struct tree *tree = tree_of(index);
	int ret;

	/* a tree that frees nodes has no fingers: no section is needed for them */
	if (lookup_near(tree, point, found, &ret))
		return ret;
	section_enter(tree);
	ret = lookup_far(tree, point, found);
	section_exit(tree);
	return ret;
}

int lath_get_value(struct tree *tree, u64 point, u64 *value)
{
	struct lath_item item = { .value = (u64)(uintptr_t)value };
	int ret;

	section_enter(tree);
	ret = lath_lookup_item(tree, point, &item);
	section_exit(tree);
	if (!ret && !long_values(tree))
		*value = item.value;
	return !ret;
}

/* Copy the value of the item that covers point from a leaf of any form. Returns as
 * lath_index_get(). */
static __attribute__((__noinline__)) int get_cover(struct tree *tree, struct node *leaf,
						   u64 lockword, u64 point, u64 *value)
{
	u64 there = 0;
	long i;

	if (long_values(tree))
		return lath_get_value(tree, point, value);
	i = node_cover(leaf, point);
	if (i >= 0) {
		lath_delay("found, not yet copied");
		there = READ_ONCE(leaf->pair[i].value);
	}
	if (unlikely(!node_valid(leaf, lockword)))
		return lath_get_value(tree, point, value);
	if (i >= 0)
		*value = there;
	return i >= 0;
}

/* The same, inlined for a leaf of points in which at most two entries share the point's head: calls
 * only to return what they return, so that nothing is saved on the stack. */
static __always_inline int get_in(struct tree *tree, struct node *leaf, u64 lockword, u64 point,
				  u64 *value)
{
	const union node_form form = node_form(leaf);
	const struct pair *pair;
	u64 equal, there;

	lath_delay("located, not yet searched");
	if (unlikely(!form_simple(form) || !lath_vectors()))
		return get_cover(tree, leaf, lockword, point, value);
	equal = node_equal(leaf, form, point);
	if (!equal)
		goto none;
	pair = leaf->pair + __ffs64(equal);
	if (unlikely(READ_ONCE(pair->key) != point)) {
		equal &= equal - 1;
		if (!equal)
			goto none;
		pair = leaf->pair + __ffs64(equal);
		if (READ_ONCE(pair->key) != point)
			return get_cover(tree, leaf, lockword, point, value);
	}
	lath_delay("found, not yet copied");
	there = READ_ONCE(pair->value);
	if (unlikely(!node_valid(leaf, lockword)))
		return lath_get_value(tree, point, value);
	*value = there;
	return 1;
none:
	return likely(node_valid(leaf, lockword)) ? 0 : lath_get_value(tree, point, value);
}

/* By a finger, a descent, or a table that misleads. */
static __attribute__((__noinline__)) int get_far(struct tree *tree, u64 point, u64 *value)
{
	struct node *leaf;
	u64 lockword;
	int ret;

	section_enter(tree);
	leaf = locate(tree, point, FOR_READ, &lockword);
	ret = get_in(tree, leaf, lockword, point, value);
	section_exit(tree);
	return ret;
}

/* From the leaf that the hint table leads to. */
static __always_inline int get_led(struct tree *tree, struct node *leaf, const char *pair,
				   u64 point, u64 *value)
{
	u64 lockword;

	prefetch_leaf(leaf, pair, FOR_READ);
	if (unlikely(!node_holds(leaf, point, &lockword)))
		return get_far(tree, point, value);
	finger_see(tree, leaf);
	return get_in(tree, leaf, lockword, point, value);
}

/* Through several blocks of the table. */
static __attribute__((__noinline__)) int get_deep(struct tree *tree, u64 point, u64 *value)
{
	const struct hint *hint = hint_of(tree);
	const char *pair;
	struct node *leaf = hint ? hint_predict(hint, point, &pair) : NULL;

	return likely(leaf) ? get_led(tree, leaf, pair, point, value) : get_far(tree, point, value);
}

int lath_index_get(struct lath_index *index, uint64_t point, uint64_t *value)
{
	struct tree *tree = tree_of(index);
	const struct hint *hint = hint_of(tree);
	struct node *leaf;
	const char *pair;

	if (unlikely(!hint || fingers_trusted(tree)))
		return get_far(tree, point, value);
	leaf = hint_first(hint, point, &pair);
	return likely(leaf) ? get_led(tree, leaf, pair, point, value)
			    : get_deep(tree, point, value);
}

/* ---- a point, with a reference to what its item leads to ---- */

/* Returns true if *ret answers: 0 (pinned) | -ENOENT | -EBUSY. False: the leaf changed, and nothing
 * is pinned. In a read-side critical section. */
static bool pin_in(const struct tree *tree, struct node *leaf, u64 lockword, u64 point,
		   const struct lath_pin *pin, struct lath_item *found, int *ret)
{
	if (!look_in(tree, leaf, lockword, point, found, ret))
		return false;
	if (*ret)
		return true;
	/* what the value leads to may be freed once the section ends: pin it before */
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	if (!pin->pin(pin->arg, found)) {
		*ret = -EBUSY;
		return true;
	}
	lath_delay("pinned, not yet validated");
	if (likely(node_valid(leaf, lockword)))
		return true;
	pin->unpin(pin->arg, found);
	return false;
}

static int lookup_pin(struct tree *tree, u64 point, const struct lath_pin *pin,
		      struct lath_item *found)
{
	unsigned int try;
	struct node *leaf;
	u64 lockword;
	int ret;

	for (try = 0; try < READ_TRIES; try++) {
		leaf = locate(tree, point, FOR_READ, &lockword);
		if (pin_in(tree, leaf, lockword, point, pin, found, &ret))
			return ret;
	}
	leaf = lock_after_tries(tree, point);
	/* pin() is called with the leaf locked: nothing changes, so nothing is given back */
	pin_in(tree, leaf, READ_ONCE(leaf->lockword), point, pin, found, &ret);
	node_unlock_clean(leaf);
	locks_exit(tree);
	return ret;
}

int lath_index_lookup_pin(struct lath_index *index, uint64_t point, const struct lath_pin *pin,
			  struct lath_item *found)
{
	struct tree *tree = tree_of(index);
	int ret;

	lath_reader_enter(tree->rcu);
	ret = lookup_pin(tree, point, pin, found);
	lath_reader_exit(tree->rcu);
	return ret;
}

/* ---- a key range, to the right ---- */

/* Returns the first item of a leaf that starts in [key, last], or with `cover` one that starts
 * before key and reaches it; -1: not in this leaf; -2: neither in this leaf nor further right. */
static int first_in_leaf(const struct node *leaf, u64 key, u64 last, bool cover)
{
	int i = node_floor(leaf, key);

	if (i >= 0) {
		u64 k = node_key(leaf, (unsigned int)i);

		if (k == key || (cover && key - k < node_size(leaf, (unsigned int)i)))
			return i;
	}
	i = node_after(leaf, i);
	if (i >= 0)
		return node_key(leaf, (unsigned int)i) <= last ? i : -2;
	return last <= READ_ONCE(leaf->last) && !node_half_dead(leaf) ? -2 : -1;
}

/* LEAF_DONE | LEAF_ABSENT | LEAF_STALE: something changed, or too many leaves were read */
static enum leaf_result seek_right(struct tree *tree, u64 key, u64 last, bool cover,
				   struct lath_item *found)
{
	struct read_set set = { .count = 0 };
	struct node *leaf;
	u64 lockword;
	int i;

	leaf = locate(tree, key, FOR_READ, &lockword);
	for (;;) {
		struct node *next;

		/* the item and the link are read before the lockword is compared: one comparison
		 * says whether both are true */
		i = first_in_leaf(leaf, key, last, cover);
		if (i >= 0)
			item_of(tree, leaf, (unsigned int)i, found);
		next = leaf_right(leaf);
		if (!node_valid(leaf, lockword))
			return LEAF_STALE;
		if (i != -1)
			break;
		/* empty leaves are rare: after this many of them the locked way takes less time */
		if (!read_set_add(&set, leaf, lockword))
			return LEAF_STALE;
		lath_delay("a leaf to the right");
		leaf = next;
		lockword = node_read(leaf);
		/* merged into the leaf that was just read, which has changed then */
		if (node_dead(lockword))
			return LEAF_STALE;
	}
	/* an item may have moved from a leaf not yet read to one that had been read */
	if (!read_set_valid(&set))
		return LEAF_STALE;
	return i >= 0 ? LEAF_DONE : LEAF_ABSENT;
}

/* The same with every leaf on the way locked: 0 | -ENOENT */
static int seek_right_locked(struct tree *tree, u64 key, u64 last, bool cover,
			     struct lath_item *found)
{
	struct node *first = lock_after_tries(tree, key), *leaf = first;
	int i;

	for (;;) {
		i = first_in_leaf(leaf, key, last, cover);
		if (i != -1)
			break;
		leaf = lock_right(leaf);
		LATH_ASSERT(leaf); /* the rightmost leaf answers -2 */
	}
	if (i >= 0)
		item_of(tree, leaf, (unsigned int)i, found);
	lath_unlock_clean(first, leaf);
	locks_exit(tree);
	return i >= 0 ? 0 : -ENOENT;
}

static int first_item(struct tree *tree, u64 key, u64 last, bool cover, struct lath_item *found)
{
	unsigned int try;

	for (try = 0; try < READ_TRIES; try++) {
		enum leaf_result result = seek_right(tree, key, last, cover, found);

		if (result != LEAF_STALE)
			return leaf_error(result);
	}
	return seek_right_locked(tree, key, last, cover, found);
}

int lath_overlap_item(struct tree *tree, u64 key, u64 last, struct lath_item *found)
{
	return first_item(tree, key, last, true, found);
}

int lath_index_overlap_item(struct lath_index *index, uint64_t key, uint64_t size,
			    struct lath_item *found)
{
	int ret;

	if (!size || size - 1 > KEY_MAX - key)
		return -EINVAL;
	section_enter(tree_of(index));
	ret = first_item(tree_of(index), key, key + size - 1, true, found);
	section_exit(tree_of(index));
	return ret;
}

int lath_index_ceiling_item(struct lath_index *index, uint64_t key, struct lath_item *found)
{
	int ret;

	section_enter(tree_of(index));
	ret = first_item(tree_of(index), key, KEY_MAX, false, found);
	section_exit(tree_of(index));
	return ret;
}

/* ---- to the left ---- */

/* Results as seek_right. A leaf has no link to its left sibling, which is the leaf that covers low
 * - 1. */
static enum leaf_result seek_left(struct tree *tree, u64 key, struct lath_item *found)
{
	struct read_set set = { .count = 0 };
	struct node *leaf;
	u64 lockword, low;
	int i;

	for (;;) {
		leaf = locate(tree, key, FOR_READ, &lockword);
		/* an empty leaf, or one whose items are all above key: go on in the leaf before */
		i = node_floor(leaf, key);
		if (i >= 0)
			item_of(tree, leaf, (unsigned int)i, found);
		low = READ_ONCE(leaf->low);
		if (!node_valid(leaf, lockword))
			return LEAF_STALE;
		/* found, or there is no leaf further left */
		if (i >= 0 || !low)
			break;
		if (!read_set_add(&set, leaf, lockword))
			return LEAF_STALE;
		key = low - 1;
	}
	if (!read_set_valid(&set))
		return LEAF_STALE;
	return i >= 0 ? LEAF_DONE : LEAF_ABSENT;
}

/* Lock the leaves from the one that covers `from` up to the one that covers key, and find the last
 * item at or before key in them: LEAF_DONE | LEAF_ABSENT | LEAF_STALE: not in these leaves, *low is
 * the first key they cover. */
static enum leaf_result floor_locked(struct tree *tree, u64 from, u64 key, struct lath_item *found,
				     u64 *low)
{
	struct node *first = locate_locked(tree, from, FOR_ERASE), *leaf = first;
	enum leaf_result result = first->low ? LEAF_STALE : LEAF_ABSENT;

	*low = first->low;
	for (;;) {
		int i = node_half_dead(leaf) ? -1 : (int)node_floor(leaf, key);

		/* one further right is nearer to the key: it replaces what was found before */
		if (i >= 0) {
			result = LEAF_DONE;
			item_of(tree, leaf, (unsigned int)i, found);
		}
		/* the leaf that covers key is the last one that can have a floor */
		if (key <= leaf->last && !node_half_dead(leaf))
			break;
		leaf = lock_right(leaf);
		LATH_ASSERT(leaf); /* the rightmost leaf covers key */
	}
	lath_unlock_clean(first, leaf);
	return result;
}

/* Leaves are locked from left to right: begin one leaf further left each time. 0 | -ENOENT */
static int seek_left_locked(struct tree *tree, u64 key, struct lath_item *found)
{
	enum leaf_result result;
	u64 from = key, low;

	locks_enter(tree);
	lath_fetch_add(&counts_of(tree)->lock_falls, 1);
	lath_probe(lock_fall, tree, key);
	do {
		result = floor_locked(tree, from, key, found, &low);
		/* everything was unlocked: the leaf that covers the key before may be another one
		 * by now */
		from = low - 1;
	} while (result == LEAF_STALE);
	locks_exit(tree);
	return leaf_error(result);
}

int lath_floor_item(struct tree *tree, u64 key, struct lath_item *found)
{
	unsigned int try;

	for (try = 0; try < READ_TRIES; try++) {
		enum leaf_result result = seek_left(tree, key, found);

		if (result != LEAF_STALE)
			return leaf_error(result);
	}
	return seek_left_locked(tree, key, found);
}

int lath_index_floor_item(struct lath_index *index, uint64_t key, struct lath_item *found)
{
	int ret;

	section_enter(tree_of(index));
	ret = lath_floor_item(tree_of(index), key, found);
	section_exit(tree_of(index));
	return ret;
}
