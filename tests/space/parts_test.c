/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * parts_test.c - threads free parts of what is allocated as one range.
 *
 * Neighbouring extents that are saved and loaded are one range. Each is then cut into random parts,
 * which threads free in random order while others allocate: every free returns 0, and in the end
 * nothing is allocated. With arenas and without. parts_test [rounds].
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/random.h"
#include "lathwork/space.h"

#define UNIT 4096ull
#define EXTENTS 300
#define PARTS (4 * EXTENTS)
#define THREADS 4

static struct lath_space *space;
static struct part {
	uint64_t key, size;
} extents[EXTENTS], parts[PARTS];
static size_t n_parts;
static char *image;
static size_t image_size, image_at;
static uint64_t seed = 1;

static int write_image(void *arg, const void *data, size_t size)
{
	(void)arg;
	image = realloc(image, image_size + size);
	memcpy(image + image_size, data, size);
	image_size += size;
	return 0;
}

static int64_t read_image(void *arg, void *data, size_t size)
{
	(void)arg;
	size = size < image_size - image_at ? size : image_size - image_at;
	memcpy(data, image + image_at, size);
	image_at += size;
	return (int64_t)size;
}

static void make(unsigned int flags)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;

	config.low = 1 << 20;
	config.high = 1ull << 40;
	config.unit = UNIT;
	config.flags = flags;
	MUST(!lath_space_create(&space, &config));
}

/* Fills `extents`, as a space has them that was saved and loaded. */
static void load(unsigned int flags)
{
	size_t i;

	make(flags);
	for (i = 0; i < EXTENTS; i++) {
		extents[i].size = (1 + draw(&seed, draw(&seed, 8) ? 300 : 6000)) * UNIT;
		MUST(!lath_space_alloc(space, extents[i].size, 0, 0, &extents[i].key));
	}
	image_size = image_at = 0;
	MUST(!lath_space_save(space, write_image, NULL));
	lath_space_destroy(space);
	make(flags);
	MUST(!lath_space_load(space, read_image, NULL, 0, NULL, 0));
}

/* Fills `parts` from the extents: whole ones, and up to four parts of one, in random order. */
static void cut(void)
{
	size_t i;

	n_parts = 0;
	for (i = 0; i < EXTENTS; i++) {
		uint64_t units = extents[i].size / UNIT, at = 0, n, k;

		for (k = draw(&seed, 4); at < units; at += n, k -= !!k) {
			n = k ? 1 + draw(&seed, units - at) : units - at;
			parts[n_parts++] = (struct part){ extents[i].key + at * UNIT, n * UNIT };
		}
	}
	for (i = n_parts; i > 1; i--) {
		struct part was = parts[i - 1];
		size_t other = draw(&seed, i);

		parts[i - 1] = parts[other];
		parts[other] = was;
	}
}

static void *free_parts(void *arg)
{
	uint64_t state = seed + (uintptr_t)arg, key;
	size_t i;

	for (i = (uintptr_t)arg; i < n_parts; i += THREADS) {
		uint64_t size = (1 + draw(&state, 600)) * UNIT;

		MUST(!lath_space_free(space, parts[i].key, parts[i].size));
		if (!draw(&state, 4)) {
			MUST(!lath_space_alloc(space, size, 0, 0, &key));
			MUST(!lath_space_free(space, key, size));
		}
	}
	return NULL;
}

static void free_all(unsigned int flags)
{
	pthread_t thread[THREADS];
	struct lath_space_stats stats;
	char report[200] = "";
	uintptr_t i;

	load(flags);
	cut();
	for (i = 0; i < THREADS; i++)
		MUST(!pthread_create(&thread[i], NULL, free_parts, (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	lath_space_get_stats(space, &stats);
	MUST(!stats.allocated && !stats.ranges);
	MUST(!lath_space_verify(space, report, sizeof(report)));
	lath_space_destroy(space);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, i;

	for (i = 0; i < rounds && !faults; i++)
		free_all(i % 2 ? LATH_SPACE_NO_ARENAS : i % 4 ? LATH_SPACE_NO_MAGAZINES : 0);
	free(image);
	return !!faults;
}
