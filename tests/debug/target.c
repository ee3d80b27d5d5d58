/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * target.c - a program to look into: target DIRECTORY fills indexes, a space and a store, writes
 * what lath_index_dump() says to DIRECTORY/NAME.json, and stops in reached(). Its own structs have
 * the names of the library's.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "lathwork/hole.h"
#include "lathwork/space.h"
#include "lathwork/store.h"

struct node {
	int not_ours;
};
struct tree {
	struct node node;
};

struct lath_index points, ranges, small;
struct lath_space *space;
struct lath_store *store, *byte_store;
struct tree tree = { { 7 } };
struct lath_item item = { 4096, 512, 9 };

static void put(void *arg, const char *text)
{
	fputs(text, arg);
}

static void write_dump(struct lath_index *index, const char *directory, const char *name)
{
	char path[1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.json", directory, name);
	file = fopen(path, "w");
	assert(file);
	lath_index_dump(index, put, file);
	assert(!fclose(file));
}

static uint64_t scrambled(uint64_t n)
{
	n *= 0x9e3779b97f4a7c15u;
	return n ^ n >> 29;
}

static void fill_indexes(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_hole_request much = { .size = 1ull << 63 };
	uint64_t i, key;

	config.layout = LATH_POINTS;
	assert(!lath_index_init(&points, &config) && !lath_index_init(&small, &config));
	config.layout = LATH_RANGES;
	config.flags = LATH_HOLES;
	assert(!lath_index_init(&ranges, &config));
	for (i = 0; i < 20000; i++) {
		struct lath_item point = { scrambled(i), 1, i };
		struct lath_item range = { i * 7919 % 20000 * 4096, 512 + i % 7 * 512, i };

		assert(!lath_index_insert_item(&points, &point, NULL));
		assert(!lath_index_insert_item(&ranges, &range, NULL));
		if (i < 10)
			assert(!lath_index_insert_item(&small, &point, NULL));
	}
	for (i = 0; i < 20000; i += 1 + i % 3)
		assert(!lath_index_erase_item(&ranges, i * 4096, NULL));
	assert(lath_index_insert_hole(&ranges, &much, 1, &key) == 0);
	assert(lath_index_find_hole(&ranges, &much, &key) < 0);
}

static void fill_space_and_store(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	uint64_t i, key;

	config.high = 1ull << 40;
	config.unit = 4096;
	assert(!lath_space_create(&space, &config));
	options.keys = LATH_STORE_NUMBERS;
	options.pages = LATH_PAGES_SMALL;
	assert(!lath_store_open(&store, "mem:", &options));
	options.keys = LATH_STORE_BYTES;
	assert(!lath_store_open(&byte_store, "mem:", &options));
	for (i = 0; i < 1000; i++) {
		char name[40];
		int n = snprintf(name, sizeof(name), "a long prefix, then %llu",
				 (unsigned long long)i);

		assert(!lath_store_set(byte_store, lath_key_bytes(name, (size_t)n), "v", 1));
		assert(!lath_space_alloc(space, 4096 << i % 5, 0, i, &key));
		assert(!lath_space_alloc(space, 1ull << 26, 0, i, &key));
		assert(!lath_store_set(store, lath_key_number(i), "value", 5));
	}
}

/* Where the debugger stops. */
void reached(void);
__attribute__((noinline)) void reached(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	assert(argc == 2 && tree.node.not_ours == 7 && item.size == 512);
	fill_indexes();
	fill_space_and_store();
	write_dump(&points, argv[1], "points");
	write_dump(&ranges, argv[1], "ranges");
	write_dump(&small, argv[1], "small");
	reached();
	return 0;
}
