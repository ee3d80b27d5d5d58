/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fuzz.c - the snapshot loader on any bytes. The first byte chooses the kind of keys, and whether
 * the checksums are made right first, so that what lies behind them is reached too.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/place/file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *file, size_t size)
{
	struct snapshot_header header = { .version = SNAPSHOT_VERSION };
	struct snapshot_block block;
	uint64_t all = 0, blocks = 0, entries = 0;
	size_t at = sizeof(header);

	if (size < sizeof(header))
		return;
	memcpy(header.magic, SNAPSHOT_MAGIC, 8);
	header.keys = file[12] & 1;
	header.checksum = XXH3_64bits(&header, 56);
	memcpy(file, &header, sizeof(header));
	while (size - at >= sizeof(block)) {
		memcpy(&block, file + at, sizeof(block));
		block.bytes &= 0x3f;
		if (size - at < 2 * sizeof(block) || block.bytes > size - at - 2 * sizeof(block))
			block.bytes = 0;
		if (block.bytes) {
			block.entries &= 0xf;
			block.checksum = XXH3_64bits_withSeed(file + at + sizeof(block),
							      block.bytes, blocks++);
			all = XXH3_64bits_withSeed(&block.checksum, 8, all);
			entries += block.entries;
		} else {
			block.entries = entries;
			block.checksum = all;
		}
		block.own_checksum = XXH3_64bits(&block, 24);
		memcpy(file + at, &block, sizeof(block));
		at += sizeof(block) + block.bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	struct lath_store *store;
	uint8_t *file;
	char path[32];
	int fd;

	if (!size)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	file = malloc(size);
	if (fd < 0 || !file)
		abort();
	memcpy(file, data + 1, size - 1);
	if (data[0] & 1)
		mend(file, size - 1);
	if (write(fd, file, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.keys = data[0] & 2 ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
	options.reserve = 64u << 20;
	if (lath_store_open(&store, "mem:", &options))
		abort();
	if (lath_store_load(store, path, NULL, NULL) && lath_store_count(store, NULL))
		abort(); /* a failed load leaves nothing */
	lath_store_close(store);
	close(fd);
	free(file);
	return 0;
}
