/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stands before the test headers of the kernel source, whose spinlock is a pthread mutex: the maple
 * tree gets the same lock as every other structure.
 */
#ifndef __LINUX_SPINLOCK_H_
#define __LINUX_SPINLOCK_H_

#include <stdbool.h>

#include "subjects/spin.h"

typedef struct bench_spin spinlock_t;

#define DEFINE_SPINLOCK(name) spinlock_t name = { 0 }
#define __SPIN_LOCK_UNLOCKED(name) { 0 }
#define spin_lock_init(lock) ((lock)->held = 0)
#define spin_lock(lock) bench_spin_lock(lock)
#define spin_unlock(lock) bench_spin_unlock(lock)
#define spin_lock_bh(lock) bench_spin_lock(lock)
#define spin_unlock_bh(lock) bench_spin_unlock(lock)
#define spin_lock_irq(lock) bench_spin_lock(lock)
#define spin_unlock_irq(lock) bench_spin_unlock(lock)
#define spin_lock_irqsave(lock, flags) ((void)(flags), bench_spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), bench_spin_unlock(lock))

#endif
