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
 * The table is made in place, or in a larger array; until it is complete it is not used. A thread
 * that began to use it before may read words of both, or write a word in a place that has another
 * meaning now. That misleads later searches at worst: every word leads to a leaf or to words of its
 * array. Only calls that may allocate get memory for it. Arrays stay until the tree ends, so
 * looking at them needs no read-side critical section; of those that are too small now the host has
 * the pages.
 *
 * There is no table with LATH_NODE_EACH, in shared memory and in the kernel.
 */
#ifndef LATH_INDEX_HINT_H
#define LATH_INDEX_HINT_H

#include "tree/way/finger.h"
#include "tree/way/descend.h"

/* Leaves from which on a tree has a table: it would be a large part of a smaller one's memory.
 * Tests set it to 1. */
extern unsigned int lath_hint_least;

/* Words of the first array; each further one has twice as many. */
#define HINT_FIRST 7
#define HINT_ARRAYS 22

/*
 * A block has a word for each of its steps of 2^shift keys; the first and the last word stand for
 * all keys before and behind them. A word is either a leaf's or a block's:
 *
 *   leaf   bit 0: 0; then the leaf's address / 64; then its entries per 1/256 of a step, times
 *	    2^HINT_DENSE; then its first key's place in the step, in 1/256 of a step, plus
 *	    HINT_ORIGIN
 *   block  bit 0: 1; then the logarithm of its number of words; its shift; the number of its first
 *	    word / 4; and how many of its steps lie in the word's own step before its second word
 */
#define HINT_PARTS 8
#define HINT_LEAF 41
#define HINT_DENSE_BITS 8
#define HINT_DENSE_MAX ((1u << HINT_DENSE_BITS) - 1)
#define HINT_DENSE 9
/* sizeof(struct pair) == 2^HINT_PAIR */
#define HINT_PAIR 4
#define HINT_PLACE (1 + HINT_LEAF + HINT_DENSE_BITS)
#define HINT_PLACE_MAX ((1u << (64 - HINT_PLACE)) - 1)
#define HINT_ORIGIN (1 << (64 - HINT_PLACE - 1))

#define HINT_BLOCK_SHIFT 6
#define HINT_BLOCK_FIRST 12
#define HINT_BLOCK_SKIP 39
#define HINT_SKIP_MAX ((1ull << (64 - HINT_BLOCK_SKIP)) - 1)
/* Blocks on the way to a leaf, at most. */
#define HINT_DEPTH 6

struct hint {
	/* the first block: */
	u64 steps; /* between the first and the last word */
	u64 *word; /* the array in use; no array before it is shorter */
	u64 scale; /* 2^64 / the keys of a step, at least two */
	u64 skip;  /* the number of the step that word 1 stands for, counted from key 0 */
	u64 shift;
	/* written under tree->hint_lock */
	u64 used;	     /* words, while the table is made */
	u64 want;	     /* words that the table would have liked to have */
	unsigned int leaves; /* when it was made */
	unsigned int arrays;
	u64 touched; /* words of the last array with memory, if the host has the rest; else 0 */
	u64 kept;    /* words of the other arrays that have memory */
	u64 *memory[HINT_ARRAYS];
};

/* The table, or NULL while there is none. */
static __always_inline const struct hint *hint_of(const struct tree *tree)
{
#ifdef __KERNEL__
	return NULL;
#else
#ifdef __wasm__ /* the book's page "An index at work" */
	return NULL;
#endif
	return smp_load_acquire(&tree->hint); /* pairs with the store in hint.c publish */
#endif
}

/* A step of a block. */
struct hint_step {
	u64 *word;	 /* of the array */
	u64 i;		 /* its word */
	u64 first, last; /* words of the block */
	unsigned int shift;
	bool within; /* the key is in the step; else before or behind all */
};

/* The step of the first block that key belongs to. */
static __always_inline void hint_begin(const struct hint *hint, u64 key, struct hint_step *at)
{
	u64 i;

	/* pairs with the store in hint.c publish: the array has this word */
	at->last = smp_load_acquire(&hint->steps) + 1;
	at->word = READ_ONCE(hint->word);
	at->shift = READ_ONCE(hint->shift) & 63;
	at->first = 0;
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
	u64 word;

	hint_begin(hint, key, at);
	for (depth = 0; depth <= HINT_DEPTH; depth++) {
		word = READ_ONCE(at->word[at->i]);
		if (likely(!hint_is_block(word)))
			return word;
		hint_down(word, key, at);
	}
	return 0;
}

/* The word of the leaf that covers the beginning of the step; 0: none. */
static __always_inline u64 hint_before(const struct hint_step *at)
{
	u64 i = at->i - 1, word;
	unsigned int depth;

	for (depth = 0; depth <= HINT_DEPTH; depth++) {
		word = READ_ONCE(at->word[i]);
		if (likely(!hint_is_block(word)))
			return word;
		i = (word >> HINT_BLOCK_FIRST & lath_ones(HINT_BLOCK_SKIP - HINT_BLOCK_FIRST)) * 4 +
		    (1ull << (word >> 1 & 31)) - 1;
	}
	return 0;
}

/* The part of a step of 2^shift keys, shift < 64, that key lies in. */
static __always_inline u64 hint_part(u64 key, unsigned int shift)
{
	return key << 1 << (63 - shift) >> (64 - HINT_PARTS);
}

/* Where the leaf of a word begins, as parts of the step plus HINT_ORIGIN. */
static __always_inline u64 hint_place(u64 word)
{
	return word >> HINT_PLACE;
}

static __always_inline struct node *hint_leaf(u64 word)
{
	return (struct node *)(uintptr_t)(word << (63 - HINT_LEAF) >> (63 - HINT_LEAF - 5));
}

/* The leaf of a word, and an address in the pair of a key in it that lies at `part` of the step,
 * plus HINT_ORIGIN. NULL: none. */
static __always_inline struct node *hint_read(u64 word, u64 part, const char **pair)
{
	u64 dense = word >> (1 + HINT_LEAF) & HINT_DENSE_MAX;
	s64 entry = (s64)((part - hint_place(word)) * dense); /* times 2^HINT_DENSE */
	const u64 end = ((u64)NODE_CAP << HINT_DENSE) - 1;
	struct node *leaf = hint_leaf(word);

	if (unlikely((u64)entry > end))
		entry = entry < 0 ? 0 : (s64)end;
	*pair = (const char *)((uintptr_t)leaf + offsetof(struct node, pair) +
			       ((u64)entry >> (HINT_DENSE - HINT_PAIR)));
	return leaf;
}

/* hint_read() for the step that a search ended in: of its word, or of the one before. */
static __always_inline struct node *hint_choose(const struct hint_step *at, u64 word, u64 key,
						const char **pair)
{
	u64 part = hint_part(key, at->shift) + HINT_ORIGIN;

	if (part < hint_place(word) && at->i > at->first) {
		word = hint_before(at);
		part += 1 << HINT_PARTS;
	}
	return hint_read(word, part, pair);
}

/* The leaf that probably covers key and the address of the key's pair in it, or NULL. */
static __always_inline struct node *hint_predict(const struct hint *hint, u64 key,
						 const char **pair)
{
	struct hint_step at;
	u64 word = hint_seek(hint, key, &at);

	return hint_choose(&at, word, key, pair);
}

/* The same for a key whose step in the first block has a leaf's word; else NULL. Which of two words
 * it is, the step's or the one before, is computed: a branch would be mispredicted every third time.
 */
static __always_inline struct node *hint_first(const struct hint *hint, u64 key, const char **pair)
{
	u64 steps = smp_load_acquire(&hint->steps); /* pairs with the store in hint.c publish */
	unsigned __int128 at = (unsigned __int128)key * READ_ONCE(hint->scale);
	u64 i = (u64)(at >> 64) - READ_ONCE(hint->skip), word, before, part, place;
	const u64 *step = READ_ONCE(hint->word);

	if (unlikely(i >= steps))
		return NULL;
	step += i;
	before = READ_ONCE(step[0]);
	word = READ_ONCE(step[1]);
	part = ((u64)at >> (64 - HINT_PARTS)) + HINT_ORIGIN;
	if (unlikely((word | before) & 1))
		return NULL;
	/* does the leaf of the step's end begin behind the key? */
	place = hint_place(word);
	word = lath_if_below(part, place, before, word);
	part = lath_if_below(part, place, part + (1 << HINT_PARTS), part);
	return hint_read(word, part, pair);
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
	leaf = hint_first(hint, key, &pair);
	if (unlikely(!leaf))
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
		prefetch((const char *)&at[i].word[at[i].i]);
	}
}

/* Predict the leaves of n keys for which hint_begin_all() was called, and prefetch their headers
 * and heads. The caller checks them (node_holds). NULL: no hint for this key. */
static __always_inline void hint_predict_all(unsigned int n, const u64 *key, size_t stride,
					     struct hint_step *at, struct node **leaf)
{
	u64 open = lath_ones(n);
	unsigned int i, depth;

	for (i = 0; i < n; i++)
		leaf[i] = NULL;
	for (depth = 0; open && depth <= HINT_DEPTH; depth++) {
		u64 now = open;

		for (; now; now &= now - 1) {
			u64 word, k;
			const char *pair;

			i = (unsigned int)__ffs64(now);
			k = *(const u64 *)((const char *)key + i * stride);
			word = READ_ONCE(at[i].word[at[i].i]);
			if (hint_is_block(word)) {
				hint_down(word, k, &at[i]);
				prefetch((const char *)&at[i].word[at[i].i]);
				continue;
			}
			open &= ~(1ull << i);
			leaf[i] = hint_choose(&at[i], word, k, &pair);
			prefetch((const char *)leaf[i]);
			prefetch((const char *)leaf[i] + 64);
		}
	}
}

/* The table misled a search for key, whose leaf, with these fence keys, was found otherwise. Count
 * it, and correct the words near key. */
void lath_hint_learn(struct tree *tree, u64 key, const struct node *leaf, u64 low, u64 last);

#ifdef __KERNEL__
static inline void hint_missed(struct tree *tree, u64 key, struct node *leaf, u64 lockword)
{
}

static inline void hint_tick(struct tree *tree, bool may_allocate)
{
}

#define lath_hint_consider(tree) ((void)(tree))
#define lath_hint_build(tree) ((void)(tree))
#define lath_hint_bytes(tree) ((void)(tree), 0)
#define lath_hint_trim(tree) ((void)(tree))
#define lath_hint_fini(tree) ((void)(tree))
#else
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
