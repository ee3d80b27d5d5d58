/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/config.h - what a caller chooses when it creates a structure: layout, flags, RCU flavour
 * and memory.
 *
 *     struct lath_config config = LATH_CONFIG_INIT;
 *     struct lath_index index;
 *
 *     config.layout = LATH_POINTS;     // every item is one key
 *     config.flags = LATH_HUGE_PAGES;  // nodes on 2 MiB pages
 *     config.allocator = &mine;        // memory from the caller's functions
 *     if (lath_index_init(&index, &config))
 *             ...                      // -EINVAL: a bad configuration; -ENOMEM
 *
 * NULL in the place of a configuration means the defaults. LATH_CONFIG_INIT sets `size` to
 * sizeof(struct lath_config) as the caller was compiled, so that later versions can add fields: a
 * field beyond `size` has its default.
 *
 * Vector code. In user space the library chooses it before main(): the best that the processor has,
 * or what the environment variable LATH_ISA names, to measure or to test one form:
 *
 *   scalar   none
 *   avx2     AVX2
 *   neon     NEON, which every arm64 has, in the search of an index; the sorted queue has no form
 *            with it
 *
 * All forms give the same results. A value that is none of these, or that the processor or the
 * build does not have, is ignored with one line on stderr. A program with more rights than its
 * caller (setuid) does not read the variable. A queue whose lath_sortq_config.simd names a form has
 * that form.
 */
#ifndef LATHWORK_CONFIG_H
#define LATHWORK_CONFIG_H

#if !defined(__linux__) && !defined(__wasm__) /* a page of the book */
#error "lathwork needs Linux"
#endif
#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; lath_version() (lathwork/error.h) is that of the library. It is
 * written here and nowhere else. */
#define LATH_VERSION_MAJOR 0
#define LATH_VERSION_MINOR 3
#define LATH_VERSION_PATCH 0

/* A function that the shared library exports; all others are hidden. What contains the library in
 * two files and exports none compiles with -DLATH_API= -fvisibility=hidden. */
#ifdef LATH_API
#elif defined(__GNUC__) && !defined(__KERNEL__)
#define LATH_API __attribute__((visibility("default")))
#else
#define LATH_API
#endif

/* A pointer as another one or as a number, for inline functions of these headers. */
#ifdef __cplusplus
#define LATH_CAST(type, value) reinterpret_cast<type>(value)
#else
#define LATH_CAST(type, value) ((type)(value))
#endif

/* Size of struct lath_index; locks are larger in a kernel with lockdep. */
#if defined(__KERNEL__) && defined(CONFIG_DEBUG_LOCK_ALLOC)
#define LATH_INDEX_WORDS 128
#else
#define LATH_INDEX_WORDS 64
#endif

/*
 * An RCU flavour: how threads mark read-side critical sections, and how memory is freed after them.
 *
 * The library enters sections through it and calls call() to retire its own nodes. Objects of the
 * caller's are retired by the caller (lath_rcu_auto.call() serves). All threads that use one
 * structure use its flavour.
 *
 * read_lock == NULL: every thread is always in a section (a QSBR flavour, or a caller that holds a
 * section around its calls).
 */
struct lath_rcu_head {
	struct lath_rcu_head *next;
	void (*func)(struct lath_rcu_head *head);
};

struct lath_rcu {
	const char *name;
	void (*read_lock)(void);
	void (*read_unlock)(void);
	/* run func(head) after a grace period; never waits for readers */
	void (*call)(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head));
	/* wait for a grace period; not in a section */
	void (*synchronize)(void);
	/* wait until every func handed to call() so far has run; not in a section */
	void (*drain)(void);
	/* a thread calls these before its first section and after its last one; may be NULL */
	void (*register_thread)(void);
	void (*unregister_thread)(void);
};

#ifndef __KERNEL__
/* The library's own flavour and the default, over membarrier(2): a read-side critical section costs
 * two stores. A thread is registered on its first use and unregistered when it ends. A thread may
 * call register_thread() before, so that its first section is as cheap as the others. Where the
 * process has no memory or no thread-specific key (pthread_key_create) left to register a thread,
 * what makes a structure returns -ENOMEM; other first calls of a thread have no error for it and
 * end the process, with a message. */
extern LATH_API const struct lath_rcu lath_rcu_auto;

/* As lath_rcu_auto, but it starts no thread: for a program in which one thread at a time makes
 * changes: a server's main thread. Any threads may read, and any thread may end a structure. What
 * is retired waits until the program calls lath_rcu_single_step(), between two requests, or
 * drain(), as every end of a structure does. Until then it is not freed. */
extern LATH_API const struct lath_rcu lath_rcu_single;
/* Runs the callbacks of at most `most` retired objects of lath_rcu_single. Never waits: does
 * nothing while a section that began before they were retired goes on, or while another thread
 * drains. Returns how many. Any thread, not in a section. With nothing retired it costs two loads;
 * else it may call membarrier(2). */
LATH_API size_t lath_rcu_single_step(size_t most);
/* The same for lath_rcu_auto: for a program that cannot wait, in drain(), for a section that may
 * last for ever. */
LATH_API size_t lath_rcu_step(size_t most);
/* Calls func(head) in the library's thread, soon, outside of every call and section: it may wait
 * for readers, and take locks of the program's: nothing waits for it. If no thread can be started
 * it waits for the next call. */
LATH_API void lath_rcu_later(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head));
/* If the calling thread ends in a section, now or later, that stays open for ever: for a language
 * whose references may outlive their thread. Without this call it ends with its thread. */
LATH_API void lath_rcu_keep_open(void);

/*
 * fork()
 *
 * After a fork every call works in the parent and in the child, init to fini, open to close,
 * whatever other threads of the parent were doing. The child has its own copy of each structure,
 * but a store shm:NAME or dev:PATH stays one store for both. On its first use the library registers
 * handlers with pthread_atfork(). Before a fork they delay new changes and wait for the calls that
 * other threads are in, so the child finds each structure complete and each lock free. They do not
 * wait for read-side critical sections: those of other threads do not exist in the child; those of
 * the thread that forks continue in both processes, and what they protect stays valid. The same
 * holds for iterators and cursors.
 *
 *   F1  Do not fork between lath_cursor_lock() and the call that unlocks, in the `each` of
 *       lath_index_store_range(), in a function of lath_allocator, or in a callback of
 *       lath_store_update() on shm:NAME. Other callbacks may fork.
 *   F2  fork() waits for calls of other threads, hence for the callbacks and the lath_allocator
 *       that they run. A thread that forks must not hold what these wait for. With fork handlers
 *       for your own lock: if it is taken inside calls (by an allocator, a callback), register
 *       them before the first use of the library; if it is held around calls, after it.
 *   F3  With an RCU flavour of the caller's, fork only while no other thread is in a call or in a
 *       section, and prepare that flavour as its own manual says (liburcu: call_rcu_before_fork()
 *       and its relatives). If fork handlers do that, register them after the first use of the
 *       library: they run before the library's, which delay the callbacks that a thread of the
 *       flavour may be running, and would wait for that thread for ever. lath_rcu_auto needs none
 *       of that and is not disturbed by it, nor does lath_rcu_single.
 *   F4  vfork(), posix_spawn(), and a fork() followed by exec() or _exit() need none of these
 *       rules. _Fork() and clone() do not run the handlers: after them only exec() or _exit() may
 *       follow.
 *   F5  Fork handlers of the program may make calls, but none that waits for readers (fini, close,
 *       lath_store_compact()): handlers registered before the first use of the library run while
 *       changes are delayed.
 *
 * The thread that reclaims memory is started in the child when something is first retired there.
 * daemon() is a fork whose parent ends: open a store before or after it. ThreadSanitizer lets a
 * child start threads only with die_after_fork=0.
 */

/*
 * What else a process does to its threads, in calls of all headers. doc/calls.md has a table of the
 * calls, and what they ask of the system.
 *
 *   T1  Signals. No call may be made in a signal handler, not even a lookup or read_lock(): it may
 *       have interrupted a call of the same thread that holds a lock, for which it would wait for
 *       ever. Calls go on after a handler, and no wait ends; a handler must not leave a call by
 *       siglongjmp().
 *   T2  Cancellation. A thread that is cancelled leaves nothing locked. A request that comes in
 *       drain(), in the end of a structure, in lath_store_compact() or in a call on a whole store
 *       (open, sync, save, load, close) is followed when the call has done its work. Other calls
 *       are no cancellation points. Of a callback that the library calls, and of a lath_allocator,
 *       the same is expected. A section that the thread had begun has ended. Asynchronous
 *       cancellation is not for threads that make calls.
 *   T3  Priorities. A wait looks for a while, then sleeps for 50 us at a time: a thread of
 *       SCHED_FIFO or SCHED_RR waits as long as the thread that it waits for needs, at its
 *       priority. No priority is inherited.
 *   T4  A callback returns. It must not throw or longjmp() through the library; the headers for C++
 *       keep what a function throws until the library's call has returned.
 *   T5  The end. A structure that ends waits for the sections of all threads that use its flavour,
 *       also of those that do not use it. Within a section of the same thread that would last for
 *       ever: the process ends with a message, also in drain() and synchronize(). In exit() it
 *       waits for a quarter of a second: then what was retired is left as it is, and no callback
 *       runs any more in the process. So static objects may end while a thread is in a section, or
 *       in one that exit() was called in. (With glibc, and if the thread that calls exit() has made
 *       a call before. Else the program ends its sections first.)
 *   T6  Sandboxes. membarrier() may be refused from the beginning, or from some moment on: then
 *       sections execute fences. If no thread can be started, what was retired waits for a drain.
 */
#endif

/* Memory for nodes. alloc() returns `size` bytes aligned to `align` (a power of two) or NULL; it is
 * never called while the library holds a lock. free() gets the size that alloc() got. Both may be
 * called from several threads at once. */
struct lath_allocator {
	void *(*alloc)(void *ctx, size_t size, size_t align);
	void (*free)(void *ctx, void *block, size_t size);
	void *ctx;
};

enum lath_layout {
	LATH_RANGES = 0, /* items are [key, key + size) */
	LATH_POINTS = 1, /* items have size 1; a third less memory */
};

/* lath_config.flags */
enum {
	/* All node memory in 2 MiB pages (madvise). Not with LATH_SMALL_PAGES. Ignored in the
	 * kernel. */
	LATH_HUGE_PAGES = 1u << 0,
	/* One allocation per node, freed right after its grace period: slower, but checkers (ASan,
	 * memcheck) see every misuse. */
	LATH_NODE_EACH = 1u << 1,
	/* The index can search for free space (lathwork/hole.h). LATH_RANGES only. */
	LATH_HOLES = 1u << 2,
	/* No 2 MiB pages, for programs that fork and then write. With neither this flag nor
	 * LATH_HUGE_PAGES, what an index allocates beyond 32 MiB is in 2 MiB pages. Ignored in the
	 * kernel. */
	LATH_SMALL_PAGES = 1u << 3,
	/* The index is in memory that several processes map at one address. `rcu` and `allocator`
	 * point to structs that each process has at that address, and are used in place, not
	 * copied. `id` is set; an id is never used twice. */
	LATH_SHARED = 1u << 4,
	/* The index counts: lath_index_rank(), lath_index_select(), lath_index_count_range(), and
	 * lath_index_count() without a walk over the leaves. Inner nodes are half as large again,
	 * 1 % of the index. Not with LATH_HOLES. */
	LATH_RANKS = 1u << 6,
	/* In the kernel: calls may be made in any context but NMIs, with interrupts off and in
	 * interrupts too, except those that create, load or end a structure, or run over all of it.
	 * Interrupts are off while a call has a lock, nothing sleeps, and nothing larger than 64
	 * KiB is allocated. For an index and a space (lath_space_config.flags). Refused by a kernel
	 * with PREEMPT_RT. Of no effect in user space. */
	LATH_ANY_CONTEXT = 1u << 7,
};

struct lath_config {
	size_t size; /* sizeof(struct lath_config) */
	enum lath_layout layout;
	unsigned int flags;
	const struct lath_rcu *rcu;		/* NULL: lath_rcu_auto; ignored in the kernel */
	const struct lath_allocator *allocator; /* NULL: anonymous pages */
	uint64_t id;				/* LATH_SHARED only */
	/* Bytes of a value: 0 or 8, a word; or 16, 24, ... 64: lathwork/index.h. Not with
	 * LATH_HOLES. */
	size_t value_size;
#ifdef __KERNEL__
	/* LATH_ANY_CONTEXT: flags of allocations where the caller may not sleep, which may not
	 * sleep; 0: GFP_ATOMIC */
	gfp_t gfp;
#endif
};

#define LATH_CONFIG_INIT { sizeof(struct lath_config), LATH_RANGES, 0, NULL, NULL, 0, 0 }

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_CONFIG_H */
