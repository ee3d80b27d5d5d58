/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probe.h - static probes that a tracer of the host can switch on (USDT).
 *
 * Built with LATH_USDT, a probe is one no-op instruction and a note in the library that tells a
 * tracer where it is and where its arguments are. Without LATH_USDT, and in the kernel, it is
 * nothing, and its arguments are not evaluated. Probes are in the slow paths only.
 *
 *   lathwork:split      tree, key   a leaf was added to full ones; key: its low fence
 *   lathwork:merge      tree, key   a node was merged into its left sibling; key: its low fence
 *   lathwork:restart    tree, key   a descent for key begins again: a node had been merged
 *   lathwork:lock_fall  tree, key   a read of key failed validation so often that it locks the leaf
 *   lathwork:refusal    object, n   no memory for a node of kind n (tree); no hole of n keys (tree
 *                                   or space); no n bytes below the limit (arena of a store)
 *
 * doc/debugging.md says how to use them.
 */
#ifndef LATH_SYS_PROBE_H
#define LATH_SYS_PROBE_H

#if defined(LATH_USDT) && !defined(__KERNEL__)
#include <sys/sdt.h>
#define lath_probe(name, object, number) STAP_PROBE2(lathwork, name, object, number)
#else
#define lath_probe(name, object, number)                \
	do {                                            \
		if (0)                                  \
			(void)(object), (void)(number); \
	} while (0)
#endif

#endif /* LATH_SYS_PROBE_H */
