/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* index_cases.c - nodes: locks, fence keys, order, bounds, lockwords. */
#include "cases.h"

#include <stdlib.h>

#include "tree/step/change.h"
#include "tree/way/descend.h"
#include "tree/step/fence.h"
#include "tree/step/leaf.h"
#include "tree/memory/pool.h"

#include "lathwork/index.h"

#define KEYS 1000u

static struct lath_index list;
static struct tree *tree;
static struct node *first, *second; /* leaves of 1000 keys 0, 10, 20 ... */

static void fill(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct node *node;
	u32 i;

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

const struct assert_case index_cases[] = {
	{ "index: node_insert, not locked", node_insert_unlocked, "tree/node/node.c",
	  "node_is_locked(node)" },
	{ "index: node_erase, not locked", node_erase_unlocked, "tree/node/node.h",
	  "node_is_locked(node)" },
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
	{ 0 },
};
