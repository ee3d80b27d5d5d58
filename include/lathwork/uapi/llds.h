/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds.h - the interface between /dev/llds and programs.
 *
 * A descriptor of /dev/llds has its own store, empty and private, unless LLDS_ATTACH attaches
 * it to a named one first. Keys are 64-bit numbers, values byte strings of up to LLDS_VALUE_MAX
 * bytes. Every call takes the address of one struct. All fields have fixed widths and pointers are
 * 64-bit numbers, so 32-bit programs use the same layout. Reserved fields, and flags that are not
 * listed, must be 0.
 *
 * Any thread may make any call at any time. Calls on one key are linearizable. A call that fails
 * changes nothing. Errors:
 *
 *   ENOENT  no such key or name
 *   EEXIST  add: the key is present; attach: the name exists
 *   EAGAIN  cas, if_version: the value or version is another one
 *   EBADF   the descriptor is not open for reading or writing, as the call needs
 *   ENOSPC  the store's limit is reached, and no entry has expired
 *   E2BIG   above one of the maxima below
 *   ERANGE  no room (size tells how much is needed), or a number does not fit in 64 bits
 *   EDOM    the value is not a number
 *   ENOTTY  no such call
 *   EACCES, EPERM, ENOMEM, EFAULT, EINVAL
 */
#ifndef LLDS_UAPI_H
#define LLDS_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define LLDS_ABI 1

#define LLDS_VALUE_MAX (1u << 20)
#define LLDS_BATCH_MAX 1024u /* elements per call */
#define LLDS_NAME_MAX 63u

/* flags of set and delete */
#define LLDS_ADD (1u << 0)	    /* only if the key is absent */
#define LLDS_REPLACE (1u << 1)	    /* only if the key is present */
#define LLDS_IF_VERSION (1u << 2)   /* only if the entry has this version */
#define LLDS_KEEP_EXPIRES (1u << 3) /* keep the time of expiry */

struct llds_get {
	__u64 key;
	__u64 value;   /* address */
	__u32 room;    /* room there, in bytes; filled even with ERANGE */
	__u32 size;    /* out: length of the value */
	__u64 version; /* out: never used twice for a key */
	__u64 expires; /* out: ms since 1970; 0: never */
	__s32 error;   /* out, in batches: 0 or -errno */
	__u32 reserved;
};

struct llds_set {
	__u64 key;
	__u64 value;
	__u32 size;
	__u32 flags;
	__u64 version; /* in: for LLDS_IF_VERSION; out: the new one */
	__u64 expires;
	__s32 error;
	__u32 reserved;
};

struct llds_delete {
	__u64 key;
	__u64 version; /* for LLDS_IF_VERSION */
	__u32 flags;
	__s32 error;
};

/* Sets the value if the present one equals expected, byte by byte. */
struct llds_cas {
	__u64 key;
	__u64 expected;
	__u64 value;
	__u32 expected_size;
	__u32 size;
	__u64 version; /* out */
};

/* Adds to the value, a decimal number; an absent key counts as 0. */
struct llds_incr {
	__u64 key;
	__s64 by;
	__s64 now;     /* out */
	__u64 version; /* out */
};

/* Several elements, processed one after the other, each on its own. Long calls stop early: continue
 * behind `done`. */
struct llds_batch {
	__u64 elements; /* address of struct llds_get, llds_set or llds_delete */
	__u32 count;
	__u32 done; /* out: number of elements with their error set */
	__u32 good; /* out: of these, number without an error */
	__u32 reserved;
};

#define LLDS_BACKWARD (1u << 0) /* from `from` down to `last` */

/* Copies records of keys from `from` to `last`, both included, in order. */
struct llds_iterate {
	__u64 from;
	__u64 last;
	__u64 buffer; /* address of records, 8-byte aligned */
	__u32 room;
	__u32 count; /* in: the most records, 1 .. LLDS_BATCH_MAX; out: their number */
	__u32 used;  /* out: bytes used; with ERANGE: bytes that the first record needs */
	__u32 flags;
	__u64 next; /* out: the key to continue from */
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
	__u64 bytes; /* allocated: values, index, and retired entries */
	__u64 limit;
	__u64 index_bytes;
	__u64 named; /* 1 or 0 */
	__u64 reserved[3];
};

#define LLDS_CREATE (1u << 0)
#define LLDS_EXCLUSIVE (1u << 1)

/* Before any other call on the descriptor; later: EBUSY. The mode of the descriptor is checked
 * against that of the store. */
struct llds_attach {
	char name[LLDS_NAME_MAX + 1]; /* A-Z a-z 0-9 . _ -, ended by NUL */
	__u64 limit;		      /* limit of a new store; 0: the module's */
	__u32 mode;		      /* mode of a new store: at most 0666; the umask applies */
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

/* io_uring: IORING_OP_URING_CMD, with the number of a call as cmd_op and this struct as its 16
 * bytes. */
struct llds_uring {
	__u64 argument; /* address of the call's struct */
	__u64 reserved;
};

#endif /* LLDS_UAPI_H */
