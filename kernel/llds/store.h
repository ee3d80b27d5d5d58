/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * store.h - a store in the kernel (store.c, memory.c), calls on it (single.c, batch.c), and named
 * stores (names.c).
 *
 *   file --> store --> tree --> index of lathwork.ko: key -> entry
 *              |         |
 *            users      refs: the store's own, and calls that hold preloaded nodes
 *
 * A store lives while a descriptor or its name uses it. When it ends or is cleared, a worker frees
 * its tree. Entries are immutable: a new value is a new entry, which replaces the old one in the
 * index if that is still the entry the change was made from. A reader finds an entry in a read-side
 * critical section and takes a reference to copy it to the user. An entry whose count drops to 0 is
 * retired: it is freed after a grace period, because readers may still look at the count.
 */
#ifndef LLDS_STORE_H
#define LLDS_STORE_H

#include <linux/cred.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "lathwork/uapi/llds.h"
#include "lathwork/index.h"

/* Charged to the caller's cgroup; a failure is not logged, since users choose the sizes. */
#define LLDS_GFP (GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

struct llds_entry {
	refcount_t refs;
	u32 size;
	u64 version;
	u64 expires;
	union {
		struct llist_node buried; /* the count is 0: linked until it is freed */
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

struct llds_tree {
	struct lath_index list;
	struct llds_store *store;
	atomic64_t items;
	bool begun; /* its first block of nodes has been allocated */
	refcount_t refs;
	struct rcu_work work;
};

/* Objects of one size: pages that have free ones (memory.c). */
#define LLDS_CLASSES 22
struct llds_class {
	spinlock_t lock;
	struct list_head partial;
};

struct llds_store {
	struct llds_tree __rcu *tree;
	refcount_t users; /* descriptors and the name */
	refcount_t refs;  /* one for all users, one per tree, one for a pending burial_work() */
	atomic64_t bytes;
	atomic64_t index_bytes; /* of these bytes */
	atomic64_t version;
	u64 limit;
	bool refused; /* the last allocation of a node failed because of the limit */

	struct llds_class class[LLDS_CLASSES]; /* memory.c */

	/* retired entries: new ones, and those whose grace period is running */
	struct llist_head buried;
	struct llist_node *waiting;
	unsigned long burying; /* bit 0: burial_work() is pending */
	struct rcu_work burial;

	u64 first_expires; /* no entry expires before this time */
	struct mutex sweep_lock;

	/* of a named store; protected by names_lock */
	struct list_head link;
	char name[LLDS_NAME_MAX + 1];
	kuid_t owner;
	kgid_t group;
	umode_t mode;
	bool named;
};

/* A change of one key, for llds_change. */
struct llds_op {
	u64 key;
	u32 flags;
	u64 version;		/* LLDS_IF_VERSION */
	u64 new_version;	/* out */
	struct llds_entry *new; /* owned by the store if the change succeeds; NULL: delete */
};

int llds_store_init(void);
void llds_store_exit(void);

struct llds_store *llds_store_new(u64 limit);
void llds_store_get(struct llds_store *store);
void llds_store_put(struct llds_store *store);

/* Returns a new entry with room for `size` bytes, or ERR_PTR: -E2BIG, -ENOMEM, -ENOSPC. Sleeps. */
struct llds_entry *llds_entry_new(struct llds_store *store, u32 size);
void llds_entry_free(struct llds_store *store, struct llds_entry *entry);
void llds_entry_put(struct llds_store *store, struct llds_entry *entry);
bool llds_entry_seen(const struct llds_entry *entry);

/* Returns the entry with a reference, or NULL: absent or expired. */
struct llds_entry *llds_find(struct llds_store *store, u64 key);
/* As llds_find() for at most 16 keys. */
void llds_find_batch(struct llds_store *store, unsigned int n, const u64 *keys,
		     struct llds_entry **found);
/* Stores up to max (at most 16) keys and entries, with references, of [from, last] in order.
 * Returns their number; *more: there may be more, from *next on. */
unsigned int llds_scan(struct llds_store *store, u64 from, u64 last, bool backward,
		       unsigned int max, u64 *keys, struct llds_entry **found, u64 *next,
		       bool *more);
int llds_change(struct llds_store *store, struct llds_op *op);
int llds_clear(struct llds_store *store);
void llds_fill_stats(struct llds_store *store, struct llds_stats *stats);

/* memory.c: allocates zeroed pages for the store, at most 2 MiB. always: even above the limit.
 * ERR_PTR: -ENOSPC, -ENOMEM */
void *llds_pages_new(struct llds_store *store, size_t size, bool always);
void llds_pages_free(struct llds_store *store, void *pages, size_t size);
/* Allocates the memory of an entry. ERR_PTR: -ENOSPC, -ENOMEM */
void *llds_memory_new(struct llds_store *store, size_t bytes);
void llds_memory_free(struct llds_store *store, void *p, size_t bytes);
void llds_memory_init(struct llds_store *store);
void llds_memory_end(struct llds_store *store);

/* names.c */
extern unsigned long llds_limit;
int llds_attach(const struct llds_attach *ask, fmode_t fmode, struct llds_store **store);
int llds_remove(const char *name);
bool llds_may_manage(const struct llds_store *store);

/* single.c: one element, in kernel memory */
int llds_get_one(struct llds_store *store, struct llds_get *get);
/* Copies a held entry to the user as *get says. 0 | -EFAULT | -ERANGE */
int llds_copy_out(struct llds_entry *entry, struct llds_get *get);
int llds_set_one(struct llds_store *store, struct llds_set *set);
int llds_delete_one(struct llds_store *store, const struct llds_delete *del);
int llds_cas_one(struct llds_store *store, struct llds_cas *cas);
int llds_incr_one(struct llds_store *store, struct llds_incr *incr);

/* batch.c */
long llds_mget(struct llds_store *store, struct llds_batch *batch);
long llds_mset(struct llds_store *store, struct llds_batch *batch);
long llds_mdelete(struct llds_store *store, struct llds_batch *batch);
long llds_iterate(struct llds_store *store, struct llds_iterate *it);

#endif /* LLDS_STORE_H */
