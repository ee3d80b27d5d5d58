/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.h - the tree as a whole: its struct, and what every file of the index uses.
 *
 * The index is a B-link tree (Lehman and Yao 1981). Each level is a chain of nodes: a node covers
 * the keys between its fence keys [low, last], its right sibling begins at last + 1, and a descent
 * that arrives in a node too far left for its key moves right. All items are in the leaves.
 *
 * Directories, lowest first
 *   node/     one node: version lock, search, insertion, moving entries
 *   memory/   pool: memory for nodes; section, what a call without locks owes it; stripe
 *   way/      descend, from the root to a node; finger and hint, from a key to a leaf without a
 *             descent; locate, the way to a leaf for every call
 *   watch/    what follows changes: gap and bound (free space), count and rank (items below an
 *             entry), watch (whoever registers from above the tree); change.h tells them
 *   step/     the steps of a change: leaf, fence, post, redistribute, merge
 *   call/     public calls, a file per kind
 *
 * Why a descent needs no locks: `low` of a node only falls while the node lives, and a separator is
 * never below its child's low fence (I9). So a descent never arrives too far right, and moving
 * right corrects whatever changed on the way.
 *
 * Lock order: inner nodes before leaves, and within a level from left to right. A thread that holds
 * a leaf never waits for an inner node.
 */
#ifndef LATH_INDEX_TREE_H
#define LATH_INDEX_TREE_H

#include "lathwork/index.h"
#include "tree/node/node.h"

/* An optimistic read that failed this often locks the leaf instead. */
#define READ_TRIES 8

/* Leaves that are full together before one is added. More: fuller leaves, dearer splits. */
#define SPLIT_GROUP 4

enum pool_kind { POOL_LEAF, POOL_INNER, POOL_KINDS };

/* Memory for nodes of one kind (pool.c). It is type-stable: memory that was a leaf stays a leaf's,
 * or zeros, until the tree ends, so a hint may read the header of a node that has been retired
 * in the meantime. */
struct pool {
	struct lath_spinlock lock;
	u32 node_size;
	struct tree *tree;
	struct chunk *chunks; /* all */
	struct chunk *room;   /* that have an unused node */
	struct chunk *bare;   /* whose pages the host has */
	u64 version;	      /* no node of the pool had a greater one when it came back */
	u64 bytes;	      /* of all chunks but the bare ones */
	u64 capacity;	      /* nodes in them */
	u64 nodes;	      /* handed out and not given back; read without the lock (hint.c) */
};

/* Sparse leaves that are remembered before the first of them is merged (merge.c). */
#ifndef LATH_SPARSE_RING
#define LATH_SPARSE_RING 8
#endif
#define SPARSE_RING LATH_SPARSE_RING

struct fingers;
struct hint;
struct watcher;

struct counts {
	u64 restarts;
	u64 lock_falls;
	u64 splits;
	u64 merges;
};

/* Leaves that are to be merged (merge.c). */
struct merge_notes {
	u64 turn;
	u64 thin;     /* leaves that became thin and were not looked for yet, roughly */
	u64 thin_key; /* where to look for them next */
	u64 sparse[SPARSE_RING];
};

/* The data that calls write besides nodes. There are as many stripes as processors, rounded up to a
 * power of two, and at most MOST_STRIPES, or MOST_STRIPES_OF_HOLES with LATH_HOLES, where searches
 * read all of them. Threads (in the kernel processors) whose numbers differ by a multiple of that
 * share one. So there is no line that all calls write. A tree without LATH_HOLES has stripes as
 * soon as it is large. */
#define MOST_STRIPES 64
#define MOST_STRIPES_OF_HOLES 16
#ifndef LATH_STRIPES
#define LATH_STRIPES lath_processors()
#endif
struct stripe {
	/* changes in flight and searches, with LATH_HOLES (tree/watch/gap.h) */
	u64 begun;
	u64 ended;
	u64 searches;
	u64 searched; /* nodes that they looked at */
	/* in use if the tree is large */
	struct counts counts;
	struct merge_notes notes;
	struct lath_spinlock lock;
	struct node *spare; /* nodes for leaves (pool.c), linked by `right` */
	u32 spares;
	u64 freed; /* leaves that were freed since it last gave one */
} __attribute__((aligned(64)));

struct tree {
	/* read by every call; written when a root is added */
	struct node *root;
	/* asked in memory/ only */
	bool huge;    /* LATH_HUGE_PAGES */
	bool small;   /* LATH_SMALL_PAGES */
	bool retired; /* a node was handed to reclamation: wait for it at the end */
	bool large;   /* `stripe` is there, and calls use it instead of `counts` and `notes` */
	/* asked in watch/ and memory/ only */
	bool holes;    /* LATH_HOLES: nodes have summaries of the free space below them */
	bool ranks;    /* LATH_RANKS: entries of inner nodes have counts */
	bool asked;    /* someone has asked for ranks: leaves may be marked (tree/watch/rank.h) */
	u8 group;      /* full leaves side by side that get one more leaf; 1: halves() */
	u8 leaf_fill;  /* positions that an average leaf uses, to predict where a key is */
	u8 leaf_level; /* `level` of a leaf */
	u8 leaf_side;  /* what the side column of leaves has (node.h): SIDE_WORD, or 0 with points;
			  SIDE_MORE with long values */
	u8 inner_side; /* of inner nodes: 0, SIDE_WORD with LATH_RANKS, SIDE_SUMMARY with
			  LATH_HOLES */
	u8 stripe_mask;
	u8 hint_due; /* what the next call shall do for the hint table (hint_tick) */
	u16 flags;   /* of lath_config, for a tree that shall be like this one */
	u64 id;	     /* never used again: a thread's fingers recognise their tree by it */
	const struct lath_rcu *rcu;
	struct fingers __percpu *fingers; /* in the kernel only (tree/way/finger.h) */
	struct lath_allocator allocator;  /* alloc == NULL: anonymous pages */
	const struct lath_allocator
		*shared_allocator; /* LATH_SHARED: used in place, instead of the copy */
	struct stripe *stripe;	   /* stripe_mask + 1 of them, or NULL */
	struct hint *hint;	   /* the hint table, or NULL */
	struct watcher *watcher;   /* is told which keys become free and taken (watch.h), or NULL */
	u64 (*weight)(u64 value);  /* LATH_RANKS: for how many items an item counts
				      (tree/watch/rank.h),  or NULL: for itself */
#ifndef __KERNEL__
	struct hint *hint_made; /* the hint table, in use or not; written once */
	u64 hint_limit;		/* it is made anew after this many misled searches; 0: there never
				   was a table */
#endif

	/* written on splits and merges */
	struct lath_spinlock root_lock __attribute__((aligned(64)));
	struct lath_spinlock count_lock; /* LATH_RANKS: refreshing and outdating of counts */
	struct pool pool[POOL_KINDS];
	struct lath_spinlock trim_lock;
	struct chunk *moving; /* where the second part of a trim goes on (trim.c) */
	u32 moving_at;
	u8 moving_kind;
#ifndef __KERNEL__
	struct lath_spinlock hint_lock;
	u64 hint_misses; /* searches that the hint table misled since it was made */
#endif
	struct merge_notes notes;
	struct counts counts;
};
_Static_assert(sizeof(struct tree) <= sizeof(struct lath_index), "fits the public struct");

/* lath_index_init(); `wide`: entries are points, each with a word beside it in the side column, for
 * set/interval/wide.c. Calls that return items see points. */
int lath_tree_init(struct lath_index *index, const struct lath_config *config, bool wide);

/* Returns all memory that the tree has obtained, in bytes. */
u64 lath_tree_bytes(struct tree *tree);

/* Returns the tree's LATH_ANY_CONTEXT, for another tree that its calls use; 0 in user space. */
static inline unsigned int any_context(const struct tree *tree)
{
#ifdef __KERNEL__
	return tree->flags & LATH_ANY_CONTEXT;
#else
	(void)tree;
	return 0;
#endif
}

static inline struct tree *tree_of(struct lath_index *index)
{
	return (struct tree *)(void *)index;
}

/* Around a call that locks nodes, which fork() waits for (sys/thread.h). With LATH_ANY_CONTEXT
 * interrupts are off in it: one that waited for the call's locks, or for the end of its change
 * (gap.h), would wait for ever. */
static inline void locks_enter(struct tree *tree)
{
	lath_call_enter();
	lath_irqs_off(any_context(tree));
}

static inline void locks_exit(struct tree *tree)
{
	lath_irqs_on(any_context(tree));
	lath_call_exit();
}

/* The same for a call that also follows links without locks. */
static inline void call_enter(struct tree *tree)
{
	locks_enter(tree);
	lath_reader_enter(tree->rcu);
}

static inline void call_exit(struct tree *tree)
{
	lath_reader_exit(tree->rcu);
	locks_exit(tree);
}

/* Returns the leaf that covers key 0. No other thread may change the tree. */
static inline struct node *leftmost_leaf(const struct tree *tree)
{
	struct node *node = tree->root;

	while (node_level(node))
		node = node_child(node, __ffs64(node->live));
	return node;
}

/* The right sibling of a leaf, or NULL. */
static inline struct node *leaf_right(struct node *leaf)
{
	return READ_ONCE(leaf->right);
}

/* Is a value of the tree longer than a word? Then the value of an item is an address. */
static __always_inline bool long_values(const struct tree *tree)
{
	return unlikely(tree->leaf_side >= SIDE_MORE);
}

static inline unsigned int value_words(const struct tree *tree)
{
	return 1 + tree->leaf_side / SIDE_MORE;
}

/* Copy entry i of a leaf; a long value to where item->value points, if that is not 0. */
static inline void item_of(const struct tree *tree, const struct node *leaf, unsigned int i,
			   struct lath_item *item)
{
	lath_delay("found, not yet copied");
	item->key = node_key(leaf, i);
	item->size = node_size(leaf, i);
	if (!long_values(tree))
		item->value = node_value(leaf, i);
	else if (item->value)
		node_copy_long(leaf, i, tree->leaf_side, (u64 *)(uintptr_t)item->value);
}

/* An item of the library's own, with room for its value. */
struct own_item {
	struct lath_item item;
	u64 value[VALUE_WORDS];
};

/* As item_of(). Returns the item. */
static inline struct lath_item *own_item_of(const struct tree *tree, const struct node *leaf,
					    unsigned int i, struct own_item *own)
{
	own->item.value = (u64)(uintptr_t)own->value;
	item_of(tree, leaf, i, &own->item);
	return &own->item;
}

/* Copy an item to one of the caller's, a long value to where to->value points. */
static inline void give_item(const struct tree *tree, const struct lath_item *item,
			     struct lath_item *to)
{
	to->key = item->key;
	to->size = item->size;
	if (!long_values(tree))
		to->value = item->value;
	else if (to->value)
		memcpy((u64 *)(uintptr_t)to->value, (const u64 *)(uintptr_t)item->value,
		       value_words(tree) * sizeof(u64));
}

/* Has entry i of a leaf this value? */
static inline bool has_value(const struct tree *tree, const struct node *leaf, unsigned int i,
			     u64 value)
{
	const u64 *wanted = (const u64 *)(uintptr_t)value;
	u64 words[VALUE_WORDS];
	unsigned int k = 0;

	if (!long_values(tree))
		return node_value(leaf, i) == value;
	node_copy_long(leaf, i, tree->leaf_side, words);
	while (k < value_words(tree) && words[k] == wanted[k])
		k++;
	return k == value_words(tree);
}

/* Does the tree hold ranges, or points? */
static inline bool holds_ranges(const struct tree *tree)
{
	return tree->leaf_level & NODE_SIZES;
}

/* Does a full leaf become two, without its siblings (LATH_HOLES)? */
static inline bool halves(const struct tree *tree)
{
	return tree->group == 1;
}

/* Is [key, key + size) a range this tree can hold? In the points layout size is 1. */
static inline bool item_valid(const struct tree *tree, u64 key, u64 size)
{
	return size == 1 || (size && size - 1 <= KEY_MAX - key && holds_ranges(tree));
}

#endif /* LATH_INDEX_TREE_H */
