/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory areas in an index: no two overlap, and an address finds its area.
 */
#include <lathwork/index.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct area {
	struct lath_slot slot; /* key and size */
	struct lath_rcu_head rcu;
	const char *name;
};

static struct lath_index areas;

static int area_insert(struct area *area)
{
	return lath_index_insert(&areas, &area->slot, NULL);
}

static void area_print(uint64_t address)
{
	struct area *area;

	lath_rcu_auto.read_lock();
	area = (struct area *)lath_index_lookup_rcu(&areas, address);
	printf("%d: %s\n", (int)address, area ? area->name : "none");
	lath_rcu_auto.read_unlock();
}

static void area_free(struct lath_rcu_head *head)
{
	free((char *)head - offsetof(struct area, rcu));
}

static void area_remove(uint64_t address)
{
	struct area *area = (struct area *)lath_index_erase_at(&areas, address);

	if (area) /* another thread may still print it */
		lath_rcu_auto.call(&area->rcu, area_free);
}

static int add(uint64_t start, uint64_t size, const char *name)
{
	struct area *area = malloc(sizeof(*area));
	int ret;

	if (!area)
		return -ENOMEM;
	area->slot.key = start;
	area->slot.size = size;
	area->name = name;
	ret = area_insert(area);
	if (ret)
		free(area);
	return ret;
}

int main(void)
{
	if (lath_index_init(&areas, NULL))
		return 1;
	if (add(4096, 8192, "text") || add(16384, 4096, "data") || add(20480, 65536, "heap"))
		return 1;
	printf("overlap: %s\n", add(12000, 8192, "stack") == -EEXIST ? "refused" : "taken");
	area_print(12287);
	area_print(12288);
	area_print(20480);
	area_remove(17000);
	area_print(17000);
	area_remove(5000);
	area_remove(30000);
	lath_index_fini(&areas, NULL, NULL);
	return 0;
}
