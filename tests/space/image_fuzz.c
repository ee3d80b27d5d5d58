/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image_fuzz.c - lath_space_load() on any bytes. The first byte chooses the flags and whether the
 * checksums are made right first, so that what lies behind them is reached too. What is loaded is
 * true, and is saved as it was loaded.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "image.h"
#include "lathwork/space.h"

enum { HEADER = 32, BLOCK = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void put(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, 4); /* little-endian hosts */
}

/* Makes all right but the runs. */
static void mend(struct stream *s)
{
	uint32_t n, number = 0, numbers = 0, i;
	size_t at = HEADER;

	if (s->size < HEADER)
		return;
	memset(s->data, 0, HEADER);
	memcpy(s->data, "lathruns", 8);
	s->data[8] = 1;
	s->data[16] = 1; /* the unit */
	put(s->data + 28, crc32c(s->data, 28));
	for (; s->size - at >= BLOCK; at += BLOCK + n) {
		uint8_t *block = s->data + at;

		n = block[0];
		if (s->size - at < 2 * BLOCK + n)
			n = 0;
		put(block, n);
		put(block + 4, number++);
		for (i = 0; i < n; i++)
			numbers += block[BLOCK + i] < 0x80;
		put(block + 8, numbers / 2); /* two per run */
		put(block + 12, 0);
		put(block + 16, crc32c(block + BLOCK, n));
		put(block + 20, crc32c(block, 20));
	}
}

static struct lath_space *open_space(unsigned int flags)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_space *space;

	config.flags = flags;
	assert(!lath_space_create(&space, &config));
	return space;
}

/* Loads the stream into a new space, and saves that into `copy` if it was loaded. */
static int load(struct stream *s, unsigned int flags, struct stream *copy)
{
	struct lath_space *space = open_space(flags);
	struct lath_space_stats stats;
	char report[200];
	int ret = lath_space_load(space, read_stream, s, 5, report, sizeof(report));

	assert(!ret || ret == -EBADMSG || ret == -EINVAL || ret == -EBUSY || ret == -ENOMEM);
	assert(!lath_space_verify(space, NULL, 0));
	lath_space_get_stats(space, &stats);
	assert(!ret || !stats.allocated);
	copy->size = copy->at = 0;
	if (!ret)
		assert(!lath_space_save(space, write_stream, copy));
	lath_space_destroy(space);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct stream s, once, twice;
	unsigned int flags;

	if (size < 1 || size > (1 << 14))
		return 0;
	flags = bytes[0] & 2 ? LATH_SPACE_NO_ARENAS : 0;
	s.size = size - 1;
	s.at = 0;
	memcpy(s.data, bytes + 1, s.size);
	if (bytes[0] & 1)
		mend(&s);
	if (load(&s, flags, &once))
		return 0;
	assert(!load(&once, flags ^ LATH_SPACE_NO_ARENAS, &twice));
	assert(once.size == twice.size && !memcmp(once.data, twice.data, once.size));
	return 0;
}
