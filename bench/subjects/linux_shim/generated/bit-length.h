/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Made by the build of the kernel's own tests; word size for the kernel headers. */
#define CONFIG_64BIT 1
