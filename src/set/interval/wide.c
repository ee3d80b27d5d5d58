/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wide.c - changes and scans of trees whose points have a word each.
 */
#include "set/interval/set.h"
#include "tree/call/call.h"
#include "tree/way/locate.h"

int lath_wide_insert(struct tree *tree, const struct lath_item *item)
{
	struct reserve reserve = { 0 };
	int ret;

	LATH_ASSERT(tree->leaf_side && !holds_ranges(tree)); /* else the word has no place */
	LATH_ASSERT(item->size <= KEY_MAX - item->key);
	lath_call_enter();
	ret = lath_insert_item(tree, item, NULL, &reserve);
	lath_call_exit();
	hint_tick(tree, true);
	return ret;
}

int lath_wide_erase(struct tree *tree, const struct lath_item *item)
{
	struct node *leaf;
	int i, ret = -ENOENT;

	LATH_ASSERT(tree->leaf_side && !holds_ranges(tree));
	lath_call_enter();
	leaf = locate_locked(tree, item->key, FOR_ERASE);
	i = (int)node_find(leaf, item->key);
	/* the first key alone does not name an interval: span and value have to be equal too */
	if (i >= 0 && node_side(leaf, (unsigned int)i) == item->size &&
	    node_value(leaf, (unsigned int)i) == item->value)
		ret = 0;
	if (ret)
		node_unlock_clean(leaf);
	else
		lath_leaf_erase(tree, leaf, i, NULL);
	lath_call_exit();
	hint_tick(tree, false);
	return ret;
}

#ifdef __KERNEL__
void lath_wide_prefetch_hint(struct tree *tree, const struct wide_query *query)
{
}

struct node *lath_wide_prefetch(struct tree *tree, const struct wide_query *query)
{
	return NULL;
}
#else
/* A table of more steps, and its leaves, do not stay in the caches: misses are overlapped. */
#define LARGE_HINT 4096

void lath_wide_prefetch_hint(struct tree *tree, const struct wide_query *query)
{
	const struct hint *hint = hint_of(tree);
	struct hint_step at;

	if (!hint || READ_ONCE(hint->steps) < LARGE_HINT)
		return;
	hint_begin(hint, query->from, &at);
	prefetch((const char *)&at.word[at.i]);
}

/* Returns the leaf that probably covers a key, with what a scan reads of it prefetched. */
static __always_inline struct node *prefetch_at(const struct hint *hint, u64 key)
{
	const char *pair, *words;
	struct node *leaf = hint_first(hint, key, &pair);

	if (unlikely(!leaf))
		leaf = hint_predict(hint, key, &pair);
	if (unlikely(!leaf))
		return NULL;
	prefetch_leaf(leaf, pair, FOR_READ);
	words = (const char *)leaf->size + (pair - (const char *)leaf->pair) / 2;
	prefetch(words - 32);
	prefetch(words + 32);
	return leaf;
}

struct node *lath_wide_prefetch(struct tree *tree, const struct wide_query *query)
{
	const struct hint *hint = hint_of(tree);

	if (!hint)
		return NULL;
	if (READ_ONCE(hint->steps) >= LARGE_HINT)
		prefetch_at(hint, query->to);
	return prefetch_at(hint, query->from);
}
#endif

/* The entries of a leaf that match, as a mask. */
static __always_inline u64 matching(const struct node *leaf, const struct wide_query *query,
				    u64 from)
{
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP), match = 0;
	u64 reach = query->high - query->low;

	LATH_ASSERT(query->low <= query->high && !node_level(leaf));
	/* the first leaf may have entries before the query */
	if (READ_ONCE(leaf->low) < from)
		live &= ~lath_ones(node_rank(leaf, from));
	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		u64 key = node_key(leaf, i), end = key + node_side(leaf, i);

		if (key > query->to)
			break;
		match |= (u64)(end - query->low <= reach) << i;
	}
	return match;
}

/* Copy entries of a mask behind n others, at most up to max of them. Returns the new number. */
static size_t copy_matching(const struct node *leaf, u64 match, struct lath_item *found, size_t n,
			    size_t max, u64 behind)
{
	LATH_ASSERT(n <= max);
	for (; match && n < max; match &= match - 1, n++) {
		unsigned int i = __ffs64(match);
		u64 key = node_key(leaf, i);

		found[n] = (struct lath_item){ key, key + node_side(leaf, i) + behind,
					       node_value(leaf, i) };
	}
	return n;
}

size_t lath_wide_scan(struct tree *tree, const struct wide_query *query, struct node *first,
		      struct lath_item *found, size_t max, u64 behind, u64 *next)
{
	u64 from = query->from, lockword;
	struct node *leaf = first;
	size_t n = 0;

	if (!leaf || unlikely(!node_holds(leaf, from, &lockword)))
		leaf = lath_locate_far(tree, from, FOR_READ, &lockword);
	LATH_ASSERT(max && query->from <= query->to);
	LATH_ASSERT(lath_reader_inside(tree->rcu));
	for (;;) {
		struct node *right = leaf_right(leaf);
		u64 last = READ_ONCE(leaf->last), match = matching(leaf, query, from);
		size_t m = found ? copy_matching(leaf, match, found, n, max, behind)
				 : n + lath_count_bits(match);

		/* what was copied from a leaf that has changed is dropped: n has not grown */
		if (unlikely(!node_valid(leaf, lockword))) {
			leaf = lath_locate_far(tree, from, FOR_READ, &lockword);
			continue;
		}
		n = m;
		if (n == max) {
			*next = found[n - 1].key + 1; /* 0 behind the last key of all */
			return n;
		}
		/* a half-dead leaf covers no keys: its fences say nothing */
		if (!(lockword & NODE_HALF_DEAD)) {
			if (last >= query->to)
				return n;
			from = max(from, last + 1); /* fences may have moved left since */
		}
		leaf = right;
		lockword = node_read(leaf);
		if (unlikely(node_dead(lockword)))
			leaf = lath_locate_far(tree, from, FOR_READ, &lockword);
	}
}
