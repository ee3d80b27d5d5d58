/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image.h - saved spaces in memory, and their checksum. The includer has <assert.h>.
 */
#ifndef TESTS_SPACE_IMAGE_H
#define TESTS_SPACE_IMAGE_H

#include <stdint.h>
#include <string.h>

struct stream {
	uint8_t data[1 << 16];
	size_t size, at;
};

static inline int write_stream(void *arg, const void *data, size_t size)
{
	struct stream *s = arg;

	assert(size <= sizeof(s->data) - s->size);
	memcpy(s->data + s->size, data, size);
	s->size += size;
	return 0;
}

static inline int64_t read_stream(void *arg, void *data, size_t size)
{
	struct stream *s = arg;

	size = size < s->size - s->at ? size : s->size - s->at;
	memcpy(data, s->data + s->at, size);
	s->at += size;
	return (int64_t)size;
}

static inline uint32_t crc32c(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;
	int i;

	for (; size; size--, data++)
		for (crc ^= *data, i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	return ~crc;
}

#endif
