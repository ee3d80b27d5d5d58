/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sys.h - the one seam between the core and its host.
 *
 * The core speaks the kernel's words; this is the whole list. The kernel supplies them itself
 * (linux.h fills in the few that are ours), user space through user.h. Nothing else of a host
 * may be named in src/arch, src/index or src/queue. (src/store is for user space: pages, files.)
 *
 *   data       u8 u16 u32 u64 bool, likely unlikely __always_inline, container_of, ARRAY_SIZE, min
 *              max
 *   bits       __ffs64 __fls64 fls64 hweight64
 *   memory     READ_ONCE WRITE_ONCE smp_load_acquire smp_store_release smp_rmb smp_wmb barrier
 *              cmpxchg_acquire  prefetch prefetchw  memcpy memmove memset
 *   waiting    cpu_relax  preempt_disable preempt_enable  lath_spin_wait
 *   locks      struct lath_spinlock: lath_spin_init lath_spin_lock lath_spin_trylock
 *              lath_spin_unlock lath_spin_mine
 *   fork       lath_call_enter lath_call_exit: around what takes locks; lath_call_assert
 *   checkers   __percpu __acquires __releases  lath_word_locked lath_word_unlocked: a node's lock
 *                                              was taken, is let go
 *   readers    lath_reader_enter lath_reader_exit lath_retire lath_retired lath_retired_end
 *   text       snprintf
 *   services   lath_pages_alloc lath_pages_free lath_block_alloc lath_block_free lath_fetch_add
 *              lath_fetch_add_release lath_fetch_clear lath_stripe
 *   tests      LATH_ASSERT(condition)  lath_delay(point)
 *
 * In user space READ_ONCE, WRITE_ONCE and the smp_ words are __atomic operations, so that
 * ThreadSanitizer understands every shared access; there the fences are empty and the accesses
 * themselves carry the order (see user.h).
 */
#ifndef LATH_SYS_H
#define LATH_SYS_H

#include "lathwork/config.h"

#ifdef __KERNEL__
#include "linux.h"
#else
#include "user.h"
#endif

#endif /* LATH_SYS_H */
