/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * erase.c - erase: it clears one bit. A leaf that becomes sparse is merged some time later
 * (merge.c).
 */
#include "index/tree/erase.h"
#include "index/tree/change.h"
#include "index/tree/locate.h"
#include "index/tree/merge.h"

/* Slow ends of leaf_erase: outlined, they need a read-side critical section. */
static void raise_summaries(struct tree *tree, const struct change_up *up)
{
	lath_reader_enter(tree->rcu);
	change_raise(tree, up);
	lath_reader_exit(tree->rcu);
}

static void note_sparse(struct tree *tree, u64 key)
{
	lath_reader_enter(tree->rcu);
	merge_later(tree, key);
	lath_reader_exit(tree->rcu);
}

static __always_inline void erase_entry(struct tree *tree, struct node *leaf, int i,
					struct lath_item *old)
{
	u64 key = node_key(leaf, (unsigned int)i);
	struct change_up up;
	unsigned int count;
	bool promised, marked;

	LATH_ASSERT(node_is_locked(leaf) && !node_level(leaf));
	if (old)
		item_of(leaf, (unsigned int)i, tree->ranges, old);
	change_begin(tree);
	node_erase(leaf, (unsigned int)i);
	count = node_count(leaf);
	promised = change_erased(tree, leaf, (unsigned int)i, &up);
	marked = leaf->counted;
	node_unlock(leaf);
	lath_delay("erased, summaries not yet raised");
	if (!promised)
		raise_summaries(tree, &up);
	change_end(tree);
	if (unlikely(tree->holes))
		change_vacated_one(tree, key, &up);
	change_number(tree, key, key, marked);
	if (unlikely(count == NODE_CAP / 4 || !count))
		note_sparse(tree, key);
	else if (unlikely(count == THIN_LEAF))
		merge_thin_later(tree);
}

void leaf_erase(struct tree *tree, struct node *leaf, int i, struct lath_item *old)
{
	erase_entry(tree, leaf, i, old);
}

/* The entry to erase for key, or -1. */
static __always_inline int find_entry(const struct tree *tree, const struct node *leaf, u64 key,
				      bool exact)
{
	return (int)(exact ? node_find(leaf, key) : node_cover(leaf, key, tree->ranges));
}

/* leaf_erase_if(), inlined. */
static __always_inline enum leaf_result erase_if(struct tree *tree, struct node *leaf, u64 lockword,
						 u64 key, bool exact, struct lath_item *old)
{
	int i = find_entry(tree, leaf, key, exact);

	if (i < 0)
		return node_valid(leaf, lockword) ? LEAF_ABSENT : LEAF_STALE;
	lath_delay("found, not yet copied");
	if (!node_trylock(leaf, lockword))
		return LEAF_STALE;
	erase_entry(tree, leaf, i, old);
	return LEAF_DONE;
}

enum leaf_result leaf_erase_if(struct tree *tree, struct node *leaf, u64 lockword, u64 key,
			       bool exact, struct lath_item *old)
{
	return erase_if(tree, leaf, lockword, key, exact, old);
}

/* erase_item(), inlined into the public calls. */
static __always_inline int erase_one(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	enum leaf_result result = LEAF_STALE;
	unsigned int try;
	struct node *leaf;
	u64 lockword;
	int i;

	section_enter(tree);
	for (try = 0; try < READ_TRIES && result == LEAF_STALE; try++) {
		leaf = locate(tree, key, FOR_ERASE, &lockword);
		result = erase_if(tree, leaf, lockword, key, exact, old);
	}
	section_exit(tree);
	if (likely(result != LEAF_STALE))
		return leaf_error(result);
	leaf = locate_locked(tree, key, FOR_ERASE);
	i = find_entry(tree, leaf, key, exact);
	if (i < 0) {
		node_unlock_clean(leaf);
		return -ENOENT;
	}
	leaf_erase(tree, leaf, i, old);
	return 0;
}

int erase_item(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	return erase_one(tree, key, exact, old);
}

static __always_inline int erase(struct tree *tree, u64 key, bool exact, struct lath_item *old)
{
	int ret;

	lath_call_enter();
	ret = erase_one(tree, key, exact, old);
	lath_call_exit();
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

int lath_index_erase_if(struct lath_index *index, uint64_t key, uint64_t expected,
			struct lath_item *there)
{
	struct tree *tree = tree_of(index);
	struct node *leaf;
	int i, ret = 0;

	lath_call_enter();
	leaf = locate_locked(tree, key, FOR_ERASE);
	i = (int)node_find(leaf, key);
	if (i < 0) {
		ret = -ENOENT;
	} else if (node_value(leaf, (unsigned int)i) != expected) {
		if (there)
			item_of(leaf, (unsigned int)i, tree->ranges, there);
		ret = -EAGAIN;
	}
	if (ret)
		node_unlock_clean(leaf);
	else
		leaf_erase(tree, leaf, i, there);
	lath_call_exit();
	hint_tick(tree, false);
	return ret;
}
