/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * linux.h - the words of sys.h in the kernel: its own headers, and the few that are ours.
 *
 * The core may be called from process context; reads also from softirqs. A writer holds off
 * preemption but not softirqs while nodes are locked, so softirqs may not write to, and may not
 * wait for, a list that a process writes to. The pools' locks do keep softirqs away: RCU callbacks
 * put nodes back into the pools. Memory is asked for without sleeping where the caller may not
 * sleep, see lath_gfp().
 */
#ifndef LATH_SYS_LINUX_H
#define LATH_SYS_LINUX_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

/* Macros of the memory manager whose names the core gives to functions of its own files. */
#undef node_clear
#undef free_page

/* No instrumentation of ours in the kernel (KCSAN brings its own). */
#define LATH_CHECKED 0

/* highest set bit, x != 0 */
#define __fls64(x) ((unsigned int)__fls(x))

static inline u64 lath_fetch_add(u64 *p, u64 n)
{
	return (u64)atomic64_fetch_add_relaxed((s64)n, (atomic64_t *)p);
}

static inline u64 lath_fetch_add_release(u64 *p, u64 n)
{
	return (u64)atomic64_fetch_add_release((s64)n, (atomic64_t *)p);
}

static inline u8 lath_fetch_clear(u8 *p)
{
	return xchg_relaxed(p, 0);
}

static inline unsigned int lath_stripe(void)
{
	return raw_smp_processor_id();
}

/* A holder of a node's lock is on a processor and keeps it: spinning is enough. */
static inline void lath_spin_wait(unsigned int *rounds)
{
	++*rounds;
	cpu_relax();
}

/*
 * lockdep does not know a lock that is a bit in a word of 64: tell it. One class a level of the
 * index, so that taking a node above one that is held is an inversion; several nodes of a level
 * are one nested hold, because they are always taken left to right (linux.c).
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
void lath_word_locked(unsigned int level);
void lath_word_unlocked(unsigned int level);
#else
static inline void lath_word_locked(unsigned int level)
{
}

static inline void lath_word_unlocked(unsigned int level)
{
}
#endif

struct lath_spinlock {
	spinlock_t lock;
};

#define lath_spin_init(l) spin_lock_init(&(l)->lock)

static inline void lath_spin_lock(struct lath_spinlock *l) __acquires(&l->lock)
{
	spin_lock_bh(&l->lock);
}

static inline bool lath_spin_trylock(struct lath_spinlock *l)
{
	return spin_trylock_bh(&l->lock);
}

static inline void lath_spin_unlock(struct lath_spinlock *l) __releases(&l->lock)
{
	spin_unlock_bh(&l->lock);
}

/* For assertions: returns whether the task holds the lock; true in a kernel without lockdep, which
 * does not know. */
static inline bool lath_spin_mine(struct lath_spinlock *l)
{
	return !IS_ENABLED(CONFIG_LOCKDEP) || lockdep_is_held(&l->lock);
}

/* The kernel has one flavour, called directly: the caller's choice is ignored, this one has only a
 * name. */
static const struct lath_rcu lath_rcu_auto __maybe_unused = { .name = "kernel" };

static inline void lath_reader_enter(const struct lath_rcu *rcu) __acquires(RCU)
{
	rcu_read_lock();
}

static inline void lath_reader_exit(const struct lath_rcu *rcu) __releases(RCU)
{
	rcu_read_unlock();
}

static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head), "same layout: {next, func}");

static inline void lath_retire(const struct lath_rcu *rcu, struct lath_rcu_head *head,
			       void (*func)(struct lath_rcu_head *head))
{
	call_rcu((struct rcu_head *)head, (rcu_callback_t)func);
}

static inline void lath_retired(void)
{
}

static inline void lath_retired_end(void)
{
}

static inline void lath_retire_drain(const struct lath_rcu *rcu)
{
	rcu_barrier();
}

/*
 * May the caller sleep? A kernel that does not count preemption or readers cannot tell: no then.
 */
static inline gfp_t lath_gfp(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT) && IS_ENABLED(CONFIG_PREEMPT_RCU) && preemptible() &&
	    !rcu_preempt_depth())
		return GFP_KERNEL;
	return GFP_NOWAIT | __GFP_NOWARN;
}

/* Zeroed memory, aligned to a page, or NULL. Physically contiguous if at hand. */
static inline void *lath_pages_alloc(size_t size, bool huge)
{
	gfp_t gfp = lath_gfp();

	if (gfpflags_allow_blocking(gfp))
		return kvzalloc(size, gfp);
	return kzalloc(size, gfp);
}

static inline void lath_pages_free(void *pages, size_t size)
{
	kvfree(pages);
}

/* One small block, aligned to 64 bytes, or NULL: kmalloc aligns a power of two to itself. */
static inline void *lath_block_alloc(size_t size)
{
	return kzalloc(roundup_pow_of_two(max_t(size_t, size, 64)), lath_gfp());
}

static inline void lath_block_free(void *block)
{
	kfree(block);
}

/* As in user.h; in kernels that look for faults anyway. */
#if defined(CONFIG_DEBUG_LIST) || defined(CONFIG_PROVE_LOCKING)
#define LATH_ASSERT(condition) BUG_ON(!(condition))
#else
#define LATH_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

/* The kernel's threads do not fork. */
static inline void lath_call_enter(void)
{
}

static inline void lath_call_exit(void)
{
}

static inline void lath_call_assert(void)
{
}

#define lath_delay(point) ((void)0)

#endif /* LATH_SYS_LINUX_H */
