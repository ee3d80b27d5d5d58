/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * move.h - changes to a node's entries, in the fastest form that the processor has.
 *
 *   lath_heads_make(pairs, n, base, shift, head)
 *                                head[i] = (first word of pair i - base) >> shift, which is below
 *                                256, for n of 64 pairs; returns how many are equal to the one
 *                                before. Writes up to 15 bytes more. SSE2
 *   lath_words_up(dst, src, n)   moves n words from src up to dst; the areas overlap
 *   lath_bytes_up(p, n)          moves n < 64 bytes up by one
 *
 * The last two make room for an entry: memmove branches on its size several times, and the
 * processor mispredicts half of these branches. With masked stores one branch remains for words and
 * none for bytes. Used if lath_have_avx512; search.h explains the choice of registers.
 */
#ifndef LATH_ARCH_MOVE_H
#define LATH_ARCH_MOVE_H

#include "arch/search.h"

#ifdef LATH_X86_VECTORS
/* Two heads, as words; four, of 32 bits; eight, of 16 bits. */
static __always_inline __m128i lath_two_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	__m128i keys = _mm_unpacklo_epi64(_mm_load_si128(pair), _mm_load_si128(pair + 1));

	return _mm_srl_epi64(_mm_sub_epi64(keys, base), shift);
}

static __always_inline __m128i lath_four_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	__m128 low = _mm_castsi128_ps(lath_two_heads(pair, base, shift));
	__m128 high = _mm_castsi128_ps(lath_two_heads(pair + 2, base, shift));

	return _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
}

static __always_inline __m128i lath_eight_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	return _mm_packs_epi32(lath_four_heads(pair, base, shift),
			       lath_four_heads(pair + 4, base, shift));
}

static inline unsigned int lath_heads_make(const u64 *pairs, unsigned int n, u64 base,
					   unsigned int shift, u8 *head)
{
	__m128i all_base = _mm_set1_epi64x((long long)base), by = _mm_cvtsi32_si128((int)shift), h;
	u64 equal = 0;
	unsigned int i;

	for (i = 0; i < n; i += 16) {
		const __m128i *pair = (const __m128i *)(const void *)pairs + i;

		h = _mm_packus_epi16(lath_eight_heads(pair, all_base, by),
				     lath_eight_heads(pair + 8, all_base, by));
		_mm_storeu_si128((__m128i *)(void *)(head + i), h);
		h = _mm_cmpeq_epi8(h, _mm_slli_si128(h, 1));
		equal |= (u64)((u32)_mm_movemask_epi8(h) & 0xfffe) << i;
		equal |= (u64)(i && head[i] == head[i - 1]) << i;
	}
	return lath_count_bits(equal & lath_ones(n));
}

/* unreached: without AVX-512 */
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

/* unreached: without AVX-512 */
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
