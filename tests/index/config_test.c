/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * config_test.c - what configurations and calls an index refuses, and what those do that it takes:
 * where memory comes from, what a clone has, what an index in shared memory does without. Dumps of
 * leaves of each kind.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "set/hole/lengths.h"
#include "tree/way/hint.h"
#include "tree/tree.h"
#include "base/failing.h"

#include "lathwork/bytes.h"
#include "lathwork/cursor.h"
#include "lathwork/hole.h"
#include "lathwork/interval.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

static struct lath_index list;
static struct failing memory;
static const struct lath_allocator own = { failing_alloc, failing_free, &memory };

static int init(enum lath_layout layout, unsigned int flags, const struct lath_allocator *allocator)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = layout;
	config.flags = flags;
	config.allocator = allocator;
	return lath_index_init(&list, &config);
}

static void fini(void)
{
	lath_index_fini(&list, NULL, NULL);
}

static void add(u64 key, u64 size)
{
	struct lath_item item = { key, size, key + 1 };

	assert(!lath_index_insert_item(&list, &item, NULL));
}

static void find(u64 key)
{
	u64 value;

	assert(lath_index_get(&list, key, &value) && value == key + 1);
}

/* ---- refusals ---- */

static void refused_configs(void)
{
	struct lath_config config = LATH_CONFIG_INIT, own_config;
	static struct lath_index copy;

	config.flags = LATH_SHARED;
	config.id = 7;
	config.rcu = &lath_rcu_auto;
	assert(lath_index_init(&list, &config) == -EINVAL); /* no allocator */
	config.allocator = &own;
	config.rcu = NULL;
	assert(lath_index_init(&list, &config) == -EINVAL);
	config.rcu = &lath_rcu_auto;
	config.id = 0;
	assert(lath_index_init(&list, &config) == -EINVAL);
	config.id = 7;
	assert(!lath_index_init(&list, &config));
	/* its allocator is in the shared memory: a clone elsewhere needs a configuration */
	assert(lath_index_clone(&copy, &list, NULL) == -EINVAL);
	fini();
	assert(!memory.outstanding);
	config = (struct lath_config)LATH_CONFIG_INIT;
	for (config.value_size = 0; config.value_size <= 80; config.value_size++) {
		bool good = config.value_size % 8 == 0 && config.value_size <= 64;

		assert(lath_index_init(&list, &config) == (good ? 0 : -EINVAL));
		if (!good)
			continue;
		own_config = config;
		own_config.value_size = config.value_size > 8 ? 0 : 16;
		assert(lath_index_clone(&copy, &list, &own_config) == -EINVAL);
		fini();
	}
	config.value_size = 16;
	config.flags = LATH_HOLES;
	assert(lath_index_init(&list, &config) == -EINVAL);
}

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	(void)ctx;
	*key = *(const struct lath_bytes_key *)(uintptr_t)value;
}

static void configs_of_sets(void)
{
	const struct lath_bytes_records records = { .key_of = key_of };
	static struct {
		struct lath_config config;
		u64 more;
	} longer = { LATH_CONFIG_INIT, 0 };
	struct lath_config config = LATH_CONFIG_INIT;
	static struct lath_intervals intervals;
	static struct lath_bytes bytes;

	longer.config.size = sizeof(longer);
	assert(lath_bytes_init(&bytes, &records, &longer.config) == -EINVAL);
	assert(lath_intervals_init(&intervals, LATH_CLOSED, &longer.config) == -EINVAL);
	config.value_size = 16;
	assert(lath_bytes_init(&bytes, &records, &config) == -EINVAL);
	assert(lath_intervals_init(&intervals, LATH_CLOSED, &config) == -EINVAL);
	config.value_size = 0;
	config.flags = LATH_HUGE_PAGES | LATH_SMALL_PAGES;
	assert(lath_bytes_init(&bytes, &records, &config) == -EINVAL);
	config.flags = LATH_HUGE_PAGES;
	assert(!lath_bytes_init(&bytes, &records, &config));
	lath_bytes_fini(&bytes, NULL, NULL);
	assert(!lath_intervals_init(&intervals, LATH_CLOSED, &config));
	lath_intervals_fini(&intervals, NULL, NULL);
}

/* A put of a record that is too long for a set changes nothing. */
static void long_record(void)
{
	const struct lath_bytes_records records = { .key_of = key_of };
	struct lath_bytes_key key = { "key", 3, 0 }, same = key;
	static struct lath_bytes bytes;
	struct lath_bytes_place place;

	assert(!lath_bytes_init(&bytes, &records, NULL));
	lath_rcu_auto.read_lock();
	assert(!lath_bytes_find(&bytes, &key, &place));
	same.size = LATH_BYTES_SIZE_MAX + 1ull;
	assert(lath_bytes_put(&bytes, &place, (uintptr_t)&same) == -E2BIG);
	assert(!lath_bytes_count(&bytes));
	assert(!lath_bytes_put(&bytes, &place, (uintptr_t)&key) && lath_bytes_count(&bytes) == 1);
	lath_rcu_auto.read_unlock();
	lath_bytes_fini(&bytes, NULL, NULL);
}

static void refused_calls(void)
{
	struct lath_item items[4], gone;
	struct lath_cursor cursor;
	u64 low;

	assert(!init(LATH_RANGES, 0, NULL));
	assert(lath_index_join(&list, 0, NULL, NULL, &gone) == -ENOENT);
	for (low = 0; low < 1000; low++)
		add(2 * low, 1);
	assert(lath_index_scan_back(&list, 10, 20, items, 4, NULL) == 0);
	assert(lath_index_scan_back(&list, 20, 10, items, 4, NULL) == 4 && items[0].key == 20);
	/* a cursor that has locked a leaf inserts into that leaf alone */
	for (low = 1; low < 1999; low += 1996) {
		gone = (struct lath_item){ low == 1 ? 1997 : 1, 1, 5 };
		lath_cursor_init(&cursor, &list);
		assert(!lath_cursor_lock(&cursor, low, NULL, NULL));
		assert(lath_cursor_insert(&cursor, &gone, NULL) == -EINVAL);
		assert(lath_index_lookup_item(&list, gone.key, items) == -ENOENT);
	}
	fini();

	assert(!init(LATH_POINTS, 0, NULL));
	add(5, 1);
	gone = (struct lath_item){ 7, 2, 0 };
	assert(lath_index_insert_item(&list, &gone, NULL) == -EINVAL); /* of a size */
	gone = (struct lath_item){ 9, 1, 0 };
	assert(lath_index_load_sorted(&list, 1, &gone, NULL) == -EBUSY);
	assert(lath_index_count(&list) == 1);
	fini();
}

/* ---- pages ---- */

/* All but every 4096th item goes; then nodes are moved together. */
static void thin_out(u64 n)
{
	uint64_t cursor = 0, key;
	unsigned int i;

	for (key = 0; key < n; key++)
		if (key % 4096)
			assert(!lath_index_erase_item(&list, key, NULL));
	for (i = 0; i < 3; i++) { /* what a pass has emptied, another one gives back */
		do
			lath_index_trim(&list, 1000, &cursor);
		while (cursor);
		lath_rcu_auto.drain();
	}
	for (key = 0; key < n; key += 4096)
		find(key);
	assert(lath_index_count(&list) == (n + 4095) / 4096);
	assert(!lath_index_verify(&list, 5, NULL, 0));
}

/* The flags decide whether the leaves of a loaded index are in huge pages. Pages that are given
 * back no longer count. */
static void pages(unsigned int flags, u64 n)
{
	struct lath_item *items = malloc(n * sizeof(*items));
	struct lath_index_stats stats;
	u64 i;

	assert(items && !init(LATH_POINTS, flags, NULL));
	for (i = 0; i < n; i++)
		items[i] = (struct lath_item){ i, 1, i + 1 };
	assert(!lath_index_load_sorted(&list, n, items, NULL));
	free(items);
	for (i = 0; i < n; i += 997)
		find(i);
	lath_index_get_stats(&list, &stats);
	if (flags & LATH_SMALL_PAGES)
		assert(!stats.huge_bytes);
	else
		assert(stats.huge_bytes >= (flags ? 8ull << 20 : 2ull << 20));
	if (flags & LATH_HUGE_PAGES) {
		u64 before = stats.huge_bytes;

		thin_out(n);
		lath_index_get_stats(&list, &stats);
		assert(stats.huge_bytes < before / 2);
	}
	fini();
}

/* The host has no huge page to give: an index that must have one cannot be made. */
static void no_huge_page(void)
{
#ifndef SANITIZED /* sanitizers need most of the address space */
	struct rlimit before, none;

	assert(!getrlimit(RLIMIT_AS, &before));
	none = before;
	none.rlim_cur = 1 << 20;
	assert(!setrlimit(RLIMIT_AS, &none));
	assert(init(LATH_POINTS, LATH_HUGE_PAGES, NULL) == -ENOMEM);
	assert(!setrlimit(RLIMIT_AS, &before));
#endif
}

static void allocators(void)
{
	u64 key;

	/* the caller's blocks are no huge pages, whatever the flags say */
	assert(!init(LATH_POINTS, LATH_HUGE_PAGES, &own) && !tree_of(&list)->huge);
	for (key = 0; key < 20000; key++)
		add(key, 1);
	thin_out(20000);
	fini();
	assert(!memory.outstanding);
}

/* ---- clones ---- */

static void clone_is_like(enum lath_layout layout, unsigned int flags,
			  const struct lath_allocator *allocator)
{
	static struct lath_index copy;
	const struct tree *tree = tree_of(&copy), *from = tree_of(&list);
	u64 key, value;

	assert(!init(layout, flags, allocator));
	for (key = 0; key < 100; key++)
		add(key, 1);
	assert(!lath_index_clone(&copy, &list, NULL));
	assert(tree->small == from->small && tree->huge == from->huge);
	assert(tree->leaf_level == from->leaf_level && tree->group == from->group);
	assert(tree->allocator.alloc == from->allocator.alloc && tree->flags == from->flags);
	assert(lath_index_count(&copy) == 100);
	assert(lath_index_get(&copy, 7, &value) && value == 8);
	lath_index_fini(&copy, NULL, NULL);
	fini();
}

/* The last item ends at the last key, with any number of items in front of it: the clone, which
 * reads some at a time, does not begin again at key 0. */
static void clone_to_the_last_key(void)
{
	static struct lath_index copy;
	u64 n, i;

	for (n = 1; n <= 200; n++) {
		assert(!init(LATH_POINTS, 0, NULL));
		for (i = 0; i < n; i++)
			add(~0ull - i, 1);
		assert(!lath_index_clone(&copy, &list, NULL));
		assert(lath_index_count(&copy) == n);
		lath_index_fini(&copy, NULL, NULL);
		fini();
	}
}

/* Each allocation of a clone fails once: then there is none, and nothing is left of it. */
static void clone_without_memory(void)
{
	static struct lath_index copy;
	unsigned long n;
	long before;
	int ret;
	u64 key;

	assert(!init(LATH_RANGES, LATH_NODE_EACH, &own));
	for (key = 0; key < 2000; key++)
		add(key, 1);
	before = memory.outstanding;
	for (n = 1, ret = -ENOMEM; ret; n++) {
		memory.fail_at = memory.calls + n;
		ret = lath_index_clone(&copy, &list, NULL);
		memory.fail_at = 0;
		assert(!ret || (ret == -ENOMEM && memory.outstanding == before));
	}
	assert(n > 3 && lath_index_count(&copy) == 2000);
	lath_index_fini(&copy, NULL, NULL);
	fini();
}

static void clones(void)
{
	clone_to_the_last_key();
	clone_is_like(LATH_RANGES, 0, NULL);
	clone_is_like(LATH_POINTS, LATH_SMALL_PAGES, NULL);
	clone_is_like(LATH_POINTS, LATH_HUGE_PAGES, NULL);
	clone_is_like(LATH_RANGES, 0, &own);
	clone_is_like(LATH_POINTS, LATH_NODE_EACH | LATH_SMALL_PAGES, &own);
	clone_without_memory();
	assert(!memory.outstanding);
}

/* ---- shared memory ---- */

/* An index that several processes map has neither a hint table nor an index of lengths, which would
 * have pointers of one process in them. It answers as others do. */
static void shared(unsigned int flags)
{
	struct lath_hole_request want = { .size = 1, .policy = LATH_HOLE_BEST };
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int hints = lath_hint_least;
	u64 least = lath_lengths_least, key, i;

	lath_hint_least = 1;
	lath_lengths_least = 0;
	config.flags = flags | LATH_HOLES;
	config.rcu = &lath_rcu_auto;
	config.allocator = &own;
	config.id = 9;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < 4000; i++)
		add(4 * i, i == 1000 ? 3 : 1);
	lath_index_prepare(&list);
	for (i = 0; i < 2; i++)
		assert(!lath_index_find_hole(&list, &want, &key) && key == 4003);
	assert(!tree_of(&list)->hint_made == (flags == LATH_SHARED));
	assert(!tree_of(&list)->watcher == (flags == LATH_SHARED));
	fini();
	assert(!memory.outstanding);
	lath_hint_least = hints;
	lath_lengths_least = least;
}

/* ---- dumps ---- */

static char text[1 << 20];
static size_t text_size;

static void append(void *arg, const char *part)
{
	size_t n = strlen(part);

	(void)arg;
	assert(text_size + n < sizeof(text));
	memcpy(text + text_size, part, n + 1);
	text_size += n;
}

static void dump(void)
{
	text_size = 0;
	lath_index_dump(&list, append, NULL);
	fini();
}

static void dumps(void)
{
	const struct lath_item halves[] = { { 0, 1ull << 63, 1 }, { 1ull << 63, 1ull << 63, 2 } };
	const struct lath_item apart[] = { { 0, 10, 1 }, { 20, KEY_MAX - 19, 2 } };
	struct lath_hole_request want = { .size = 1 };
	u64 i;

	assert(!init(LATH_RANGES, LATH_HOLES, NULL)); /* all keys are free */
	dump();
	assert(strstr(text, "\"room\":18446744073709551615,"));
	assert(!init(LATH_RANGES, LATH_HOLES, NULL)); /* none is */
	assert(!lath_index_load_sorted(&list, 2, halves, NULL));
	assert(lath_index_find_hole(&list, &want, &i) == -ENOSPC);
	dump();
	assert(strstr(text, "\"room\":0,") && strstr(text, "[0,9223372036854775808,1,1]"));
	assert(!init(LATH_RANGES, LATH_HOLES, NULL)); /* ten are */
	assert(!lath_index_load_sorted(&list, 2, apart, NULL));
	dump();
	assert(strstr(text, "\"room\":10,"));

	assert(!init(LATH_POINTS, 0, NULL));
	for (i = 0; i < 4; i++)
		add(i, 1);
	dump();
	assert(strstr(text, "\"heads\":[0,1,2,3]") && strstr(text, "[3,1,4,1]"));
	assert(!init(LATH_POINTS, 0, NULL)); /* three quarters lie close together */
	for (i = 0; i < NODE_CAP; i++)
		add(i < NODE_CAP * 3 / 4 ? i : i << 40, 1);
	lath_node_reindex(tree_of(&list)->root);
	assert(node_pivoted(tree_of(&list)->root));
	dump();
	assert(strstr(text, "\"pivots\":[0,") && !strstr(text, "\"heads\""));
}

int main(void)
{
	u64 many = NODE_CAP == 64 ? 2200000 : 1400000; /* more than 32 MiB of leaves */

	no_huge_page();
	refused_configs();
	configs_of_sets();
	long_record();
	refused_calls();
	pages(LATH_HUGE_PAGES, NODE_CAP == 64 ? 600000 : 300000);
	pages(0, many);
	pages(LATH_SMALL_PAGES, many);
	allocators();
	clones();
	shared(LATH_SHARED);
	shared(0);
	dumps();
	return 0;
}
