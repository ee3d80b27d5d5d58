/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file_lock.c - resolves a path to a directory and a name in it; which process may write a snapshot.
 */
#define _GNU_SOURCE
#include "store/place/file.h"

#include "store/memory/reason.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINKS_MAX 40 /* the kernel's limit */

struct file_id lath_file_id_of(const struct stat *stat)
{
	return (struct file_id){ stat->st_dev, stat->st_ino, (u64)stat->st_size, stat->st_mtim };
}

bool lath_file_same(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Keeps a descriptor and notes what it refers to. 0 | -errno, that of the open if fd is -1 */
static int hold(struct held *held, int fd)
{
	struct stat stat;

	held->fd = fd;
	if (fd < 0 || fstat(fd, &stat))
		return -errno;
	held->id = lath_file_id_of(&stat);
	return 0;
}

/* Returns whether the descriptor is open and still refers to the file. */
static bool still_held(const struct held *held)
{
	struct held now;

	return held->fd >= 0 && !hold(&now, held->fd) && lath_file_same(&now.id, &held->id);
}

static void let_go(struct held *held)
{
	if (still_held(held))
		close(held->fd);
	held->fd = -1;
}

static void take_label(struct store_file *file, const char *path)
{
	size_t size = strlen(path);
	bool fits = size < sizeof(file->label);

	/* the end of a long path tells more than its begin */
	snprintf(file->label, sizeof(file->label), "%s%s", fits ? "" : "...",
		 fits ? path : path + size - sizeof(file->label) + 4);
}

int lath_file_failed(const struct store_file *file, const char *what, int error)
{
	LATH_ASSERT(error < 0);
	return lath_refuse(error, "%s%s: %s", file->label, what,
			   error == -EINTR ? "interrupted" : strerror(-error));
}

static int check_kind(const struct store_file *file, const struct stat *stat)
{
	mode_t kind = stat->st_mode & S_IFMT;

	if (kind == S_IFREG)
		return 0;
	return lath_refuse(-EINVAL, "%s: %s, not a regular file", file->label,
			   kind == S_IFDIR    ? "a directory"
			   : kind == S_IFCHR  ? "a character device"
			   : kind == S_IFBLK  ? "a block device"
			   : kind == S_IFIFO  ? "a pipe"
			   : kind == S_IFSOCK ? "a socket"
					      : "something else");
}

/* Resolves a path from file->dir.fd (at first the working directory): its directory becomes file->dir.fd,
 * its last component file->name. 0 | -errno */
static int enter(struct store_file *file, char *path)
{
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dir = slash == path ? "/"
							    : slash	  ? path
									  : ".";
	int fd;

	LATH_ASSERT(!strchr(name, '/'));
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(file->name, name, strlen(name) + 1);
	if (slash && slash != path)
		*slash = '\0';
	fd = openat(file->dir.fd < 0 ? AT_FDCWD : file->dir.fd, dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	let_go(&file->dir);
	return hold(&file->dir, fd);
}

/* Refuses, as fs.protected_symlinks of the kernel, a symbolic link of another user in a sticky
 * directory that all may write to, like /tmp. 0 | -EACCES | -errno */
static int check_link(const struct store_file *file)
{
	const mode_t shared = S_ISVTX | 0002;
	struct stat dir, link;

	if (fstat(file->dir.fd, &dir) ||
	    fstatat(file->dir.fd, file->name, &link, AT_SYMLINK_NOFOLLOW))
		return lath_file_failed(file, "", -errno);
	if ((dir.st_mode & shared) == shared && link.st_uid != geteuid() &&
	    link.st_uid != dir.st_uid)
		return lath_refuse(
			-EACCES,
			"%s: a symbolic link of user %u in a directory that all may write to",
			file->label, (unsigned int)link.st_uid);
	return 0;
}

/* Reads the symbolic link file->name. 1 (to) | 0: it is none | -errno */
static int read_link(const struct store_file *file, char *to, size_t size)
{
	ssize_t n = readlinkat(file->dir.fd, file->name, to, size);
	int ret;

	LATH_ASSERT(file->dir.fd >= 0 && file->name[0]);
	if (n < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : lath_file_failed(file, "", -errno);
	if ((size_t)n == size)
		return lath_file_failed(file, "", -ENAMETOOLONG);
	to[n] = '\0';
	ret = check_link(file);
	return ret ? ret : 1;
}

int lath_file_resolve(struct store_file *file, const char *path)
{
	char at[PATH_MAX];
	unsigned int links = 0;
	struct stat there;
	int ret;

	memset(file, 0, sizeof(*file));
	file->dir.fd = file->lock.fd = file->member.fd = -1;
	take_label(file, path);
	if (!*path)
		return lath_refuse(-EINVAL, "a file needs a path");
	if (strlen(path) >= sizeof(at))
		return lath_file_failed(file, "", -ENAMETOOLONG);
	/* check the kind before anything is made; this also refuses links of /proc that are not
	 * paths (/dev/stdout) */
	ret = stat(path, &there) ? 0 : check_kind(file, &there);
	if (ret)
		return ret;
	memcpy(at, path, strlen(path) + 1);
	do {
		ret = enter(file, at);
		if (ret)
			return lath_file_failed(file, "", ret);
		if (!file->name[0])
			return lath_refuse(-EINVAL, "%s: a directory, not a regular file",
					   file->label);
		ret = read_link(file, at, sizeof(at));
	} while (ret > 0 && ++links < LINKS_MAX);
	return ret > 0 ? lath_file_failed(file, "", -ELOOP) : ret;
}

void lath_file_forget(struct store_file *file)
{
	let_go(&file->dir);
}

int lath_file_look(const struct store_file *file, struct stat *stat)
{
	LATH_ASSERT(file->dir.fd >= 0);
	if (fstatat(file->dir.fd, file->name, stat, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? -ENOENT : lath_file_failed(file, "", -errno);
	return check_kind(file, stat);
}

/* Checks the kind first: opening a device or a pipe may have an effect. */
int lath_file_open(const struct store_file *file, struct stat *stat)
{
	int ret = lath_file_look(file, stat), fd;

	if (ret)
		return ret == -ENOENT ? lath_file_failed(file, "", ret) : ret;
	fd = openat(file->dir.fd, file->name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return lath_file_failed(file, "", -errno);
	/* again: the name may have got another file since */
	ret = fstat(fd, stat) ? lath_file_failed(file, "", -errno) : check_kind(file, stat);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

/* ---- the lock of a snapshot ----
 *
 * A save replaces the snapshot by rename, so the lock is on another file, NAME.lock: an open file
 * description lock (F_OFD_SETLK) for the family of processes, which fork() shares without a gap; and
 * for its member that may write a record lock (F_SETLK) on a file without a name (memfd), of which
 * nobody can close a second descriptor (doc/store.md, One writer).
 *
 * The holder removes NAME.lock before it unlocks. A process that locks a file which has lost its
 * name starts again, so two processes never hold locks on two files of one name. A child that finds
 * the lock file without its name knows that its parent has closed the store. */

#define LOCK_TEXT "lathwork lock, process "
#define LOCK_SIZE (sizeof(LOCK_TEXT) - 1 + 11) /* the number, and a newline */
#define LOCK_TRIES 1000
/* How long a process waits for its parent to end, in milliseconds. */
#define PARENT_MS 250

static int lock_name(const struct store_file *file, char *name)
{
	LATH_ASSERT(file->name[0]);
	return snprintf(name, NAME_MAX + 1, "%s.lock", file->name) > NAME_MAX
		       ? lath_file_failed(file, ".lock", -ENAMETOOLONG)
		       : 0;
}

static int set_lock(int fd, int command, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	LATH_ASSERT(fd >= 0 && (type == F_WRLCK || type == F_UNLCK));
	if (!UNINTERRUPTED(fcntl(fd, command, &lock)))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

/* Returns the process number in a lock file; 0: none. */
static long owner_in(int fd)
{
	char text[LOCK_SIZE + 1] = "";
	ssize_t n = pread(fd, text, LOCK_SIZE, 0);

	return n == (ssize_t)LOCK_SIZE && !memcmp(text, LOCK_TEXT, sizeof(LOCK_TEXT) - 1)
		       ? strtol(text + sizeof(LOCK_TEXT) - 1, NULL, 10)
		       : 0;
}

static int busy(const struct store_file *file, int fd)
{
	char who[40] = "another process";
	long pid = owner_in(fd);

	if (pid)
		snprintf(who, sizeof(who), "process %ld", pid);
	return lath_refuse(-EBUSY, "%s: in use by %s (%s.lock)", file->label, who, file->name);
}

static int write_owner(struct store_file *file)
{
	char text[LOCK_SIZE + 1];
	ssize_t n;

	LATH_ASSERT(file->lock.fd >= 0);
	snprintf(text, sizeof(text), LOCK_TEXT "%10u\n", (unsigned int)getpid());
	n = UNINTERRUPTED(pwrite(file->lock.fd, text, LOCK_SIZE, 0));
	if (n != (ssize_t)LOCK_SIZE)
		return lath_file_failed(file, ".lock", n < 0 ? -errno : -ENOSPC);
	file->owner = getpid();
	return 0;
}

/* Gives the lock file the owner and mode of the snapshot: users that may write that must be able to
 * take over its lock. */
static void share_with_users(const struct store_file *file, int fd)
{
	struct stat there;

	if (fstatat(file->dir.fd, file->name, &there, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(there.st_mode))
		return;
	if (fchown(fd, there.st_uid, there.st_gid) && fchown(fd, (uid_t)-1, there.st_gid))
		there.st_mode &= ~(mode_t)0070;
	(void)!fchmod(fd, there.st_mode & 0666); /* on failure only the owner may use it */
}

/* Opens the lock file; makes it if need be. Refuses links and files of another kind. A descriptor |
 * -errno with a reason */
static int open_lock(const struct store_file *file, const char *name)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	bool made = false;
	struct stat stat;
	int fd;

	do {
		fd = openat(file->dir.fd, name, flags);
		if (fd < 0 && errno == ENOENT) {
			fd = openat(file->dir.fd, name, flags | O_CREAT | O_EXCL, 0600);
			made = fd >= 0;
		}
	} while (fd < 0 && (errno == EEXIST || errno == EINTR));
	if (fd < 0)
		return errno == ELOOP
			       ? lath_refuse(-EINVAL, "%s.lock: a symbolic link", file->label)
			       : lath_file_failed(file, ".lock", -errno);
	if (made)
		share_with_users(file, fd);
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && stat.st_nlink <= 1 &&
	    (!stat.st_size || owner_in(fd)))
		return fd;
	close(fd);
	return lath_refuse(-EINVAL, "%s.lock: not a lock file of lathwork", file->label);
}

bool lath_file_named(const struct store_file *file, int fd, const char *name)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !fstatat(file->dir.fd, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

int lath_file_lock(struct store_file *file)
{
	char name[NAME_MAX + 1];
	int fd, ret = lock_name(file, name), tries = LOCK_TRIES;

	LATH_ASSERT(file->lock.fd < 0);
	if (ret)
		return ret;
	for (;;) {
		fd = open_lock(file, name);
		if (fd < 0)
			return fd;
		ret = set_lock(fd, F_OFD_SETLK, F_WRLCK);
		/* without its name it was removed by its holder: lock the next one */
		if (!ret && lath_file_named(file, fd, name))
			break;
		if (ret == -EBUSY || (!ret && !--tries))
			ret = busy(file, fd);
		else if (ret)
			ret = lath_file_failed(file, ".lock", ret);
		close(fd);
		if (ret)
			return ret;
	}
	file->swept = false;
	ret = hold(&file->lock, fd);
	if (ret)
		lath_file_failed(file, ".lock", ret);
	else
		ret = write_owner(file);
	if (ret)
		lath_file_unlock(file);
	return ret;
}

void lath_file_unlock(struct store_file *file)
{
	char name[NAME_MAX + 1];

	if (still_held(&file->lock)) {
		if (!lock_name(file, name) && lath_file_named(file, file->lock.fd, name))
			unlinkat(file->dir.fd, name, 0);
		/* explicitly: children may share the description */
		set_lock(file->lock.fd, F_OFD_SETLK, F_UNLCK);
	}
	let_go(&file->lock);
}

/* ---- a store's own file ---- */

int lath_file_lock_family(struct store_file *file)
{
	int ret = lath_file_lock(file);

	if (ret)
		return ret;
	LATH_ASSERT(file->lock.fd >= 0 && file->member.fd < 0);
	ret = hold(&file->member, memfd_create("lathwork member", MFD_CLOEXEC));
	if (!ret)
		ret = set_lock(file->member.fd, F_SETLK, F_WRLCK);
	if (!ret)
		return 0;
	lath_file_failed(file, ".lock", ret);
	let_go(&file->member);
	lath_file_unlock(file);
	return ret;
}

/* Returns whether the kernel is ending this process (PF_EXITING in /proc/PID/stat), or has. */
static bool is_ending(pid_t pid)
{
	char name[32], text[1024] = "";
	const char *rest;
	unsigned int flags = 0;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return true;
	rest = strrchr(text, ')'); /* the command's name, which may hold anything, ends here */
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & 4;
}

/*
 * Gets the member lock, or says who holds it. A parent keeps the lock until the kernel has ended
 * it, which takes a while after _exit(), for a large process or on a busy machine: its child waits
 * for that, and a moment for a parent that is about to end, as in daemon(). 0 | -EBUSY, *holder is
 * the process | -errno. unreached: a child of a fork enters it, and ends without noting it
 */
static int wait_for_member(const struct store_file *file, pid_t *holder)
{
	unsigned int pauses = 0;

	LATH_ASSERT(file->member.fd >= 0);
	for (;;) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int ret = set_lock(file->member.fd, F_SETLK, F_WRLCK);

		if (ret != -EBUSY)
			return ret;
		*holder = file->owner;
		if (fcntl(file->member.fd, F_GETLK, &lock))
			return ret;
		if (lock.l_type == F_UNLCK) /* meanwhile */
			continue;
		*holder = lock.l_pid;
		if (pauses++ > (is_ending(*holder) ? 10000 : PARENT_MS))
			return ret;
		lath_rest(1000000);
	}
}

/* Gets the member lock: this process becomes the one of its family that may write. 0 | -EBUSY |
 * -errno; with a reason */
static int be_member(const struct store_file *file)
{
	pid_t holder;
	int ret;

	if (!still_held(&file->member) || !still_held(&file->dir))
		return lath_refuse(-EBADF, "%s: this process has closed descriptors of the store",
				   file->label);
	ret = wait_for_member(file, &holder);
	if (ret != -EBUSY)
		return ret ? lath_file_failed(file, ".lock", ret) : 0;
	return lath_refuse(-EBUSY, "%s: in use by process %ld, related to this one by fork()",
			   file->label, (long)holder);
}

/* Returns whether the family holds the lock. */
static bool family_holds(const struct store_file *file)
{
	char name[NAME_MAX + 1];

	return still_held(&file->lock) && !lock_name(file, name) &&
	       lath_file_named(file, file->lock.fd, name) &&
	       !set_lock(file->lock.fd, F_OFD_SETLK, F_WRLCK);
}

/* Checks that no process has written the snapshot since this one, or the one it was forked from,
 * read or wrote it. 0 | -ESTALE | -errno; with a reason */
static int check_unchanged(const struct store_file *file)
{
	struct file_id none = { 0 }, now = none;
	struct stat stat;

	if (!fstatat(file->dir.fd, file->name, &stat, AT_SYMLINK_NOFOLLOW))
		now = lath_file_id_of(&stat);
	else if (errno != ENOENT)
		return lath_file_failed(file, "", -errno);
	if (lath_file_same(&now, &file->seen) && now.size == file->seen.size &&
	    now.written.tv_sec == file->seen.written.tv_sec &&
	    now.written.tv_nsec == file->seen.written.tv_nsec)
		return 0;
	return lath_refuse(-ESTALE, "%s: another process has written it since this one read it",
			   file->label);
}

int lath_file_own(struct store_file *file)
{
	bool held;
	int ret = be_member(file);

	if (ret)
		return ret;
	held = family_holds(file);
	if (held && file->owner == getpid())
		return 0;
	if (!held) { /* the parent has closed the store: its own lock */
		let_go(&file->lock);
		ret = lath_file_lock(file);
	} else {
		ret = write_owner(file);
	}
	if (ret)
		return ret;
	LATH_ASSERT(file->owner == getpid() && file->lock.fd >= 0);
	ret = check_unchanged(file);
	if (ret)
		lath_file_unlock(file);
	return ret;
}

void lath_file_leave_family(struct store_file *file)
{
	/* only the member that may write removes the lock file; the others close what they have */
	if (still_held(&file->member) && !set_lock(file->member.fd, F_SETLK, F_WRLCK) &&
	    family_holds(file))
		lath_file_unlock(file);
	let_go(&file->lock);
	let_go(&file->member);
}
