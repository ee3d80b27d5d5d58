/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * refusals_test.c - wrong frees that magazines hide for a while, many arenas, and every allocation
 * of memory failing once: a call does what it should or says -ENOMEM and changes nothing.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "space/space.h"
#include "base/failing.h"

#define UNIT 4096ull
#define TABLE ((GROUPS - FEW) * sizeof(void *)) /* of all but the first groups of a set */

#if LATH_ASSERTIONS
static struct lath_space *twice; /* of a child */
#endif

static int create(struct lath_space **space, struct lath_space_config config)
{
	config.size = config.size ? config.size : sizeof(config);
	return lath_space_create(space, &config);
}

/* A segment all of which is preferred, and one that is not, beside one that is in part. */
static void preferred_segments(void)
{
	struct lath_space_config config = {
		.unit = UNIT, .low = 4096 * UNIT, .high = 20480 * UNIT, .below = 8192 * UNIT
	};
	struct lath_space *space;
	uint64_t key;
	int i;

	assert(!create(&space, config));
	assert(lath_space_add_segment(space, 0, 4096 * UNIT, 0) == 1);
	assert(lath_space_add_segment(space, 20480 * UNIT, 4096 * UNIT, 0) == 2);
	for (i = 0; i < 24; i++) { /* in units of 1024 */
		static const uint64_t order[] = { 4, 0, 8, 12, 16, 20 };

		assert(!lath_space_alloc(space, 1024 * UNIT, 0, 1, &key));
		assert(key / UNIT / 1024 == order[i / 4] + (uint64_t)(i % 4));
	}
	assert(lath_space_alloc(space, UNIT, 0, 1, &key) == -ENOSPC);
	lath_space_destroy(space);
}

/* Fills arenas by quarters. A set has room for 65,536 of them, for more than 512 in a second table;
 * what finds no room in them is served by the index. Returns the number of arenas. */
static uint64_t fill_arenas(unsigned int most, bool no_table)
{
	struct failing memory = { .fail_size = no_table ? TABLE : 0 };
	const struct lath_allocator allocator = { failing_alloc, failing_free, &memory };
	struct lath_space_config config = { .unit = 1, .flags = LATH_SPACE_NO_MAGAZINES };
	struct lath_space_stats stats;
	struct lath_space *space;
	unsigned int i;
	uint64_t key;

	config.allocator = &allocator;
	assert(!create(&space, config));
	for (i = 0; i < 4 * most; i++)
		assert(!lath_space_alloc(space, 1024, 0, 1, &key));
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == 1024ull * i && !stats.arena_free);
	assert(stats.arenas + stats.ranges / 4 == most && no_table == (memory.failures > 0));
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
	assert(!memory.outstanding);
	return stats.arenas;
}

static void many_arenas(void)
{
	assert(fill_arenas(520, false) == 520);
	assert(fill_arenas(520, true) < 513);
	assert(fill_arenas(65536 + 1, false) == 65536);
}

/* Each block of the index that is an arena's has its item in `arenas`, and each arena struct serves
 * a block or waits to serve one. */
static void expect_arenas_whole(struct lath_space *space)
{
	struct arena_set *set = &space->first.set[0];
	struct lath_item item = { 0 };
	struct arena *arena;
	uint64_t marked = 0, unused = 0, from = 0;

	while (space->index && !lath_index_ceiling_item(space->index, from, &item)) {
		marked += item.value == arena_mark(space);
		from = item.key + 1;
	}
	for (arena = set->unused; arena; arena = arena->next)
		unused++;
	assert(marked == space->in_use && marked + unused == set->count);
	assert(marked == (space->arenas ? lath_index_count(space->arenas) : 0));
	assert(!lath_space_verify(space, NULL, 0));
}

/* The n-th allocation of memory fails while an arena is opened, for each n, before there is one,
 * two and so on up to the first ones that need a second leaf in both indexes. */
static void no_arena(void)
{
	struct failing memory = { 0 };
	const struct lath_allocator allocator = { failing_alloc, failing_free, &memory };
	struct lath_space_config config = { .unit = 1, .allocator = &allocator };
	struct lath_space *space;
	unsigned int i, n;
	uint64_t key;

	config.flags = LATH_SPACE_NO_MAGAZINES;
	assert(!create(&space, config));
	for (i = 0; i < 140; i++) {
		for (n = 1; n < 8; n++) {
			memory.fail_at = memory.calls + n;
			if (!lath_space_alloc(space, 1024, 0, 1, &key))
				assert(!lath_space_free(space, key, 1024));
			memory.fail_at = 0;
			expect_arenas_whole(space);
			lath_space_trim(space);
			expect_arenas_whole(space);
		}
		for (n = 0; n < 4; n++)
			assert(!lath_space_alloc(space, 1024, 0, 1, &key));
	}
	assert(memory.failures > 140 && space->in_use == i);
	lath_space_destroy(space);
	assert(!memory.outstanding);
}

/* Without memory for a slot there are no magazines: frees take effect at once. */
static void no_slots(void)
{
	struct failing memory = { .fail_size = sizeof(struct slot) };
	const struct lath_allocator allocator = { failing_alloc, failing_free, &memory };
	struct lath_space_config config = { .unit = 1, .allocator = &allocator };
	struct lath_space_stats stats;
	struct lath_space *space;
	uint64_t key[5];
	unsigned int i;

	assert(!create(&space, config));
	for (i = 0; i < 5; i++)
		assert(!lath_space_alloc(space, 1ull << i, 0, 3, &key[i]));
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == 31);
	for (i = 0; i < 5; i++)
		assert(!lath_space_free(space, key[i], 1ull << i));
	assert(lath_space_free(space, key[0], 1) == -EINVAL);
	lath_space_get_stats(space, &stats);
	assert(memory.failures && !stats.allocated && !stats.cached && !stats.bad_frees);
	lath_space_destroy(space);
}

#if LATH_ASSERTIONS
static void *free_first(void *arg)
{
	uint64_t *key = arg;

	assert(!lath_space_free(twice, *key, UNIT));
	return NULL;
}

/* Frees a block twice: one that a magazine holds, or one that another thread has freed. */
static void freed_twice(bool by_two)
{
	struct lath_space_config config = { .unit = UNIT, .high = 1u << 30 };
	pthread_t thread;
	uint64_t key;
	int status;
	pid_t child = fork();

	assert(child >= 0);
	if (!child) {
		close(2);
		assert(!create(&twice, config));
		assert(!lath_space_alloc(twice, UNIT, 0, 0, &key));
		assert(!pthread_create(&thread, NULL, free_first, &key));
		pthread_join(thread, NULL);
		if (!by_two) {
			assert(!lath_space_alloc(twice, UNIT, 0, 0, &key));
			assert(!lath_space_free(twice, key, UNIT));
		}
		lath_space_free(twice, key, UNIT);
		_exit(0);
	}
	assert(waitpid(child, &status, 0) == child);
	assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif

/* Freed twice: at once an error, or later a count. */
static void wrong_frees(void)
{
	struct lath_space_config config = { .unit = UNIT, .high = 1u << 30 };
	struct lath_space_stats stats;
	struct lath_space *space;
	uint64_t key[64];
	unsigned int i;

	assert(!create(&space, config));
	for (i = 0; i < 64; i++)
		assert(!lath_space_alloc(space, UNIT, 0, i, &key[i]));
	for (i = 0; i < 64; i++)
		assert(!lath_space_free(space, key[i], UNIT));
#if LATH_ASSERTIONS
	freed_twice(false);
	freed_twice(true);
	lath_space_destroy(space);
	return;
#endif
	assert(!lath_space_free(space, key[0], UNIT)); /* into the magazine: nobody looks yet */
	lath_space_trim(space);
	lath_space_get_stats(space, &stats);
	assert(stats.bad_frees == 1 && !stats.cached && !stats.allocated);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

#define RANGES 6000u

/* Fill several arenas and the index, free every other one, reserve some; with the n-th allocation
 * failing. */
static unsigned long one_failure(unsigned int flags, unsigned long fail_at)
{
	static uint64_t key[RANGES], size[RANGES];
	struct failing memory = { .fail_at = fail_at };
	const struct lath_allocator allocator = { failing_alloc, failing_free, &memory };
	struct lath_space_config config = { .unit = UNIT, .flags = flags, .allocator = &allocator };
	struct lath_space_stats stats;
	struct lath_space *space;
	uint64_t held = 0;
	unsigned int i;
	int ret = create(&space, config);

	assert(!ret || (ret == -ENOMEM && memory.failures));
	for (i = 0; !ret && i < RANGES; i++) {
		size[i] = UNIT << i % 5 << (i % 97 ? 0 : 9);
		ret = i % 89 ? lath_space_alloc(space, size[i], 0, i, &key[i])
			     : lath_space_reserve(space, key[i] = (1ull << 60) + i * 100 * UNIT,
						  size[i] = UNIT, i);
		assert(!ret || (ret == -ENOMEM && memory.failures));
		held += ret ? 0 : size[i];
		if (ret)
			size[i] = 0;
		ret = 0;
	}
	if (!i)
		goto out;
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == held);
	for (i = 0; i < RANGES; i++) {
		if (!size[i])
			continue;
		ret = lath_space_free(space, key[i], size[i]);
		assert(!ret || (ret == -ENOMEM && memory.failures));
		held -= ret ? 0 : size[i];
	}
	lath_space_trim(space);
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == held && !stats.bad_frees);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
out:
	assert(!memory.outstanding);
	return memory.failures ? memory.calls : 0;
}

int main(void)
{
	static const unsigned int forms[] = { 0, LATH_SPACE_NO_MAGAZINES, LATH_SPACE_OWNERS,
					      LATH_SPACE_NO_ARENAS };
	unsigned int i;

	preferred_segments();
	many_arenas();
	no_arena();
	no_slots();
	wrong_frees();
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		unsigned long n = 1;

		while (one_failure(forms[i], n))
			n += n < 60 ? 1 : n / 8;
		printf("flags %u: up to allocation %lu failed\n", forms[i], n);
		assert(n > 3);
	}
	return 0;
}
