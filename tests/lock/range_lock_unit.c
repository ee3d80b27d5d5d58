/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Range locks in both hosts, one thread: what changes of a held range give up and gain, and what is
 * told of them.
 */
#include "base/unit.h"
#include "lathwork/range_lock.h"

int range_lock_unit(void);

#define SHARED LATH_SHARED_RANGE
#define EXCLUSIVE LATH_EXCLUSIVE_RANGE

/* Can this range be locked now? */
static int is_free(struct lath_range_locks *locks, u64 key, u64 size, enum lath_range_mode mode)
{
	struct lath_range_hold hold;

	if (lath_range_trylock(locks, &hold, key, size, mode))
		return 0;
	lath_range_unlock(locks, &hold);
	return 1;
}

static int held_ranges_change(void)
{
	struct lath_range_locks locks;
	struct lath_range_hold hold, other;

	CHECK(!lath_range_locks_init(&locks, NULL));
	CHECK(lath_range_lock(&locks, &hold, 1, 1, (enum lath_range_mode)2) == -EINVAL);
	CHECK(!lath_range_lock(&locks, &hold, 100, 100, EXCLUSIVE));
	lath_range_downgrade(&locks, &hold);
	CHECK(is_free(&locks, 150, 1, SHARED) && !is_free(&locks, 150, 1, EXCLUSIVE));
	/* smaller: from both ends */
	CHECK(!lath_range_resize(&locks, &hold, 120, 10));
	CHECK(hold.first == 120 && hold.last == 129);
	CHECK(is_free(&locks, 100, 20, EXCLUSIVE) && is_free(&locks, 130, 70, EXCLUSIVE));
	CHECK(!is_free(&locks, 129, 1, EXCLUSIVE));
	/* moved: it gives up the front and gains at the back, over classes of sizes */
	CHECK(!lath_range_resize(&locks, &hold, 125, 100000));
	CHECK(is_free(&locks, 120, 5, EXCLUSIVE) && !is_free(&locks, 100000, 1, EXCLUSIVE));
	CHECK(!lath_range_resize(&locks, &hold, 3, 200000));
	CHECK(is_free(&locks, 0, 3, EXCLUSIVE) && !is_free(&locks, 3, 1, EXCLUSIVE));
	CHECK(is_free(&locks, 200003, 9, EXCLUSIVE) && !is_free(&locks, 200002, 1, EXCLUSIVE));
	CHECK(!lath_range_locks_verify(&locks));
	lath_range_unlock(&locks, &hold);
	/* keys that another one has: as before */
	CHECK(!lath_range_lock(&locks, &hold, 3, 10, EXCLUSIVE));
	CHECK(!lath_range_lock(&locks, &other, 20, 5, SHARED));
	CHECK(lath_range_resize(&locks, &hold, 1, 20) == -EBUSY);
	CHECK(hold.first == 3 && hold.last == 12 && is_free(&locks, 1, 2, EXCLUSIVE));
	lath_range_unlock(&locks, &hold);
	lath_range_unlock(&locks, &other);
	/* all */
	CHECK(!lath_range_lock_all(&locks, &hold, SHARED));
	CHECK(hold.first == 0 && hold.last == ~0ull);
	CHECK(!is_free(&locks, 7, 1, EXCLUSIVE) && is_free(&locks, 7, 1, SHARED));
	CHECK(!lath_range_lock(&locks, &other, 7, 1, SHARED));
	lath_range_unlock(&locks, &hold);
	CHECK(lath_range_lock_for(&locks, &hold, 0, 999, EXCLUSIVE, 0, 1) == -EBUSY);
	CHECK(lath_range_timedlock(&locks, &hold, 0, 1000, EXCLUSIVE, 1000) == -ETIMEDOUT);
	CHECK(lath_range_timedlock(&locks, &hold, 0, 1000, EXCLUSIVE, 0) == -ETIMEDOUT);
	CHECK(!lath_range_locks_verify(&locks));
	lath_range_unlock(&locks, &other);
	CHECK(is_free(&locks, 0, ~0ull, EXCLUSIVE));
	lath_range_locks_fini(&locks);
	return 0;
}

struct told {
	unsigned int n;
	u64 keys, owners;
};

static void tell(void *arg, const struct lath_range_info *info)
{
	struct told *told = arg;

	told->n += !info->waits && info->mode == EXCLUSIVE;
	told->keys += info->last - info->first + 1;
	told->owners += info->owner;
}

/* What is held, one owner's deadlock with itself, and memory. */
static int holders_are_told(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	struct lath_range_hold *hold = unit_alloc(20 * sizeof(*hold)), more;
	struct lath_range_locks locks;
	struct told told = { 0 };
	unsigned int i;

	CHECK(hold);
	config.flags = LATH_RANGE_DEADLOCKS;
	CHECK(!lath_range_locks_init(&locks, &config));
	for (i = 0; i < 20; i++) /* some in two buckets */
		CHECK(!lath_range_lock_for(&locks, &hold[i], i * 17, i * 17 + 16, EXCLUSIVE, ~0ull,
					   i + 1));
	lath_range_each(&locks, tell, &told);
	CHECK(told.n == 20 && told.keys == 20 * 17 && told.owners == 210);
	CHECK(lath_range_lock_for(&locks, &more, 30, 30, SHARED, ~0ull, 2) == -EDEADLK);
	CHECK(lath_range_lock_for(&locks, &more, 0, ~0ull, SHARED, ~0ull, 2) == -EDEADLK);
	/* owner 4 grows into a range of owner 5, and then one of its own */
	CHECK(!lath_range_lock_for(&locks, &more, 1000, 1000, EXCLUSIVE, ~0ull, 4));
	lath_range_unlock(&locks, &hold[4]);
	CHECK(!lath_range_resize(&locks, &hold[3], 3 * 17, 2 * 17));
	for (i = 5; i < 20; i++)
		lath_range_unlock(&locks, &hold[i]);
	CHECK(lath_range_resize(&locks, &hold[3], 3 * 17, 1000) == -EDEADLK);
	CHECK(hold[3].first == 3 * 17 && hold[3].last == 5 * 17 - 1);
	CHECK(is_free(&locks, 5 * 17, 100, EXCLUSIVE));
	lath_range_unlock(&locks, &more);
	CHECK(!lath_range_locks_verify(&locks));
	for (i = 0; i < 4; i++)
		lath_range_unlock(&locks, &hold[i]);
	CHECK(!lath_range_locks_verify(&locks));
	lath_range_locks_fini(&locks);
	unit_free(hold);
	return 0;
}

static void *no_memory(void *ctx, size_t size, size_t align)
{
	(void)size;
	(void)align;
	++*(unsigned int *)ctx;
	return NULL;
}

static void free_nothing(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)block;
	(void)size;
}

static int no_memory_is_an_answer(void)
{
	struct lath_range_config config = LATH_RANGE_CONFIG_INIT;
	unsigned int asked = 0;
	struct lath_allocator none = { no_memory, free_nothing, NULL };
	struct lath_range_locks locks;

	none.ctx = &asked;
	config.allocator = &none;
	CHECK(lath_range_locks_init(&locks, &config) == -ENOMEM && asked == 1);
	return 0;
}

int range_lock_unit(void)
{
	int line;

	if ((line = held_ranges_change()) || (line = holders_are_told()))
		return line;
	return no_memory_is_an_answer();
}
