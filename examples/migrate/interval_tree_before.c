/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Locks on ranges of a file in Linux's interval tree.
 */
#include <linux/rbtree.h>
#include <linux/rbtree_augmented.h>
#include <linux/interval_tree_generic.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct hold {
	struct rb_node node;
	uint64_t first, last, largest;
	int owner;
};

#define FIRST(hold) ((hold)->first)
#define LAST(hold) ((hold)->last)
INTERVAL_TREE_DEFINE(struct hold, node, uint64_t, largest, FIRST, LAST, static, hold_tree)

static struct rb_root_cached holds = RB_ROOT_CACHED;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int hold_add(uint64_t first, uint64_t last, int owner)
{
	struct hold *hold = malloc(sizeof(*hold));

	if (!hold)
		return -1;
	hold->first = first;
	hold->last = last;
	hold->owner = owner;
	pthread_mutex_lock(&lock);
	hold_tree_insert(hold, &holds);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void hold_drop(uint64_t first, uint64_t last, int owner)
{
	struct hold *hold;

	pthread_mutex_lock(&lock);
	hold = hold_tree_iter_first(&holds, first, last);
	while (hold && (hold->first != first || hold->last != last || hold->owner != owner))
		hold = hold_tree_iter_next(hold, first, last);
	if (hold)
		hold_tree_remove(hold, &holds);
	pthread_mutex_unlock(&lock);
	free(hold);
}

/* Returns how many there are; *owners is the sum of their numbers. */
static int hold_count(uint64_t first, uint64_t last, int *owners)
{
	struct hold *hold;
	int n = 0;

	*owners = 0;
	pthread_mutex_lock(&lock);
	for (hold = hold_tree_iter_first(&holds, first, last); hold;
	     hold = hold_tree_iter_next(hold, first, last)) {
		*owners += hold->owner;
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

static void print(uint64_t first, uint64_t last)
{
	int owners, n = hold_count(first, last, &owners);

	printf("%d to %d: %d, sum of owners %d\n", (int)first, (int)last, n, owners);
}

int main(void)
{
	if (hold_add(0, 4095, 1) || hold_add(1024, 2047, 2) || hold_add(2000, 9000, 3))
		return 1;
	print(1500, 1500);
	print(2000, 2047);
	print(9001, 9999);
	hold_drop(1024, 2047, 2);
	print(1500, 1500);
	hold_drop(0, 4095, 1);
	hold_drop(2000, 9000, 3);
	print(0, 9999);
	return 0;
}
