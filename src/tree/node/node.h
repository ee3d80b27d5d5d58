/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * node.h - a node of the tree: a block of up to 64 entries, and the operations on one or two nodes.
 *
 * Leaves and inner nodes have the same layout. An entry of a leaf is an item; an entry of an inner
 * node is a separator key and the child that holds the keys from the separator on (a downlink).
 *
 *   +0     lockword low last right    fence keys [low, last] and the right sibling
 *   +32    live level cap shift ...   live: bit i is set if entry i is live; base, shift: scale of
 *                                     the heads
 *   +64    head[64]                   one byte per entry, ascending with the keys; or
 *          pivot[8]                   every eighth key: in inner nodes, and in leaves whose keys
 *                                     lie unevenly
 *   +128   pair[64] {key, value}      ascending by key; an erased entry keeps its key
 *   +1152  side[]                     leaves of ranges: the sizes, its own column so that a
 *                                     miss never loads it. Then, where values are longer than a
 *                                     word, a row per entry: the words of its value but the first.
 *                                     Inner nodes with LATH_RANKS: the counts of their entries
 *                                     (tree/watch/rank.h); with LATH_HOLES: columns of their
 *                                     entries' summaries (tree/watch/gap.h). With LATH_HOLES a
 *                                     node's own summary follows
 *
 * Version lock (optimistic lock coupling; Leis et al., "The ART of practical synchronization",
 * DaMoN 2016). The lockword is a lock bit, two state bits and a version that grows with every
 * change.
 *   LOCKED     a writer holds the node
 *   ALIVE      the node is part of the tree. A node without it is dead: it was merged into its left
 *              sibling, or moved, and unlinked; or it is not in use. A reader that meets it starts
 *              again. So memory of zeros, which the host may put in place of unused nodes at any
 *              time, is dead nodes
 *   HALF_DEAD  the node covers no key: its key space has moved to its right sibling (Lanin and
 *              Shasha 1986)
 * A reader remembers the lockword (node_read), reads, and compares it afterwards (node_valid).
 * node_trylock(node, lockword) succeeds only if the node has not changed since; then everything
 * that was read under that lockword still holds. node_lock waits for the lock and gives no such
 * guarantee.
 *
 * Key heads: head = min(255, (key - base) >> shift), 0 below base. Keys in order have heads in
 * order, so one compare of 64 bytes leaves the few entries with an equal head: most often one for a
 * hit, none for a miss. Heads of the entries from `used` on are 255 and their live bits are clear.
 *
 * Pivots: the keys of entries 0, 8, 16, ... One compare of eight words finds the group of eight
 * entries that a key belongs to, a second one the entry, however the keys lie. Pivots from `used`
 * on are KEY_MAX. A search that uses pivots reads two lines of pairs, one that uses heads reads
 * one; so a leaf has heads, unless more than half of its entries would share their heads with a
 * neighbour.
 *
 * Functions that change a node require its lock, or a node that no other thread can reach yet.
 * Functions that only read one may run without: what they return holds if node_valid says so
 * afterwards. Nothing here allocates, retires memory or enters an RCU read-side critical section.
 */
#ifndef LATH_INDEX_NODE_H
#define LATH_INDEX_NODE_H

#include "arch/search.h"

/* Entries per node: 64 fill one mask word and one line of heads. Tests build with fewer, so that
 * splits and merges happen all the time. */
#ifndef LATH_NODE_CAP
#define LATH_NODE_CAP 64
#endif
#define NODE_CAP LATH_NODE_CAP
_Static_assert(NODE_CAP >= 4 && NODE_CAP <= 64, "live is one 64-bit mask");

#define KEY_MAX (~0ull)

enum {
	NODE_LOCKED = 1,
	NODE_ALIVE = 2,
	NODE_HALF_DEAD = 4,
	NODE_FLAGS = 7,
	NODE_VERSION = 8, /* one step of the version */
};

struct pair {
	u64 key;
	u64 value; /* in inner nodes the child */
};

/* Entries of the leaf that an index of points begins with. It has heads whatever its keys are. */
#define NODE_FIRST (NODE_CAP * 3 / 8)

/* `shift` of nodes that have pivots. */
#define NODE_PIVOTED 64

/* Added to `level` of a leaf whose side column has the sizes of its items. Without it the items of
 * a leaf are points. */
#define NODE_SIZES 128
/* Added to it if values are longer than a word. */
#define NODE_LONG 64

/* There is a pivot for each group of this many entries. */
#define PIVOTS 8
#define PIVOT_GROUP 8
_Static_assert(NODE_CAP <= PIVOTS * PIVOT_GROUP, "a pivot for each group");

/* What a search of a node asks for first. */
union node_form {
	struct {
		u8 level; /* 0 = leaf; with NODE_SIZES if its items have sizes, with NODE_LONG */
		u8 cap;	  /* entries it has room for: NODE_CAP, or NODE_FIRST in the first leaf */
		u8 shift; /* of the heads, or NODE_PIVOTED */
		u8 used;  /* entries [0, used) have keys, live or dead */
	};
	u32 word;
};

struct node {
	u64 lockword;
	u64 low; /* only ever falls while the node lives */
	u64 last;
	struct node *right;
	u64 live;
	union {
		struct {
			u8 level, cap, shift, used;
		};
		union node_form form;
	};
	u8 run; /* inserts in a row, each right behind the one before: an ascending stream */
	u8 no_downlink; /* no parent entry leads here yet; the thread that clears this posts it
			   (tree/step/post.c) */
	u8 at;		/* where the last insert went: a hint, entries may have moved since */
	u8 counted;	/* of a leaf: a count above may include its items (tree/watch/rank.h) */
	union {
		struct {
			u64 base;	     /* of a leaf's heads */
			struct chunk *chunk; /* whose memory it is (tree/memory/pool.c) */
		};
		struct lath_rcu_head rcu; /* once dead and unlinked */
	};
	union {
		u8 head[64];	   /* 255 from `used` on */
		u64 pivot[PIVOTS]; /* the keys of entries 0, 8, 16, ...; KEY_MAX
				      from `used` on */
	};
	struct pair pair[NODE_CAP];
	u64 size[]; /* the side column */
};

/* What the side column has for each entry. Functions that move entries take it as `side`: 0, or the
 * sum of
 *   SIDE_WORD     a word: the size in leaves of ranges, the count in inner nodes with LATH_RANKS
 *   SIDE_SUMMARY  a summary of SIDE_WORDS words, in inner nodes with LATH_HOLES: SIDE_CODES columns
 *		   of 16-bit codes, four entries in a word, and then two columns of words
 *   SIDE_MORE     for each word of a value behind its first one, in leaves: a row of them */
enum { SIDE_WORD = 1, SIDE_SUMMARY = 2, SIDE_MORE = 4 };
/* Words of a value, at most. */
#define VALUE_WORDS 8
#ifndef LATH_SIDE_CODES
#define LATH_SIDE_CODES 32
#endif
#define SIDE_CODES LATH_SIDE_CODES
#define SIDE_WORDS (SIDE_CODES / 4 + 2)
/* Words of one column of codes; the first word behind all of them. */
#define SIDE_COLUMN (NODE_CAP / 4)
#define SIDE_CODES_END (SIDE_CODES * SIDE_COLUMN)

/* Words per entry. */
static inline unsigned int side_words(unsigned int side)
{
	return side / SIDE_MORE + (side & SIDE_WORD ? 1 : side & SIDE_SUMMARY ? SIDE_WORDS : 0);
}

_Static_assert(NODE_CAP % 4 == 0, "columns are whole words");

_Static_assert(offsetof(struct node, head) == 64, "header and heads are adjacent lines");
_Static_assert(offsetof(struct node, pair) == 128, "pairs follow the pivots");
_Static_assert(NODE_CAP != 64 || sizeof(struct node) == 1152,
	       "18 lines of 64 bytes for 64 entries");
_Static_assert(sizeof(void *) == sizeof(u64), "64-bit hosts only");

static inline unsigned int node_level(const struct node *node)
{
	return READ_ONCE(node->level) & (NODE_LONG - 1u);
}

/* ---- versions and locks ---- */

/* Is a node with this lockword no part of the tree? */
static __always_inline bool node_dead(u64 lockword)
{
	return !(lockword & NODE_ALIVE);
}

/* Is it alive, not half-dead and not locked? */
static __always_inline bool node_sound(u64 lockword)
{
	return !((lockword - NODE_ALIVE) & NODE_FLAGS);
}

/* Wait until the node is not locked; returns its lockword then. The caller holds no node. */
u64 lath_node_wait(struct node *node);
/* As lath_node_wait(), for a caller that holds a node above this one or left of it: it waits in
 * short pauses. */
u64 lath_node_wait_holding(struct node *node);

/* Begin an optimistic read; no node held. Returns the lockword, never a locked one: waits for a
 * writer. */
static inline u64 node_read(struct node *node)
{
	u64 lockword = smp_load_acquire(&node->lockword); /* pairs with node_unlock */

	return likely(!(lockword & NODE_LOCKED)) ? lockword : lath_node_wait(node);
}

/* End an optimistic read. Returns true if the node has not changed since node_read returned
 * `lockword`. */
static inline bool node_valid(struct node *node, u64 lockword)
{
	lath_delay("read, lockword not yet compared");
	smp_rmb(); /* pairs with smp_wmb in node_trylock */
	return likely(READ_ONCE(node->lockword) == lockword);
}

/* Lock the node if its lockword is still `lockword`; returns whether it did. The write barrier
 * orders the lock bit before the stores that follow: a reader that sees one of them finds the
 * lockword changed. */
static inline bool node_trylock(struct node *node, u64 lockword)
{
	LATH_ASSERT(!(lockword & NODE_LOCKED));
	preempt_disable();
	/* pairs with node_unlock */
	if (likely(cmpxchg_acquire(&node->lockword, lockword, lockword | NODE_LOCKED) ==
		   lockword)) {
		smp_wmb(); /* pairs with smp_rmb in node_valid */
		lath_call_assert();
		lath_word_locked(node_level(node));
		return true;
	}
	preempt_enable();
	return false;
}

/* Does some thread hold the node's lock, or is the node not reachable yet? For assertions. */
static inline bool node_is_locked(const struct node *node)
{
	u64 lockword = READ_ONCE(node->lockword);

	return lockword & NODE_LOCKED || node_dead(lockword);
}

/* Lock the node; waits for other writers. The caller may hold nodes above this one or left of it.
 * The node may have died during the wait: the caller knows why it has not. */
static inline void node_lock(struct node *node) __acquires(node)
{
	while (!node_trylock(node, lath_node_wait_holding(node)))
		;
}

/* Unlock a node that was changed: readers that began before find their lockword outdated. */
static inline void node_unlock(struct node *node) __releases(node)
{
	LATH_ASSERT(READ_ONCE(node->lockword) & NODE_LOCKED);
	lath_word_unlocked(node_level(node));
	/* pairs with node_read */
	smp_store_release(&node->lockword,
			  (READ_ONCE(node->lockword) & ~(u64)NODE_LOCKED) + NODE_VERSION);
	preempt_enable();
}

/* Unlock a node that was not changed: readers that began before stay valid. */
static inline void node_unlock_clean(struct node *node) __releases(node)
{
	LATH_ASSERT(READ_ONCE(node->lockword) & NODE_LOCKED);
	lath_word_unlocked(node_level(node));
	/* pairs with node_read */
	smp_store_release(&node->lockword, READ_ONCE(node->lockword) & ~(u64)NODE_LOCKED);
	preempt_enable();
}

static inline void node_unlock_as(struct node *node, bool changed) __releases(node)
{
	if (changed)
		node_unlock(node);
	else
		node_unlock_clean(node);
}

/* Begin an optimistic read of a leaf that may be any leaf by now. Returns true if it is alive, not
 * locked and covers key; *lockword is to be validated afterwards. */
static __always_inline bool node_holds(const struct node *node, u64 key, u64 *lockword)
{
	u64 w = smp_load_acquire(&node->lockword); /* pairs with node_unlock */

	*lockword = w;
	return key >= READ_ONCE(node->low) && key <= READ_ONCE(node->last) && likely(node_sound(w));
}

/* Mark a node as dead that is locked, or that no other thread sees. */
static inline void node_kill(struct node *node)
{
	WRITE_ONCE(node->lockword, READ_ONCE(node->lockword) & ~(u64)NODE_ALIVE);
}

/* ---- one node ---- */

/* Prefetch all of the node but the side column. */
static inline void node_prefetch(const struct node *node)
{
	const char *p = (const char *)node;
	unsigned int i;

	for (i = 0; i < sizeof(struct node); i += 64)
		prefetch(p + i);
}

static inline bool node_half_dead(const struct node *node)
{
	return READ_ONCE(node->lockword) & NODE_HALF_DEAD;
}

static inline bool node_full(const struct node *node)
{
	return node->used == node->cap && node->live == lath_ones(node->cap);
}

static inline unsigned int node_count(const struct node *node)
{
	return lath_count_bits(READ_ONCE(node->live));
}

static inline u64 node_key(const struct node *node, unsigned int i)
{
	return READ_ONCE(node->pair[i].key);
}

static inline u64 node_value(const struct node *node, unsigned int i)
{
	return READ_ONCE(node->pair[i].value);
}

/* The words of entry i's value behind its first one, in a leaf whose side has SIDE_MORE. */
static __always_inline u64 *node_row(const struct node *node, unsigned int i, unsigned int side)
{
	return (u64 *)node->size + (side & SIDE_WORD ? NODE_CAP : 0) +
	       (size_t)i * (side / SIDE_MORE);
}

/* Copy the words of entry i's value, of which there are several. */
static inline void node_copy_long(const struct node *node, unsigned int i, unsigned int side,
				  u64 *to)
{
	const u64 *row = node_row(node, i, side), *end = row + side / SIDE_MORE;

	*to = node_value(node, i);
	while (row < end)
		*++to = READ_ONCE(*row++);
}
/* Set them. */
void lath_node_set_long(struct node *node, unsigned int i, const u64 *words, unsigned int side);

/* Set the value of entry i. `value`: the value, or the address of its words if there are more than
 * one. */
static inline void node_set_value(struct node *node, unsigned int i, u64 value, unsigned int side)
{
	if (unlikely(side >= SIDE_MORE))
		lath_node_set_long(node, i, (const u64 *)(uintptr_t)value, side);
	else
		WRITE_ONCE(node->pair[i].value, value);
}

/* The word of entry i in the side column of a leaf that has one. */
static inline u64 node_side(const struct node *node, unsigned int i)
{
	return READ_ONCE(node->size[i]);
}

static inline bool node_has_sizes(const struct node *node)
{
	return READ_ONCE(node->level) & NODE_SIZES;
}

static inline u64 node_size(const struct node *node, unsigned int i)
{
	return node_has_sizes(node) ? node_side(node, i) : 1;
}

/* The last key that entry i covers. */
static inline u64 node_end(const struct node *node, unsigned int i)
{
	return node_key(node, i) + node_size(node, i) - 1;
}

static inline u8 node_head(u64 base, unsigned int shift, u64 key)
{
	u64 h = key < base ? 0 : (key - base) >> shift;

	return h < 255 ? (u8)h : 255;
}

/* The head of key in this node's scale. */
static inline u8 node_head_of(const struct node *node, u64 key)
{
	return node_head(READ_ONCE(node->base), READ_ONCE(node->shift) & 63, key);
}

static __always_inline bool node_pivoted(const struct node *node)
{
	return READ_ONCE(node->shift) == NODE_PIVOTED;
}

/* The first entry of the group in which key is, or would be. */
static __always_inline unsigned int node_group(const struct node *node, u64 key)
{
	unsigned int groups = lath_pivots_floor_c(node->pivot, key);

	return groups ? min((groups - 1) * PIVOT_GROUP, NODE_CAP - 1u) : 0;
}

/* node_floor and node_find of a node with pivots. */
long lath_node_floor_by_pivots(const struct node *node, u64 key);
long lath_node_find_by_pivots(const struct node *node, u64 key);

/* The form of a node. Checked builds read each place in one size. */
static __always_inline union node_form node_form(const struct node *node)
{
#if LATH_CHECKED
	return (union node_form){ { READ_ONCE(node->level), READ_ONCE(node->cap),
				    READ_ONCE(node->shift), READ_ONCE(node->used) } };
#else
	return (union node_form){ .word = READ_ONCE(node->form.word) };
#endif
}

/* Is it a leaf of points, whose values are words, with heads? */
static __always_inline bool form_simple(union node_form form)
{
	const union node_form others = { { NODE_SIZES | NODE_LONG, 0, NODE_PIVOTED, 0 } };

	return !(form.word & others.word);
}

/* Returns the live entries that have the head of key. Only where lath_vectors(). */
static __always_inline u64 node_equal(const struct node *node, union node_form form, u64 key)
{
	u8 h = node_head(READ_ONCE(node->base), form.shift & 63, key);

	return lath_heads_equal_vector(node->head, h) & READ_ONCE(node->live);
}

/* If more entries than this share a head, binary search decides among them. */
#define NODE_TIE 8

/* Returns the first position in [from, from + n] whose entry's key is not below key. */
unsigned int lath_node_tie_rank(const struct node *node, unsigned int from, unsigned int n,
				u64 key);
/* node_find among the entries of a mask, which share a head. */
long lath_node_find_tied(const struct node *node, u64 among, u64 key);
/* The last entry of the mask with a key <= this one, or -1. */
long lath_node_floor_tied(const struct node *node, u64 among, u64 key);

/* Returns the live entry with exactly this key, or -1. `equal`: the entries with its head, most
 * often one or none. */
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
	return m ? lath_node_find_tied(node, m, key) : -1;
}

static __always_inline long node_find(const struct node *node, u64 key)
{
	if (unlikely(node_pivoted(node)))
		return lath_node_find_by_pivots(node, key);
	return node_find_equal(node, lath_heads_equal(node->head, node_head_of(node, key)), key);
}

/* Returns the last live entry with a key <= this one, or -1. */
static __always_inline long node_floor(const struct node *node, u64 key)
{
	u64 below_or_at;
	long i;

	if (unlikely(node_pivoted(node)))
		return lath_node_floor_by_pivots(node, key);
	i = lath_heads_floor(node->head, node_head_of(node, key), READ_ONCE(node->live),
			     &below_or_at);
	if (unlikely(i < 0) || likely(READ_ONCE(node->pair[i].key) <= key))
		return i;
	return lath_node_floor_tied(node, below_or_at & ~(1ull << i), key);
}

/* Returns the live entry that covers key, or -1. */
static __always_inline long node_cover(const struct node *node, u64 key)
{
	long i;

	if (!node_has_sizes(node))
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

/* node_rank() of a node with pivots, or where entries share the key's head. */
unsigned int lath_node_rank_tied(const struct node *node, u64 key);

/*
 * Returns the rank of key: the number of entries, live or erased, with a lower key. Entries with
 * equal heads are adjacent and follow those with lower ones; behind all there are heads of 255. In
 * a node that is being changed the result may be wrong, but never points outside the node.
 */
static __always_inline unsigned int node_rank(const struct node *node, u64 key)
{
	unsigned int used = READ_ONCE(node->used), from;

	if (unlikely(node_pivoted(node)))
		return lath_node_rank_tied(node, key);
	from = lath_prefix(~lath_heads_not_below(node->head, node_head_of(node, key)));
	/* the first of those that share its head, if there are any, is not below key either */
	if (from >= used || likely(node_key(node, from) >= key))
		return min(from, used);
	return lath_node_rank_tied(node, key);
}

/* Make an empty node of a dead one; it stays dead until node_open (tree/memory/pool.h). `level`:
 * what the field of that name shall be. */
void lath_node_init(struct node *node, unsigned int level, u64 low, u64 last, struct node *right,
		    unsigned int shift);
/* Insert an entry at its rank. The node is not full, and no live entry overlaps. `value`: as for
 * node_set_value(). `size` is ignored without SIDE_WORD; a summary is set to "unknown"
 * (lath_node_side_unknown). */
void lath_node_insert(struct node *node, unsigned int rank, u64 key, u64 size, u64 value,
		      unsigned int side);
/* Append an entry to a node that is filled in order; the caller reindexes at the end. */
void lath_node_append(struct node *node, u64 key, u64 size, u64 value, unsigned int side);
/* Erase entry i: its live bit is cleared, its key stays. */
static inline void node_erase(struct node *node, unsigned int i)
{
	LATH_ASSERT(node_is_locked(node) && i < NODE_CAP && node->live >> i & 1);
	WRITE_ONCE(node->live, node->live & ~(1ull << i));
}
/* The entry that was erased last is live again; nothing else has changed since. */
static inline void node_revive(struct node *node, unsigned int i)
{
	LATH_ASSERT(node_is_locked(node) && i < node->used && !(node->live >> i & 1));
	WRITE_ONCE(node->live, node->live | 1ull << i);
}
/* Set the summary of entry i of an inner node to "unknown: anything may be free". */
void lath_node_side_unknown(struct node *node, unsigned int i);
/* Erase all entries and forget their keys. */
void lath_node_clear(struct node *node);
/* Remove erased entries, so that the live ones are the first ones. */
void lath_node_compact(struct node *node, unsigned int side);
/* Copy a locked node of this many bytes to one that no other thread can reach: all but the lockword
 * and the chunk. */
void lath_node_copy(struct node *to, const struct node *from, size_t size);
/* Compute what a search compares first: pivots, or the heads of a leaf in the finest scale that
 * covers its keys. */
void lath_node_reindex(struct node *node);
/* Move the n highest entries of left to the front of right / the n lowest of right to the end of
 * left. Both nodes are compact. The caller reindexes both and sets the fence keys. */
void lath_node_move_up(struct node *left, struct node *right, unsigned int n, unsigned int side);
void lath_node_move_down(struct node *left, struct node *right, unsigned int n, unsigned int side);

/* ---- inner nodes ---- */

static inline struct node *node_child(const struct node *node, unsigned int i)
{
	return (struct node *)(uintptr_t)READ_ONCE(node->pair[i].value);
}

/* Returns the entry whose child a descent for key takes: the last one whose separator is <= key. -1
 * if key is below the node's low fence, which is its first separator. */
static __always_inline long inner_slot(const struct node *inner, u64 key)
{
	unsigned int n = lath_inner_floor(inner->pivot, NODE_CAP, key);

	return (long)fls64(READ_ONCE(inner->live) & lath_ones(n)) - 1;
}

/* The last key for which a descent takes entry i. */
static inline u64 inner_end(const struct node *inner, unsigned int i)
{
	int next = node_after(inner, (int)i);

	return next >= 0 ? node_key(inner, (unsigned int)next) - 1 : READ_ONCE(inner->last);
}

/* Insert an entry at its rank. The node is not full and has no live entry with this separator; the
 * entry's summary is set to "unknown", its count to "outdated". */
void lath_inner_insert(struct node *inner, u64 separator, struct node *child, unsigned int side);

#endif /* LATH_INDEX_NODE_H */
