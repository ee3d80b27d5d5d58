/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* verify_test.c - lath_space_verify sees what is wrong with a space: one fault of each kind, in
 * each place. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/broken.h"
#include "tree/tree.h"
#include "space/source/set.h"

#define BLOCK 4096ull

static struct lath_space *space;

static void expect(int rule, unsigned int segment, int line)
{
	char report[200] = "", wanted[200];
	int ret = lath_space_verify(space, report, sizeof(report));

	snprintf(wanted, sizeof(wanted), "an arena of segment %u: rule %d", segment, rule);
	if (ret != rule || strcmp(report, wanted) != 0)
		printf("line %d: %d: %s\n", line, ret, report);
	assert(ret == rule && !strcmp(report, wanted));
	assert(lath_space_verify(space, NULL, 0) == rule);
}

#define BREAK(rule, place, value)                                                 \
	BROKEN(place, value, expect(rule, arena->set->segment->number, __LINE__), \
	       assert(!lath_space_verify(space, NULL, 0)))

/* An arena of which a quarter is taken, and a word of the rest in part. */
static void break_arena(struct arena *arena, struct arena *another)
{
	struct lath_item entry = { arena->block, 1, (uintptr_t)arena };
	unsigned int i;

	BREAK(21, arena->free, arena->free + 1);
	BREAK(21, arena->whole, arena->whole & (arena->whole - 1));
	BREAK(21, *arena->shown, 1);
	BREAK(21, *arena->shown, 0);
	BREAK(21, arena->most[0], 1);
	BREAK(21, arena->most[3], 1);
	for (i = 0; i < ARENA_WORDS && (!arena->map[i] || !~arena->map[i]); i++)
		;
	assert(i < ARENA_WORDS);
	BREAK(21, arena->grade[i], arena->grade[i] + 1);
	BREAK(21, arena->map[i], 0);

	assert(!lath_index_replace_item(space->arenas, entry.key, (uintptr_t)another, NULL));
	expect(22, arena->set->segment->number, __LINE__);
	assert(!lath_index_erase_item(space->arenas, entry.key, NULL));
	expect(22, arena->set->segment->number, __LINE__);
	assert(!lath_index_insert_item(space->arenas, &entry, NULL));
	assert(!lath_space_verify(space, NULL, 0));
}

/* An arena without a free unit shows no grade, nor does one that serves no block. */
static void full_and_unused(void)
{
	struct arena *arena;
	uint64_t key[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		assert(!lath_space_alloc_in(space, 4, BLOCK / 4, 0, 1, &key[i]));
	arena = set_arena(&space->first.next->next->set[1], 0);
	assert(!arena->free && !*arena->shown);
	BREAK(21, *arena->shown, 1);
	BREAK(21, arena->free, 1);
	for (i = 0; i < 4; i++)
		assert(!lath_space_free(space, key[i], BLOCK / 4));
	lath_space_trim(space);
	assert(arena->block == NO_BLOCK);
	BREAK(20, *arena->shown, 1);
}

static void break_index(struct lath_index *index)
{
	struct node *root = tree_of(index)->root;
	char report[200] = "";

	root->low++;
	assert(lath_space_verify(space, report, sizeof(report)) == 2);
	assert(!strncmp(report, "I2: ", 4));
	root->low--;
	assert(!lath_space_verify(space, NULL, 0));
}

int main(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct arena *arena[3];
	uint64_t key;
	int i;

	config.high = 2 * BLOCK;
	config.below = BLOCK; /* the first segment has two sets of arenas */
	config.flags = LATH_SPACE_NO_MAGAZINES;
	assert(!lath_space_create(&space, &config));
	assert(!lath_space_verify(space, NULL, 0)); /* no index yet */
	assert(!lath_space_reserve(space, 0, 1, 1) && !lath_space_free(space, 0, 1));
	assert(!space->arenas && !lath_space_verify(space, NULL, 0));
	break_index(space->index);
	assert(lath_space_add_segment(space, 4 * BLOCK, BLOCK, 0) == 1);
	assert(lath_space_add_segment(space, 8 * BLOCK, BLOCK, 0) == 2);
	for (i = 0; i < 8; i++)
		assert(!lath_space_alloc_in(space, 1, BLOCK / 8 + (i % 2), 0, 1, &key));
	for (i = 0; i < 3; i++)
		assert(!lath_space_alloc_in(space, 2, BLOCK / 8 - (i % 2), 0, 1, &key));
	arena[0] = set_arena(&space->first.set[0], 0);
	arena[1] = set_arena(&space->first.set[1], 0);
	arena[2] = set_arena(&space->first.next->set[1], 0);
	for (i = 0; i < 3; i++)
		break_arena(arena[i], arena[(i + 1) % 3]);
	break_index(space->index);
	break_index(space->arenas);
	full_and_unused();
	lath_space_destroy(space);
	return 0;
}
