/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.h - the file of a snapshot: where it is, which process may write it, and how it is replaced.
 *
 * All names are relative to the descriptor of one directory, which is opened once: nobody can
 * redirect a save by replacing a part of the path.
 *
 *   NAME              the snapshot, a regular file; only replaced as a whole, by rename
 *   NAME.lock         exists while a store or a save may write NAME (file_lock.c)
 *   NAME.tmp-XXXXXX   exists while a save runs (replace.c)
 */
#ifndef LATH_STORE_FILE_H
#define LATH_STORE_FILE_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lathwork/store.h"
#include "sys/sys.h"

/* Identifies a file, and the content of a snapshot: a replaced snapshot is another file. ino 0:
 * none. */
struct file_id {
	u64 dev, ino;
	u64 size;
	struct timespec written;
};

/* A descriptor (-1: none), and what it refers to: programs close descriptors that they do not know. */
struct held {
	int fd;
	struct file_id id;
};

struct store_file {
	char label[256]; /* the path as given, for messages */
	char name[NAME_MAX + 1];
	struct held dir;     /* O_PATH */
	struct file_id seen; /* the snapshot when it was last read or written */
	struct held lock, member;
	pid_t owner; /* the process whose number this process wrote into the lock file */
	bool swept;  /* files of killed saves have been removed since it was locked */
};

/* ---- file_lock.c ---- */

/* Stores the reason of an error: the label, what (": doing this"), the error's text. Returns it. */
int lath_file_failed(const struct store_file *file, const char *what, int error);
/* Opens the directory of a path and finds the name in it. Symbolic links are followed, the last one
 * too; NAME need not exist. Call lath_file_forget() in any case. 0 | -errno with a reason */
int lath_file_resolve(struct store_file *file, const char *path);
/* Closes the directory. */
void lath_file_forget(struct store_file *file);
/* Gets the snapshot's *stat. 0 | -ENOENT, without a reason | -EINVAL: not a regular file | -errno;
 * with a reason */
int lath_file_look(const struct store_file *file, struct stat *stat);
/* Opens the snapshot for reading and gets its *stat. A descriptor | as lath_file_look(), always
 * with a reason */
int lath_file_open(const struct store_file *file, struct stat *stat);
struct file_id lath_file_id_of(const struct stat *stat);
bool lath_file_same(const struct file_id *a, const struct file_id *b);
/* Returns whether the name in the directory refers to the descriptor's file. */
bool lath_file_named(const struct store_file *file, int fd, const char *name);

/* ---- the lock ---- */

/* Locks the snapshot for this process, until lath_file_unlock(). 0 | -EBUSY | -errno; with a reason
 * */
int lath_file_lock(struct store_file *file);
void lath_file_unlock(struct store_file *file);
/* Locks the snapshot for this process and its future children; lath_file_own() tells which of them
 * may write. 0 | as lath_file_lock() */
int lath_file_lock_family(struct store_file *file);
/* Returns whether this process may write now: 0 | -EBUSY | -ESTALE | -errno; with a reason */
int lath_file_own(struct store_file *file);
/* Closes the lock's descriptors; removes the lock file if this process may write. */
void lath_file_leave_family(struct store_file *file);

/* ---- replace.c ---- */

struct replacement {
	int fd; /* write here */
	char name[NAME_MAX + 1];
	bool placed; /* it has replaced the old file */
};

/* Makes a new, empty file with the owner, group, mode and attributes of the old one. The caller
 * holds the lock. 0 | -errno with a reason */
int lath_replace_begin(struct store_file *file, struct replacement *new);
/* commit: syncs the new file, renames it over the old one, and syncs the directory. 0 | -errno with
 * a reason: the old file is there, or, if new->placed, the new one, and only the directory could
 * not be synced. abort: removes the new file. Both end the replacement. */
int lath_replace_commit(struct store_file *file, struct replacement *new);
void lath_replace_abort(struct store_file *file, struct replacement *new);

/*
 * The format of a snapshot (lath_store_save, lath_store_load):
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

/* Writes the snapshot to a new file. 0 | -errno, without a reason */
int lath_snapshot_write(struct lath_store *store, int fd, lath_store_progress_fn progress,
			void *arg);
/* Loads the snapshot; sets file->seen. 0 | as lath_store_load, with a reason */
int lath_snapshot_load(struct lath_store *store, struct store_file *file,
		       lath_store_progress_fn progress, void *arg);

#endif /* LATH_STORE_FILE_H */
