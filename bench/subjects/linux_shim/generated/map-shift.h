/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Made by the build of the kernel's own tests; fan-out of the radix tree, which nobody uses
 * here. */
#define XA_CHUNK_SHIFT 6
