/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * uring.h - io_uring commands in the releases of the kernel. Not in compat.h, which every file
 * includes: these headers include much of the block layer.
 */
#ifndef LATH_KERNEL_URING_H
#define LATH_KERNEL_URING_H

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif

/* Returns the payload of a command, a `const type *`: since 6.6 by a function, then by a macro that
 * is told the type. */
#if defined(io_uring_sqe_cmd)
#define lath_uring_payload(ioucmd, type) io_uring_sqe_cmd((ioucmd)->sqe, type)
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define lath_uring_payload(ioucmd, type) ((const type *)io_uring_sqe_cmd((ioucmd)->sqe))
#else
#define lath_uring_payload(ioucmd, type) ((const type *)(ioucmd)->cmd)
#endif

#endif /* LATH_KERNEL_URING_H */
