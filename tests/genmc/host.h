/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host.h - the names of sys.h for GenMC, which explores every execution of a program under a memory
 * model. Included before all else, in place of src/sys/user.h. The page "An index at work"
 * (doc/play/host.h) is built on it too.
 *
 * Accesses and barriers are those of user.h for a processor that reorders: READ_ONCE and WRITE_ONCE
 * relaxed, smp_rmb and smp_wmb C11 fences. What GenMC cannot run is replaced: inline assembly,
 * memory of the system, threads' records, and fork.
 *
 *   waiting    a thread that waits for a lock ends its execution there unless the lock is free: the
 *              executions in which it is free are explored anyway. With GENMC_SLEEPS a thread that
 *              would sleep ends instead, and the client asks whether anybody has woken it
 *   memory     blocks are zeroed and never freed. So GenMC does not report a read through an old
 *              pointer, which the library allows: its nodes are type-stable
 *   RCU        a retired node is not used again
 */
#ifndef LATH_SYS_USER_H
#define LATH_SYS_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/errno.h>
#include "lathwork/config.h"

void __VERIFIER_assume(bool) __attribute__((__nothrow__));

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef unsigned __int128 u128;
typedef int64_t s64;

#define LATH_CHECKED 1 /* words one by one, no vectors */
#define LATH_SCALAR 1
#define LATH_NO_FLOAT 1
#define LATH_HEAD_WORDS 1 /* for nodes of up to eight entries */

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define likely(x) (!!(x))
#define unlikely(x) (!!(x))
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define LATH_TLS __thread
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

/* without the instructions' intrinsics */
static inline unsigned int fls64(u64 x)
{
	unsigned int n = 0, step;

	for (step = 32; step; step /= 2)
		if (x >> step) {
			x >>= step;
			n += step;
		}
	return n + (unsigned int)x;
}

static inline unsigned int __fls64(u64 x)
{
	return fls64(x) - 1;
}

static inline unsigned int __ffs64(u64 x)
{
	return __fls64(x & -x);
}

static inline unsigned int hweight64(u64 x)
{
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (unsigned int)(x * 0x0101010101010101ull >> 56);
}

#define barrier() ((void)0)
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_mb__after_atomic() smp_mb()
#include "sys/atomic.h"

extern __thread unsigned int genmc_thread; /* 0: main() */

/* each thread counts in its own place */
static inline unsigned int lath_stripe(void)
{
	return genmc_thread;
}

static inline int lath_thread_prepare(void)
{
	return 0;
}

static inline u64 lath_thread_id(void)
{
	return genmc_thread + 1;
}
#define lath_known_thread() lath_thread_id()

static inline unsigned int lath_processors(void)
{
	return 4;
}

#define prefetch(p) ((void)(p))
#define prefetchw(p) ((void)(p))

/* An execution in which a thread has to wait ends. */
#ifdef GENMC_SLEEPS
/* of the looks before a sleep: a later look is another execution's */
#define cpu_relax()   \
	genmc_step(); \
	break
#define lath_delay(point) genmc_step()
void genmc_step(void);
void genmc_sleep(const u32 *word, u32 value);
#define lath_sleep(word, value, nanoseconds) ((void)(nanoseconds), genmc_sleep(word, value))
#else
#define cpu_relax() __VERIFIER_assume(false)
#define lath_sleep(word, value, nanoseconds) \
	((void)(word), (void)(value), (void)(nanoseconds), __VERIFIER_assume(false))
#define lath_delay(point) ((void)0)
#endif
#define lath_wake(word) ((void)(word))
#define lath_now() 1
#define lath_spin_wait(rounds) ((void)(rounds), __VERIFIER_assume(false))
#define lath_crowd_wait(rounds) ((void)(rounds), __VERIFIER_assume(false))
#define lath_crowded() false

#define lath_any_valid(config) ((void)(config), true)
#define preempt_disable() ((void)0)
#define preempt_enable() ((void)0)
#define lath_word_locked(level) ((void)0)
#define lath_word_unlocked(level) ((void)0)
#define __percpu
#define __acquires(lock)
#define __releases(lock)

#define LATH_ASSERT(condition) ((void)sizeof(!(condition)))

static inline void lath_call_enter(void)
{
}

#define lath_call_try_enter() true

static inline void lath_call_exit(void)
{
}

static inline void lath_call_assert(void)
{
}

struct lath_spinlock {
	u64 held;
};

struct lath_turn {
};

struct lath_lockdep {
};
#define lath_lockdep_init(dep, name) ((void)(dep))
#define lath_lockdep_locked(dep, mine, shared, waits) ((void)(dep))
#define lath_lockdep_unlocked(dep, mine) ((void)(dep))

static inline void lath_spin_init(struct lath_spinlock *lock)
{
	(void)lock; /* zeros */
}

#define lath_spin_init_any(lock, any) ((void)(any), lath_spin_init(lock))
#define lath_irqs_off(any) ((void)(any))
#define lath_irqs_on(any) ((void)(any))

static inline bool lath_spin_mine(const struct lath_spinlock *lock)
{
	return READ_ONCE(lock->held);
}

static inline void lath_spin_lock(struct lath_spinlock *lock)
{
	__VERIFIER_assume(!cmpxchg_acquire(&lock->held, 0, 1));
}

static inline void lath_spin_lock_crowd(struct lath_spinlock *lock)
{
	lath_spin_lock(lock);
}

static inline bool lath_spin_trylock(struct lath_spinlock *lock)
{
	return !READ_ONCE(lock->held) && !cmpxchg_acquire(&lock->held, 0, 1);
}

static inline void lath_spin_unlock(struct lath_spinlock *lock)
{
	smp_store_release(&lock->held, 0);
}

#define lath_reader_inside(rcu) true
#define lath_reader_enter(rcu) ((void)(rcu))
#define lath_reader_exit(rcu) ((void)(rcu))
#define lath_retire(rcu, head, func) ((void)(rcu), (void)(head), (void)(func))
#define lath_retired() ((void)0)
#define lath_retired_end() ((void)0)
#define lath_retire_drain(rcu) ((void)(rcu))
#define lath_retire_ended() false
#define LATH_NO_CANCEL const int lath_cancel_was __attribute__((unused)) = 0

/* Zeros, since each block is of an array that nobody used before. */
void *lath_block_alloc(size_t size);
#define lath_small_alloc(size) lath_block_alloc(size)
#define lath_block_free(block) ((void)(block))
#define lath_pages_alloc(size, kind) lath_block_alloc(size)
#define lath_pages_ahead() false
#define HUGE_PAGE (2ul << 20)
#define lath_pages_free(pages, size) ((void)(pages), (void)(size))
#define lath_pages_discard(pages, size) false
#define LATH_DISCARDS false
#define lath_page_size() 4096ul

/* Memory from lath_block_alloc() is zeros and need not be cleared; arrays on the stack must. */
static inline void lath_clear_words(u64 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n / sizeof(u64); i++)
		p[i] = 0;
}

static inline void lath_fill_bytes(u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = 255; /* heads */
}

static inline void lath_clear_nothing(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

/* field by field, in the sizes in which they are read */
static inline void lath_copy_config(struct lath_config *to, const struct lath_config *from,
				    size_t n)
{
	(void)n;
	to->size = from->size;
	to->layout = from->layout;
	to->flags = from->flags;
	to->rcu = from->rcu;
	to->allocator = from->allocator;
	to->id = from->id;
	to->value_size = from->value_size;
}

static inline void lath_copy_words(u64 *to, const u64 *from, size_t n)
{
	size_t i;

	for (i = 0; i < n / sizeof(u64); i++)
		to[i] = from[i];
}

#define memset(p, c, n)                  \
	_Generic((p),                    \
		u64 *: lath_clear_words, \
		u8 *: lath_fill_bytes,   \
		default: lath_clear_nothing)(p, n)
#define memcpy(to, from, n) \
	_Generic((to), struct lath_config *: lath_copy_config, u64 *: lath_copy_words)(to, from, n)
#define memmove(to, from, n) ((void)(to), (void)(from), (void)(n)) /* LATH_CHECKED has none */
#define snprintf(text, size, ...) ((void)(text), (void)(size))

#define lath_environment(name) NULL
#define lath_warn(text) ((void)(text))

/* With GENMC_ONCE an execution ends in which a node changed while it was read, or a descent came to
 * a dead node: what follows is a read that begins later, and executions with that one alone are
 * explored too. (No rule makes a read see a newer state some day, so such an execution could also
 * go on for ever.) */
#define LATH_SYS_PROBE_H
#ifdef GENMC_ONCE
#define GENMC_PROBE_restart __VERIFIER_assume(false)
#else
#define GENMC_PROBE_restart ((void)0)
#endif
#define GENMC_PROBE_split ((void)0)
#define GENMC_PROBE_merge ((void)0)
#define GENMC_PROBE_lock_fall ((void)0)
#define GENMC_PROBE_refusal ((void)0)
#define lath_probe(name, object, number) ((void)(object), (void)(number), GENMC_PROBE_##name)

#ifdef GENMC_ONCE
#define node_valid node_valid_again
#include "tree/node/node.h"
#undef node_valid
static inline bool node_valid(struct node *node, u64 lockword)
{
	bool valid = node_valid_again(node, lockword);

	__VERIFIER_assume(valid);
	return valid;
}
#endif

#endif /* LATH_SYS_USER_H */
