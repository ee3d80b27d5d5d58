/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * linux.h - the names of sys.h in the kernel: most are the kernel's own, the rest are defined here.
 *
 * The library may be called from process context; lookups from softirqs too. A writer disables
 * preemption but not softirqs while nodes are locked. So a softirq may neither change a list that a
 * process changes, nor wait for one of its nodes. The locks of the node pools do disable softirqs,
 * because RCU callbacks return nodes to the pools. Memory is allocated without sleeping where the
 * caller may not sleep, see lath_gfp().
 *
 * A structure with LATH_ANY_CONTEXT may be called from any context but NMIs: interrupts are off
 * while one of its nodes or spinlocks is locked (lath_irqs_off), and its memory comes from
 * lath_any_allocator().
 */
#ifndef LATH_SYS_LINUX_H
#define LATH_SYS_LINUX_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/wait_bit.h>

/* The kernel's memory manager has macros of these names; the library has functions. */
#undef lath_node_clear
#undef free_page

/* Checked builds are for user space; the kernel has KCSAN. */
#define LATH_CHECKED 0

/* highest set bit, x != 0 */
#define __fls64(x) ((unsigned int)__fls(x))

/* As in user.h: the kernel's loads through an address come behind the load of the address. */
#define lath_load_pointer(p) READ_ONCE(*(p))

static inline u64 lath_fetch_add(u64 *p, u64 n)
{
	return (u64)atomic64_fetch_add_relaxed((s64)n, (atomic64_t *)p);
}

static inline u64 lath_fetch_add_release(u64 *p, u64 n)
{
	return (u64)atomic64_fetch_add_release((s64)n, (atomic64_t *)p);
}

static inline void lath_fetch_or(u64 *p, u64 bits)
{
	atomic64_or((s64)bits, (atomic64_t *)p);
}

#define lath_swap(p, value) xchg(p, value)

/* As futexes in user space: any word will do. Sleeps uninterruptibly. */
static inline void lath_sleep(u32 *word, u32 value, u64 nanoseconds)
{
	if (nanoseconds == U64_MAX)
		wait_var_event(word, READ_ONCE(*word) != value);
	else
		wait_var_event_timeout(word, READ_ONCE(*word) != value,
				       min_t(u64, nsecs_to_jiffies(nanoseconds) + 1,
					     MAX_JIFFY_OFFSET));
}

#define lath_wake(word) wake_up_var(word)
#define lath_now() ktime_get_ns()
#define lath_thread_prepare() 0

#define lath_thread_id() ((u64)current->pid)
#define lath_known_thread() lath_thread_id()
#define lath_fetch_clear(p) xchg_relaxed(p, 0)

#define lath_processors() nr_cpu_ids

#define lath_stripe() ((unsigned int)raw_smp_processor_id())
#define lath_known_stripe() lath_stripe()

/* A part of a counter: a processor's. */
struct lath_count {
	u64 sum;
} __attribute__((aligned(64)));

#define lath_count_mine(count) ((void)(count), true)

static inline void lath_count_add(struct lath_count *count, u64 n)
{
	lath_fetch_add_release(&count->sum, n);
}

/* The holder of a node's lock runs with preemption disabled: spinning is enough. */
static inline void lath_spin_wait(unsigned int *rounds)
{
	++*rounds;
	cpu_relax();
}

#define lath_crowded() false
#define lath_crowd_wait(rounds) lath_spin_wait(rounds)

/* Tell lockdep that a lockword was locked or unlocked: it cannot see a lock that is one bit of a
 * word. There is one class per level of the index, so taking a node above a held one is an
 * inversion. Several nodes of one level count as one nested hold, because they are always locked
 * left to right (linux.c). */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
void lath_word_locked(unsigned int level);
void lath_word_unlocked(unsigned int level);
#else
#define lath_word_locked(level) ((void)0)
#define lath_word_unlocked(level) ((void)0)
#endif

/* What one call locks and another unlocks, such as a range; `mine`: for the task that makes the
 * call. A second one that a task locks is like one that does not wait: which of the two comes first
 * is not for lockdep to judge. */
struct lath_lockdep {
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map map;
#endif
};

#ifdef CONFIG_DEBUG_LOCK_ALLOC
#define lath_lockdep_init(dep, name)                          \
	do {                                                  \
		static struct lock_class_key key;             \
		lockdep_init_map(&(dep)->map, name, &key, 0); \
	} while (0)

/* Before the call waits, or where it does not wait, when it has locked. */
static inline void lath_lockdep_locked(struct lath_lockdep *dep, bool mine, bool shared, bool waits)
{
	if (mine)
		lock_acquire(&dep->map, 0, !waits || lock_is_held(&dep->map), shared, 1, NULL,
			     _THIS_IP_);
}

static inline void lath_lockdep_unlocked(struct lath_lockdep *dep, bool mine)
{
	if (mine)
		lock_release(&dep->map, _THIS_IP_);
}
#else
#define lath_lockdep_init(dep, name) ((void)(dep))
#define lath_lockdep_locked(dep, mine, shared, waits) ((void)(dep))
#define lath_lockdep_unlocked(dep, mine) ((void)(dep))
#endif

/* How often a processor has switched interrupts off by lath_irqs_off(), and its flags before the
 * first time. With a depth above 0 interrupts are off, so the processor's task cannot change.
 * Spinlocks keep the flags themselves, and are unlocked in the opposite order. */
struct lath_irqs {
	unsigned int depth;
	unsigned long flags;
	u64 begin; /* LATH_IRQS_TIMED: when they were switched off */
};
DECLARE_PER_CPU(struct lath_irqs, lath_irqs);

/* Interrupts have been switched off, and are about to be switched on; `flags` are those before.
 * Built with LATH_IRQS_TIMED=1 the module's parameter irqs_off_ns is the longest time between the
 * two. */
#ifdef LATH_IRQS_TIMED
void lath_irqs_begin(unsigned long flags);
void lath_irqs_end(unsigned long flags);
#else
#define lath_irqs_begin(flags) ((void)(flags))
#define lath_irqs_end(flags) ((void)(flags))
#endif

/* Switch interrupts off if `any`: the structure has LATH_ANY_CONTEXT. Calls nest, in any order of
 * the ends: the last lath_irqs_on() restores what was before the first call. */
static inline void lath_irqs_off(bool any)
{
	unsigned long flags;

	/* such a structure's locks leave interrupts on: this one may have interrupted a holder */
	if (likely(!any)) {
		WARN_ON_ONCE(in_hardirq());
		return;
	}
	local_irq_save(flags);
	if (__this_cpu_inc_return(lath_irqs.depth) == 1) {
		__this_cpu_write(lath_irqs.flags, flags);
		lath_irqs_begin(flags);
	}
}

static inline void lath_irqs_on(bool any)
{
	if (unlikely(any) && !__this_cpu_dec_return(lath_irqs.depth)) {
		lath_irqs_end(__this_cpu_read(lath_irqs.flags));
		local_irq_restore(__this_cpu_read(lath_irqs.flags));
	}
}

struct lath_spinlock {
	spinlock_t lock;
	bool any;	     /* of a structure with LATH_ANY_CONTEXT: interrupts are off, */
	unsigned long flags; /* and these are the holder's of before */
};

#define lath_spin_init(l) lath_spin_init_any(l, false)
/* Two calls, because each is a class of locks for lockdep: one is taken in interrupts. */
#define lath_spin_init_any(l, in_any)               \
	do {                                        \
		(l)->any = in_any;                  \
		if ((l)->any)                       \
			spin_lock_init(&(l)->lock); \
		else                                \
			spin_lock_init(&(l)->lock); \
	} while (0)

static inline void lath_spin_lock(struct lath_spinlock *l) __acquires(&l->lock)
{
	unsigned long flags;

	if (l->any) {
		spin_lock_irqsave(&l->lock, flags);
		l->flags = flags;
		lath_irqs_begin(flags);
	} else {
		spin_lock_bh(&l->lock);
	}
}

#define lath_spin_lock_crowd(l) lath_spin_lock(l)

static inline bool lath_spin_trylock(struct lath_spinlock *l)
{
	unsigned long flags;

	if (!l->any)
		return spin_trylock_bh(&l->lock);
	if (!spin_trylock_irqsave(&l->lock, flags))
		return false;
	l->flags = flags;
	lath_irqs_begin(flags);
	return true;
}

static inline void lath_spin_unlock(struct lath_spinlock *l) __releases(&l->lock)
{
	if (l->any) {
		lath_irqs_end(l->flags);
		spin_unlock_irqrestore(&l->lock, l->flags);
	} else {
		spin_unlock_bh(&l->lock);
	}
}

/* For assertions: returns whether the task holds the lock; true in a kernel without lockdep, which
 * does not know. */
static inline bool lath_spin_mine(struct lath_spinlock *l)
{
	return !IS_ENABLED(CONFIG_LOCKDEP) || lockdep_is_held(&l->lock);
}

/* The kernel has one flavour of RCU, and its functions are called directly. The caller's choice is
 * ignored. */
static const struct lath_rcu lath_rcu_auto __maybe_unused = { .name = "kernel" };

static inline void lath_reader_enter(const struct lath_rcu *rcu) __acquires(RCU)
{
	rcu_read_lock();
}

static inline void lath_reader_exit(const struct lath_rcu *rcu) __releases(RCU)
{
	rcu_read_unlock();
}

/* For assertions: returns whether the task is in a read-side critical section; true in a kernel
 * without lockdep, which does not know. */
#define lath_reader_inside(rcu) \
	((void)(rcu), !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) || rcu_read_lock_held())

static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head), "same layout: {next, func}");

static inline void lath_retire(const struct lath_rcu *rcu, struct lath_rcu_head *head,
			       void (*func)(struct lath_rcu_head *head))
{
	call_rcu((struct rcu_head *)head, (rcu_callback_t)func);
}

#define lath_retired() ((void)0)
#define lath_retired_end() ((void)0)
#define lath_retire_ended() false
#define lath_retire_drain(rcu) ((void)(rcu), rcu_barrier())

/* Returns the flags for an allocation: GFP_KERNEL if the caller may sleep. A kernel that counts
 * neither preemption nor readers cannot tell, so the answer is no. */
static inline gfp_t lath_gfp(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT) && IS_ENABLED(CONFIG_PREEMPT_RCU) && preemptible() &&
	    !rcu_preempt_depth())
		return GFP_KERNEL;
	return GFP_NOWAIT | __GFP_NOWARN;
}

/* May a structure be made with this config, as far as LATH_ANY_CONTEXT is concerned? Nothing sleeps
 * in any context; a kernel whose spinlocks sleep has no locks for it. */
#define lath_any_valid(config)                    \
	(!((config)->flags & LATH_ANY_CONTEXT) || \
	 (!gfpflags_allow_blocking((config)->gfp) && !IS_ENABLED(CONFIG_PREEMPT_RT)))

/* Sets the allocator of a structure with LATH_ANY_CONTEXT: kmalloc(), with these flags where the
 * caller may not sleep. */
void lath_any_allocator(struct lath_allocator *allocator, gfp_t gfp);

#define lath_page_size() PAGE_SIZE

/* Returns zeroed memory, aligned to a page, or NULL. Physically contiguous if such memory is
 * available. */
static inline void *lath_pages_alloc(size_t size, enum lath_pages kind)
{
	gfp_t gfp = lath_gfp();

	if (gfpflags_allow_blocking(gfp))
		return kvzalloc(size, gfp);
	return kzalloc(size, gfp);
}

#define lath_pages_ahead() false
#define HUGE_PAGE (2ul << 20)
#define lath_pages_free(pages, size) kvfree(pages)

/* The kernel cannot take pages from its own memory that readers may look at. */
#define lath_pages_discard(pages, size) ((void)(pages), false)
#define LATH_DISCARDS false

/* Returns a zeroed block, aligned to 64 bytes, or NULL. kmalloc() aligns a power of two to its
 * size. */
static inline void *lath_block_alloc(size_t size)
{
	return kzalloc(roundup_pow_of_two(max_t(size_t, size, 64)), lath_gfp());
}

#define lath_small_alloc(size) kmalloc(size, lath_gfp())
#define lath_block_free(block) kfree(block)

/* As in user.h; evaluated in kernels that are configured to find faults. */
#if defined(CONFIG_DEBUG_LIST) || defined(CONFIG_PROVE_LOCKING)
#define LATH_ASSERT(condition) BUG_ON(!(condition))
#else
#define LATH_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

/* The kernel's threads are not cancelled, */
#define LATH_NO_CANCEL const int lath_cancel_was __maybe_unused = 0

/* and do not fork. */
#define lath_call_enter() ((void)0)
#define lath_call_try_enter() true
#define lath_call_exit() ((void)0)
#define lath_call_assert() ((void)0)

#define lath_delay(point) ((void)0)

#endif /* LATH_SYS_LINUX_H */
