/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hint table: what it says is what a descent finds. It knows almost all keys, however they lie
 * and however they came; it follows keys that move; words that mislead do no harm; it is content
 * with the memory it gets; and beside writers under whose hands leaves split.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tree/way/hint.h"

#define N (LATH_CHECKED ? 9000u : 60000u)

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

/* all numbers from 0 to the last there is, some steps apart */
static u64 whole(u64 i)
{
	return i % N * (KEY_MAX / (N - 1)) + (i >= N);
}

/* Half of them at one end, in a handful of places at the other. */
static u64 uneven(u64 i)
{
	return i % 2 ? mixed(i) >> 40 << 17 | i : ~0ull - (mixed(i) >> 50 << 30) - i;
}

/* Clusters of neighbours, some wider than others. */
static u64 clustered(u64 i)
{
	u64 cluster = i / 512, key = mixed(cluster) >> 1;

	return i < N ? key + (i % 512 << cluster % 24) : key - 1 - i % 512;
}

/* Far apart, so that no finger helps; every one of n once. */
static u64 nth(u64 i, u64 n)
{
	return i * 7919 % n;
}

static struct tree *fill(struct lath_index *list, const struct lath_config *config, u64 (*key)(u64),
			 bool batched)
{
	struct lath_item item[256];
	unsigned int i;

	assert(!lath_index_init(list, config));
	for (i = 0; i < N; i++) {
		item[i % 256] = (struct lath_item){ key(nth(i, N)), 1, nth(i, N) };
		if (!batched)
			assert(!lath_index_insert_item(list, &item[i % 256], NULL));
		else if (i % 256 == 255 || i + 1 == N)
			assert(lath_index_insert_batch(list, i % 256 + 1, item, NULL) ==
			       i % 256 + 1);
	}
	return tree_of(list);
}

/* How many of the keys of [first, last) it leads to their leaves at once. It never says anything
 * but what a descent finds. */
static unsigned int known(struct tree *list, u64 (*key)(u64), unsigned int first, unsigned int last)
{
	unsigned int i, count = 0;

	for (i = first; i < last; i++) {
		u64 k = key(i), word, walked;
		struct node *right = descend(list, k, &walked, FOR_READ), *leaf;
		const struct hint *hint = hint_of(list);
		const char *pair;

		count += hint && hint_predict(hint, k, &pair) == right;
		leaf = hint_find(list, k, &word, FOR_READ);
		assert(!leaf || (leaf == right && word == walked));
	}
	return count;
}

static void look_at_all(struct lath_index *list, u64 (*key)(u64), unsigned int step)
{
	u64 keys[200], values[200];
	unsigned int i, j;
	u8 hits[200];

	for (i = 0; i < 2 * N; i += 200) {
		for (j = 0; j < 200; j++)
			keys[j] = key((i + j) % N + (i >= N ? N : 0));
		lath_index_get_batch(list, 200, keys, values, hits);
		for (j = 0; j < 200; j++) {
			u64 value = ~0ull, number = (i + j) % N;
			bool there = i < N && number % step == 0;

			assert(lath_index_get(list, keys[j], &value) == there);
			assert(hits[j] == there);
			assert(!there || (value == number && values[j] == number));
		}
	}
}

/* Almost all: two keys per leaf, at its boundaries, may be told wrong. */
#define MOST(n) ((n) - 2 * (n) / NODE_CAP)

static void erase_and_insert(struct lath_index *list, u64 (*key)(u64))
{
	unsigned int i;

	for (i = 0; i < N; i++)
		if (nth(i, N) % 8)
			assert(!lath_index_erase_item(list, key(nth(i, N)), NULL));
	look_at_all(list, key, 8);
	for (i = 0; i < N; i++)
		if (nth(i, N) % 8)
			assert(!lath_index_insert_item(
				list, &(struct lath_item){ key(nth(i, N)), 1, nth(i, N) }, NULL));
	look_at_all(list, key, 1);
}

/* Words of the table that stand for a block of further words. */
static unsigned int steps_down(const struct tree *list)
{
	const struct hint *hint = list->hint_made;
	unsigned int count = 0;
	u64 i;

	for (i = 0; i < hint->used; i++)
		count += hint_is_block(hint->word[i]);
	return count;
}

/* Let calls finish the table that they are making. */
static void settle(struct tree *list)
{
	while (READ_ONCE(list->hint_due))
		lath_hint_maintain(list, true);
}

static void check(u64 (*key)(u64), enum lath_layout layout)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	int batched;

	config.layout = layout;
	for (batched = 0; batched < 2; batched++) {
		struct tree *list = fill(&public, &config, key, batched);
		unsigned int n[4];

		settle(list);
		n[0] = known(list, key, 0, N);
		lath_hint_build(list);
		n[1] = known(list, key, 0, N);
		assert(key != dense || !steps_down(list)); /* one step leads to each leaf */
		known(list, key, N, 2 * N);		   /* not there */
		look_at_all(&public, key, 1);
		erase_and_insert(&public, key);
		settle(list);
		n[2] = known(list, key, 0, N);
		n[3] = known(list, key, 0, N); /* it has learnt */
		fprintf(stderr, "of %u known %u, made %u, changed %u, learnt %u\n", N, n[0], n[1],
			n[2], n[3]);
		assert(n[0] >= N / 2 && n[1] >= MOST(N) && n[3] >= MOST(N));
		assert(!lath_index_verify(&public, 5, NULL, 0));
		lath_index_fini(&public, NULL, NULL);
	}
}

/* Keys that came in order, so that fingers found every leaf: lookups, single or batched, make the
 * table. So do erases. */
static void made_by(int kind)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	u64 value[256], key[256];
	unsigned int i, j, n = 0;
	struct tree *list;
	u8 hit[256];

	config.layout = LATH_POINTS;
	assert(!lath_index_init(&public, &config));
	list = tree_of(&public);
	for (i = 0; i < N; i++)
		assert(!lath_index_insert_item(&public, &(struct lath_item){ dense(i), 1, i },
					       NULL));
	for (i = 0; i + 256 < N; i += 256) {
		for (j = 0; j < 256; j++)
			key[j] = dense(nth(i + j, N));
		if (kind == 0)
			assert(lath_index_get_batch(&public, 256, key, value, hit) == 256);
		for (j = 0; kind == 1 && j < 256; j++)
			assert(lath_index_get(&public, key[j], value));
		for (j = 0; kind == 2 && i < N / 2 && j < 256; j++)
			assert(!lath_index_erase_item(&public, key[j], NULL));
	}
	settle(list);
	n = known(list, dense, 0, N);
	fprintf(stderr, "made by kind %d: %u\n", kind, n);
	assert(n >= MOST(N));
	lath_index_fini(&public, NULL, NULL);
}

/* Words in the wrong places, as a thread that stopped for long may write them: calls find their way
 * nevertheless, and the table recovers. */
static void misled(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	struct tree *list;
	u64 i, words;

	config.layout = LATH_POINTS;
	list = fill(&public, &config, clustered, false);
	lath_hint_build(list);
	words = list->hint_made->used;
	for (i = 0; i < words; i++) {
		u64 *one = &list->hint->word[i], *other = &list->hint->word[mixed(i) % words];
		u64 word = *one;

		*one = *other;
		*other = word;
	}
	look_at_all(&public, clustered, 1);
	erase_and_insert(&public, clustered);
	look_at_all(&public, clustered, 1);
	settle(list);
	i = known(list, clustered, 0, N);
	fprintf(stderr, "after chaos: %llu\n", (unsigned long long)i);
	assert(i >= MOST(N));
	assert(!lath_index_verify(&public, 5, NULL, 0));
	lath_index_fini(&public, NULL, NULL);
}

/* Keys that come in another place than those that went: the table follows. */
static u64 elsewhere(u64 i)
{
	return dense(i) + (1ull << 40);
}

static void moves(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	struct tree *list = fill(&public, &config, dense, false);
	unsigned int i;

	settle(list);
	assert(known(list, dense, 0, N) > N / 2);
	for (i = 0; i < N; i++) {
		u64 k = nth(i, N);

		assert(!lath_index_erase_item(&public, dense(k), NULL));
		assert(!lath_index_insert_item(&public, &(struct lath_item){ elsewhere(k), 1, k },
					       NULL));
	}
	for (i = 0; i < 2 * N; i++) { /* and stay there for a while */
		u64 k = nth(i % N, N);

		assert(!lath_index_erase_item(&public, elsewhere(k), NULL));
		assert(!lath_index_insert_item(&public, &(struct lath_item){ elsewhere(k), 1, k },
					       NULL));
	}
	settle(list);
	i = known(list, elsewhere, 0, N);
	fprintf(stderr, "moved: %u\n", i);
	assert(i >= MOST(N));
	lath_index_fini(&public, NULL, NULL);
}

/* ---- memory, and who asks for it ---- */

static struct lath_index *asking;
static unsigned int asked;

/* Nothing of the list is locked when it asks: it may be looked at. */
static void *alloc_and_look(void *ctx, size_t size, size_t align)
{
	struct lath_index_stats stats;
	void *block;

	(void)ctx;
	asked++;
	if (asking)
		lath_index_get_stats(asking, &stats);
	return posix_memalign(&block, align, size) ? NULL : block;
}

static void free_block(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	free(block);
}

static void only_inserts_ask(void)
{
	struct lath_allocator memory = { alloc_and_look, free_block, NULL };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_preload preload = { { NULL } };
	struct lath_index public;
	unsigned int i, before;

	config.allocator = &memory;
	assert(!lath_index_init(&public, &config));
	asking = &public;
	for (i = 0; i < N; i++) {
		struct lath_item item = { mixed(i), 1, i };

		assert(!lath_index_preload(&public, &preload));
		before = asked;
		assert(!lath_index_insert_preloaded(&public, &item, &preload, NULL));
		assert(asked == before);
	}
	lath_index_preload_release(&public, &preload);
	assert(!known(tree_of(&public), mixed, 0, N)); /* there was no memory for it */
	before = asked;
	for (i = 0; i < N; i += 2)
		assert(!lath_index_erase_item(&public, mixed(i), NULL));
	assert(asked == before);
	for (i = 0; i < N; i += 2)
		assert(!lath_index_insert_item(&public, &(struct lath_item){ mixed(i), 1, i },
					       NULL));
	settle(tree_of(&public));
	assert(known(tree_of(&public), mixed, 0, N) > N / 2);
	asking = NULL;
	lath_index_fini(&public, NULL, NULL);
}

static struct tree *joined;
static long blocks;

/* Another thread gets memory for the table while this one waits for memory. */
static void *alloc_and_join(void *ctx, size_t size, size_t align)
{
	static bool inside;
	void *block;

	(void)ctx;
	if (joined && !inside) {
		inside = true;
		WRITE_ONCE(joined->hint_due, READ_ONCE(joined->hint_due) | HINT_ALLOCATE);
		lath_hint_maintain(joined, true);
		inside = false;
	}
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	return posix_memalign(&block, align, size) ? NULL : block;
}

static void free_counted(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	__atomic_fetch_sub(&blocks, 1, __ATOMIC_RELAXED);
	free(block);
}

static void both_ask(void)
{
	struct lath_allocator memory = { alloc_and_join, free_counted, NULL };
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	unsigned int i;

	config.allocator = &memory;
	assert(!lath_index_init(&public, &config));
	joined = tree_of(&public);
	for (i = 0; i < N; i++)
		assert(!lath_index_insert_item(&public, &(struct lath_item){ mixed(i), 1, i },
					       NULL));
	assert(joined->hint_made && joined->hint_made->arrays > 1);
	joined = NULL;
	known(tree_of(&public), mixed, 0, N);
	lath_index_fini(&public, NULL, NULL);
	assert(!blocks);
}

static unsigned int large_left;

static void *alloc_some(void *ctx, size_t size, size_t align)
{
	void *block;

	(void)ctx;
	if (size == sizeof(struct hint) || (size & (size - 1)) == 0) {
		if (!large_left)
			return NULL;
		large_left--;
	}
	return posix_memalign(&block, align, size) ? NULL : block;
}

static void memory_ends(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_allocator memory = { alloc_some, free_block, NULL };
	unsigned int left;

	config.allocator = &memory;
	for (left = 0; left < 5; left++) {
		struct lath_index public;
		struct tree *list;

		large_left = left; /* chunks of nodes may be as large */
		if (lath_index_init(&public, &config))
			continue;
		list = tree_of(&public);
		for (unsigned int i = 0; i < N; i++)
			if (lath_index_insert_item(&public, &(struct lath_item){ mixed(i), 1, i },
						   NULL))
				break;
		known(list, mixed, 0, N);
		assert(!lath_index_verify(&public, 5, NULL, 0));
		lath_index_fini(&public, NULL, NULL);
	}
}

/* ---- beside writers ---- */

static int done;

static void *writer(void *arg)
{
	struct lath_index *list = arg;
	u64 i;

	for (i = N; i < 3 * N; i++)
		assert(!lath_index_insert_item(list, &(struct lath_item){ mixed(i), 1, i }, NULL));
	for (i = N; i < 3 * N; i++)
		assert(!lath_index_erase_item(list, mixed(i), NULL));
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void beside_writers(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index public;
	pthread_t thread;
	u64 i = 0, value;

	fill(&public, &config, mixed, false);
	assert(!pthread_create(&thread, NULL, writer, &public));
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		i = (i + 7919) % N;
		assert(lath_index_get(&public, mixed(i), &value) == 1 && value == i);
		assert(lath_index_get(&public, mixed(i) ^ 1, &value) == 0);
	}
	assert(!pthread_join(thread, NULL));
	assert(!lath_index_verify(&public, 5, NULL, 0));
	lath_index_fini(&public, NULL, NULL);
}

int main(void)
{
	int kind;

	lath_hint_least = 4;
	check(mixed, LATH_POINTS);
	check(mixed, LATH_RANGES);
	check(dense, LATH_RANGES);
	check(whole, LATH_POINTS);
	check(uneven, LATH_POINTS);
	check(clustered, LATH_POINTS);
	for (kind = 0; kind < 3; kind++)
		made_by(kind);
	misled();
	moves();
	only_inserts_ask();
	both_ask();
	memory_ends();
	beside_writers();
	return 0;
}
