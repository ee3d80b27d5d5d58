/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * node.c - changes to one node, or to two siblings, under the caller's locks.
 *
 * Readers may look at a node while it changes. They notice by its version, so the order of stores
 * within a locked section does not matter; WRITE_ONCE keeps each store whole. The live mask (erase
 * clears a bit, insert sets one, entries move only as far as the nearest erased one) makes erasing
 * and inserting again cheap: shifting arrays was half the cost of the 2013 test, which does just
 * that.
 */
#include "tree/node/node.h"
#include "arch/move.h"

/* An insert rescales its node if more heads than this are saturated at one end. */
#define SATURATED_RUN 4

u64 lath_node_wait(struct node *node)
{
	unsigned int rounds = 0;
	u64 lockword;

	do {
		/* no queue: any of the waiting threads may be the next one that takes the lock */
		lath_crowd_wait(&rounds);
		lockword = smp_load_acquire(&node->lockword); /* pairs with node_unlock */
	} while (lockword & NODE_LOCKED);
	return lockword;
}

u64 lath_node_wait_holding(struct node *node)
{
	unsigned int rounds = 0;
	u64 lockword;

	/* short pauses: what this thread holds others wait for */
	/* pairs with node_unlock */
	while ((lockword = smp_load_acquire(&node->lockword)) & NODE_LOCKED)
		lath_spin_wait(&rounds);
	return lockword;
}

void lath_node_set_long(struct node *node, unsigned int i, const u64 *words, unsigned int side)
{
	u64 *row = node_row(node, i, side);
	unsigned int k;

	LATH_ASSERT(!node_level(node));
	WRITE_ONCE(node->pair[i].value, words[0]);
	for (k = 0; k < side / SIDE_MORE; k++)
		WRITE_ONCE(row[k], words[k + 1]);
}

/* Write one code of a column. */
static void put_code(u64 *column, unsigned int i, u64 code)
{
	unsigned int shift = i % 4 * 16;

	WRITE_ONCE(column[i / 4], (column[i / 4] & ~(0xffffull << shift)) | code << shift);
}

/* Copy n codes of a column, from entry src on to entry dst on; both may be the same column. */
static void move_codes(u64 *to, unsigned int dst, const u64 *from, unsigned int src, unsigned int n)
{
#if LATH_CHECKED
	u16 codes[NODE_CAP];
	unsigned int i;

	for (i = 0; i < n; i++)
		codes[i] = (u16)(READ_ONCE(from[(src + i) / 4]) >> (src + i) % 4 * 16);
	for (i = 0; i < n; i++)
		put_code(to, dst + i, codes[i]);
#else
	/* four 16-bit lanes per word, the lowest first: an array of 16-bit numbers */
	memmove((char *)to + 2 * dst, (const char *)from + 2 * src, 2 * (size_t)n);
#endif
}

static void move_summaries(struct node *to, unsigned int dst, const struct node *from,
			   unsigned int src, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < SIDE_CODES; k++)
		move_codes(to->size + k * SIDE_COLUMN, dst, from->size + k * SIDE_COLUMN, src, n);
	for (k = SIDE_CODES_END; k < SIDE_CODES_END + 2 * NODE_CAP; k += NODE_CAP)
		move_words(to->size + k + dst, from->size + k + src, n);
}

static void move_side(struct node *to, unsigned int dst, const struct node *from, unsigned int src,
		      unsigned int n, unsigned int side)
{
	if (side & SIDE_SUMMARY)
		move_summaries(to, dst, from, src, n);
	else if (side & SIDE_WORD)
		move_words(&to->size[dst], &from->size[src], n);
	if (side >= SIDE_MORE)
		move_words(node_row(to, dst, side), node_row(from, src, side),
			   n * (size_t)(side / SIDE_MORE));
}

static __always_inline void move_entries(struct node *to, unsigned int dst, const struct node *from,
					 unsigned int src, unsigned int n, unsigned int side)
{
	/* an insert behind all entries, the common case: no call of memmove() */
	if (!n)
		return;
	move_words(&to->pair[dst].key, &from->pair[src].key, 2 * (size_t)n);
	if (side == SIDE_WORD)
		move_words(&to->size[dst], &from->size[src], n);
	else if (side)
		move_side(to, dst, from, src, n, side);
}

/* Copy n heads, from entry src on to entry dst on. */
static void move_heads(struct node *node, unsigned int dst, unsigned int src, unsigned int n)
{
#if LATH_CHECKED
	u8 copy[64];
	unsigned int i;

	for (i = 0; i < n; i++)
		copy[i] = lath_head_get(node->head, src + i);
	for (i = 0; i < n; i++)
		lath_head_set(node->head, dst + i, copy[i]);
#else
	memmove(node->head + dst, node->head + src, n);
#endif
}

/* Move the heads of the first leaf from entry i on, n of them, one position up; none behind them is
 * in use. */
static void first_heads_up(struct node *node, unsigned int i, unsigned int n)
{
#if LATH_CHECKED
	move_heads(node, i + 1, i, n);
#else
	u8 *head = node->head + i,
	   copy[32]; /* a number of bytes that depends on n would be mispredicted */

	_Static_assert(NODE_FIRST - 1 + sizeof(copy) < 64, "the copy stays among the heads");
	LATH_ASSERT(n < sizeof(copy));
	memcpy(copy, head, sizeof(copy));
	memcpy(head + 1, copy, sizeof(copy));
#endif
}

static __attribute__((__noinline__)) void entries_up_plain(struct node *node, unsigned int i,
							   unsigned int n, unsigned int side)
{
	move_entries(node, i + 1, node, i, n, side);
	move_heads(node, i + 1, i, n);
}

/* Move entries [i, i + n) one position up, 0 < n. */
static __always_inline void entries_up(struct node *node, unsigned int i, unsigned int n,
				       unsigned int side)
{
#ifdef LATH_X86_VECTORS
	u64 *pair = &node->pair[i].key; /* the next one may be behind the last */

	if (likely(lath_have_avx2) && side <= SIDE_WORD) {
		lath_words_up(pair + 2, pair, 2 * (u64)n);
		if (side)
			lath_words_up(&node->size[i + 1], &node->size[i], n);
		lath_bytes_up(node->head, i, n);
		return;
	}
#endif
	entries_up_plain(node, i, n, side);
}

void lath_node_side_unknown(struct node *node, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < SIDE_CODES; k++)
		put_code(node->size + k * SIDE_COLUMN, i, 0x7fff);
	WRITE_ONCE(node->size[SIDE_CODES_END + i], KEY_MAX);
	WRITE_ONCE(node->size[SIDE_CODES_END + NODE_CAP + i], 0);
}

/* A value and what lies beside it, when that is not a word each. */
static void put_side(struct node *node, unsigned int i, u64 size, u64 value, unsigned int side)
{
	node_set_value(node, i, value, side);
	if (side & SIDE_SUMMARY)
		lath_node_side_unknown(node, i);
	else if (side & SIDE_WORD)
		WRITE_ONCE(node->size[i], size);
}

static __always_inline void put_entry(struct node *node, unsigned int i, u64 key, u64 size,
				      u64 value, unsigned int side)
{
	WRITE_ONCE(node->pair[i].key, key);
	if (unlikely(side > SIDE_WORD)) {
		put_side(node, i, size, value, side);
		return;
	}
	WRITE_ONCE(node->pair[i].value, value);
	if (side)
		WRITE_ONCE(node->size[i], size);
}

/* Heads from `used` on; in an empty node these bytes make its pivots KEY_MAX. */
static void pad_heads(struct node *node)
{
	unsigned int n = node->used;
#if LATH_CHECKED
	for (; n % 8; n++)
		lath_head_set(node->head, n, 255);
	for (n /= 8; n < LATH_HEAD_WORDS; n++)
		WRITE_ONCE(node->pivot[n], KEY_MAX);
#else
	memset(node->head + n, 255, 64 - n);
#endif
}

void lath_node_init(struct node *node, unsigned int level, u64 low, u64 last, struct node *right,
		    unsigned int shift)
{
	WRITE_ONCE(node->low, low);
	WRITE_ONCE(node->last, last);
	WRITE_ONCE(node->right, right);
	WRITE_ONCE(node->live, 0);
	WRITE_ONCE(node->base, low);
	WRITE_ONCE(node->level, (u8)level);
	WRITE_ONCE(node->cap, NODE_CAP);
	WRITE_ONCE(node->shift, node_level(node) ? NODE_PIVOTED : (u8)shift);
	WRITE_ONCE(node->used, 0);
	WRITE_ONCE(node->run, 0);
	/* `at` + 1 is position 0: a first insert there begins a run of ascending keys */
	WRITE_ONCE(node->at, (u8)-1);
	WRITE_ONCE(node->no_downlink, 0);
	WRITE_ONCE(node->counted, 0);
	pad_heads(node);
}

unsigned int lath_node_tie_rank(const struct node *node, unsigned int from, unsigned int n, u64 key)
{
	while (n > NODE_TIE) {
		unsigned int half = n / 2;

		if (node_key(node, from + half - 1) < key) {
			from += half;
			n -= half;
		} else {
			n = half;
		}
	}
	/* the last few one by one: their keys lie in two or three lines, and the branch is
	 * predicted */
	while (n && node_key(node, from) < key) {
		from++;
		n--;
	}
	return from;
}

unsigned int lath_node_rank_tied(const struct node *node, u64 key)
{
	unsigned int used = READ_ONCE(node->used), from, to;
	u64 equal;
	u8 h;

	if (node_pivoted(node)) { /* keys behind those in use are old */
		from = min(lath_inner_floor(node->pivot, NODE_CAP, key), used);
		while (from && node_key(node, from - 1) == key)
			from--;
		return from;
	}
	h = node_head_of(node, key);
	from = min(lath_prefix(~lath_heads_not_below(node->head, h)), used);
	equal = lath_heads_equal(node->head, h) & lath_ones(used);
	to = fls64(equal);
	return lath_node_tie_rank(node, from, to > from ? to - from : 0, key);
}

long lath_node_find_tied(const struct node *node, u64 among, u64 key)
{
	unsigned int tries = NODE_TIE, i;

	for (; among && tries; among &= among - 1, tries--) {
		i = __ffs64(among);
		if (node_key(node, i) == key)
			return (long)i;
	}
	if (!among)
		return -1;
	/* many heads are equal to the key's: after NODE_TIE of them a search by halves takes less
	 * time */
	i = node_rank(node, key);
	return i < NODE_CAP && READ_ONCE(node->live) >> i & 1 && node_key(node, i) == key ? (long)i
											  : -1;
}

long lath_node_floor_tied(const struct node *node, u64 among, u64 key)
{
	unsigned int tries = NODE_TIE, i;
	u64 live;

	for (; among && tries; among &= ~(1ull << i), tries--) {
		i = __fls64(among);
		if (node_key(node, i) <= key)
			return (long)i;
	}
	if (!among)
		return -1;
	/* as in lath_node_find_tied(); the entry at the rank is the floor if it has this very key */
	i = node_rank(node, key);
	live = READ_ONCE(node->live);
	if (i < NODE_CAP && live >> i & 1 && node_key(node, i) == key)
		return (long)i;
	return (long)fls64(live & lath_ones(i)) - 1;
}

long lath_node_floor_by_pivots(const struct node *node, u64 key)
{
	u64 below = READ_ONCE(node->live) & lath_ones(lath_inner_floor(node->pivot, NODE_CAP, key));

	return (long)fls64(below) - 1; /* fls64 may be a macro that reads twice */
}

long lath_node_find_by_pivots(const struct node *node, u64 key)
{
	long i = lath_node_floor_by_pivots(node, key);

	return i >= 0 && node_key(node, (unsigned int)i) == key ? i : -1;
}

/* Compute the pivots from the group of entry `from` on. Whoever moved entries has moved the bytes
 * of these pivots, as if they were heads. */
static void set_pivots(struct node *node, unsigned int from)
{
	unsigned int k;

	for (k = from / PIVOT_GROUP; k < LATH_HEAD_WORDS; k++)
		WRITE_ONCE(node->pivot[k], k * PIVOT_GROUP < node->used
						   ? node_key(node, k * PIVOT_GROUP)
						   : KEY_MAX);
}

/* Compute the heads of all entries for a scale that no key exceeds. Returns how many are equal to
 * the one before. */
static unsigned int compute_heads(const struct node *node, u64 base, unsigned int shift, u8 *head)
{
	unsigned int n = node->used, i, equal = 0;

#ifdef LATH_X86_VECTORS
	if (NODE_CAP == 64 && likely(node->cap == NODE_CAP)) /* a smaller one has no 64 pairs */
		return lath_heads_make(&node->pair[0].key, n, base, shift, head);
#endif
	for (i = 0; i < n; i++) {
		head[i] = (u8)min((node_key(node, i) - base) >> shift, 255ull);
		equal += i && head[i] == head[i - 1];
	}
	return equal;
}

/* Write all heads. */
static void write_heads(struct node *node, const u8 *head)
{
#if LATH_CHECKED
	unsigned int w, i;

	for (w = 0; w < LATH_HEAD_WORDS; w++) {
		u64 word = 0;

		for (i = 0; i < 8; i++)
			word |= (u64)head[8 * w + i] << 8 * i;
		WRITE_ONCE(node->pivot[w], word);
	}
#else
	memcpy(node->head, head, sizeof(node->head));
#endif
}

/* Compute all heads for this scale; or the pivots, if too many heads are equal. */
static void node_scale(struct node *node, u64 base, unsigned int shift)
{
	unsigned int n = node->used, equal;
	u8 head[8 * LATH_HEAD_WORDS];

	equal = compute_heads(node, base, shift, head);
	/* equal heads leave many keys to compare; the small first leaf keeps heads even so */
	if (equal > n / 2 && node->cap == NODE_CAP) {
		WRITE_ONCE(node->shift, NODE_PIVOTED);
		set_pivots(node, 0);
		return;
	}
	WRITE_ONCE(node->base, base);
	WRITE_ONCE(node->shift, (u8)shift);
	memset(head + n, 255, sizeof(head) - n);
	write_heads(node, head);
}

/* Rescale: 128 to 256 steps between first and last. */
static void scale_to(struct node *node, u64 first, u64 last)
{
	unsigned int bits = fls64(last - first);

	node_scale(node, first, bits > 8 ? bits - 8 : 0);
}

void lath_node_reindex(struct node *node)
{
	if (node_level(node))
		set_pivots(node, 0);
	else if (node->used)
		scale_to(node, node_key(node, 0), node_key(node, node->used - 1));
	else
		pad_heads(node);
}

/* Entry i has a saturated head, 0 or 255. If many share it, choose a scale with room at that
 * end. */
static void relieve_saturation(struct node *node, unsigned int i)
{
	u64 first = node_key(node, 0), last = node_key(node, node->used - 1), more;
	u8 h = lath_head_get(node->head, i);

	/* The range of the scale doubles at that end. Keys that go on in this direction rescale the
	 * node a few times until it is full, not once per insert. */
	if (h == 255 && i >= SATURATED_RUN && lath_head_get(node->head, i - SATURATED_RUN) == 255) {
		more = last - first;
		scale_to(node, first, last < KEY_MAX - more ? last + more : KEY_MAX);
	} else if (h == 0 && i + SATURATED_RUN < node->used &&
		   lath_head_get(node->head, i + SATURATED_RUN) == 0 && first < node->base) {
		more = last - first;
		scale_to(node, first > more ? first - more : 0, last);
	}
}

/* open_slot() of a node that has erased entries: takes the position of the nearest one, or the one
 * behind all entries if that is nearer. Returns the position to write. */
static unsigned int fill_slot(struct node *node, unsigned int i, unsigned int side,
			      unsigned int *lowest)
{
	unsigned int used = node->used, up, down;
	u64 dead = ~node->live & lath_ones(used);
	u64 above = dead & ~lath_ones(i), below = dead & lath_ones(i);

	up = above ? __ffs64(above) : used; /* == used: grow at the end */
	/* 64: no erased entry below */
	down = below ? fls64(below) - 1 : 64;
	/* fewer entries move down than up, or there is no room above */
	if (down < 64 && (up >= node->cap || i - 1 - down < up - i)) {
		unsigned int n = i - 1 - down;
		u64 moved = lath_ones(i) & ~lath_ones(down + 1);

		move_entries(node, down, node, down + 1, n, side);
		move_heads(node, down, down + 1, n);
		*lowest = down;
		WRITE_ONCE(node->live, (node->live & ~moved) | (node->live & moved) >> 1);
		return i - 1;
	}
	/* else i is behind all entries, and nothing moves */
	if (up > i) {
		u64 moved = lath_ones(up) & ~lath_ones(i);

		entries_up(node, i, up - i, side);
		WRITE_ONCE(node->live, (node->live & ~moved & ~(1ull << up)) | (node->live & moved)
										       << 1);
	}
	if (up == used)
		WRITE_ONCE(node->used, (u8)(used + 1));
	return i;
}

/* Make room for an entry between i - 1 and i: move the entries between there and the nearest erased
 * one, with their heads; pivots are to be set anew from *lowest on. Returns the position to write.
 */
static unsigned int open_slot(struct node *node, unsigned int i, unsigned int side,
			      unsigned int *lowest)
{
	unsigned int used = node->used;
	u64 dead = ~node->live & lath_ones(used);

	*lowest = i;
	if (dead)
		return fill_slot(node, i, side, lowest);
	if (node->cap < NODE_CAP) {
		move_entries(node, i + 1, node, i, used - i, side);
		first_heads_up(node, i, used - i);
	} else if (i < used) {
		entries_up(node, i, used - i, side);
	}
	WRITE_ONCE(node->used, (u8)(used + 1));
	WRITE_ONCE(node->live, lath_ones(used + 1));
	return i;
}

/* Entry i is new, with this key; `moved`: the head there is another entry's. */
static __always_inline void set_head(struct node *node, unsigned int i, u64 key, bool moved)
{
	u8 h = node_head(node->base, node->shift, key);

	/* an equal head is not written: the next search need not wait for the store */
	if (moved || lath_head_get(node->head, i) != h)
		lath_head_set(node->head, i, h);
	/* at an end of the scale, or beyond it, where all keys have this head */
	if (unlikely(h == 255 || h == 0))
		relieve_saturation(node, i);
}

/* lath_node_insert() into a node of any form. */
static __attribute__((__noinline__)) void insert_any(struct node *node, unsigned int rank, u64 key,
						     u64 size, u64 value, unsigned int side)
{
	bool open = rank >= node->used || node->live >> rank & 1;
	unsigned int i = rank, lowest = rank;

	/* else an erased entry is at the rank: the new one takes its place, and nothing moves */
	if (open)
		i = open_slot(node, rank, side, &lowest);
	put_entry(node, i, key, size, value, side);
	WRITE_ONCE(node->live, node->live | 1ull << i);
	WRITE_ONCE(node->at, (u8)i);
	if (unlikely(node_pivoted(node)))
		set_pivots(node, lowest);
	else
		set_head(node, i, key, open);
}

void lath_node_insert(struct node *node, unsigned int rank, u64 key, u64 size, u64 value,
		      unsigned int side)
{
	u8 run = rank == (u8)(node->at + 1) ? node->run + (node->run < 255) : 0;
	unsigned int used = node->used;

	LATH_ASSERT(node_is_locked(node) && !node_full(node));
	LATH_ASSERT(rank <= used && used <= node->cap);
	LATH_ASSERT(!rank || node_key(node, rank - 1) < key);
	LATH_ASSERT(rank == used || node_key(node, rank) >= key);
	WRITE_ONCE(node->run, run);
	if (unlikely(side > SIDE_WORD || node->cap < NODE_CAP || node_pivoted(node) ||
		     node->live != lath_ones(used))) {
		insert_any(node, rank, key, size, value, side);
		return;
	}
	/* heads, nothing erased, a word beside a pair at most: the common case while the tree grows */
	if (rank < used)
		entries_up(node, rank, used - rank, side);
	WRITE_ONCE(node->pair[rank].key, key);
	WRITE_ONCE(node->pair[rank].value, value);
	if (side)
		WRITE_ONCE(node->size[rank], size);
	WRITE_ONCE(node->live, (2ull << used) - 1);
	WRITE_ONCE(node->used, (u8)(used + 1));
	WRITE_ONCE(node->at, (u8)rank);
	set_head(node, rank, key, rank < used);
}

void lath_inner_insert(struct node *inner, u64 separator, struct node *child, unsigned int side)
{
	unsigned int i = lath_node_tie_rank(inner, 0, inner->used, separator), lowest = i;

	LATH_ASSERT(node_is_locked(inner) && node_level(inner) && !node_full(inner));
	LATH_ASSERT(i == inner->used || node_key(inner, i) > separator || !(inner->live >> i & 1));
	if (i >= inner->used || inner->live >> i & 1)
		i = open_slot(inner, i, side, &lowest);
	/* with summaries or counts: those of the new child are unknown until they are measured */
	put_entry(inner, i, separator, 0, (u64)(uintptr_t)child, side);
	WRITE_ONCE(inner->live, inner->live | 1ull << i);
	set_pivots(inner, lowest);
}

void lath_node_append(struct node *node, u64 key, u64 size, u64 value, unsigned int side)
{
	unsigned int i = node->used;

	LATH_ASSERT(i < node->cap && (!i || node_key(node, i - 1) < key));
	/* without heads and pivots: the caller computes them once at the end (lath_node_reindex) */
	put_entry(node, i, key, size, value, side);
	WRITE_ONCE(node->live, node->live | 1ull << i);
	WRITE_ONCE(node->used, (u8)(i + 1));
}

void lath_node_clear(struct node *node)
{
	WRITE_ONCE(node->live, 0);
	WRITE_ONCE(node->used, 0);
	pad_heads(node);
}

void lath_node_compact(struct node *node, unsigned int side)
{
	unsigned int n = 0;
	u64 live = node->live;

	LATH_ASSERT(node_is_locked(node));
	if (live == lath_ones(node->used))
		return;
	while (live) {
		unsigned int from = __ffs64(live), run = lath_prefix(live >> from);

		if (n < from) {
			move_entries(node, n, node, from, run, side);
			move_heads(node, n, from, run);
		}
		n += run;
		live &= ~lath_ones(from + run);
	}
	WRITE_ONCE(node->used, (u8)n);
	WRITE_ONCE(node->live, lath_ones(n));
	if (node_pivoted(node))
		set_pivots(node, 0);
	else
		pad_heads(node);
}

void lath_node_copy(struct node *to, const struct node *from, size_t size)
{
	LATH_ASSERT(node_is_locked(from) && node_dead(READ_ONCE(to->lockword)));
	/* the lockword, the chunk and what reclamation uses are the copy's own and stay */
	lath_node_init(to, from->level, from->low, from->last, from->right, from->shift);
	WRITE_ONCE(to->live, from->live);
	WRITE_ONCE(to->cap, from->cap);
	WRITE_ONCE(to->used, from->used);
	WRITE_ONCE(to->run, from->run);
	WRITE_ONCE(to->no_downlink, from->no_downlink);
	WRITE_ONCE(to->at, from->at);
	WRITE_ONCE(to->counted, from->counted);
	WRITE_ONCE(to->base, from->base);
	move_words(to->pivot, from->pivot, (size - offsetof(struct node, pivot)) / sizeof(u64));
}

static void set_count(struct node *node, unsigned int n)
{
	WRITE_ONCE(node->used, (u8)n);
	WRITE_ONCE(node->live, lath_ones(n));
}

void lath_node_move_up(struct node *left, struct node *right, unsigned int n, unsigned int side)
{
	unsigned int l = left->used, r = right->used;

	LATH_ASSERT(node_is_locked(left) && node_is_locked(right));
	LATH_ASSERT(left->live == lath_ones(l) && right->live == lath_ones(r));
	LATH_ASSERT(n <= l && r + n <= NODE_CAP);
	move_entries(right, n, right, 0, r, side);
	move_entries(right, 0, left, l - n, n, side);
	set_count(left, l - n);
	set_count(right, r + n);
}

void lath_node_move_down(struct node *left, struct node *right, unsigned int n, unsigned int side)
{
	unsigned int l = left->used, r = right->used;

	LATH_ASSERT(node_is_locked(left) && node_is_locked(right));
	LATH_ASSERT(left->live == lath_ones(l) && right->live == lath_ones(r));
	LATH_ASSERT(n <= r && l + n <= NODE_CAP);
	move_entries(left, l, right, 0, n, side);
	move_entries(right, 0, right, n, r - n, side);
	set_count(left, l + n);
	set_count(right, r - n);
}
