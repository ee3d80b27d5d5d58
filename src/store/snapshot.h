/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.h - the format of a snapshot (lath_store_save, lath_store_load).
 *
 *   header 64 bytes   magic "lathsnap", version 1, kind of keys, 32 bytes 0, XXH3 of the first 56
 *   block  32 bytes   length of the payload, number of entries in it, XXH3 of the payload seeded
 *                     with the block's number, XXH3 of these three
 *          payload    entries: key, value
 *   ...
 *   end    32 bytes   length 0, number of all entries, XXH3 of all payload checksums, XXH3 of these
 *                     three
 *
 * All numbers are little-endian; sizes in entries are LEB128. A number is stored as its difference
 * from the previous one in the block, minus 1 (the first: itself). A byte key is stored as the
 * number of bytes it shares with the previous one in the block, the number of those that follow,
 * and these. A value is stored as its length * 2, + 1 if a time of expiry (8 bytes) follows, and
 * its bytes. Keys ascend through the whole file; nothing follows the end.
 */
#ifndef LATH_STORE_SNAPSHOT_H
#define LATH_STORE_SNAPSHOT_H

#include "lathwork/store.h"
#include "sys/sys.h"

#define SNAPSHOT_MAGIC "lathsnap"
#define SNAPSHOT_VERSION 1u
#define SNAPSHOT_BLOCK (256u << 10) /* a block ends when its payload reaches this */

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

/* Loads the snapshot; sets file->seen. 0 | as lath_store_load, with a reason */
int snapshot_load(struct lath_store *store, struct store_file *file,
		  lath_store_progress_fn progress, void *arg);

#endif /* LATH_STORE_SNAPSHOT_H */
