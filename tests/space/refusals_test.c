/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * refusals_test.c - what a space refuses, wrong frees that magazines hide for a while, and every
 * allocation of memory
 * failing once: a call does what it should or says -ENOMEM and changes nothing.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork/space.h"
#include "base/failing.h"

#define UNIT 4096ull

static int create(struct lath_space **space, struct lath_space_config config)
{
	config.size = config.size ? config.size : sizeof(config);
	return lath_space_create(space, &config);
}

static void configs(void)
{
	struct lath_space *space = NULL;

	assert(create(&space, (struct lath_space_config){ .size = 3, .unit = 1 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .size = 4000, .unit = 1 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 1, .flags = 1u << 20 }) ==
	       -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 0 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 3 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 1ull << 52 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 8, .low = 4 }) == -EINVAL);
	assert(create(&space, (struct lath_space_config){ .unit = 8, .low = 64, .high = 64 }) ==
	       -EINVAL);
	assert(!space);
	lath_space_destroy(NULL);
	assert(!lath_space_create(&space, NULL)); /* all keys, unit 1 */
	lath_space_destroy(space);
}

static void requests(unsigned int flags)
{
	struct lath_space_config config = {
		.unit = UNIT, .low = UNIT, .high = 100000 * UNIT, .flags = flags
	};
	struct lath_hole_request want = { .low = 0, .high = 0, .size = 5 * UNIT };
	struct lath_space *space;
	struct lath_item item;
	uint64_t key, other;

	assert(!create(&space, config));
	assert(!lath_space_alloc_request(space, &want, 7, &key) && key % UNIT == 0 && key >= UNIT);
	if (flags & LATH_SPACE_NO_ARENAS)
		assert(!lath_space_owner(space, key + 4 * UNIT, &item) && item.key == key &&
		       item.value == 7);
	want.align = 3 * UNIT;
	assert(lath_space_alloc_request(space, &want, 7, &other) == -EINVAL);
	want.align = 0;
	want.size = UNIT + 1;
	assert(lath_space_alloc_request(space, &want, 7, &other) == -EINVAL);
	want.size = 200000 * UNIT;
	assert(lath_space_alloc_request(space, &want, 7, &other) == -ENOSPC);

	assert(lath_space_alloc(space, ~0ull << 12, 0, 0, &other) != 0);
	assert(lath_space_reserve(space, key, UNIT, 0) == -EBUSY);
	assert(lath_space_reserve(space, key + 1, UNIT, 0) == -EINVAL);
	assert(lath_space_reserve(space, 0 - 2 * UNIT, 4 * UNIT, 0) == -EINVAL);
	assert(lath_space_free(space, 0 - 2 * UNIT, 4 * UNIT) == -EINVAL);
	assert(lath_space_free(space, key, 0) == -EINVAL);
	assert(lath_space_free(space, key, 6 * UNIT) == -EINVAL); /* more than was given */
	assert(!lath_space_free(space, key, 2 * UNIT) &&
	       !lath_space_free(space, key + 2 * UNIT, 3 * UNIT));
	assert(lath_space_free(space, key, 5 * UNIT) == -EINVAL);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* Freed twice: at once an error, or later a count, and never given out to two. */
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

	configs();
	wrong_frees();
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		unsigned long n = 1;

		requests(forms[i]);
		while (one_failure(forms[i], n))
			n += n < 60 ? 1 : n / 8;
		printf("flags %u: up to allocation %lu failed\n", forms[i], n);
		assert(n > 3);
	}
	return 0;
}
