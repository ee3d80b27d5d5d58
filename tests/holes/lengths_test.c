/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lengths_test.c - the index of free runs by their lengths is without memory for a while: it is
 * not used in the meantime, and made again when there is some. So it is after a load.
 */
#undef NDEBUG
#include <assert.h>

#include "base/failing.h"
#include "set/hole/lengths.h"
#include "lathwork/hole.h"

#define ITEMS 20000ull
#define SIZE 8ull

static struct lath_index list;

/* The shortest hole for one key: the free keys in front of an item of odd number. */
static u64 best(void)
{
	struct lath_hole_request want = { .size = 1,
					  .high = ITEMS * SIZE,
					  .policy = LATH_HOLE_BEST };
	u64 key = 0;

	assert(!lath_index_find_hole(&list, &want, &key));
	return key;
}

/* All items go, others are loaded at once: the runs are filed anew. The only free key below the end
 * is then `hole`. */
static void load_beside(u64 hole)
{
	static struct lath_item items[2];

	lath_index_erase_range(&list, 0, ITEMS * SIZE, NULL, NULL);
	assert(!lath_index_count(&list) && !best() && lath_lengths_ready(tree_of(&list)));
	items[0] = (struct lath_item){ 0, hole, 1 };
	items[1] = (struct lath_item){ hole + 1, ITEMS * SIZE - hole - 1, 2 };
	assert(!lath_index_load_sorted(&list, 2, items, NULL));
	assert(!lath_lengths_ready(tree_of(&list)));
	assert(best() == hole && lath_lengths_ready(tree_of(&list)));
	assert(!lath_index_verify(&list, 5, NULL, 0));
}

int main(void)
{
	struct failing failing = { 0 };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item item = { 0, SIZE, 1 };
	struct lengths *lengths;
	u64 i;

	lath_lengths_least = 0;
	config.flags = LATH_HOLES;
	config.allocator = &allocator;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < ITEMS; i++) {
		item.key = i * SIZE;
		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	assert(!lath_index_erase_item(&list, 8 * SIZE, NULL));
	assert(best() == 8 * SIZE);
	lengths = container_of(watcher_of(tree_of(&list)), struct lengths, watcher);
	assert(lengths && lath_lengths_ready(tree_of(&list)));

	failing.fail_at = 1;
	failing.from_then_on = true;
	for (i = 10; i < ITEMS; i += 2) /* each makes a run to be filed */
		assert(!lath_index_erase_item(&list, i * SIZE, NULL));
	assert(failing.failures && lengths->incomplete && !lengths->crowded);
	assert(!lath_lengths_ready(tree_of(&list)));
	assert(best() == 8 * SIZE);

	failing.fail_at = 0;
	failing.from_then_on = false;
	assert(best() == 8 * SIZE);
	assert(lath_lengths_ready(tree_of(&list)));
	assert(!lath_index_verify(&list, 5, NULL, 0));
	load_beside(1234);
	lath_index_fini(&list, NULL, NULL);
	lath_rcu_auto.drain();
	assert(!failing.outstanding);
	return 0;
}
