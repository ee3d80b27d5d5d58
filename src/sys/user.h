/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user.h - the names of sys.h in user space, over __atomic (user.c), threads and RCU (thread.h,
 * rcu.c).
 *
 * Checked builds (ThreadSanitizer, or a scheduler that uses its instrumentation) cannot follow
 * stand-alone fences. There smp_rmb and smp_wmb are compiler barriers, and READ_ONCE and WRITE_ONCE
 * are acquire and release: a reader that sees data written under a lock then also sees the lock bit
 * in the lockword (Boehm, "Can seqlocks get along with programming language memory models?", MSPC
 * 2012). In other builds READ_ONCE and WRITE_ONCE are relaxed and the fences are real.
 */
#ifndef LATH_SYS_USER_H
#define LATH_SYS_USER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef unsigned __int128 u128;
typedef int64_t s64;

#if defined(__SANITIZE_THREAD__)
#define LATH_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATH_CHECKED 1
#endif
#endif
#ifndef LATH_CHECKED
#define LATH_CHECKED 0
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define min(a, b)                       \
	({                              \
		__typeof__(a) _a = (a); \
		__typeof__(b) _b = (b); \
		_a < _b ? _a : _b;      \
	})
#define max(a, b)                       \
	({                              \
		__typeof__(a) _a = (a); \
		__typeof__(b) _b = (b); \
		_a > _b ? _a : _b;      \
	})

/* lowest and highest set bit of x != 0; highest set bit counted from 1, 0 for x == 0; number of set
 * bits. Functions, as x may be a read of memory that others write. */
static inline unsigned int __ffs64(u64 x)
{
	return (unsigned int)__builtin_ctzll(x);
}

static inline unsigned int __fls64(u64 x)
{
	return 63u ^ (unsigned int)__builtin_clzll(x);
}

static inline unsigned int fls64(u64 x)
{
	return x ? 64u - (unsigned int)__builtin_clzll(x) : 0u;
}

static inline unsigned int hweight64(u64 x)
{
#ifdef __POPCNT__
	return (unsigned int)__builtin_popcountll(x);
#else
	/* without the instruction gcc calls a function that uses a table; this adds pairs, nibbles,
	 * bytes */
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (unsigned int)(x * 0x0101010101010101ull >> 56);
#endif
}

/* A variable of each thread, in a plugin too read by one instruction. musl has no room for such
 * ones in what dlopen() loads: there the compiler's own choice. */
#ifdef __GLIBC__
#define LATH_TLS __thread __attribute__((tls_model("initial-exec")))
#else
#define LATH_TLS __thread
#endif

#define barrier() __asm__ volatile("" ::: "memory")
#if LATH_CHECKED
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)
#define smp_rmb() barrier()
#define smp_wmb() barrier()
#elif defined(__x86_64__) || defined(__i386__)
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
/* the processor reorders neither loads with loads nor stores with stores */
#define smp_rmb() barrier()
#define smp_wmb() barrier()
#else
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif
#ifdef __x86_64__
#define smp_mb() __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc")
#else
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
/* After an atomic operation that changed memory: makes it a full barrier. */
#ifdef __x86_64__
#define smp_mb__after_atomic() barrier()
#else
#define smp_mb__after_atomic() smp_mb()
#endif

#include "sys/atomic.h"

/* Returns a number of the calling thread, never 0, by which counters are spread over threads. */
extern LATH_TLS unsigned int lath_thread_number;
unsigned int lath_number_thread(void);
/* lath_stripe(), or 0 where that would be the thread's first call of it. */
#define lath_known_stripe() lath_thread_number
static inline unsigned int lath_stripe(void)
{
	return likely(lath_thread_number) ? lath_thread_number : lath_number_thread();
}

/* Returns the number of processors that the system may use. */
unsigned int lath_processors(void);

/* A part of a counter. The first thread that asks for it owns it, and alone changes it: without
 * atomic operations. When that thread has ended, one that gets its stack owns it. */
struct lath_count {
	u64 sum;
	u64 owner; /* address of its lath_thread_number, which no other live thread has; or 0 */
} __attribute__((aligned(64)));

/* Returns whether the calling thread may change the count, now and later. */
static inline bool lath_count_mine(struct lath_count *count)
{
	u64 me = (uintptr_t)&lath_thread_number, owner = READ_ONCE(count->owner);

	return likely(owner == me) || (!owner && !cmpxchg_acquire(&count->owner, 0, me));
}

/* Adds n, ordered after all accesses before it. */
static inline void lath_count_add(struct lath_count *count, u64 n)
{
	/* pairs with the reader's acquire */
	smp_store_release(&count->sum, READ_ONCE(count->sum) + n);
}

#define prefetch(p) __builtin_prefetch(p)
/* Prefetches a line that will be written: takes it from the other caches. */
static inline void prefetchw(const void *p)
{
#if defined(__x86_64__) && !LATH_CHECKED
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p)); /* gcc would want -mprfchw */
#else
	__builtin_prefetch(p, 1);
#endif
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	barrier();
#endif
}

/* Sleeps while *word is `value`, at most this many nanoseconds (UINT64_MAX: no limit), until
 * lath_wake(word). May return early. Not in a call, and no lock held. */
void lath_sleep(u32 *word, u32 value, u64 nanoseconds);
/* Wakes all threads that sleep on the word, which may be no memory any more. */
void lath_wake(u32 *word);
/* Sleeps for this many nanoseconds. As the two before, no cancellation point of the thread. */
void lath_rest(u64 nanoseconds);
/* Gives up the processor in a loop that waits for another thread, `times` times before: first to
 * threads that are ready, then it sleeps, since the other thread may have a lower priority. */
void lath_nap(unsigned int times);
/* Returns nanoseconds since some moment, the same for all threads. */
u64 lath_now(void);

/* Spends about this many nanoseconds without looking at shared memory. */
void lath_pause(unsigned int ns);

/* One round of a loop that waits for a lock, in a thread that may hold others. *rounds is 0 before
 * the first round. Rounds get longer, 1 to 32 pauses, so that of many threads few ask for the lock
 * at the moment at which it is released; after six of them the thread gives up the processor, since
 * the holder may wait for one (lath_nap), and begins again. */
static inline void lath_spin_wait(unsigned int *rounds)
{
	unsigned int round = (*rounds)++, pauses = 1u << round % 7;

	if (unlikely(round % 7 == 6)) {
		lath_nap(round / 7);
		return;
	}
	while (pauses--)
		cpu_relax();
}

/* One round of a loop that waits for a lock, in a thread that holds no lock. *rounds is 0 before
 * the first round. A round may take 3 us for each processor (crowd.c). */
void lath_crowd_wait(unsigned int *rounds);

/* LATH_ANY_CONTEXT is of no effect here. */
#define lath_any_valid(config) ((void)(config), true)
#define preempt_disable() ((void)0)
#define preempt_enable() ((void)0)
#define lath_word_locked(level) ((void)0)
#define lath_word_unlocked(level) ((void)0)
__extension__ struct lath_lockdep {
};
#define lath_lockdep_init(dep, name) ((void)(dep))
#define lath_lockdep_locked(dep, mine, shared, waits) ((void)(dep))
#define lath_lockdep_unlocked(dep, mine) ((void)(dep))
#define __percpu
#define __acquires(lock)
#define __releases(lock)

/* States what a function expects or promises. With LATH_ASSERTIONS a false condition prints file,
 * line and condition and aborts; without it the condition is compiled but not evaluated. */
#ifdef LATH_ASSERTIONS
_Noreturn void lath_assert_failed(const char *condition, const char *file, int line);
#define LATH_ASSERT(condition)                                              \
	do {                                                                \
		if (unlikely(!(condition)))                                 \
			lath_assert_failed(#condition, __FILE__, __LINE__); \
	} while (0)
#else
#define LATH_ASSERT(condition) ((void)sizeof(!(condition)))
#endif
#define __maybe_unused __attribute__((unused))

#include "sys/thread.h"

struct lath_spinlock {
	u64 held; /* 0: free. With assertions: lath_stripe() of the thread that holds it, else 1 */
};

static inline void lath_spin_init(struct lath_spinlock *lock)
{
	lock->held = 0;
}

/* In the kernel, of a structure that may be called in interrupts. */
#define lath_spin_init_any(lock, any) ((void)(any), lath_spin_init(lock))
#define lath_irqs_off(any) ((void)(any))
#define lath_irqs_on(any) ((void)(any))

static inline u64 lath_spin_holder(void)
{
#ifdef LATH_ASSERTIONS
	return lath_stripe();
#else
	return 1;
#endif
}

/* For assertions: returns whether the calling thread holds the lock. */
static inline bool lath_spin_mine(struct lath_spinlock *lock)
{
	return READ_ONCE(lock->held) == lath_spin_holder();
}

/* Returns whether a thread holds the lock: a hint. */
static inline bool lath_spin_held(const struct lath_spinlock *lock)
{
	return READ_ONCE(lock->held);
}

static inline void lath_spin_lock(struct lath_spinlock *lock)
{
	unsigned int rounds = 0;

	lath_call_assert();
	LATH_ASSERT(!lath_spin_mine(lock));
	while (READ_ONCE(lock->held) || cmpxchg_acquire(&lock->held, 0, lath_spin_holder()))
		lath_spin_wait(&rounds);
}

/* The same where many threads meet: waits may take microseconds (crowd.c). Hold no node. */
void lath_spin_lock_crowd(struct lath_spinlock *lock);

static inline bool lath_spin_trylock(struct lath_spinlock *lock)
{
	lath_call_assert();
	return !READ_ONCE(lock->held) && !cmpxchg_acquire(&lock->held, 0, lath_spin_holder());
}

static inline void lath_spin_unlock(struct lath_spinlock *lock)
{
	LATH_ASSERT(lath_spin_mine(lock));
	smp_store_release(&lock->held, 0); /* pairs with cmpxchg_acquire in lath_spin_lock */
}

/* Tells ThreadSanitizer of the order that an RCU flavour establishes, since a flavour of the
 * caller's may not be instrumented (liburcu): the end of a read-side critical section and the call
 * that retires happen before the callback, and callbacks happen before the end of a drain. The two
 * functions are NULL in builds without ThreadSanitizer. lath_retired() and lath_retired_end() are
 * the first and the last call in a function handed to lath_retire(). */
extern void __tsan_acquire(void *addr) __attribute__((weak));
extern void __tsan_release(void *addr) __attribute__((weak));
extern char lath_grace_period_tag;

static inline void lath_retired_end(void)
{
#if LATH_CHECKED
	if (__tsan_release)
		__tsan_release(&lath_grace_period_tag);
#endif
}

static inline void lath_retired(void)
{
#if LATH_CHECKED
	if (__tsan_acquire)
		__tsan_acquire(&lath_grace_period_tag);
#endif
}

/* For assertions: returns whether the calling thread is in a read-side critical section; true for
 * flavours of others, which do not tell. */
bool lath_reader_inside(const struct lath_rcu *rcu);

static inline void lath_reader_enter(const struct lath_rcu *rcu)
{
	if (rcu->read_lock)
		rcu->read_lock();
}

static inline void lath_reader_exit(const struct lath_rcu *rcu)
{
	LATH_ASSERT(lath_reader_inside(rcu));
	lath_retired_end();
	if (rcu->read_unlock)
		rcu->read_unlock();
}

/* Runs func(head) after a grace period. Does not wait. May be called with locks held and in a
 * read-side critical section. */
static inline void lath_retire(const struct lath_rcu *rcu, struct lath_rcu_head *head,
			       void (*func)(struct lath_rcu_head *head))
{
	LATH_ASSERT(head && func);
	lath_retired_end();
	rcu->call(head, func);
}

/* Returns whether nothing retired is run any more, as the process ends while a thread is in a
 * section: a drain that has returned may have left callbacks of lath_rcu_auto. */
bool lath_retire_ended(void);

static inline void lath_retire_drain(const struct lath_rcu *rcu)
{
	rcu->drain();
	lath_retired();
}

/* Returns how many bytes a page has: 4 KiB, on arm64 16 or 64 KiB too. */
size_t lath_page_size(void);
#define HUGE_PAGE (2ul << 20)

/* Returns zeroed anonymous memory, whole pages; NULL: no memory. No other allocation is in a page
 * of it, so it is freed and discarded by whole pages too. The first store to a page that is not
 * present waits until the kernel has cleared it. */
void *lath_pages_alloc(size_t size, enum lath_pages kind);
/* Returns whether a huge page that is present waits for the next lath_pages_alloc() of 2 MiB; if
 * not, the library's thread gets one. */
bool lath_pages_ahead(void);
void lath_pages_free(void *pages, size_t size);
/* Gives pages back to the host. Their addresses remain the caller's and read as zeros until
 * something is written there. Returns false if the host did not take them. */
bool lath_pages_discard(void *pages, size_t size);
/* Does this host take pages back? */
#define LATH_DISCARDS true
/* Returns a block that is not zeroed, aligned to 64 bytes, or NULL. */
void *lath_block_alloc(size_t size);
void lath_block_free(void *block);
/* The same, aligned to 16 bytes only: for blocks smaller than a line or two. */
void *lath_small_alloc(size_t size);

/* The value of an environment variable, or NULL; NULL too in a program with more rights than its
 * caller (setuid). */
const char *lath_environment(const char *name);
/* Writes the line "lathwork: TEXT" to stderr. */
void lath_warn(const char *text);

/* Named points where a test build can pause a thread. */
#ifdef LATH_DELAYS
extern void (*lath_delay_hook)(const char *point);
#define lath_delay(point)                       \
	do {                                    \
		if (lath_delay_hook)            \
			lath_delay_hook(point); \
	} while (0)
#else
#define lath_delay(point) ((void)0)
#endif

#endif /* LATH_SYS_USER_H */
