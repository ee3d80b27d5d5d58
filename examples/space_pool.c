/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The allocator of a small file system over three disks (lathwork/space.h): two copies of each file
 * on different disks, one disk is replaced, and what is allocated is saved and loaded again. The
 * program checks its own result.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <lathwork/space.h>

#define BLOCK ((uint64_t)4096)
#define DISK ((uint64_t)1 << 40) /* disk n has the addresses from n * DISK on */
#define BLOCKS ((uint64_t)100000)
#define FILES 10000

static uint64_t file[FILES][2];

static void put_file(struct lath_space *space, unsigned int n)
{
	uint64_t others;

	assert(!lath_space_alloc(space, 2 * BLOCK, 0, n, &file[n][0]));
	others = ~(1ull << lath_space_segment_of(space, file[n][0]));
	assert(!lath_space_alloc_in(space, others, 2 * BLOCK, 0, n, &file[n][1]));
}

static int write_file(void *arg, const void *data, size_t size)
{
	return fwrite(data, 1, size, arg) == size ? 0 : -1;
}

static int64_t read_file(void *arg, void *data, size_t size)
{
	return (int64_t)fread(data, 1, size, arg);
}

/* The disks as the superblock lists them. */
static struct lath_space *mount(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;

	config.low = DISK;
	config.high = DISK + BLOCKS * BLOCK;
	config.unit = BLOCK;
	config.flags = LATH_SPACE_SPREAD; /* fill the disks evenly */
	assert(!lath_space_create(&space, &config));
	assert(lath_space_add_segment(space, 2 * DISK, BLOCKS * BLOCK, 0) == 1);
	assert(lath_space_add_segment(space, 3 * DISK, BLOCKS * BLOCK, 0) == 2);
	return space;
}

/* Disk 1 shall go: its copies move to the others. */
static void replace_disk(struct lath_space *space)
{
	unsigned int n, i, moved = 0;

	assert(!lath_space_drain_segment(space, 1, 1));
	for (n = 0; n < FILES; n++)
		for (i = 0; i < 2; i++) {
			uint64_t old = file[n][i], other = file[n][!i];

			if (lath_space_segment_of(space, old) != 1)
				continue;
			assert(!lath_space_alloc_in(space,
						    ~(1ull << lath_space_segment_of(space, other)),
						    2 * BLOCK, 0, n, &file[n][i]));
			assert(!lath_space_free(space, old, 2 * BLOCK));
			moved++;
		}
	assert(!lath_space_remove_segment(space, 1));
	assert(lath_space_add_segment(space, 2 * DISK, 2 * BLOCKS * BLOCK, 0) == 1);
	printf("%u copies moved\n", moved);
}

int main(void)
{
	struct lath_space *space = mount(), *again;
	struct lath_space_stats stats;
	struct lath_item run;
	char report[100];
	FILE *map = tmpfile();
	uint64_t from = 0, runs = 0;
	unsigned int n;

	assert(map);
	for (n = 0; n < FILES; n++)
		put_file(space, n);
	replace_disk(space);
	assert(!lath_space_save(space, write_file, map));
	printf("saved in %ld bytes\n", ftell(map));
	lath_space_destroy(space);

	rewind(map);
	again = mount();
	if (lath_space_load(again, read_file, map, 0, report, sizeof(report))) {
		fprintf(stderr, "space_pool: %s\n", report);
		return 1;
	}
	lath_space_get_stats(again, &stats);
	while (!lath_space_next(again, from, &run)) {
		runs++;
		from = run.key + run.size;
	}
	printf("%" PRIu64 " blocks in %" PRIu64 " runs\n", stats.allocated / BLOCK, runs);
	for (n = 0; n < FILES; n++)
		assert(!lath_space_free(again, file[n][0], 2 * BLOCK) &&
		       !lath_space_free(again, file[n][1], 2 * BLOCK));
	lath_space_destroy(again);
	fclose(map);
	return 0;
}
