/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * list.h - the index as a whole: internal types and what its files offer each other.
 *
 *   memory.c   where nodes come from and where retired ones go
 *   walk.c     the walk from the root to a leaf;  lookup.c  reads
 *   insert.c   insert, replace; a range that reaches across a fence
 *   grow.c     room for a full leaf: shares, splits, separators, new roots
 *   erase.c    erase and the lazy merging of sparse neighbours
 *   range.c    calls that change stretches: erase_range, store_range, resize, split
 *   batch.c    the interleaved forms
 *   scan.c     copying items out;  cursor.c  iteration, the locked leaf
 *   guide.c    a table that saves most walks
 *   gap.c      what lies free below a node;  hole.c  the search for a hole
 *   list.c     init, fini, stats;  load.c, verify.c, dump.c
 *
 * One level is a list of blocks with fences, as in a B-link tree (Lehman and Yao 1981): a node
 * covers [low, last], its right neighbour begins at last + 1, and whoever finds a node too low for
 * its key moves right. To a reader the levels together are a skiplist whose towers are chosen by
 * overflow instead of by coin.
 *
 * What makes the walk safe without locks (numbers as in lathwork/index.h):
 *   low only falls while a node lives, and a separator is never below its child's low; so a walk
 *   never lands too far right, and moving right repairs every stale step.
 *
 * Lock order: inner nodes before leaves, left before right within a level. A thread that holds a
 * leaf never waits for an inner node.
 */
#ifndef LATH_INDEX_LIST_H
#define LATH_INDEX_LIST_H

#include "lathwork/index.h"
#include "index/block/node.h"

/* Optimistic reads that failed this often take the lock instead. */
#define READ_TRIES 8

enum pool_kind { POOL_LEAF, POOL_INNER, POOL_KINDS };

/* Nodes of one kind. Memory given to a kind stays with it until the list ends (type-stable), so a
 * thread's finger may read the header of a node that has been retired meanwhile. */
struct pool {
	struct lath_spinlock lock;
	u64 node_size;
	struct node *free; /* linked by right */
	char *fresh;	   /* [fresh, end): never used yet */
	char *end;
	struct chunk *chunks;
	struct tree *list;
	u64 bytes;
	u64 huge_bytes;
	u64 nodes; /* handed out and not come back */
};

/* Leaves that became sparse are looked at again this many such events later (erase.c). */
#ifndef LATH_SPARSE_RING
#define LATH_SPARSE_RING 16
#endif
#define SPARSE_RING LATH_SPARSE_RING

struct fingers;

/* Sections (gap.h) are counted in stripes, a thread or processor its own. */
#define GAP_STRIPES 16
struct stripe {
	u64 begun;
	u64 ended;
	u64 pad[6];
};

struct tree {
	/* read by every call, written when a root is added */
	struct node *root;
	bool ranges;
	bool each;  /* LATH_NODE_EACH */
	bool huge;  /* all memory on huge pages */
	bool small; /* none */
	bool holes; /* LATH_HOLES: nodes have gaps */
	bool loose; /* leaves are split in halves, their entries spread over all slots (share.h) */
	u8 guess_from; /* children of nodes of this level and below are asked for with the pairs they will need */
	u8 inner_side;	/* words an entry beside the pairs of inner nodes: 0, or GAP_WORDS */
	u16 guide_turn; /* changes between two steps of the guide's keeping; 0: too small for one */
	bool retired;	/* something was handed to reclamation: wait for it at the end */
	u64 id;		/* never used again: a thread's finger recognises its list by it */
	const struct lath_rcu *rcu;
	struct fingers __percpu *fingers;    /* in the kernel, see finger.h */
	struct lath_allocator allocator;     /* alloc == NULL: pages */
	const struct lath_allocator *shared; /* instead of it, see share.h */

	struct stripe *stripe; /* GAP_STRIPES of them, or NULL */
	struct guide *guide;   /* keys to leaves without a walk (guide.h), or NULL: not worth a look */

	/* written now and then: on splits and merges */
	struct lath_spinlock root_lock __attribute__((aligned(64)));
	struct pool pool[POOL_KINDS];
#ifndef __KERNEL__
	struct guide *guide_made; /* worth a look or not */
	struct lath_spinlock guide_lock;
#endif
	u64 sparse_turn;
	u64 sparse[SPARSE_RING];
	u64 restarts;
	u64 lock_falls;
	u64 splits;
	u64 merges;
};
_Static_assert(sizeof(struct tree) <= sizeof(struct lath_index), "fits the public struct");

static inline struct tree *tree_of(struct lath_index *list)
{
	return (struct tree *)(void *)list;
}

/* ---- memory.c ---- */

/* Memory that the list keeps until its end, and says how much of it there is; NULL: none. No lock that readers wait for held. */
void *list_block_alloc(struct tree *list, size_t size, bool huge);
void list_block_free(struct tree *list, void *block, size_t size);
/* False: no memory. */
bool pools_init(struct tree *list);
/* Wait for retired nodes, give all memory back. */
void pools_fini(struct tree *list);
/* A node nobody else sees, DEAD until node_open, or NULL. No lock held. */
struct node *node_alloc(struct tree *list, enum pool_kind kind);
/* Give back a node that was never opened. */
void node_free(struct tree *list, enum pool_kind kind, struct node *node);
/* Hand an unlinked node, DEAD by now, to reclamation. */
void node_retire(struct tree *list, enum pool_kind kind, struct node *node);

void pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes);

/* The node is complete: from now on it counts. Its version goes on from its former life. */
static inline void node_open(struct node *node)
{
	u64 flags = NODE_LOCKED | NODE_DEAD | NODE_VOID;

	/* pairs with node_read */
	smp_store_release(&node->word, (READ_ONCE(node->word) & ~flags) + NODE_VERSION);
}

/* ---- walk.c ---- */

/*
 * Calls that trust a node only under its word, and follow no link of a node whose word they have not
 * compared since, need no reader: node memory keeps its kind (descend in walk.h). Where nodes are freed
 * they enter one, and in the kernel, where that costs nothing.
 */
static inline void walker_enter(struct tree *list)
{
#ifndef __KERNEL__
	if (likely(!list->each))
		return;
#endif
	lath_reader_enter(list->rcu);
}

static inline void walker_exit(struct tree *list)
{
#ifndef __KERNEL__
	if (likely(!list->each))
		return;
#endif
	lath_reader_exit(list->rcu);
}

/* The leaf that covers key, and its word as it was when that was so. As a walker, or in a reader.
 * find_leaf looks at the leaves the thread has used lately first. */
struct node *walk_to_leaf(struct tree *list, u64 key, u64 *word);
struct node *walk_to_erase(struct tree *list, u64 key, u64 *word);
struct node *find_leaf(struct tree *list, u64 key, u64 *word);
/* The same without the fingers, locked. */
struct node *lock_leaf(struct tree *list, u64 key);
/* The node of this level that covers key, and its word then; NULL if the list is not that high. Inside a reader. */
struct node *level_node(struct tree *list, u64 key, unsigned int level, u64 *word);
/* The node of this level that covers key, locked; NULL if the list is not that high. */
struct node *lock_level(struct tree *list, u64 key, unsigned int level);
/* Lock the right neighbour of a locked node. */
static inline struct node *lock_right(struct node *node)
{
	struct node *right = READ_ONCE(node->right);

	if (right)
		node_lock(right);
	return right;
}

static inline struct node *leaf_right(struct node *leaf)
{
	return READ_ONCE(leaf->right);
}

static inline void item_of(const struct node *leaf, unsigned int i, bool ranges, struct lath_item *item)
{
	item->key = node_key(leaf, i);
	item->size = node_size(leaf, i, ranges);
	item->value = node_value(leaf, i);
}

/* Leaves [first, last) / [first, last] of a locked stretch: unlock them, unchanged. */
void unlock_clean_before(struct node *first, struct node *last);
void unlock_clean_through(struct node *first, struct node *last);

/* ---- lookup.c, erase.c: the calls inside a reader ---- */
int lookup_item(struct tree *list, u64 point, struct lath_item *found);
/* The first item that overlaps [key, last] / the last that begins at or before key: 0 | -ENOENT */
int overlap_item(struct tree *list, u64 key, u64 last, struct lath_item *found);
int floor_item(struct tree *list, u64 key, struct lath_item *found);
/* In a leaf that covers the key under this word. -EAGAIN: it has changed, or it takes more than that. */
int erase_under(struct tree *list, struct node *leaf, u64 word, u64 key, bool exact,
		struct lath_item *old);
int insert_under(struct tree *list, struct node *leaf, u64 word, const struct lath_item *item,
		 struct lath_item *conflict);
/* In a leaf the thread has used lately; -EAGAIN as before, and if there is none. */
int insert_by_finger(struct tree *list, const struct lath_item *item, struct lath_item *conflict);
int erase_item(struct tree *list, u64 key, bool exact, struct lath_item *old);

/* Erase entry i of a locked leaf; unlocks. */
int erase_locked(struct tree *list, struct node *leaf, int i, struct lath_item *old);

/* ---- insert.c ---- */

/* size > 0 and key + size - 1 does not pass the last key; size 1 in the points layout */
static inline bool item_valid(const struct tree *list, u64 key, u64 size)
{
	return size && size - 1 <= KEY_MAX - key && (list->ranges || size == 1);
}

struct reserve;
/* As lath_index_insert_item. */
int insert_item(struct tree *list, const struct lath_item *item, struct lath_item *conflict,
		struct reserve *reserve);
/*
 * Lock the leaves behind `first` up to the one that covers end, which is returned. *hit: an entry there
 * that begins at or before end, or -1; then locking stopped at that leaf.
 */
struct node *lock_across(struct node *first, u64 end, int *hit);
int insert_locked(struct tree *list, struct node *leaf, const struct lath_item *item,
		  struct lath_item *conflict, struct node **full);
int grow_last(struct tree *list, struct node *first, struct node *last, u64 key, struct reserve *reserve);
/* After cover_from and what was put into last: unlock, and tell the level above. */
void after_cover(struct tree *list, struct node *first, struct node *last, u64 key, u64 end);
/* Unlock the leaves [first, last], changed. */
void unlock_through(struct node *first, struct node *last);
/*
 * The leaves from first to last, locked, empty but for entries of first below key and of last:
 * give all keys from `key` on to last. In between leaves become VOID. The caller unlocks.
 */
void cover_from(struct node *first, struct node *last, u64 key);

/* ---- grow.c ---- */

/* Nodes brought along, so that none is allocated under a lock. */
struct reserve {
	struct node *leaf;
	struct node *inner[2];
	bool fixed; /* preloaded: never allocate */
};

/* The locked leaf has no room for what belongs at key. Share with the neighbours or split, unlock.
 * 0: try again | -ENOMEM (nothing changed) | -EAGAIN (a fixed reserve is used up) */
int leaf_grow(struct tree *list, struct node *leaf, u64 key, struct reserve *reserve);
void reserve_release(struct tree *list, struct reserve *reserve);
/* The low fence of a leaf fell: let its separator follow. No locks held. */
void post_low(struct tree *list, struct node *node);

/* ---- erase.c ---- */

/* A range [key, end] has just been put across fences, and leaves may have become VOID: merge them. */
void merge_void(struct tree *list, u64 key, u64 end);
/* A leaf that holds `key` has become sparse: remember it, look at one remembered earlier. No locks held. */
void leaf_became_sparse(struct tree *list, u64 key);

static inline bool node_sparse(unsigned int count)
{
	return count <= NODE_CAP / 4;
}

#endif /* LATH_INDEX_LIST_H */
