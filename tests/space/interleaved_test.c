/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interleaved_test.c - whole calls between two steps of another call on a space.
 *
 * Where a call on the index beneath has found a leaf and not yet locked it, and where a slot is
 * allocated, no lock is held: there another call begins and ends, as another thread might make it.
 * Each scenario is repeated with the other call at the first such place, at the second, and so on.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "space/space.h"

#define BLOCK 4096ull /* keys per arena; the unit is 1 */

static struct lath_space *space;
static unsigned int armed; /* the other call is made at the n-th place; 0: not */
static size_t watched;	   /* the other call is made in an allocation of this size */
static bool fired;
static void (*other)(void);
static int other_ret;
static __thread bool is_other; /* this thread makes the other call, */
static unsigned int passed;    /* and has passed this many delay points */

static void fire(void)
{
	armed = 0;
	watched = 0;
	fired = true;
	other();
}

static void disturb(const char *point)
{
	static const char *const points[] = { "located, not yet searched",
					      "located, not yet locked", "descend: leaf found",
					      "finger: leaf found",
					      "segment added, lock released" };
	size_t i;

	if (is_other) {
		__atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
		return;
	}
	for (i = 0; armed && i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(point, points[i]) && !--armed)
			fire();
}

static void *allocate(void *ctx, size_t size, size_t align)
{
	void *block;

	(void)ctx;
	if (size == watched)
		fire();
	return posix_memalign(&block, align < 64 ? 64 : align, size) ? NULL : block;
}

static void release(void *ctx, void *block, size_t size)
{
	(void)ctx;
	memset(block, 0xaa, size); /* who reads it on finds nonsense */
	free(block);
}

static void begin(uint64_t keys, unsigned int flags)
{
	static const struct lath_allocator allocator = { allocate, release, NULL };
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;

	config.high = keys;
	config.flags = flags;
	config.allocator = &allocator;
	assert(!lath_space_create(&space, &config));
	fired = false;
}

/* What is enumerated is what is counted. */
static uint64_t allocated(void)
{
	struct lath_space_stats stats;
	struct lath_item run;
	uint64_t from = 0, sum = 0;

	assert(!lath_space_verify(space, NULL, 0));
	for (; !lath_space_next(space, from, &run); from = run.key + run.size)
		sum += run.size;
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == sum && stats.arena_free <= stats.arenas * BLOCK);
	return sum;
}

/* ---- frees ---- */

static int opened; /* what the other call's allocation said; 1: there was none */

static void free_first(void)
{
	other_ret = lath_space_free(space, 0, BLOCK);
}

/* An arena takes the place of the range. */
static void free_first_and_open(void)
{
	uint64_t key;

	free_first();
	opened = lath_space_alloc(space, 1, 0, 7, &key);
}

/* Two ranges are freed in one call, and the first of them in another: one of the calls is refused,
 * and what the refused one did not free stays. */
static void free_two(void (*what)(void))
{
	unsigned int n = 0, refusals = 0;
	uint64_t key;
	int ret;

	do {
		begin(2 * BLOCK, LATH_SPACE_NO_MAGAZINES);
		assert(!lath_space_alloc(space, BLOCK, 0, 1, &key) && key == 0);
		assert(!lath_space_alloc(space, BLOCK, 0, 2, &key) && key == BLOCK);
		other = what;
		opened = 1;
		armed = ++n;
		ret = lath_space_free(space, 0, 2 * BLOCK);
		armed = 0;
		assert(!ret || ret == -EINVAL);
		if (fired) {
			assert(!ret == (other_ret == -EINVAL));
			refusals += ret != 0;
		}
		assert(allocated() == (ret ? BLOCK : 0) + !opened);
		lath_space_destroy(space);
	} while (fired);
	assert(refusals >= 3 && n > refusals + 1);
}

/* ---- an arena that is being opened ---- */

static void look_at_key(void)
{
	struct lath_item item;

	other_ret = lath_space_free(space, 0, 1);
	assert(lath_space_owner(space, 0, &item) == -ENOENT);
	assert(lath_space_next(space, 0, &item) == -ENOENT);
}

/* Before the first unit of an arena is taken none is, though the index has the arena already. */
static void arena_opens(void)
{
	struct lath_item item;
	unsigned int n = 0;
	uint64_t key;

	do {
		begin(4 * BLOCK, LATH_SPACE_OWNERS);
		other = look_at_key;
		other_ret = -EINVAL;
		armed = ++n;
		assert(!lath_space_alloc(space, 1, 0, 3, &key) && key == 0);
		armed = 0;
		assert(other_ret == -EINVAL && allocated() == 1);
		assert(!lath_space_owner(space, 0, &item) && item.value == 3 && item.size == 1);
		lath_space_destroy(space);
	} while (fired);
	assert(n > 3);
}

/* ---- an arena that is being released ---- */

#define MANY 200u /* delay points: more than two looks into an index of one leaf pass */

static unsigned int waits; /* how often the other call had to wait */
static bool ended;

static void *free_in_released(void *arg)
{
	(void)arg;
	is_other = true;
	other_ret = lath_space_free(space, 1, 1);
	__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static pthread_t thread;

/* Another thread makes a wrong free, which looks again and again while the index of arenas has an
 * arena that serves no block. */
static void free_beside(void)
{
	passed = 0;
	ended = false;
	assert(!pthread_create(&thread, NULL, free_in_released, NULL));
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&passed, __ATOMIC_RELAXED) < MANY)
		sched_yield();
	waits += !__atomic_load_n(&ended, __ATOMIC_ACQUIRE);
}

/* A search for an arena that is on its way out of the index leaves its lock free, and ends when it
 * is out. */
static void arena_goes(void)
{
	unsigned int n = 0;
	uint64_t key;

	alarm(120); /* a lock that stays held is waited for without an end */
	waits = 0;
	do {
		begin(4 * BLOCK, LATH_SPACE_NO_MAGAZINES);
		assert(!lath_space_alloc(space, 1, 0, 3, &key) && key == 0);
		assert(!lath_space_free(space, 0, 1));
		other = free_beside;
		armed = ++n;
		lath_space_trim(space);
		armed = 0;
		if (fired) {
			assert(!pthread_join(thread, NULL));
			assert(other_ret == -EINVAL);
		}
		assert(!allocated());
		lath_space_destroy(space);
	} while (fired);
	assert(waits && n > waits + 1);
	alarm(0);
}

/* ---- a segment that is being removed ---- */

static void drain_again(void)
{
	other_ret = lath_space_drain_segment(space, 1, 0);
}

static void remove_again(void)
{
	other_ret = lath_space_remove_segment(space, 1);
}

static void segment_goes(void (*what)(void))
{
	unsigned int n = 0;
	uint64_t key;

	do {
		begin(BLOCK, LATH_SPACE_NO_MAGAZINES);
		assert(lath_space_add_segment(space, 8 * BLOCK, 4 * BLOCK, 0) == 1);
		assert(!lath_space_alloc_in(space, 2, 1, 0, 3, &key) && key == 8 * BLOCK);
		assert(lath_space_remove_segment(space, 1) == -EBUSY);
		assert(!lath_space_drain_segment(space, 1, 1));
		assert(!lath_space_free(space, key, 1));
		other = what;
		other_ret = -ENOENT;
		armed = ++n;
		assert(!lath_space_remove_segment(space, 1));
		armed = 0;
		assert(other_ret == -ENOENT && lath_space_segment_of(space, key) == -ENOENT);
		assert(allocated() == 0);
		/* its number and its keys can be used again */
		assert(lath_space_add_segment(space, 8 * BLOCK, BLOCK, 0) == 1);
		lath_space_destroy(space);
	} while (fired);
	assert(n > 2);
}

/* ---- statistics ---- */

static void look_at_stats(void)
{
	struct lath_space_stats stats;

	lath_space_get_stats(space, &stats);
	assert(stats.arenas == 1 && stats.arena_free <= BLOCK && stats.allocated <= 16 * BLOCK);
}

/* What is charged and not yet in the index is not taken for keys of the arenas. */
static void counted_beside_a_call(void)
{
	unsigned int n = 0;
	uint64_t key;

	do {
		begin(16 * BLOCK, LATH_SPACE_NO_MAGAZINES);
		assert(!lath_space_alloc(space, 1, 0, 3, &key));
		other = look_at_stats;
		armed = ++n;
		assert(!lath_space_alloc(space, 2 * BLOCK, 0, 3, &key));
		armed = 0;
		assert(allocated() == 2 * BLOCK + 1);
		lath_space_destroy(space);
	} while (fired);
	assert(n > 1);
}

/* ---- slots ---- */

static void limit_first(void)
{
	other_ret = lath_space_limit_segment(space, 0, BLOCK);
}

/* A segment gets a limit, which ends the use of magazines, while the first one is made. */
static void limited_meanwhile(void)
{
	struct lath_space_stats stats;
	uint64_t key;

	begin(16 * BLOCK, 0);
	other = limit_first;
	watched = sizeof(struct slot);
	assert(!lath_space_alloc(space, 1, 0, 3, &key));
	assert(fired && !other_ret && allocated() == 1);
	lath_space_get_stats(space, &stats);
	assert(!stats.cached);
	assert(lath_space_alloc(space, BLOCK, 0, 3, &key) == -ENOSPC);
	lath_space_destroy(space);
}

static void remove_added(void)
{
	other_ret = lath_space_drain_segment(space, 1, 1);
	other_ret = other_ret ? other_ret : lath_space_remove_segment(space, 1);
}

/* A segment is drained and removed as soon as others can find it: its memory stays in the list, and
 * the next segment gets its number. */
static void added_goes(void)
{
	uint64_t key;

	begin(16 * BLOCK, 0);
	other = remove_added;
	armed = 1;
	assert(lath_space_add_segment(space, 64 * BLOCK, BLOCK, 0) == 1);
	assert(fired && !other_ret);
	assert(lath_space_segment_of(space, 64 * BLOCK) == -ENOENT);
	assert(lath_space_add_segment(space, 32 * BLOCK, BLOCK, 0) == 1);
	assert(lath_space_segment_of(space, 32 * BLOCK) == 1);
	assert(!lath_space_alloc(space, BLOCK, 0, 3, &key));
	lath_space_destroy(space);
}

int main(void)
{
	lath_delay_hook = disturb;
	free_two(free_first);
	free_two(free_first_and_open);
	arena_opens();
	arena_goes();
	segment_goes(drain_again);
	segment_goes(remove_again);
	counted_beside_a_call();
	limited_meanwhile();
	added_goes();
	lath_delay_hook = NULL;
	return 0;
}
