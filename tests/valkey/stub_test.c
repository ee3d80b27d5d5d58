/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The module's types under a stub of the server: memory that ends at any allocation, files that end
 * at any read, blocks that move at every step of a defragmentation, saves on another thread (a
 * server that saves without a fork), keys that cannot be opened.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "index.h"
#include "intervals.h"
#include "lathwork/config.h"
#include "map.h"
#include "pool.h"
#include "stub.h"

/* ---- keys of each type ---- */

static word some_value(uint64_t i)
{
	char text[40];
	int size = snprintf(text, sizeof(text), i % 3 ? "%llu" : "a longer value %llu",
			    (unsigned long long)i);

	return value_make(text, (size_t)size);
}

/* One more entry. 0 | -ENOMEM | -ENOSPC */
static int add_to_map(void *value, uint64_t i)
{
	struct map *map = value;
	char text[40];
	struct map_key key = { i * 0x9e3779b97f4a7c15ull, { text, 0 } };

	key.string.size = (size_t)snprintf(text, sizeof(text), "%s%llu",
					   i % 2 ? "a beginning of many keys " : "",
					   (unsigned long long)(i * 7919 % 100003));
	return map_set(map, &key, some_value(i)) < 0 ? -ENOMEM : 0;
}

static int add_to_pool(void *value, uint64_t i)
{
	struct lath_hole_request want = { .size = i % 9 + 1, .align = 1ull << i % 4 };
	struct pool_range range = { 0 };
	char text[40];

	if (i % 2)
		range.owner =
			(struct bytes){ text, (size_t)snprintf(text, sizeof(text), "owner %llu",
							       (unsigned long long)i) };
	range.expires = i % 3 ? 0 : 1000 + i / 2;
	return pool_take(value, &want, &range);
}

static int add_span(void *value, uint64_t first, uint64_t last, uint64_t i)
{
	char text[VALUE_TEXT];
	word some = some_value(i);
	int ret = some ? intervals_add(value, first, last, value_view(&some, text)) : -ENOMEM;

	if (some)
		value_free(some);
	return ret < 0 ? -ENOMEM : 0;
}

static int add_interval(void *value, uint64_t i)
{
	uint64_t first = i * 0x9e3779b97f4a7c15ull >> 20;

	return add_span(value, first, i % 9 ? first + (1ull << i % 40) : UINT64_MAX, i);
}

/* Many that begin at one number, and end with a few: groups. */
static int add_alike(void *value, uint64_t i)
{
	uint64_t first = 100 * (i % 2);

	return add_span(value, first, first + 2000 + i * 7919 % 67, i);
}

static void *make_numbers(void)
{
	return map_create(MAP_NUMBERS, false);
}

static void *make_strings(void)
{
	return map_create(MAP_STRINGS, true);
}

static void *make_pool(void)
{
	struct pool *pool = pool_create(100, 1 << 20);

	if (pool && pool_add(pool, 1ull << 40, 1 << 20)) {
		pool_free(pool);
		return NULL;
	}
	return pool;
}

static void *make_intervals(void)
{
	return intervals_create();
}

static const struct kind {
	struct vk_type_methods *methods;
	void *(*make)(void);
	int (*add)(void *value, uint64_t i);
	bool moving; /* defragmentation moves what entries own, in all forms */
} kinds[] = {
	{ &map_methods, make_numbers, add_to_map, true },
	{ &map_methods, make_strings, add_to_map, true },
	{ &pool_methods, make_pool, add_to_pool, true },
	{ &interval_methods, make_intervals, add_interval, false },
	{ &interval_methods, make_intervals, add_alike, false },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *filled(const struct kind *kind, uint64_t n)
{
	void *value = kind->make();
	uint64_t i;

	MUST(value);
	for (i = 0; i < n; i++)
		MUST(!kind->add(value, i));
	return value;
}

/* ---- tests ---- */

/* Each allocation of each call fails once: the call fails and changes nothing, or succeeds. */
static void memory_ends(const struct kind *kind, uint64_t n)
{
	void *value = filled(kind, 0);
	uint64_t i, before, fails = 0;

	for (i = 0; i < n; i++) {
		long at = 1;

		before = digest_of(kind->methods, value);
		for (;; at++) {
			int ret;

			failed = false;
			fail_in = at;
			ret = kind->add(value, i);
			fail_in = 0;
			fails += failed;
			if (!ret)
				break;
			MUST(failed && ret == -ENOMEM);
			MUST(digest_of(kind->methods, value) == before);
		}
		MUST(digest_of(kind->methods, value) != before); /* it is new */
	}
	MUST(fails > n / 20);
	for (i = 1; i; i++) { /* a copy that cannot be made leaves nothing */
		long held = (lath_rcu_single_step(1000000), blocks);
		void *copy;

		failed = false;
		fail_in = (long)i;
		copy = kind->methods->copy(NULL, NULL, value);
		fail_in = 0;
		if (copy) {
			MUST(digest_of(kind->methods, copy) == digest_of(kind->methods, value));
			kind->methods->free(copy);
			if (!failed)
				break;
		} else {
			MUST(blocks == held);
		}
		i += i / 8;
	}
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Reads fail one after the other, and then memory does. */
static void files_end(const struct kind *kind, uint64_t n)
{
	void *value = filled(kind, n), *loaded = NULL;
	struct vk_io file = { .reads_left = -1 };
	long held, i;

	kind->methods->rdb_save(&file, value);
	lath_rcu_single_step(1000000);
	held = blocks;
	for (i = 0; !loaded; i++) {
		file.at = 0;
		file.error = false;
		file.reads_left = i;
		loaded = kind->methods->rdb_load(&file, 1);
		MUST(loaded || (file.error && blocks == held));
	}
	MUST(digest_of(kind->methods, loaded) == digest_of(kind->methods, value));
	kind->methods->free(loaded);
	loaded = NULL;
	file.reads_left = -1;
	for (i = 1; !loaded; i += 1 + i / 8) {
		file.at = 0;
		fail_in = i;
		loaded = kind->methods->rdb_load(&file, 1);
		fail_in = 0;
		MUST(loaded || blocks == held);
	}
	/* no part of it is left out for want of memory */
	MUST(digest_of(kind->methods, loaded) == digest_of(kind->methods, value));
	kind->methods->free(loaded);
	MUST(!kind->methods->rdb_load(&file, 2)); /* of a later version */
	kind->methods->free(value);
	free(file.data);
	MUST(!blocks);
}

/* What the keys of filled() are in a file: the bytes of a few entries, the number of bytes and a
 * hash of many. A file of today is read by the module of version 1 of each format, and one of then
 * by this one. */
static const struct fixed {
	unsigned int kind; /* of kinds[] */
	uint64_t n;
	const char *hex; /* or NULL */
	size_t size;
	uint64_t hash;
} fixed[] = {
	{ 0, 3,
	  "000000000000000003000000000000002600000000000000002061206c6f6e6765722076616c7565"
	  "2030a9f0d3f4afeebcb73c05ea87d685e8c8a1e46103",
	  0, 0 },
	{ 0, 30,
	  "00000000000000001e00000000000000ca01000000000000002061206c6f6e6765722076616c7565"
	  "2030909aa1b6b7cdcbe8081b909aa1b6b7cdcbe80835c6a48ff788f9c0b9050b909aa1b6b7cdcbe8"
	  "082261206c6f6e6765722076616c7565203138d7beb0adc0c68ca20e15909aa1b6b7cdcbe8082fc6"
	  "a48ff788f9c0b90505909aa1b6b7cdcbe8082261206c6f6e6765722076616c7565203135909aa1b6"
	  "b7cdcbe80839c6a48ff788f9c0b9050f909aa1b6b7cdcbe80829d7beb0adc0c68ca20e2261206c6f"
	  "6e6765722076616c7565203132909aa1b6b7cdcbe80833c6a48ff788f9c0b90509909aa1b6b7cdcb"
	  "e80823d7beb0adc0c68ca20e2061206c6f6e6765722076616c75652039909aa1b6b7cdcbe8082dc6"
	  "a48ff788f9c0b90503909aa1b6b7cdcbe8081d909aa1b6b7cdcbe8082261206c6f6e676572207661"
	  "6c7565203237c6a48ff788f9c0b9052061206c6f6e6765722076616c75652036909aa1b6b7cdcbe8"
	  "0827d7beb0adc0c68ca20e17909aa1b6b7cdcbe8082261206c6f6e6765722076616c7565203234c6"
	  "a48ff788f9c0b9052061206c6f6e6765722076616c75652033909aa1b6b7cdcbe80821909aa1b6b7"
	  "cdcbe8083bc6a48ff788f9c0b90511909aa1b6b7cdcbe8082261206c6f6e6765722076616c756520"
	  "3231",
	  0, 0 },
	{ 0, 3000, NULL, 47643, 0x9ad2959299e0988a },
	{ 1, 3,
	  "03000000000000000300000000000000390000000000000001302061206c6f6e6765722076616c75"
	  "652030053135383338051d6120626567696e6e696e67206f66206d616e79206b6579732037393139"
	  "03",
	  0, 0 },
	{ 1, 3000, NULL, 78814, 0x5e9e4b9625523ef },
	{ 2, 3,
	  "06000000000000002e00000000000000006401000104e807010202076f776e65722031000300f9ff"
	  "3f9cffbfffff1f018080408080c0ffffdfffffff0101",
	  0, 0 },
	{ 2, 30,
	  "21000000000000000b01000000000000006401000104e807010202076f776e657220310003000005"
	  "00000406076f776e65722033e907000602076f776e65722035000106076f776e65722039ec070107"
	  "04eb07010200000200000802076f776e65722037000900000404ee07000300000302086f776e6572"
	  "203131010502086f776e6572203133030600020104f107030706086f776e6572203135ef07000800"
	  "010902086f776e6572203137010406086f776e6572203231f207020202086f776e65722031390205"
	  "00000704f407000602086f776e6572203233000802086f776e6572203235020900010302086f776e"
	  "6572203239030106086f776e6572203237f507dbfe3f9cffbfffff1f018080408080c0ffffdfffff"
	  "ff0101",
	  0, 0 },
	{ 2, 3000, NULL, 27028, 0x969127c31e46da25 },
	{ 3, 3000, NULL, 56219, 0xd1380a41b3e316fa },
};

static uint64_t hash_of_bytes(const char *data, size_t size)
{
	uint64_t hash = 14695981039346656037ull;

	while (size--)
		hash = (hash ^ (unsigned char)*data++) * 1099511628211ull;
	return hash;
}

static bool has_bytes(const struct vk_io *file, const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < file->size; i++)
		if (hex[2 * i] != digits[(unsigned char)file->data[i] >> 4] ||
		    hex[2 * i + 1] != digits[(unsigned char)file->data[i] & 15])
			return false;
	return !hex[2 * i];
}

/* A key is saved as these bytes, and loaded from them. */
static void image_is_fixed(const struct fixed *want)
{
	const struct kind *kind = &kinds[want->kind];
	void *value = filled(kind, want->n), *loaded;
	struct vk_io file = { .reads_left = -1 };
	uint64_t hash;
	size_t i;

	kind->methods->rdb_save(&file, value);
	hash = hash_of_bytes(file.data, file.size);
	if (want->hex ? !has_bytes(&file, want->hex)
		      : file.size != want->size || hash != want->hash) {
		fprintf(stderr, "kind %u, %llu entries, are saved as %zu bytes, hash %#llx:\n",
			want->kind, (unsigned long long)want->n, file.size,
			(unsigned long long)hash);
		for (i = 0; i < file.size; i++)
			fprintf(stderr, "%02x", (unsigned char)file.data[i]);
		fprintf(stderr, "\n");
		abort();
	}
	loaded = kind->methods->rdb_load(&file, 1);
	MUST(loaded && digest_of(kind->methods, loaded) == digest_of(kind->methods, value));
	kind->methods->free(loaded);
	kind->methods->free(value);
	free(file.data);
}

/* What is between two bounds, each open or closed, is as many entries as are counted, read forward
 * and read back: those that a look at every entry finds. */
static void bounds_of(const struct kind *kind, uint64_t n)
{
	struct map *map = filled(kind, n);
	struct map_bound low = { 0 }, high = { 0 };
	struct map_entry entry;
	uint64_t i, k, j;
	int sides, back;

	n = map_size(map);
	for (i = 0; i < n; i += 1 + n / 7)
		for (k = 0; k < n; k += 1 + n / 5)
			for (sides = 0; sides < 4; sides++) {
				uint64_t from = i + (sides & 1), end = k + !(sides & 2);
				uint64_t want = end > from ? end - from : 0;

				MUST(map_select(map, i, &entry));
				low = (struct map_bound){ entry.key, 0, sides & 1 };
				MUST(map_select(map, k, &entry));
				high = (struct map_bound){ entry.key, 0, sides & 2 };
				MUST(map_count(map, &low, &high) == want);
				for (back = 0; back < 2; back++) {
					struct map_iter iter;

					map_iter_begin(&iter, map, &low, &high, back);
					for (j = 0; map_next(&iter, &entry); j++)
						;
					MUST(j == want);
				}
			}
	kind->methods->free(map);
}

/* A large map of strings loses all of them while there is no memory for its small form. */
static void strings_go_without_memory(void)
{
	struct map *map = filled(&kinds[1], 100);
	struct map_entry entry;
	uint64_t left;

	for (left = map_size(map); left; left--) {
		struct map_key key;

		MUST(map_select(map, left / 2, &entry));
		key = entry.key;
		fail_in = 1;
		MUST(map_erase(map, &key, NULL) == 1 && map_size(map) == left - 1);
		fail_in = 0;
	}
	MUST(!map_select(map, 0, &entry) && map_memory(map) < 1000);
	MUST(!add_to_map(map, 7) && map_select(map, 0, &entry));
	map_free(map);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Memory ends during a save: what is saved is the key all the same. A server has no way to be told
 * that a type could not be saved, so a save takes memory as the server itself does: there is some,
 * or the process ends and the file before stays. */
static void saves_without_memory(const struct kind *kind, uint64_t n)
{
	void *value = filled(kind, n), *loaded;
	long at;

	for (at = 1; at < 5; at++) {
		struct vk_io file = { .reads_left = -1 };

		fail_in = at;
		kind->methods->rdb_save(&file, value);
		fail_in = 0;
		loaded = kind->methods->rdb_load(&file, 1);
		MUST(loaded && digest_of(kind->methods, loaded) == digest_of(kind->methods, value));
		kind->methods->free(loaded);
		free(file.data);
	}
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Bytes are changed: what is loaded is a key, or nothing is left of it. */
static void files_are_damaged(const struct kind *kind, uint64_t n, unsigned int rounds)
{
	void *value = filled(kind, n), *loaded;
	struct vk_io file = { .reads_left = -1 };
	unsigned int seed = 7, refused = 0, i;
	char *good;
	long held;

	kind->methods->rdb_save(&file, value);
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	held = blocks;
	good = malloc(file.size);
	MUST(good);
	memcpy(good, file.data, file.size);
	for (i = 0; i < rounds; i++) {
		unsigned int at = (unsigned int)rand_r(&seed) % (unsigned int)file.size;

		file.data[at] = (char)rand_r(&seed);
		file.at = 0;
		file.error = false;
		loaded = kind->methods->rdb_load(&file, 1);
		refused += !loaded;
		if (loaded) { /* and can be used */
			kind->add(loaded, i);
			digest_of(kind->methods, loaded);
			kind->methods->free(loaded);
		}
		lath_rcu_single_step(1000000);
		MUST(blocks == held);
		file.data[at] = good[at];
	}
	MUST(refused > rounds / 20 && refused < rounds);
	free(good);
	free(file.data);
}

struct saving {
	const struct kind *kind;
	void *value;
	struct vk_io file;
};

static void *save(void *arg)
{
	struct saving *saving = arg;

	saving->kind->methods->rdb_save(&saving->file, saving->value);
	return NULL;
}

static void *end(void *arg)
{
	struct saving *saving = arg;

	saving->kind->methods->free(saving->value);
	return NULL;
}

/* One key is saved on another thread while others change; then it is freed on another thread. */
static void saves_on_another_thread(const struct kind *kind, uint64_t n)
{
	struct saving saving = { kind, filled(kind, n), { .reads_left = -1 } };
	uint64_t digest = digest_of(kind->methods, saving.value), i;
	void *other = filled(kind, 10), *loaded;
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, save, &saving));
	for (i = 10; i < n; i++) {
		MUST(!kind->add(other, i));
		lath_rcu_single_step(10);
	}
	pthread_join(thread, NULL);
	loaded = kind->methods->rdb_load(&saving.file, 1);
	MUST(loaded && digest_of(kind->methods, loaded) == digest);
	MUST(!pthread_create(&thread, NULL, end, &saving));
	kind->methods->free(loaded);
	for (; i < 2 * n; i++)
		MUST(!kind->add(other, i));
	pthread_join(thread, NULL);
	kind->methods->free(other);
	free(saving.file.data);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Owners are found, and leases end: by what points to the records of ranges. */
static void use_pool(struct pool *pool, uint64_t n)
{
	struct pool_range range, there;
	char text[40];
	uint64_t i;

	for (i = 1; i < n; i += 2) {
		struct bytes owner = { text, (size_t)snprintf(text, sizeof(text), "owner %llu",
							      (unsigned long long)i) };

		MUST(pool_owner(pool, owner, &range) && pool_find(pool, range.first, &there));
		MUST(!compare_bytes(owner, there.owner) && range.expires == there.expires);
	}
	for (i = 0; pool_first_lease(pool, &range); i++)
		MUST(pool_find(pool, range.first, &there) && there.expires == range.expires &&
		     !pool_give(pool, range.first));
	MUST(i > n / 4);
}

/* Numbers are added to a pool while each allocation of it fails: the pool stays as it was. Each
 * span cuts what is outside in two, but for every third, which begins where the one before ends.
 * Returns how many allocations failed. */
static unsigned int adding_without_memory(uint64_t n)
{
	struct pool *pool = filled(&kinds[2], n);
	uint64_t i, first = 1ull << 41;
	unsigned int fails = 0;

	for (i = 0; i < 100; i++) {
		struct pool before = *pool;
		uint64_t count = pool_count(pool), digest = digest_of(&pool_methods, pool);
		long at;
		int ret;

		for (at = 1, ret = -ENOMEM; ret; at++) {
			failed = false;
			fail_in = at;
			ret = pool_add(pool, first, 10);
			fail_in = 0;
			if (!ret)
				break;
			MUST(failed && ret == -ENOMEM);
			MUST(pool_count(pool) == count && pool->outside == before.outside);
			MUST(pool->capacity == before.capacity && pool->taken == before.taken);
			MUST(digest_of(&pool_methods, pool) == digest);
			fails++;
		}
		MUST(pool->capacity == before.capacity + 10);
		MUST(pool->outside == before.outside + (i % 3 != 1));
		first += i % 3 ? 100 : 10;
	}
	use_pool(pool, n);
	pool_free(pool);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
	return fails;
}

/* A range with an owner that is refused asks for no memory. */
static void refused_without_memory(void)
{
	struct lath_hole_request want = { .size = 1 };
	struct pool_range range = { .first = 100, .size = 10 };
	struct pool *pool = pool_create(100, 10);

	MUST(pool && !pool_reserve(pool, &range));
	range = (struct pool_range){ .first = 109, .size = 2, .owner = { "owner", 5 } };
	failed = false;
	fail_in = 1;
	MUST(pool_take(pool, &want, &range) == -ENOSPC);
	MUST(pool_reserve(pool, &range) == -EEXIST);
	range.first = 99;
	MUST(pool_reserve(pool, &range) == -EEXIST);
	fail_in = 0;
	MUST(!failed && !pool->records && pool->taken == 10);
	pool_free(pool);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Leases are set anew while each allocation of it fails: the lease before stays. */
static void leases_without_memory(void)
{
	struct pool *pool = filled(&kinds[2], 3000);
	struct pool_range range, there;
	uint64_t i, fails = 0, leased = pool_leased(pool);

	for (i = 0; i < leased; i++) {
		uint64_t later = 1000000 + i;
		long at;
		int ret;

		MUST(pool_first_lease(pool, &range) && range.expires < 1000000);
		for (at = 1, ret = -ENOMEM; ret; at++) {
			failed = false;
			fail_in = at;
			ret = pool_lease(pool, range.first, later);
			fail_in = 0;
			MUST(!ret || (failed && ret == -ENOMEM));
			MUST(pool_find(pool, range.first, &there) && pool_leased(pool) == leased);
			MUST(there.expires == (ret ? range.expires : later));
			fails += ret != 0;
		}
	}
	MUST(fails > 10);
	use_pool(pool, 3000);
	MUST(!pool_leased(pool));
	pool_free(pool);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

#ifdef LATH_FEW_STEPS
#define FEW 5
#else
#define FEW 1
#endif

/* A lease costs the same however many end at its time. */
static void many_leases_end_at_once(void)
{
	enum { MANY = (1 << 20) / FEW + 200, LAST = 200 };
	struct pool_range range = { .size = 1, .expires = 4102444800000 };
	struct pool *pool = pool_create(0, MANY);
	clock_t begin = clock(), all, last = 0;

	MUST(pool);
	for (; range.first < MANY; range.first++) {
		if (range.first == MANY - LAST)
			last = clock();
		MUST(!pool_reserve(pool, &range));
	}
	all = clock();
	MUST(pool_leased(pool) == MANY);
	MUST((double)(all - last) / LAST < 1000 * ((double)(all - begin) / MANY) + 1000);
	/* each of these times is one of its own */
	range = (struct pool_range){ 0, 1, { NULL, 0 }, POOL_LEASE_MOST };
	MUST(!pool_give(pool, 0) && !pool_give(pool, 1) && !pool_reserve(pool, &range));
	range = (struct pool_range){ 1, 1, { NULL, 0 }, POOL_LEASE_MOST - 1 };
	MUST(!pool_reserve(pool, &range));
	for (; pool_leased(pool) > 2; pool_give(pool, range.first))
		MUST(pool_first_lease(pool, &range) && range.expires == 4102444800000);
	MUST(pool_first_lease(pool, &range) && range.first == 1);
	pool_free(pool);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Intervals of groups are removed while each allocation of it fails: they go, and the others are
 * found. */
static void groups_go_without_memory(void)
{
	enum { N = 1000 };
	struct intervals *set = filled(&kinds[4], N);
	struct intervals_iter iter;
	struct found found;
	uint64_t i, k, n, fails = 0;
	char text[300];

	for (i = 0; i < N; i++) {
		/* from the outer ends to the middle, so that ends move */
		uint64_t first = 100 * (i % 2), last = first + 2000;
		struct bytes value = { NULL, 0 };

		intervals_begin(&iter, set, within(first, i % 4 < 2 ? last + 67 : last + 1000), 0,
				N);
		for (n = 0; intervals_next(&iter, &found); n++)
			if (found.first == first &&
			    (!value.data || (found.last < last) == (i % 4 < 2))) {
				MUST(found.value.size < sizeof(text));
				memcpy(text, found.value.data, found.value.size);
				value = (struct bytes){ text, found.value.size };
				last = found.last;
			}
		MUST(n && value.data);
		failed = false;
		fail_in = 1;
		MUST(intervals_remove(set, first, last, value) == 1);
		fail_in = 0;
		fails += failed;
		for (k = 0, n = 0; k < 2; k++) {
			intervals_begin(&iter, set, k ? overlapping(0, 1) : within(100, 5000), 0,
					N);
			while (intervals_next(&iter, &found))
				n++;
		}
		MUST(n == set->count && n == N - 1 - i);
	}
	MUST(fails > 10);
	intervals_free(set);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Blocks move, of large keys in steps between which the key changes. What `moving` says moves: the
 * blocks of values, records of ranges, strings. */
static void blocks_move(const struct kind *kind, uint64_t n, bool late)
{
	void *value = filled(kind, n);
	uint64_t digest = digest_of(kind->methods, value), more = n;
	struct vk_defrag ctx = { .late = late };
	unsigned int steps = 1;

	while (kind->methods->defrag(&ctx, NULL, &value)) {
		MUST(late && ctx.cursor && steps < 3 * n);
		if (steps++ % 5 == 0) {
			MUST(!kind->add(value, more++));
			digest = digest_of(kind->methods, value);
		}
		MUST(digest_of(kind->methods, value) == digest);
	}
	MUST(ctx.moved > (kind->moving ? n / 4 : 0));
	MUST(digest_of(kind->methods, value) == digest);
	for (; more < 2 * n; more++)
		MUST(!kind->add(value, more));
	if (kind->methods == &pool_methods)
		use_pool(value, n);
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	MUST(!blocks && !server_memory_held());
}

/* A server that saves without a fork opens no key for writing that is being saved. Every command
 * that writes says so, and does nothing: the stub has none of the functions that it would need. */
static unsigned int cannot_open(const struct command *commands, size_t n)
{
	static const char *const words[] = { "", "key", "1", "2", "3" };
	unsigned int writing = 0;
	size_t i;
	int argc;

	for (i = 0; i < n; i++) {
		if (!(commands[i].flags & (COMMAND_ADD | COMMAND_UPDATE | COMMAND_CHANGE)))
			continue;
		*last_error = 0;
		for (argc = 2; argc <= 5 && !*last_error; argc++)
			commands[i].run(NULL, (struct vk_string **)(uintptr_t)words, argc);
		MUST(!strncmp(last_error, "TRYAGAIN", 8));
		writing++;
	}
	return writing;
}

static int stub_arity(struct vk_ctx *ctx)
{
	(void)ctx;
	return VK_OK;
}

static void keys_that_cannot_be_opened(void)
{
	vk.WrongArity = stub_arity;
	MUST(cannot_open(map_commands, map_commands_count) == 8);
	MUST(cannot_open(pool_commands, pool_commands_count) == 7);
	MUST(cannot_open(interval_commands, interval_commands_count) == 3);
}

int main(void)
{
	static const unsigned int packed[] = { PACKED_MOST, 3, 0 };
	unsigned int fails = 0;
	size_t i, k;

	stub_begin();
	for (k = 0; k < sizeof(packed) / sizeof(packed[0]); k++) {
		set_packed_entries(packed[k]);
		for (i = 0; i < KINDS; i++) {
			memory_ends(&kinds[i], 300 / FEW);
			files_end(&kinds[i], 40);
			files_end(&kinds[i], 1500 / FEW);
			saves_without_memory(&kinds[i], 1500 / FEW);
			files_are_damaged(&kinds[i], 40, 2000 / FEW);
			saves_on_another_thread(&kinds[i], 5000 / FEW);
			blocks_move(&kinds[i], 20, false);
			blocks_move(&kinds[i], 300, false);
			blocks_move(&kinds[i], 300, true);
		}
		for (i = 0; i < 2; i++) { /* maps */
			bounds_of(&kinds[i], 9);
			bounds_of(&kinds[i], 1500 / FEW);
		}
		for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
			image_is_fixed(&fixed[i]);
		fails += adding_without_memory(6) + adding_without_memory(3000 / FEW);
	}
	MUST(fails > 20);
	refused_without_memory();
	leases_without_memory();
	many_leases_end_at_once();
	groups_go_without_memory();
	strings_go_without_memory();
	keys_that_cannot_be_opened();
	return 0;
}
