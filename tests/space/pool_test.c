/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool_test.c - spaces as their users have them: many small ones, a pool of several devices, and
 * one that was saved.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork/space.h"

#define UNIT 4096ull
#define EMPTY 1024

/* ---- memory ---- */

struct counted {
	size_t bytes, calls;
};

static void *counted_alloc(void *ctx, size_t size, size_t align)
{
	struct counted *counted = ctx;

	counted->bytes += size;
	counted->calls++;
	return aligned_alloc(align, (size + align - 1) / align * align);
}

static void counted_free(void *ctx, void *block, size_t size)
{
	struct counted *counted = ctx;

	counted->bytes -= size;
	free(block);
}

static uint64_t bytes_of(struct lath_space *space)
{
	struct lath_space_stats stats;

	lath_space_get_stats(space, &stats);
	return stats.bytes;
}

/* Returns a space of 2^20 units. */
static struct lath_space *open_space(unsigned int flags, const struct lath_allocator *allocator)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;

	config.unit = UNIT;
	config.high = UNIT << 20;
	config.flags = flags;
	config.allocator = allocator;
	assert(!lath_space_create(&space, &config));
	return space;
}

/* What an empty space takes, and what each first use adds; the statistics agree with the
 * allocator. */
static void memory_of_one(unsigned int flags)
{
	struct counted counted = { 0 };
	const struct lath_allocator allocator = { counted_alloc, counted_free, &counted };
	struct lath_space *space = open_space(flags, &allocator);
	struct lath_item run;
	uint64_t key;

	assert(counted.bytes <= EMPTY && counted.calls == 1 && bytes_of(space) == counted.bytes);
	assert(!lath_space_next_free(space, 0, &run) && run.key == 0 && run.size == UNIT << 20);
	assert(lath_space_next(space, 0, &run) == -ENOENT);
	assert(lath_space_free(space, 0, UNIT) == -EINVAL);
	assert(lath_space_owner(space, 0, &run) == -ENOENT);
	lath_space_trim(space);
	assert(!lath_space_verify(space, NULL, 0));
	assert(counted.calls == 1); /* reading needs none */

	assert(!lath_space_alloc(space, UNIT, 0, 1, &key));
	printf("flags %u: %zu bytes with one unit allocated\n", flags, counted.bytes);
	assert(counted.bytes <= (flags & LATH_SPACE_OWNERS ? 96u : 64u) << 10);
	assert(bytes_of(space) == counted.bytes);
	assert(!lath_space_free(space, key, UNIT));
	lath_space_destroy(space);
	assert(!counted.bytes);
}

static void many(void)
{
	enum { N = 10000 };
	struct counted counted = { 0 };
	const struct lath_allocator allocator = { counted_alloc, counted_free, &counted };
	static struct lath_space *space[N];
	uint64_t key;
	unsigned int i;

	for (i = 0; i < N; i++)
		space[i] = open_space(0, &allocator);
	assert(counted.bytes <= N * EMPTY);
	for (i = 0; i < N; i += 100)
		assert(!lath_space_alloc(space[i], UNIT, 0, i, &key));
	assert(counted.bytes <= N * EMPTY + N / 100 * (64u << 10));
	for (i = 0; i < N; i++)
		lath_space_destroy(space[i]);
	assert(!counted.bytes);
}

/* ---- segments ---- */

#define TIB (1ull << 40)

/* Large ranges fill one segment after the other, and small ones stay out of their way. */
static void filled(unsigned int flags)
{
	static const int order[] = { 1, 2, 0 };
	const uint64_t size = 8192 * UNIT; /* 128 in a segment */
	struct lath_space *space = open_space(flags | LATH_SPACE_FILL, NULL);
	uint64_t key;
	unsigned int i;

	assert(lath_space_add_segment(space, 1 * TIB, 128 * size, 0) == 1);
	assert(lath_space_add_segment(space, 2 * TIB, 128 * size, 0) == 2);
	assert(!lath_space_reserve(space, 0, size, 0));
	assert(!lath_space_alloc_in(space, 1ull << 1, size, 0, 0, &key));
	if (flags & LATH_SPACE_NO_ARENAS) {
		assert(!lath_space_reserve(space, 127 * size, size, 0));
	} else {
		assert(!lath_space_alloc(space, UNIT, 0, 0, &key));
		assert(key >= 128 * size - 4096 * UNIT && key < 128 * size);
	}
	for (i = 1; i < 128 + 128 + 126; i++) {
		assert(!lath_space_alloc(space, size, 0, 0, &key));
		assert(lath_space_segment_of(space, key) == order[i / 128]);
	}
	/* the last one stays full; now 2 has the most room, then 1 */
	assert(!lath_space_free(space, 1 * TIB, size) &&
	       !lath_space_free(space, 2 * TIB, 2 * size));
	for (i = 0; i < 3; i++) {
		assert(!lath_space_alloc(space, size, 0, 0, &key));
		assert(key == (i < 2 ? 2 * TIB + i * size : 1 * TIB));
	}
	assert(lath_space_alloc(space, size, 0, 0, &key) == -ENOSPC);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* When a segment is full, one with a long free run follows, before one with more free keys. */
static void filled_next(unsigned int flags, unsigned int run, int next)
{
	const uint64_t size = 8192 * UNIT; /* 16 in a segment */
	struct lath_space *space = open_space(flags | LATH_SPACE_FILL, NULL);
	uint64_t key[4][16], more;
	int i, n;

	assert(!lath_space_drain_segment(space, 0, 1));
	for (n = 1; n < 4; n++)
		assert(lath_space_add_segment(space, (uint64_t)n * TIB, 16 * size, 0) == n);
	for (n = 3; n; n--) /* the last one filled is 1 */
		for (i = 0; i < 16; i++)
			assert(!lath_space_alloc_in(space, 1ull << n, size, 0, 0, &key[n][i]));
	for (i = 0; i < 16; i += 2)
		assert(!lath_space_free(space, key[2][i], size));
	for (i = 0; i < (int)run; i++)
		assert(!lath_space_free(space, key[3][i], size));
	assert(lath_space_alloc(space, 1ull << 63, 0, 0, &more) == -ENOSPC);
	for (i = 0; i < 8 + (int)run; i++) {
		assert(!lath_space_alloc(space, size, 0, 0, &more));
		n = lath_space_segment_of(space, more);
		assert(i ? n == 2 || n == 3 : n == next);
	}
	assert(lath_space_alloc(space, size, 0, 0, &more) == -ENOSPC);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

static uint64_t arenas_of(struct lath_space *space)
{
	struct lath_space_stats stats;

	lath_space_get_stats(space, &stats);
	return stats.arenas;
}

/* Small ranges of any size lie side by side where segments are filled. */
static void packed(unsigned int flags)
{
	struct lath_space *space = open_space(flags | LATH_SPACE_FILL, NULL);
	uint64_t key[320], more;
	unsigned int i;

	for (i = 0; i < 320; i++) /* five in 64 units */
		assert(!lath_space_alloc(space, 11 * UNIT, 0, 0, &key[i]));
	assert(arenas_of(space) == 1);
	for (i = 0; i < 320; i++)
		if (key[i] / UNIT % 4096 == 64)
			assert(!lath_space_free(space, key[i], 11 * UNIT));
	/* 9 units in front of it are free as well */
	assert(!lath_space_alloc(space, 20 * UNIT, 0, 0, &more));
	assert(more / UNIT % 4096 == 55 && arenas_of(space) == 1);
	assert(!lath_space_alloc(space, 3 * UNIT, 4 * UNIT, 0, &more));
	assert(!(more / UNIT % 4) && arenas_of(space) == 1);
	assert(!lath_space_verify(space, NULL, 0));
	assert(!lath_space_alloc(space, 10 * UNIT, 0, 0, &more));
	assert(arenas_of(space) == 2);
	assert(!lath_space_alloc(space, 1000 * UNIT, 0, 0, &more));
	assert(!(more / UNIT % 64) && arenas_of(space) == 2);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* Small ranges at alignments above their size are served by arenas too. */
static void coarse(unsigned int flags)
{
	struct lath_space *space = open_space(flags, NULL);
	struct lath_space_stats stats;
	uint64_t key[64], i;

	for (i = 0; i < 64; i++) {
		uint64_t align = UNIT << (2 + i % 8);

		assert(!lath_space_alloc(space, (1 + i % 4) * UNIT, align, 0, &key[i]));
		assert(!(key[i] & (align - 1)));
	}
	lath_space_get_stats(space, &stats);
	assert(stats.ranges == 0 && stats.arenas && stats.allocated == 160 * UNIT);
	assert(!lath_space_verify(space, NULL, 0));
	for (i = 0; i < 64; i++)
		assert(!lath_space_free(space, key[i], (1 + i % 4) * UNIT));
	lath_space_destroy(space);
}

/* Four devices, three copies of each object: each on another device, whatever is full. */
static void replicas(unsigned int flags)
{
	static uint64_t key[3000][3];
	struct lath_space *space = open_space(flags | LATH_SPACE_SPREAD, NULL);
	struct lath_space_segment device;
	unsigned int n, i;
	int ret = 0;

	assert(lath_space_add_segment(space, 1 * TIB, 4096 * UNIT, 0) == 1);
	assert(lath_space_add_segment(space, 2 * TIB, 4096 * UNIT, 0) == 2);
	assert(lath_space_add_segment(space, 3 * TIB, 8192 * UNIT, 4000 * UNIT) == 3);
	assert(lath_space_add_segment(space, 3 * TIB + UNIT, UNIT, 0) == -EEXIST);
	for (n = 0; n < 3000 && !ret; n++) {
		uint64_t allowed = ~0ull;

		for (i = 0; i < 3 && !ret; i++) {
			ret = lath_space_alloc_in(space, allowed, 3 * UNIT, 0, n, &key[n][i]);
			if (!ret)
				allowed &= ~(1ull << lath_space_segment_of(space, key[n][i]));
		}
		if (ret) {
			while (--i)
				assert(!lath_space_free(space, key[n][i - 1], 3 * UNIT));
			break;
		}
		assert(allowed >> 4 == ~0ull >> 4 && __builtin_popcountll(allowed & 15) == 1);
	}
	/* Device 0 has one copy of each; 1 to 3 share the others, up to 4096, 4096 and 4000 units.
	 * In arenas three units take the place of four. Filled one after the other, 1 and 2 would
	 * be full at 1024 or 1365. */
	printf("flags %u: %u objects of three copies\n", flags, n);
	assert(ret == -ENOSPC && n >= 1500 && n <= (4096 / 3 + 4096 / 3 + 4000 / 3) / 2);
	assert(!lath_space_segment_stats(space, 3, &device));
	assert(device.allocated <= device.limit && device.limit == 4000 * UNIT);

	/* device 2 fails: its copies go, nothing new comes, it is removed */
	assert(lath_space_remove_segment(space, 2) == -EBUSY);
	assert(!lath_space_drain_segment(space, 2, 1));
	assert(lath_space_remove_segment(space, 2) == -EBUSY);
	while (n--)
		for (i = 0; i < 3; i++)
			if (lath_space_segment_of(space, key[n][i]) == 2) {
				assert(!lath_space_free(space, key[n][i], 3 * UNIT));
				ret = lath_space_alloc_in(space, 1ull << 2, UNIT, 0, 0, &key[n][i]);
				assert(ret == -ENOSPC);
			}
	assert(!lath_space_remove_segment(space, 2));
	assert(lath_space_remove_segment(space, 2) == -ENOENT);
	assert(lath_space_segment_of(space, 2 * TIB) == -ENOENT);
	assert(lath_space_segment_stats(space, 2, &device) == -ENOENT);
	assert(lath_space_drain_segment(space, 2, 1) == -ENOENT);
	assert(lath_space_limit_segment(space, 2, 1) == -ENOENT);
	assert(lath_space_reserve(space, 2 * TIB, UNIT, 0) == -EINVAL);
	assert(lath_space_add_segment(space, 5 * TIB, 4096 * UNIT, 0) == 2);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_destroy(space);
}

/* ---- save and load ---- */

struct stream {
	unsigned char *data;
	size_t size, at;
	int error;
};

static int write_stream(void *arg, const void *data, size_t size)
{
	struct stream *s = arg;

	if (s->error)
		return s->error;
	s->data = realloc(s->data, s->size + size);
	assert(s->data);
	memcpy(s->data + s->size, data, size);
	s->size += size;
	return 0;
}

static int64_t read_stream(void *arg, void *data, size_t size)
{
	struct stream *s = arg;

	if (s->error)
		return s->error;
	size = size < s->size - s->at ? size : s->size - s->at;
	if (size)
		memcpy(data, s->data + s->at, size);
	s->at += size;
	return (int64_t)size;
}

static int load_into(struct lath_space *space, struct stream *s, const char *why)
{
	char report[100];
	int ret;

	s->at = 0;
	ret = lath_space_load(space, read_stream, s, 5, report, sizeof(report));
	if (why ? !strstr(report, why) : *report)
		printf("%d: %s\n", ret, report);
	assert(why ? strstr(report, why) != NULL : !*report);
	return ret;
}

/* What was saved in s is not loaded into a space of another unit, nor if it cannot be read. */
static void not_loaded(struct stream *s)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *other;
	struct lath_item item;

	config.unit = 2 * UNIT;
	assert(!lath_space_create(&other, &config));
	assert(load_into(other, s, "unit") == -EINVAL);
	s->error = -EPERM;
	assert(load_into(other, s, "read") == -EPERM);
	s->error = 0;
	assert(lath_space_next(other, 0, &item) == -ENOENT);
	lath_space_destroy(other);
}

static void saved(unsigned int flags)
{
	struct lath_space *space = open_space(flags, NULL), *other;
	struct stream s = { 0 };
	struct lath_space_stats stats;
	struct lath_item item;
	uint64_t key, i;

	/* small ones with gaps, and a large one over many blocks */
	for (i = 0; i < 100000; i++)
		assert(!lath_space_reserve(space, i * 3 * UNIT, (1 + i % 2) * UNIT, 0));
	assert(!lath_space_reserve(space, 500000 * UNIT, 100001 * UNIT, 0));
	s.error = -EIO;
	assert(lath_space_save(space, write_stream, &s) == -EIO);
	s.error = 0;
	assert(!lath_space_save(space, write_stream, &s));
	assert(s.size < 210000); /* two bytes per run */

	other = open_space(flags, NULL);
	assert(load_into(other, &s, NULL) == 0 && s.at == s.size);
	lath_space_get_stats(other, &stats);
	assert(stats.allocated == (150000 + 100001) * UNIT);
	if (!(flags & LATH_SPACE_NO_ARENAS))
		assert(stats.arenas > 70 && stats.ranges < 20);
	if (flags & LATH_SPACE_OWNERS)
		assert(!lath_space_owner(other, 3 * UNIT, &item) && item.value == 5);
	assert(load_into(other, &s, NULL) == -EBUSY);
	assert(!lath_space_alloc(other, UNIT, 0, 0, &key) && !lath_space_free(other, key, UNIT));
	lath_space_destroy(other);

	not_loaded(&s);
	lath_space_destroy(space);
	free(s.data);
}

/* Below a limit of whole arenas: all units there are taken, and none above; small ranges come from
 * arenas, as without a limit. */
static void below(unsigned int flags)
{
	const uint64_t high = 20 * 4096 * UNIT;
	struct lath_space *space = open_space(flags, NULL);
	struct lath_space_stats stats;
	struct lath_item run;
	uint64_t key, n, i;

	/* some above it: what a thread used last is not what serves */
	for (i = 0; i < 200; i++)
		assert(!lath_space_alloc(space, 512 * UNIT, 0, 0, &key));
	assert(key > high);
	for (i = 0; i < 20 * 8; i++)
		assert(!lath_space_free(space, i * 512 * UNIT, 512 * UNIT));
	lath_space_trim(space);
	for (n = 100; n; n /= 3) /* the large ones first, each until there is no room */
		while (!lath_space_alloc_below(space, high, n * UNIT, 0, 0, &key))
			assert(key + n * UNIT <= high);
	assert(!lath_space_next_free(space, 0, &run) && run.key == 25 * 4096 * UNIT);
	assert(lath_space_alloc_below(space, high, UNIT, 0, 0, &key) == -ENOSPC);
	lath_space_get_stats(space, &stats);
	assert(!stats.ranges || flags & LATH_SPACE_NO_ARENAS);
	assert(!lath_space_alloc_below(space, high + 6 * 4096 * UNIT, UNIT, 0, 0, &key));
	assert(key == run.key);
	lath_space_destroy(space);
}

/* A block of an arena that is gone: what the index holds there goes back to the index. */
static void arena_gone(unsigned int flags)
{
	struct lath_space *space = open_space(flags, NULL);
	struct lath_space_stats stats;
	uint64_t key[2];

	assert(!lath_space_alloc(space, UNIT, 0, 0, &key[0]));
	assert(!lath_space_alloc(space, 8 * UNIT, 0, 0, &key[1]));
	/* the first free finds the arena in the index, the second one knows it */
	assert(!lath_space_free(space, key[0], UNIT));
	assert(!lath_space_free(space, key[1], 8 * UNIT));
	lath_space_trim(space);
	assert(!lath_space_reserve(space, key[1], 8 * UNIT, 0));
	lath_space_get_stats(space, &stats);
	assert(stats.ranges == 1 && !stats.arenas && !stats.cached);
	assert(!lath_space_free(space, key[1], 8 * UNIT));
	lath_space_get_stats(space, &stats);
	assert(!stats.allocated && !stats.cached && !stats.ranges);
	lath_space_destroy(space);
}

int main(void)
{
	static const unsigned int forms[] = { 0, LATH_SPACE_NO_MAGAZINES, LATH_SPACE_OWNERS,
					      LATH_SPACE_NO_ARENAS };
	unsigned int i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		memory_of_one(forms[i]);
		replicas(forms[i]);
		filled(forms[i]);
		below(forms[i]);
		arena_gone(forms[i]);
		filled_next(forms[i], 4, 3);
		filled_next(forms[i], 2, 3);
		filled_next(forms[i], 1, 2);
		if (!(forms[i] & LATH_SPACE_NO_ARENAS)) {
			packed(forms[i]);
			coarse(forms[i]);
			coarse(forms[i] | LATH_SPACE_FILL);
		}
		saved(forms[i]);
	}
	many();
	return 0;
}
