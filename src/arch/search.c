/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.c - determines once, before main(), which search the processor supports.
 */
#include "arch/search.h"

#ifdef LATH_X86_VECTORS
bool lath_have_avx512;

__attribute__((constructor)) static void ask_processor(void)
{
	__builtin_cpu_init();
	lath_have_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}
#endif
