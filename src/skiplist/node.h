/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * node.h - the blocks the index is made of, and what can be done to one or two of them.
 *
 * Floor 1: nothing here takes a lock, enters a reader or retires memory. Functions that change a
 * node want its lock held by the caller; functions that read one give an answer that holds only
 * if the node's word is unchanged afterwards (node_valid).
 *
 *   leaf        +0   word low last right      the header every node begins with
 *   (points     +32  live level shift used base    live: bit i = entry i is there
 *   1152 bytes) +64  head[64]                 one byte an entry, ascending with the keys
 *               +128 pair[64] {key, value}    ascending by key, dead entries keep their key
 *   (ranges)    +1152 size[64]                a column of its own: a miss never loads it
 *
 *   inner       +0   word low last right      one level above its children
 *               +32  level count
 *               +64  sep[64]                  ascending, ~0 past count
 *               +576 child[64]                child[i] holds keys from sep[i] on, or stands left of them
 *
 * The word: a lock bit, two states, and a version that grows with every change.
 *   LOCKED  a writer is inside
 *   DEAD    merged into its left neighbour and unlinked; whoever gets here starts anew
 *   VOID    covers no key; what it covered has gone to the right
 *
 * Heads: head = min(255, (key - base) >> shift), 0 below base. Ascending keys have ascending heads,
 * so one compare of 64 bytes leaves the few entries whose head is equal, most often one on a hit
 * and none on a miss. Heads of the entries from `used` on are 255 and their live bits clear.
 */
#ifndef LATH_SKIPLIST_NODE_H
#define LATH_SKIPLIST_NODE_H

#include "arch/search.h"

/* Entries a leaf and children an inner node. 64 = one mask word, one 64-byte line of heads; tests
 * build with small ones so that splits and merges are everywhere. */
#ifndef LATH_LEAF_CAP
#define LATH_LEAF_CAP 64
#endif
#ifndef LATH_INNER_CAP
#define LATH_INNER_CAP 64
#endif
#define LEAF_CAP LATH_LEAF_CAP
#define INNER_CAP LATH_INNER_CAP
_Static_assert(LEAF_CAP >= 4 && LEAF_CAP <= 64, "live is one 64-bit mask");
_Static_assert(INNER_CAP >= 4 && INNER_CAP <= 64, "the vector search reads 64 separators");

#define KEY_MAX (~0ull)

enum {
	NODE_LOCKED = 1,
	NODE_DEAD = 2,
	NODE_VOID = 4,
	NODE_VERSION = 8, /* one step of the version */
};

struct node {
	u64 word;
	u64 low; /* fences, both inclusive; low only ever falls while the node lives */
	u64 last;
	struct node *right;
};

struct leaf_pair {
	u64 key;
	u64 value;
};

struct leaf {
	struct node node;
	u64 live;
	u16 level; /* 0 */
	u8 shift;
	u8 used; /* entries [0, used) have keys, live or dead */
	u32 spare;
	union {
		struct {
			u64 base;
			u64 spare2;
		};
		struct lath_rcu_head rcu; /* once DEAD and unlinked */
	};
	u8 head[64];
	struct leaf_pair pair[LEAF_CAP];
	u64 size[]; /* LEAF_CAP of them in the ranges layout */
};

struct inner {
	struct node node;
	u64 spare;
	u16 level; /* 1 = its children are leaves */
	u16 count;
	u32 spare2;
	struct lath_rcu_head rcu;
	u64 sep[64];
	struct node *child[INNER_CAP];
};

_Static_assert(offsetof(struct leaf, level) == offsetof(struct inner, level),
	       "level is read before the kind is known");
_Static_assert(offsetof(struct leaf, rcu) == offsetof(struct inner, rcu), "retired nodes look alike");
_Static_assert(offsetof(struct leaf, head) == 64, "header and heads are adjacent lines");
_Static_assert(offsetof(struct inner, sep) == 64, "separators begin a line");
#if LEAF_CAP == 64
_Static_assert(sizeof(struct leaf) == 1152, "18 lines of 64 bytes for 64 points");
#endif

static inline struct leaf *node_leaf(struct node *node)
{
	return container_of(node, struct leaf, node);
}

static inline struct inner *node_inner(struct node *node)
{
	return container_of(node, struct inner, node);
}

static inline unsigned int node_level(struct node *node)
{
	return READ_ONCE(node_leaf(node)->level);
}

/* ---- versions and locks ---- */

/* Slow path of node_read: wait until the writer has left. */
u64 node_wait(struct node *node);

/* Begin an optimistic read: the word, not locked. Pairs with the release in node_unlock. */
static inline u64 node_read(struct node *node)
{
	u64 word = smp_load_acquire(&node->word); /* pairs with node_unlock */

	return likely(!(word & NODE_LOCKED)) ? word : node_wait(node);
}

/* End it: did nothing change since node_read gave `word`? Pairs with smp_wmb in node_trylock. */
static inline bool node_valid(struct node *node, u64 word)
{
	smp_rmb(); /* pairs with smp_wmb in node_trylock */
	return likely(READ_ONCE(node->word) == word);
}

/* Take the lock if nothing changed since `word` was read. The write barrier keeps the stores that
 * follow behind the lock bit: a reader that sees one of them finds the word changed. */
static inline bool node_trylock(struct node *node, u64 word)
{
	preempt_disable();
	if (likely(cmpxchg_acquire(&node->word, word, word | NODE_LOCKED) == word)) {
		smp_wmb(); /* pairs with smp_rmb in node_valid */
		return true;
	}
	preempt_enable();
	return false;
}

static inline void node_lock(struct node *node)
{
	while (!node_trylock(node, node_read(node)))
		;
}

/* Leave a changed node. Pairs with the acquire in node_read. */
static inline void node_unlock(struct node *node)
{
	/* pairs with node_read */
	smp_store_release(&node->word, (READ_ONCE(node->word) & ~(u64)NODE_LOCKED) + NODE_VERSION);
	preempt_enable();
}

/* Leave a node that was not changed: readers under way stay valid. */
static inline void node_unlock_clean(struct node *node)
{
	/* pairs with node_read */
	smp_store_release(&node->word, READ_ONCE(node->word) & ~(u64)NODE_LOCKED);
	preempt_enable();
}

/* ---- leaves ---- */

static inline u64 leaf_mask_below(unsigned int i)
{
	return i < 64 ? (1ull << i) - 1 : ~0ull;
}

static inline unsigned int leaf_count(const struct leaf *leaf)
{
	return hweight64(READ_ONCE(leaf->live));
}

static inline u64 leaf_key(const struct leaf *leaf, unsigned int i)
{
	return READ_ONCE(leaf->pair[i].key);
}

static inline u64 leaf_value(const struct leaf *leaf, unsigned int i)
{
	return READ_ONCE(leaf->pair[i].value);
}

static inline u64 leaf_size(const struct leaf *leaf, unsigned int i, bool ranges)
{
	return ranges ? READ_ONCE(leaf->size[i]) : 1;
}

/* the last key entry i covers */
static inline u64 leaf_end(const struct leaf *leaf, unsigned int i, bool ranges)
{
	return leaf_key(leaf, i) + leaf_size(leaf, i, ranges) - 1;
}

static inline u8 leaf_head(u64 base, unsigned int shift, u64 key)
{
	u64 h = key < base ? 0 : (key - base) >> shift;

	return h < 255 ? (u8)h : 255;
}

static inline struct lath_match leaf_match(const struct leaf *leaf, u64 key)
{
	return lath_heads_match(leaf->head,
				leaf_head(READ_ONCE(leaf->base), READ_ONCE(leaf->shift) & 63, key));
}

/* More entries than this with one head: search them by halves. */
#define LEAF_TIE 8

/* How many of the entries [from, from + n) have a key below this one; all within the leaf. */
unsigned int leaf_tie_rank(const struct leaf *leaf, unsigned int from, unsigned int n, u64 key);
/* leaf_find and leaf_floor for leaves whose keys are so uneven that many share a head. */
int leaf_find_tied(const struct leaf *leaf, struct lath_match m, u64 key);
int leaf_floor_tied(const struct leaf *leaf, struct lath_match m, u64 key);

/* The live entry with exactly this key, or -1; match is leaf_match(leaf, key). */
static inline int leaf_find_match(const struct leaf *leaf, struct lath_match match, u64 key)
{
	u64 m = match.eq & READ_ONCE(leaf->live);

	if (unlikely(hweight64(m) > LEAF_TIE))
		return leaf_find_tied(leaf, match, key);
	while (m) {
		unsigned int i = __ffs64(m);

		if (likely(leaf_key(leaf, i) == key))
			return (int)i;
		m &= m - 1;
	}
	return -1;
}

static inline int leaf_find(const struct leaf *leaf, u64 key)
{
	return leaf_find_match(leaf, leaf_match(leaf, key), key);
}

/* The last live entry with key <= this one, or -1; m is leaf_match(leaf, key). */
static inline int leaf_floor_match(const struct leaf *leaf, struct lath_match m, u64 key)
{
	u64 live = READ_ONCE(leaf->live);
	u64 eq = m.eq & live;

	if (unlikely(hweight64(eq) > LEAF_TIE))
		return leaf_floor_tied(leaf, m, key);
	while (eq) {
		unsigned int i = fls64(eq) - 1;

		if (leaf_key(leaf, i) <= key)
			return (int)i;
		eq &= ~(1ull << i);
	}
	return (int)fls64(m.lt & live) - 1;
}

static inline int leaf_floor(const struct leaf *leaf, u64 key)
{
	return leaf_floor_match(leaf, leaf_match(leaf, key), key);
}

/* The live entry that covers key, or -1. */
static inline int leaf_cover(const struct leaf *leaf, u64 key, bool ranges)
{
	int i;

	if (!ranges)
		return leaf_find(leaf, key);
	i = leaf_floor(leaf, key);
	return i >= 0 && key - leaf_key(leaf, (unsigned int)i) < READ_ONCE(leaf->size[i]) ? i : -1;
}

/* The first live entry after i (i may be -1), or -1. */
static inline int leaf_after(const struct leaf *leaf, int i)
{
	u64 m = READ_ONCE(leaf->live) & ~leaf_mask_below((unsigned int)(i + 1));

	return m ? (int)__ffs64(m) : -1;
}

/* How many entries, live or dead, have a key below this one. */
unsigned int leaf_rank(const struct leaf *leaf, u64 key);

void leaf_init(struct leaf *leaf, u64 low, u64 last, struct node *right, unsigned int shift);
/* Put an entry of this rank into a leaf that has room (leaf_count < LEAF_CAP) and nothing overlapping. */
void leaf_insert(struct leaf *leaf, unsigned int rank, u64 key, u64 size, u64 value, bool ranges);
/* Append to a leaf being filled in order; the caller calls leaf_rescale once at the end. */
void leaf_append(struct leaf *leaf, u64 key, u64 size, u64 value, bool ranges);
static inline void leaf_erase(struct leaf *leaf, unsigned int i)
{
	WRITE_ONCE(leaf->live, leaf->live & ~(1ull << i));
}
void leaf_clear(struct leaf *leaf);
/* Drop dead entries. */
void leaf_compact(struct leaf *leaf, bool ranges);
/* Choose base and shift anew from the keys there, and write all heads. */
void leaf_rescale(struct leaf *leaf);
/* Move the n highest entries of left to the front of right / the n lowest of right to the end of left.
 * Both compacted; the caller rescales both and sets fences. */
void leaf_move_up(struct leaf *left, struct leaf *right, unsigned int n, bool ranges);
void leaf_move_down(struct leaf *left, struct leaf *right, unsigned int n, bool ranges);

/* ---- inner nodes ---- */

/* The child to go to for key: the last one whose separator is <= key. */
static inline unsigned int inner_slot(const struct inner *inner, u64 key)
{
	unsigned int n = READ_ONCE(inner->count), i;

#if defined(LATH_X86_VECTORS)
	if (likely(lath_have_avx512)) {
		i = lath_keys_rank_avx512(inner->sep, key);
		i = i < n ? i : n;
		return i ? i - 1 : 0;
	}
#endif
	i = lath_keys_rank_c(inner->sep, n <= INNER_CAP ? n : INNER_CAP, key);
	return i ? i - 1 : 0;
}

void inner_init(struct inner *inner, unsigned int level, u64 low, u64 last, struct node *right);
/* Put child behind slot i; wants count < INNER_CAP. */
void inner_insert(struct inner *inner, unsigned int i, u64 sep, struct node *child);
void inner_remove(struct inner *inner, unsigned int i);
/* Where child stands at slot i or later, or -1. */
int inner_find(const struct inner *inner, unsigned int i, const struct node *child);
/* Move the n highest children of left to the front of right / all of right to the end of left. */
void inner_move_up(struct inner *left, struct inner *right, unsigned int n);
void inner_move_down(struct inner *left, struct inner *right);

#endif /* LATH_SKIPLIST_NODE_H */
