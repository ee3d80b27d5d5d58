/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * verify.c - checks the numbered invariants of doc/range-index.md.
 *
 * For a tree that no thread is changing. Each level includes the ones below it:
 *   1  I1-I2: the leaves form one chain that covers the key space
 *   2  I3-I5: entries ascend, are disjoint, and stay between the fence keys
 *   3  I6:    heads and masks agree with the keys
 *   4  I7-I9: inner nodes
 *   5  I10:   every item is found by a descent from the root
 *      I11:   no summary hides a hole from a search (LATH_HOLES)
 *      I13:   every free run is in the index by length, if there is one (LATH_HOLES)
 *      I14:   every valid count is the number of items (LATH_RANKS)
 *      I15:   every leaf that a valid count includes is marked (LATH_RANKS)
 *   6  I12:   every summary is known; the report says how many promise too much
 */
#include "tree/watch/gap.h"
#include "tree/watch/watch.h"
#include "tree/watch/rank.h"
#include "tree/tree.h"

struct report {
	char *text;
	size_t size;
};

#define BROKEN(report, number, ...)                                                             \
	do {                                                                                    \
		if ((report)->text)                                                             \
			snprintf((report)->text, (report)->size, "I" #number ": " __VA_ARGS__); \
		return number;                                                                  \
	} while (0)

#define U(x) ((unsigned long long)(x))

static int check_entries(const struct node *leaf, struct report *report)
{
	unsigned int i;
	u64 prev = 0;
	bool any = false, any_live = false;
	u64 end = 0;

	if (leaf->used > leaf->cap || leaf->live & ~lath_ones(leaf->used))
		BROKEN(report, 3, "leaf %llx: live %llx beyond %u used", U(leaf->low),
		       U(leaf->live), leaf->used);
	for (i = 0; i < leaf->used; i++) {
		u64 key = node_key(leaf, i);

		if (any && key <= prev)
			BROKEN(report, 3, "entry %u: key %llx not above %llx", i, U(key), U(prev));
		prev = key;
		any = true;
		/* an erased entry keeps its key for searches, but is not an item */
		if (!(leaf->live >> i & 1))
			continue;
		/* only against the live one before: an erased range says nothing */
		if (any_live && key <= end)
			BROKEN(report, 4, "entry %u: key %llx inside a range that ends at %llx", i,
			       U(key), U(end));
		end = node_end(leaf, i);
		any_live = true;
		if (end < key)
			BROKEN(report, 4, "entry %u: key %llx has size 0 or wraps", i, U(key));
		if (key < leaf->low || end > leaf->last)
			BROKEN(report, 5, "entry %u: [%llx, %llx] outside the fences [%llx, %llx]",
			       i, U(key), U(end), U(leaf->low), U(leaf->last));
	}
	return 0;
}

static int check_heads(const struct node *leaf, struct report *report)
{
	unsigned int i;

	for (i = 0; i < 8 * LATH_HEAD_WORDS; i++) {
		u8 head = lath_head_get(leaf->head, i);
		u8 want = i < leaf->used ? node_head(leaf->base, leaf->shift, node_key(leaf, i))
					 : 255;

		/* all of them: a vector compare looks at those beyond `used` too */
		if (head != want)
			BROKEN(report, 6, "leaf %llx: head %u is %u, should be %u", U(leaf->low), i,
			       head, want);
	}
	return 0;
}

static int check_pivots(const struct node *node, struct report *report)
{
	unsigned int k;

	for (k = 0; k < PIVOTS; k++) {
		u64 want = k * PIVOT_GROUP < node->used ? node_key(node, k * PIVOT_GROUP) : KEY_MAX;

		if (node->pivot[k] != want)
			BROKEN(report, 6, "node %llx: pivot %u is %llx, should be %llx",
			       U(node->low), k, U(node->pivot[k]), U(want));
	}
	return 0;
}

static int check_leaves(struct node *leaf, int level, struct report *report)
{
	u64 next_low = 0;
	bool ended = false;
	int ret = 0;

	for (; leaf && !ret; leaf = leaf_right(leaf)) {
		struct node *node = leaf;

		if (node->lockword & NODE_LOCKED || node_dead(node->lockword) || node_level(node))
			BROKEN(report, 1, "leaf %llx: lockword %llx in the chain", U(node->low),
			       U(node->lockword));
		/* a half-dead leaf covers no keys: its fences are those of its earlier life */
		if (!(node->lockword & NODE_HALF_DEAD)) {
			if (ended || node->low != next_low || node->last < node->low)
				BROKEN(report, 2, "leaf [%llx, %llx] where %llx should begin",
				       U(node->low), U(node->last), U(next_low));
			next_low = node->last + 1;
			ended = node->last == KEY_MAX;
		} else if (leaf->live) {
			BROKEN(report, 2, "a half-dead leaf has entries");
		}
		if (level >= 2)
			ret = check_entries(leaf, report);
		if (level >= 3 && !ret)
			ret = node_pivoted(leaf) ? check_pivots(leaf, report)
						 : check_heads(leaf, report);
	}
	if (!ret && !ended)
		BROKEN(report, 2, "the chain ends before the last key");
	return ret;
}

static int check_inner(const struct node *inner, struct report *report)
{
	u64 live = inner->live;
	int ret = check_pivots(inner, report);

	if (ret)
		return ret;
	if (!live || node_key(inner, __ffs64(live)) != inner->low)
		BROKEN(report, 7,
		       "inner node %llx has no child, or does not begin with its low fence",
		       U(inner->low));
	for (; live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		const struct node *child = node_child(inner, i);

		/* the one before may be erased: its key takes part in searches all the same */
		if (i && node_key(inner, i) <= node_key(inner, i - 1))
			BROKEN(report, 7, "separator %u: %llx not above the one before", i,
			       U(node_key(inner, i)));
		if (node_level(child) + 1 != inner->level || node_dead(child->lockword))
			BROKEN(report, 8, "child %u of %llx: level %u, lockword %llx", i,
			       U(inner->low), node_level(child), U(child->lockword));
		/* Lower is allowed: a merge lets a low fence fall, and the separator follows later.
		 * Higher would hide keys, as no link leads to the left. */
		if (child->low > node_key(inner, i))
			BROKEN(report, 9, "separator %llx is below its child's low fence %llx",
			       U(node_key(inner, i)), U(child->low));
	}
	return 0;
}

static int check_inners(struct node *node, struct report *report)
{
	u64 next_low = 0;
	int ret = 0;

	for (; node && !ret; node = node->right) {
		/* inner nodes are never half-dead: their fences follow each other */
		if (node->low != next_low || !node_sound(node->lockword))
			BROKEN(report, 7, "inner node [%llx, %llx] where %llx should begin",
			       U(node->low), U(node->last), U(next_low));
		next_low = node->last + 1;
		ret = check_inner(node, report);
	}
	if (!ret && next_low)
		BROKEN(report, 7, "an inner level ends before the last key");
	return ret;
}

/* Descend as a reader would, without fingers and hints. */
static const struct node *descend_to(struct tree *tree, u64 key)
{
	struct node *node = tree->root;

	while (node) {
		/* to the right where an entry has not been posted yet, as readers do */
		if (key > node->last || node->lockword & NODE_HALF_DEAD)
			node = node->right;
		else if (node_level(node))
			node = node_child(node, (unsigned int)max(inner_slot(node, key), 0l));
		else
			break;
	}
	return node ? node : NULL;
}

static int check_descents(struct tree *tree, struct node *leaf, struct report *report)
{
	for (; leaf; leaf = leaf_right(leaf)) {
		u64 live = leaf->live;

		for (; live; live &= live - 1) {
			unsigned int i = __ffs64(live);
			u64 key = node_key(leaf, i);
			const struct node *at = descend_to(tree, key);

			/* the first and the last key of each item: both searches of a leaf */
			if (at != leaf || node_find(leaf, key) != (int)i ||
			    node_cover(leaf, node_end(leaf, i)) != (int)i)
				BROKEN(report, 10, "key %llx is there but not found", U(key));
		}
	}
	return 0;
}

/* One level of the tree. */
static int check_holes(struct tree *tree, struct node *node, struct gap_slack *slack,
		       struct report *report)
{
	for (; node; node = node->right)
		if (!lath_gap_true(tree, node, slack))
			BROKEN(report, 11, "level %u: the summary of %llx hides a hole",
			       node_level(node), U(node->low));
	return 0;
}

static int check_watcher(struct tree *tree, struct report *report)
{
	struct watcher *watcher = watcher_of(tree);
	struct lath_item missing;

	if (watcher && !watcher->calls->check(tree, &missing))
		BROKEN(report, 13, "the free run [%llx, %llx] is not in the index by length",
		       U(missing.key), U(missing.key + (missing.size - 1)));
	return 0;
}

/* One inner level of the tree. */
static int check_counts(const struct tree *tree, const struct node *inner, struct report *report)
{
	for (; inner; inner = inner->right) {
		u64 live = inner->live;

		for (; live; live &= live - 1) {
			unsigned int i = __ffs64(live);
			bool marked;

			if (!lath_count_true(tree, inner, i, &marked))
				BROKEN(report, 14,
				       "level %u: %llu is not the number of items of %llx",
				       node_level(inner), U(inner->size[i] & ~COUNT_VALID),
				       U(node_key(inner, i)));
			if (!marked)
				BROKEN(report, 15,
				       "level %u: a leaf of %llx is counted, not marked",
				       node_level(inner), U(node_key(inner, i)));
		}
	}
	return 0;
}

static int check_slack(struct tree *tree, const struct gap_slack *slack, struct report *report)
{
	struct lath_index_stats stats;

	lath_index_get_stats((struct lath_index *)(void *)tree, &stats);
	if (slack->unknown && !stats.no_downlink)
		BROKEN(report, 12, "nothing is known of the free space below %llu nodes",
		       U(slack->unknown));
	if (report->text)
		snprintf(report->text, report->size,
			 "summaries %llu, that promise more than there is: %llu",
			 U(slack->summaries), U(slack->loose));
	return 0;
}

int lath_index_verify(struct lath_index *index, int level, char *text, size_t text_size)
{
	struct tree *tree = tree_of(index);
	struct report report = { text, text_size };
	struct node *node = tree->root;
	struct gap_slack slack = { 0 };
	int ret = 0;

	/* from the root down, so that the first report names the cause, not what follows from it */
	while (node_level(node)) {
		if (level >= 4)
			ret = check_inners(node, &report);
		if (!ret && level >= 5)
			ret = check_holes(tree, node, &slack, &report);
		if (!ret && level >= 5)
			ret = check_counts(tree, node, &report);
		if (ret)
			return ret;
		node = node_child(node, __ffs64(node->live));
	}
	ret = check_leaves(node, level, &report);
	if (!ret && level >= 5)
		ret = check_descents(tree, node, &report);
	if (!ret && level >= 5)
		ret = check_holes(tree, node, &slack, &report);
	if (!ret && level >= 5)
		ret = check_watcher(tree, &report);
	if (!ret && level >= 6 && gap_kept(tree))
		ret = check_slack(tree, &slack, &report);
	return ret;
}
