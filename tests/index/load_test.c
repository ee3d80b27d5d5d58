/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load_test.c - lath_index_load_sorted(). Without memory: the nodes that it gives back are dead, so
 * that a finger which points to one of them from an earlier time finds nothing there. Into an index
 * that was emptied: the number of items that it had, and how they left, make no difference.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tree/way/locate.h"
#include "lathwork/index.h"

#define ITEMS 20000u
#define MOST 10000u

static struct lath_item items[ITEMS];
static struct node *leaf[MOST];
static void *block[MOST];
static unsigned int leaves, blocks;
static unsigned int left = MOST; /* this many requests are granted */

/* Blocks stay until the end, since the test looks at nodes that were freed. */
static void *alloc_block(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	assert(blocks < MOST);
	if (!left || posix_memalign(&block[blocks], align, size))
		return NULL;
	left--;
	return block[blocks++];
}

static void keep_block(void *ctx, void *freed, size_t size)
{
	(void)ctx;
	(void)freed;
	(void)size;
}

static void list_leaves(struct tree *tree)
{
	u64 lockword;
	struct node *node = locate(tree, 0, FOR_READ, &lockword);

	for (leaves = 0; node; node = node->right) {
		assert(leaves < MOST);
		leaf[leaves++] = node;
	}
}

enum emptying { FIRST_TO_LAST, LAST_TO_FIRST, INSIDE_OUT, BY_RANGE, BY_CLEAR, EMPTYINGS };

static void empty(struct lath_index *index, u64 n, enum emptying how)
{
	u64 i;

	if (how == BY_RANGE)
		assert(lath_index_erase_range(index, 0, n * 3 + 1, NULL, NULL) == (int64_t)n);
	if (how == BY_CLEAR)
		assert(lath_index_clear(index, NULL, NULL) == (int64_t)n);
	for (i = 0; i < n && how < BY_RANGE; i++) {
		u64 at = how == FIRST_TO_LAST ? i : n - 1 - i;

		if (how == INSIDE_OUT)
			at = i % 2 ? (n - 1) / 2 + (i + 1) / 2 : (n - 1) / 2 - i / 2;
		assert(!lath_index_erase_item(index, at * 3, NULL));
	}
	assert(!lath_index_count(index));
}

/* An index that had n items takes as many again; one that has an item left refuses them. */
static void refill(const struct lath_config *config, u64 n, enum emptying how)
{
	struct lath_item found, last = { n * 3, 1, 7 };
	struct lath_index index;
	u64 i;

	assert(!lath_index_init(&index, config));
	for (i = 0; i < n; i++)
		assert(!lath_index_insert_item(&index, &items[i], NULL));
	assert(!lath_index_insert_item(&index, &last, NULL));
	assert(!lath_index_erase_item(&index, last.key, NULL));
	empty(&index, n, how);
	assert(!lath_index_insert_item(&index, &last, NULL));
	assert(lath_index_load_sorted(&index, n, items, NULL) == -EBUSY);
	assert(lath_index_count(&index) == 1 && !lath_index_verify(&index, 6, NULL, 0));
	assert(!lath_index_erase_item(&index, last.key, NULL));
	assert(!lath_index_load_sorted(&index, n, items, NULL));
	assert(lath_index_count(&index) == n && !lath_index_verify(&index, 6, NULL, 0));
	for (i = 0; i < n; i++)
		assert(!lath_index_lookup_item(&index, i * 3, &found) && found.value == i);
	assert(!lath_index_insert_item(&index, &last, NULL));
	assert(!lath_index_verify(&index, 6, NULL, 0));
	lath_index_fini(&index, NULL, NULL);
}

static void refills(void)
{
	static const u64 counts[] = { 0,   1,	2,   15,  16,  17,  63,	 64,   65,
				      100, 128, 129, 192, 255, 256, 257, 1000, 6000 };
	static const unsigned int flags[] = { 0, LATH_NODE_EACH, LATH_HOLES, LATH_RANKS };
	struct lath_config config = LATH_CONFIG_INIT;
	size_t i, k;
	int how;

	for (i = 0; i < ITEMS; i++)
		items[i] = (struct lath_item){ i * 3ull, 1, i };
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		for (k = 0; k < sizeof(counts) / sizeof(*counts); k++)
			for (how = 0; how < EMPTYINGS; how++) {
				config.flags = flags[i];
				config.layout = LATH_RANGES;
				refill(&config, counts[k], (enum emptying)how);
				config.layout = LATH_POINTS;
				if (!(flags[i] & LATH_HOLES))
					refill(&config, counts[k], (enum emptying)how);
			}
	lath_rcu_auto.drain();
}

int main(void)
{
	struct lath_allocator allocator = { alloc_block, keep_block, NULL };
	struct lath_config config = LATH_CONFIG_INIT;
	static struct lath_index list;
	struct lath_item found;
	unsigned int i, alive, round;

	refills();
	config.allocator = &allocator;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < ITEMS; i++) {
		items[i] = (struct lath_item){ i * 3ull, 1, i };
		if (i < ITEMS / 2)
			assert(!lath_index_insert_item(&list, &items[i], NULL));
	}
	list_leaves(tree_of(&list));
	assert(lath_index_erase_range(&list, 0, ITEMS * 3, NULL, NULL) == ITEMS / 2);
	lath_rcu_auto.drain();
	assert(!node_level(tree_of(&list)->root));
	for (round = 0; round < 4; round++) {
		left = round;
		assert(lath_index_load_sorted(&list, ITEMS, items, NULL) == -ENOMEM);
		for (i = 0, alive = 0; i < leaves; i++)
			alive += !node_dead(READ_ONCE(leaf[i]->lockword));
		assert(alive <= 1); /* the root */
	}
	for (i = 0; i < ITEMS; i++)
		assert(lath_index_lookup_item(&list, items[i].key, &found) == -ENOENT);
	left = MOST;
	assert(!lath_index_load_sorted(&list, ITEMS, items, NULL));
	assert(lath_index_count(&list) == ITEMS);
	assert(!lath_index_verify(&list, 5, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
	lath_rcu_auto.drain();
	while (blocks)
		free(block[--blocks]);
	return 0;
}
