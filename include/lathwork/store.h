/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/store.h - an ordered key-value store in memory, shared by threads.
 *
 * Keys are 64-bit numbers or byte strings, chosen when the store is opened; values are byte strings
 * of any length. Everything lies in one arena on 2 MiB pages. After llds (2012), which kept a
 * red-black tree in the kernel because the kernel's memory is mapped by large pages: the pages are
 * asked for here without a kernel module, and the tree is the blocked index of lathwork/index.h.
 *
 *   numbers   index: key -> word       word: up to 7 bytes, or 14 characters of 0-9 + , - . / and
 *                                      NUL, themselves;
 *                                            else where the record is
 *   bytes     index: 7 bytes of key and how many -> word
 *                                      word: a record (the whole key and the value),
 *                                            up to 16 records whose keys agree so far, in key
 *                                            order, or a further index of the 7 bytes behind what
 *                                            they agree in
 *
 * Full keys are stored and compared; no two keys are ever taken for one. Bytes compare as memcmp
 * does, a key before its extensions.
 *
 * Threads: every call may run beside every other one, except open, close and load (alone).
 *   S1  get, get_ref, set, add, replace, delete, get_or_set, update, cas, set_if, incr, min, max,
 *       append, expire and each element of mget, mset and mdel take effect at one moment between
 *       call and return (linearizable).
 *   S2  iterators, scans, count, rank and save see every key that is there all the time and none
 *       that never is; a key that changes meanwhile is seen with one of its values or not at all.
 *   S3  a failed call changed nothing. Deletes need no memory, but for byte keys that share a
 *       bucket.
 *   S4  readers take no lock and write nothing shared. Writers wait only for writers of the same
 *       index leaf.
 *
 * Ownership: keys and values are copied in. get copies out. A struct lath_store_ref points into the
 * store and is good until lath_store_read_end() of the section it was taken in. Sections nest. Long
 * sections keep replaced values alive; in a store with a limit, write outside of them.
 *
 * Errors: calls return 0 (or a count, or a length) or a negative errno:
 *   -ENOENT  no such key                        -EEXIST  add: the key is there
 *   -EAGAIN  cas, set_if: another value is there  -EINVAL  wrong kind of key, or not a number
 *   -ERANGE  a number left 64 bits              -E2BIG   key above 65535 bytes
 *   -ENOMEM  the machine has no more            -EROFS   opened to be read only
 *   -ENOSPC  the store's limit is reached and nothing may or can be evicted
 *   -EOPNOTSUPP see each call. Calls on a whole store also leave a sentence: lath_store_reason().
 *
 * Cost: a number with a small value takes 28 bytes in all at random fill, 18 when filled in order;
 * a value of its own the length rounded up (at most an eighth) more. A byte key takes about 21
 * bytes, a record of 16 and key and value. mget and mset overlap the cache misses of 64 numbers, of
 * 16 byte keys.
 *
 * Not for: data larger than memory, transactions over several keys, durability of every write.
 *
 *     struct lath_store *store;
 *     char buf[64];
 *
 *     lath_store_open(&store, "mem:", NULL);
 *     lath_store_set(store, lath_key_number(7), "seven", 5);
 *     int64_t n = lath_store_get(store, lath_key_number(7), buf, sizeof(buf));
 *     lath_store_close(store);
 */
#ifndef LATHWORK_STORE_H
#define LATHWORK_STORE_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_store;

/* A number, or bytes. By value, like a pointer and a length. */
struct lath_store_key {
	const void *data; /* NULL: a number */
	uint64_t n;	  /* the number, or how many bytes */
};

static inline struct lath_store_key lath_key_number(uint64_t number)
{
	struct lath_store_key key = { (const void *)0, number };
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
	LATH_PAGES_HUGETLB,  /* reserved huge pages while there are any, then as above */
	LATH_PAGES_SMALL,
};

enum {
	LATH_STORE_EVICT = 1u << 0, /* at the limit: expired entries go first, then old ones */
	LATH_STORE_VERSIONS =
		1u << 1, /* numbers: every value is a record with a version (16 bytes more) */
	/*
	 * This handle changes nothing: writing calls, sync and load return -EROFS (mset and mdel:
	 * each element), sweep too;
	 * close returns 0. file: needs no lock, so it opens concurrently with a writer and in a
	 * directory that cannot be written to, and has what was saved last when it was opened.
	 * Implies LATH_STORE_EXISTING.
	 */
	LATH_STORE_READ_ONLY = 1u << 2,
	LATH_STORE_EXISTING = 1u << 3, /* -ENOENT if the file, shm:NAME or dev:PATH#NAME is not
					  there; nothing is made */
	LATH_STORE_FOREIGN = 1u << 4,  /* shm: use an object of another user, see below */
};

struct lath_store_options {
	size_t size; /* sizeof(struct lath_store_options); smaller or larger: -EINVAL */
	enum lath_store_keys keys;
	enum lath_store_pages pages;
	unsigned int flags;
	uint64_t limit;	   /* bytes taken from the machine; 0: none; else at least 8 MiB */
	uint64_t reserve;  /* bytes of address space; 0: twice the limit or the machine's memory */
	uint64_t prefault; /* bytes to touch at once; as lath_store_prefault */
	const char *numa;  /* NULL, "local", "interleave[:NODES]", "bind:NODES" */
	const struct lath_rcu *rcu; /* NULL: lath_rcu_auto */
	char *why; /* gets the reason in words when open or load fails; may be NULL */
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
 * Open what spec names; options may be NULL.
 *   mem:       a new, empty store (also "")
 *   file:PATH  the same, filled from the snapshot PATH if there is one; sync and close write it
 *              (see Files)
 *   dev:PATH   the kernel's store
 *   shm:NAME   a store in a POSIX shared object: attached, or made if there is none (see below)
 * 0 | -EINVAL | -ENOMEM | -ENODEV | -EOPNOTSUPP | -EBUSY: another process may write the file |
 * -EBADMSG and others as lath_store_load, of which -ENOSPC says that the file needs more than the
 * limit
 */
LATH_API int lath_store_open(struct lath_store **store, const char *spec,
			     const struct lath_store_options *options);
/*
 * Close a store. No other call may run. file: saves it first if it has changed: 0, or the error of
 * the save. The store is gone in both cases; call lath_store_sync() before to be able to retry.
 */
LATH_API int lath_store_close(struct lath_store *store);
/* file: save it now if it has changed since it was read or saved: 0 | as lath_store_save() |
 * -ESTALE (see Files). Other stores: 0. */
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
 * runs. Another open or save, in the same process too, returns -EBUSY; its sentence names the file
 * and the process. The lock is advisory: it works between programs that use this library.
 *
 * fork(). The child has a copy of the store, which it may read and change. While the parent lives
 * and has the store open, the child's sync and close return -EBUSY if the copy has changed.
 * Parent and children hold the lock together, until the parent closes or all of them have ended or
 * executed another program. After the parent has ended (daemon()) or closed, the first child
 * that syncs becomes the writer. (daemon() returns in the child a moment before the parent has
 * ended: a sync at once may still return -EBUSY.) If the file was written after that child was
 * forked, sync returns -ESTALE and the file stays as it is; lath_store_save() to another path
 * works. -EBADF: the process has closed descriptors that belong to the store.
 */

/*
 * shm:NAME - one store, attached by any number of processes of one machine, by threads of them, and
 * by children that fork() leaves with a handle. It lies in the POSIX shared object /NAME and stays
 * until it is removed or the machine stops. The object contains addresses, so a user who may write
 * to it controls every attached process: an object that belongs neither to the effective user nor
 * to the superuser is refused (-EACCES), unless LATH_STORE_FOREIGN is set. Its mode is 0600 at
 * first. The first process makes it: its keys, limit (0: 4 GiB), flags, reserve, prefault and numa
 * hold; later ones must want the same keys. Open waits while another process makes the object. It
 * is mapped at the same addresses in each process, which the maker chose.
 *   P1  a process may be killed at any instruction, in any call: what calls reported stays, the
 *       call that was cut off happened wholly or not at all, and the others go on. (Its batches:
 *       each element for itself.)
 *   P2  calls of one store go one after another, readers too: a lock is passed on, by the kernel if
 *       its holder dies. S1 and S3 hold, S4 does not. A holder that is stopped (SIGSTOP) stops all.
 *   P3  who takes the lock from a dead writer puts the store in order first: below a microsecond
 *       for each entry.
 * refs, and what iterators give, are copies, good until their section ends or the next step. All
 * values have versions; set_if works with numbers too. A callback of update that calls the store
 * gets -EDEADLK. Not with hugetlb pages or an RCU flavour of the caller's. Opening and calls also
 * say
 *   -EADDRINUSE the process has something else at the store's addresses   -EACCES
 *   -EBADMSG another object, version or build, truncated; or what is in it makes no sense
 */

/* shm:NAME: the name is free at once; who is attached goes on. 0 | -EINVAL | -ENOENT and others of
 * the system. why (may be NULL) gets the reason in words. */
LATH_API int lath_store_remove(const char *spec, char *why, size_t why_size);

/* ---- reading ---- */

LATH_API void lath_store_read_begin(struct lath_store *store);
LATH_API void lath_store_read_end(struct lath_store *store);

struct lath_store_ref {
	const void *data; /* into the store, or at small: do not move a ref */
	uint64_t size;
	uint64_t version; /* 0: the store has none */
	uint64_t expires; /* ms since 1970; 0: never */
	unsigned char small[16];
};

/* Copies min(size, room) bytes. The value's length | -ENOENT */
LATH_API int64_t lath_store_get(struct lath_store *store, struct lath_store_key key, void *buf,
				size_t room);
/* Inside a section. 0 | -ENOENT */
LATH_API int lath_store_get_ref(struct lath_store *store, struct lath_store_key key,
				struct lath_store_ref *ref);
/* Inside a section; keys that are not there get data == NULL. Returns the number found.
 * mget_numbers: the same for a store of numbers. */
LATH_API size_t lath_store_mget(struct lath_store *store, size_t n,
				const struct lath_store_key *keys, struct lath_store_ref *refs);
LATH_API size_t lath_store_mget_numbers(struct lath_store *store, size_t n, const uint64_t *keys,
					struct lath_store_ref *refs);

/* ---- writing ---- */

LATH_API int lath_store_set(struct lath_store *store, struct lath_store_key key, const void *value,
			    size_t size);
/* Only if the key is not there: 0 | -EEXIST. Only if it is there: 0 | -ENOENT */
LATH_API int lath_store_add(struct lath_store *store, struct lath_store_key key, const void *value,
			    size_t size);
LATH_API int lath_store_replace(struct lath_store *store, struct lath_store_key key,
				const void *value, size_t size);
/* 0 | -ENOENT */
LATH_API int lath_store_delete(struct lath_store *store, struct lath_store_key key);
/* Add, or copy out what is there, as get does: the length of the value that is there now; *added
 * says whose. */
LATH_API int64_t lath_store_get_or_set(struct lath_store *store, struct lath_store_key key,
				       const void *value, size_t size, void *buf, size_t room,
				       int *added);

struct lath_store_entry {
	struct lath_store_key key;
	const void *value;
	uint64_t size;
	uint64_t expires; /* ms since 1970; 0: never */
};

/* Each element as set or delete; of equal keys the last wins. results (may be NULL) as the single
 * call's. Returns the number that succeeded. */
LATH_API size_t lath_store_mset(struct lath_store *store, size_t n,
				const struct lath_store_entry *entries, int *results);
LATH_API size_t lath_store_mdel(struct lath_store *store, size_t n,
				const struct lath_store_key *keys, int *results);

/* Change a value depending on the old one: 0 | -ENOENT | -EAGAIN.
 * cas: set to value while it equals expected, byte by byte.
 * set_if: while its version is the given one; -EOPNOTSUPP in a store without versions. A version is
 * never used twice for a key. Both keep the time of expiry. */
LATH_API int lath_store_cas(struct lath_store *store, struct lath_store_key key,
			    const void *expected, size_t expected_size, const void *value,
			    size_t size);
LATH_API int lath_store_set_if(struct lath_store *store, struct lath_store_key key,
			       uint64_t version, const void *value, size_t size);
/* The value is a decimal number ("-12"); absent counts as 0. *now (may be NULL) gets the new one.
 * 0 | -EINVAL: no number there | -ERANGE. min and max set to the lesser and greater of both
 * (absent: to by). */
LATH_API int lath_store_incr(struct lath_store *store, struct lath_store_key key, int64_t by,
			     int64_t *now);
LATH_API int lath_store_min(struct lath_store *store, struct lath_store_key key, int64_t by,
			    int64_t *now);
LATH_API int lath_store_max(struct lath_store *store, struct lath_store_key key, int64_t by,
			    int64_t *now);
/* Put bytes behind the value (absent: set). The new length, or an error. */
LATH_API int64_t lath_store_append(struct lath_store *store, struct lath_store_key key,
				   const void *tail, size_t size);
/* The entry ends at this time (ms since 1970; 0: never): 0 | -ENOENT. set and mset without expires
 * take an earlier time away. Expired entries are not seen; they leave when they are written,
 * evicted or swept. */
LATH_API int lath_store_expire(struct lath_store *store, struct lath_store_key key,
			       uint64_t expires);

enum lath_store_action { LATH_STORE_KEEP, LATH_STORE_PUT, LATH_STORE_REMOVE };
struct lath_store_change {
	enum lath_store_action action; /* KEEP when fn is called */
	const void *value;
	uint64_t size;
	const void *tail; /* behind value */
	uint64_t tail_size;
	uint64_t expires; /* the old one when fn is called */
};
/* Any of the above and more: fn sees the value (NULL: none) and says what shall happen. It may be
 * called several times, last with what the change was made from. Returns fn's result if that is
 * negative, else 0 or an error. fn must not call the store. What change points at must stay until
 * update returns or fn is called again. */
typedef int (*lath_store_update_fn)(void *arg, const struct lath_store_ref *old,
				    struct lath_store_change *change);
LATH_API int lath_store_update(struct lath_store *store, struct lath_store_key key,
			       lath_store_update_fn fn, void *arg);

/* ---- in order ---- */

struct lath_store_range {
	const struct lath_store_key *from; /* this one or later; NULL: the first */
	const struct lath_store_key *to;   /* before this one; NULL: to the end */
	const struct lath_store_key
		*prefix; /* byte keys: only keys that begin so; with from and to: both hold */
	int backward;	 /* the last one first */
};

/*
 * The iterator is inside a section between begin and end, one of its own, which it leaves and
 * enters again
 * every some hundred steps: what next gave is good until the next next. One thread. begin: 0 |
 * -EINVAL | -E2BIG | -ENOMEM. next: 1 | 0 at the end | -ENOMEM. The entries seen may be deleted and
 * changed meanwhile.
 */
struct lath_store_iter;
LATH_API int lath_store_iter_begin(struct lath_store *store, const struct lath_store_range *range,
				   struct lath_store_iter **iter);
LATH_API int lath_store_iter_next(struct lath_store_iter *iter, struct lath_store_key *key,
				  struct lath_store_ref *value);
LATH_API void lath_store_iter_end(struct lath_store_iter *iter);
/* Numbers: keys and values of up to max entries of [from, last], in order, in one section of the
 * caller's. *next: where to go on; 0 when there is nothing more up to last. The fastest way through
 * a store. */
LATH_API size_t lath_store_scan_numbers(struct lath_store *store, uint64_t from, uint64_t last,
					uint64_t *keys, struct lath_store_ref *refs, size_t max,
					uint64_t *next);
/* Entries in the range, and entries before key, expired ones included. Both look at every entry
 * counted (a number costs about 1 ns, a byte key some 10). A count or -errno. */
LATH_API int64_t lath_store_count(struct lath_store *store, const struct lath_store_range *range);
LATH_API int64_t lath_store_rank(struct lath_store *store, struct lath_store_key key);

/* ---- the whole ---- */

struct lath_store_stats {
	uint64_t items;		   /* expired ones that have not left included */
	uint64_t committed;	   /* bytes taken from the machine, in blocks of 2 MiB */
	uint64_t index_bytes;	   /* of them: index nodes */
	uint64_t record_bytes;	   /* records and large values, rounded to their slots */
	uint64_t pending_bytes;	   /* replaced or deleted, readers may be at them */
	uint64_t free_bytes;	   /* committed and unused */
	uint64_t lost_bytes;	   /* unused until the store ends: memory was missing when they were
				      deleted */
	uint64_t resident;	   /* as the machine counts it (/proc/self/smaps) */
	uint64_t huge;		   /* of resident: really on huge pages */
	uint64_t layers;	   /* byte keys: further indexes */
	uint64_t evicted, expired; /* entries that left so */
	uint64_t fragmentation_permille; /* free of committed */
};

LATH_API int lath_store_get_stats(struct lath_store *store, struct lath_store_stats *stats);
/* Remove expired entries: how many. Looks at everything. */
LATH_API int64_t lath_store_sweep(struct lath_store *store);
/* Move records out of half-empty pages and give whole free blocks back to the machine: bytes given
 * back. Beside readers and writers. Waits for readers: not inside a section. */
LATH_API int64_t lath_store_compact(struct lath_store *store);
/*
 * Take so many bytes more from the machine now and touch them, so that the writes that use them
 * meet no page fault. Nothing is touched unless all of it fits: below the limit, and below what is
 * available (MemAvailable of /proc/meminfo, the memory control groups; shm: also its file system).
 * 0 | -ENOMEM | -ENOSPC: the limit | -EOPNOTSUPP: dev:, shm: (which take the option of open)
 */
LATH_API int lath_store_prefault(struct lath_store *store, uint64_t bytes);

/*
 * Snapshots: one file with a checksum (XXH3) per block and one of the whole. PATH is the old file
 * or the new one at any moment (see Files). No fork.
 * save: 0 | -EBUSY: another process or thread may write PATH | -EINVAL: not a regular file | -errno
 * of the system. After an error PATH is the old file; after an error of the directory's sync, the
 * last step, it is the new one. progress may be NULL. It is called now and then, and a result
 * other than 0 stops with -EINTR.
 * load: fills an empty store. 0 | -ENOTEMPTY | -EBADMSG: damaged, or not a snapshot | -EINVAL:
 * another kind of keys, or not a regular file | -ENOSPC: it needs more than the limit | -ENOMEM |
 * -errno of the system. A load evicts nothing. What was saved under a limit loads under the same
 * limit; for that a load may take one block of 2 MiB above it. After an error the store is empty.
 */
typedef int (*lath_store_progress_fn)(void *arg, uint64_t items, uint64_t bytes);
LATH_API int lath_store_save(struct lath_store *store, const char *path,
			     lath_store_progress_fn progress, void *arg);
LATH_API int lath_store_load(struct lath_store *store, const char *path,
			     lath_store_progress_fn progress, void *arg);
/* What is wrong with what, in words, after an error of open, close, sync, save, load, remove or
 * prefault in the calling thread. Valid until the next of these calls in this thread. Never
 * NULL. */
LATH_API const char *lath_store_reason(void);
/* The kind of keys the store was opened with. */
LATH_API enum lath_store_keys lath_store_kind(const struct lath_store *store);
/* ms since 1970, the clock of expires */
LATH_API uint64_t lath_store_now(void);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_STORE_H */
