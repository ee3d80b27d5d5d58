/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* index_cases.c - nodes: locks, fence keys, order, bounds, lockwords. */
#include "cases.h"

#include <stdlib.h>

#include "tree/call/erase.h"
#include "tree/call/insert.h"
#include "tree/step/change.h"
#include "tree/way/descend.h"
#include "tree/step/fence.h"
#include "tree/step/leaf.h"
#include "tree/step/merge.h"
#include "tree/step/post.h"
#include "tree/step/redistribute.h"
#include "tree/memory/pool.h"
#include "tree/watch/rank.h"
#include "tree/way/locate.h"

#include "lathwork/cursor.h"
#include "lathwork/index.h"

#define KEYS 1000u

static struct lath_index list;
static struct tree *tree;
static struct node *first, *second; /* leaves of 1000 keys 0, 10, 20 ... */

static void fill_with(unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct node *node;
	u32 i;

	config.flags = flags;
	NEED(!lath_index_init(&list, &config));
	for (i = 0; i < KEYS; i++) {
		struct lath_item item = { 10ull * i, 1, i };

		NEED(!lath_index_insert_item(&list, &item, NULL));
	}
	tree = tree_of(&list);
	for (node = tree->root; node_level(node);)
		node = node_child(node, __ffs64(node->live));
	first = node;
	second = node->right;
	NEED(second && node_count(first) && node_count(second));
	lath_call_enter();
}

static void fill(void)
{
	fill_with(0);
}

static void node_insert_unlocked(void)
{
	fill();
	node_clear(first);
	node_insert(first, 0, 1, 1, 1, 1);
}

static void node_erase_unlocked(void)
{
	fill();
	node_erase(first, __ffs64(first->live));
}

static void node_erase_twice(void)
{
	unsigned int i;

	fill();
	node_lock(first);
	i = __ffs64(first->live);
	node_erase(first, i);
	node_erase(first, i);
}

static void node_compact_unlocked(void)
{
	fill();
	node_compact(first, 1);
}

static void change_unlocked(void)
{
	fill();
	change_node(tree, first);
}

static void give_right_unlocked(void)
{
	fill();
	give_right(first, second, 1, 1);
}

static void give_right_too_many(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	give_right(first, second, first->used + 1u, 1);
}

static void watcher_without_calls(void)
{
	static struct watcher watcher;

	fill();
	watcher_register(tree, &watcher);
}

static void watcher_told_of_none(void)
{
	struct lath_item item = { 0, 1, 0 };

	fill();
	watch_erased(tree, &item, 0);
}

static void lock_right_unlocked(void)
{
	fill();
	lock_right(first);
}

static void node_unlocked_twice(void)
{
	fill();
	node_lock(first);
	node_unlock(first);
	node_unlock(first);
}

static void leaf_insert_beyond_fences(void)
{
	struct lath_item item = { 0, 1, 1 };

	fill();
	item.key = second->low;
	node_lock(first);
	leaf_insert(tree, first, &item, NULL);
}

static void cover_from_beyond_fences(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	cover_from(first, second, second->low);
}

static void node_insert_out_of_order(void)
{
	fill();
	node_lock(first);
	node_clear(first);
	node_insert(first, 0, 20, 1, 1, 1);
	node_insert(first, 1, 10, 1, 1, 1);
}

static void node_append_out_of_order(void)
{
	fill();
	node_lock(first);
	node_clear(first);
	node_append(first, 20, 1, 1, 1);
	node_append(first, 20, 1, 1, 1);
}

static void node_used_out_of_bounds(void)
{
	fill();
	node_lock(first);
	node_clear(first);
	node_insert(first, 1, 20, 1, 1, 1);
}

static void node_append_to_a_full_node(void)
{
	u64 i;

	fill();
	node_lock(first);
	node_clear(first);
	for (i = 0; i <= NODE_CAP; i++)
		node_append(first, i, 1, 1, 1);
}

static void node_move_too_many(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	node_compact(first, 1);
	node_compact(second, 1);
	node_move_down(first, second, second->used + 1u, 1);
}

static void trylock_with_a_locked_lockword(void)
{
	fill();
	node_lock(first);
	node_trylock(first, READ_ONCE(first->lockword));
}

static void stale_result_as_an_error(void)
{
	leaf_error(LEAF_STALE);
}

static void open_of_a_node_in_use(void)
{
	fill();
	node_open(first);
}

static void retire_of_a_node_in_use(void)
{
	fill();
	node_retire(tree, 0, first);
}

static void spread_unlocked(void)
{
	fill();
	node_spread(first, 0);
}

static void node_move_unlocked(void)
{
	fill();
	node_lock(second);
	node_move_down(first, second, 1, 0);
}

/* ---- on the way to a leaf ---- */

static void lock_right_of_the_wrong_level(void)
{
	fill();
	node_lock(first);
	second->level = 3;
	lock_right(first);
}

static void no_right_sibling(void)
{
	fill();
	node_lock(first);
	first->right = NULL;
	lock_right(first);
}

static void locate_outside_a_section(void)
{
	u64 lockword;

	fill_with(LATH_NODE_EACH);
	locate(tree, 10, FOR_READ, &lockword);
}

static void far_way_of_an_insert(void)
{
	u64 lockword;

	fill();
	lath_reader_enter(tree->rcu);
	locate_far(tree, 10, FOR_INSERT, &lockword);
}

static void locate_locked_outside_a_call(void)
{
	fill();
	lath_call_exit();
	locate_locked(tree, 10, FOR_ERASE);
}

static void finger_on_nothing(void)
{
	fill();
	finger_set(tree, NULL);
}

/* ---- steps of a change ---- */

static void keys_taken_of_itself(void)
{
	fill();
	node_lock(first);
	change_keys(first, first);
}

static void number_of_no_keys(void)
{
	fill();
	change_number(tree, 2, 1, false);
}

static void number_without_ranks(void)
{
	fill();
	change_number(tree, 1, 2, true);
}

static void child_of_an_erased_entry(void)
{
	struct node *root;

	fill();
	root = tree->root;
	NEED(node_level(root));
	node_lock(root);
	change_child(tree, root, root->used);
}

static void child_of_a_leaf(void)
{
	fill();
	node_lock(first);
	change_child(tree, first, __ffs64(first->live));
}

static void boundary_of_unlocked_nodes(void)
{
	fill();
	node_lock(first);
	change_boundary(tree, first, second);
}

static void boundary_between_strangers(void)
{
	fill();
	node_lock(second);
	node_lock(first);
	change_boundary(tree, second, first);
}

static void erased_but_still_there(void)
{
	struct change_up up;

	fill();
	node_lock(first);
	change_erased(tree, first, __ffs64(first->live), &up);
}

static void vacated_by_no_items(void)
{
	struct lath_item item = { 0 };

	fill();
	change_vacated(tree, &item, 0);
}

static void vacated_without_holes(void)
{
	struct change_up up = { .size = 1 };

	fill();
	change_vacated_one(tree, 1, &up);
}

static void level_of_leaves_told(void)
{
	fill();
	lath_reader_enter(tree->rcu);
	change_levels(tree, 0, 1, 0, 1, false);
}

static void levels_told_outside_a_section(void)
{
	fill();
	change_levels(tree, 0, 1, 1, 1, false);
}

static void lock_until_from_an_unlocked_leaf(void)
{
	int hit;

	fill();
	lock_until(first, second->low, &hit);
}

static void cover_not_finished_at_its_key(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	finish_cover(tree, first, second, second->low + 1, second->last);
}

static void cover_to_a_half_dead_leaf(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	WRITE_ONCE(second->lockword, READ_ONCE(second->lockword) | NODE_HALF_DEAD);
	cover_from(first, second, first->last);
}

static void cover_finished_outside_a_section(void)
{
	fill();
	node_lock(first);
	node_lock(second);
	finish_cover(tree, first, second, second->low, second->last);
}

static void absorbed_with_entries(void)
{
	fill();
	node_lock(first);
	WRITE_ONCE(second->no_downlink, 1);
	WRITE_ONCE(second->lockword, READ_ONCE(second->lockword) | NODE_HALF_DEAD);
	absorb_right(tree, first);
}

static void posted_outside_a_call(void)
{
	fill();
	lath_reader_enter(tree->rcu);
	lath_call_exit();
	post(tree, second, NULL);
}

static void posted_outside_a_section(void)
{
	fill();
	post_low(tree, second);
}

static void merge_outside_a_section(void)
{
	fill();
	merge_later(tree, 10);
}

static void erase_of_no_entry(void)
{
	unsigned int i;

	fill();
	node_lock(first);
	i = __ffs64(first->live);
	node_erase(first, i);
	leaf_erase(tree, first, (int)i, NULL);
}

static void insert_across_outside_a_section(void)
{
	struct lath_item item = { 0 };
	struct node *full;

	fill();
	item.key = first->last;
	item.size = 3; /* beyond the fence */
	node_lock(first);
	insert_from(tree, first, &item, NULL, &full);
}

static void stored_without_a_watcher(void)
{
	fill();
	watch_stored(tree, 0, true);
}

/* ---- counts, cursors ---- */

static void count_of_leaves(void)
{
	fill_with(LATH_RANKS);
	lath_reader_enter(tree->rcu);
	count_refresh(tree, 0, 1, 0);
}

static void count_refreshed_outside_a_section(void)
{
	fill_with(LATH_RANKS);
	count_refresh(tree, 0, 1, 1);
}

static void count_outdated_without_ranks(void)
{
	fill();
	count_outdate(tree, 0, 1);
}

static void weight_without_ranks(void)
{
	fill();
	count_weight_changed(tree, 0);
}

static void summary_of_no_level(void)
{
	fill_with(LATH_HOLES);
	lath_reader_enter(tree->rcu);
	gap_propagate(tree, 0, 1, 0, 1, false);
}

static void summaries_told_outside_a_section(void)
{
	fill_with(LATH_HOLES);
	gap_propagate(tree, 0, 1, 1, 1, false);
}

static void level_that_ends_too_early(void)
{
	struct node *last;

	fill_with(LATH_HOLES);
	for (last = first; last->right;)
		last = last->right;
	lath_reader_enter(tree->rcu);
	WRITE_ONCE(last->last, KEY_MAX - 1);
	gap_propagate(tree, KEY_MAX, KEY_MAX, 1, 1, true);
}

static void erase_told_of_an_unlocked_leaf(void)
{
	struct gap_raise raise = { 0 };

	fill_with(LATH_HOLES);
	gap_erased(tree, first, __ffs64(first->live), &raise);
}

/* Select without what a walk by counts needs: in a section, in a call, in a tree with counts. */
static void select_in(unsigned int flags, bool section, bool call)
{
	struct lath_item item;
	u64 left = 3;

	fill_with(flags);
	if (section)
		lath_reader_enter(tree->rcu);
	if (!call)
		lath_call_exit();
	rank_select(tree, &left, &item);
}

static void select_outside_a_call(void)
{
	select_in(LATH_RANKS, true, false);
}

static void select_outside_a_section(void)
{
	select_in(LATH_RANKS, false, true);
}

static void select_without_ranks(void)
{
	select_in(0, true, true);
}

static void next_without_keys(void)
{
	u64 values[3], next;

	fill();
	lath_index_scan_values(&list, 0, KEY_MAX, NULL, values, 3, &next);
}

/* A cursor that remembers a leaf where nodes are freed. */
static void cursor_on_a_leaf_that_may_be_freed(void)
{
	struct lath_cursor cursor;
	struct lath_item item;

	fill_with(LATH_NODE_EACH);
	lath_cursor_init(&cursor, &list);
	NEED(lath_cursor_seek(&cursor, 10, &item));
	cursor.leaf = first;
	lath_cursor_next(&cursor, &item);
}

/* A cursor that believes it holds the lock of its leaf. */
static void unlock_under(struct lath_cursor *cursor)
{
	fill();
	lath_cursor_init(cursor, &list);
	NEED(!lath_cursor_lock(cursor, 10, NULL, NULL));
	node_unlock(cursor->leaf);
}

static void cursor_whose_leaf_is_unlocked(void)
{
	struct lath_cursor cursor;
	struct lath_item item;

	unlock_under(&cursor);
	lath_cursor_locked_floor(&cursor, 10, &item);
}

static void ceiling_whose_leaf_is_unlocked(void)
{
	struct lath_cursor cursor;
	struct lath_item item;

	unlock_under(&cursor);
	lath_cursor_locked_ceiling(&cursor, 10, &item);
}

const struct assert_case index_cases[] = {
	{ "index: node_insert, not locked", node_insert_unlocked, "tree/node/node.c",
	  "node_is_locked(node)" },
	{ "index: node_erase, not locked", node_erase_unlocked, "tree/node/node.h",
	  "node_is_locked(node)" },
	{ "index: node_spread, not locked", spread_unlocked, "tree/node/node.c",
	  "node->live == lath_ones(node->used)" },
	{ "index: entries moved from an unlocked node", node_move_unlocked, "tree/node/node.c",
	  "node_is_locked(left) && node_is_locked(right)" },
	{ "index: entry erased twice", node_erase_twice, "tree/node/node.h",
	  "node->live >> i & 1" },
	{ "index: node_compact, not locked", node_compact_unlocked, "tree/node/node.c",
	  "node_is_locked(node)" },
	{ "index: change told of an unlocked node", change_unlocked, "tree/step/change.h",
	  "node_is_locked(node)" },
	{ "index: sibling of an unlocked node", lock_right_unlocked, "tree/way/descend.h",
	  "node_is_locked(node)" },
	{ "index: entries given by an unlocked leaf", give_right_unlocked, "tree/step/leaf.h",
	  "node_is_locked(left)" },
	{ "index: more entries given than there are", give_right_too_many, "tree/step/leaf.h",
	  "n <= left->used" },
	{ "index: a watcher without functions", watcher_without_calls, "tree/watch/watch.h",
	  "watcher->calls" },
	{ "index: a watcher told of no items", watcher_told_of_none, "tree/watch/watch.h",
	  "n <= WATCH_ERASED" },
	{ "index: node unlocked twice", node_unlocked_twice, "tree/node/node.h", "NODE_LOCKED" },
	{ "index: insert beyond the fence keys", leaf_insert_beyond_fences, "tree/step/leaf.h",
	  "key <= leaf->last" },
	{ "index: fence moved from beyond the fence keys", cover_from_beyond_fences,
	  "tree/step/fence.c", "key <= first->last" },
	{ "index: insert out of order", node_insert_out_of_order, "tree/node/node.c",
	  "node_key(node, rank - 1) < key" },
	{ "index: append out of order", node_append_out_of_order, "tree/node/node.c",
	  "node_key(node, i - 1) < key" },
	{ "index: rank above used", node_used_out_of_bounds, "tree/node/node.c",
	  "rank <= node->used" },
	{ "index: append to a full node", node_append_to_a_full_node, "tree/node/node.c",
	  "i < node->cap" },
	{ "index: more entries moved than there are", node_move_too_many, "tree/node/node.c",
	  "n <= r" },
	{ "index: trylock with a locked lockword", trylock_with_a_locked_lockword,
	  "tree/node/node.h", "!(lockword & NODE_LOCKED)" },
	{ "index: stale result taken for an error", stale_result_as_an_error, "tree/step/leaf.h",
	  "result <= LEAF_ABSENT" },
	{ "index: node opened twice", open_of_a_node_in_use, "tree/memory/pool.h", "node_dead" },
	{ "index: node retired that is in use", retire_of_a_node_in_use, "tree/memory/pool.c",
	  "node_dead" },
	{ "index: sibling of another level", lock_right_of_the_wrong_level, "tree/way/descend.h",
	  "node_level(right) == node_level(node)" },
	{ "index: no sibling before the last key", no_right_sibling, "tree/way/descend.h",
	  "node->last == KEY_MAX" },
	{ "index: locate outside a section", locate_outside_a_section, "tree/way/locate.h",
	  "lath_reader_inside" },
	{ "index: far way of an insert", far_way_of_an_insert, "tree/way/locate.c",
	  "intent != FOR_INSERT" },
	{ "index: locate_locked outside a call", locate_locked_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "index: finger on nothing", finger_on_nothing, "tree/way/finger.h", "leaf" },
	{ "index: keys taken of itself", keys_taken_of_itself, "tree/step/change.h", "to != from" },
	{ "index: number of no keys", number_of_no_keys, "tree/step/change.h", "first <= last" },
	{ "index: number without ranks", number_without_ranks, "tree/step/change.h",
	  "tree->ranks" },
	{ "index: child of an erased entry", child_of_an_erased_entry, "tree/step/change.h",
	  "inner->live >> i & 1" },
	{ "index: child of a leaf", child_of_a_leaf, "tree/step/change.h", "node_level(inner)" },
	{ "index: boundary of unlocked nodes", boundary_of_unlocked_nodes, "tree/step/change.h",
	  "node_is_locked(left) && node_is_locked(right)" },
	{ "index: boundary between strangers", boundary_between_strangers, "tree/step/change.h",
	  "left->right == right" },
	{ "index: erased but still there", erased_but_still_there, "tree/step/change.h",
	  "!(leaf->live >> i & 1)" },
	{ "index: vacated by no items", vacated_by_no_items, "tree/step/change.h", "n &&" },
	{ "index: vacated without holes", vacated_without_holes, "tree/step/change.h",
	  "tree->holes" },
	{ "index: level of leaves told", level_of_leaves_told, "tree/step/change.h", "from <= to" },
	{ "index: levels told outside a section", levels_told_outside_a_section,
	  "tree/step/change.h", "lath_reader_inside" },
	{ "index: lock_until from an unlocked leaf", lock_until_from_an_unlocked_leaf,
	  "tree/step/fence.c", "node_is_locked(first)" },
	{ "index: cover not finished at its key", cover_not_finished_at_its_key,
	  "tree/step/fence.c", "last->low == key" },
	{ "index: cover to a half-dead leaf", cover_to_a_half_dead_leaf, "tree/step/fence.c",
	  "!node_half_dead(last)" },
	{ "index: cover finished outside a section", cover_finished_outside_a_section,
	  "tree/step/fence.c", "lath_reader_inside" },
	{ "index: leaf absorbed with entries", absorbed_with_entries, "tree/step/merge.c",
	  "!right->live" },
	{ "index: posted outside a call", posted_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "index: posted outside a section", posted_outside_a_section, "tree/step/post.c",
	  "lath_reader_inside" },
	{ "index: merge outside a section", merge_outside_a_section, "tree/step/merge.c",
	  "lath_reader_inside" },
	{ "index: erase of no entry", erase_of_no_entry, "tree/call/erase.c", "i >= 0" },
	{ "index: insert across, outside a section", insert_across_outside_a_section,
	  "tree/call/insert.c", "lath_reader_inside" },
	{ "index: stored without a watcher", stored_without_a_watcher, "tree/watch/watch.h",
	  "tree->watcher" },
	{ "index: count of leaves", count_of_leaves, "tree/watch/count.c", "level &&" },
	{ "index: count refreshed outside a section", count_refreshed_outside_a_section,
	  "tree/watch/count.c", "lath_reader_inside" },
	{ "index: count outdated without ranks", count_outdated_without_ranks, "tree/watch/count.c",
	  "tree->ranks" },
	{ "index: weight without ranks", weight_without_ranks, "tree/watch/count.c",
	  "tree->ranks" },
	{ "index: summary of no level", summary_of_no_level, "tree/watch/gap.c", "from &&" },
	{ "index: summaries told outside a section", summaries_told_outside_a_section,
	  "tree/watch/gap.c", "lath_reader_inside" },
	{ "index: level that ends too early", level_that_ends_too_early, "tree/watch/gap.c",
	  "false" },
	{ "index: erase told of an unlocked leaf", erase_told_of_an_unlocked_leaf,
	  "tree/watch/gap.c", "!node_level(leaf)" },
	{ "index: select outside a call", select_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "index: select outside a section", select_outside_a_section, "tree/call/rank.c",
	  "lath_reader_inside" },
	{ "index: select without ranks", select_without_ranks, "tree/call/rank.c",
	  "tree->ranks &&" },
	{ "index: next without keys", next_without_keys, "tree/call/scan.c", "keys || !next" },
	{ "index: cursor on a leaf that may be freed", cursor_on_a_leaf_that_may_be_freed,
	  "tree/call/cursor.c", "!leaf || !tree->each" },
	{ "index: cursor whose leaf is unlocked", cursor_whose_leaf_is_unlocked,
	  "tree/call/cursor.c", "node_is_locked(leaf)" },
	{ "index: ceiling whose leaf is unlocked", ceiling_whose_leaf_is_unlocked,
	  "tree/call/cursor.c", "node_is_locked(leaf)" },
	{ 0 },
};
