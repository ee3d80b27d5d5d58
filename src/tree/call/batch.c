/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many calls with their cache misses overlapped.
 *
 * The leaves of a group of keys are looked up together by the hint table: each step prefetches for
 * one key and goes on to the next key, so that some 20 misses are under way at once instead of one
 * or two. Each call of the batch is then an ordinary call on warm cache lines, and takes effect by
 * itself. A key whose leaf the table does not know, and each key of a tree without a table, is an
 * ordinary call alone. (Interleaving: Kocberber et al., "Asynchronous memory access chaining", VLDB
 * 2015.)
 */
#include "tree/call/call.h"
#include "tree/way/locate.h"

/* Keys at a time; in the kernel stacks are small, and there is no table. */
#ifdef __KERNEL__
#define BATCH_GROUP 8
#else
#define BATCH_GROUP 64
#endif

static unsigned int group_size(size_t left)
{
	return (unsigned int)min(left, (size_t)BATCH_GROUP);
}

static __always_inline u64 key_at(const u64 *key, size_t stride, unsigned int i)
{
	return *(const u64 *)((const char *)key + i * stride);
}

/* ---- leaves for a group of keys ---- */

/* The leaves that cover n <= BATCH_GROUP keys, with their lockwords then. NULL: the caller locates
 * it. */
static __always_inline void locate_all(struct tree *tree, unsigned int n, const u64 *key,
				       size_t stride, struct node **leaf, u64 *lockword)
{
	const struct hint *hint = hint_of(tree);
	struct hint_step at[BATCH_GROUP];
	unsigned int i;

	LATH_ASSERT(n && n <= BATCH_GROUP);
	if (!hint) {
		memset(leaf, 0, n * sizeof(*leaf));
		return;
	}
	hint_begin_all(hint, n, key, stride, at);
	hint_predict_all(n, key, stride, at, leaf);
	for (i = 0; i < n; i++) {
		u64 k = key_at(key, stride, i);

		/* else the table led to a neighbour: one or two steps, or a call by itself */
		if (unlikely(leaf[i] && !node_holds(leaf[i], k, &lockword[i])))
			leaf[i] = lath_hint_find_near(tree, k, leaf[i], &lockword[i]);
	}
}

/* ---- lookups ---- */

/* One leaf of a batched lookup. */
struct probe {
	struct node *leaf;
	u64 lockword;
	bool pivoted;
	u64 equal; /* points layout, no pivots: the entries whose head is the key's */
};

static void prefetch_group(const struct node *leaf, u64 key)
{
	unsigned int i = node_group(leaf, key);

	prefetch((const char *)&leaf->pair[i]);
	prefetch((const char *)&leaf->pair[i] + 64);
	if (node_has_sizes(leaf))
		prefetch((const char *)&leaf->size[i]);
}

/* Search the heads or the pivots, and prefetch the pairs. */
static __always_inline void probe_heads(struct probe *probe, struct node *leaf, u64 lockword,
					u64 key)
{
	u8 h;

	probe->leaf = leaf;
	probe->lockword = lockword;
	/* probe_result() looks at `leaf` first, so the other fields may stay unset */
	if (unlikely(!leaf))
		return;
	probe->pivoted = node_pivoted(leaf);
	/* no heads: the group of the key is known, the entry is not */
	if (unlikely(probe->pivoted)) {
		prefetch_group(leaf, key);
		return;
	}
	h = node_head_of(leaf, key);
	if (!node_has_sizes(leaf)) {
		probe->equal = lath_heads_equal(leaf->head, h);
		if (probe->equal & READ_ONCE(leaf->live))
			prefetch((char *)&leaf->pair[__ffs64(probe->equal) % NODE_CAP]);
	} else {
		u64 below_or_at;
		long i = lath_heads_floor(leaf->head, h, READ_ONCE(leaf->live), &below_or_at);

		if (i < 0)
			return;
		/* the last entry with a head not above the key's: this one, or one near it */
		prefetch((char *)&leaf->pair[i]);
		prefetch((char *)&leaf->size[i]);
	}
}

/* Returns the entry that covers key, or -1. */
static __always_inline long probe_entry(const struct probe *probe, u64 key)
{
	return node_has_sizes(probe->leaf) || probe->pivoted
		       ? node_cover(probe->leaf, key)
		       : node_find_equal(probe->leaf, probe->equal, key);
}

/* Look up one key in the leaf that was probed for it. Returns false if that leaf has changed, or
 * there is none. */
static __always_inline bool probe_result(const struct tree *tree, const struct probe *probe,
					 u64 key, u64 *value, bool *hit)
{
	long i;

	if (unlikely(!probe->leaf))
		return false;
	i = probe_entry(probe, key);
	if (i >= 0) {
		lath_delay("found, not yet copied");
		if (long_values(tree))
			node_copy_long(probe->leaf, (unsigned int)i, tree->leaf_side, value);
		else
			*value = READ_ONCE(probe->leaf->pair[i].value);
	}
	*hit = i >= 0;
	return likely(node_valid(probe->leaf, probe->lockword));
}

static __always_inline size_t lookup_group(struct tree *tree, unsigned int n, const u64 *points,
					   u64 *values, u8 *hits)
{
	struct probe probe[BATCH_GROUP];
	struct node *leaf[BATCH_GROUP];
	u64 lockword[BATCH_GROUP];
	size_t found = 0;
	unsigned int i;

	locate_all(tree, n, points, sizeof(*points), leaf, lockword);
	for (i = 0; i < n; i++)
		probe_heads(&probe[i], leaf[i], lockword[i], points[i]);
	lath_delay("batch: leaves searched");
	for (i = 0; i < n; i++) {
		u64 *value = values + i * value_words(tree);
		bool hit;

		/* the leaf changed, or none was found: a lookup by itself answers */
		if (unlikely(!probe_result(tree, &probe[i], points[i], value, &hit)))
			hit = lath_get_value(tree, points[i], value);
		hits[i] = hit;
		found += hit;
	}
	return found;
}

size_t lath_index_get_batch(struct lath_index *index, size_t n, const uint64_t *points,
			    uint64_t *values, uint8_t *hits)
{
	struct tree *tree = tree_of(index);
	size_t found = 0, i;
	unsigned int m;

	hint_tick(tree, false);
	for (i = 0; i < n; i += m) {
		m = group_size(n - i);
		/* a section per group: grace periods wait for one group at most */
		section_enter(tree);
		found +=
			lookup_group(tree, m, points + i, values + i * value_words(tree), hits + i);
		section_exit(tree);
	}
	return found;
}

/* ---- changes ---- */

/* Prefetch the entries that an insert will move: most often from where key belongs to the end. Each
 * line that is forgotten costs a whole cache miss, each one too many a part of it. */
static void prefetch_entries(const struct tree *tree, const struct node *leaf, u64 key)
{
	unsigned int used = min((unsigned int)READ_ONCE(leaf->used), NODE_CAP - 1u);
	unsigned int i =
		node_pivoted(leaf)
			? node_group(leaf, key)
			: lath_prefix(~lath_heads_not_below(leaf->head, node_head_of(leaf, key)));

	/* a full leaf, or one that is being changed */
	for (i = min(i, NODE_CAP - 1u); i <= used; i += 64 / sizeof(struct pair))
		prefetch((const char *)&leaf->pair[i]);
	if (tree->leaf_side)
		prefetch((const char *)&leaf->size[used / 2]);
}

/* Insert an item whose leaf was located before, if that leaf is still the right one; else wherever
 * it belongs. 0 or an error as lath_index_insert_item. */
static int insert_located(struct tree *tree, struct node *leaf, const struct lath_item *item,
			  struct reserve *reserve)
{
	u64 lockword;

	if (!item_valid(tree, item->key, item->size))
		return -EINVAL;
	/* those before it in the batch may have split the leaf */
	if (leaf && node_holds(leaf, item->key, &lockword) && node_trylock(leaf, lockword))
		return lath_insert_into(tree, leaf, item, NULL, reserve);
	return lath_insert_item(tree, item, NULL, reserve);
}

size_t lath_index_insert_batch(struct lath_index *index, size_t n, const struct lath_item *items,
			       int *results)
{
	struct tree *tree = tree_of(index);
	struct node *leaf[BATCH_GROUP];
	/* not fixed: filled in insert_slow() and freed there */
	struct reserve reserve = { 0 };
	u64 lockword[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j, m;

	for (i = 0; i < n; i += m) {
		m = group_size(n - i);
		/* a call per group: fork() and grace periods wait for one group at most */
		locks_enter(tree);
		section_enter(tree);
		locate_all(tree, m, &items[i].key, sizeof(*items), leaf, lockword);
		for (j = 0; j < m; j++)
			if (leaf[j])
				prefetch_entries(tree, leaf[j], items[i + j].key);
		for (j = 0; j < m; j++) {
			int ret = insert_located(tree, leaf[j], &items[i + j], &reserve);

			done += !ret;
			/* each item succeeds or fails by itself: an error does not stop the batch */
			if (results)
				results[i + j] = ret;
		}
		section_exit(tree);
		locks_exit(tree);
		hint_tick(tree, true);
	}
	return done;
}

static int erase_located(struct tree *tree, struct node *leaf, u64 key)
{
	u64 lockword;

	if (leaf && node_holds(leaf, key, &lockword)) {
		enum leaf_result result = lath_leaf_erase_if(tree, leaf, lockword, key, true, NULL);

		/* absent counts as an answer: under this lockword the key was not there */
		if (likely(result != LEAF_STALE))
			return leaf_error(result);
	}
	/* the leaf changed since it was located: by those before it in the batch, or by others */
	return lath_erase_item(tree, key, true, NULL);
}

size_t lath_index_erase_batch(struct lath_index *index, size_t n, const uint64_t *keys,
			      int *results)
{
	struct tree *tree = tree_of(index);
	struct node *leaf[BATCH_GROUP];
	u64 lockwords[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j, m;

	for (i = 0; i < n; i += m) {
		struct probe probe;

		m = group_size(n - i);
		locks_enter(tree);
		section_enter(tree);
		locate_all(tree, m, &keys[i], sizeof(*keys), leaf, lockwords);
		for (j = 0; j < m; j++)
			probe_heads(&probe, leaf[j], lockwords[j], keys[i + j]);
		/* one after the other, each with its own lock: none is held while the next one is
		 * looked for */
		for (j = 0; j < m; j++) {
			int ret = erase_located(tree, leaf[j], keys[i + j]);

			done += !ret;
			if (results)
				results[i + j] = ret;
		}
		section_exit(tree);
		locks_exit(tree);
		hint_tick(tree, false);
	}
	return done;
}
