/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/store.h - an ordered key-value store in memory, shared by threads.
 *
 *     struct lath_store *store;
 *     char buf[64];
 *
 *     lath_store_open(&store, "mem:", NULL);
 *     lath_store_set(store, lath_key_number(7), "seven", 5);
 *     int64_t n = lath_store_get(store, lath_key_number(7), buf, sizeof(buf));
 *     lath_store_close(store);
 *
 * Keys are 64-bit numbers or byte strings, chosen when the store is opened; values are byte strings
 * of any length. All data are in arenas on 2 MiB pages. The model is llds (2012), which kept a
 * red-black tree in the kernel because large pages map the kernel's memory: this library gets such
 * pages without a kernel module, and the tree is the index of lathwork/index.h.
 *
 *   numbers   index: key -> word       word: the value itself, if it has up to 7 bytes, or up to 14
 *                                      characters of 0-9 + , - . / and NUL; else the place of a
 *                                      record
 *   bytes     a set of byte keys (lathwork/bytes.h) of records, which have the whole key and the
 *             value
 *
 * Whole keys are stored and compared. Bytes compare as by memcmp(), a key before its extensions.
 *
 * Threads: all calls may run concurrently, except open, close and load. None may be made in a
 * signal handler (lathwork/config.h, T1 to T6); the functions of update, save and load must not
 * throw, nor be cancelled. A store reserves addresses for twice its limit, or twice the machine's
 * memory: call mlockall() with MCL_ONFAULT, or before the open.
 *
 *   S1  get, get_ref, set, add, replace, delete, update, cas, set_if, incr, min, max, append, expire
 *       and each element of mget, mset and mdel take effect at one moment between call and return
 *       (linearizable).
 *   S2  iterators, scans, count, rank and save see every key that is present all the time and none
 *       that never is; a key that changes meanwhile is seen with one of its values or not at all.
 *   S3  a failed call changes nothing. Deletes need no memory.
 *   S4  readers take no lock and write nothing shared. Writers wait only for writers of the same
 *       index leaf.
 *
 * Ownership: the store copies keys and values. get copies the value to the caller's buffer. A
 * struct lath_store_ref points into the store and is valid until lath_store_read_end() of the
 * section it was taken in. Sections nest. A long section keeps replaced values in memory; in a
 * store with a limit, write outside of sections.
 *
 * Errors: calls return 0 (or a count, or a length) or a negative errno:
 *
 *   -ENOENT  no such key                        -EEXIST  add: the key is present
 *   -EAGAIN  cas, set_if: another value is present
 *   -EINVAL  wrong kind of key, or not a number
 *   -ERANGE  a number does not fit in 64 bits
 *   -E2BIG   key above 65535 bytes, or a value from 2^40 bytes on
 *   -ENOMEM  the machine has no more memory
 *   -ENOSPC  the store's limit is reached, and nothing may or can be evicted
 *   -EROFS   opened to be read only             -EOPNOTSUPP  see each call
 *
 * Calls on a whole store also store a reason as text: lath_store_reason().
 *
 * Cost: a number with a small value takes 28 bytes in all if filled at random, 18 if filled in
 * order; a value outside the index takes its length, rounded up by at most 1/8, in addition. A byte
 * key takes about 22 bytes, a record takes 16 bytes, the key and the value. mget and mset overlap
 * the cache misses of 64 numbers or 16 byte keys.
 *
 * Not for: data larger than memory, transactions over several keys, durability of every write.
 */
#ifndef LATHWORK_STORE_H
#define LATHWORK_STORE_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_store;

/* A number, or bytes. Passed by value. */
struct lath_store_key {
	const void *data; /* NULL: a number */
	uint64_t n;	  /* the number, or the number of bytes */
};

static inline struct lath_store_key lath_key_number(uint64_t number)
{
	struct lath_store_key key = { NULL, number };
	return key;
}

/* size may be 0; then data may be NULL. */
static inline struct lath_store_key lath_key_bytes(const void *data, size_t size)
{
	struct lath_store_key key = { data ? data : "", size };
	return key;
}

enum lath_store_keys { LATH_STORE_NUMBERS, LATH_STORE_BYTES };

enum lath_store_pages {
	LATH_PAGES_HUGE = 0, /* transparent 2 MiB pages where the machine has them */
	/* Reserved huge pages while there are any, then as above. A fork() copies them to ordinary
	 * pages first, 0.5 s per GiB: two processes that share them may need twice as many. Start
	 * programs by posix_spawn(). */
	LATH_PAGES_HUGETLB,
	LATH_PAGES_SMALL,
};

enum {
	/* At the limit, evict expired entries, then old ones. */
	LATH_STORE_EVICT = 1u << 0,
	/* Numbers: every value is a record with a version (16 bytes more). */
	LATH_STORE_VERSIONS = 1u << 1,
	/* The handle is read only: calls that write, sweep, sync and load return -EROFS (mset and
	 * mdel: for each element); close returns 0. file: takes no lock, so it can be opened
	 * concurrently with a writer and in a directory that is not writable; it has the content
	 * that was saved last before it was opened. Implies LATH_STORE_EXISTING. */
	LATH_STORE_READ_ONLY = 1u << 2,
	LATH_STORE_EXISTING = 1u << 3, /* open: -ENOENT if the file, shm:NAME or dev:PATH#NAME does
					  not exist; nothing is made */
	LATH_STORE_FOREIGN = 1u << 4,  /* shm: use an object of another user, see below */
};

struct lath_store_options {
	size_t size; /* sizeof(struct lath_store_options). Of a smaller one, down to `pages`, the
			rest is as with NULL; larger: -EINVAL */
	enum lath_store_keys keys;
	enum lath_store_pages pages;
	unsigned int flags;
	uint64_t limit;	   /* bytes taken from the machine; 0: none; else at least 8 MiB */
	uint64_t reserve;  /* bytes of address space; 0: twice the limit or the machine's memory */
	uint64_t prefault; /* bytes to touch when opened, see lath_store_prefault */
	const char *numa;  /* NULL, "local", "interleave[:NODES]", "bind:NODES" */
	const struct lath_rcu *rcu; /* NULL: lath_rcu_auto */
	char *why; /* gets the reason as text when open or load fails; may be NULL */
	size_t why_size;
};

#define LATH_STORE_OPTIONS_INIT              \
	{ sizeof(struct lath_store_options), \
	  LATH_STORE_NUMBERS,                \
	  LATH_PAGES_HUGE,                   \
	  0,                                 \
	  0,                                 \
	  0,                                 \
	  0,                                 \
	  NULL,                              \
	  NULL,                              \
	  NULL,                              \
	  0 }

/*
 * Opens the store that spec names; options may be NULL.
 *
 *   mem:       a new, empty store (also "")
 *   file:PATH  a new store, filled from the snapshot PATH if that exists; sync and close write it
 *              (see Files)
 *   dev:PATH   the kernel's store
 *   shm:NAME   a store in a POSIX shared object: attached, or made if there is none (see below)
 *
 * 0 | -EINVAL | -ENOMEM | -ENODEV | -EOPNOTSUPP | -EBUSY: another process may write the file |
 * -EBADMSG and others as lath_store_load, of which -ENOSPC means that the file needs more than the
 * limit
 */
LATH_API int lath_store_open(struct lath_store **store, const char *spec,
			     const struct lath_store_options *options);
/* Closes a store. No other call may run. file: saves it first if it has changed. 0, or the error of
 * the save. The store is freed in both cases; call lath_store_sync() before to be able to retry. */
LATH_API int lath_store_close(struct lath_store *store);
/* What close does before it waits for read-side critical sections: file: is saved, and another
 * store may open it. Only close may follow. 0, or the error of the save. */
LATH_API int lath_store_leave(struct lath_store *store);
/* file: saves it if it has changed since it was read or saved. 0 | as lath_store_save() | -ESTALE
 * (see Files). Other stores: 0. */
LATH_API int lath_store_sync(struct lath_store *store);

/*
 * Files. PATH is resolved once, when it is opened; symbolic links are followed, and stay links. A
 * link of another user in a sticky directory that all may write to (/tmp) is refused: -EACCES.
 *   PATH             a regular file, else -EINVAL. It is only replaced as a whole: a new file is
 *                    written in the same directory, synced, and renamed over PATH; then the
 *                    directory is synced. Owner, group, mode, access control list and user.*
 *                    attributes are kept as far as the process is permitted to; a group that
 *                    cannot be kept loses its rights. A first file has mode 0600. Other hard
 *                    links to the old file keep the old content.
 *   PATH.lock        exists while a store or a save may write PATH. It contains the process
 *                    number as text and has PATH's owner and mode. Closing removes it. SIGKILL
 *                    leaves it unlocked, and the next writer takes it over.
 *   PATH.tmp-XXXXXX  exists during a save. A failed save removes it. After SIGKILL the next save
 *                    removes it, if it is a regular, unlocked file of this user or of PATH's
 *                    owner, with one link, that is empty or begins as a snapshot does.
 * The last component of PATH has at most 244 bytes.
 *
 * One writer. file:PATH is locked from open to close, and lath_store_save() locks its PATH while it
 * runs. Another open or save, in the same process too, returns -EBUSY; the reason names the file
 * and the process. The lock is advisory: it works between programs that use this library.
 *
 * fork(). The child has a copy of the store, which it may read and change. While the parent lives
 * and has the store open, the child's sync and close return -EBUSY if the copy has changed.
 * Parent and children hold the lock together, until the parent closes or all of them have ended or
 * executed another program. After the parent has ended (daemon()) or closed, the first child
 * that syncs becomes the writer. (daemon() returns in the child a moment before the parent has
 * ended: before a sync returns -EBUSY it waits for that, a quarter of a second, and for as long as
 * the kernel takes to end the parent.) If the file was written after that child was
 * forked, sync returns -ESTALE and the file stays as it is; lath_store_save() to another path
 * works. -EBADF: the process has closed descriptors that belong to the store.
 */

/*
 * shm:NAME - one store, attached by any number of processes of one machine and their threads, and
 * by children that inherit a handle by fork(). It lies in the POSIX shared object /NAME and stays
 * until it is removed or the machine stops. The object contains addresses, so a user who may write
 * to it controls every attached process: an object that belongs neither to the effective user nor
 * to the superuser is refused (-EACCES), unless LATH_STORE_FOREIGN is set. A new object has mode
 * 0600. The first process makes it and decides on limit (0: 4 GiB), flags, reserve, prefault, numa
 * and the kind of keys; later ones must ask for the same kind of keys. Open waits while another
 * process makes the object. It is mapped at the same addresses in each process, chosen by its
 * maker.
 *
 *   P1  a process may be killed at any instruction, in any call: changes whose calls have returned
 *       stay, the interrupted call took effect wholly or not at all (a batch: each element), and
 *       other processes continue.
 *   P2  calls on one store run one after another, also those that read. If the holder of the lock
 *       dies, the kernel passes it on. S1 and S3 hold, S4 does not. A holder that is stopped
 *       (SIGSTOP) stops all.
 *   P3  the process that gets the lock from a dead writer first repairs the store: less than a
 *       microsecond per entry.
 *
 * refs, and entries returned by iterators, are copies, valid until their section ends or until the
 * next step. All values have versions; set_if works with numbers too. A callback of update that
 * calls the store gets -EDEADLK. Neither hugetlb pages nor an RCU flavour of the caller's is
 * supported. Open and the calls may also return
 *
 *   -EADDRINUSE  the process has something else at the store's addresses
 *   -EACCES      see above
 *   -EBADMSG     another object, version or build; truncated or damaged
 */

/* Removes shm:NAME. The name is free at once; attached processes keep the store. 0 | -EINVAL |
 * -ENOENT and others of the system. why (may be NULL) gets the reason as text. */
LATH_API int lath_store_remove(const char *spec, char *why, size_t why_size);

/* ---- reading ---- */

LATH_API void lath_store_read_begin(struct lath_store *store);
LATH_API void lath_store_read_end(struct lath_store *store);

struct lath_store_ref {
	const void *data; /* into the store, or at small: do not copy or move a ref */
	uint64_t size;
	uint64_t version; /* with LATH_STORE_VERSIONS; else no promise */
	uint64_t expires; /* ms since 1970; 0: never */
	unsigned char small[16];
};

/* Copies the value's first min(size, room) bytes to buf. Returns the value's length | -ENOENT */
LATH_API int64_t lath_store_get(struct lath_store *store, struct lath_store_key key, void *buf,
				size_t room);
/* In a section. 0 | -ENOENT */
LATH_API int lath_store_get_ref(struct lath_store *store, struct lath_store_key key,
				struct lath_store_ref *ref);
/* In a section. The refs of absent keys get data == NULL. Returns the number found. mget_numbers:
 * the same for a store of numbers. */
LATH_API size_t lath_store_mget(struct lath_store *store, size_t n,
				const struct lath_store_key *keys, struct lath_store_ref *refs);
LATH_API size_t lath_store_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
					struct lath_store_ref *refs);

/* ---- writing ---- */

LATH_API int lath_store_set(struct lath_store *store, struct lath_store_key key, const void *value,
			    size_t size);
/* add: only if the key is absent, else -EEXIST. replace: only if it is present, else -ENOENT. */
LATH_API int lath_store_add(struct lath_store *store, struct lath_store_key key, const void *value,
			    size_t size);
LATH_API int lath_store_replace(struct lath_store *store, struct lath_store_key key,
				const void *value, size_t size);
/* 0 | -ENOENT */
LATH_API int lath_store_delete(struct lath_store *store, struct lath_store_key key);

struct lath_store_entry {
	struct lath_store_key key;
	const void *value;
	uint64_t size;
	uint64_t expires; /* ms since 1970; 0: never */
};

/* Each element as set or delete; of equal keys the last one takes effect last. results (may be
 * NULL): each element's result. Returns the number that succeeded. */
LATH_API size_t lath_store_mset(struct lath_store *store, size_t n,
				const struct lath_store_entry *entries, int *results);
LATH_API size_t lath_store_mdel(struct lath_store *store, size_t n,
				const struct lath_store_key *keys, int *results);

/* Change a value depending on the old one: 0 | -ENOENT | -EAGAIN. cas: if the value equals
 * expected, byte by byte. set_if: if its version is the given one; -EOPNOTSUPP in a store without
 * versions. A version is never used twice for a key. Both keep the time of expiry. */
LATH_API int lath_store_cas(struct lath_store *store, struct lath_store_key key,
			    const void *expected, size_t expected_size, const void *value,
			    size_t size);
LATH_API int lath_store_set_if(struct lath_store *store, struct lath_store_key key,
			       uint64_t version, const void *value, size_t size);
/* The value is a decimal number of 64 bits: digits, with "-" in front of a negative one, and
 * perhaps one NUL behind them, which stays; an absent key counts as 0. *now (may be NULL) gets the
 * new number. 0 | -EINVAL: the value is not a number | -ERANGE: it, or the new one, has more bits.
 * min and max set the value to the lesser and the greater of both numbers (absent: to by). */
LATH_API int lath_store_incr(struct lath_store *store, struct lath_store_key key, int64_t by,
			     int64_t *now);
LATH_API int lath_store_min(struct lath_store *store, struct lath_store_key key, int64_t by,
			    int64_t *now);
LATH_API int lath_store_max(struct lath_store *store, struct lath_store_key key, int64_t by,
			    int64_t *now);
/* Appends bytes to the value (absent: sets it). Returns the new length, or an error. */
LATH_API int64_t lath_store_append(struct lath_store *store, struct lath_store_key key,
				   const void *tail, size_t size);
/* Sets the time at which the entry expires (ms since 1970; 0: never). 0 | -ENOENT. set, and mset
 * without expires, remove an earlier time. Expired entries are not visible; they are removed when
 * they are written, evicted or swept. */
LATH_API int lath_store_expire(struct lath_store *store, struct lath_store_key key,
			       uint64_t expires);

enum lath_store_action { LATH_STORE_KEEP, LATH_STORE_PUT, LATH_STORE_REMOVE };
struct lath_store_change {
	enum lath_store_action action; /* KEEP when fn is called */
	const void *value;
	uint64_t size;
	const void *tail; /* appended to value */
	uint64_t tail_size;
	uint64_t expires; /* the old one when fn is called */
};
/* Changes a value by a function: fn gets the old value (NULL: none) and sets *change. It may be
 * called several times; the last call gets the value that the change then replaces. Returns fn's
 * result if that is negative, else 0 or an error. fn must not call the store. What *change points
 * to must be valid until update returns or fn is called again. */
typedef int (*lath_store_update_fn)(void *arg, const struct lath_store_ref *old,
				    struct lath_store_change *change);
LATH_API int lath_store_update(struct lath_store *store, struct lath_store_key key,
			       lath_store_update_fn fn, void *arg);

/* ---- in order ---- */

struct lath_store_range {
	const struct lath_store_key *from;   /* keys from this one on; NULL: from the first */
	const struct lath_store_key *to;     /* keys before this one; NULL: to the last */
	const struct lath_store_key *prefix; /* byte keys: only keys with this prefix; may be
						combined with from and to */
	int backward;			     /* descending */
};

/* An iterator belongs to one thread. From begin to end it is in its own section, which it
 * leaves and enters again every few hundred steps: what next returned is valid until the following
 * next. begin: 0 | -EINVAL | -E2BIG | -ENOMEM. next: 1 | 0 at the end | -ENOMEM. The entries may be
 * deleted and changed during the iteration. */
struct lath_store_iter;
LATH_API int lath_store_iter_begin(struct lath_store *store, const struct lath_store_range *range,
				   struct lath_store_iter **iter);
LATH_API int lath_store_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
				  struct lath_store_ref *value);
LATH_API void lath_store_iter_end(struct lath_store_iter *iter);
/* Numbers: keys and values of up to max entries of [from, last], in order, valid in the section of
 * the caller's in which this is called. *next: the key to continue from; 0: there is nothing more
 * up to last. Returns the number of entries; 0 in a store of byte keys. The fastest way through a
 * store. */
LATH_API size_t lath_store_scan_numbers(struct lath_store *store, uint64_t from, uint64_t last,
					uint64_t *keys, struct lath_store_ref *refs, size_t max,
					uint64_t *next);
/* Return the number of entries in the range / of entries before key, expired ones included, or
 * -errno. Both visit every entry counted (about 1 ns per number, 10 ns per byte key). */
LATH_API int64_t lath_store_count(struct lath_store *store, const struct lath_store_range *range);
LATH_API int64_t lath_store_rank(struct lath_store *store, struct lath_store_key key);
/* Returns the number of all entries, expired ones that have not been removed included, or -errno.
 * The store keeps it: nothing is visited. While others write to a store of byte keys it may be off
 * by what they write. Concurrently with all calls. */
LATH_API int64_t lath_store_items(struct lath_store *store);

/* ---- the whole ---- */

struct lath_store_stats {
	uint64_t items;		/* includes expired entries that have not been removed */
	uint64_t committed;	/* bytes taken from the machine, in blocks of 2 MiB */
	uint64_t index_bytes;	/* of these: index nodes */
	uint64_t record_bytes;	/* records and large values, rounded to their slots */
	uint64_t pending_bytes; /* replaced or deleted; readers may still use them */
	uint64_t free_bytes;	/* of committed: unused */
	uint64_t lost_bytes; /* unused until the store is closed: memory was missing when they were
				deleted */
	uint64_t resident;   /* lath_store_get_pages(): as the kernel counts it */
	uint64_t huge;	     /* of resident: on huge pages */
	uint64_t layers;     /* byte keys: further indexes */
	uint64_t evicted, expired;	 /* entries removed by eviction / after expiry */
	uint64_t fragmentation_permille; /* free_bytes of committed */
};

/* Sets all but `resident` and `huge`, which become 0. Both calls concurrently with all others.
 * 0 | -errno of the place */
LATH_API int lath_store_get_stats(struct lath_store *store, struct lath_store_stats *stats);
/* Sets `resident` and `huge` alone. The kernel visits each page of the process for it
 * (/proc/self/smaps): about a millisecond per GiB. shm: as far as this process has touched them.
 * dev: both are 0. 0 | -errno */
LATH_API int lath_store_get_pages(struct lath_store *store, struct lath_store_stats *stats);
/* Removes expired entries. Returns their number or -errno. Visits every entry. */
LATH_API int64_t lath_store_sweep(struct lath_store *store);
/* Moves records out of half-empty pages and returns whole free blocks to the machine. Returns the
 * number of bytes returned. May run concurrently with readers and writers. Waits for readers: not
 * in a section. */
LATH_API int64_t lath_store_compact(struct lath_store *store);
/* Takes this many more bytes from the machine and touches them, so that later writes cause no page
 * faults. Nothing is touched unless all of it fits: below the limit, and below what is available
 * (MemAvailable of /proc/meminfo, the memory control groups; shm: also its file system). 0 |
 * -ENOMEM | -ENOSPC: the limit | -EOPNOTSUPP: dev:, shm: (use the option of open) */
LATH_API int lath_store_prefault(struct lath_store *store, uint64_t bytes);

/*
 * Snapshots: one file, with a checksum (XXH3) per block and one of the whole. At any moment PATH is
 * the old file or the new one (see Files). No fork.
 *
 * save: 0 | -EBUSY: another process or thread may write PATH | -EINVAL: not a regular file | -errno
 * of the system. After an error PATH is the old file; after an error of the directory's sync, the
 * last step, it is the new one, and lath_store_reason() says so. progress may be NULL. It is called
 * now and then; a result other than 0 stops the call with -EINTR.
 *
 * load: fills an empty store. 0 | -ENOTEMPTY | -EBADMSG: damaged, or not a snapshot | -EINVAL:
 * another kind of keys, or not a regular file | -ENOSPC: it needs more than the limit | -ENOMEM |
 * -errno of the system. A load evicts nothing. A snapshot that was saved under a limit can be
 * loaded under the same limit; for that a load may take one block of 2 MiB above it. After an error
 * the store is empty.
 */
typedef int (*lath_store_progress_fn)(void *arg, uint64_t items, uint64_t bytes);
LATH_API int lath_store_save(struct lath_store *store, const char *path,
			     lath_store_progress_fn progress, void *arg);
LATH_API int lath_store_load(struct lath_store *store, const char *path,
			     lath_store_progress_fn progress, void *arg);
/* Returns the reason of the last error of open, close, sync, save, load, remove or prefault in the
 * calling thread, as text. Valid until the next of these calls in this thread. Never NULL. */
LATH_API const char *lath_store_reason(void);
/* Returns the kind of keys the store was opened with. */
LATH_API enum lath_store_keys lath_store_kind(const struct lath_store *store);
/* Returns the time in ms since 1970, by the clock of expires. */
LATH_API uint64_t lath_store_now(void);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_STORE_H */
