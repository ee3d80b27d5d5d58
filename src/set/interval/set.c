/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - a set of intervals: beginning, end, changes, counts and checks.
 */
#include "set/interval/set.h"
#include "tree/call/config.h"

#define KNOWN_FLAGS (LATH_HUGE_PAGES | LATH_SMALL_PAGES | LATH_NODE_EACH | LATH_RANKS)

int lath_intervals_init(struct lath_intervals *public, enum lath_bounds bounds,
			const struct lath_config *config)
{
	struct set *set = set_of(public);
	struct lath_config copy;

	if (!public || (uintptr_t)public % _Alignof(struct lath_intervals))
		return -EINVAL;
	if (bounds != LATH_HALF_OPEN && bounds != LATH_CLOSED)
		return -EINVAL;
	if (lath_config_read(&copy, config, false) || copy.layout != LATH_RANGES ||
	    copy.flags & ~(unsigned int)KNOWN_FLAGS)
		return -EINVAL;
	memset(set, 0, sizeof(*set));
	set->behind = bounds == LATH_HALF_OPEN;
	if (copy.allocator)
		set->allocator = *copy.allocator;
	set->rcu = copy.rcu ? copy.rcu : &lath_rcu_auto;
	/* the trees hold first keys; the span of each is a word beside it (lath_tree_init, `wide`) */
	copy.layout = LATH_POINTS;
	copy.size = sizeof(copy);
	copy.allocator = copy.allocator ? &set->allocator : NULL;
	copy.rcu = set->rcu;
	set->config = copy;
	lath_spin_init(&set->lock);
	return lath_thread_prepare(); /* the first tree is made by the first insertion */
}

/* ---- places ---- */

static struct lath_index *new_tree(struct set *set, unsigned int place)
{
	struct lath_index *index = set_alloc(set, sizeof(*index));

	if (!index)
		return NULL;
	/* the trees of the first places have a word per point, that of lists has none */
	if (lath_tree_init(index, &set->config, place < PLACES - 1)) {
		set_free(set, index, sizeof(*index));
		return NULL;
	}
	if (place == PLACES - 1 && set->config.flags & LATH_RANKS)
		tree_of(index)->weight = lath_interval_list_weight;
	return index;
}

/* Returns a tree of a class, made now if there is none; NULL: no memory. No lock held. */
static struct tree *make_place(struct set *set, unsigned int class, unsigned int place)
{
	struct lath_index **at = &set->class[class].place[place];
	struct lath_index *index = new_tree(set, place), *spare = NULL;

	if (!index)
		return NULL;
	/* the tree was made without the lock: its memory may be waited for */
	lath_call_enter();
	lath_spin_lock(&set->lock);
	/* an insert comes to a place when those before it are taken */
	LATH_ASSERT(!place || set->class[class].place[place - 1]);
	/* another thread was faster: its tree may have intervals already */
	if (*at) {
		spare = index;
		index = *at;
	} else {
		/* first: who inserts into the tree finds it with the next search, too */
		WRITE_ONCE(set->used, set->used | 1ull << (class * PLACES + place));
		smp_store_release(at, index); /* pairs with class_tree */
	}
	lath_spin_unlock(&set->lock);
	lath_call_exit();
	if (spare) {
		lath_index_fini(spare, NULL, NULL);
		set_free(set, spare, sizeof(*spare));
	}
	return tree_of(index);
}

/* ---- changes ---- */

/* The interval as a point and its span. Returns false if it is empty. */
static bool to_item(const struct set *set, const struct lath_interval *interval,
		    struct lath_item *item)
{
	u64 last = interval->end - set->behind;

	*item = (struct lath_item){ interval->first, last - interval->first, interval->value };
	return last >= interval->first;
}

/* A class is about to get an item with a longer span than all before. */
static void raise_longest(struct set *set, struct length_class *class, u64 span)
{
	LATH_ASSERT(class_of(span) == (unsigned int)(class - set->class));
	lath_call_enter();
	lath_spin_lock(&set->lock);
	WRITE_ONCE(class->longest, max(class->longest, span));
	lath_spin_unlock(&set->lock);
	lath_call_exit();
}

int lath_intervals_insert(struct lath_intervals *public, const struct lath_interval *interval)
{
	struct set *set = set_of(public);
	struct lath_item item;
	unsigned int class, place;
	int ret = -EEXIST;

	if (unlikely(!to_item(set, interval, &item)))
		return -EINVAL;
	class = class_of(item.size);
	/* before the interval is there: a search that could see it looks far enough */
	if (unlikely(item.size > READ_ONCE(set->class[class].longest)))
		raise_longest(set, &set->class[class], item.size);
	LATH_ASSERT(READ_ONCE(set->class[class].longest) >= item.size);
	/* -EEXIST: an interval with the same first key is there; the next place may be free */
	for (place = 0; place < PLACES && ret == -EEXIST; place++) {
		struct tree *tree = class_tree(set, class, place);

		/* the first interval that comes to this place */
		if (unlikely(!tree))
			tree = make_place(set, class, place);
		if (unlikely(!tree))
			return -ENOMEM;
		ret = place < PLACES - 1 ? lath_wide_insert(tree, &item)
					 : lath_interval_list_insert(set, tree, &item);
	}
	LATH_ASSERT(ret != -EEXIST); /* a list takes what the other places have no room for */
	return ret;
}

int lath_intervals_erase(struct lath_intervals *public, const struct lath_interval *interval)
{
	struct set *set = set_of(public);
	struct lath_item item;
	unsigned int class, place;
	int ret = -ENOENT;

	/* an empty interval is never in the set */
	if (unlikely(!to_item(set, interval, &item)))
		return -ENOENT;
	class = class_of(item.size);
	/* equal first keys may be at any place: all are looked at until one has the interval */
	for (place = 0; place < PLACES && ret == -ENOENT; place++) {
		struct tree *tree = class_tree(set, class, place);

		if (tree)
			ret = place < PLACES - 1 ? lath_wide_erase(tree, &item)
						 : lath_interval_list_erase(set, tree, &item);
	}
	return ret;
}

/* ---- counts ---- */

void lath_intervals_get_stats(struct lath_intervals *public, struct lath_intervals_stats *stats)
{
	struct set *set = set_of(public);
	unsigned int k, place;

	memset(stats, 0, sizeof(*stats));
	stats->bytes = sizeof(*public) + READ_ONCE(set->list_bytes);
	stats->lists = lath_count_shown(&set->lists);
	stats->items = stats->listed = lath_count_shown(&set->listed);
	for (k = 0; k < CLASSES; k++) {
		for (place = 0; place < PLACES; place++) {
			struct tree *tree = class_tree(set, k, place);
			struct lath_index_stats of;

			if (!tree)
				continue;
			stats->classes += !place;
			lath_index_get_stats((struct lath_index *)(void *)tree, &of);
			stats->bytes += of.bytes + sizeof(struct lath_index);
			/* an item of the last place is a list, whose intervals `listed` counts */
			stats->items += place < PLACES - 1 ? of.items : 0;
			stats->trees++;
		}
	}
}

/* ---- checks ---- */

/* Check the items of one tree: 0 | 21 | 22 */
static int check_items(struct set *set, unsigned int class, unsigned int place, u64 *wrong)
{
	struct tree *tree = class_tree(set, class, place);
	u64 longest = set->class[class].longest, key = 0;
	struct wide_query all = { 0, KEY_MAX, 0, KEY_MAX };
	struct lath_item item;
	int ret = 0;

	do {
		bool found;

		all.from = key;
		if (place < PLACES - 1) {
			lath_reader_enter(set->rcu);
			/* one at a time, by the call that searches use: what it cannot find is not
			 * there for them */
			found = lath_wide_scan(tree, &all, NULL, &item, 1, 0, &key);
			lath_reader_exit(set->rcu);
			if (found && (class_of(item.size - item.key) != class ||
				      item.size - item.key > longest || item.size < item.key))
				ret = 21;
		} else {
			found = !lath_index_ceiling_item((struct lath_index *)(void *)tree, key,
							 &item);
			if (found && !lath_interval_list_true(&item, class, longest))
				ret = 22;
			key = item.key + 1;
		}
		*wrong = item.key;
		if (!found)
			return 0;
	} while (!ret && key);
	return ret;
}

int lath_intervals_verify(struct lath_intervals *public, char *report, size_t report_size)
{
	struct set *set = set_of(public);
	unsigned int k, place;

	for (k = 0; k < CLASSES; k++) {
		for (place = 0; place < PLACES; place++) {
			struct tree *tree = class_tree(set, k, place);
			u64 wrong = 0;
			int ret;

			if (!tree)
				continue;
			ret = lath_index_verify((struct lath_index *)(void *)tree, 5, report,
						report_size);
			if (ret)
				return ret;
			ret = check_items(set, k, place, &wrong);
			if (!ret)
				continue;
			if (report)
				snprintf(report, report_size, "class %u, place %u: %s at %llx", k,
					 place,
					 ret == 21 ? "a span that does not belong there"
						   : "a damaged list",
					 (unsigned long long)wrong);
			return ret;
		}
	}
	return 0;
}

/* ---- the end ---- */

static void end_list(void *arg, const struct lath_item *entry)
{
	(void)arg;
	lath_interval_list_free(entry);
}

void lath_intervals_fini(struct lath_intervals *public, lath_interval_fn each, void *arg)
{
	LATH_NO_CANCEL;
	struct set *set = set_of(public);
	struct lath_interval_iter iter;
	struct lath_interval interval;
	unsigned int k, place;

	lath_interval_iter_all(&iter, public);
	/* before anything is freed: the iterator reads trees and lists */
	while (each && lath_interval_next(&iter, &interval))
		each(arg, &interval);
	for (k = 0; k < CLASSES; k++) {
		for (place = 0; place < PLACES; place++) {
			struct lath_index *index = set->class[k].place[place];

			if (!index)
				continue;
			lath_index_fini(index, place == PLACES - 1 ? end_list : NULL, NULL);
			set_free(set, index, sizeof(*index));
			set->class[k].place[place] = NULL;
		}
	}
	/* lists that were retired earlier use the set's allocator and its counter */
	if (set->retired)
		lath_retire_drain(set->rcu);
	LATH_ASSERT(!set->list_bytes || lath_retire_ended());
	set->used = 0;
}
