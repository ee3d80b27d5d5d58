/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ranges of device addresses in Linux's maple tree: some at a given place, some where there is
 * room.
 */
#include "test.h"

#include <linux/maple_tree.h>

#include <stdint.h>
#include <stdio.h>

static struct maple_tree space;

static void space_start(void)
{
	maple_tree_init(); /* the kernel does these two at its start */
	rcu_register_thread();
	mt_init_flags(&space, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU);
}

static int space_reserve(uint64_t first, uint64_t size, const char *name)
{
	return mtree_insert_range(&space, first, first + size - 1, (void *)name, GFP_KERNEL);
}

static int space_alloc(uint64_t size, const char *name, uint64_t *first)
{
	MA_STATE(mas, &space, 0, 0);
	int ret;

	mas_lock(&mas);
	ret = mas_empty_area(&mas, 4096, 1048575, size);
	if (!ret) {
		*first = mas.index;
		mas_set_range(&mas, *first, *first + size - 1);
		ret = mas_store_gfp(&mas, (void *)name, GFP_KERNEL);
	}
	mas_unlock(&mas);
	return ret;
}

static const char *space_find(uint64_t address)
{
	const char *name = mtree_load(&space, address);

	return name ? name : "none";
}

static void space_print(void)
{
	MA_STATE(mas, &space, 0, 0);
	const char *name;

	rcu_read_lock();
	mas_for_each(&mas, name, ULONG_MAX)
		printf("%d to %d: %s\n", (int)mas.index, (int)mas.last, name);
	rcu_read_unlock();
}

static void space_free(uint64_t address)
{
	mtree_erase(&space, address);
}

static void space_stop(void)
{
	mtree_destroy(&space);
	rcu_unregister_thread();
}

int main(void)
{
	uint64_t first;

	space_start();
	if (space_reserve(8192, 4096, "firmware") || space_reserve(16384, 16384, "frames"))
		return 1;
	printf("overlap: %s\n", space_reserve(12287, 2, "late") ? "refused" : "taken");
	if (space_alloc(8192, "ring", &first))
		return 1;
	printf("ring at %d, 12288 is in %s, ", (int)first, space_find(12288));
	space_free(10000);
	printf("10000 is in %s\n", space_find(10000));
	space_print();
	space_stop();
	return 0;
}
