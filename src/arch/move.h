/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * move.h - entries of a node moved up, to make room for one.
 *
 *   lath_words_up(dst, src, n)   n words from src to dst, a little further up
 *   lath_bytes_up(p, n)          n < 64 bytes one further up
 *
 * memmove guesses its number of bytes several times, and each guess is wrong half the time; with masked
 * stores one guess is left, and for bytes none. Where lath_have_avx512 says so; see search.h for the registers.
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
