/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image_test.c - lath_space_load() on saved spaces that are put together here, byte by byte, with
 * the right checksums: what each check behind them refuses, and that no more is refused.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "image.h"
#include "lathwork/space.h"

enum { HEADER = 32, BLOCK = 24, MOST = 8192 };

struct image {
	uint8_t data[MOST];
	size_t size, at;
	unsigned int blocks;
	int64_t beyond; /* added to what read returns */
};

static void put(uint8_t *to, uint64_t value, unsigned int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		*to++ = (uint8_t)value;
}

static void begin(struct image *image)
{
	memset(image, 0, sizeof(*image));
	memcpy(image->data, "lathruns", 8);
	put(image->data + 8, 1, 4);
	put(image->data + 16, 1, 8); /* the unit */
	put(image->data + 28, crc32c(image->data, 28), 4);
	image->size = HEADER;
}

/* Adds a block; runs: their number up to its end. One without payload is the end. */
static void add(struct image *image, const uint8_t *payload, size_t size, uint64_t runs)
{
	uint8_t *block = image->data + image->size;

	assert(image->size + BLOCK + size <= MOST);
	if (size)
		memcpy(block + BLOCK, payload, size);
	put(block, size, 4);
	put(block + 4, image->blocks++, 4);
	put(block + 8, runs, 8);
	put(block + 16, crc32c(block + BLOCK, size), 4);
	put(block + 20, crc32c(block, 20), 4);
	image->size += BLOCK + size;
}

static int64_t read_image(void *arg, void *data, size_t size)
{
	struct image *image = arg;
	size_t n = size < image->size - image->at ? size : image->size - image->at;

	if (n > 1 + image->at % 50) /* a short read: the next one goes on */
		n = 1 + image->at % 50;

	memcpy(data, image->data + image->at, n);
	image->at += n;
	return (int64_t)n + image->beyond;
}

static struct lath_space *open_space(uint64_t high)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;

	config.high = high;
	assert(!lath_space_create(&space, &config));
	return space;
}

/* Loads the image. The report has these words if it is refused, and is empty if not. */
static int load(struct lath_space *space, struct image *image, const char *why)
{
	struct lath_space_stats stats;
	char report[200];
	int ret = lath_space_load(space, read_image, image, 5, report, sizeof(report));

	if (ret ? !strstr(report, why) : *report) {
		fprintf(stderr, "image_test: load says \"%s\", not \"%s\"\n", report, why);
		assert(0);
	}
	lath_space_get_stats(space, &stats);
	assert(!ret || !stats.allocated);
	assert(!lath_space_verify(space, NULL, 0));
	return ret;
}

/* Loads a block of these bytes, which are this many runs, and the end into a space of all keys.
 * What is loaded must be the run of `size` keys at `key`, and others behind it. */
static int one(const uint8_t *payload, size_t bytes, uint64_t runs, uint64_t key, uint64_t size)
{
	struct lath_space *space = open_space(0);
	struct lath_item run;
	struct image image;
	int ret;

	begin(&image);
	add(&image, payload, bytes, runs);
	add(&image, payload, 0, runs);
	ret = load(space, &image, "whose runs make no sense");
	if (!ret)
		assert(!lath_space_next(space, 0, &run) && run.key == key && run.size == size);
	lath_space_destroy(space);
	return ret;
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NINE(byte) byte, byte, byte, byte, byte, byte, byte, byte, byte
#define GREATEST NINE(0xff), 1 /* 2^64 - 1 */

/* Numbers of seven bits per byte. */
static void numbers(void)
{
	assert(!one(BYTES(5, 2), 1, 5, 3));
	assert(!one(BYTES(0x85, 0, 2), 1, 5, 3)); /* longer than it needs to be */
	assert(!one(BYTES(NINE(0x80), 1, 2), 1, 1ull << 63, 3));
	assert(one(BYTES(NINE(0x80), 2, 2), 1, 0, 0) == -EBADMSG);    /* 2^64 */
	assert(one(BYTES(NINE(0x80), 0x80, 0), 1, 0, 0) == -EBADMSG); /* 11 bytes */
	assert(one(BYTES(0x85), 1, 0, 0) == -EBADMSG);		      /* one is cut off */
	assert(one(BYTES(5), 1, 0, 0) == -EBADMSG);		      /* one is missing */
	assert(one(BYTES(5, 0x82), 1, 0, 0) == -EBADMSG);
}

static void runs(void)
{
	assert(!one(BYTES(GREATEST, 0), 1, ~0ull, 1)); /* the last key */
	assert(!one(BYTES(0, GREATEST), 1, 0, 0));     /* all keys */
	assert(!one(BYTES(0, 9, 2, 0), 2, 0, 10));
	/* one behind the last key; ends behind it; begins behind it */
	assert(one(BYTES(GREATEST, 0, 0, 0), 2, 0, 0) == -EBADMSG);
	assert(one(BYTES(1, GREATEST), 1, 0, 0) == -EBADMSG);
	assert(one(BYTES(0, 9, GREATEST, 0), 2, 0, 0) == -EBADMSG);
}

/* A run of two segments that lie side by side is not within one. */
static void segments(void)
{
	struct lath_space *space = open_space(64);
	struct image image;

	assert(lath_space_add_segment(space, 64, 64, 0) == 1);
	begin(&image);
	add(&image, BYTES(60, 9), 1);
	add(&image, NULL, 0, 1);
	assert(load(space, &image, "within one segment") == -EINVAL);
	begin(&image);
	add(&image, BYTES(60, 3, 0, 5), 2);
	add(&image, NULL, 0, 2);
	assert(!load(space, &image, ""));
	lath_space_destroy(space);
}

/* Blocks, with this many runs of one key at every other one, or one more than they say. */
static int block_of(unsigned int many, unsigned int more, const char *why)
{
	struct lath_space *space = open_space(0);
	uint8_t payload[MOST];
	struct lath_space_stats stats;
	struct image image;
	unsigned int i;
	int ret;

	for (i = 0; i < 2 * many; i += 2) {
		payload[i] = 1;
		payload[i + 1] = 0;
	}
	begin(&image);
	add(&image, payload, 2ul * many, many + more);
	add(&image, payload, 0, many);
	ret = load(space, &image, why);
	lath_space_get_stats(space, &stats);
	assert(stats.allocated == (ret ? 0 : many));
	lath_space_destroy(space);
	return ret;
}

static void blocks(void)
{
	assert(!block_of(3, 0, ""));
	assert(block_of(3, 1, "a wrong number of runs") == -EBADMSG);
	assert(!block_of(2048, 0, ""));
	assert(block_of(2049, 0, "the header of a block is damaged") == -EBADMSG); /* too long */
}

/* A read function that says more than it was asked for is not believed. */
static void reads(void)
{
	struct lath_space *space = open_space(0);
	struct image image;

	begin(&image);
	add(&image, NULL, 0, 0);
	image.beyond = 1;
	assert(load(space, &image, "it ends too early") == -EBADMSG);
	image.at = image.beyond = 0;
	assert(!load(space, &image, ""));
	lath_space_destroy(space);
}

/* What right checksums do not excuse: another version, a block out of order or missing. */
static void numbers_of_blocks(void)
{
	const uint8_t run[] = { 1, 0 };
	struct lath_space *space = open_space(0);
	struct image image;

	begin(&image);
	put(image.data + 8, 2, 4);
	put(image.data + 28, crc32c(image.data, 28), 4);
	add(&image, NULL, 0, 0);
	assert(load(space, &image, "another version") == -EBADMSG);
	begin(&image);
	image.blocks = 1; /* the first one is missing */
	add(&image, run, sizeof(run), 1);
	add(&image, NULL, 0, 1);
	assert(load(space, &image, "a block is missing") == -EBADMSG);
	begin(&image);
	add(&image, run, sizeof(run), 1);
	image.blocks = 0; /* the second one says that it is the first */
	add(&image, NULL, 0, 1);
	assert(load(space, &image, "out of order") == -EBADMSG);
	lath_space_destroy(space);
}

/* Each byte that is wrong is noticed, and each end that is missing. */
static void damaged(void)
{
	struct lath_space *space = open_space(0);
	struct image image;
	size_t i, size;

	begin(&image);
	add(&image, BYTES(5, 2, 1, 0), 2);
	add(&image, NULL, 0, 2);
	size = image.size;
	for (i = 0; i < size; i++) {
		const char *why = i < 8	       ? "it is not a saved space"
				  : i < HEADER ? "the header is damaged"
					       : "damaged";

		image.data[i] ^= 1;
		assert(load(space, &image, why) == -EBADMSG);
		image.data[i] ^= 1;
		image.at = 0;
	}
	for (image.size = 0; image.size < size; image.size++, image.at = 0)
		assert(load(space, &image, "it ends too early") == -EBADMSG);
	assert(!load(space, &image, ""));
	lath_space_destroy(space);
}

int main(void)
{
	numbers_of_blocks();
	damaged();
	numbers();
	runs();
	segments();
	blocks();
	reads();
	return 0;
}
