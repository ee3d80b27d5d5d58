/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sys.h - the interface between the library and its host.
 *
 * Code above src/sys uses the names of this list and no other names of its host. They are the
 * kernel's names, so the kernel has most of them; linux.h adds the rest. user.h defines them for
 * user space. The list holds for src/arch, src/tree, src/set, src/queue and src/space. (src/store
 * is for user space alone and uses POSIX as well.)
 *
 *   data       u8 u16 u32 u64 bool, likely unlikely __always_inline, container_of, ARRAY_SIZE, min
 *              max
 *   bits       __ffs64 __fls64 fls64 hweight64  little_endian
 *   memory     READ_ONCE WRITE_ONCE smp_load_acquire smp_store_release smp_rmb smp_wmb
 *              lath_load_pointer smp_mb smp_mb__after_atomic barrier cmpxchg cmpxchg_acquire
 *              lath_swap
 *              prefetch prefetchw
 *              memcpy memmove memset memcmp
 *              move_words
 *   waiting    cpu_relax  preempt_disable preempt_enable  lath_spin_wait
 *              lath_crowd_wait lath_crowded  lath_sleep lath_wake  lath_now lath_thread_id
 *              LATH_NO_CANCEL  lath_rest (user space alone)
 *   locks      struct lath_spinlock: lath_spin_init lath_spin_lock lath_spin_trylock
 *              lath_spin_unlock lath_spin_mine  lath_spin_lock_crowd
 *              lath_spin_init_any lath_irqs_off lath_irqs_on: with LATH_ANY_CONTEXT; nothing in
 *              user space. lath_any_valid  lath_any_allocator (kernel alone)
 *   fork       lath_call_enter lath_call_exit: around code that takes locks; lath_call_assert
 *              lath_thread_prepare: before the first call that cannot fail
 *   checkers   __percpu __acquires __releases  lath_word_locked lath_word_unlocked: tell lockdep
 *              that a node's lockword was locked or unlocked. struct lath_lockdep:
 *              lath_lockdep_init lath_lockdep_locked lath_lockdep_unlocked, of what one call
 *              locks and another unlocks
 *   readers    lath_reader_enter lath_reader_exit lath_retire lath_retired lath_retired_end
 *              lath_retire_drain lath_retire_ended
 *   text       snprintf  lath_environment lath_warn (user space alone)
 *   services   lath_pages_alloc lath_pages_ahead lath_pages_free lath_pages_discard
 *              LATH_DISCARDS lath_page_size HUGE_PAGE lath_block_alloc lath_small_alloc
 *              lath_block_free lath_fetch_add lath_fetch_or lath_fetch_add_release
 *              lath_fetch_clear lath_stripe
 *              struct lath_count: lath_count_mine lath_count_add  lath_count_shown
 *   tracing    lath_probe(name, object, number): see probe.h
 *   tests      LATH_ASSERT(condition)  lath_delay(point)
 *
 * In user space READ_ONCE, WRITE_ONCE and the smp_ names are __atomic operations, so
 * ThreadSanitizer sees every shared access. In its builds the barriers are empty and the accesses
 * are ordered instead (see user.h).
 */
#ifndef LATH_SYS_H
#define LATH_SYS_H

#include "lathwork/config.h"

/* Pages that are present when they are allocated, small ones that are not, and huge ones of 2 MiB.
 * The kernel knows no difference. */
enum lath_pages { PAGES_PRESENT, PAGES_LATER, PAGES_HUGE };

#ifdef __KERNEL__
#include "linux.h"
#else
#include "user.h"
#endif
#include "probe.h"

/* Returns the number whose bytes in memory are those of x, lowest first, and the reverse. */
static inline u64 little_endian(u64 x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

/* Returns a number of things as it is shown to a caller. A change is counted after it is made, so
 * that the number may be below 0 while an erase is counted before the insert that it undoes. */
static inline u64 lath_count_shown(const u64 *count)
{
	u64 n = READ_ONCE(*count);

	return (s64)n < 0 ? 0 : n;
}

/* Copy n words that readers may be reading; source and destination may overlap. */
static inline void move_words(u64 *dst, const u64 *src, size_t n)
{
#if LATH_CHECKED
	size_t i;

	/* one atomic store per word for ThreadSanitizer; the order keeps overlapping words */
	if (dst < src)
		for (i = 0; i < n; i++)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
	else
		for (i = n; i-- > 0;)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
#else
#ifdef __KERNEL__
	/* memmove() would check that the words are one field of a struct, which they are not */
	OPTIMIZER_HIDE_VAR(dst);
	OPTIMIZER_HIDE_VAR(src);
#endif
	memmove(dst, src, n * sizeof(u64));
#endif
}

#endif /* LATH_SYS_H */
