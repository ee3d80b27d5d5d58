/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program, in C and in C++ alike, that has lathwork.h alone: a little of each structure, and the
 * sorted queue in every form that the processor has.
 */
#include "lathwork.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "user.c:%d: not true: %s\n", __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

enum { ITEMS = 20000, REQUESTS = 3000 };

static struct lath_index list;

/* Inserts every second item, from the first or the second. */
static void *fill(void *from)
{
	struct lath_item item = { 0, 5, 0 };
	uint64_t i;

	for (i = *(uint64_t *)from; i < ITEMS; i += 2) {
		item.key = item.value = 10 * i;
		CHECK(!lath_index_insert_item(&list, &item, NULL));
	}
	return NULL;
}

static void try_index(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	uint64_t from[2] = { 0, 1 }, i;
	struct lath_item item;
	pthread_t other;

	config.flags = LATH_RANKS;
	CHECK(!lath_index_init(&list, &config));
	CHECK(!pthread_create(&other, NULL, fill, &from[1]));
	fill(&from[0]);
	CHECK(!pthread_join(other, NULL));
	for (i = 0; i < ITEMS; i += 7) {
		CHECK(!lath_index_lookup_item(&list, 10 * i + 4, &item) && item.value == 10 * i);
		CHECK(lath_index_lookup_item(&list, 10 * i + 5, &item) < 0);
	}
	CHECK(!lath_index_select(&list, 1234, &item) && item.key == 12340);
	for (i = 0; i < ITEMS; i += 3)
		CHECK(!lath_index_erase_item(&list, 10 * i, NULL));
	CHECK(!lath_index_verify(&list, 2, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
}

static void try_intervals(void)
{
	struct lath_interval found[4], interval = { 10, 30, 1 };
	struct lath_intervals set;

	CHECK(!lath_intervals_init(&set, LATH_HALF_OPEN, NULL));
	CHECK(!lath_intervals_insert(&set, &interval));
	interval.first = 20;
	CHECK(!lath_intervals_insert(&set, &interval));
	CHECK(lath_intervals_stab(&set, 25, found, 4) == 2);
	CHECK(lath_intervals_stab(&set, 15, found, 4) == 1 && found[0].first == 10);
	lath_intervals_fini(&set, NULL, NULL);
}

static void try_space(void)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;
	uint64_t a, b;

	config.low = 4096;
	config.high = (uint64_t)1 << 40;
	config.unit = 4096;
	CHECK(!lath_space_create(&space, &config));
	CHECK(!lath_space_alloc(space, 8192, 0, 1, &a));
	CHECK(!lath_space_alloc(space, 1 << 30, 1 << 30, 1, &b) && b % (1 << 30) == 0);
	CHECK(!lath_space_free(space, a, 8192));
	lath_space_destroy(space);
}

/* Returns whether the processor has this form. */
static int try_queue(enum lath_simd simd)
{
	struct lath_request *requests =
		(struct lath_request *)calloc(REQUESTS, sizeof(struct lath_request));
	struct lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
	static struct lath_sortq queue;
	struct lath_request_pool pool;
	struct lath_request *next;
	uint64_t last = 0;
	void *memory;
	int i, ret;

	config.simd = simd;
	CHECK(requests && !lath_request_pool_init(&pool, requests, sizeof(*requests), REQUESTS));
	memory = aligned_alloc(64, (lath_sortq_memsize(&config, &pool) + 63) / 64 * 64);
	ret = lath_sortq_init(&queue, &config, &pool, memory);
	for (i = 0; !ret && i < REQUESTS; i++) {
		requests[i].sector = (uint64_t)i * 2654435761u % 1000003;
		CHECK(!lath_sortq_insert(&queue, &requests[i]));
	}
	CHECK(ret || !lath_sortq_verify(&queue));
	for (i = 0; !ret && i < REQUESTS; i++) {
		next = lath_sortq_dispatch(&queue);
		CHECK(next && next->sector >= last);
		last = next->sector;
	}
	free(memory);
	free(requests);
	return !ret;
}

int main(void)
{
	int forms;

	CHECK(!strncmp(lath_version(), "0.", 2) && strlen(lath_strerror(-ENOENT)));
	try_index();
	try_intervals();
	try_space();
	CHECK(try_queue(LATH_SIMD_BEST));
	forms = try_queue(LATH_SIMD_NONE) + try_queue(LATH_SIMD_AVX2);
	printf("index, intervals, space, queue in %d forms\n", forms);
	return 0;
}
