/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.h - the file of a snapshot: where it is, which process may write it, and how it is replaced.
 *
 * All names are relative to the descriptor of one directory, which is opened once. No path is
 * resolved twice, so nobody can redirect a save by replacing a part of the path, and a process may
 * change its working directory.
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

#include "sys/sys.h"

/* Identifies a file, and the content of a snapshot: a replaced snapshot is another file. ino 0:
 * none. */
struct file_id {
	u64 dev, ino;
	u64 size;
	struct timespec written;
};

struct store_file {
	char label[256]; /* the path as given, for messages */
	char name[NAME_MAX + 1];
	int dir; /* O_PATH; -1: none */
	struct file_id dir_id;
	struct file_id seen; /* the snapshot when it was last read or written */
	/* file_lock.c */
	int lock, member; /* -1: none */
	struct file_id lock_id, member_id;
	pid_t owner; /* the process whose number this process wrote into the lock file */
	bool swept;  /* files of killed saves have been removed since it was locked */
};

/* ---- file.c ---- */

/* Opens the directory of a path and finds the name in it. Symbolic links are followed, the last one
 * too; NAME need not exist. Call file_forget() in any case. 0 | -errno with a reason */
int file_resolve(struct store_file *file, const char *path);
/* Closes the directory. */
void file_forget(struct store_file *file);
/* Gets the snapshot's *stat. 0 | -ENOENT, without a reason | -EINVAL: not a regular file | -errno;
 * with a reason */
int file_look(const struct store_file *file, struct stat *stat);
/* Opens the snapshot for reading and gets its *stat. A descriptor | as file_look(), always with a
 * reason */
int file_open(const struct store_file *file, struct stat *stat);
struct file_id file_id_of(const struct stat *stat);
bool file_same(const struct file_id *a, const struct file_id *b);
/* Returns whether both are the same file with the same content, or both none. */
bool file_unchanged(const struct file_id *a, const struct file_id *b);
/* Returns whether the descriptor is open and still refers to this file: programs close descriptors
 * that they do not know. */
bool file_still(int fd, const struct file_id *id);

/* ---- file_lock.c ---- */

/* Locks the snapshot for this process, until file_unlock(). 0 | -EBUSY | -errno; with a reason */
int file_lock(struct store_file *file);
void file_unlock(struct store_file *file);
/* Locks the snapshot for this process and its future children; file_own() tells which of them may
 * write. 0 | as file_lock() */
int file_lock_family(struct store_file *file);
/* Returns whether this process may write now: 0 | -EBUSY | -ESTALE | -errno; with a reason */
int file_own(struct store_file *file);
/* Closes the lock's descriptors; removes the lock file if this process may write. */
void file_leave_family(struct store_file *file);

/* ---- replace.c ---- */

struct replacement {
	int fd; /* write here */
	char name[NAME_MAX + 1];
	bool placed; /* it has replaced the old file */
};

/* Makes a new, empty file with the owner, group, mode and attributes of the old one. The caller
 * holds the lock. 0 | -errno with a reason */
int replace_begin(struct store_file *file, struct replacement *new);
/* commit: syncs the new file, renames it over the old one, and syncs the directory. 0 | -errno with
 * a reason: the old file is there, or, if new->placed, the new one, and only the directory could
 * not be synced. abort: removes the new file. Both end the replacement. */
int replace_commit(struct store_file *file, struct replacement *new);
void replace_abort(struct store_file *file, struct replacement *new);

#endif /* LATH_STORE_FILE_H */
