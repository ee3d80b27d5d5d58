/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * isa.h - which vector code the library uses: the best that the processor and the build have, or
 * what the environment variable LATH_ISA names. Chosen once, before main().
 *
 *   lath_isa_chosen        the choice
 *   lath_have_avx2         the same for the search in a node (search.h, move.h)
 *   lath_have_neon
 *   lath_isa_supported(i)  whether processor and build have it
 *
 * On arm64 the two forms are NEON, which every such processor has, and portable code.
 *
 * Every form gives the same results. The kernel has the scalar one alone.
 */
#ifndef LATH_ARCH_ISA_H
#define LATH_ARCH_ISA_H

#include "sys/sys.h"

/* in the order in which the best is looked for, from the last one */
enum lath_isa {
	LATH_ISA_SCALAR,
	LATH_ISA_AVX2,
	LATH_ISA_NEON,
	LATH_ISAS,
};

#ifdef __KERNEL__
#define lath_isa_chosen LATH_ISA_SCALAR
#else
#define LATH_HIDDEN __attribute__((visibility("hidden")))
/* set by a constructor in isa.c; until then all are scalar */
extern enum lath_isa lath_isa_chosen LATH_HIDDEN;
extern bool lath_have_avx2 LATH_HIDDEN;
extern bool lath_have_neon LATH_HIDDEN;

bool lath_isa_supported(enum lath_isa isa) LATH_HIDDEN;
#endif

#if defined(__x86_64__) && !defined(__KERNEL__) && !defined(LATH_SCALAR)
#define LATH_ISA_X86 1
#endif
#if defined(__AARCH64EL__) && !defined(__KERNEL__) && !defined(LATH_SCALAR)
#define LATH_ISA_ARM64 1
#endif

#endif /* LATH_ARCH_ISA_H */
