/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * replace.c - a new file, which replaces the old one after it has been synced.
 *
 * The new file gets its owner and mode before it gets any content. A killed save leaves its file,
 * NAME.tmp-XXXXXX, which the next save removes if it is certainly one (doc/store.md).
 */
#define _GNU_SOURCE
#include "store/place/file.h"
#include "store/memory/reason.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIDDLE ".tmp-"
#define TAIL 6 /* number of letters and digits behind it */
#define TRIES 100
#define ATTRIBUTE_MAX (64u << 10) /* the kernel's limit for a list of names and for a value */
#define ACL "system.posix_acl_access"

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* ---- files of saves that were killed ---- */

static bool is_temporary(const struct store_file *file, const char *name)
{
	size_t size = strlen(file->name);

	return !strncmp(name, file->name, size) &&
	       !strncmp(name + size, MIDDLE, sizeof(MIDDLE) - 1) &&
	       strspn(name + size + sizeof(MIDDLE) - 1, digits) == TAIL &&
	       strlen(name) == size + sizeof(MIDDLE) - 1 + TAIL;
}

static bool is_dead(int fd, const struct stat *stat, const struct stat *old)
{
	char magic[sizeof(SNAPSHOT_MAGIC) - 1];
	ssize_t n;

	if (!S_ISREG(stat->st_mode) || stat->st_nlink != 1 ||
	    (stat->st_uid != geteuid() && (!old || stat->st_uid != old->st_uid)))
		return false;
	n = pread(fd, magic, sizeof(magic), 0);
	return n >= 0 && !memcmp(magic, SNAPSHOT_MAGIC, (size_t)n) && !flock(fd, LOCK_EX | LOCK_NB);
}

static void remove_if_dead(const struct store_file *file, const char *name, const struct stat *old)
{
	int fd = openat(file->dir.fd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat mine;

	if (fd < 0)
		return;
	/* what was looked at must still have the name */
	if (!fstat(fd, &mine) && is_dead(fd, &mine, old) && lath_file_named(file, fd, name))
		unlinkat(file->dir.fd, name, 0);
	close(fd);
}

/* Removes the files of killed saves. The snapshot's lock is held, so no save runs. Failures are
 * ignored. */
static void remove_dead(struct store_file *file, const struct stat *old)
{
	const struct dirent *entry;
	DIR *dir;
	int fd;

	LATH_ASSERT(file->lock.fd >= 0);
	if (file->swept)
		return;
	fd = openat(file->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (is_temporary(file, entry->d_name))
			remove_if_dead(file, entry->d_name, old);
	closedir(dir);
	file->swept = true;
}

/* ---- owner, mode, attributes ---- */

/* Returns whether an error means that the process or the file system does not permit it. Such
 * errors are not failures. */
static bool not_permitted(int error)
{
	return error == EPERM || error == EACCES || error == EOPNOTSUPP || error == EINVAL;
}

/* Makes an extended attribute as it is in the old file, or absent. `value` has room for
 * ATTRIBUTE_MAX. 0 | 1: not permitted | -errno */
static int copy_attribute(int from, int to, const char *name, char *value)
{
	ssize_t n = fgetxattr(from, name, value, ATTRIBUTE_MAX);
	int ret = -1;

	if (n >= 0)
		ret = fsetxattr(to, name, value, (size_t)n, 0);
	else if (errno == ENODATA)
		ret = fremovexattr(to, name); /* remove what new files inherit from the directory */
	if (!ret || errno == ENODATA || errno == EOPNOTSUPP)
		return 0;
	return not_permitted(errno) ? 1 : -errno;
}

static int copy_user_attributes(int from, int to, char *names, char *value)
{
	ssize_t size = flistxattr(from, names, ATTRIBUTE_MAX), at;
	int ret = 0;

	for (at = 0; at < size && ret >= 0; at += (ssize_t)strlen(names + at) + 1)
		if (!strncmp(names + at, "user.", 5))
			ret = copy_attribute(from, to, names + at, value);
	return min(ret, 0);
}

/* Copies the access control list (ACL) and user.* attributes. 0 | 1: the ACL could not be copied |
 * -errno */
static int copy_attributes(const struct store_file *file, int to)
{
	int from = openat(file->dir.fd, file->name,
			  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char *room;
	int acl, ret;

	if (from < 0)
		return not_permitted(errno) ? 1 : -errno;
	room = memory_refused() ? NULL : malloc(2 * ATTRIBUTE_MAX);
	acl = room ? copy_attribute(from, to, ACL, room) : -ENOMEM;
	ret = acl < 0 ? acl : copy_user_attributes(from, to, room, room + ATTRIBUTE_MAX);
	free(room);
	close(from);
	return ret ? ret : acl;
}

/* Copies owner, group, attributes and mode. If the group or the ACL could not be copied, the group
 * gets no rights, because these, which bound those of an ACL's entries, would go to users that had
 * none. 0 | -errno with a reason */
static int copy_rights(const struct store_file *file, int to, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;
	bool group = !fchown(to, old->st_uid, old->st_gid) || !fchown(to, (uid_t)-1, old->st_gid);
	int ret = copy_attributes(file, to);

	/* others may have had fewer rights than the group */
	if (!group || ret > 0)
		mode &= ~(mode_t)0070;
	if (ret >= 0)
		ret = fchmod(to, mode) && !not_permitted(errno) ? -errno : 0;
	return ret ? lath_file_failed(file, ": owner, mode or attributes of the new file", ret) : 0;
}

/* ---- the new file ---- */

static int make(const struct store_file *file, struct replacement *new)
{
	u8 random[TAIL];
	unsigned int tries, i;
	int n;

	for (tries = 0; tries < TRIES; tries++) {
		char tail[TAIL + 1] = "";

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		for (i = 0; i < TAIL; i++)
			tail[i] = digits[random[i] % (sizeof(digits) - 1)];
		n = snprintf(new->name, sizeof(new->name), "%s" MIDDLE "%s", file->name, tail);
		if (n >= (int)sizeof(new->name))
			return -ENAMETOOLONG;
		new->fd = openat(file->dir.fd, new->name,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (new->fd >= 0)
			return 0;
		if (errno != EEXIST && errno != EINTR)
			return -errno;
	}
	return -EEXIST;
}

int lath_replace_begin(struct store_file *file, struct replacement *new)
{
	struct stat old;
	bool there;
	int ret;

	LATH_ASSERT(file->lock.fd >= 0);
	ret = lath_file_look(file, &old);
	new->placed = false;
	if (ret && ret != -ENOENT)
		return ret;
	there = !ret;
	remove_dead(file, there ? &old : NULL);
	ret = make(file, new);
	if (ret)
		return lath_file_failed(file, ": a new file beside it", ret);
	if (flock(new->fd, LOCK_EX | LOCK_NB))
		ret = lath_file_failed(file, ": the new file", -errno);
	else if (there)
		ret = copy_rights(file, new->fd, &old);
	if (ret)
		lath_replace_abort(file, new);
	return ret;
}

void lath_replace_abort(struct store_file *file, struct replacement *new)
{
	LATH_ASSERT(!new->placed);
	LATH_ASSERT(new->fd >= 0);
	unlinkat(file->dir.fd, new->name, 0);
	close(new->fd);
}

static int sync_file(int fd)
{
	return UNINTERRUPTED(fsync(fd)) ? -errno : 0;
}

/* Syncs the directory. Some file systems do not support that: their names need no sync. */
static int sync_directory(const struct store_file *file)
{
	int fd = openat(file->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = sync_file(fd);
	close(fd);
	return ret == -EINVAL ? 0 : ret;
}

int lath_replace_commit(struct store_file *file, struct replacement *new)
{
	struct stat stat;
	int ret = sync_file(new->fd);

	if (ret)
		ret = lath_file_failed(file, ": cannot be written to the disk", ret);
	else
		/* has another kind of file appeared there since the beginning? */
		ret = lath_file_look(file, &stat);
	if (!ret || ret == -ENOENT)
		ret = renameat(file->dir.fd, new->name, file->dir.fd, file->name)
			      ? lath_file_failed(file, ": the new file", -errno)
			      : 0;
	if (ret) {
		lath_replace_abort(file, new);
		return ret;
	}
	/* from here on the new file is the snapshot, whatever fails */
	new->placed = true;
	if (!fstat(new->fd, &stat))
		file->seen = lath_file_id_of(&stat);
	close(new->fd);
	ret = sync_directory(file);
	if (ret)
		return lath_refuse(ret,
				   "%s: the new file is in place, but its directory cannot be "
				   "written to the disk: %s; if the machine stops before that is "
				   "done, the old file may be there again",
				   file->label, strerror(-ret));
	return 0;
}
