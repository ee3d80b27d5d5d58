/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds.h - what /dev/llds and programs say to each other.
 *
 * A descriptor of /dev/llds is a store of its own, empty and private, unless LLDS_ATTACH makes it
 * a named one first. Keys are 64-bit numbers, values byte strings up to LLDS_VALUE_MAX.
 * Every call takes one struct by address. All fields have fixed widths, pointers are 64-bit
 * numbers, so 32-bit programs use the same layout. Fields called reserved, and flags not listed,
 * must be 0.
 *
 * Any thread may make any call at any time. Calls on one key are linearizable. A call that fails
 * changes nothing. Errors:
 *   ENOENT  no such key or name             EEXIST  add: the key is there; name: it is taken
 *   EAGAIN  cas, if_version: it is another  EBADF   the descriptor is not open for that
 *   ENOSPC  the store's limit, nothing there has expired
 *   E2BIG   above a maximum below           ERANGE  no room (size says how much is needed), or
 *                                                   a number left 64 bits
 *   EDOM    no number there                 EACCES, EPERM, ENOMEM, EFAULT, EINVAL
 *   ENOTTY  no such call
 */
#ifndef LLDS_UAPI_H
#define LLDS_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define LLDS_ABI 1

#define LLDS_VALUE_MAX (1u << 20)
#define LLDS_BATCH_MAX 1024u /* elements a call */
#define LLDS_NAME_MAX 63u

/* flags of set and delete */
#define LLDS_ADD (1u << 0)	    /* only if the key is not there */
#define LLDS_REPLACE (1u << 1)	    /* only if it is */
#define LLDS_IF_VERSION (1u << 2)   /* only while it has this version */
#define LLDS_KEEP_EXPIRES (1u << 3) /* keep the time of expiry */

struct llds_get {
	__u64 key;
	__u64 value;   /* address */
	__u32 room;    /* bytes there; that much is copied even with ERANGE */
	__u32 size;    /* out: of the value */
	__u64 version; /* out: never the same again for this key */
	__u64 expires; /* out: ms since 1970; 0: never */
	__s32 error;   /* out, in batches: 0 or -errno */
	__u32 reserved;
};

struct llds_set {
	__u64 key;
	__u64 value;
	__u32 size;
	__u32 flags;
	__u64 version; /* in: LLDS_IF_VERSION; out: the new one */
	__u64 expires;
	__s32 error;
	__u32 reserved;
};

struct llds_delete {
	__u64 key;
	__u64 version; /* LLDS_IF_VERSION */
	__u32 flags;
	__s32 error;
};

/* Set to value while it equals expected, byte by byte. */
struct llds_cas {
	__u64 key;
	__u64 expected;
	__u64 value;
	__u32 expected_size;
	__u32 size;
	__u64 version; /* out */
};

/* The value is a decimal number; absent counts as 0. */
struct llds_incr {
	__u64 key;
	__s64 by;
	__s64 now;     /* out */
	__u64 version; /* out */
};

/* Elements one after the other, each on its own. Long calls stop early: go on behind done. */
struct llds_batch {
	__u64 elements; /* address of struct llds_get, llds_set or llds_delete */
	__u32 count;
	__u32 done; /* out: so many have their error set */
	__u32 good; /* out: of them without one */
	__u32 reserved;
};

#define LLDS_BACKWARD (1u << 0) /* from `from` down to `last` */

/* Copies records of keys from `from` to `last`, both included, in order. */
struct llds_iterate {
	__u64 from;
	__u64 last;
	__u64 buffer; /* address of records, 8-byte aligned */
	__u32 room;
	__u32 count; /* in: at most so many, 1.. LLDS_BATCH_MAX; out: how many */
	__u32 used;  /* out: bytes; with ERANGE: what the first record needs */
	__u32 flags;
	__u64 next; /* out: go on here */
	__u32 more; /* out: there may be more */
	__u32 reserved;
};

struct llds_record {
	__u64 key;
	__u64 version;
	__u64 expires;
	__u32 size;
	__u32 reserved;
	/* size bytes, zeros up to a multiple of 8 */
};

struct llds_stats {
	__u64 items;
	__u64 bytes; /* taken: values, index, and what waits for readers to leave it */
	__u64 limit;
	__u64 index_bytes;
	__u64 named; /* 1 or 0 */
	__u64 reserved[3];
};

#define LLDS_CREATE (1u << 0)
#define LLDS_EXCLUSIVE (1u << 1)

/* Before any other call on the descriptor; else EBUSY. What it is open for is what is asked for. */
struct llds_attach {
	char name[LLDS_NAME_MAX + 1]; /* A-Z a-z 0-9 . _ -, ended by NUL */
	__u64 limit;		      /* of a new store; 0: the module's */
	__u32 mode;		      /* of a new store: 0666 and less, the umask applies */
	__u32 flags;
};

struct llds_name {
	char name[LLDS_NAME_MAX + 1];
};

#define LLDS_MAGIC 0xb6
#define LLDS_GET _IOWR(LLDS_MAGIC, 1, struct llds_get)
#define LLDS_SET _IOWR(LLDS_MAGIC, 2, struct llds_set)
#define LLDS_DELETE _IOW(LLDS_MAGIC, 3, struct llds_delete)
#define LLDS_CAS _IOWR(LLDS_MAGIC, 4, struct llds_cas)
#define LLDS_INCR _IOWR(LLDS_MAGIC, 5, struct llds_incr)
#define LLDS_MGET _IOWR(LLDS_MAGIC, 6, struct llds_batch)
#define LLDS_MSET _IOWR(LLDS_MAGIC, 7, struct llds_batch)
#define LLDS_MDELETE _IOWR(LLDS_MAGIC, 8, struct llds_batch)
#define LLDS_ITERATE _IOWR(LLDS_MAGIC, 9, struct llds_iterate)
#define LLDS_STATS _IOR(LLDS_MAGIC, 10, struct llds_stats)
#define LLDS_CLEAR _IO(LLDS_MAGIC, 11)
#define LLDS_SET_LIMIT _IOW(LLDS_MAGIC, 12, __u64)
#define LLDS_ATTACH _IOW(LLDS_MAGIC, 13, struct llds_attach)
#define LLDS_REMOVE _IOW(LLDS_MAGIC, 14, struct llds_name)
#define LLDS_GET_ABI _IOR(LLDS_MAGIC, 15, __u32)

/* io_uring: IORING_OP_URING_CMD with one of the numbers above as cmd_op and this as its 16
 * bytes. */
struct llds_uring {
	__u64 argument; /* address of the call's struct */
	__u64 reserved;
};

#endif /* LLDS_UAPI_H */
