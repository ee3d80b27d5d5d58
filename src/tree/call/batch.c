/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many calls with their cache misses overlapped.
 *
 * The leaves of a group of keys are looked up together: each step prefetches for one key and goes
 * on to the next key, so that some 20 misses are under way at once instead of one or two. Each call
 * of the batch is then an ordinary call on warm cache lines, and takes effect by itself. Inserts,
 * whose own work takes as long as their misses, overlap both: a few keys are inserted while those
 * behind them are under way. (Interleaving: Kocberber et al., "Asynchronous memory access
 * chaining", VLDB 2015.)
 */
#include "tree/call/call.h"
#include "tree/way/locate.h"

/* Descents at a time: 16 to 32 are best where we measured; half or twice as many cost 30 to 70 %
 * more. */
#define DESCENT_GROUP 16
/* Keys at a time if there is a hint table, by which most of them find their leaves. */
#ifdef __KERNEL__
#define BATCH_GROUP DESCENT_GROUP
#else
#define BATCH_GROUP 64
#endif

static unsigned int group_size(const struct tree *tree, size_t left)
{
	return (unsigned int)min(left, (size_t)(hint_of(tree) ? BATCH_GROUP : DESCENT_GROUP));
}

static __always_inline u64 key_at(const u64 *key, size_t stride, unsigned int i)
{
	return *(const u64 *)((const char *)key + i * stride);
}

/* ---- leaves for a group of keys ---- */

/* Take all descents from this level to the next. at[i] becomes NULL if one has to begin again. */
static __always_inline void step_down(unsigned int n, const u64 *key, size_t stride,
				      unsigned int level, struct node **at)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct node *node = at[i];
		enum step step;

		/* on an upper level it met a dead node: the key is located by itself later */
		if (unlikely(!node))
			continue;
		do
			step = node_level(node) != level
				       ? STEP_RESTART
				       : descend_step(&node, key_at(key, stride, i), 0, FOR_READ);
		while (unlikely(step == STEP_RIGHT));
		at[i] = likely(step == STEP_DOWN) ? node : NULL;
	}
}

/* Descend for n keys. leaf[i]: where the descent arrived, header and heads being prefetched; or
 * NULL. */
static __always_inline void descend_all(struct tree *tree, unsigned int n, const u64 *key,
					size_t stride, struct node **leaf)
{
	struct node *root = smp_load_acquire(&tree->root); /* pairs with add_root */
	unsigned int level, i;

	for (i = 0; i < n; i++)
		leaf[i] = root;
	/* all keys on the same level: the nodes that one step prefetches arrive while the other
	 * keys take it */
	for (level = node_level(root); level; level--)
		step_down(n, key, stride, level, leaf);
}

/* Where a descent arrived: as leaf_check, but it may be NULL or an inner node. */
static __always_inline struct node *check_leaf(struct node *leaf, u64 key, u64 *lockword)
{
	return likely(leaf) && likely(!node_level(leaf)) ? leaf_check(leaf, key, lockword) : NULL;
}

static __always_inline void descend_and_check(struct tree *tree, unsigned int n, const u64 *key,
					      size_t stride, struct node **leaf, u64 *lockword)
{
	unsigned int i;

	descend_all(tree, n, key, stride, leaf);
	for (i = 0; i < n; i++)
		leaf[i] = check_leaf(leaf[i], key_at(key, stride, i), &lockword[i]);
}

/* Descend for those keys whose leaves are not known, some of them. */
static void descend_for_missed(struct tree *tree, unsigned int n, const u64 *key, size_t stride,
			       struct node **leaf, u64 *lockword)
{
	struct node *found[DESCENT_GROUP];
	u64 missed[DESCENT_GROUP], word[DESCENT_GROUP];
	u8 who[DESCENT_GROUP];
	unsigned int i, m = 0;

	_Static_assert(BATCH_GROUP <= 256, "`who` is a byte");
	for (i = 0; i < n && m < DESCENT_GROUP; i++) {
		if (leaf[i])
			continue;
		missed[m] = key_at(key, stride, i);
		who[m++] = (u8)i;
	}
	/* what is beyond DESCENT_GROUP stays NULL: the caller locates it by itself */
	descend_and_check(tree, m, missed, sizeof(*missed), found, word);
	for (i = 0; i < m; i++) {
		if (unlikely(!found[i]))
			continue;
		leaf[who[i]] = found[i];
		lockword[who[i]] = word[i];
		/* the table learns the leaf, as after a single search that it misled */
		hint_missed(tree, missed[i], found[i], word[i]);
	}
}

/* The leaves that cover n keys, of which those of hint_predict_all() are given, with their
 * lockwords. NULL: the caller locates it. */
static __always_inline void check_predicted(struct tree *tree, unsigned int n, const u64 *key,
					    size_t stride, struct node **leaf, u64 *lockword)
{
	unsigned int i, missed = 0;

	for (i = 0; i < n; i++) {
		u64 k = key_at(key, stride, i);

		if (likely(leaf[i]) && likely(node_holds(leaf[i], k, &lockword[i])))
			continue;
		/* the table led to a neighbour: one or two steps, or a descent with the others */
		if (leaf[i])
			leaf[i] = lath_hint_find_near(tree, k, leaf[i], &lockword[i]);
		missed += !leaf[i];
	}
	if (unlikely(missed))
		descend_for_missed(tree, n, key, stride, leaf, lockword);
}

/* The leaves that cover n <= BATCH_GROUP keys, with their lockwords then. NULL: the caller locates
 * it. */
static __always_inline void locate_all(struct tree *tree, unsigned int n, const u64 *key,
				       size_t stride, struct node **leaf, u64 *lockword)
{
	const struct hint *hint = hint_of(tree);
	struct hint_step at[BATCH_GROUP];

	LATH_ASSERT(n && n <= BATCH_GROUP);
	LATH_ASSERT(nodes_stay(tree) || lath_reader_inside(tree->rcu));
	if (!hint) {
		descend_and_check(tree, n, key, stride, leaf, lockword);
		return;
	}
	hint_begin_all(hint, n, key, stride, at);
	hint_predict_all(n, key, stride, at, leaf);
	check_predicted(tree, n, key, stride, leaf, lockword);
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

/* Where results go: whole items, or values and hits. */
struct found {
	struct lath_item *items; /* or NULL */
	u64 *values;
	u8 *hits;
};

/* Look up one key in the leaf that was probed for it. Returns false if that leaf has changed, or
 * there is none. */
static __always_inline bool probe_result(const struct tree *tree, const struct probe *probe,
					 u64 key, const struct found *found, size_t at, bool *hit)
{
	long i;

	if (unlikely(!probe->leaf))
		return false;
	i = probe_entry(probe, key);
	if (i >= 0 && found->items) {
		item_of(tree, probe->leaf, (unsigned int)i, &found->items[at]);
	} else if (i >= 0) {
		lath_delay("found, not yet copied");
		if (long_values(tree))
			node_copy_long(probe->leaf, (unsigned int)i, tree->leaf_side,
				       found->values + at * value_words(tree));
		else
			found->values[at] = READ_ONCE(probe->leaf->pair[i].value);
	}
	*hit = i >= 0;
	return likely(node_valid(probe->leaf, probe->lockword));
}

/* Look up one key by itself. */
static bool lookup_again(struct tree *tree, u64 key, const struct found *found, size_t at)
{
	if (found->items)
		return !lath_lookup_item(tree, key, &found->items[at]);
	return lath_get_value(tree, key, found->values + at * value_words(tree));
}

static __always_inline size_t lookup_group(struct tree *tree, unsigned int n, const u64 *points,
					   const struct found *found, size_t at)
{
	struct probe probe[BATCH_GROUP];
	struct node *leaf[BATCH_GROUP];
	u64 lockword[BATCH_GROUP];
	size_t hits = 0;
	unsigned int i;

	locate_all(tree, n, points, sizeof(*points), leaf, lockword);
	for (i = 0; i < n; i++)
		probe_heads(&probe[i], leaf[i], lockword[i], points[i]);
	lath_delay("batch: leaves searched");
	for (i = 0; i < n; i++) {
		bool hit;

		/* the leaf changed, or none was found: a lookup by itself answers */
		if (unlikely(!probe_result(tree, &probe[i], points[i], found, at + i, &hit)))
			hit = lookup_again(tree, points[i], found, at + i);
		/* a whole item says by its size that there is none */
		if (!found->items)
			found->hits[at + i] = hit;
		else if (!hit)
			found->items[at + i].size = 0;
		hits += hit;
	}
	return hits;
}

static __always_inline size_t lookup_batch(struct tree *tree, size_t n, const u64 *points,
					   const struct found *found)
{
	size_t hits = 0, i;
	unsigned int m;

	hint_tick(tree, false);
	for (i = 0; i < n; i += m) {
		m = group_size(tree, n - i);
		/* a section per group: grace periods wait for one group at most */
		section_enter(tree);
		hits += lookup_group(tree, m, points + i, found, i);
		section_exit(tree);
	}
	return hits;
}

size_t lath_index_lookup_batch(struct lath_index *index, size_t n, const uint64_t *points,
			       struct lath_item *items)
{
	struct found found = { .items = items };

	return lookup_batch(tree_of(index), n, points, &found);
}

size_t lath_index_get_batch(struct lath_index *index, size_t n, const uint64_t *points,
			    uint64_t *values, uint8_t *hits)
{
	struct found found = { .values = values, .hits = hits };

	return lookup_batch(tree_of(index), n, points, &found);
}

/* ---- changes ---- */

/* Keys of a group that are inserted while those behind them are prefetched, in a gapped tree. Where
 * half a leaf is moved anyway that gains nothing. */
#define INSERT_PART 8u

/* Prefetch the entries that an insert will move: from where key belongs to the nearest free
 * position. Each line that is forgotten costs a whole cache miss, each one too many a part of it.
 */
static void prefetch_entries(const struct tree *tree, const struct node *leaf, u64 key)
{
	unsigned int used = READ_ONCE(leaf->used), to;
	unsigned int i = node_pivoted(leaf) ? node_group(leaf, key)
					    : lath_count_bits(node_match(leaf, key).lt);
	const char *at, *end;

	if (!gapped(tree)) {		   /* most often the free position is behind all entries */
		i = min(i, NODE_CAP - 1u); /* a full leaf, or one that is being changed */
		used = used < NODE_CAP ? used : NODE_CAP - 1;
		for (; i <= used; i += 64 / sizeof(struct pair))
			prefetch((const char *)&leaf->pair[i]);
		if (tree->leaf_side)
			prefetch((const char *)&leaf->size[used / 2]);
		return;
	}
	to = node_free_near(leaf, i);
	if (unlikely(to >= NODE_CAP)) { /* it is full: all of it will be moved */
		node_prefetch(leaf);
		return;
	}
	i = min(i, NODE_CAP - 1u);
	end = (const char *)&leaf->pair[max(i, to)] + 32;
	for (at = (const char *)&leaf->pair[min(i, to)] - 32; at < end; at += 64)
		prefetchw(at);
	prefetchw(end);
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

/* A group of inserts: what is known of the leaves. */
struct inserts {
	struct node *leaf[BATCH_GROUP];
	u64 lockword[BATCH_GROUP];
	struct reserve reserve;
};

/* Prefetch for items [from, from + n), whose leaves were located. */
static __always_inline void prefetch_all(const struct tree *tree, const struct inserts *in,
					 const struct lath_item *items, unsigned int from,
					 unsigned int n)
{
	unsigned int i;

	for (i = from; i < from + n; i++)
		if (in->leaf[i])
			prefetch_entries(tree, in->leaf[i], items[i].key);
}

/* Insert them. results may be NULL. Returns how many were inserted. */
static __always_inline size_t insert_all(struct tree *tree, struct inserts *in,
					 const struct lath_item *items, int *results,
					 unsigned int from, unsigned int n)
{
	size_t done = 0;
	unsigned int i;

	for (i = from; i < from + n; i++) {
		int ret = insert_located(tree, in->leaf[i], &items[i], &in->reserve);

		done += !ret;
		/* each item succeeds or fails by itself: an error does not stop the batch */
		if (results)
			results[i] = ret;
	}
	return done;
}

/* Insert m items by the hint table. In a gapped tree in parts: one part is inserted while the
 * entries of the next one, and the headers of the leaves of the one behind it, are under way to the
 * cache. Near keys have them there. */
static size_t insert_by_hint(struct tree *tree, const struct hint *hint, struct inserts *in,
			     unsigned int m, const struct lath_item *items, int *results)
{
	struct hint_step step[BATCH_GROUP];
	unsigned int part, i;
	size_t done = 0;
	bool near;

	hint_begin_all(hint, m, &items->key, sizeof(*items), step);
	/* near keys share leaves: the first insert brings the lines that the others need */
	near = hint_near(m, step);
	part = near || !gapped(tree) ? BATCH_GROUP : INSERT_PART;
	/* a pipeline of three stages: two more rounds empty it */
	for (i = 0; i < m + 2 * part; i += part) {
		unsigned int next = i - part, now = i - 2 * part;

		if (i < m)
			hint_predict_all(min(m - i, part), &items[i].key, sizeof(*items), step + i,
					 in->leaf + i);
		if (next < m) {
			unsigned int n = min(m - next, part);

			check_predicted(tree, n, &items[next].key, sizeof(*items), in->leaf + next,
					in->lockword + next);
			if (!near)
				prefetch_all(tree, in, items, next, n);
		}
		if (now < m)
			done += insert_all(tree, in, items, results, now, min(m - now, part));
	}
	return done;
}

size_t lath_index_insert_batch(struct lath_index *index, size_t n, const struct lath_item *items,
			       int *results)
{
	struct tree *tree = tree_of(index);
	struct inserts in;
	size_t done = 0, i;
	unsigned int m;

	/* A reserve that is not fixed is filled in insert_slow() and freed there: none is left at
	 * the end. */
	memset(&in.reserve, 0, sizeof(in.reserve));
	for (i = 0; i < n; i += m) {
		int *own = results ? results + i : NULL;
		const struct hint *hint = hint_of(tree);

		m = group_size(tree, n - i);
		/* a call per group: fork() and grace periods wait for one group at most */
		locks_enter(tree);
		section_enter(tree);
		if (hint) {
			done += insert_by_hint(tree, hint, &in, m, items + i, own);
		} else {
			locate_all(tree, m, &items[i].key, sizeof(*items), in.leaf, in.lockword);
			prefetch_all(tree, &in, items + i, 0, m);
			done += insert_all(tree, &in, items + i, own, 0, m);
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

		m = group_size(tree, n - i);
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
