/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.h - a store in a file (lath_store_save and load).
 *
 *   header 64 bytes   magic "lathsnap", version 1, kind of keys, 32 bytes 0, XXH3 of the first 56
 *   block  32 bytes   bytes of payload, entries in it, XXH3 of the payload seeded with the block's
 *                     number,
 *                     XXH3 of the three before it
 *          payload    entries: key, value
 *   ...
 *   end    32 bytes   0 bytes, number of entries in all, XXH3 of all payload checksums, XXH3 of the
 *                     three
 *
 * All numbers little-endian; sizes in entries LEB128. A number is written as its distance from the
 * one before it in the block, less one (the first: itself); a byte key as how many bytes it shares
 * with the one before it in the block, how many follow, and those. A value is its length * 2, + 1
 * if a time of expiry (8 bytes) follows, and its bytes. Keys ascend through the whole file; nothing
 * follows the end.
 */
#ifndef LATH_STORE_SNAPSHOT_H
#define LATH_STORE_SNAPSHOT_H

#include "lathwork/store.h"
#include "sys/sys.h"

#define SNAPSHOT_MAGIC "lathsnap"
#define SNAPSHOT_VERSION 1u
#define SNAPSHOT_BLOCK (256u << 10) /* payload from which on a block ends */

struct snapshot_header {
	char magic[8];
	u32 version, keys;
	u8 reserved[40];
	u64 checksum;
};

struct snapshot_block {
	u64 bytes, entries, checksum, own_checksum;
};

_Static_assert(sizeof(struct snapshot_header) == 64, "as described");
_Static_assert(sizeof(struct snapshot_block) == 32, "as described");

struct store_file;

/* Notes in file what was read. 0 | as lath_store_load, with a sentence */
int snapshot_load(struct lath_store *store, struct store_file *file,
		  lath_store_progress_fn progress, void *arg);

#endif /* LATH_STORE_SNAPSHOT_H */
