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

/* Of these headers; lath_version() (lathwork/error.h) is that of the library. Here and nowhere else. */
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
 * the caller's items are the caller's to retire (lath_rcu_memb.call() serves).
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
/* liburcu with sys_membarrier; threads call register_thread()/unregister_thread() themselves. */
extern LATH_API const struct lath_rcu lath_rcu_memb;
/* The same, but a thread registers by itself on its first call and unregisters when it ends.
 * The default: nothing to forget. */
extern LATH_API const struct lath_rcu lath_rcu_auto;
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
	/* Node memory in 2 MiB pages (madvise); ignored in the kernel. Without either flag what a list takes
	 * beyond 32 MiB is, with the second one nothing: for programs that fork and go on writing. */
	LATH_HUGE_PAGES = 1u << 0,
	LATH_SMALL_PAGES = 1u << 3,
	LATH_NODE_EACH = 1u << 1, /* one allocation a node, freed right after its grace period:
					 * slower, but checkers (ASan, memcheck) see every misuse */
	/* In memory that several processes map at one address: rcu and allocator point to structs that each of
	 * them has at that address, and are used in place, not copied; id is set and never used again. */
	LATH_SHARED = 1u << 4,
	LATH_HOLES = 1u << 2,	  /* the list can be asked for free room (lathwork/hole.h); ranges only */
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
