/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * compat.h - differences between kernel releases, and nothing else. Included before every file
 * of the modules. The code is written for 6.1 and later; 6.1 needs nothing here.
 */
#ifndef LATH_KERNEL_COMPAT_H
#define LATH_KERNEL_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "lathwork needs Linux 6.1 or later"
#endif

#endif /* LATH_KERNEL_COMPAT_H */
