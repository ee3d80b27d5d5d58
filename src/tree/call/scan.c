/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * scan.c - copy items out in order, leaf by leaf.
 *
 * Each leaf is copied under its lockword: what comes out of one leaf was there together. A scan to
 * the right prefetches several leaves ahead. It takes their addresses from their parents, because a
 * right link is known only when its leaf has arrived; what a parent says serves as a prefetch hint
 * only and is never followed.
 */
#include "tree/way/locate.h"

/* Leaves prefetched ahead of the one that is copied. */
#define AHEAD 4
/* Entries that a scan prefetches beyond those that it expects to read in a leaf. */
#define SPARE 8
/* A call for fewer items goes to its leaf as a lookup does. */
#define SCAN_LEAST (NODE_CAP / 2)
/* A call for this many items or more is expected to be one of a series: it prefetches AHEAD leaves
 * behind its own last one, which arrive while the caller works on what it got. */
#define LONG_SCAN (4 * NODE_CAP)
/* Items that a visitor gets at most in one call. In the kernel a stack is small. */
#ifdef __KERNEL__
#define VISIT (NODE_CAP / 2)
#define VISIT_WORDS VISIT
#else
#define VISIT NODE_CAP
#define VISIT_WORDS (VISIT * VALUE_WORDS)
#endif

struct scan {
	struct tree *tree;
	struct node *leaf; /* to be copied next, trusted under lockword */
	u64 lockword;
	u64 from, last;		   /* what is left to scan */
	const struct node *parent; /* of the leaves ahead, or NULL */
	u64 children;		   /* its entries whose children have not been prefetched */
	size_t wanted; /* entries to prefetch yet; SIZE_MAX: as long as the scan goes on */
};

/* Prefetch n entries of a leaf from entry `from` on, and what a search reads. What lies between two
 * such lines is not fetched: a scan of few items would wait for lines that it does not read. */
static void prefetch_part(const struct node *leaf, unsigned int from, size_t n)
{
	/* the leaf has not been validated, and may be any word */
	uintptr_t pair = (uintptr_t)leaf + offsetof(struct node, pair), p, end;

	LATH_ASSERT(from <= NODE_CAP);
	end = pair + min(from + n, (size_t)NODE_CAP) * sizeof(struct pair);
	prefetch((const char *)leaf);
	prefetch((const char *)((uintptr_t)leaf + 64));
	for (p = pair + from * sizeof(struct pair); p < end; p += 64)
		prefetch((const char *)p);
}

/* Prefetch the next leaf ahead. */
static void prefetch_ahead(struct scan *scan)
{
	const struct node *parent = scan->parent;
	size_t wanted = scan->wanted;
	unsigned int i;

	/* the first leaf was located without its parent, or enough is under way */
	if (!parent || !wanted)
		return;
	scan->wanted -= min(wanted, (size_t)scan->tree->leaf_fill);
	/* no child is left: go on with the parent's right sibling, unchecked, as a hint only */
	if (!scan->children) {
		parent = scan->parent = READ_ONCE(parent->right);
		if (!parent)
			return;
		scan->children = READ_ONCE(parent->live);
		if (!scan->children)
			return;
	}
	/* read without validation: a wrong child costs a useless prefetch, no more */
	i = __ffs64(scan->children) % NODE_CAP;
	scan->children &= scan->children - 1;
	prefetch_part(node_child(parent, i), 0, min(wanted, (size_t)NODE_CAP) + SPARE);
}

/* The leaf for scan->from as its parent says, with the leaves behind it prefetched; NULL: the
 * caller locates it. */
static struct node *first_leaf(struct scan *scan, size_t max)
{
	unsigned int fill = scan->tree->leaf_fill, place, ahead;
	struct node *parent, *leaf;
	u64 lockword, low, end;
	long i;

	parent = lath_level_find(scan->tree, scan->from, 1, &lockword);
	if (!parent)
		return NULL;
	i = inner_slot(parent, scan->from);
	if (i < 0)
		return NULL;
	leaf = node_child(parent, (unsigned int)i);
	low = node_key(parent, (unsigned int)i);
	end = inner_end(parent, (unsigned int)i);
	/* the parent changed: the leaf may be any node, and what was read any number */
	if (!node_valid(parent, lockword))
		return NULL;
	place = min(lath_part(scan->from - low, end - low, fill), fill);
	prefetch_part(leaf, place - min(place, (unsigned int)SPARE),
		      min(max, (size_t)NODE_CAP) + 2 * SPARE);
	scan->wanted = max >= LONG_SCAN ? SIZE_MAX : max - min(max, (size_t)(fill - place));
	scan->parent = parent;
	scan->children = READ_ONCE(parent->live) & ~lath_ones((unsigned int)i + 1);
	for (ahead = 0; ahead < AHEAD && scan->wanted; ahead++)
		prefetch_ahead(scan);
	return leaf;
}

/* Begin a scan of [from, last] that wants at most max items. In a read-side critical section. */
static void scan_begin(struct scan *scan, struct tree *tree, u64 from, u64 last, size_t max)
{
	LATH_ASSERT(from <= last && lath_reader_inside(tree->rcu));
	*scan = (struct scan){ .tree = tree, .from = from, .last = last };
	/* a short scan goes by finger or hint table: to find the parent takes a descent */
	scan->leaf = max >= SCAN_LEAST ? first_leaf(scan, max) : NULL;
	/* what the parent led to may be another node by now: its own fences decide */
	if (!scan->leaf || node_level(scan->leaf) || !node_holds(scan->leaf, from, &scan->lockword))
		scan->leaf = locate(tree, from, FOR_READ, &scan->lockword);
}

/* The entries of the current leaf that start in [scan->from, scan->last], as a mask. */
static __always_inline u64 wanted(const struct scan *scan, u64 end)
{
	const struct node *leaf = scan->leaf;
	u64 live = READ_ONCE(leaf->live) & lath_ones(NODE_CAP);

	/* most leaves of a scan are wanted whole: no search for the ends then */
	if (READ_ONCE(leaf->low) < scan->from)
		live &= ~lath_ones(node_rank(leaf, scan->from));
	if (end > scan->last)
		live &= lath_ones(node_rank(leaf, scan->last + 1));
	return live;
}

/* Where a scan puts items: whole ones, or keys and values in separate columns. */
struct sink {
	struct lath_item *items; /* or NULL */
	u64 *keys;		 /* or NULL */
	u64 *values;
	bool places; /* items get the addresses of values */
};

/* Copy the entries of the mask behind the n that are there, until there are max. Returns their
 * number. What the leaf has beyond stays for the next call, which begins at *next. */
static __always_inline size_t copy_entries(const struct scan *scan, u64 live,
					   const struct sink *sink, size_t n, size_t max)
{
	const struct node *leaf = scan->leaf;
	struct lath_item *items = sink->items;
	unsigned int side = scan->tree->leaf_side, i;

	LATH_ASSERT(n <= max);
	/* the frequent case, values of one word, asks nothing for each entry */
	if (items && side < SIDE_MORE) {
		bool sizes = node_has_sizes(leaf);

		for (; live && n < max; live &= live - 1) {
			i = __ffs64(live);
			lath_delay("found, not yet copied");
			items[n++] = (struct lath_item){
				node_key(leaf, i), sizes ? node_side(leaf, i) : 1,
				sink->places ? (u64)(uintptr_t)&leaf->pair[i].value
					     : node_value(leaf, i)
			};
		}
		return n;
	}
	for (; live && n < max; live &= live - 1, n++) {
		i = __ffs64(live);
		if (items) {
			item_of(scan->tree, leaf, i, &items[n]);
			continue;
		}
		lath_delay("found, not yet copied");
		if (sink->keys)
			sink->keys[n] = node_key(leaf, i);
		if (unlikely(side >= SIDE_MORE))
			node_copy_long(leaf, i, side, sink->values + n * value_words(scan->tree));
		else
			sink->values[n] = node_value(leaf, i);
	}
	return n;
}

/* Go on to the leaf at the right, or find the place again. */
static void scan_right(struct scan *scan, struct node *right)
{
	lath_delay("a leaf to the right");
	scan->leaf = right;
	scan->lockword = node_read(right);
	/* it was merged, to the left: its keys are found by a new search from what is left to
	 * scan */
	if (unlikely(node_dead(scan->lockword)))
		scan->leaf = locate(scan->tree, scan->from, FOR_READ, &scan->lockword);
}

/* Go on behind the current leaf, which has been read. Returns false: the scan ends with it. */
static bool scan_on(struct scan *scan, struct node *right, u64 end)
{
	if (!(scan->lockword & NODE_HALF_DEAD)) { /* a half-dead leaf covers nothing */
		if (end >= scan->last)
			return false;
		scan->from = max(scan->from, end + 1); /* fences may have moved left since */
	}
	LATH_ASSERT(right && scan->from <= scan->last);
	scan_right(scan, right);
	return true;
}

/* Copy at most max items. Returns their number; if it is max, *next is where to go on, if the sink
 * has a place for keys. */
static __always_inline size_t scan_leaves(struct scan *scan, const struct sink *sink, size_t max,
					  u64 *next)
{
	size_t n = 0, m;

	for (;;) {
		struct node *leaf = scan->leaf, *right = leaf_right(leaf);
		u64 end = READ_ONCE(leaf->last), behind = 0;

		prefetch_ahead(scan);
		m = copy_entries(scan, wanted(scan, end), sink, n, max);
		if (m == max && sink->items) /* next comes what is behind the last item */
			behind = sink->items[m - 1].key + sink->items[m - 1].size;
		else if (m == max && sink->keys)
			behind = sink->keys[m - 1] + 1;
		/* n has not grown: the next round writes over what was copied from this leaf */
		if (unlikely(!node_valid(leaf, scan->lockword))) {
			scan->leaf = locate(scan->tree, scan->from, FOR_READ, &scan->lockword);
			continue;
		}
		n = m;
		if (n == max) {
			*next = behind;
			return n;
		}
		if (!scan_on(scan, right, end))
			return n;
	}
}

/* Copy at most max items that start in [from, last] to the sink. Returns their number; *next as in
 * lath_index_scan. */
static __always_inline size_t scan_to(struct tree *tree, u64 from, u64 last,
				      const struct sink *sink, size_t max, uint64_t *next)
{
	u64 go_on = from;
	struct scan scan;
	size_t n;

	if (!max || from > last)
		return 0;
	lath_reader_enter(tree->rcu);
	scan_begin(&scan, tree, from, last, max);
	n = scan_leaves(&scan, sink, max, &go_on);
	lath_reader_exit(tree->rcu);
	if (next)
		*next = go_on;
	return n;
}

size_t lath_index_scan(struct lath_index *index, uint64_t from, uint64_t last,
		       struct lath_item *items, size_t max, uint64_t *next)
{
	struct sink sink = { .items = items };

	return scan_to(tree_of(index), from, last, &sink, max, next);
}

size_t lath_index_scan_places(struct lath_index *index, uint64_t from, uint64_t last,
			      struct lath_item *items, size_t max, uint64_t *next)
{
	struct sink sink = { .items = items, .places = true };

	LATH_ASSERT(!long_values(tree_of(index)));
	return scan_to(tree_of(index), from, last, &sink, max, next);
}

size_t lath_index_scan_values(struct lath_index *index, uint64_t from, uint64_t last,
			      uint64_t *keys, uint64_t *values, size_t max, uint64_t *next)
{
	struct sink sink = { .keys = keys, .values = values };

	LATH_ASSERT(keys || !next);
	return scan_to(tree_of(index), from, last, &sink, max, next);
}

/* Calls visit leaf by leaf until it returns anything but 0, which is returned. In a read-side
 * critical section. */
static int visit_leaves(struct scan *scan, lath_visit_fn visit, void *arg)
{
	size_t most = min(VISIT + 0u, VISIT_WORDS / value_words(scan->tree));
	u64 keys[VISIT], values[VISIT_WORDS];
	struct sink sink = { .keys = keys, .values = values };
	const struct node *ahead_of = NULL;

	for (;;) {
		struct node *leaf = scan->leaf, *right = leaf_right(leaf);
		u64 end = READ_ONCE(leaf->last);
		size_t n;
		int ret;

		/* once per leaf, though a leaf with many items is visited in parts */
		if (leaf != ahead_of)
			prefetch_ahead(scan);
		ahead_of = leaf;
		n = copy_entries(scan, wanted(scan, end), &sink, 0, most);
		if (unlikely(!node_valid(leaf, scan->lockword))) {
			scan->leaf = locate(scan->tree, scan->from, FOR_READ, &scan->lockword);
			continue;
		}
		ret = n ? visit(arg, keys, values, n) : 0;
		if (ret)
			return ret;
		if (n == most && keys[n - 1] < scan->last) /* the leaf may have more */
			scan->from = keys[n - 1] + 1;
		else if (!scan_on(scan, right, end))
			return 0;
	}
}

int lath_index_visit_values(struct lath_index *index, uint64_t from, uint64_t last, size_t expected,
			    lath_visit_fn visit, void *arg)
{
	struct tree *tree = tree_of(index);
	struct scan scan;
	int ret;

	if (from > last)
		return 0;
	lath_reader_enter(tree->rcu);
	scan_begin(&scan, tree, from, last, expected);
	ret = visit_leaves(&scan, visit, arg);
	lath_reader_exit(tree->rcu);
	return ret;
}

/* ---- to the left ---- */

/* Copy the items of one leaf that start in [first, from], the highest first. Returns their
 * number. */
static size_t copy_leaf_back(const struct tree *tree, const struct node *leaf, u64 from, u64 first,
			     struct lath_item *items, size_t max)
{
	int i = (int)node_floor(leaf, from);
	size_t n = 0;

	LATH_ASSERT(first <= from && max);
	for (; i >= 0 && n < max; i = node_before(leaf, i)) {
		/* entries are in order: no further one is in the range */
		if (node_key(leaf, (unsigned int)i) < first)
			break;
		item_of(tree, leaf, (unsigned int)i, &items[n++]);
	}
	return n;
}

static size_t scan_back(struct tree *tree, u64 from, u64 first, struct lath_item *items, size_t max,
			u64 *next)
{
	size_t n = 0;

	for (;;) {
		u64 lockword, low;
		struct node *leaf = locate(tree, from, FOR_READ, &lockword);
		size_t m = copy_leaf_back(tree, leaf, from, first, items + n, max - n);

		low = READ_ONCE(leaf->low);
		/* n has not grown: what was copied from the leaf is overwritten */
		if (unlikely(!node_valid(leaf, lockword)))
			continue;
		n += m;
		if (n == max) {
			*next = items[n - 1].key - 1; /* of key 0: the last key, as at the end */
			return n;
		}
		if (low <= first)
			return n;
		/* there is no link to the left: the leaf before covers the key before */
		from = low - 1;
	}
}

size_t lath_index_scan_back(struct lath_index *index, uint64_t from, uint64_t first,
			    struct lath_item *items, size_t max, uint64_t *next)
{
	struct tree *tree = tree_of(index);
	u64 go_on = from;
	size_t n;

	if (!max || from < first)
		return 0;
	lath_reader_enter(tree->rcu);
	n = scan_back(tree, from, first, items, max, &go_on);
	lath_reader_exit(tree->rcu);
	if (next)
		*next = go_on;
	return n;
}
