/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * no_key_test.c - a process that has used up its thread-specific keys: what makes a structure
 * returns -ENOMEM, and succeeds when a key is free again.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/interval.h"
#include "lathwork/range_lock.h"
#include "lathwork/small.h"
#include "lathwork/space.h"
#include "lathwork/store.h"

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	(void)ctx;
	(void)value;
	*key = (struct lath_bytes_key){ "key", 3, 0 };
}

static void make_all(int expected)
{
	const struct lath_bytes_records records = { key_of, NULL, 0 };
	static struct lath_small small;
	static struct lath_index index;
	static struct lath_intervals intervals;
	static struct lath_bytes bytes;
	static struct lath_range_locks locks;
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_item item = { 0, 1, 0 };
	struct lath_space *space;
	struct lath_store *store;
	int ret = 0;

	config.high = 1 << 20;
	assert(lath_index_init(&index, NULL) == expected);
	assert(lath_intervals_init(&intervals, LATH_HALF_OPEN, NULL) == expected);
	assert(lath_bytes_init(&bytes, &records, NULL) == expected);
	assert(lath_range_locks_init(&locks, NULL) == expected);
	assert(lath_space_create(&space, &config) == expected);
	assert(lath_store_open(&store, "mem:", NULL) == expected);
	/* it makes an index when it has outgrown its block */
	assert(!lath_small_init(&small, NULL));
	for (; item.key < 100 && !ret; item.key++)
		ret = lath_small_insert_item(&small, &item, NULL);
	assert(ret == expected);
	lath_small_fini(&small, NULL, NULL);
	if (expected)
		return;
	lath_store_close(store);
	lath_space_destroy(space);
	lath_range_locks_fini(&locks);
	lath_bytes_fini(&bytes, NULL, NULL);
	lath_intervals_fini(&intervals, NULL, NULL);
	lath_index_fini(&index, NULL, NULL);
}

int main(void)
{
	pthread_key_t key, last = 0;

	while (!pthread_key_create(&key, NULL))
		last = key;
	make_all(-ENOMEM);
	assert(!pthread_key_delete(last));
	make_all(0);
	return 0;
}
