/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* source.c - the kernel's own allocator of I/O addresses, for a kernel that is configured without
 * it: the file of the kernel's source tree that IOVA_SOURCE names, compiled as a part of
 * iova_bench.ko. */
#include SOURCE
