/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * verify_test.c - verify sees each invariant broken; dump; and what init, load and a flavour of RCU
 * are given.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/broken.h"
#include "tree/watch/gap.h"
#include "tree/watch/rank.h"
#include "tree/tree.h"

#include "lathwork/index.h"

#define ITEMS 10000u
#define STEP 100u
#define SIZE 10u

static struct lath_index list;

static void fill(enum lath_layout layout, unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;
	u32 i;

	config.layout = layout;
	config.flags = flags;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < ITEMS; i++) {
		struct lath_item item = { (u64)i * STEP, layout == LATH_RANGES ? SIZE : 1, i };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	assert(!lath_index_verify(&list, 5, NULL, 0));
}

static void drop(void)
{
	lath_index_fini(&list, NULL, NULL);
}

static struct node *root(void)
{
	return tree_of(&list)->root;
}

static struct node *child(struct node *inner, int i)
{
	return node_child(inner, (unsigned int)i);
}

static struct node *first_leaf(void)
{
	struct node *node = root();

	while (node_level(node))
		node = child(node, __ffs64(node->live));
	return node;
}

/* verify at this level names this invariant, and says so in words */
static void expect_broken(int level, int invariant, int line)
{
	char text[200] = "", start[8];
	int got = lath_index_verify(&list, level, text, sizeof(text));

	snprintf(start, sizeof(start), "I%d: ", invariant);
	if (got != invariant || strncmp(text, start, strlen(start))) {
		fprintf(stderr, "line %d: I%d expected, got %d: %s\n", line, invariant, got, text);
		abort();
	}
	assert(lath_index_verify(&list, level, NULL, 0) == invariant);
}

#define BREAK(level, invariant, place, value)                           \
	BROKEN(place, value, expect_broken(level, invariant, __LINE__), \
	       assert(!lath_index_verify(&list, level, NULL, 0)))

static void leaves(void)
{
	struct node *first, *second;
	u64 rest;

	fill(LATH_RANGES, LATH_HOLES);
	first = first_leaf();
	second = first->right;
	BREAK(1, 1, first->lockword, first->lockword & ~(u64)NODE_ALIVE);
	BREAK(1, 1, second->lockword, second->lockword | NODE_LOCKED);
	BREAK(1, 1, second->level, 1);
	BREAK(1, 2, first->last, first->last + 1);
	BREAK(1, 2, second->low, second->low - 1);
	BREAK(1, 2, first->lockword, first->lockword | NODE_HALF_DEAD);
	BREAK(1, 2, first->right, NULL);
	BREAK(2, 3, first->used, NODE_CAP + 1);
	BREAK(2, 3, first->used, 1);
	BREAK(2, 3, first->pair[1].key, first->pair[0].key);
	BREAK(2, 4, first->size[0], STEP + 1);
	BREAK(2, 4, first->size[1], 0);
	rest = KEY_MAX - first->pair[1].key + 2;
	BREAK(2, 4, first->size[1], rest);
	BREAK(2, 5, second->pair[0].key, second->low - 1);
	BREAK(2, 5, first->size[first->used - 1],
	      first->last - first->pair[first->used - 1].key + 2);
	BREAK(3, 6, first->head[0], first->head[0] ^ 1);
	BREAK(3, 6, first->head[63], first->used == 64 ? first->head[63] ^ 1 : 0);
	drop();
}

/* Three quarters of its keys lie close together: their heads are equal. */
static u64 uneven_key(u64 i)
{
	return i < NODE_CAP * 3 / 4 ? i : i << 40;
}

static void uneven_leaf(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct node *leaf;
	u64 i, value;

	config.layout = LATH_POINTS;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < NODE_CAP; i++)
		assert(!lath_index_insert_item(&list, &(struct lath_item){ uneven_key(i), 1, i },
					       NULL));
	leaf = first_leaf();
	lath_node_reindex(leaf);
	assert(node_pivoted(leaf));
	for (i = 0; i < NODE_CAP; i++)
		assert(lath_index_get(&list, uneven_key(i), &value) == 1 && value == i);
	BREAK(3, 6, leaf->pivot[0], 1);
	BREAK(3, 6, leaf->pivot[PIVOTS - 1], leaf->pivot[PIVOTS - 1] ^ 1);
	drop();
}

static void inner_nodes(void)
{
	struct node *top, *inner;
	u64 last, live;

	fill(LATH_POINTS, 0);
	top = root();
	assert(node_level(top) >= 2);
	inner = child(top, 0);
	BREAK(4, 7, top->low, 1);
	BREAK(4, 7, top->last, KEY_MAX - 1);
	BREAK(4, 7, top->live, 0);
	BREAK(4, 7, inner->lockword, inner->lockword | NODE_HALF_DEAD);
	BREAK(4, 7, inner->right, NULL);
	BREAK(4, 6, inner->head[1], inner->head[1] ^ 1);
	BREAK(4, 8, child(top, 1)->level, 7);
	BREAK(4, 8, child(inner, 1)->lockword, child(inner, 1)->lockword & ~(u64)NODE_ALIVE);
	BREAK(4, 9, child(inner, 1)->low, child(inner, 1)->low + 1);

	/* a separator that is there twice, its head too */
	last = inner->pair[2].key;
	live = inner->head[2];
	inner->pair[2].key = inner->pair[1].key;
	inner->head[2] = inner->head[1];
	expect_broken(4, 7, __LINE__);
	inner->pair[2].key = last;
	inner->head[2] = (u8)live;

	/* a child that another one's entry names: its items are there, and no walk finds those of
	 * the other */
	last = inner->pair[1].value;
	inner->pair[1].value = inner->pair[0].value;
	assert(!lath_index_verify(&list, 5, NULL, 0)); /* only further to walk */
	inner->pair[1].value = last;
	drop();
}

static void holes(void)
{
	u64 *code, *behind, was;
	struct node *inner;
	unsigned int i;

	fill(LATH_RANGES, LATH_HOLES);
	inner = root();
	assert(node_level(inner));
	code = gap_column(inner, 0);
	was = *code;
	*code = 0; /* four entries have no free run */
	expect_broken(5, 11, __LINE__);
	*code = was;
	behind = gap_behind(inner);
	was = *behind;
	(*behind)++; /* items end later than they do */
	expect_broken(5, 11, __LINE__);
	*behind = was;
	assert(!lath_index_verify(&list, 6, NULL, 0));
	/* true, but more than there is */
	for (i = 0; i < GAP_ALIGNS * SIDE_COLUMN; i++)
		code[i] = 0x7fff7fff7fff7fff;
	for (i = 0; i < GAP_ROOM; i++)
		gap_own(inner)[i] = 0x7fff7fff7fff7fff;
	assert(!lath_index_verify(&list, 6, NULL, 0));
	lath_node_side_unknown(inner, 1); /* true, but says nothing */
	assert(!lath_index_verify(&list, 5, NULL, 0));
	expect_broken(6, 12, __LINE__);
	drop();
}

static void ranks(void)
{
	struct node *top, *inner, *leaf;
	u64 valid;

	fill(LATH_POINTS, LATH_RANKS);
	top = inner = root();
	assert(node_level(top) >= 2);
	while (node_level(inner) > 1)
		inner = child(inner, 0);
	leaf = first_leaf();
	assert(!top->size[0] && !inner->size[0] && !leaf->counted);
	assert(lath_index_count(&list) == ITEMS && lath_index_rank(&list, STEP * 7) == 7);
	valid = COUNT_VALID + hweight64(leaf->live);
	assert(inner->size[0] == valid && leaf->counted);
	BREAK(5, 14, inner->size[0], valid + 1);
	BREAK(5, 14, top->size[1], top->size[1] - 1);
	BREAK(5, 15, leaf->counted, 0);
	inner->size[0] = 0; /* outdated is not a lie */
	assert(!lath_index_verify(&list, 5, NULL, 0));
	inner->size[0] = valid;
	/* a change outdates all counts above its leaf and no other */
	assert(!lath_index_erase_item(&list, 0, NULL) && !leaf->counted && leaf->right->counted);
	assert(!top->size[0] && !inner->size[0] && inner->size[1] && inner->right->size[0]);
	assert(!lath_index_verify(&list, 5, NULL, 0));
	assert(lath_index_count(&list) == ITEMS - 1);
	drop();
}

static char *text;
static size_t text_size;

static void append(void *arg, const char *piece)
{
	size_t n = strlen(piece);

	assert(arg == &list);
	text = realloc(text, text_size + n + 1);
	assert(text);
	memcpy(text + text_size, piece, n + 1);
	text_size += n;
}

static unsigned int count(const char *word)
{
	unsigned int n = 0;
	const char *at = text;

	while ((at = strstr(at, word))) {
		at += strlen(word);
		n++;
	}
	return n;
}

static void dumps(void)
{
	struct lath_index_stats stats;

	fill(LATH_RANGES, 0);
	lath_index_get_stats(&list, &stats);
	lath_index_dump(&list, append, &list);
	assert(count("{\"node\":") == stats.leaves + stats.inner_nodes);
	assert(count("\"level\":0,") == stats.leaves && count("\"right\":0,") == stats.levels);
	assert(count("[100,10,1,1]") == 1);
	free(text);
	text = NULL;
	text_size = 0;
	drop();
}

static int init_with(size_t size, unsigned int layout, unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.size = size;
	config.layout = layout;
	config.flags = flags;
	assert(!lath_index_create(&config) || !"created");
	return lath_index_init(&list, &config);
}

static void *no_memory(void *ctx, size_t size, size_t align)
{
	(void)ctx, (void)size, (void)align;
	return NULL;
}

static void not_called(void *ctx, void *block, size_t size)
{
	(void)ctx, (void)block, (void)size;
	abort();
}

static void configs(void)
{
	const struct lath_allocator empty = { no_memory, not_called, NULL };
	struct lath_config config = LATH_CONFIG_INIT;

	assert(init_with(1, LATH_RANGES, 0) == -EINVAL);
	assert(init_with(sizeof(config) + 8, LATH_RANGES, 0) == -EINVAL);
	assert(init_with(sizeof(config), 7, 0) == -EINVAL);
	assert(init_with(sizeof(config), LATH_RANGES, 1u << 20) == -EINVAL);
	assert(init_with(sizeof(config), LATH_RANGES, LATH_HUGE_PAGES | LATH_SMALL_PAGES) ==
	       -EINVAL);
	assert(init_with(sizeof(config), LATH_POINTS, LATH_HOLES) == -EINVAL);
	assert(init_with(sizeof(config), LATH_RANGES, LATH_RANKS | LATH_HOLES) == -EINVAL);
	config.allocator = &empty;
	assert(lath_index_init(&list, &config) == -ENOMEM);
	assert(!lath_index_create(&config));
	lath_index_destroy(NULL, NULL, NULL);
}

/* Sorted items that fill several levels; items that are not sorted; a list that is not empty. */
static void loads(void)
{
	enum { N = 300000 };
	struct lath_item *items = calloc(N, sizeof(*items)), found;
	struct lath_config config = LATH_CONFIG_INIT;
	size_t bad = 0;
	u32 i;

	assert(items);
	for (i = 0; i < N; i++)
		items[i] = (struct lath_item){ (u64)i * STEP, SIZE, i };
	config.flags = LATH_HOLES | LATH_HUGE_PAGES;
	assert(!lath_index_init(&list, &config));
	items[777].key = items[776].key + SIZE - 1;
	assert(lath_index_load_sorted(&list, N, items, &bad) == -EINVAL && bad == 777);
	assert(lath_index_load_sorted(&list, N, items, NULL) == -EINVAL);
	items[777].key = 777 * STEP;
	items[5].size = 0;
	assert(lath_index_load_sorted(&list, N, items, &bad) == -EINVAL && bad == 5);
	items[5].size = SIZE;
	assert(!lath_index_count(&list));
	assert(!lath_index_load_sorted(&list, N, items, &bad));
	assert(lath_index_load_sorted(&list, N, items, &bad) == -EBUSY);
	assert(!lath_index_verify(&list, 5, NULL, 0) && lath_index_count(&list) == N);
	assert(node_level(root()) >= 2);
	for (i = 0; i < N; i += 13)
		assert(!lath_index_lookup_item(&list, (u64)i * STEP + 9, &found) &&
		       found.value == i);
	drop();
	free(items);
}

/* A thread that announces itself reads beside a writer and is waited for. */
static void announced(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item found;
	u32 i;

	config.rcu = &lath_rcu_auto;
	config.flags = LATH_NODE_EACH;
	lath_rcu_auto.register_thread();
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < ITEMS; i++) {
		struct lath_item item = { i, 1, i };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	lath_rcu_auto.read_lock();
	assert(!lath_index_lookup_item_rcu(&list, 7, &found) && found.value == 7);
	lath_rcu_auto.read_unlock();
	for (i = 0; i < ITEMS; i++)
		assert(!lath_index_erase_item(&list, i, NULL));
	lath_rcu_auto.synchronize();
	assert(!lath_index_verify(&list, 5, NULL, 0) && !lath_index_count(&list));
	drop();
	lath_rcu_auto.unregister_thread();
}

int main(void)
{
	leaves();
	uneven_leaf();
	inner_nodes();
	holes();
	ranks();
	dumps();
	configs();
	loads();
	announced();
	return 0;
}
