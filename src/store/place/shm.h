/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm.h - shm:NAME, a store in a POSIX shared object that several processes attach.
 *
 *   own page | head: struct shm_head, hand, blocks | arena: records | arena: index | marks
 *   private  | the object, mapped at the address that its creator chose
 *
 * The inner store (shm_head.store) is an ordinary one. It contains addresses, of the object or of
 * the page in front of it. That page is private to each process and holds what differs between
 * processes: functions, the descriptor. One robust mutex serialises all calls. A process that dies
 * in the store leaves `dirty` set; the next process rebuilds everything from the marked records
 * (shm_lock.c).
 *
 * M1 to M5, which the comments name, are in doc/store.md (Death): what a call leaves at each
 * instruction, and what recovery depends on.
 *
 * Only processes are assumed to die, not the machine: of the stores of a killed process, all up to
 * some point in program order have taken effect, and none after it.
 */
#ifndef LATH_STORE_SHM_H
#define LATH_STORE_SHM_H

#include "store/place/place.h"

#define SHM_MAGIC "lathshm"
#define SHM_MAKING \
	"lathnew" /* an object that is being made; its maker holds the file's lock, or has died */
#define SHM_VERSION 5u
#define SHM_NAME_MAX 200
#define SHM_LIMIT_DEFAULT (4ull << 30)
/* Size of the private page in front of the object. */
#define SHM_OWN BLOCK

struct shm_head {
	char magic[8];
	u32 version;
	u32 layout; /* hash of the sizes of structs in the object, as its maker was compiled */
	u64 address, size; /* of the object */
	u64 limit;
	u64 generation; /* number of recoveries begun */
	u64 index_id;	/* id of the next index */
	u8 dirty;	/* a process changes something, or has died doing so */
	pthread_mutex_t lock;
	struct lath_store store;
};

/* At address - SHM_OWN in each process: functions have other addresses in each. The members after fd
 * are used by the lock's holder only. */
struct shm_own {
	struct lath_rcu rcu;
	struct lath_allocator allocator; /* of index nodes */
	struct lath_bytes_records records;
	struct arena_backing backing;
	int fd;
	unsigned int readers; /* nesting depth of the holder's sections */
	struct lath_rcu_head *retired;
};

/* A mapped object, shared by all handles of a process. */
struct shm {
	struct shm_head *head;
	struct shm_own *own;
	u64 dev, ino;
	unsigned int handles;
	struct shm *next;
};

/* shm_lock.c: takes the lock and repairs the store if need be. write: the call may change
 * something. 0: locked, in a call | the error of a recovery, not locked | -EDEADLK: this thread
 * holds it */
int lath_shm_enter(struct shm *shm, bool write);
void lath_shm_leave(struct shm *shm);
/* Sets own->rcu, the RCU flavour of the inner store. */
void lath_shm_flavour(struct shm_own *own);

static inline struct shm *shm_of(const struct lath_store *store)
{
	LATH_ASSERT(store->place_data);
	return store->place_data;
}

/* shm_object.c: the object of this name, made if there is none. 0 | -errno */
int lath_shm_attach(const char *name, const struct lath_store_options *options, struct shm **out);
void lath_shm_detach(struct lath_store *store);

/* For tests: the recovery does nothing / keeps slabs as they are / keeps both of two records of one
 * key marked. */
enum shm_fault { SHM_FAULT_NONE, SHM_FAULT_CLEAN, SHM_FAULT_OLD_SLABS, SHM_FAULT_KEEP_BOTH };
extern enum shm_fault lath_shm_fault;

#endif /* LATH_STORE_SHM_H */
