/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* shm_object.c - shared objects: made, mapped at their address, unmapped, removed. */
#define _GNU_SOURCE
#include "store/memory/reason.h"
#include "store/place/shm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* The address range for objects: on 64-bit machines it lies between programs and libraries, however
 * they are randomised. ThreadSanitizer leaves programs no addresses there. */
#if LATH_CHECKED
#define WINDOW 0x7a8000000000ull
#define WINDOW_SIZE (3ull << 40)
#else
#define WINDOW 0x660000000000ull
#define WINDOW_SIZE (8ull << 40)
#endif
#define WINDOW_TRIES 64
#define ADDRESSES (1ull << 47) /* addresses of a process, at least */

/* The objects that this process has mapped. Handles share them. */
static pthread_mutex_t attached_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm *attached;

/* ---- checks of names, options and objects ---- */

static u32 layout_of_this_build(void)
{
	const u64 parts[] = { sizeof(struct shm_head),
			      sizeof(pthread_mutex_t),
			      sizeof(struct lath_index),
			      sizeof(void *),
			      lath_index_layout(),
			      SHARDS,
			      SLAB_CLASSES,
			      LATH_VERSION_MAJOR,
			      LATH_VERSION_MINOR,
			      LATH_VERSION_PATCH };
	u64 hash = 0x9e3779b97f4a7c15ull;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		hash = (hash ^ parts[i]) * 0xff51afd7ed558ccdull;
	return (u32)(hash >> 32);
}

static int check_name(const char *name, char *path)
{
	size_t size = strlen(name), i = 0;

	while (i < size && name[i] != '/' && (u8)name[i] >= ' ')
		i++;
	if (!size || i < size || size > SHM_NAME_MAX || !strcmp(name, ".") || !strcmp(name, ".."))
		return lath_refuse(-EINVAL,
				   "shm:%s: a name has 1 to %d characters, none of them '/'", name,
				   SHM_NAME_MAX);
	snprintf(path, SHM_NAME_MAX + 2, "/%s", name);
	return 0;
}

static int check_options(const char *name, const struct lath_store_options *options)
{
	if (options->pages == LATH_PAGES_HUGETLB)
		return lath_refuse(-EOPNOTSUPP, "shm:%s: no hugetlb pages in a shared object",
				   name);
	if (options->rcu && options->rcu != &lath_rcu_auto)
		return lath_refuse(-EOPNOTSUPP, "shm:%s: no RCU flavour of the caller's", name);
	return 0;
}

/* A user who may write to the object controls this process, because it contains addresses. So it
 * must belong to this user or to the superuser, unless the caller trusts its owner. 0 | -EBADMSG |
 * -EACCES */
static int check_owner(const char *name, const struct stat *stat,
		       const struct lath_store_options *options)
{
	if (!S_ISREG(stat->st_mode))
		return lath_refuse(-EBADMSG, "shm:%s: not a shared object", name);
	if (stat->st_uid == geteuid() || !stat->st_uid || options->flags & LATH_STORE_FOREIGN)
		return 0;
	return lath_refuse(-EACCES,
			   "shm:%s: belongs to user %u, who could make this process do anything",
			   name, (unsigned int)stat->st_uid);
}

/* Checks the head of an object before any of it is mapped. 0 | -EBADMSG | -EINVAL (the kind of
 * keys) */
static int check_head(const char *name, const struct shm_head *head, u64 size,
		      const struct lath_store_options *options)
{
	if (memcmp(head->magic, SHM_MAGIC, sizeof(head->magic)))
		return lath_refuse(-EBADMSG, "shm:%s: a shared object, but not a store", name);
	if (head->version != SHM_VERSION)
		return lath_refuse(-EBADMSG, "shm:%s: a store of version %u, this is version %u",
				   name, head->version, SHM_VERSION);
	if (head->layout != layout_of_this_build())
		return lath_refuse(-EBADMSG, "shm:%s: made by another build of lathwork", name);
	if (size < sizeof(*head) || size < head->size)
		return lath_refuse(-EBADMSG, "shm:%s: truncated, %" PRIu64 " of %" PRIu64 " bytes",
				   name, size, head->size);
	if (head->size < sizeof(*head) || head->address % BLOCK || head->address <= SHM_OWN ||
	    head->address > ADDRESSES || head->size > ADDRESSES - head->address)
		return lath_refuse(-EBADMSG,
				   "shm:%s: damaged: lies at 0x%" PRIx64 ", %" PRIu64 " bytes",
				   name, head->address, head->size);
	if (head->store.keys != options->keys)
		return lath_refuse(-EINVAL, "shm:%s: a store of %s", name,
				   head->store.keys == LATH_STORE_NUMBERS ? "numbers"
									  : "byte keys");
	return 0;
}

/* ---- mapping ---- */

static void *map_exactly(u64 address, u64 size, int flags, int fd)
{
	void *want = (void *)(uintptr_t)address;
	void *map = mmap(want, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, fd, 0);

	LATH_ASSERT(!(address % lath_page_size()));
	if (map == MAP_FAILED || map == want)
		return map == want ? map : NULL;
	munmap(map, size); /* kernels before 4.17 take the address as a hint */
	errno = EEXIST;
	return NULL;
}

static void unmap(struct shm *shm)
{
	if (shm->head)
		munmap(shm->head, shm->head->size);
	if (shm->own)
		munmap(shm->own, SHM_OWN);
	shm->head = NULL;
	shm->own = NULL;
}

/* Maps the private page and the object. 0 | -EEXIST: the addresses are in use | -ENOMEM */
static int map_object(struct shm *shm, u64 address, u64 size, int fd)
{
	void *own = map_exactly(address - SHM_OWN, SHM_OWN, MAP_PRIVATE | MAP_ANONYMOUS, -1), *head;
	int ret;

	LATH_ASSERT(!shm->own && !shm->head);
	if (!own)
		return -errno;
	head = map_exactly(address, size, MAP_SHARED | MAP_NORESERVE, fd);
	if (!head) {
		ret = -errno;
		munmap(own, SHM_OWN);
		return ret;
	}
	shm->own = own;
	shm->head = head;
	madvise(head, size, MADV_DONTDUMP);
	return 0;
}

/* ---- memory of the inner store ---- */

static u64 offset_in(const struct shm_head *head, const void *at)
{
	return (u64)((const char *)at - (const char *)head);
}

static int take(int fd, u64 from, u64 size)
{
	LATH_NO_CANCEL;

	LATH_ASSERT(size);
	return UNINTERRUPTED(fallocate(fd, 0, (off_t)from, (off_t)size)) ? -ENOMEM : 0;
}

static struct shm_head *head_of(const struct arena *arena)
{
	const struct shm_own *own = container_of(arena->backing, struct shm_own, backing);

	return (struct shm_head *)(void *)((char *)(uintptr_t)own + SHM_OWN);
}

/* Allocates the memory of a block, of its part of the unit table and of the marks: a page fault
 * later could not fail gracefully. arena->lock held. 0 | -ENOMEM */
static int take_block(struct arena *arena, u64 b)
{
	const struct shm_own *own = container_of(arena->backing, struct shm_own, backing);
	struct shm_head *head = head_of(arena);
	u64 base = offset_in(head, arena->base), table = UNITS_A_BLOCK * sizeof(struct unit);
	int ret = take(own->fd, base + b * BLOCK, BLOCK);

	LATH_ASSERT(runs_locked(arena) && b < arena->reserved / BLOCK);
	/* then what describes it: its units, and for records their marks */
	if (!ret)
		ret = take(own->fd, base + b * table, table);
	if (!ret && arena == &head->store.arena)
		ret = take(own->fd, offset_in(head, head->store.mark + b * MARKS_A_BLOCK),
			   BLOCK / 64);
	return ret;
}

static int give_block_back(struct arena *arena, u64 b)
{
	LATH_NO_CANCEL;
	const struct shm_own *own = container_of(arena->backing, struct shm_own, backing);
	u64 from = offset_in(head_of(arena), arena->base) + b * BLOCK;

	LATH_ASSERT(runs_locked(arena) && b < arena->reserved / BLOCK);
	return fallocate(own->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, BLOCK)
		       ? -errno
		       : 0;
}

static void own_init(struct shm *shm, int fd)
{
	struct shm_own *own = shm->own;

	LATH_ASSERT(own && shm->head && fd >= 0);
	lath_shm_flavour(own);
	own->allocator.alloc = lath_arena_node_alloc;
	own->allocator.free = lath_arena_node_free;
	own->allocator.ctx = &shm->head->store.index;
	own->records.key_of = lath_store_key_of;
	own->backing.take = take_block;
	own->backing.give_back = give_block_back;
	own->fd = fd;
}

/* ---- making ---- */

struct geometry {
	u64 reserve;		 /* of each arena */
	u64 hand, blocks, marks; /* offsets */
	u64 arena, index, size;
};

static void measure(struct geometry *g, const struct lath_store_options *options)
{
	const u64 most = 1ull << 40;
	u64 limit = min(options->limit, most), reserve = min(options->reserve, most), n;

	/* reserve twice the limit: free addresses are found even if all is fragmented */
	reserve = max(reserve ? reserve : limit * 2, limit);
	g->reserve = min(round_up(reserve, BLOCK) + 2 * BLOCK, most);
	n = g->reserve / BLOCK;
	g->hand = round_up(sizeof(struct shm_head), 4096);
	g->blocks = g->hand + round_up(KEY_BYTES_MAX, 4096);
	g->arena = round_up(g->blocks + 2 * n, BLOCK);
	g->index = g->arena + g->reserve;
	g->marks = g->index + g->reserve;
	g->size = g->marks + round_up(g->reserve / 64, BLOCK);
	LATH_ASSERT(!(g->arena % BLOCK) && !(g->index % BLOCK) && !(g->marks % BLOCK));
	LATH_ASSERT(g->size < WINDOW_SIZE);
}

static int map_somewhere(struct shm *shm, const char *name, const struct geometry *g, int fd)
{
	u64 hash = 0xcbf29ce484222325ull, slots = (WINDOW_SIZE - g->size) / (64 * BLOCK);
	unsigned int i;
	int ret = -EEXIST;

	for (; *name; name++)
		hash = (hash ^ (u8)*name) * 0x100000001b3ull;
	/* a name begins its search at the same place in each process, so that it is found free
	 * there as often as possible */
	for (i = 0; i < WINDOW_TRIES && ret == -EEXIST; i++) {
		hash ^= hash >> 29;
		hash *= 0xbf58476d1ce4e5b9ull;
		ret = map_object(shm, WINDOW + SHM_OWN + (hash >> 20) % slots * (64 * BLOCK),
				 g->size, fd);
	}
	return ret;
}

/* Fills in the head. The first call makes the index, as after a death. */
static int fill(struct shm *shm, const struct geometry *g, const struct lath_store_options *options)
{
	struct shm_head *head = shm->head;
	struct lath_store *store = &head->store;
	char *base = (char *)head;
	pthread_mutexattr_t attr;
	int ret;

	head->version = SHM_VERSION;
	head->layout = layout_of_this_build();
	head->address = (uintptr_t)head;
	head->size = g->size;
	head->limit = options->limit;
	head->dirty = 1;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	ret = -pthread_mutex_init(&head->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	if (ret)
		return ret;
	store->keys = options->keys;
	store->flags = options->flags;
	store->rcu = &shm->own->rcu;
	store->mark = (u64 *)(void *)(base + g->marks);
	store->hand = (u8 *)base + g->hand;
	store->number_bytes = sizeof(u64); /* recovery finds the key of a record there */
	if (getrandom(&head->index_id, sizeof(head->index_id), 0) != sizeof(head->index_id))
		return -EIO;
	head->index_id |= 1ull << 63; /* ids of private indexes count from 1 */
	ret = lath_arena_init_at(&store->arena, base + g->arena, g->reserve, (u8 *)base + g->blocks,
				 &shm->own->backing, options, store->rcu, &store->committed);
	if (ret)
		return ret;
	return lath_arena_init_at(&store->index, base + g->index, g->reserve,
				  (u8 *)base + g->blocks + g->reserve / BLOCK, &shm->own->backing,
				  options, store->rcu, &store->committed);
}

/* Makes the store in an object that is empty or whose maker died. Its file lock is held. 0 | -errno
 * */
static int make(struct shm *shm, const char *name, int fd, const struct lath_store_options *theirs)
{
	struct lath_store_options options = *theirs;
	struct geometry g;
	int ret;

	options.limit = options.limit ? options.limit : SHM_LIMIT_DEFAULT;
	measure(&g, &options);
	if (pwrite(fd, SHM_MAKING, sizeof(SHM_MAKING), 0) != sizeof(SHM_MAKING) ||
	    ftruncate(fd, 4096) || ftruncate(fd, (off_t)g.size) || take(fd, 0, g.arena))
		return lath_refuse(-ENOMEM, "shm:%s: %s", name, strerror(errno));
	ret = map_somewhere(shm, name, &g, fd);
	if (ret)
		return lath_refuse(ret,
				   "shm:%s: no %" PRIu64
				   " MiB of addresses: %s; a smaller limit (--limit) needs fewer",
				   name, g.size >> 20, strerror(-ret));
	memset((char *)shm->head + sizeof(shm->head->magic), 0, g.arena - sizeof(shm->head->magic));
	own_init(shm, fd);
	ret = fill(shm, &g, &options);
	if (!ret && options.numa)
		ret = lath_pages_numa((char *)shm->head, g.size, options.numa);
	if (ret) {
		unmap(shm);
		return ret;
	}
	/* the magic last: until then the next process makes the store anew */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(shm->head->magic, SHM_MAGIC, sizeof(shm->head->magic));
	return 0;
}

static int map_made(struct shm *shm, const char *name, int fd, const struct shm_head *head)
{
	int ret = map_object(shm, head->address, head->size, fd);

	if (ret == -EEXIST)
		return lath_refuse(-EADDRINUSE,
				   "shm:%s: lies at addresses 0x%" PRIx64 "-0x%" PRIx64
				   ", where this process has something else",
				   name, head->address - SHM_OWN, head->address + head->size);
	if (!ret)
		own_init(shm, fd);
	return ret;
}

/* ---- attaching ---- */

/* Opens the object. Without O_CREAT first: with it the kernel refuses objects of other users in a
 * directory like /dev/shm. A descriptor | -errno */
static int open_object(const char *path, bool make)
{
	int fd;

	do {
		fd = shm_open(path, O_RDWR | O_CLOEXEC, 0);
		/* between both calls another process may make it: then open it after all */
		if (fd < 0 && errno == ENOENT && make)
			fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd < 0 && ((errno == EEXIST && make) || errno == EINTR));
	return fd < 0 ? -errno : fd;
}

/* Unlocks explicitly: a child that was forked since has the lock too. */
static void unlock_object(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

/* Opens and locks the object, which must still have its name then; waits while another process
 * makes it. A descriptor | -errno */
static int open_locked(const char *name, const char *path, struct stat *stat,
		       const struct lath_store_options *options)
{
	bool make = !(options->flags & (LATH_STORE_READ_ONLY | LATH_STORE_EXISTING));
	int fd, ret;

	for (;;) {
		fd = open_object(path, make);
		if (fd < 0)
			return fd;
		/* before the lock: the owner of an object of another user could keep it forever */
		ret = fstat(fd, stat) ? -errno : check_owner(name, stat, options);
		/* again: it may have been removed, or made, while this process waited */
		if (!ret && (UNINTERRUPTED(flock(fd, LOCK_EX)) || fstat(fd, stat)))
			ret = -errno;
		if (!ret && stat->st_nlink && (stat->st_size || make))
			return fd;
		if (!ret && stat->st_nlink)
			ret = lath_refuse(-ENOENT, "shm:%s: nobody has made it yet", name);
		unlock_object(fd);
		if (ret)
			return ret;
	}
}

/* For assertions: whether a thread holds attached_lock. */
#define attached_locked() (pthread_mutex_trylock(&attached_lock) == EBUSY)

static struct shm *find_attached(const struct stat *stat)
{
	struct shm *shm;

	LATH_ASSERT(attached_locked());
	for (shm = attached; shm; shm = shm->next)
		if (shm->dev == stat->st_dev && shm->ino == stat->st_ino)
			return shm;
	return NULL;
}

/* Returns how much memory is available: of the machine's, and of the file system of the object,
 * which may have a size (0 blocks: none). */
static u64 available(int fd)
{
	u64 memory = lath_pages_available("");
	struct statvfs fs;

	if (fstatvfs(fd, &fs) || !fs.f_blocks)
		return memory;
	return min(memory, (u64)fs.f_bavail * fs.f_frsize);
}

/* Attaches the first handle of this process: maps the object, makes the store if there is none yet.
 * 0 | -errno */
static int attach_first(struct shm *shm, const char *name, int fd, const struct stat *stat,
			const struct lath_store_options *options)
{
	struct shm_head *head = lath_block_alloc(sizeof(*head));
	bool made = false;
	int ret = -ENOMEM;

	if (!head)
		return ret;
	LATH_ASSERT(attached_locked() && !shm->head);
	memset(head, 0, sizeof(*head));
	if (!stat->st_size || (pread(fd, head, sizeof(*head), 0) >= (ssize_t)sizeof(head->magic) &&
			       !memcmp(head->magic, SHM_MAKING, sizeof(head->magic)))) {
		made = true;
		ret = make(shm, name, fd, options);
	} else {
		ret = check_head(name, head, (u64)stat->st_size, options);
		if (!ret)
			ret = map_made(shm, name, fd, head);
	}
	lath_block_free(head);
	if (ret)
		return ret;
	if (options->pages == LATH_PAGES_HUGE)
		madvise(shm->head, shm->head->size, MADV_HUGEPAGE);
	LATH_ASSERT(shm->head && shm->own->fd == fd);
	/* takes the lock: the first call makes the index, or repairs what a dead process left */
	ret = lath_shm_enter(shm, true);
	if (!ret) {
		if (made)
			ret = lath_here_populate(&shm->head->store, options->prefault,
						 available(fd));
		lath_shm_leave(shm);
	}
	if (ret)
		unmap(shm);
	return ret;
}

static int attach_locked(const char *name, const char *path,
			 const struct lath_store_options *options, struct shm **out)
{
	struct stat stat;
	struct shm *shm;
	int fd = open_locked(name, path, &stat, options), ret;

	if (fd < 0)
		return fd;
	shm = find_attached(&stat);
	if (shm) { /* mapped already: the addresses in it allow only one mapping */
		ret = check_head(name, shm->head, (u64)stat.st_size, options);
		unlock_object(fd);
		shm->handles += !ret;
		*out = shm;
		return ret;
	}
	shm = calloc(1, sizeof(*shm));
	ret = shm ? attach_first(shm, name, fd, &stat, options) : -ENOMEM;
	if (ret) {
		/* leave no empty object behind */
		if (!stat.st_size)
			shm_unlink(path); /* this call has made it */
		free(shm);
		unlock_object(fd);
		return ret;
	}
	flock(fd, LOCK_UN);
	shm->dev = stat.st_dev;
	shm->ino = stat.st_ino;
	LATH_ASSERT(attached_locked() && !shm->handles);
	shm->handles = 1;
	shm->next = attached;
	attached = shm;
	*out = shm;
	return 0;
}

int lath_shm_attach(const char *name, const struct lath_store_options *options, struct shm **out)
{
	char path[SHM_NAME_MAX + 2];
	int ret = check_name(name, path);

	if (!ret)
		ret = check_options(name, options);
	if (ret)
		return ret;
	lath_call_enter();
	pthread_mutex_lock(&attached_lock);
	ret = attach_locked(name, path, options, out);
	pthread_mutex_unlock(&attached_lock);
	lath_call_exit();
	return ret;
}

void lath_shm_detach(struct lath_store *store)
{
	struct shm **at = &attached, *shm = store->place_data;

	lath_call_enter();
	pthread_mutex_lock(&attached_lock);
	LATH_ASSERT(shm->handles);
	if (!--shm->handles) {
		while (*at != shm) {
			LATH_ASSERT(*at); /* it is in the list */
			at = &(*at)->next;
		}
		*at = shm->next;
		close(shm->own->fd);
		unmap(shm);
		free(shm);
	}
	pthread_mutex_unlock(&attached_lock);
	lath_call_exit();
}

static int shm_remove(const char *name)
{
	char path[SHM_NAME_MAX + 2], magic[8] = "";
	int ret = check_name(name, path), fd;

	if (ret)
		return ret;
	fd = shm_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ret = !pread(fd, magic, sizeof(magic), 0); /* 1: empty, its maker died */
	close(fd);
	/* nothing is removed that is not a store; what is shorter than a magic number is none */
	if (!ret && memcmp(magic, SHM_MAGIC, sizeof(magic)) &&
	    memcmp(magic, SHM_MAKING, sizeof(magic)))
		return lath_refuse(-EBADMSG, "shm:%s: a shared object, but not a store", name);
	return shm_unlink(path) ? -errno : 0;
}

int lath_store_remove(const char *spec, char *why, size_t why_size)
{
	LATH_NO_CANCEL;
	int ret;

	lath_store_reason_begin();
	if (strncmp(spec, "shm:", 4) != 0)
		ret = lath_refuse(-EINVAL, "%s: only shm:NAME can be removed", spec);
	else
		ret = shm_remove(spec + 4);
	return lath_store_reason_end(ret, spec, why, why_size);
}
