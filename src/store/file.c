/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.c - resolves a path to a directory and a name in it.
 */
#define _GNU_SOURCE
#include "store/file.h"

#include "store/reason.h"

#include <fcntl.h>
#include <unistd.h>

#define LINKS_MAX 40 /* the kernel's limit */

struct file_id file_id_of(const struct stat *stat)
{
	return (struct file_id){ stat->st_dev, stat->st_ino, (u64)stat->st_size, stat->st_mtim };
}

bool file_same(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

bool file_unchanged(const struct file_id *a, const struct file_id *b)
{
	return file_same(a, b) && a->size == b->size && a->written.tv_sec == b->written.tv_sec &&
	       a->written.tv_nsec == b->written.tv_nsec;
}

bool file_still(int fd, const struct file_id *id)
{
	struct stat stat;
	struct file_id now;

	if (fd < 0 || fstat(fd, &stat))
		return false;
	now = file_id_of(&stat);
	return file_same(&now, id);
}

static void take_label(struct store_file *file, const char *path)
{
	size_t size = strlen(path);

	/* the end of a long path tells more than its begin */
	if (size < sizeof(file->label))
		memcpy(file->label, path, size + 1);
	else
		snprintf(file->label, sizeof(file->label), "...%s",
			 path + size - sizeof(file->label) + 4);
}

static int failed(const struct store_file *file, int error)
{
	LATH_ASSERT(error < 0);
	return store_refuse(error, "%s: %s", file->label, strerror(-error));
}

static int check_kind(const struct store_file *file, const struct stat *stat)
{
	mode_t kind = stat->st_mode & S_IFMT;

	if (kind == S_IFREG)
		return 0;
	return store_refuse(-EINVAL, "%s: %s, not a regular file", file->label,
			    kind == S_IFDIR    ? "a directory"
			    : kind == S_IFCHR  ? "a character device"
			    : kind == S_IFBLK  ? "a block device"
			    : kind == S_IFIFO  ? "a pipe"
			    : kind == S_IFSOCK ? "a socket"
					       : "something else");
}

/* Resolves a path from file->dir (at first the working directory): its directory becomes file->dir,
 * its last component file->name. 0 | -errno */
static int enter(struct store_file *file, char *path)
{
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dir = slash == path ? "/"
							    : slash	  ? path
									  : ".";
	struct stat stat;
	int fd;

	LATH_ASSERT(!strchr(name, '/'));
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(file->name, name, strlen(name) + 1);
	if (slash && slash != path)
		*slash = '\0';
	fd = openat(file->dir < 0 ? AT_FDCWD : file->dir, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (file->dir >= 0)
		close(file->dir);
	file->dir = fd;
	if (fstat(fd, &stat))
		return -errno;
	file->dir_id = file_id_of(&stat);
	return 0;
}

/* Refuses, as fs.protected_symlinks of the kernel, a symbolic link of another user in a sticky
 * directory that all may write to, like /tmp. 0 | -EACCES | -errno */
static int check_link(const struct store_file *file)
{
	const mode_t shared = S_ISVTX | 0002;
	struct stat dir, link;

	if (fstat(file->dir, &dir) || fstatat(file->dir, file->name, &link, AT_SYMLINK_NOFOLLOW))
		return failed(file, -errno);
	if ((dir.st_mode & shared) == shared && link.st_uid != geteuid() &&
	    link.st_uid != dir.st_uid)
		return store_refuse(
			-EACCES,
			"%s: a symbolic link of user %u in a directory that all may write to",
			file->label, (unsigned int)link.st_uid);
	return 0;
}

/* Reads the symbolic link file->name. 1 (to) | 0: it is none | -errno */
static int read_link(const struct store_file *file, char *to, size_t size)
{
	ssize_t n = readlinkat(file->dir, file->name, to, size);
	int ret;

	LATH_ASSERT(file->dir >= 0 && file->name[0]);
	if (n < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : failed(file, -errno);
	if ((size_t)n == size)
		return failed(file, -ENAMETOOLONG);
	to[n] = '\0';
	ret = check_link(file);
	return ret ? ret : 1;
}

int file_resolve(struct store_file *file, const char *path)
{
	char at[PATH_MAX];
	unsigned int links = 0;
	struct stat there;
	int ret;

	memset(file, 0, sizeof(*file));
	file->dir = file->lock = file->member = -1;
	take_label(file, path);
	if (!*path)
		return store_refuse(-EINVAL, "a file needs a path");
	if (strlen(path) >= sizeof(at))
		return failed(file, -ENAMETOOLONG);
	/* check the kind before anything is made; this also refuses links of /proc that are not
	 * paths (/dev/stdout) */
	ret = stat(path, &there) ? 0 : check_kind(file, &there);
	if (ret)
		return ret;
	memcpy(at, path, strlen(path) + 1);
	do {
		ret = enter(file, at);
		if (ret)
			return failed(file, ret);
		if (!file->name[0])
			return store_refuse(-EINVAL, "%s: a directory, not a regular file",
					    file->label);
		ret = read_link(file, at, sizeof(at));
	} while (ret > 0 && ++links < LINKS_MAX);
	return ret > 0 ? failed(file, -ELOOP) : ret;
}

void file_forget(struct store_file *file)
{
	if (file_still(file->dir, &file->dir_id))
		close(file->dir);
	file->dir = -1;
}

int file_look(const struct store_file *file, struct stat *stat)
{
	LATH_ASSERT(file->dir >= 0);
	if (fstatat(file->dir, file->name, stat, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? -ENOENT : failed(file, -errno);
	return check_kind(file, stat);
}

/* Checks the kind first: opening a device or a pipe may have an effect. */
int file_open(const struct store_file *file, struct stat *stat)
{
	int ret = file_look(file, stat), fd;

	if (ret)
		return ret == -ENOENT ? failed(file, ret) : ret;
	fd = openat(file->dir, file->name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return failed(file, -errno);
	/* again: the name may have got another file since */
	ret = fstat(fd, stat) ? failed(file, -errno) : check_kind(file, stat);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}
