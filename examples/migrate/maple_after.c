/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ranges of device addresses in an index: some at a given place, some where there is room.
 */
#include <lathwork/hole.h>
#include <lathwork/index.h>

#include <stdint.h>
#include <stdio.h>

static struct lath_index space;

static int space_start(void)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.flags = LATH_HOLES;
	return lath_index_init(&space, &config);
}

static int space_reserve(uint64_t first, uint64_t size, const char *name)
{
	struct lath_item item = { first, size, (uintptr_t)name };

	return lath_index_insert_item(&space, &item, NULL);
}

static int space_alloc(uint64_t size, const char *name, uint64_t *first)
{
	struct lath_hole_request want = { .size = size, .low = 4096, .high = 1048576 };

	return lath_index_insert_hole(&space, &want, (uintptr_t)name, first);
}

static const char *space_find(uint64_t address)
{
	uint64_t name;

	return lath_index_get(&space, address, &name) ? (const char *)(uintptr_t)name : "none";
}

static void space_print(void)
{
	struct lath_item items[16];
	uint64_t from = 0;
	size_t n, i;

	do {
		n = lath_index_scan(&space, from, UINT64_MAX, items, 16, &from);
		for (i = 0; i < n; i++)
			printf("%d to %d: %s\n", (int)items[i].key,
			       (int)(items[i].key + items[i].size - 1),
			       (const char *)(uintptr_t)items[i].value);
	} while (n == 16 && from);
}

static void space_free(uint64_t address)
{
	lath_index_erase_item_at(&space, address, NULL);
}

static void space_stop(void)
{
	lath_index_fini(&space, NULL, NULL);
}

int main(void)
{
	uint64_t first;

	if (space_start())
		return 1;
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
