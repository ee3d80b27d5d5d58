/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * find.c - searches in a set of intervals.
 *
 * A search goes through the trees of the classes in use. In a class the starts it looks at are
 * bounded from both sides: by the request, and by the shortest and the longest span of the class.
 * A search that begins prefetches where it will look in each tree that has hints, so that these
 * cache misses overlap.
 */
#include "set/interval/set.h"
#include "tree/call/call.h"

/* ---- what a search asks for: closed bounds ---- */

struct want {
	u64 first_low, first_high; /* of an interval's first key */
	u64 last_low, last_high;   /* of its last key */
};

#define NOTHING ((struct want){ 1, 0, 1, 0 })

static struct want want_stab(u64 point)
{
	return (struct want){ 0, point, point, KEY_MAX };
}

static struct want want_overlap(const struct set *set, u64 first, u64 end)
{
	u64 last = end - set->behind;

	return last < first ? NOTHING : (struct want){ 0, last, first, KEY_MAX };
}

static struct want want_within(const struct set *set, u64 first, u64 end)
{
	u64 last = end - set->behind;

	return last < first ? NOTHING : (struct want){ first, last, first, last };
}

/* What to look for in a class. Returns false if no interval of this class can match. */
static bool query_class(struct set *set, unsigned int class, const struct want *want,
			struct wide_query *query)
{
	u64 longest = READ_ONCE(set->class[class].longest), least = class_least(class);

	u64 from = want->last_low - min(want->last_low, longest);
	u64 to = want->last_high - min(want->last_high, least);

	/* An interval reaches `last_low` only if it begins at most the longest span before, and
	 * ends by `last_high` only if it begins at least the shortest span before. */
	query->from = max(want->first_low, from);
	query->to = min(want->first_high, to);
	query->low = want->last_low;
	query->high = want->last_high;
	return query->from <= query->to && want->last_high >= least;
}

/* ---- searches ---- */

/* Where a search goes on: in the tree `place`, at the key `from`, in the list there after the entry
 * with the number `order`. If both are 0 it has not begun with that tree. */
struct position {
	u32 place; /* class * PLACES + place of the class */
	u64 from, order;
};

#define BEGIN ((struct position){ 0, 0, 0 })

static size_t scan_place(struct set *set, struct tree *tree, const struct wide_query *query,
			 struct lath_item *found, size_t max, struct position *at)
{
	/* the last tree of a class has lists: the third and further intervals with one first key */
	if (at->place % PLACES == PLACES - 1)
		return lath_interval_list_scan(tree, query, found, max, &at->from, &at->order);
	return lath_wide_scan(tree, query, NULL, found, max, set->behind, &at->from);
}

/* Count what the query finds in a tree with ranks. What begins less than the shortest span of the
 * class before query->low, or behind it, matches whatever its span is; the others are looked at. */
static size_t count_place(struct set *set, struct tree *tree, struct wide_query query,
			  struct position *at)
{
	u64 least = min(query.low, class_least(at->place / PLACES));
	u64 from = max(query.from, query.low - least);
	size_t n = 0;

	LATH_ASSERT(tree->ranks && query.high == KEY_MAX);
	if (from <= query.to)
		n = (size_t)lath_index_count_range((struct lath_index *)(void *)tree, from,
						   query.to);
	if (from == query.from)
		return n;
	query.to = min(query.to, from - 1);
	return n + scan_place(set, tree, &query, NULL, ~(size_t)0, at);
}

/* The first tree of a class: what to look for there, computed before any tree is searched. */
struct begin {
	struct tree *tree;
	struct wide_query query;
	struct node *leaf; /* where the scan probably begins, or NULL */
};

/* Search one tree; `begin`: of the first tree of a class, or NULL. Returns as lath_wide_scan(). */
static __always_inline size_t search_place(struct set *set, struct tree *tree,
					   const struct want *want, const struct begin *begin,
					   struct lath_item *found, size_t max, struct position *at)
{
	struct wide_query query;

	/* most searches end where they begin */
	if (begin && found && !at->from)
		return lath_wide_scan(tree, &begin->query, begin->leaf, found, max, set->behind,
				      &at->from);
	if (!query_class(set, at->place / PLACES, want, &query))
		return 0;
	/* a search that stopped in this tree goes on there */
	if (at->from > query.from)
		query.from = at->from;
	if (query.from > query.to)
		return 0;
	if (!found && tree->ranks)
		return count_place(set, tree, query, at);
	return scan_place(set, tree, &query, found, max, at);
}

/* Prefetch where a search begins in the first tree of each class that may have something: these are
 * cache misses that overlap. Returns the bits of these classes' first trees. */
static u64 prefetch_classes(struct set *set, const struct want *want, struct begin begin[CLASSES])
{
	u64 some = 0, rest;
	unsigned int class;

	for (rest = READ_ONCE(set->used) & FIRST_PLACES; rest; rest &= rest - 1) {
		class = __ffs64(rest) / PLACES;
		begin[class].tree = class_tree(set, class, 0);
		if (!begin[class].tree || !query_class(set, class, want, &begin[class].query))
			continue;
		some |= rest & -rest;
		lath_wide_prefetch_hint(begin[class].tree, &begin[class].query);
	}
	for (rest = some; rest; rest &= rest - 1) {
		class = __ffs64(rest) / PLACES;
		begin[class].leaf = lath_wide_prefetch(begin[class].tree, &begin[class].query);
	}
	return some;
}

/* Find at most max intervals from *at on; found == NULL: count them. Returns their number. If it is
 * max, *at is where to go on. */
static size_t search(struct set *set, const struct want *want, struct lath_item *found, size_t max,
		     struct position *at)
{
	struct begin begin[CLASSES];
	u64 known = 0, rest;
	size_t n = 0;

	if (!max)
		return 0;
	lath_reader_enter(set->rcu);
	/* a search that goes on has used these lines before */
	if (!at->place && !at->from)
		known = prefetch_classes(set, want, begin);
	while (at->place < CLASSES * PLACES && (rest = READ_ONCE(set->used) >> at->place)) {
		struct tree *tree;

		if (!(rest & 1)) /* the next tree that there is */
			*at = (struct position){ .place = at->place + (u32)__ffs64(rest) };
		tree = class_tree(set, at->place / PLACES, at->place % PLACES);
		if (tree) {
			n += search_place(set, tree, want,
					  known >> at->place & 1 ? &begin[at->place / PLACES]
								 : NULL,
					  found ? found + n : NULL, max - n, at);
			LATH_ASSERT(n <= max);
			/* full, and the tree may have more: *at says where */
			if (n == max && (at->from || at->order))
				break;
		}
		*at = (struct position){ .place = at->place + 1 };
		if (n == max)
			break;
	}
	lath_reader_exit(set->rcu);
	return n;
}

static size_t search_once(struct lath_intervals *set, struct want want, struct lath_interval *found,
			  size_t max)
{
	struct position at = BEGIN;

	return search(set_of(set), &want, (struct lath_item *)(void *)found, max, &at);
}

uint64_t lath_intervals_count_overlap(struct lath_intervals *set, uint64_t first, uint64_t end)
{
	return search_once(set, want_overlap(set_of(set), first, end), NULL, ~(size_t)0);
}

uint64_t lath_intervals_count(struct lath_intervals *set)
{
	return search_once(set, (struct want){ 0, KEY_MAX, 0, KEY_MAX }, NULL, ~(size_t)0);
}

/* ---- iterators ---- */

static void iter_init(struct lath_interval_iter *iter, struct lath_intervals *set, struct want want)
{
	iter->set = set;
	iter->first_low = want.first_low;
	iter->first_high = want.first_high;
	iter->last_low = want.last_low;
	iter->last_high = want.last_high;
	iter->from = iter->order = 0;
	iter->place = iter->at = iter->copied = 0;
}

void lath_interval_iter_stab(struct lath_interval_iter *iter, struct lath_intervals *set,
			     uint64_t point)
{
	iter_init(iter, set, want_stab(point));
}

void lath_interval_iter_overlap(struct lath_interval_iter *iter, struct lath_intervals *set,
				uint64_t first, uint64_t end)
{
	iter_init(iter, set, want_overlap(set_of(set), first, end));
}

void lath_interval_iter_within(struct lath_interval_iter *iter, struct lath_intervals *set,
			       uint64_t first, uint64_t end)
{
	iter_init(iter, set, want_within(set_of(set), first, end));
}

void lath_interval_iter_all(struct lath_interval_iter *iter, struct lath_intervals *set)
{
	iter_init(iter, set, (struct want){ 0, KEY_MAX, 0, KEY_MAX });
}

/* Search on from where the iterator is. */
static size_t iter_search(struct lath_interval_iter *iter, struct lath_interval *found, size_t max)
{
	struct want want = { iter->first_low, iter->first_high, iter->last_low, iter->last_high };
	struct position at = { iter->place, iter->from, iter->order };
	size_t n = search(set_of(iter->set), &want, (struct lath_item *)(void *)found, max, &at);

	iter->place = at.place;
	iter->from = at.from;
	iter->order = at.order;
	return n;
}

int lath_interval_next(struct lath_interval_iter *iter, struct lath_interval *interval)
{
	LATH_ASSERT(iter->at <= iter->copied && iter->copied <= ARRAY_SIZE(iter->ahead));
	if (iter->at == iter->copied) {
		iter->at = 0;
		iter->copied = (u32)iter_search(iter, iter->ahead, ARRAY_SIZE(iter->ahead));
	}
	if (iter->at == iter->copied)
		return 0;
	*interval = iter->ahead[iter->at++];
	return 1;
}

size_t lath_interval_next_batch(struct lath_interval_iter *iter, struct lath_interval *found,
				size_t max)
{
	size_t n = min(max, (size_t)(iter->copied - iter->at));

	LATH_ASSERT(iter->at <= iter->copied && iter->copied <= ARRAY_SIZE(iter->ahead));
	/* first what was read ahead by single steps */
	memcpy(found, &iter->ahead[iter->at], n * sizeof(*found));
	iter->at += (u32)n;
	return n + iter_search(iter, found + n, max - n);
}

/* ---- the nearest one ---- */

struct nearest {
	bool some;
	u64 distance;
	struct lath_item item;
};

/* The nearest one after the point, in one tree: the first that begins after it. */
static void nearest_after(struct set *set, u32 place, u64 point, struct nearest *best)
{
	struct tree *tree = class_tree(set, place / PLACES, place % PLACES);
	struct want want = { point + 1, KEY_MAX, 0, KEY_MAX };
	struct position at = { .place = place };
	struct lath_item item;

	LATH_ASSERT(point < KEY_MAX && (!best->some || best->distance));
	/* only one that is nearer than the best one so far is of interest */
	if (best->some)
		want.first_high = point + min(best->distance - 1, KEY_MAX - point);
	if (!tree || want.first_low > want.first_high ||
	    !search_place(set, tree, &want, NULL, &item, 1, &at))
		return;
	LATH_ASSERT(item.key > point);
	/* the others in the tree that begin after the point begin further away */
	*best = (struct nearest){ true, item.key - point, item };
}

/* Consider all intervals of one tree that begin in [low, high] and end before the point. */
static void nearest_among(struct set *set, struct tree *tree, u32 place, u64 low, u64 high,
			  u64 point, struct nearest *best)
{
	struct want want = { low, high, low, point - 1 };
	struct position at = { .place = place };
	struct lath_item item[16];
	size_t n, i;

	do {
		n = search_place(set, tree, &want, NULL, item, ARRAY_SIZE(item), &at);
		for (i = 0; i < n; i++) {
			u64 distance = point - (item[i].size - set->behind);

			LATH_ASSERT(distance && distance <= point); /* it ends before the point */
			if (!best->some || distance < best->distance)
				*best = (struct nearest){ true, distance, item[i] };
		}
	} while (n == ARRAY_SIZE(item));
}

/*
 * The nearest one before the point, in one tree. Let S be the last start before `high`, L the
 * longest span. What begins before S - L ends before S. So look at the starts from S - L to `high`;
 * if the best one is at S - 1 or nearer, nothing that begins earlier is nearer. Else go on with
 * `high` = S - L.
 */
static void nearest_before(struct set *set, u32 place, u64 point, struct nearest *best)
{
	struct tree *tree = class_tree(set, place / PLACES, place % PLACES);
	u64 longest = READ_ONCE(set->class[place / PLACES].longest), high = point, low;
	struct lath_item last;

	while (tree && high && !lath_floor_item(tree, high - 1, &last)) {
		LATH_ASSERT(last.key < high);
		/* even with the longest span this and all earlier ones end no nearer */
		if (best->some && point - last.key > longest &&
		    point - last.key - longest >= best->distance)
			return;
		low = last.key - min(last.key, longest);
		nearest_among(set, tree, place, low, high - 1, point, best);
		if (best->some && best->distance <= point - (last.key - 1))
			return;
		high = low;
	}
}

int lath_intervals_nearest(struct lath_intervals *public, uint64_t point,
			   struct lath_interval *found)
{
	struct set *set = set_of(public);
	struct nearest best = { 0 };
	u32 place;

	/* one that contains the point is nearest of all */
	if (search_once(public, want_stab(point), found, 1))
		return 0;
	lath_reader_enter(set->rcu);
	for (place = 0; point && place < CLASSES * PLACES; place++)
		nearest_before(set, place, point, &best);
	for (place = 0; point < KEY_MAX && place < CLASSES * PLACES; place++)
		nearest_after(set, place, point, &best);
	lath_reader_exit(set->rcu);
	if (!best.some)
		return -ENOENT;
	*found = (struct lath_interval){ best.item.key, best.item.size, best.item.value };
	return 0;
}
