/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many calls with their cache misses overlapped.
 *
 * The walks of a group go down level by level: each touches what the one before it has asked
 * memory for a round earlier. Some 20 misses can be under way at once; a single lookup has one or
 * two. Each call of a batch is then an ordinary call on warm lines; it takes effect by itself.
 * (Interleaving: Kocberber et al., "Asynchronous memory access chaining", VLDB 2015.)
 */
#include "index/hint/hint.h"

/* Walks at once: 16 to 32 are best on what we measured; half or twice as many cost 30 to 70 % more. */
#define WALK_GROUP 16
/* Keys at once, most of which the guide leads to their leaves, if there is one. */
#ifdef __KERNEL__
#define BATCH_GROUP WALK_GROUP
#else
#define BATCH_GROUP 64
#endif

static unsigned int group_size(const struct tree *list, size_t left)
{
	return (unsigned int)min(left, (size_t)(guide_of(list) ? BATCH_GROUP : WALK_GROUP));
}

/* All from this level to the next. */
static __always_inline void step_down(unsigned int n, const u64 *key, size_t stride, unsigned int level,
				      enum walk_for use, struct node **at)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 k = *(const u64 *)((const char *)key + i * stride);
		struct node *node = at[i];
		enum step step;

		if (unlikely(!node))
			continue;
		do
			step = node_level(node) == level ? walk_step(&node, k, use, NODE_CAP) : STEP_ANEW;
		while (unlikely(step == STEP_RIGHT));
		at[i] = likely(step == STEP_DOWN) ? node : NULL;
	}
}

/* The leaves for n keys, header and heads on their way into the cache: nobody has looked at them yet. NULL: none. */
static __always_inline void walk_all(struct tree *list, unsigned int n, const u64 *key, size_t stride,
				     struct node **leaf)
{
	struct node *root = smp_load_acquire(&list->root); /* pairs with add_root */
	unsigned int level = node_level(root), i;

	for (i = 0; i < n; i++)
		leaf[i] = root;
	for (; level > READ_ONCE(list->guess_from); level--)
		step_down(n, key, stride, level, WALK_ON, leaf);
	if (level == 2)
		step_down(n, key, stride, level--, WALK_TO_INNER, leaf);
	if (level)
		step_down(n, key, stride, level, WALK_ON, leaf);
}

/* A leaf somebody led to: is it one, and does it or the next one cover key? */
static __always_inline struct node *settle(struct node *leaf, u64 key, u64 *word)
{
	return likely(leaf) && likely(!node_level(leaf)) ? leaf_settle(leaf, key, word) : NULL;
}

/* The leaves that cover n <= BATCH_GROUP keys, and their words then. NULL: take the walk. */
static __always_inline void find_leaves(struct tree *list, unsigned int n, const u64 *key, size_t stride,
					struct node **leaf, u64 *word)
{
	const struct guide *guide = guide_of(list);
	struct node *walked[WALK_GROUP];
	unsigned int i, m = 0;
	u64 left[WALK_GROUP];
	u8 who[WALK_GROUP];

	if (guide)
		guide_ask_all(guide, leaf_fill(list), n, key, stride, leaf);
	else
		walk_all(list, n, key, stride, leaf);
	for (i = 0; i < n; i++) {
		u64 k = *(const u64 *)((const char *)key + i * stride);

		leaf[i] = settle(leaf[i], k, &word[i]);
		if (unlikely(!leaf[i]) && guide && m < WALK_GROUP) {
			left[m] = k;
			who[m++] = (u8)i;
		}
	}
	if (!m)
		return;
	walk_all(list, m, left, sizeof(*left), walked);
	for (i = 0; i < m; i++)
		leaf[who[i]] = settle(walked[i], left[i], &word[who[i]]);
}

/* ---- lookups ---- */

/* One leaf of a batched lookup. */
struct probe {
	struct node *leaf;
	u64 word;
	u64 equal; /* entries whose head is the key's; in the ranges layout not used */
};

/* Search the heads and ask for the pair. */
static __always_inline void probe_heads(struct probe *probe, struct node *leaf, u64 word, u64 key,
					bool ranges)
{
	u8 h;

	probe->leaf = leaf;
	probe->word = word;
	if (unlikely(!leaf))
		return;
	h = node_head_of(leaf, key);
	if (!ranges) {
		probe->equal = lath_heads_equal(leaf->head, h);
		if (probe->equal & READ_ONCE(leaf->live))
			prefetch((char *)&leaf->pair[__ffs64(probe->equal) % NODE_CAP]);
	} else {
		u64 below_or_at;
		long i = lath_heads_floor(leaf->head, h, READ_ONCE(leaf->live), &below_or_at);

		if (i < 0)
			return;
		prefetch((char *)&leaf->pair[i]);
		prefetch((char *)&leaf->size[i]);
	}
}

/* The entry that covers key, or -1. */
static __always_inline long probe_entry(const struct probe *probe, u64 key, bool ranges)
{
	return ranges ? node_cover(probe->leaf, key, true) : node_find_equal(probe->leaf, probe->equal, key);
}

static __always_inline void probe_group(struct tree *list, unsigned int n, const u64 *points,
					struct probe *probe)
{
	struct node *leaf[BATCH_GROUP];
	u64 word[BATCH_GROUP];
	unsigned int i;

	find_leaves(list, n, points, sizeof(*points), leaf, word);
	for (i = 0; i < n; i++)
		probe_heads(&probe[i], leaf[i], word[i], points[i], list->ranges);
	lath_delay("batch: leaves searched");
}

static size_t lookup_group(struct tree *list, unsigned int n, const u64 *points, struct lath_item *found)
{
	struct probe probe[BATCH_GROUP];
	size_t hits = 0;
	unsigned int i;

	probe_group(list, n, points, probe);
	for (i = 0; i < n; i++) {
		const struct node *leaf = probe[i].leaf;

		found[i].size = 0;
		if (likely(leaf)) {
			long e = probe_entry(&probe[i], points[i], list->ranges);

			if (e >= 0)
				item_of(leaf, (unsigned int)e, list->ranges, &found[i]);
			if (likely(node_valid(probe[i].leaf, probe[i].word))) {
				hits += e >= 0;
				continue;
			}
		}
		if (!lookup_item(list, points[i], &found[i]))
			hits++;
		else
			found[i].size = 0;
	}
	return hits;
}

static size_t get_group(struct tree *list, unsigned int n, const u64 *points, u64 *values, u8 *hit)
{
	struct probe probe[BATCH_GROUP];
	size_t hits = 0;
	unsigned int i;

	probe_group(list, n, points, probe);
	for (i = 0; i < n; i++) {
		const struct node *leaf = probe[i].leaf;
		struct lath_item item;

		if (likely(leaf)) {
			long e = probe_entry(&probe[i], points[i], list->ranges);

			if (e >= 0)
				values[i] = READ_ONCE(leaf->pair[e].value);
			if (likely(node_valid(probe[i].leaf, probe[i].word))) {
				hit[i] = e >= 0;
				hits += e >= 0;
				continue;
			}
		}
		hit[i] = !lookup_item(list, points[i], &item);
		if (hit[i])
			values[i] = item.value;
		hits += hit[i];
	}
	return hits;
}

size_t lath_index_lookup_batch(struct lath_index *public, size_t n, const uint64_t *points,
				  struct lath_item *found)
{
	struct tree *list = tree_of(public);
	size_t hits = 0, i;
	unsigned int m;

	for (i = 0; i < n; i += m) {
		m = group_size(list, n - i);
		walker_enter(list);
		hits += lookup_group(list, m, points + i, found + i);
		walker_exit(list);
	}
	return hits;
}

size_t lath_index_get_batch(struct lath_index *public, size_t n, const uint64_t *points,
			       uint64_t *values, uint8_t *hit)
{
	struct tree *list = tree_of(public);
	size_t hits = 0, i;
	unsigned int m;

	for (i = 0; i < n; i += m) {
		m = group_size(list, n - i);
		walker_enter(list);
		hits += get_group(list, m, points + i, values + i, hit + i);
		walker_exit(list);
	}
	return hits;
}

/* ---- changes ---- */

/* Ask for the entries an insert will move: from where key belongs to the end, or, where they are spread, those near. */
static void prefetch_entries(const struct tree *list, const struct node *leaf, u64 key)
{
	unsigned int used = READ_ONCE(leaf->used), i = hweight64(node_match(leaf, key).lt);

	if (list->loose) {
		prefetchw((const char *)&leaf->pair[i] - 32);
		prefetchw((const char *)&leaf->pair[i] + 32);
		return;
	}
	used = used < NODE_CAP ? used : NODE_CAP - 1;
	for (; i <= used; i += 64 / sizeof(struct pair))
		prefetch((const char *)&leaf->pair[i]);
	if (list->ranges)
		prefetch((const char *)&leaf->size[used / 2]);
}

size_t lath_index_insert_batch(struct lath_index *public, size_t n, const struct lath_item *items,
				  int *results)
{
	struct tree *list = tree_of(public);
	struct reserve reserve = { 0 };
	struct node *leaf[BATCH_GROUP];
	u64 words[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j, m;

	for (i = 0; i < n; i += m) {
		m = group_size(list, n - i);
		walker_enter(list);
		find_leaves(list, m, &items[i].key, sizeof(*items), leaf, words);
		for (j = 0; j < m; j++)
			if (leaf[j])
				prefetch_entries(list, leaf[j], items[i + j].key);
		for (j = 0; j < m; j++) {
			const struct lath_item *item = &items[i + j];
			int ret = -EINVAL;
			u64 word;

			if (item_valid(list, item->key, item->size)) {
				ret = -EAGAIN;
				if (leaf[j] && node_holds(leaf[j], item->key, &word))
					ret = insert_under(list, leaf[j], word, item, NULL);
				if (ret == -EAGAIN)
					ret = insert_item(list, item, NULL, &reserve);
			}
			done += !ret;
			if (results)
				results[i + j] = ret;
		}
		walker_exit(list);
		guide_turn(list, m, true);
	}
	reserve_release(list, &reserve);
	return done;
}

size_t lath_index_erase_batch(struct lath_index *public, size_t n, const uint64_t *keys, int *results)
{
	struct tree *list = tree_of(public);
	struct node *leaf[BATCH_GROUP];
	u64 words[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j, m;

	for (i = 0; i < n; i += m) {
		struct probe probe;

		m = group_size(list, n - i);
		walker_enter(list);
		find_leaves(list, m, &keys[i], sizeof(*keys), leaf, words);
		for (j = 0; j < m; j++)
			probe_heads(&probe, leaf[j], words[j], keys[i + j], false);
		for (j = 0; j < m; j++) {
			int ret = -EAGAIN;
			u64 word;

			if (leaf[j] && node_holds(leaf[j], keys[i + j], &word))
				ret = erase_under(list, leaf[j], word, keys[i + j], true, NULL);
			if (ret == -EAGAIN)
				ret = erase_item(list, keys[i + j], true, NULL);
			done += !ret;
			if (results)
				results[i + j] = ret;
		}
		walker_exit(list);
		guide_turn(list, m, false);
	}
	return done;
}
