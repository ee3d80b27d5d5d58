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

/* io_uring commands: since 6.8 they have a header of their own, since 6.6 a function returns the
 * payload. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define lath_uring_payload(ioucmd) io_uring_sqe_cmd((ioucmd)->sqe)
#else
#define lath_uring_payload(ioucmd) ((ioucmd)->cmd)
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
