/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hint.h - the hint table: from a key to its leaf without a descent.
 *
 * The table divides the range of the keys into equal steps, and a step with many leaves again, as
 * deep as their distribution asks for: a histogram tree (Crotty, "Hist-Tree: those who ignore it
 * are doomed to learn", CIDR 2021) over the leaves' first keys. Where keys lie evenly a search
 * reads one word of it; in clusters two or three. The word says which leaf covers the end of its
 * step, where in the step that leaf begins, and how dense its entries are. So a search prefetches
 * the leaf's header and the pairs it will need at once.
 *
 * Like a finger, a word is a hint: the leaf's memory stays a leaf's of this tree, and its lockword
 * and fence keys tell whether it is the right one. Splits and merges do not maintain the table. Who
 * was led to a wrong leaf corrects the words near the key once it has found the right one
 * (lath_hint_learn). When the searches that were misled have cost as much as making the whole table
 * anew takes, the next calls make it anew, each a slice of it (hint_tick). So the table follows
 * every kind of load, and in a tree that rests it is right.
 *
 * The table is made in place; until it is complete it is not used. A thread that began to use it
 * before may read words of both, or write a word in a place that has another meaning now. That
 * misleads later searches at worst: every word leads to a leaf or to words that exist. Only calls
 * that may allocate get memory for it. It stays until the tree ends, so looking at it needs no
 * read-side critical section.
 *
 * There is no table with LATH_NODE_EACH, in shared memory and in the kernel.
 */
#ifndef LATH_INDEX_HINT_H
#define LATH_INDEX_HINT_H

#include "tree/way/finger.h"
#include "tree/way/descend.h"

#ifdef __KERNEL__
static inline const struct hint *hint_of(const struct tree *tree)
{
	return NULL;
}

static inline struct node *hint_find(struct tree *tree, u64 key, u64 *lockword, enum intent intent)
{
	return NULL;
}

static inline void hint_prefetch(const struct tree *tree, u64 key)
{
}

struct hint_step {
};

static inline void hint_begin_all(const struct hint *hint, unsigned int n, const u64 *key,
				  size_t stride, struct hint_step *at)
{
}

static inline bool hint_near(unsigned int n, const struct hint_step *at)
{
	return true;
}

static inline void hint_predict_all(const struct hint *hint, unsigned int n, const u64 *key,
				    size_t stride, struct hint_step *at, struct node **leaf)
{
}

static inline struct node *lath_hint_find_near(struct tree *tree, u64 key, struct node *leaf,
					       u64 *lockword)
{
	return NULL;
}

static inline void hint_missed(struct tree *tree, u64 key, struct node *leaf, u64 lockword)
{
}

static inline void hint_tick(struct tree *tree, bool may_allocate)
{
}

static inline void lath_hint_consider(struct tree *tree)
{
}

static inline void lath_hint_build(struct tree *tree)
{
}

static inline u64 lath_hint_bytes(const struct tree *tree)
{
	return 0;
}

static inline void lath_hint_trim(struct tree *tree)
{
}

static inline void lath_hint_fini(struct tree *tree)
{
}
#else

/* Leaves from which on a tree has a table: what fits the caches is descended as fast. Tests set it
 * to 1. */
extern unsigned int lath_hint_least;

/* Words are in segments: the first has 2^HINT_SEGMENT words, each further one as many as all before
 * it. */
#define HINT_SEGMENT 10
#define HINT_SEGMENTS 22

/*
 * A block has a word for each of its steps of 2^shift keys; the first and the last word stand for
 * all keys before and behind them. A word is either a leaf's or a block's:
 *
 *   leaf   bit 0: 0; then the leaf's address / 64; then its first key's place in the step, in
 *	    1/256 of a step, plus HINT_BEGIN; then its entries per 1/256 of a step, times
 *	    2^HINT_DENSE
 *   block  bit 0: 1; then the logarithm of its number of words; its shift; the number of its first
 *	    word / 4; and how many of its steps lie in the word's own step before its second word
 */
#define HINT_PARTS 8
#define HINT_LEAF 41
#define HINT_PART 14
#define HINT_PART_MAX ((1u << HINT_PART) - 1)
#define HINT_DENSE_MAX ((1u << (63 - HINT_LEAF - HINT_PART)) - 1)
#define HINT_DENSE 9
#define HINT_BEGIN (1 << (HINT_PART - 1))

#define HINT_BLOCK_SHIFT 6
#define HINT_BLOCK_FIRST 12
#define HINT_BLOCK_SKIP 39
#define HINT_SKIP_MAX ((1ull << (64 - HINT_BLOCK_SKIP)) - 1)
/* Steps of the first block are at most so long, that a part of a step is easily told. */
#define HINT_SHIFT_MAX 55
/* Blocks on the way to a leaf, at most. */
#define HINT_DEPTH 6

struct hint {
	/* the first block: */
	u64 skip; /* the number of the step that word 1 stands for, counted from key 0 */
	u64 last; /* the last word; their segments are allocated */
	u64 shift;
	uintptr_t segment[HINT_SEGMENTS]; /* where word 0 would be if all words followed each
					     other */
	/* written under tree->hint_lock */
	u64 used;	     /* words, while the table is made */
	u64 want;	     /* words that the table would have liked to have */
	unsigned int leaves; /* when it was made */
	unsigned int segments;
	u64 touched; /* words that have memory, if the host has taken the rest; else 0 */
	void *memory[HINT_SEGMENTS];
};

/* The table, or NULL while there is none. */
static __always_inline const struct hint *hint_of(const struct tree *tree)
{
	return smp_load_acquire(&tree->hint); /* pairs with the store in hint.c publish */
}

/* Word i, or NULL if there is none. */
static __always_inline u64 *hint_word(const struct hint *hint, u64 i)
{
	/* pairs with the store in hint.c add_segment */
	uintptr_t at = smp_load_acquire(&hint->segment[fls64(i >> HINT_SEGMENT)]);

	return likely(at) ? (u64 *)(at + i * sizeof(u64)) : NULL;
}

/* A step of a block. */
struct hint_step {
	u64 i;		 /* its word */
	u64 first, last; /* words of the block */
	unsigned int shift;
	bool within; /* the key is in the step; else before or behind all */
};

/* The step of the first block that key belongs to. */
static __always_inline void hint_begin(const struct hint *hint, u64 key, struct hint_step *at)
{
	u64 i;

	at->shift = READ_ONCE(hint->shift) & 63;
	at->first = 0;
	at->last = READ_ONCE(hint->last);
	i = (key >> at->shift) - READ_ONCE(hint->skip) + 1;
	at->within = i - 1 < at->last - 1;
	at->i = likely(at->within) ? i : (s64)i <= 0 ? 0 : at->last;
}

static __always_inline bool hint_is_block(u64 word)
{
	return word & 1;
}

/* Go on to the block that the step's word leads to. */
static __always_inline void hint_down(u64 word, u64 key, struct hint_step *at)
{
	unsigned int shift = word >> HINT_BLOCK_SHIFT & 63;
	u64 words = 1ull << (word >> 1 & 31), i;

	i = ((key & lath_ones(at->shift)) >> shift) - (word >> HINT_BLOCK_SKIP) + 1;
	at->shift = shift;
	at->first = (word >> HINT_BLOCK_FIRST & lath_ones(HINT_BLOCK_SKIP - HINT_BLOCK_FIRST)) * 4;
	at->last = at->first + words - 1;
	at->within = i - 1 < words - 2;
	at->i = at->first + (likely(at->within) ? i : (s64)i <= 0 ? 0 : words - 1);
}

/* Returns the word of key's last step, a leaf's; 0: none. */
static __always_inline u64 hint_seek(const struct hint *hint, u64 key, struct hint_step *at)
{
	unsigned int depth;
	const u64 *place;
	u64 word;

	hint_begin(hint, key, at);
	for (depth = 0; depth <= HINT_DEPTH; depth++) {
		place = hint_word(hint, at->i);
		word = likely(place) ? READ_ONCE(*place) : 0;
		if (likely(!hint_is_block(word)))
			return word;
		hint_down(word, key, at);
	}
	return 0;
}

/* The word of the leaf that covers the beginning of the step; 0: none. */
static __always_inline u64 hint_before(const struct hint *hint, const struct hint_step *at)
{
	u64 i = at->i - 1, word;
	unsigned int depth;
	const u64 *place;

	for (depth = 0; depth <= HINT_DEPTH; depth++) {
		place = hint_word(hint, i);
		word = likely(place) ? READ_ONCE(*place) : 0;
		if (likely(!hint_is_block(word)))
			return word;
		i = (word >> HINT_BLOCK_FIRST & lath_ones(HINT_BLOCK_SKIP - HINT_BLOCK_FIRST)) * 4 +
		    (1ull << (word >> 1 & 31)) - 1;
	}
	return 0;
}

/* The estimated index of the entry at `part` of the step. Negative: left of the leaf. */
static __always_inline s64 hint_entry(u64 word, s64 part)
{
	part += HINT_BEGIN - (s64)(word >> (HINT_LEAF + 1) & HINT_PART_MAX);
	return part * (s64)(word >> (HINT_LEAF + 1 + HINT_PART)) >> HINT_DENSE;
}

static __always_inline struct node *hint_leaf(u64 word)
{
	return (struct node *)(uintptr_t)((word & (lath_ones(HINT_LEAF) << 1)) << 5);
}

/* The leaf that covers key and the address of the key's pair in it, as a word tells; NULL: it tells
 * nothing. */
static __always_inline struct node *hint_read(const struct hint *hint, u64 word, u64 key,
					      const struct hint_step *at, const char **pair)
{
	s64 part = (s64)(key << HINT_PARTS >> at->shift & lath_ones(HINT_PARTS));
	s64 entry = hint_entry(word, part);
	struct node *leaf;

	if (unlikely((u64)entry >= NODE_CAP)) {
		if (entry < 0 && at->i > at->first) { /* the leaf begins behind the key */
			word = hint_before(hint, at);
			entry = hint_entry(word, part + (1 << HINT_PARTS));
		}
		entry = max(entry, (s64)0);
		entry = min(entry, (s64)NODE_CAP - 1);
	}
	leaf = hint_leaf(word);
	*pair = (const char *)&leaf->pair[entry];
	return leaf;
}

/* The leaf that probably covers key and the address of the key's pair in it, or NULL. */
static __always_inline struct node *hint_predict(const struct hint *hint, u64 key,
						 const char **pair)
{
	struct hint_step at;
	u64 word = hint_seek(hint, key, &at);

	return hint_read(hint, word, key, &at, pair);
}

/* The table led to `leaf`, which does not cover key. Move right if the right one is near: returns
 * as hint_find. */
struct node *lath_hint_find_near(struct tree *tree, u64 key, struct node *leaf, u64 *lockword);

/* Returns the leaf that covers key, by the table, with its lockword; NULL: the caller descends, and
 * then calls hint_missed(). */
static __always_inline struct node *hint_find(struct tree *tree, u64 key, u64 *lockword,
					      enum intent intent)
{
	const struct hint *hint = hint_of(tree);
	struct node *leaf;
	const char *pair;

	if (!hint)
		return NULL;
	leaf = hint_predict(hint, key, &pair);
	if (unlikely(!leaf))
		return NULL;
	/* before the leaf is known to be the right one: its first miss is under way all the same */
	prefetch_leaf(leaf, pair, intent);
	if (likely(node_holds(leaf, key, lockword)))
		return leaf;
	return lath_hint_find_near(tree, key, leaf, lockword);
}

/* An insert of key will come soon: prefetch what it needs. */
static inline void hint_prefetch(const struct tree *tree, u64 key)
{
	const struct hint *hint = hint_of(tree);
	struct node *leaf = NULL;
	const char *pair;

	/* with trusted fingers the leaf is in the cache */
	if (hint && !fingers_trusted(tree))
		leaf = hint_predict(hint, key, &pair);
	if (leaf)
		prefetch_leaf(leaf, pair, FOR_INSERT);
}

#define HINT_GROUP 64

/* Prefetch the first words for n <= HINT_GROUP keys, `stride` bytes apart. */
static __always_inline void hint_begin_all(const struct hint *hint, unsigned int n, const u64 *key,
					   size_t stride, struct hint_step *at)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		hint_begin(hint, *(const u64 *)((const char *)key + i * stride), &at[i]);
		/* one miss per key, all under way at once */
		prefetch((const char *)hint_word(hint, at[i].i));
	}
}

/* Are n keys near each other, so that their leaves fit the caches? A leaf has two or three steps.
 */
static inline bool hint_near(unsigned int n, const struct hint_step *at)
{
	u64 low = at[0].i, high = low;
	unsigned int i;

	for (i = 1; i < n; i++) {
		low = min(low, at[i].i);
		high = max(high, at[i].i);
	}
	return high - low < 2ull * lath_hint_least;
}

/* Predict the leaves of n keys for which hint_begin_all() was called, and prefetch their headers
 * and heads. The caller checks them (leaf_check). NULL: no hint for this key. */
static __always_inline void hint_predict_all(const struct hint *hint, unsigned int n,
					     const u64 *key, size_t stride, struct hint_step *at,
					     struct node **leaf)
{
	u64 open = lath_ones(n);
	unsigned int i, depth;

	for (i = 0; i < n; i++)
		leaf[i] = NULL;
	for (depth = 0; open && depth <= HINT_DEPTH; depth++) {
		u64 now = open;

		for (; now; now &= now - 1) {
			u64 word, k;
			const u64 *place;
			const char *pair;

			i = (unsigned int)__ffs64(now);
			k = *(const u64 *)((const char *)key + i * stride);
			place = hint_word(hint, at[i].i);
			word = likely(place) ? READ_ONCE(*place) : 0;
			if (hint_is_block(word)) {
				hint_down(word, k, &at[i]);
				prefetch((const char *)hint_word(hint, at[i].i));
				continue;
			}
			open &= ~(1ull << i);
			leaf[i] = hint_read(hint, word, k, &at[i], &pair);
			prefetch((const char *)leaf[i]);
			prefetch((const char *)leaf[i] + 64);
		}
	}
}

/* The table misled a search for key, whose leaf, with these fence keys, was found otherwise. Count
 * it, and correct the words near key. */
void lath_hint_learn(struct tree *tree, u64 key, const struct node *leaf, u64 low, u64 last);

/* A search found the leaf by a descent, not by the table. */
static __always_inline void hint_missed(struct tree *tree, u64 key, struct node *leaf, u64 lockword)
{
	u64 low, last;

	if (!READ_ONCE(tree->hint_limit))
		return;
	low = READ_ONCE(leaf->low);
	last = READ_ONCE(leaf->last);
	if (node_valid(leaf, lockword))
		lath_hint_learn(tree, key, leaf, low, last);
}

/* Values of tree->hint_due: what the next call shall do. */
enum { HINT_MAKE = 1, HINT_ALLOCATE = 2 };

/* Do what is due. May allocate: no lock is held and the caller may allocate. */
void lath_hint_maintain(struct tree *tree, bool may_allocate);
/* The tree has grown: is it large enough to have a table? No lock held. */
void lath_hint_consider(struct tree *tree);
/* Make the table now. Allocates; no lock held. Concurrent calls of other threads are allowed. */
void lath_hint_build(struct tree *tree);
/* The tree may have become much smaller: give back memory of the table. Allocates nothing; no lock
 * held. */
void lath_hint_trim(struct tree *tree);
/* Bytes of memory the table takes. */
u64 lath_hint_bytes(const struct tree *tree);
void lath_hint_fini(struct tree *tree);

/* Maintain the table if that is due. No lock held. */
static __always_inline void hint_tick(struct tree *tree, bool may_allocate)
{
	if (unlikely(READ_ONCE(tree->hint_due) &
		     (may_allocate ? HINT_MAKE | HINT_ALLOCATE : HINT_MAKE)))
		lath_hint_maintain(tree, may_allocate);
}

#endif

#endif /* LATH_INDEX_HINT_H */
