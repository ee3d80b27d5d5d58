/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/config.h - what a caller chooses when it creates a structure.
 *
 * Every structure takes a `const struct lath_config *`; NULL means the defaults.
 * `size` is sizeof(struct lath_config) as the caller was compiled, so that later
 * versions can add fields: a field beyond `size` has its default.
 */
#ifndef LATHWORK_CONFIG_H
#define LATHWORK_CONFIG_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of these headers; lath_version() (lathwork/error.h) is that of the library. Here and nowhere
 * else. */
#define LATH_VERSION_MAJOR 0
#define LATH_VERSION_MINOR 1
#define LATH_VERSION_PATCH 0

/* Calls a shared library shows to the outside; all else is hidden. */
#if defined(__GNUC__) && !defined(__KERNEL__)
#define LATH_API __attribute__((visibility("default")))
#else
#define LATH_API
#endif

/* Size of an opaque list; the locks of a kernel that checks locks are larger. */
#if defined(__KERNEL__) && defined(CONFIG_DEBUG_LOCK_ALLOC)
#define LATH_INDEX_WORDS 128
#else
#define LATH_INDEX_WORDS 64
#endif

/*
 * An RCU flavour: how readers announce themselves and how memory waits for them.
 * The library enters readers through it and uses call() to retire its own nodes;
 * the caller's items are the caller's to retire (lath_rcu_auto.call() serves).
 * All threads that use one structure use its flavour.
 *
 * read_lock == NULL means "every calling thread is always a reader" (a QSBR flavour,
 * or a caller that holds the reader around its calls).
 */
struct lath_rcu_head {
	struct lath_rcu_head *next;
	void (*func)(struct lath_rcu_head *head);
};

struct lath_rcu {
	const char *name;
	void (*read_lock)(void);
	void (*read_unlock)(void);
	/* run func(head) after a grace period; never blocks on readers */
	void (*call)(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head));
	/* wait for a grace period; not from within a reader */
	void (*synchronize)(void);
	/* wait until every func handed to call() so far has run; not from within a reader */
	void (*drain)(void);
	/* a thread announces itself before its first reader and after its last; may be NULL */
	void (*register_thread)(void);
	void (*unregister_thread)(void);
};

#ifndef __KERNEL__
/* The library's own flavour and the default, over membarrier(2): a read-side critical section costs
 * two stores. A thread is registered on its first use and unregistered when it ends. A thread may
 * call register_thread() before, so that its first section is as cheap as the others. */
extern LATH_API const struct lath_rcu lath_rcu_auto;

/*
 * fork()
 *
 * After a fork the parent and the child both go on: every call works in both, init to fini, open to
 * close, whatever other threads of the parent were doing. The child has its own copy of each
 * structure; a store shm:NAME or dev:PATH stays one for both. On its first use the library
 * registers handlers with pthread_atfork(). Before a fork they hold new changes up and wait for the
 * calls that other threads are in, so the child finds each structure whole and each lock free. They
 * do not wait for read-side sections: those of other threads do not exist in the child, those of
 * the thread that forks go on in both processes, with what they protect. Iterators and cursors
 * likewise.
 *
 *   F1  Do not fork between lath_cursor_lock() and the call that unlocks, in the `each` of
 *       lath_index_store_range(), in a function of lath_allocator, or in a callback of
 *       lath_store_update() on shm:NAME. Other callbacks may fork.
 *   F2  fork() waits for calls of other threads, so for the callbacks they run and their
 *       lath_allocator. A thread that forks must not hold what these wait for. With fork handlers
 *       for a lock of your own: if it is taken inside calls (by an allocator, a callback), register
 *       them before the first use of the library; if it is held around calls, after it.
 *   F3  With an RCU flavour of the caller's, fork only while no other thread is in a call or in a
 *       section, and prepare that flavour as its own manual says (liburcu: call_rcu_before_fork()
 *       and its relatives). lath_rcu_auto needs none of that and is not disturbed by it.
 *   F4  vfork(), posix_spawn(), and a fork() followed by exec() or _exit() need nothing of this.
 *       _Fork() and clone() do
 *       not run the handlers: then only exec() or _exit() may follow.
 *   F5  Fork handlers of the program may make calls, but none that waits for readers (fini, close,
 *       lath_store_compact()): handlers registered before the first use of the library run while
 *       it is held up.
 *
 * The thread that reclaims memory is started in the child when something is first retired there.
 * daemon() is a fork whose
 * parent ends: open the store before or after. ThreadSanitizer lets a child make threads only with
 * die_after_fork=0.
 */
#endif

/*
 * Memory for nodes. alloc() returns `size` bytes aligned to `align` (a power of two) or
 * NULL; it may be called from several threads at once and is never called while the
 * library holds a lock. free() gets the same size back.
 */
struct lath_allocator {
	void *(*alloc)(void *ctx, size_t size, size_t align);
	void (*free)(void *ctx, void *block, size_t size);
	void *ctx;
};

enum lath_layout {
	LATH_RANGES = 0, /* items are [key, key + size) */
	LATH_POINTS = 1, /* items have size 1: no size column, a third less memory */
};

/* lath_config.flags */
enum {
	/* Node memory in 2 MiB pages (madvise); ignored in the kernel. Without either flag what a
	 * list takes beyond 32 MiB is, with the second one nothing: for programs that fork and go
	 * on writing. */
	LATH_HUGE_PAGES = 1u << 0,
	LATH_SMALL_PAGES = 1u << 3,
	LATH_NODE_EACH = 1u << 1, /* one allocation a node, freed right after its grace period:
				   * slower, but checkers (ASan, memcheck) see every misuse */
	/* In memory that several processes map at one address: rcu and allocator point to structs
	 * that each of them has at that address, and are used in place, not copied; id is set and
	 * never used again. */
	LATH_SHARED = 1u << 4,
	LATH_HOLES =
		1u << 2, /* the list can be asked for free room (lathwork/hole.h); ranges only */
};

struct lath_config {
	size_t size; /* sizeof(struct lath_config) */
	enum lath_layout layout;
	unsigned int flags;
	const struct lath_rcu *rcu;		/* NULL: lath_rcu_auto; ignored in the kernel */
	const struct lath_allocator *allocator; /* NULL: anonymous pages */
	uint64_t id;				/* LATH_SHARED only */
};

#define LATH_CONFIG_INIT { sizeof(struct lath_config), LATH_RANGES, 0, NULL, NULL, 0 }

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_CONFIG_H */
