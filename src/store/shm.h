/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm.h - shm:NAME, a store in a POSIX shared object, attached by several processes.
 *
 *   own page | head: struct shm_head, hand, blocks | arena: records | arena: index | marks of the
 *   records
 *   private  | the object, mapped at the address that its creator chose
 *
 * The store inside (shm_head.store) is an ordinary one. Everything in it refers by address, to the
 * object or to the page in front of it; that page is each process' own and holds what differs:
 * functions, the descriptor. One robust mutex serves all calls, so whoever is in the store is
 * alone; whoever dies there leaves `dirty` set, and the next one makes everything anew from the
 * marked records (recover.c).
 *
 *   M1  a record is there if and only if it is marked. Marking and unmarking is the store of one
 *       word.
 *   M2  a marked record is complete, and the unit table tells its slab or run. Neither is written
 *       while it is marked.
 *   M3  a change of a key marks the new record, then unmarks the old one. The new one has the
 *       higher version, or the same one and the same value.
 *   M4  a call that changes something returns after both, with `dirty` off.
 *   M5  nothing else decides: recovery reads marks, marked records and their heads in the unit
 *       table, and which blocks were taken; it writes none of these but marks of what M3 left over.
 *       So it can be repeated.
 *
 * Death is of processes; stores of a process that is killed are all there or, from some one on,
 * none.
 */
#ifndef LATH_STORE_SHM_H
#define LATH_STORE_SHM_H

#include "store/engine.h"

#define SHM_MAGIC "lathshm"
#define SHM_MAKING "lathnew" /* whoever makes it holds the file's lock: unlocked, he died */
#define SHM_VERSION 2u
#define SHM_NAME_MAX 200
#define SHM_LIMIT_DEFAULT (4ull << 30)
/* What is of this process alone, in front of the object. */
#define SHM_OWN BLOCK

struct shm_head {
	char magic[8];
	u32 version;
	u32 layout;	   /* sizes of what lies in the object, as its creator was compiled */
	u64 address, size; /* of the object */
	u64 limit;
	u64 generation; /* recoveries begun */
	u8 dirty;	/* somebody changes something, or died doing so */
	pthread_mutex_t lock;
	struct lath_store store;
};

/* At address - SHM_OWN in each process. The lock's holder alone uses what is below fd. */
struct shm_own {
	struct lath_rcu rcu;
	struct lath_allocator allocator;
	struct arena_backing backing;
	int fd;
	unsigned int readers; /* of the one thread inside: nested */
	struct lath_rcu_head *retired;
};

/* A handle's part, one for all handles of a process on one object. */
struct shm {
	struct shm_head *head;
	struct shm_own *own;
	u64 dev, ino;
	unsigned int handles;
	struct shm *next;
};

/* shm_map.c */
int shm_attach(const char *name, const struct lath_store_options *options, struct shm **out);
void shm_detach(struct shm *shm);
int shm_remove(const char *name);

/* shm.c: alone in the store: 0 | what recovery said. write: something may change. */
int shm_enter(struct shm *shm, bool write);
void shm_leave(struct shm *shm);
/* Of the store inside, while its maker or a recoverer is alone. */
void shm_flavour(struct shm_own *own);
/* Run what was retired. */
void shm_reclaim(struct shm *shm);

static inline struct shm *shm_of(const struct lath_store *store)
{
	return store->backend_data;
}

static inline struct lath_store *shm_inside(const struct lath_store *store)
{
	return &shm_of(store)->head->store;
}

/* recover.c: 0 | -ENOMEM | -EBADMSG, and can be called again */
int shm_recover(struct shm_head *head);
/* Tests leave a step out: nothing is done; slabs are believed; of two records of a key both stay
 * marked. */
enum shm_fault { SHM_FAULT_NONE, SHM_FAULT_CLEAN, SHM_FAULT_OLD_SLABS, SHM_FAULT_KEEP_BOTH };
extern enum shm_fault lath_shm_fault;

/* shm_iter.c */
int shm_iter_begin(struct lath_store *store, const struct lath_store_range *range, void **iter);
int shm_iter_next(void *iter, struct lath_store_key *key, struct lath_store_ref *value);
void shm_iter_end(void *iter);

#endif /* LATH_STORE_SHM_H */
