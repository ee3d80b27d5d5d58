/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load_test.c - lath_index_load_sorted() without memory: the nodes that it gives back are dead, so
 * that a finger which points to one of them from an earlier time finds nothing there.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "index/tree/locate.h"
#include "lathwork/index.h"

#define ITEMS 20000u
#define MOST 10000u

static struct lath_item items[ITEMS];
static struct node *leaf[MOST];
static void *block[MOST];
static unsigned int leaves, blocks;
static unsigned int left = MOST; /* so many requests are granted */

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

int main(void)
{
	struct lath_allocator allocator = { alloc_block, keep_block, NULL };
	struct lath_config config = LATH_CONFIG_INIT;
	static struct lath_index list;
	struct lath_item found;
	unsigned int i, alive, round;

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
