/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * node.c - changes to one node, or between two neighbours, under the caller's locks.
 *
 * Every store goes where readers may be looking. They find out by the node's version, so order
 * inside a locked section does not matter; the stores are WRITE_ONCE so that each is whole.
 * The live mask (erase clears a bit, insert sets one, entries move only as far as the nearest
 * dead one) follows from the erase and re-insert rounds of the 2013 skiplist test, where shifting
 * arrays was half the cost.
 */
#include "skiplist/node.h"

/* A tie of more saturated heads than this makes an insert choose the scale anew. */
#define SATURATED_RUN 4

u64 node_wait(struct node *node)
{
	unsigned int rounds = 0;
	u64 word;

	do {
		lath_spin_wait(&rounds);
		word = smp_load_acquire(&node->word); /* pairs with node_unlock */
	} while (word & NODE_LOCKED);
	return word;
}

/* Copy n words to where readers look. Upwards (dst > src) starts at the far end. */
static void move_words(u64 *dst, const u64 *src, size_t n)
{
#if LATH_CHECKED
	size_t i;

	if (dst < src)
		for (i = 0; i < n; i++)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
	else
		for (i = n; i-- > 0;)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
#else
	memmove(dst, src, n * sizeof(u64));
#endif
}

static void move_entries(struct leaf *to, unsigned int dst, const struct leaf *from, unsigned int src,
			 unsigned int n, bool ranges)
{
	if (!n)
		return;
	move_words(&to->pair[dst].key, &from->pair[src].key, 2 * (size_t)n);
	if (ranges)
		move_words(&to->size[dst], &from->size[src], n);
}

/* Heads are bytes, but readers load them eight at a time: keep every byte store a store of its own
 * in checked builds, and let the compiler do its best elsewhere. */
static void move_heads(u8 *dst, const u8 *src, unsigned int n)
{
#if LATH_CHECKED
	u8 copy[64];
	unsigned int i;

	for (i = 0; i < n; i++)
		copy[i] = READ_ONCE(src[i]);
	for (i = 0; i < n; i++)
		WRITE_ONCE(dst[i], copy[i]);
#else
	memmove(dst, src, n);
#endif
}

static void put_entry(struct leaf *leaf, unsigned int i, u64 key, u64 size, u64 value, bool ranges)
{
	WRITE_ONCE(leaf->pair[i].key, key);
	WRITE_ONCE(leaf->pair[i].value, value);
	if (ranges)
		WRITE_ONCE(leaf->size[i], size);
}

static void pad_heads(struct leaf *leaf)
{
	unsigned int i;

	for (i = leaf->used; i < 64; i++)
		WRITE_ONCE(leaf->head[i], 255);
}

void leaf_init(struct leaf *leaf, u64 low, u64 last, struct node *right, unsigned int shift)
{
	WRITE_ONCE(leaf->node.low, low);
	WRITE_ONCE(leaf->node.last, last);
	WRITE_ONCE(leaf->node.right, right);
	WRITE_ONCE(leaf->live, 0);
	WRITE_ONCE(leaf->base, low);
	WRITE_ONCE(leaf->level, 0);
	WRITE_ONCE(leaf->shift, (u8)shift);
	WRITE_ONCE(leaf->used, 0);
	pad_heads(leaf);
}

unsigned int leaf_tie_rank(const struct leaf *leaf, unsigned int from, unsigned int n, u64 key)
{
	while (n > LEAF_TIE) {
		unsigned int half = n / 2;

		if (leaf_key(leaf, from + half - 1) < key) {
			from += half;
			n -= half;
		} else {
			n = half;
		}
	}
	while (n && leaf_key(leaf, from) < key) {
		from++;
		n--;
	}
	return from;
}

/* Entries with an equal head stand together, behind all that have a lower one. */
static unsigned int match_rank(const struct leaf *leaf, struct lath_match m, u64 key)
{
	u64 there = leaf_mask_below(READ_ONCE(leaf->used));

	return leaf_tie_rank(leaf, hweight64(m.lt & there), hweight64(m.eq & there), key);
}

unsigned int leaf_rank(const struct leaf *leaf, u64 key)
{
	return match_rank(leaf, leaf_match(leaf, key), key);
}

int leaf_find_tied(const struct leaf *leaf, struct lath_match m, u64 key)
{
	unsigned int i = match_rank(leaf, m, key);

	return i < LEAF_CAP && READ_ONCE(leaf->live) >> i & 1 && leaf_key(leaf, i) == key ? (int)i : -1;
}

int leaf_floor_tied(const struct leaf *leaf, struct lath_match m, u64 key)
{
	unsigned int i = match_rank(leaf, m, key);
	u64 live = READ_ONCE(leaf->live);

	if (i < LEAF_CAP && live >> i & 1 && leaf_key(leaf, i) == key)
		return (int)i;
	return (int)fls64(live & leaf_mask_below(i)) - 1;
}

static void scale_to(struct leaf *leaf, u64 first, u64 last)
{
	unsigned int bits = fls64(last - first), shift = bits > 8 ? bits - 8 : 0, i;

	WRITE_ONCE(leaf->base, first);
	WRITE_ONCE(leaf->shift, (u8)shift);
	for (i = 0; i < leaf->used; i++)
		WRITE_ONCE(leaf->head[i], leaf_head(first, shift, leaf_key(leaf, i)));
}

void leaf_rescale(struct leaf *leaf)
{
	if (leaf->used)
		scale_to(leaf, leaf_key(leaf, 0), leaf_key(leaf, leaf->used - 1));
	pad_heads(leaf);
}

/* The entry at i has a saturated head: if many tie with it, choose a scale with room on that side. */
static void relieve_saturation(struct leaf *leaf, unsigned int i)
{
	u64 first = leaf_key(leaf, 0), last = leaf_key(leaf, leaf->used - 1), more;
	u8 h = leaf->head[i];

	if (h == 255 && i >= SATURATED_RUN && leaf->head[i - SATURATED_RUN] == 255) {
		more = last - first;
		scale_to(leaf, first, last < KEY_MAX - more ? last + more : KEY_MAX);
	} else if (h == 0 && i + SATURATED_RUN < leaf->used && leaf->head[i + SATURATED_RUN] == 0 &&
		   first < leaf->base) {
		more = last - first;
		scale_to(leaf, first > more ? first - more : 0, last);
	}
}

/* Make slot i free for an entry between i - 1 and i by moving what stands up to the nearest dead
 * entry; returns the slot to write. */
static unsigned int open_slot(struct leaf *leaf, unsigned int i, bool ranges)
{
	unsigned int used = leaf->used, up, down;
	u64 dead = ~leaf->live & leaf_mask_below(used);
	u64 above = dead & ~leaf_mask_below(i), below = dead & leaf_mask_below(i);

	up = above ? __ffs64(above) : used; /* == used: grow at the end */
	down = below ? fls64(below) - 1 : 64;
	if (down < 64 && (up >= LEAF_CAP || i - 1 - down < up - i)) {
		unsigned int n = i - 1 - down;
		u64 moved = leaf_mask_below(i) & ~leaf_mask_below(down + 1);

		move_entries(leaf, down, leaf, down + 1, n, ranges);
		move_heads(leaf->head + down, leaf->head + down + 1, n);
		WRITE_ONCE(leaf->live, (leaf->live & ~moved) | (leaf->live & moved) >> 1);
		return i - 1;
	}
	if (up > i) {
		u64 moved = leaf_mask_below(up) & ~leaf_mask_below(i);

		move_entries(leaf, i + 1, leaf, i, up - i, ranges);
		move_heads(leaf->head + i + 1, leaf->head + i, up - i);
		WRITE_ONCE(leaf->live, (leaf->live & ~moved & ~(1ull << up)) | (leaf->live & moved) << 1);
	}
	if (up == used)
		WRITE_ONCE(leaf->used, (u8)(used + 1));
	return i;
}

void leaf_insert(struct leaf *leaf, unsigned int rank, u64 key, u64 size, u64 value, bool ranges)
{
	unsigned int i = open_slot(leaf, rank, ranges);
	u8 h = leaf_head(leaf->base, leaf->shift, key);

	put_entry(leaf, i, key, size, value, ranges);
	WRITE_ONCE(leaf->head[i], h);
	WRITE_ONCE(leaf->live, leaf->live | 1ull << i);
	if (unlikely(h == 255 || h == 0))
		relieve_saturation(leaf, i);
}

void leaf_append(struct leaf *leaf, u64 key, u64 size, u64 value, bool ranges)
{
	unsigned int i = leaf->used;

	put_entry(leaf, i, key, size, value, ranges);
	WRITE_ONCE(leaf->live, leaf->live | 1ull << i);
	WRITE_ONCE(leaf->used, (u8)(i + 1));
}

void leaf_clear(struct leaf *leaf)
{
	WRITE_ONCE(leaf->live, 0);
	WRITE_ONCE(leaf->used, 0);
	pad_heads(leaf);
}

void leaf_compact(struct leaf *leaf, bool ranges)
{
	unsigned int n = 0, i;
	u64 live = leaf->live;

	if (live != leaf_mask_below(leaf->used)) {
		for (i = 0; i < leaf->used; i++) {
			if (!(live >> i & 1))
				continue;
			if (n < i) {
				move_entries(leaf, n, leaf, i, 1, ranges);
				WRITE_ONCE(leaf->head[n], leaf->head[i]);
			}
			n++;
		}
		WRITE_ONCE(leaf->used, (u8)n);
		WRITE_ONCE(leaf->live, leaf_mask_below(n));
		pad_heads(leaf);
	}
}

static void set_count(struct leaf *leaf, unsigned int n)
{
	WRITE_ONCE(leaf->used, (u8)n);
	WRITE_ONCE(leaf->live, leaf_mask_below(n));
}

void leaf_move_up(struct leaf *left, struct leaf *right, unsigned int n, bool ranges)
{
	unsigned int l = left->used, r = right->used;

	move_entries(right, n, right, 0, r, ranges);
	move_entries(right, 0, left, l - n, n, ranges);
	set_count(left, l - n);
	set_count(right, r + n);
}

void leaf_move_down(struct leaf *left, struct leaf *right, unsigned int n, bool ranges)
{
	unsigned int l = left->used, r = right->used;

	move_entries(left, l, right, 0, n, ranges);
	move_entries(right, 0, right, n, r - n, ranges);
	set_count(left, l + n);
	set_count(right, r - n);
}

void inner_init(struct inner *inner, unsigned int level, u64 low, u64 last, struct node *right)
{
	unsigned int i;

	WRITE_ONCE(inner->node.low, low);
	WRITE_ONCE(inner->node.last, last);
	WRITE_ONCE(inner->node.right, right);
	WRITE_ONCE(inner->level, (u16)level);
	WRITE_ONCE(inner->count, 0);
	for (i = 0; i < ARRAY_SIZE(inner->sep); i++)
		WRITE_ONCE(inner->sep[i], KEY_MAX);
}

/* child[] is an array of pointers as wide as u64 on every host of ours */
_Static_assert(sizeof(void *) == sizeof(u64), "64-bit hosts only");

static void move_children(struct inner *to, unsigned int dst, const struct inner *from, unsigned int src,
			  unsigned int n)
{
	if (!n)
		return;
	move_words(&to->sep[dst], &from->sep[src], n);
	move_words((u64 *)&to->child[dst], (const u64 *)&from->child[src], n);
}

void inner_insert(struct inner *inner, unsigned int i, u64 sep, struct node *child)
{
	unsigned int n = inner->count;

	move_children(inner, i + 1, inner, i, n - i);
	WRITE_ONCE(inner->sep[i], sep);
	WRITE_ONCE(inner->child[i], child);
	WRITE_ONCE(inner->count, (u16)(n + 1));
}

void inner_remove(struct inner *inner, unsigned int i)
{
	unsigned int n = inner->count;

	move_children(inner, i, inner, i + 1, n - i - 1);
	WRITE_ONCE(inner->sep[n - 1], KEY_MAX);
	WRITE_ONCE(inner->count, (u16)(n - 1));
}

int inner_find(const struct inner *inner, unsigned int i, const struct node *child)
{
	for (; i < inner->count; i++)
		if (inner->child[i] == child)
			return (int)i;
	return -1;
}

void inner_move_up(struct inner *left, struct inner *right, unsigned int n)
{
	unsigned int l = left->count, r = right->count, i;

	move_children(right, n, right, 0, r);
	move_children(right, 0, left, l - n, n);
	for (i = l - n; i < l; i++)
		WRITE_ONCE(left->sep[i], KEY_MAX);
	WRITE_ONCE(left->count, (u16)(l - n));
	WRITE_ONCE(right->count, (u16)(r + n));
}

void inner_move_down(struct inner *left, struct inner *right)
{
	unsigned int l = left->count, r = right->count;

	move_children(left, l, right, 0, r);
	WRITE_ONCE(left->count, (u16)(l + r));
	WRITE_ONCE(right->count, 0);
}
