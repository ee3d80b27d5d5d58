/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * descend.h - from the root to a node: one step, all steps, and what to prefetch on the way.
 *
 * A step reads the node's lockword, searches, and compares the lockword. Unchanged means that the
 * child was the right one at that moment. By the time the descent gets there, it can only be too
 * far left, and then the descent moves right. A DEAD node was merged into its left sibling: begin
 * again. Nothing shared is written.
 *
 * A descent is right without an RCU read-side critical section too, where node memory is
 * type-stable: a node that was retired and reused since is another live node of this tree, so
 * at worst the descent ends in another leaf, whose fence keys, read under its lockword, tell.
 */
#ifndef LATH_INDEX_DESCEND_H
#define LATH_INDEX_DESCEND_H

#include "tree/memory/stripe.h"

/* What a leaf is wanted for. It decides what is prefetched. */
enum intent { FOR_READ, FOR_ERASE, FOR_INSERT };

/*
 * Prefetch what a search of the leaf reads first, its header and heads, together with the lines
 * that predictably hold the key's pair; fetched later, they would add a second miss. `predicted`:
 * the pair's address. The leaf has not been validated: it may be any word. Random keys stray from
 * the prediction: two lines around it hold the pair 7 times in 10, four lines 9 times in 10. An
 * insert takes eight lines, for the entries it will move.
 */
static __always_inline void prefetch_leaf(const struct node *child, const char *predicted,
					  enum intent intent)
{
	uintptr_t leaf = (uintptr_t)child, pair = (uintptr_t)predicted, last;
	unsigned int i;

	if (intent != FOR_INSERT) {
		if (intent == FOR_ERASE)
			prefetchw((const char *)leaf);
		else
			prefetch((const char *)leaf);
		prefetch((const char *)(leaf + 64));
		prefetch((const char *)(pair - 32));
		prefetch((const char *)(pair + 32));
		prefetch((const char *)(pair - 96));
		prefetch((const char *)(pair + 96));
		return;
	}
	prefetchw((const char *)leaf);
	prefetchw((const char *)(leaf + 64));
	last = leaf + offsetof(struct node, pair[NODE_CAP]) - 64 * 8;
	pair = min(pair - 32, last);
	/* a number of lines that depended on the prediction would cost more in mispredicted
	 * branches than it saves */
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		prefetchw((const char *)(pair + 64 * i));
}

/* The same for the leaf below an entry of a level-1 node; where in it the key is, is interpolated
 * between the separators. */
static __always_inline void prefetch_child(const struct node *inner, const struct pair *slot,
					   const struct node *child, u64 key,
					   unsigned int leaf_fill, enum intent intent)
{
	u64 sep = READ_ONCE(slot->key),
	    behind = READ_ONCE(inner->live) >> (slot - inner->pair) >> 1;
	u64 next = behind ? READ_ONCE(slot[1 + __ffs64(behind)].key) : READ_ONCE(inner->last);

	prefetch_leaf(
		child,
		(const char *)((uintptr_t)child + offsetof(struct node, pair) +
			       lath_part(key - sep, next - sep, leaf_fill) * sizeof(struct pair)),
		intent);
}

enum step { STEP_RESTART, STEP_DOWN, STEP_RIGHT };

/*
 * One step from an inner node, down to the child for key or right to the sibling; *at becomes that
 * node.
 * STEP_RESTART: the node is dead, or key is below it; *at is unchanged. leaf_fill: 0, or
 * the children are leaves with this many positions in use (tree->leaf_fill); the child is then
 * prefetched for `intent`.
 */
static __always_inline enum step descend_step(struct node **at, u64 key, unsigned int leaf_fill,
					      enum intent intent)
{
	struct node *node = *at, *next;
	enum step step;

	for (;;) {
		u64 lockword = smp_load_acquire(&node->lockword); /* pairs with node_unlock */

		/* the lockword is looked at once more only if it is locked or dead: a descent waits
		 * for a writer, but does not enter a node that was merged */
		if (unlikely(!node_sound(lockword))) {
			lockword = node_read(node);
			if (node_dead(lockword))
				return STEP_RESTART;
		}
		if (unlikely(key > READ_ONCE(node->last))) {
			step = STEP_RIGHT;
			next = READ_ONCE(node->right);
			if (!next) /* it is being changed: the rightmost node covers all keys */
				continue;
		} else {
			const struct pair *slot;
			long i = inner_slot(node, key);

			if (unlikely(i < 0))
				return STEP_RESTART;
			step = STEP_DOWN;
			slot = &node->pair[i];
			next = (struct node *)(uintptr_t)READ_ONCE(slot->value);
			if (leaf_fill) {
				prefetch_child(node, slot, next, key, leaf_fill, intent);
			} else {
				prefetch((const char *)next);
				prefetch((const char *)((uintptr_t)next + 64));
			}
		}
		if (node_valid(node, lockword)) {
			*at = next;
			return step;
		}
	}
}

/*
 * From a leaf to the one that covers key, moving right. Returns it with its lockword; NULL: begin
 * at the root again.
 */
static __always_inline struct node *move_right(struct node *leaf, u64 key, u64 *lockword)
{
	for (;;) {
		u64 word = smp_load_acquire(&leaf->lockword); /* pairs with node_unlock */
		struct node *right;

		if (unlikely(!node_sound(word))) {
			word = node_read(leaf);
			if (node_dead(word))
				return NULL;
		}
		if (likely(!(word & NODE_HALF_DEAD))) {
			if (unlikely(key < READ_ONCE(leaf->low)))
				return NULL;
			if (likely(key <= READ_ONCE(leaf->last))) {
				lath_delay("descend: leaf found");
				*lockword = word;
				return leaf;
			}
		}
		right = READ_ONCE(leaf->right);
		if (node_valid(leaf, word))
			leaf = right;
	}
}

/* Descend to the leaf that covers key. Returns it with its lockword as it was when that was so. */
static __always_inline struct node *descend(struct tree *tree, u64 key, u64 *lockword,
					    enum intent intent)
{
	for (;;) {
		struct node *node =
			smp_load_acquire(&tree->root); /* pairs with the store in post.c add_root */
		enum step step = STEP_DOWN;

		while (step && node_level(node) > 1)
			step = descend_step(&node, key, 0, intent);
		while (step && node_level(node) == 1)
			step = descend_step(&node, key, tree->leaf_fill, intent);
		if (likely(step &&
			   !node_level(node))) { /* else its memory is an inner node's again */
			node = move_right(node, key, lockword);
			if (likely(node))
				return node;
		}
		lath_fetch_add(&counts_of(tree)->restarts, 1);
		lath_probe(restart, tree, key);
	}
}

/* From a node of this level to the one that covers key, moving right. Returns it with its lockword;
 * NULL: begin at the root again. In a read-side critical section. */
struct node *lath_level_right(struct node *node, u64 key, unsigned int level, u64 *lockword);
/* The node of this level that covers key, with its lockword then; NULL if the tree has no such
 * level. In a read-side critical section. */
struct node *lath_level_find(struct tree *tree, u64 key, unsigned int level, u64 *lockword);
/* The same, locked. */
struct node *lath_level_lock(struct tree *tree, u64 key, unsigned int level);

/* Lock and return the right sibling of a locked node; NULL if there is none. */
static inline struct node *lock_right(struct node *node)
{
	struct node *right = READ_ONCE(node->right);

	LATH_ASSERT(node_is_locked(node));
	LATH_ASSERT(right || node->last == KEY_MAX); /* the level covers all keys */
	LATH_ASSERT(!right || node_level(right) == node_level(node));
	if (right)
		node_lock(right);
	return right;
}

#endif /* LATH_INDEX_DESCEND_H */
