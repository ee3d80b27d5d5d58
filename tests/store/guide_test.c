/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The guide of a store of numbers: what it says is what a walk finds; keys spread evenly it knows, others it leaves alone;
 * and beside writers under whose hands leaves split.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/guide.h"

#define N 12000u

static u64 mixed(u64 i)
{
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9ull;
	i = (i ^ i >> 27) * 0x94d049bb133111ebull;
	return i ^ i >> 31;
}

static u64 dense(u64 i)
{
	return 1000000 + i * 3;
}

/* Half of them at one end, in a handful of places at the other. */
static u64 uneven(u64 i)
{
	return i % 2 ? mixed(i) >> 40 << 17 | i : ~0ull - (mixed(i) >> 50 << 30) - i;
}

static struct lath_store *fill(u64 (*key)(u64), bool batched)
{
	struct lath_store_entry entry[64];
	struct lath_store *store;
	unsigned int i;

	assert(!lath_store_open(&store, "mem:", NULL));
	for (i = 0; i < N; i++) {
		entry[i % 64] = (struct lath_store_entry){ lath_key_number(key(i)), "123456", 1 + i % 6, 0 };
		if (!batched)
			assert(!lath_store_set(store, entry[i % 64].key, "123456", 1 + i % 6));
		else if (i % 64 == 63 || i + 1 == N)
			assert(lath_store_mset(store, i % 64 + 1, entry, NULL) == i % 64 + 1);
	}
	return store;
}

/* How many of the keys it knows; never anything else than the index. */
static unsigned int known(struct lath_store *store, u64 (*key)(u64), unsigned int first, unsigned int last)
{
	unsigned int i, count = 0;

	lath_reader_enter(store->rcu);
	for (i = first; i < last; i++) {
		u64 word = 0, there = 0,
		    k = key(first + (i - first) * 7919ull % (last - first)); /* far apart */
		int found = lath_skiplist_get(&store->root.list, k, &there);
		enum guide_answer answer = guide_get(store, k, &word);

		if (answer == GUIDE_NONE)
			continue;
		assert((answer == GUIDE_THERE) == found);
		assert(!found || word == there);
		count++;
	}
	lath_reader_exit(store->rcu);
	return count;
}

static void check(u64 (*key)(u64), unsigned int least, unsigned int most)
{
	int batched;

	for (batched = 0; batched < 2; batched++) {
		struct lath_store *store = fill(key, batched);
		unsigned int i, n;

		known(store, mixed, N, N + 1000); /* fingers lose trust */
		n = known(store, key, 0, N);
		fprintf(stderr, "of %u known %u", N, n);
		guide_go_round(store);
		guide_go_round(store);
		n = known(store, key, 0, N);
		fprintf(stderr, ", all at once %u\n", n);
		assert(n >= least && n <= most);
		known(store, key, N, 2 * N); /* not there */
		for (i = 0; i < N; i++)
			if (i % 8)
				assert(!lath_store_delete(store, lath_key_number(key(i))));
		known(store, key, 0, N);
		for (i = 0; i < N; i += 7)
			assert(!lath_store_set(store, lath_key_number(key(i)), "again", 5));
		known(store, key, 0, N);
		assert(!lath_store_close(store));
	}
}

static void replace(void)
{
	struct lath_store *store = fill(mixed, false);
	u64 old = 0, there, done = 0, i;

	guide_go_round(store);
	guide_go_round(store);
	for (i = 0; i < N; i += 13) {
		assert(lath_skiplist_get(&store->root.list, mixed(i), &there));
		if (guide_replace(store, mixed(i), there + 8, &old))
			continue;
		assert(old == there);
		assert(guide_replace(store, mixed(i + N), there, &old) != 0);
		assert(lath_skiplist_get(&store->root.list, mixed(i), &old) && old == there + 8);
		assert(guide_replace(store, mixed(i), there, &old) == 0 && old == there + 8);
		done++;
	}
	assert(done > N / 13 / 2);
	assert(!lath_store_close(store));
}

/* ---- beside writers ---- */

static int done;

static void *writer(void *arg)
{
	struct lath_store *store = arg;
	u64 i;

	for (i = N; i < 3 * N; i++)
		assert(!lath_store_set(store, lath_key_number(mixed(i)), "comes", 5));
	for (i = N; i < 3 * N; i++)
		assert(!lath_store_delete(store, lath_key_number(mixed(i))));
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void beside_writers(void)
{
	struct lath_store *store = fill(mixed, false);
	pthread_t thread;
	u64 i = 0;

	assert(!pthread_create(&thread, NULL, writer, store));
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		char buf[8];

		i = (i + 7919) % N;
		assert(lath_store_get(store, lath_key_number(mixed(i)), buf, sizeof(buf)) ==
		       (int64_t)(1 + i % 6));
		assert(lath_store_get(store, lath_key_number(mixed(i) ^ 1), buf, sizeof(buf)) == -ENOENT);
	}
	assert(!pthread_join(thread, NULL));
	assert(!lath_store_close(store));
}

int main(void)
{
	lath_guide_least = 16;
	check(mixed, N * 17 / 20, N);
	check(dense, N * 17 / 20, N);
	check(uneven, 0, N);
	replace();
	beside_writers();
	return 0;
}
