/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * versions_test.c - a node that has changed has another lockword: a reader that began before sees
 * that, and a writer that remembers the lockword does not get the lock. Every call that changes an
 * index, in all kinds of indexes, with nodes of four entries; all nodes are compared before and
 * after it. Columns that may change under any lockword (promises, counts, hints) and the values of
 * leaves are left out.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "tree/way/locate.h"
#include "lathwork/hole.h"
#include "lathwork/index.h"

#define KEYS 700u
#define MOST 4000u
#ifdef LATH_FEW_STEPS
#define CALLS 1000u
#else
#define CALLS 6000u
#endif

struct copy {
	struct node *node, *right;
	u64 lockword, low, last, live;
	struct pair pair[NODE_CAP];
};

static struct lath_index list;
static struct copy before[MOST];
static unsigned int nodes;
static u64 state, changed;
static bool ranges;

#define below(n) draw(&state, n)

static struct copy copy_of(struct node *node)
{
	struct copy copy = { .node = node,
			     .right = node->right,
			     .lockword = node->lockword,
			     .low = node->low,
			     .last = node->last,
			     .live = node->live };
	unsigned int i;

	for (i = 0; i < NODE_CAP; i++)
		if (node->live >> i & 1)
			copy.pair[i] = (struct pair){ node_key(node, i),
						      node_level(node) ? node_value(node, i) : 0 };
	return copy;
}

static void copy_all(void)
{
	struct node *first = tree_of(&list)->root, *node;

	for (nodes = 0;; first = node_child(first, __ffs64(first->live))) {
		for (node = first; node; node = node->right) {
			assert(nodes < MOST);
			before[nodes++] = copy_of(node);
		}
		if (!node_level(first))
			return;
	}
}

static void compare_all(unsigned int call)
{
	unsigned int i;

	for (i = 0; i < nodes; i++) {
		const struct copy *old = &before[i];
		struct copy new = copy_of(old->node);

		assert(!(new.lockword &NODE_LOCKED));
		if (node_dead(new.lockword) || !memcmp(&new, old, sizeof(new)))
			continue;
		changed++;
		if (new.lockword == old->lockword) {
			fprintf(stderr, "versions_test: call %u changes a node of level %u\n", call,
				node_level(old->node));
			assert(new.lockword != old->lockword);
		}
	}
}

static void change_some(unsigned int call)
{
	u64 key = below(KEYS), size = ranges ? 1 + below(3) : 1, cursor = 0, keys[8];
	struct lath_hole_request want = { .size = size, .high = KEYS };
	struct lath_item item = { key, size, call }, items[8];
	unsigned int i;

	switch (call) {
	case 0:
		lath_index_erase_item(&list, key, NULL);
		break;
	case 1:
		lath_index_erase_range(&list, key, 1 + below(below(2) ? 20 : KEYS), NULL, NULL);
		break;
	case 2:
		item.size = ranges ? 1 + below(60) : 1;
		lath_index_store_range(&list, &item, NULL, NULL);
		break;
	case 3:
		lath_index_resize(&list, key, size);
		break;
	case 4:
		lath_index_split(&list, key, call);
		break;
	case 5:
		lath_index_join(&list, key, NULL, NULL, NULL);
		break;
	case 6:
	case 7:
		for (i = 0; i < 8; i++) {
			keys[i] = below(KEYS);
			items[i] = (struct lath_item){ keys[i], size, call };
		}
		if (call == 6)
			lath_index_insert_batch(&list, 8, items, NULL);
		else
			lath_index_erase_batch(&list, 8, keys, NULL);
		break;
	case 8:
		lath_index_insert_hole(&list, &want, call, &key);
		break;
	case 9:
		lath_index_trim(&list, 1 + below(10), &cursor);
		break;
	case 10:
		for (i = 0; i < 30; i++) { /* an ascending stream */
			item.key = key + i;
			lath_index_insert_item(&list, &item, NULL);
		}
		break;
	default:
		lath_index_insert_item(&list, &item, NULL);
	}
}

/* A count marks the leaves that it includes. The first change in one of them clears the mark,
 * unless the leaf lies below two parents. */
static void marks_are_cleared(unsigned int *marked, unsigned int *cleared)
{
	u64 key = below(KEYS), lockword;
	struct lath_item item = { key, 1, 1 };
	struct node *leaf;

	lath_index_count_range(&list, 0, KEYS);
	leaf = locate(tree_of(&list), key, FOR_READ, &lockword);
	if (!leaf->counted || node_full(leaf) || lath_index_insert_item(&list, &item, NULL))
		return;
	++*marked;
	*cleared += !leaf->counted;
}

static void play(enum lath_layout layout, unsigned int flags)
{
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i, marked = 0, cleared = 0;
	char report[200];

	config.layout = layout;
	config.flags = flags;
	ranges = layout == LATH_RANGES;
	state = flags + layout;
	changed = 0;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < CALLS; i++) {
		unsigned int call = (unsigned int)below(20);

		lath_rcu_auto.read_lock(); /* nodes that die stay readable */
		copy_all();
		change_some(call);
		compare_all(call);
		lath_rcu_auto.read_unlock();
		if (flags & LATH_RANKS)
			marks_are_cleared(&marked, &cleared);
	}
	if (lath_index_verify(&list, 5, report, sizeof(report))) {
		fprintf(stderr, "versions_test: %s\n", report);
		assert(0);
	}
	printf("versions_test: layout %d, flags 0x%x: %llu nodes changed; %u of %u marks cleared\n",
	       (int)layout, flags, (unsigned long long)changed, cleared, marked);
	assert(changed > CALLS);
	assert(cleared >= marked / 2 && (marked > CALLS / 20 || !(flags & LATH_RANKS)));
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	play(LATH_POINTS, 0);
	play(LATH_RANGES, 0);
	play(LATH_RANGES, LATH_HOLES);
	play(LATH_RANGES, LATH_RANKS);
	return 0;
}
