/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.h - the file of a snapshot: where it really is, which process may write it, and how it is
 * replaced.
 *
 * All names are relative to the descriptor of one directory, which is opened once: no path is
 * walked a second time, so nobody can lead a save elsewhere by exchanging a part of the path, and a
 * process may change its directory.
 *
 *   NAME              the snapshot, a regular file; only ever replaced as a whole, by rename
 *   NAME.lock         while a store or a save may write NAME (file_lock.c)
 *   NAME.tmp-XXXXXX   while a save runs (replace.c)
 */
#ifndef LATH_STORE_FILE_H
#define LATH_STORE_FILE_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sys/sys.h"

/* Which file, and (of a snapshot) which content: replaced snapshots are other files. ino 0:
 * none. */
struct file_id {
	u64 dev, ino;
	u64 size;
	struct timespec written;
};

struct store_file {
	char label[256]; /* the path as it was given, for sentences */
	char name[NAME_MAX + 1];
	int dir; /* O_PATH; -1: none */
	struct file_id dir_id;
	struct file_id seen; /* the snapshot when it was read or written last */
	/* file_lock.c */
	int lock, member; /* -1: none */
	struct file_id lock_id, member_id;
	pid_t owner; /* the process that wrote its number into the lock file */
	bool swept;  /* since it was locked, files of dead saves have been removed */
};

/* ---- file.c ---- */

/* Symbolic links are followed, the last one too; NAME need not be there. 0 | -errno and a sentence;
 * close it in both cases. */
int file_resolve(struct store_file *file, const char *path);
/* The descriptors alone. */
void file_forget(struct store_file *file);
/* 0 and *stat | -ENOENT, without a sentence | -EINVAL: not a regular file | -errno; with one */
int file_look(const struct store_file *file, struct stat *stat);
/* For reading, with *stat: a descriptor | as above, all with a sentence */
int file_open(const struct store_file *file, struct stat *stat);
struct file_id file_id_of(const struct stat *stat);
bool file_same(const struct file_id *a, const struct file_id *b);
/* The same file with the same content, or neither there. */
bool file_unchanged(const struct file_id *a, const struct file_id *b);
/* Is the descriptor open, and still on this file? Programs close what they do not know. */
bool file_still(int fd, const struct file_id *id);

/* ---- file_lock.c ---- */

/* For this process alone, until file_unlock: 0 | -EBUSY | -errno; each with a sentence. */
int file_lock(struct store_file *file);
void file_unlock(struct store_file *file);
/* For this process and those that it will be the parent of: file_own says which one may write. 0 |
 * as file_lock */
int file_lock_family(struct store_file *file);
/* May this process write now? 0 | -EBUSY | -ESTALE | -errno; each with a sentence. */
int file_own(struct store_file *file);
/* Removes the lock file, if this process may write; the descriptors go in any case. */
void file_leave_family(struct store_file *file);

/* ---- replace.c ---- */

struct replacement {
	int fd; /* write here */
	char name[NAME_MAX + 1];
};

/* A new, empty file with owner, group, mode and attributes of the old one. The caller holds the
 * lock. 0 | -errno */
int replace_begin(struct store_file *file, struct replacement *new);
/* To the disk, and over the old one. Both end the replacement. 0 | -errno, and the old one is
 * there */
int replace_commit(struct store_file *file, struct replacement *new);
void replace_abort(struct store_file *file, struct replacement *new);

#endif /* LATH_STORE_FILE_H */
