/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * move.h - moves entries of a node up, to make room for one.
 *
 *   lath_words_up(dst, src, n)   moves n words from src up to dst; the areas overlap
 *   lath_bytes_up(p, n)          moves n < 64 bytes up by one
 *
 * memmove branches on its size several times, and the processor mispredicts half of these branches.
 * With masked stores one branch remains for words and none for bytes. Used if lath_have_avx512;
 * search.h explains the choice of registers.
 */
#ifndef LATH_ARCH_MOVE_H
#define LATH_ARCH_MOVE_H

#include "arch/search.h"

#ifdef LATH_X86_VECTORS
static inline void lath_words_up(u64 *dst, const u64 *src, unsigned int n)
{
	for (; n > 8; n -= 8)
		__asm__ volatile("vmovdqu64 (%0), %%zmm16\n\t"
				 "vmovdqu64 %%zmm16, (%1)"
				 :
				 : "r"(src + n - 8), "r"(dst + n - 8)
				 : "memory", LATH_AVX512_CLOBBERS);
	__asm__ volatile("kmovd %2, %%k1\n\t"
			 "vmovdqu64 (%0), %%zmm16%{%%k1%}%{z%}\n\t"
			 "vmovdqu64 %%zmm16, (%1)%{%%k1%}"
			 :
			 : "r"(src), "r"(dst), "r"((1u << n) - 1)
			 : "memory", LATH_AVX512_CLOBBERS);
}

static inline void lath_bytes_up(u8 *p, unsigned int n)
{
	__asm__ volatile("kmovq %1, %%k1\n\t"
			 "vmovdqu8 (%0), %%zmm16%{%%k1%}%{z%}\n\t"
			 "vmovdqu8 %%zmm16, 1(%0)%{%%k1%}"
			 :
			 : "r"(p), "r"((1ull << n) - 1)
			 : "memory", LATH_AVX512_CLOBBERS);
}
#endif

#endif /* LATH_ARCH_MOVE_H */
