/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * node.h - the block the index is made of, and what can be done to one or two of them.
 *
 * Floor 1: nothing here takes a lock for longer than its name says, enters a reader or retires
 * memory. Functions that change a node want its lock held; functions that read one give an answer
 * that holds only if the node's word is unchanged afterwards (node_valid).
 *
 * Leaves and inner nodes are the same block: in a leaf an entry is an item, in an inner node it is a
 * separator and the child that holds the keys from there on.
 *
 *   +0     word low last right        fences [low, last] and the right neighbour
 *   +32    live level shift used run base  live: bit i = entry i is there; base, shift: the heads' scale
 *   +64    head[64]                   one byte an entry, ascending with the keys
 *   +128   pair[64] {key, value}      ascending by key; dead entries keep their key
 *   +1152  size[64]                   leaves in the ranges layout; a column of its own, so that a
 *                                     miss never loads it. In a list asked for holes inner nodes
 *                                     have gap[64] here, and every node its own gap behind (gap.h)
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
#ifndef LATH_INDEX_NODE_H
#define LATH_INDEX_NODE_H

#include "arch/search.h"

/* Entries a node: 64 = one mask word and one line of heads. Tests build with small ones, so that
 * splits and merges are everywhere. */
#ifndef LATH_NODE_CAP
#define LATH_NODE_CAP 64
#endif
#define NODE_CAP LATH_NODE_CAP
_Static_assert(NODE_CAP >= 4 && NODE_CAP <= 64, "live is one 64-bit mask");

#define KEY_MAX (~0ull)

/* A link as it stands in memory -> the node to go to. Another place only for who walks a list that lives in
 * another address space (peek.h). */
#ifndef LATH_LINK
#define LATH_LINK(node) (node)
#endif

enum {
	NODE_LOCKED = 1,
	NODE_DEAD = 2,
	NODE_VOID = 4,
	NODE_FLAGS = 7,
	NODE_VERSION = 8, /* one step of the version */
};

struct pair {
	u64 key;
	u64 value; /* in inner nodes the child */
};

struct node {
	u64 word;
	u64 low; /* only ever falls while the node lives */
	u64 last;
	struct node *right;
	u64 live;
	u16 level; /* 0 = leaf */
	u8 shift;
	u8 used; /* entries [0, used) have keys, live or dead */
	u8 run;	 /* so many inserts in a row went each behind the one before: a stream of ascending keys */
	u8 unposted; /* its parent does not know it yet; whoever clears this posts it (grow.c) */
	u8 at;	     /* where the last insert went: a hint, entries may have moved since */
	u8 spare;
	union {
		struct {
			u64 base;
			u64 spare2;
		};
		struct lath_rcu_head rcu; /* once DEAD and unlinked */
	};
	u8 head[64];
	struct pair pair[NODE_CAP];
	u64 size[]; /* `side` words an entry: see below */
};

/* The column beside the pairs has so many words an entry: none in the points layout, one (the size) in
 * leaves of ranges, GAP_WORDS (what lies free below the child, gap.h) in inner nodes of a list that is
 * asked for holes. Calls that move entries take that number as `side`. */
#define GAP_WORDS 8

_Static_assert(offsetof(struct node, head) == 64, "header and heads are adjacent lines");
_Static_assert(NODE_CAP != 64 || sizeof(struct node) == 1152, "18 lines of 64 bytes for 64 entries");
_Static_assert(sizeof(void *) == sizeof(u64), "64-bit hosts only");

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
	lath_delay("read, not yet looked at the word again");
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
		lath_word_locked(READ_ONCE(node->level));
		return true;
	}
	preempt_enable();
	return false;
}

static inline void node_lock(struct node *node) __acquires(node)
{
	while (!node_trylock(node, node_read(node)))
		;
}

/* Leave a changed node. */
static inline void node_unlock(struct node *node) __releases(node)
{
	lath_word_unlocked(READ_ONCE(node->level));
	/* pairs with node_read */
	smp_store_release(&node->word, (READ_ONCE(node->word) & ~(u64)NODE_LOCKED) + NODE_VERSION);
	preempt_enable();
}

/* Leave a node that was not changed: readers under way stay valid. */
static inline void node_unlock_clean(struct node *node) __releases(node)
{
	lath_word_unlocked(READ_ONCE(node->level));
	/* pairs with node_read */
	smp_store_release(&node->word, READ_ONCE(node->word) & ~(u64)NODE_LOCKED);
	preempt_enable();
}

/* Does the node count, and cover key? What is read in it from here on is to be validated by *word. */
static __always_inline bool node_holds(const struct node *node, u64 key, u64 *word)
{
	u64 w = smp_load_acquire(&node->word); /* pairs with node_unlock */

	*word = w;
	return key >= READ_ONCE(node->low) && key <= READ_ONCE(node->last) && likely(!(w & NODE_FLAGS));
}

/* ---- one node ---- */

/* Ask memory for all of it but the sizes. */
static inline void node_prefetch(const struct node *node)
{
	const char *p = (const char *)node;
	unsigned int i;

	for (i = 0; i < sizeof(struct node); i += 64)
		prefetch(p + i);
}

static inline unsigned int node_level(const struct node *node)
{
	return READ_ONCE(node->level);
}

static inline bool node_void(const struct node *node)
{
	return READ_ONCE(node->word) & NODE_VOID;
}

static inline bool node_full(const struct node *node)
{
	return node->live == lath_ones(NODE_CAP);
}

static inline unsigned int node_count(const struct node *node)
{
	return hweight64(READ_ONCE(node->live));
}

static inline u64 node_key(const struct node *node, unsigned int i)
{
	return READ_ONCE(node->pair[i].key);
}

static inline u64 node_value(const struct node *node, unsigned int i)
{
	return READ_ONCE(node->pair[i].value);
}

static inline u64 node_size(const struct node *node, unsigned int i, bool ranges)
{
	return ranges ? READ_ONCE(node->size[i]) : 1;
}

/* the last key entry i covers */
static inline u64 node_end(const struct node *node, unsigned int i, bool ranges)
{
	return node_key(node, i) + node_size(node, i, ranges) - 1;
}

static inline u8 node_head(u64 base, unsigned int shift, u64 key)
{
	u64 h = key < base ? 0 : (key - base) >> shift;

	return h < 255 ? (u8)h : 255;
}

/* The head that stands for key in this node. */
static inline u8 node_head_of(const struct node *node, u64 key)
{
	return node_head(READ_ONCE(node->base), READ_ONCE(node->shift) & 63, key);
}

static inline struct lath_match node_match(const struct node *node, u64 key)
{
	return lath_heads_match(node->head, node_head_of(node, key));
}

/* More entries than this with one head: search them by halves. */
#define NODE_TIE 8

/* How many of the entries [from, from + n) have a key below this one; all within the node. */
unsigned int node_tie_rank(const struct node *node, unsigned int from, unsigned int n, u64 key);
/* node_find among candidates that share a head. */
long node_find_tied(const struct node *node, u64 among, u64 key);
/* The last of the entries `among` with a key <= this one, or -1. */
long node_floor_tied(const struct node *node, u64 among, u64 key);

/* The live entry with exactly this key, or -1; equal: the entries with its head. Most often there is one,
 * or none. */
static __always_inline long node_find_equal(const struct node *node, u64 equal, u64 key)
{
	u64 m = equal & READ_ONCE(node->live);
	unsigned long i;

	if (!m)
		return -1;
	i = __ffs64(m);
	if (likely(READ_ONCE(node->pair[i].key) == key))
		return (long)i;
	m &= m - 1;
	return m ? node_find_tied(node, m, key) : -1;
}

static __always_inline long node_find(const struct node *node, u64 key)
{
	return node_find_equal(node, lath_heads_equal(node->head, node_head_of(node, key)), key);
}

/* The last live entry with key <= this one, or -1. Most often it is the last with its head or a lower one. */
static __always_inline long node_floor(const struct node *node, u64 key)
{
	u64 below_or_at;
	long i = lath_heads_floor(node->head, node_head_of(node, key), READ_ONCE(node->live), &below_or_at);

	if (unlikely(i < 0) || likely(READ_ONCE(node->pair[i].key) <= key))
		return i;
	return node_floor_tied(node, below_or_at & ~(1ull << i), key);
}

/* The live entry that covers key, or -1. */
static __always_inline long node_cover(const struct node *node, u64 key, bool ranges)
{
	long i;

	if (!ranges)
		return node_find(node, key);
	i = node_floor(node, key);
	return i >= 0 && key - READ_ONCE(node->pair[i].key) < READ_ONCE(node->size[i]) ? i : -1;
}

/* The first live entry after i (i may be -1), or -1. */
static inline int node_after(const struct node *node, int i)
{
	u64 m = READ_ONCE(node->live) & ~lath_ones((unsigned int)(i + 1));

	return m ? (int)__ffs64(m) : -1;
}

/* The last live entry before i, or -1. */
static inline int node_before(const struct node *node, int i)
{
	return (int)fls64(READ_ONCE(node->live) & lath_ones((unsigned int)i)) - 1;
}

/*
 * How many entries, live or dead, have a key below this one. Entries with an equal head stand
 * together, behind all that have a lower one. The masks of a node that is being changed may say
 * anything; the number made of them stays within the node.
 */
static inline unsigned int node_match_rank(const struct node *node, struct lath_match m, u64 key)
{
	u64 there = lath_ones(READ_ONCE(node->used)), eq = m.eq & there;
	unsigned int from = lath_prefix(m.lt & there), to;

	if (likely(!eq))
		return from;
	to = __fls64(eq) + 1;
	return node_tie_rank(node, from, to > from ? to - from : 0, key);
}

static inline unsigned int node_rank(const struct node *node, u64 key)
{
	return node_match_rank(node, node_match(node, key), key);
}

void node_init(struct node *node, unsigned int level, u64 low, u64 last, struct node *right,
	       unsigned int shift);
/* Put an entry of this rank into a node that is not full and has nothing overlapping. */
void node_insert(struct node *node, unsigned int rank, u64 key, u64 size, u64 value, unsigned int side);
/* Append to a node being filled in order; the caller rescales once at the end. */
void node_append(struct node *node, u64 key, u64 size, u64 value, unsigned int side);
static inline void node_erase(struct node *node, unsigned int i)
{
	WRITE_ONCE(node->live, node->live & ~(1ull << i));
}
/* Nothing is known of what lies free below entry i of an inner node: anything may. */
void node_forget_gap(struct node *node, unsigned int i);
void node_clear(struct node *node);
/* Drop dead entries. */
void node_compact(struct node *node, unsigned int side);
/* The opposite, in a node without dead entries: put some between the others, so that these are spread over all slots
 * and what comes finds a free slot near. The caller rescales. */
void node_spread(struct node *node, unsigned int side);
/* Write all heads for this scale / for the best scale for the keys there. */
void node_scale(struct node *node, u64 base, unsigned int shift);
void node_rescale(struct node *node);
/* Move the n highest entries of left to the front of right / the n lowest of right to the end of left.
 * Both compacted; the caller rescales both and sets fences. */
void node_move_up(struct node *left, struct node *right, unsigned int n, unsigned int side);
void node_move_down(struct node *left, struct node *right, unsigned int n, unsigned int side);

/* ---- inner nodes ---- */

static inline struct node *node_child(const struct node *node, unsigned int i)
{
	return (struct node *)(uintptr_t)READ_ONCE(node->pair[i].value);
}

/* The entry whose child to go to for key: the last one whose separator is <= key; -1 if the node begins
 * behind key, for the first separator is its low fence. */
static __always_inline long inner_slot(const struct node *node, u64 key)
{
	return node_floor(node, key);
}

#endif /* LATH_INDEX_NODE_H */
