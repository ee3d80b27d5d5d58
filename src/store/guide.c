/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * guide.c - the table of guide.h: looking at it, keeping it.
 */
#include "store/guide.h"

#include "skiplist/finger.h"

/* What fits the caches is walked to as fast. */
unsigned int lath_guide_least = 4096;

#define TURN 256	/* changes between two parents */
#define SLOTS_A_LEAF 3	/* at least; at most twice as many */
#define SLOTS_MOST 4096 /* of one leaf that are written */

struct guide {
	u64 base;
	unsigned int shift; /* a slot is for 2^shift numbers */
	unsigned int bits;  /* 2^bits slots */
	u64 place;	    /* in the arena */
	u64 slot[];
};

/* A slot: leaf / 64 in bits 0..41; then in parts of a slot, where the leaf begins, and its width. */
#define LEAF_BITS 42
_Static_assert(sizeof(struct node) % 64 == 0, "addresses of leaves end in six zeros");
#define PART_BITS 11
#define PARTS_SHIFT 5 /* 32 in a slot */
#define PART_MAX ((1 << PART_BITS) - 1)
#define BEGIN_AT (1 << (PART_BITS - 1)) /* this: where the slot begins */

static unsigned int part_shift(const struct guide *guide)
{
	return guide->shift > PARTS_SHIFT ? guide->shift - PARTS_SHIFT : 0;
}

/* ---- looking ---- */

/* How far behind the beginning of the table. */
static __always_inline u64 offset_of(const struct guide *guide, u64 key)
{
	return key > guide->base ? key - guide->base : 0;
}

/* The leaf for a key, and about where the key is among its slots. */
static __always_inline struct node *look(const struct guide *guide, u64 key, const char **pair)
{
	u64 at = offset_of(guide, key), i = at >> guide->shift, slot;
	s64 part;
	struct node *leaf;

	if (unlikely(i >> guide->bits))
		return NULL;
	slot = READ_ONCE(guide->slot[i]);
	if (unlikely(!slot))
		return NULL;
	leaf = (struct node *)(uintptr_t)((slot & ((1ull << LEAF_BITS) - 1)) << 6);
	part = (s64)((at - (i << guide->shift)) >> part_shift(guide));
	part -= (s64)(slot >> LEAF_BITS & PART_MAX) - BEGIN_AT;
	part = max(part, (s64)0);
	*pair = (const char *)&leaf->pair[lath_part((u64)part, slot >> (LEAF_BITS + PART_BITS), NODE_CAP)];
	return leaf;
}

static __always_inline const struct guide *guide_for_many(struct lath_store *store)
{
	const struct guide *guide = smp_load_acquire(&store->guide); /* pairs with the store in renew */

	return likely(guide) && READ_ONCE(store->guided) ? guide : NULL;
}

/* Calls at neighbouring keys find their leaves by the fingers, in the cache. */
static __always_inline const struct guide *guide_for_one(struct lath_store *store)
{
	const struct guide *guide = guide_for_many(store);

	return guide && !fingers_there(list_of(&store->root.list)) ? guide : NULL;
}

/*
 * The leaf that holds key and its word: this one, or the one at its right, where the upper half of a leaf has gone that was
 * split since, and where the key is if the slot's middle is not; or NULL.
 */
static __always_inline struct node *settle(struct node *leaf, u64 key, u64 *word)
{
	struct node *right;

	if (likely(node_holds(leaf, key, word)))
		return leaf;
	if (*word & NODE_FLAGS || key < READ_ONCE(leaf->low))
		return NULL;
	right = leaf_right(leaf);
	if (!node_valid(leaf, *word) || !right)
		return NULL;
	prefetch((const char *)right->head);
	lath_delay("guide: a leaf to the right");
	return node_holds(right, key, word) ? right : NULL;
}

enum guide_answer guide_get(struct lath_store *store, u64 key, u64 *word)
{
	const struct guide *guide = guide_for_one(store);
	struct node *leaf;
	const char *pair;
	u64 state, found = 0;
	long i;

	if (!guide)
		return GUIDE_NONE;
	leaf = look(guide, key, &pair);
	if (unlikely(!leaf))
		return GUIDE_NONE;
	prefetch((const char *)leaf);
	prefetch((const char *)leaf + 64);
	prefetch(pair - 32);
	prefetch(pair + 32);
	prefetch(pair - 96);
	prefetch(pair + 96);
	leaf = settle(leaf, key, &state);
	if (unlikely(!leaf))
		return GUIDE_NONE;
	i = node_find(leaf, key);
	if (i >= 0)
		found = node_value(leaf, (unsigned int)i);
	if (unlikely(!node_valid(leaf, state)))
		return GUIDE_NONE;
	if (i < 0)
		return GUIDE_ABSENT;
	*word = found;
	return GUIDE_THERE;
}

struct node *guide_leaf(struct lath_store *store, u64 key)
{
	const struct guide *guide;
	struct node *leaf = NULL;
	const char *pair;
	unsigned int i;

	lath_reader_enter(store->rcu); /* the table may be replaced; leaves stay leaves */
	guide = guide_for_one(store);
	if (guide)
		leaf = look(guide, key, &pair);
	lath_reader_exit(store->rcu);
	if (!leaf)
		return NULL;
	prefetchw((const char *)leaf);
	prefetchw((const char *)leaf + 64);
	for (i = 0; i < 8; i++) /* a free slot is near, on either side */
		prefetchw(pair - 192 + 64 * i);
	return leaf;
}

/* ---- many at once: two misses in a row instead of one a level ---- */

/* A key on its way. */
struct led {
	struct node *leaf; /* NULL: by a walk */
	u64 word;
	u64 equal; /* entries that have the key's head */
};

/* The leaves' headers and heads, asked for. */
static void look_all(const struct guide *guide, unsigned int n, const u64 *key, size_t stride,
		     struct led *led)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 at = offset_of(guide, *(const u64 *)((const char *)key + i * stride));

		prefetch(&guide->slot[min(at >> guide->shift, (1ull << guide->bits) - 1)]);
	}
	for (i = 0; i < n; i++) {
		const char *pair;

		led[i].leaf = look(guide, *(const u64 *)((const char *)key + i * stride), &pair);
		if (unlikely(!led[i].leaf))
			continue;
		prefetch((const char *)led[i].leaf);
		prefetch((const char *)led[i].leaf + 64);
	}
}

bool guide_get_batch(struct lath_store *store, unsigned int n, const u64 *keys, u64 *words, u8 *hits)
{
	const struct guide *guide = guide_for_many(store);
	u64 left[GUIDE_GROUP], left_word[GUIDE_GROUP];
	u8 who[GUIDE_GROUP], left_hit[GUIDE_GROUP];
	struct led led[GUIDE_GROUP];
	unsigned int i, m = 0;

	if (!guide)
		return false;
	look_all(guide, n, keys, sizeof(*keys), led);
	for (i = 0; i < n; i++) {
		struct node *leaf = led[i].leaf;

		if (leaf)
			leaf = led[i].leaf = settle(leaf, keys[i], &led[i].word);
		if (unlikely(!leaf))
			continue;
		led[i].equal = lath_heads_equal(leaf->head, node_head_of(leaf, keys[i]));
		if (led[i].equal & READ_ONCE(leaf->live))
			prefetch(&leaf->pair[__ffs64(led[i].equal) % NODE_CAP]);
	}
	for (i = 0; i < n; i++) {
		struct node *leaf = led[i].leaf;

		if (likely(leaf)) {
			long e = node_find_equal(leaf, led[i].equal, keys[i]);

			hits[i] = e >= 0;
			if (e >= 0)
				words[i] = node_value(leaf, (unsigned int)e);
			if (likely(node_valid(leaf, led[i].word)))
				continue;
		}
		left[m] = keys[i];
		who[m++] = (u8)i;
	}
	if (m)
		lath_skiplist_get_batch(&store->root.list, m, left, left_word, left_hit);
	for (i = 0; i < m; i++) {
		hits[who[i]] = left_hit[i];
		if (left_hit[i])
			words[who[i]] = left_word[i];
	}
	return true;
}

enum guide_order guide_insert_batch(struct lath_store *store, unsigned int n, const struct lath_item *items,
				    int *results)
{
	struct skiplist *list = list_of(&store->root.list);
	struct lath_item left[GUIDE_GROUP];
	struct led led[GUIDE_GROUP];
	enum guide_order order = GUIDE_IN_ORDER;
	int left_result[GUIDE_GROUP];
	const struct guide *guide;
	u8 who[GUIDE_GROUP];
	unsigned int i, m = 0;

	lath_reader_enter(store->rcu);
	guide = guide_for_many(store);
	if (guide)
		look_all(guide, n, &items[0].key, sizeof(*items), led);
	lath_reader_exit(store->rcu);
	if (!guide)
		return GUIDE_NOT_DONE;
	for (i = 0; i < n; i++) {
		struct node *leaf = led[i].leaf;

		if (leaf)
			leaf = led[i].leaf = settle(leaf, items[i].key, &led[i].word);
		if (likely(leaf)) {
			const char *pair =
				(const char *)&leaf->pair[hweight64(node_match(leaf, items[i].key).lt)];

			prefetchw(pair - 32);
			prefetchw(pair + 32);
			continue;
		}
		left[m] = items[i];
		who[m++] = (u8)i;
	}
	if (m)
		lath_skiplist_insert_batch(&store->root.list, m, left, left_result);
	for (i = 0; i < m; i++) {
		unsigned int j;

		results[who[i]] = left_result[i];
		for (j = 0; j < who[i]; j++) /* one that comes before comes behind */
			if (items[j].key == left[i].key && led[j].leaf)
				order = GUIDE_ANY_ORDER;
	}
	for (i = 0; i < n; i++) {
		u64 word;

		if (!led[i].leaf)
			continue;
		/* an item before may have changed it */
		results[i] = -EAGAIN;
		if (likely(node_holds(led[i].leaf, items[i].key, &word)))
			results[i] = insert_under(list, led[i].leaf, word, &items[i], NULL);
		if (results[i] == -EAGAIN) {
			results[i] = lath_skiplist_insert_item(&store->root.list, &items[i], NULL);
			if (!results[i])
				guide_repair(store, items[i].key);
		}
	}
	return order;
}

int guide_replace(struct lath_store *store, u64 key, u64 value, u64 *old)
{
	const struct guide *guide;
	struct node *leaf = NULL;
	const char *pair;
	u64 word;
	long i;

	lath_reader_enter(store->rcu);
	guide = guide_for_many(store);
	if (guide)
		leaf = look(guide, key, &pair);
	lath_reader_exit(store->rcu);
	if (leaf)
		leaf = settle(leaf, key, &word);
	if (!leaf || !node_trylock(leaf, word))
		return -EAGAIN;
	i = node_find(leaf, key);
	if (i < 0) {
		node_unlock_clean(leaf);
		return -ENOENT;
	}
	*old = node_value(leaf, (unsigned int)i);
	WRITE_ONCE(leaf->pair[i].value, value);
	node_unlock(leaf);
	return 0;
}

/* ---- keeping ---- */

/* Let the slots whose middles are in [low, last] lead to a leaf: are there any? */
static bool lead(struct guide *guide, u64 low, u64 last, const struct node *leaf)
{
	u64 half = 1ull << guide->shift >> 1, middle = guide->base + half, i, to;
	unsigned int parts = part_shift(guide);
	u64 width = min((last - low) >> parts, (u64)PART_MAX);

	if (last < middle)
		return false;
	i = low > middle ? ((low - middle - 1) >> guide->shift) + 1 : 0;
	to = min((last - middle) >> guide->shift, (1ull << guide->bits) - 1);
	if (i > to)
		return false;
	for (to = min(to, i + SLOTS_MOST); i <= to; i++) {
		s64 begin = (s64)(low - (guide->base + (i << guide->shift))) >> parts;

		begin = max(begin, (s64)-BEGIN_AT) + BEGIN_AT;
		WRITE_ONCE(guide->slot[i], (u64)(uintptr_t)leaf >> 6 |
						   (u64)min(begin, (s64)PART_MAX) << LEAF_BITS |
						   max(width, (u64)1) << (LEAF_BITS + PART_BITS));
	}
	return true;
}

int guide_insert(struct lath_store *store, struct node *leaf, const struct lath_item *item)
{
	u64 word;
	int ret = -EAGAIN;

	leaf = settle(leaf, item->key, &word);
	if (likely(leaf))
		ret = insert_under(list_of(&store->root.list), leaf, word, item, NULL);
	return ret;
}

void guide_repair(struct lath_store *store, u64 key)
{
	struct skiplist *list = list_of(&store->root.list);
	struct node *leaf = lath_fingers.list_id == list->id ? finger_leaf(list, 0) : NULL;
	struct guide *guide;
	u64 word, low, last;

	if (!leaf || !node_holds(leaf, key, &word))
		return;
	low = READ_ONCE(leaf->low);
	last = READ_ONCE(leaf->last);
	if (!node_valid(leaf, word))
		return;
	lath_reader_enter(store->rcu);
	guide = smp_load_acquire(&store->guide); /* pairs with the store in renew */
	if (guide)
		lead(guide, low, last, leaf);
	lath_reader_exit(store->rcu);
}

/* ---- in turn; the lock held ---- */

/* A table of this size for what was seen. */
static void renew(struct lath_store *store, unsigned int bits, u64 base, unsigned int shift)
{
	struct guide *guide, *old = store->guide;
	u64 place;

	if (arena_alloc(&store->index, sizeof(*guide) + (sizeof(u64) << bits), &place))
		return; /* what there is stays, and is looked at again in the next round */
	guide = arena_at(&store->index, place);
	memset(guide, 0, sizeof(*guide) + (sizeof(u64) << bits));
	guide->base = base;
	guide->bits = bits;
	guide->shift = shift;
	guide->place = place;
	smp_store_release(&store->guide, guide); /* pairs with guide_for_many */
	if (old)
		arena_retire(&store->index, old->place);
}

/* All parents have been seen once. */
static void end_round(struct lath_store *store)
{
	struct guide_round *round = &store->guide_round;
	const struct guide *guide = store->guide;
	unsigned int bits, shift, spread;
	u64 margin, base, slots = round->leaves * SLOTS_A_LEAF;

	if (round->leaves >= lath_guide_least && round->leaves > 2) {
		bits = fls64(slots);
		margin = (round->last - round->first) / round->leaves;
		base = round->first > margin ? round->first - margin : 0;
		spread = fls64(round->last - base);
		shift = spread > bits ? spread - bits : 0;
		WRITE_ONCE(store->guided, guide && round->led >= round->leaves - round->leaves / 4);
		if (!guide || bits > guide->bits ||
		    (!store->guided && (shift != guide->shift || base < guide->base)))
			renew(store, bits, base, shift);
	}
	memset(round, 0, sizeof(*round));
}

/* The next parent's leaves. False: there are none, or they are being changed. */
static bool step(struct lath_store *store)
{
	struct guide_round *round = &store->guide_round;
	struct pair pair[NODE_CAP];
	unsigned int n = 0, i;
	struct node *parent;
	u64 state, live, last;

	parent = level_node(list_of(&store->root.list), round->hand, 1, &state);
	if (!parent)
		return false;
	for (live = READ_ONCE(parent->live); live && n < NODE_CAP; live &= live - 1) {
		i = __ffs64(live) % NODE_CAP;
		pair[n].key = node_key(parent, i);
		pair[n++].value = node_value(parent, i);
	}
	last = READ_ONCE(parent->last);
	if (!node_valid(parent, state) || !n)
		return false;
	for (i = 0; i < n; i++) {
		u64 end = i + 1 < n ? pair[i + 1].key - 1 : last;

		if (round->leaves++ == 1)
			round->first = pair[i].key;
		round->last = pair[i].key;
		if (store->guide)
			round->led += lead(store->guide, pair[i].key, end,
					   (const struct node *)(uintptr_t)pair[i].value);
	}
	round->hand = last + 1;
	if (!round->hand)
		end_round(store);
	return true;
}

void guide_go_round(struct lath_store *store)
{
	if (store->mark || !lath_spin_trylock(&store->guide_lock))
		return;
	lath_reader_enter(store->rcu);
	memset(&store->guide_round, 0, sizeof(store->guide_round));
	while (step(store) && store->guide_round.hand)
		;
	lath_reader_exit(store->rcu);
	lath_spin_unlock(&store->guide_lock);
}

static __thread unsigned int turns __attribute__((tls_model("initial-exec")));

void guide_turn(struct lath_store *store, unsigned int changes)
{
	turns += changes;
	if (likely(turns < TURN))
		return;
	turns = 0;
	if (store->mark || !lath_spin_trylock(&store->guide_lock))
		return;
	lath_reader_enter(store->rcu);
	step(store);
	lath_reader_exit(store->rcu);
	lath_spin_unlock(&store->guide_lock);
}
