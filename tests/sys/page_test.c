/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * page_test.c - pages of any size: structures whose memory lies side by side, of which one ends or
 * shrinks, leave each other's pages alone and give all memory back. The test is built with the
 * kernel of large_pages.c, and boots with a real one (./run test arm64).
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "lathwork/index.h"
#include "lathwork/space.h"

enum { ITEMS = 20000, TREES = 3 };

static const struct form {
	enum lath_layout layout;
	unsigned int flags;
} forms[] = {
	{ LATH_RANGES, 0 },
	{ LATH_POINTS, 0 },
	{ LATH_RANGES, LATH_HOLES },
	{ LATH_POINTS, LATH_RANKS },
	{ LATH_RANGES, LATH_SMALL_PAGES },
	{ LATH_RANGES, LATH_HUGE_PAGES },
};

static void erase_most(struct lath_index *index)
{
	uint64_t key;

	for (key = 0; key < ITEMS; key++)
		if (key % 100)
			assert(!lath_index_erase_item(index, key, NULL));
}

static void check(struct lath_index *index, uint64_t value, uint64_t step)
{
	struct lath_item item;
	uint64_t key;

	for (key = 0; key < ITEMS; key += step)
		assert(!lath_index_lookup_item(index, key, &item) && item.value == value);
}

static void indexes(const struct form *form)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index tree[TREES];
	struct lath_item item = { 0, 1, 0 };
	uint64_t cursor = 0;
	unsigned int i;

	config.layout = form->layout;
	config.flags = form->flags;
	for (i = 0; i < TREES; i++)
		if (lath_index_init(&tree[i], &config)) {
			assert(form->flags & LATH_HUGE_PAGES && !i); /* the system has none */
			return;
		}
	for (; item.key < ITEMS; item.key++)
		for (item.value = 0; item.value < TREES; item.value++)
			assert(!lath_index_insert_item(&tree[item.value], &item, NULL));
	lath_index_fini(&tree[0], NULL, NULL);
	check(&tree[1], 1, 1);
	erase_most(&tree[1]);
	do
		lath_index_trim(&tree[1], 1000, &cursor);
	while (cursor);
	check(&tree[1], 1, 100);
	check(&tree[2], 2, 1);
	lath_index_fini(&tree[1], NULL, NULL);
	check(&tree[2], 2, 1);
	lath_index_fini(&tree[2], NULL, NULL);
}

static void spaces(unsigned int flags)
{
	static uint64_t key[2][ITEMS];
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space[2];
	unsigned int i, round;

	config.high = 1ull << 40;
	config.flags = flags;
	for (round = 0; round < 5; round++) {
		assert(!lath_space_create(&space[0], &config));
		assert(!lath_space_create(&space[1], &config));
		for (i = 0; i < 2 * ITEMS; i++)
			assert(!lath_space_alloc(space[i % 2], 3, 0, 7, &key[i % 2][i / 2]));
		lath_space_destroy(space[0]);
		for (i = 0; i < ITEMS; i++)
			assert(!lath_space_free(space[1], key[1][i], 3));
		lath_space_destroy(space[1]);
	}
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		indexes(&forms[i]);
	spaces(0);
	spaces(LATH_SPACE_NO_ARENAS);
	printf("right, where sysconf() tells %ld bytes\n", sysconf(_SC_PAGESIZE));
	return 0;
}
