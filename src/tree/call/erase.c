/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * erase.c - erase: it clears one bit. A leaf that becomes sparse is merged some time later
 * (merge.c).
 */
#include "tree/call/call.h"
#include "tree/watch/change.h"
#include "tree/way/locate.h"
#include "tree/step/step.h"

static void note_sparse(struct tree *tree, u64 key)
{
	lath_reader_enter(tree->rcu);
	lath_merge_later(tree, key);
	lath_reader_exit(tree->rcu);
}

static __always_inline void erase_entry(struct tree *tree, struct node *leaf, int i,
					struct lath_item *old)
{
	u64 key = node_key(leaf, (unsigned int)i);
	struct change_up up;
	unsigned int count;
	bool marked;

	lath_call_assert();
	LATH_ASSERT(node_is_locked(leaf) && !node_level(leaf));
	LATH_ASSERT(i >= 0 && leaf->live >> i & 1);
	if (old)
		item_of(tree, leaf, (unsigned int)i, old);
	change_begin(tree);
	node_erase(leaf, (unsigned int)i);
	count = node_count(leaf);
	change_erased(tree, leaf, (unsigned int)i, &up);
	marked = leaf->counted;
	node_unlock(leaf);
	lath_delay("erased, summaries not yet raised");
	change_gone(tree, key, marked, &up);
	/* `count` passes each of these once on its way down: a leaf is remembered once per visit */
	if (unlikely(count == NODE_CAP / 4 || !count))
		note_sparse(tree, key);
	else if (unlikely(count == THIN_LEAF))
		merge_thin_later(tree);
}

void lath_leaf_erase(struct tree *tree, struct node *leaf, int i, struct lath_item *old)
{
	erase_entry(tree, leaf, i, old);
}

/* The entry to erase for key, or -1. */
static __always_inline int find_entry(const struct node *leaf, u64 key, bool exact)
{
	return (int)(exact ? node_find(leaf, key) : node_cover(leaf, key));
}

/* Does entry i cover the key, or with `exact` begin there? */
static __always_inline bool entry_serves(const struct node *leaf, unsigned int i, u64 key,
					 bool exact)
{
	return key - node_key(leaf, i) < (exact ? 1 : node_size(leaf, i));
}

/* The same in a leaf that a finger led to. Queues and rows are erased from an end: that entry needs
 * no search. */
static __always_inline int find_entry_near(const struct node *leaf, u64 key, bool exact)
{
	u64 live = READ_ONCE(leaf->live);

	if (live && entry_serves(leaf, __ffs64(live), key, exact))
		return (int)__ffs64(live);
	if (live && entry_serves(leaf, __fls64(live), key, exact))
		return (int)__fls64(live);
	return find_entry(leaf, key, exact);
}

/* Erase entry i of the leaf, for the key, if the leaf's lockword is still this one. */
static __always_inline enum leaf_result erase_found(struct tree *tree, struct node *leaf,
						    u64 lockword, int i, struct lath_item *old)
{
	/* a miss takes no lock: the leaf was as it was read, so the key was absent then */
	if (i < 0)
		return node_valid(leaf, lockword) ? LEAF_ABSENT : LEAF_STALE;
	lath_delay("found, not yet copied");
	if (!node_trylock(leaf, lockword))
		return LEAF_STALE;
	erase_entry(tree, leaf, i, old);
	return LEAF_DONE;
}

enum leaf_result lath_leaf_erase_if(struct tree *tree, struct node *leaf, u64 lockword, u64 key,
				    bool exact, struct lath_item *old)
{
	return erase_found(tree, leaf, lockword, find_entry(leaf, key, exact), old);
}

/* Erase in a leaf that a finger leads to. LEAF_STALE: there is none. */
static __always_inline enum leaf_result erase_near(struct tree *tree, u64 key, bool exact,
						   struct lath_item *old)
{
	u64 lockword;
	struct node *leaf = finger_find(tree, key, &lockword);

	if (!leaf)
		return LEAF_STALE;
	lath_delay("located, not yet searched");
	return erase_found(tree, leaf, lockword, find_entry_near(leaf, key, exact), old);
}

/* lath_erase_item(), inlined into the public calls. */
static __always_inline int erase_one(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	enum leaf_result result;
	unsigned int try;
	struct node *leaf;
	u64 lockword;
	int i;

	section_enter(tree);
	leaf = locate_first(tree, key, FOR_ERASE, &lockword);
	lath_delay("located, not yet searched");
	if (likely(leaf))
		result = erase_found(tree, leaf, lockword, find_entry(leaf, key, exact), old);
	else
		result = erase_near(tree, key, exact, old);
	for (try = 0; try < READ_TRIES && result == LEAF_STALE; try++) {
		leaf = lath_locate_far(tree, key, FOR_ERASE, &lockword);
		lath_delay("located, not yet searched");
		i = find_entry(leaf, key, exact);
		result = erase_found(tree, leaf, lockword, i, old);
	}
	section_exit(tree);
	if (likely(result != LEAF_STALE))
		return leaf_error(result);
	/* other writers were faster each time: wait for the lock, then look */
	leaf = locate_locked(tree, key, FOR_ERASE);
	i = find_entry(leaf, key, exact);
	if (i < 0) {
		node_unlock_clean(leaf);
		return -ENOENT;
	}
	lath_leaf_erase(tree, leaf, i, old);
	return 0;
}

int lath_erase_item(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	return erase_one(tree, key, exact, old);
}

static __always_inline int erase(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	int ret;

	locks_enter(tree);
	ret = erase_one(tree, key, exact, old);
	locks_exit(tree);
	hint_tick(tree, false);
	return ret;
}

int lath_index_erase_item(struct lath_index *index, uint64_t key, struct lath_item *old)
{
	return erase(tree_of(index), key, true, old);
}

int lath_index_erase_item_at(struct lath_index *index, uint64_t point, struct lath_item *old)
{
	return erase(tree_of(index), point, false, old);
}

/* Erases the item at key if its size (`sized`), or else its value, is `expected`. Results as the
 * calls below. No lock held. */
static __always_inline int erase_expected(struct lath_index *index, u64 key, bool sized,
					  u64 expected, struct lath_item *there)
{
	struct tree *tree = tree_of(index);
	struct node *leaf;
	int i, ret = 0;

	locks_enter(tree);
	leaf = locate_locked(tree, key, FOR_ERASE);
	i = find_entry(leaf, key, true);
	if (i < 0) {
		ret = -ENOENT;
	} else {
		bool same = sized ? node_size(leaf, (unsigned int)i) == expected
				  : has_value(tree, leaf, (unsigned int)i, expected);

		if (there)
			item_of(tree, leaf, (unsigned int)i, there);
		ret = same ? 0 : -EAGAIN;
	}
	if (ret)
		node_unlock_clean(leaf);
	else
		lath_leaf_erase(tree, leaf, i, NULL);
	locks_exit(tree);
	hint_tick(tree, false);
	return ret;
}

int lath_index_erase_if(struct lath_index *index, uint64_t key, uint64_t expected,
			struct lath_item *there)
{
	return erase_expected(index, key, false, expected, there);
}

int lath_index_erase_sized(struct lath_index *index, uint64_t key, uint64_t size,
			   struct lath_item *there)
{
	return erase_expected(index, key, true, size, there);
}
