/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * compat.h - differences between kernel releases, and nothing else. Included before every file of
 * the modules. The code is written for 6.1 and later.
 */
#ifndef LATH_KERNEL_COMPAT_H
#define LATH_KERNEL_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "lathwork needs Linux 6.1 or later"
#endif

/* since 6.13 one call sets a timer up */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define lath_timer_setup(timer, call, clock, mode) \
	(hrtimer_init(timer, clock, mode), (void)((timer)->function = (call)))
#else
#define lath_timer_setup hrtimer_setup
#endif

/* 6.12 removed no_llseek; NULL means the same. */
#include <linux/fs.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && !defined(no_llseek)
#define no_llseek NULL
#endif

/* since 6.3 functions change the flags of a mapping */
#include <linux/mm.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define vm_flags_mod(vma, set, clear) ((vma)->vm_flags = ((vma)->vm_flags | (set)) & ~(clear))
#endif

#endif /* LATH_KERNEL_COMPAT_H */
