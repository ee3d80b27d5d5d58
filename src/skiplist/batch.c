/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many calls with their cache misses overlapped.
 *
 * The walks of a group go down level by level: each touches what the one before it has asked
 * memory for a round earlier. Some 20 misses can be under way at once; a single lookup has one or
 * two. Each call of a batch is then an ordinary call on warm lines, with its leaf as the thread's
 * finger; it takes effect by itself.
 * (Interleaving: Kocberber et al., "Asynchronous memory access chaining", VLDB 2015.)
 */
#include "skiplist/finger.h"
#include "skiplist/walk.h"

/* 16 to 32 are best on what we measured; half or twice as many cost 30 to 70 % more. */
#define BATCH_GROUP 16

/* The leaves for n <= BATCH_GROUP keys, header and heads on their way into the cache. NULL: take the walk. */
static void find_leaves(struct skiplist *list, unsigned int n, const u64 *key, size_t stride,
			struct node **leaf)
{
	struct node *node[BATCH_GROUP], *root = smp_load_acquire(&list->root); /* pairs with add_root */
	unsigned int level = node_level(root), i;

	for (i = 0; i < n; i++)
		node[i] = root;
	for (; level; level--) {
		for (i = 0; i < n; i++) {
			u64 k = *(const u64 *)((const char *)key + i * stride);

			while (node[i] && node_level(node[i]) == level)
				node[i] = walk_step(node[i], k, WALK_ON);
		}
	}
	for (i = 0; i < n; i++)
		leaf[i] = node[i];
}

/* One leaf of a batched lookup. */
struct probe {
	struct node *leaf;
	u64 word;
	struct lath_match match;
};

/* Search the heads and ask for the pair. A leaf that does not cover the key any more is left out. */
static void probe_heads(struct probe *probe, struct node *leaf, u64 key, bool ranges)
{
	u64 word;
	unsigned int i;

	probe->leaf = NULL;
	if (unlikely(!leaf))
		return;
	word = smp_load_acquire(&leaf->word); /* pairs with node_unlock */
	if (unlikely(word & NODE_FLAGS || key > READ_ONCE(leaf->last)))
		return;
	probe->leaf = leaf;
	probe->word = word;
	probe->match = node_match(leaf, key);
	i = hweight64(probe->match.lt);
	if (probe->match.eq & READ_ONCE(leaf->live))
		prefetch((char *)&leaf->pair[i < NODE_CAP ? i : NODE_CAP - 1]);
	else if (!ranges)
		return;
	if (ranges) {
		i = i ? i - 1 : 0;
		prefetch((char *)&leaf->pair[i < NODE_CAP ? i : NODE_CAP - 1]);
		prefetch((char *)&leaf->size[i < NODE_CAP ? i : NODE_CAP - 1]);
	}
}

/* The entry that covers key, or -1. */
static inline int probe_entry(const struct probe *probe, u64 key, bool ranges)
{
	const struct node *leaf = probe->leaf;
	int i;

	if (!ranges)
		return node_find_match(leaf, probe->match, key);
	i = node_floor_match(leaf, probe->match, key);
	return i >= 0 && key - node_key(leaf, (unsigned int)i) < READ_ONCE(leaf->size[i]) ? i : -1;
}

static bool probe_valid(const struct probe *probe)
{
	return node_valid(probe->leaf, probe->word);
}

static size_t lookup_group(struct skiplist *list, unsigned int n, const u64 *points, struct lath_item *found)
{
	struct node *leaf[BATCH_GROUP];
	struct probe probe[BATCH_GROUP];
	size_t hits = 0;
	unsigned int i;

	find_leaves(list, n, points, sizeof(*points), leaf);
	for (i = 0; i < n; i++)
		probe_heads(&probe[i], leaf[i], points[i], list->ranges);
	for (i = 0; i < n; i++) {
		int e = -1;

		found[i].size = 0;
		if (likely(probe[i].leaf)) {
			e = probe_entry(&probe[i], points[i], list->ranges);
			if (e >= 0)
				item_of(probe[i].leaf, (unsigned int)e, list->ranges, &found[i]);
			if (likely(probe_valid(&probe[i]))) {
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

static size_t get_group(struct skiplist *list, unsigned int n, const u64 *points, u64 *values, u8 *hit)
{
	struct node *leaf[BATCH_GROUP];
	struct probe probe[BATCH_GROUP];
	size_t hits = 0;
	unsigned int i;

	find_leaves(list, n, points, sizeof(*points), leaf);
	for (i = 0; i < n; i++)
		probe_heads(&probe[i], leaf[i], points[i], list->ranges);
	for (i = 0; i < n; i++) {
		struct lath_item item;
		int e;

		if (likely(probe[i].leaf)) {
			e = probe_entry(&probe[i], points[i], list->ranges);
			if (e >= 0)
				values[i] = node_value(probe[i].leaf, (unsigned int)e);
			if (likely(probe_valid(&probe[i]))) {
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

size_t lath_skiplist_lookup_batch(struct lath_skiplist *public, size_t n, const uint64_t *points,
				  struct lath_item *found)
{
	struct skiplist *list = list_of(public);
	size_t hits = 0, i;

	for (i = 0; i < n; i += BATCH_GROUP) {
		unsigned int m = n - i < BATCH_GROUP ? (unsigned int)(n - i) : BATCH_GROUP;

		lath_reader_enter(list->rcu);
		hits += lookup_group(list, m, points + i, found + i);
		lath_reader_exit(list->rcu);
	}
	return hits;
}

size_t lath_skiplist_get_batch(struct lath_skiplist *public, size_t n, const uint64_t *points,
			       uint64_t *values, uint8_t *hit)
{
	struct skiplist *list = list_of(public);
	size_t hits = 0, i;

	for (i = 0; i < n; i += BATCH_GROUP) {
		unsigned int m = n - i < BATCH_GROUP ? (unsigned int)(n - i) : BATCH_GROUP;

		lath_reader_enter(list->rcu);
		hits += get_group(list, m, points + i, values + i, hit + i);
		lath_reader_exit(list->rcu);
	}
	return hits;
}

/* ---- changes ---- */

/* Ask for the entries an insert will move: from where key belongs to the end. */
static void prefetch_entries(const struct node *leaf, u64 key, bool ranges)
{
	unsigned int used = READ_ONCE(leaf->used), i = hweight64(node_match(leaf, key).lt);

	used = used < NODE_CAP ? used : NODE_CAP - 1;
	for (; i <= used; i += 64 / sizeof(struct pair))
		prefetch((const char *)&leaf->pair[i]);
	if (ranges)
		prefetch((const char *)&leaf->size[used / 2]);
}

size_t lath_skiplist_insert_batch(struct lath_skiplist *public, size_t n, const struct lath_item *items,
				  int *results)
{
	struct skiplist *list = list_of(public);
	struct reserve reserve = { 0 };
	struct node *leaf[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j;

	for (i = 0; i < n; i += BATCH_GROUP) {
		unsigned int m = n - i < BATCH_GROUP ? (unsigned int)(n - i) : BATCH_GROUP;

		lath_reader_enter(list->rcu);
		find_leaves(list, m, &items[i].key, sizeof(*items), leaf);
		for (j = 0; j < m; j++)
			if (leaf[j])
				prefetch_entries(leaf[j], items[i + j].key, list->ranges);
		for (j = 0; j < m; j++) {
			int ret = -EINVAL;

			if (leaf[j])
				finger_set(list, leaf[j]);
			if (item_valid(list, items[i + j].key, items[i + j].size)) {
				ret = insert_by_finger(list, &items[i + j], NULL);
				if (ret == -EAGAIN)
					ret = insert_item(list, &items[i + j], NULL, &reserve);
			}
			done += !ret;
			if (results)
				results[i + j] = ret;
		}
		lath_reader_exit(list->rcu);
	}
	reserve_release(list, &reserve);
	return done;
}

size_t lath_skiplist_erase_batch(struct lath_skiplist *public, size_t n, const uint64_t *keys, int *results)
{
	struct skiplist *list = list_of(public);
	struct node *leaf[BATCH_GROUP];
	size_t done = 0, i;
	unsigned int j;

	for (i = 0; i < n; i += BATCH_GROUP) {
		unsigned int m = n - i < BATCH_GROUP ? (unsigned int)(n - i) : BATCH_GROUP;
		struct probe probe;

		lath_reader_enter(list->rcu);
		find_leaves(list, m, &keys[i], sizeof(*keys), leaf);
		for (j = 0; j < m; j++)
			probe_heads(&probe, leaf[j], keys[i + j], false);
		for (j = 0; j < m; j++) {
			int ret;

			if (leaf[j])
				finger_set(list, leaf[j]);
			ret = erase_by_finger(list, keys[i + j], true, NULL);
			if (ret == -EAGAIN)
				ret = erase_item(list, keys[i + j], true, NULL);
			done += !ret;
			if (results)
				results[i + j] = ret;
		}
		lath_reader_exit(list->rcu);
	}
	return done;
}
